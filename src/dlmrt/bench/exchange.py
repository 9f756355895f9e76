"""One HTTP exchange with the standard library: an address, a deadline, and errors in one line."""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from dlmrt import __version__
from dlmrt.errors import RequestError, ServerError

READ_BYTES = 64 * 1024
MAX_BODY_BYTES = 64 * 1024 * 1024
SHOWN_CHARACTERS = 300
# A path segment that names an API version (v1, v3, v1beta): such a base is taken as it is.
VERSION = re.compile(r"v\d+([a-z]+\d*)?")


class RequestFailed(ServerError):
    """One request that failed. kind: what failures are counted by; body: of a refusal, shortened."""

    def __init__(self, kind: str, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status


SECRET = "***"
LEAST_SECRET = 6  # characters of a query's value that is a key and no version or flag


@dataclass(frozen=True)
class Endpoint:
    """Where an API lies. base: path without a slash at its end; query: added to every request."""

    scheme: str
    host: str
    port: int | None
    base: str
    query: str = field(default="", repr=False)
    api_key: str | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """The base for people: without the query, which may hold a key."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{'' if self.port is None else f':{self.port}'}{self.base}"

    def redact(self, text: str) -> str:
        """The text without the key and the query, which a server may echo."""
        values = [value for _, value in parse_qsl(self.query) if len(value) >= LEAST_SECRET]
        query = [self.query, *values]
        for secret in sorted(filter(None, (self.api_key, *query)), key=len, reverse=True):
            text = text.replace(secret, SECRET)
        return text


def parse_url(url: str, api_key: str | None = None) -> Endpoint:
    """Read the base URL of an API; ``/v1`` is added unless a version is in it. Raises RequestError."""
    hint = "give the API's base, for example http://127.0.0.1:8000/v1"
    if not url.isascii() or not url.isprintable() or " " in url:
        raise RequestError(f"server URL {url!r} holds characters that no URL has; {hint}")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise RequestError(f"server URL '{url}' can't be read ({error}); {hint}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise RequestError(f"server URL '{url}' must begin with http:// or https:// and a host; {hint}")
    if parts.username is not None or parts.password is not None:
        raise RequestError(
            "the server URL holds a user name or password, which would stand in the result file; "
            "give the API key by an environment variable"
        )
    base = parts.path.rstrip("/").removesuffix("/completions").removesuffix("/chat")
    if not any(VERSION.fullmatch(segment) for segment in base.split("/")):
        base += "/v1"
    return Endpoint(parts.scheme, host, port, base, parts.query, api_key)


@dataclass
class Reply:
    """What a server answers: the head is there, the body is read piece by piece."""

    status: int
    content_type: str
    software: str | None
    started: float  # time.perf_counter() when the request was sent
    _response: http.client.HTTPResponse
    _socket: socket.socket
    _deadline: float

    def pieces(self) -> Iterator[tuple[bytes, float]]:
        """Yield (bytes, when they came); raises RequestFailed at the deadline or a broken connection."""
        # Counted here: which versions of Python do so in read1 differs.
        length = None if self._response.chunked else self._response.length
        while length is None or length > 0:
            self._socket.settimeout(_left(self._deadline))
            data = self._response.read1(READ_BYTES)
            when = time.perf_counter()
            if not data:
                break
            length = None if length is None else length - len(data)
            yield data, when
        if length:
            raise RequestFailed("cut short", f"the server closed the connection {length} bytes too early")

    def body(self) -> bytes:
        """The whole body; raises RequestFailed."""
        whole = bytearray()
        for data, _ in self.pieces():
            whole += data
            if len(whole) > MAX_BODY_BYTES:
                raise RequestFailed("too long", f"the answer is longer than {MAX_BODY_BYTES >> 20} MiB")
        return bytes(whole)


@contextmanager
def exchange(endpoint: Endpoint, path: str, payload: object | None, timeout: float) -> Iterator[Reply]:
    """Send one request (POST with ``payload`` as JSON, else GET) and yield the successful reply.

    The connection is new and is made before the clock starts. timeout: seconds for the whole exchange.
    Raises RequestFailed for everything that goes wrong inside, a status other than 2xx included.
    """
    target = f"{endpoint.url}{path}"
    deadline = time.perf_counter() + timeout
    connection = _connection(endpoint, timeout)
    response: http.client.HTTPResponse | None = None
    try:
        connection.connect()
        # Kept: http.client lets go of it when the server means to close the connection.
        connected: socket.socket = connection.sock
        connected.settimeout(_left(deadline))
        body = None if payload is None else json.dumps(payload).encode()
        started = time.perf_counter()
        query = f"?{endpoint.query}" if endpoint.query else ""
        connection.request(
            "GET" if body is None else "POST", f"{endpoint.base}{path}{query}", body, _headers(endpoint, body)
        )
        connected.settimeout(_left(deadline))
        response = connection.getresponse()
        kind = response.headers.get_content_type() if "Content-Type" in response.headers else ""
        software = endpoint.redact(shortened(response.getheader("Server", ""))) or None
        reply = Reply(response.status, kind, software, started, response, connected, deadline)
        if not 200 <= response.status < 300:
            raise _refusal(target, reply, response.getheader("Location"))
        yield reply
    except RequestFailed as failed:
        raise RequestFailed(failed.kind, _said_of(target, endpoint, failed), failed.status) from None
    except ServerError as failed:  # of a stream that can't be read
        raise ServerError(_said_of(target, endpoint, failed)) from None
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        raise _failure(target, endpoint, error, timeout) from None
    finally:
        if response is not None:
            response.close()
        connection.close()


def _said_of(target: str, endpoint: Endpoint, failed: ServerError) -> str:
    """What went wrong, with the address and without secrets."""
    text = endpoint.redact(str(failed))
    return text if endpoint.url in text else f"{target}: {text}"


def shortened(text: str) -> str:
    """Text of a server in one line of at most ``SHOWN_CHARACTERS`` printable characters."""
    line = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 3] + "..."


def json_body(reply: Reply, target: str) -> object:
    """The body as JSON; raises RequestFailed that says what came in its place."""
    body = reply.body()
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        text = body[: 4 * SHOWN_CHARACTERS].decode("utf-8", "replace")
        what = "an HTML page" if text.lstrip()[:1] == "<" else "no JSON"
        raise RequestFailed(
            "not JSON",
            f"{target} answered with {what}, so it is no OpenAI-compatible API; "
            f"check the URL (its base is usually http://HOST:PORT/v1). It said: {shortened(text)}",
        ) from None


def _connection(endpoint: Endpoint, timeout: float) -> http.client.HTTPConnection:
    # Without a port http.client would look for one in the host, and find it in an IPv6 address.
    if endpoint.scheme == "https":
        context = ssl.create_default_context()
        port = endpoint.port or http.client.HTTPS_PORT
        return http.client.HTTPSConnection(endpoint.host, port, timeout=timeout, context=context)
    return http.client.HTTPConnection(endpoint.host, endpoint.port or http.client.HTTP_PORT, timeout=timeout)


def _headers(endpoint: Endpoint, body: bytes | None) -> dict[str, str]:
    headers = {"User-Agent": f"dlmrt/{__version__}", "Connection": "close"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if endpoint.api_key is not None:
        headers["Authorization"] = f"Bearer {endpoint.api_key}"
    return headers


def _left(deadline: float) -> float:
    left = deadline - time.perf_counter()
    if left <= 0:
        raise TimeoutError
    return left


def _refusal(target: str, reply: Reply, location: str | None) -> RequestFailed:
    status = reply.status
    if 300 <= status < 400:
        goal = f"to {shortened(location)}; give that address" if location else "elsewhere; give its address"
        return RequestFailed(
            f"HTTP {status}", f"{target} redirects {goal} (redirects are not followed)", status
        )
    hints = {
        401: "check the API key (--api-key-env)",
        403: "check the API key (--api-key-env)",
        404: "check the URL and the model's name",
        405: "check the URL",
        429: "the server limits requests: lower the concurrency or try later",
    }
    said = shortened(_error_text(reply.body()))
    hint = f"; {hints[status]}" if status in hints else ""
    return RequestFailed(
        f"HTTP {status}", f"{target} answered HTTP {status}: {said or 'no reason given'}{hint}", status
    )


def _error_text(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return text
    detail = document.get("detail") if isinstance(document, dict) else None
    return error_message(document) or (detail if isinstance(detail, str) else text)


def error_message(document: object) -> str | None:
    """The reason in an OpenAI-like error document, or None if it is none."""
    if not isinstance(document, dict):
        return None
    found = document.get("error") or (document.get("message") if document.get("object") == "error" else None)
    if isinstance(found, dict):
        found = found.get("message") or json.dumps(found)
    return None if not found else found if isinstance(found, str) else json.dumps(found)


def _failure(target: str, endpoint: Endpoint, error: Exception, timeout: float) -> RequestFailed:
    """Say in one line what the network did."""
    if isinstance(error, TimeoutError):
        return RequestFailed(
            "timeout",
            f"{target} did not finish within {timeout:g} s; ask for fewer tokens or raise --timeout",
        )
    if isinstance(error, ConnectionRefusedError):
        what = "connection refused; is the server running, on that host and port?"
    elif isinstance(error, socket.gaierror | UnicodeError):
        what = f"the host '{endpoint.host}' is not known; check its name"
    elif isinstance(error, ssl.SSLCertVerificationError):
        what = f"its certificate is not trusted ({error.verify_message})"
    elif isinstance(error, ssl.SSLError):
        what = "no TLS connection; does it speak https on that port, or http?"
    elif isinstance(error, http.client.IncompleteRead | http.client.RemoteDisconnected | ConnectionError):
        what = "the server closed the connection before its answer was whole"
        return RequestFailed("cut short", f"{target}: {what}")
    elif isinstance(error, http.client.HTTPException):
        what = f"what answers does not speak HTTP as expected ({shortened(repr(error))}); check the port"
    else:
        what = shortened(str(error) or type(error).__name__)
    return RequestFailed("no connection", f"{target}: {what}")
