"""A small OpenAI-compatible HTTP server for tests: real sockets, answers under the test's control.

``BenchServer(answer)`` listens on 127.0.0.1 at a port of the system's choice. ``answer`` is called in a
thread of its own for each completion request and writes the reply; :func:`good_answer` is what a sound
server does, streaming or not, as the request says.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import pytest

from dlmrt.bench.server import ServerFacts, ServerPlan, measure_server
from dlmrt.bench.suites import Suite, SuitePrompt
from dlmrt.errors import ServerError
from dlmrt.results.schema import BenchCell, DataFacts

PARTS = ("The cat ", "sat on ", "the mat.")
TOKENS, PROMPT_TOKENS = 12, 7
# Longer than what the client takes for one burst.
PAUSE_SECONDS = 0.008


@dataclass
class Exchange:
    """One request, and ways to answer it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    server: BenchServer
    _handler: BaseHTTPRequestHandler
    _chunked: bool = field(default=False, init=False)

    @property
    def is_chat(self) -> bool:
        return self.path.endswith("/chat/completions")

    @property
    def wants_stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def wants_usage(self) -> bool:
        return bool((self.body.get("stream_options") or {}).get("include_usage"))

    def reply(
        self,
        data: bytes,
        status: int = 200,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        length: int | None = None,
    ) -> None:
        """Send a whole body; ``length``: what Content-Length says in place of the truth."""
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", content_type)
        self._handler.send_header("Content-Length", str(len(data) if length is None else length))
        for name, value in (headers or {}).items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        self._handler.wfile.write(data)
        self._handler.close_connection = True

    def json(self, document: object, status: int = 200) -> None:
        self.reply(json.dumps(document).encode(), status)

    def start_stream(self, content_type: str = "text/event-stream") -> None:
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", content_type)
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()
        self._handler.close_connection = True

    def write(self, data: bytes) -> None:
        """Send bytes at once, as one HTTP chunk of their own."""
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self._handler.wfile.flush()

    def event(self, document: object) -> None:
        text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
        self.write(f"data: {text}\n\n".encode())

    def end_stream(self) -> None:
        self._handler.wfile.write(b"0\r\n\r\n")

    def delta(self, text: str, **more: Any) -> dict[str, Any]:
        """A stream's chunk with some text."""
        choice: dict[str, Any] = {"index": 0, "finish_reason": None}
        choice |= {"delta": {"content": text}} if self.is_chat else {"text": text}
        return {"object": "chunk", "choices": [choice], **more}

    def last_delta(self, reason: str = "stop") -> dict[str, Any]:
        chunk = self.delta("")
        chunk["choices"][0]["finish_reason"] = reason
        return chunk

    def whole(self, text: str, **more: Any) -> dict[str, Any]:
        """An answer that is not streamed."""
        choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
        choice |= {"message": {"role": "assistant", "content": text}} if self.is_chat else {"text": text}
        return {"object": "completion", "choices": [choice], **more}


Answerer = Callable[[Exchange], None]


def usage(tokens: int = TOKENS) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": tokens}}


def good_answer(exchange: Exchange) -> None:
    """Answer as asked; the usage of a stream comes in a chunk of its own, if asked for."""
    if not exchange.wants_stream:
        exchange.json(exchange.whole("".join(PARTS), **usage()))
        return
    exchange.start_stream()
    for part in PARTS:
        exchange.event(exchange.delta(part))
        time.sleep(PAUSE_SECONDS)
    exchange.event(exchange.last_delta())
    if exchange.wants_usage:
        exchange.event({"choices": [], **usage()})
    exchange.event("[DONE]")
    exchange.end_stream()


class BenchServer:
    """The server; a context manager. requests: what it was sent, in order of arrival."""

    def __init__(self, answer: Answerer = good_answer, models: Sequence[str] = ("tiny-model",)) -> None:
        self.answer, self.models = answer, tuple(models)
        self.requests: list[Exchange] = []
        # Answers that stall wait for this: it is set when the server closes.
        self.closing = threading.Event()
        self._http = _Http(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = False  # server_close() waits for them: no thread outlives its test

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests."""


def _handler(server: BenchServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        server_version, sys_version = "BenchServer/1", ""

        def do_GET(self) -> None:
            exchange = Exchange(self.path, dict(self.headers), {}, server, self)
            server.requests.append(exchange)
            if self.path.split("?")[0].endswith("/v1/models"):
                exchange.json({"object": "list", "data": [{"id": name} for name in server.models]})
            else:
                exchange.json({"error": {"message": f"no such path: {self.path}"}}, 404)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            exchange = Exchange(self.path.split("?")[0], dict(self.headers), body, server, self)
            server.requests.append(exchange)
            if exchange.path in ("/v1/chat/completions", "/v1/completions"):
                server.answer(exchange)
            else:
                exchange.json({"error": {"message": f"no such path: {self.path}"}}, 404)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


# A client's side


def suite(*texts: str, name: str = "mine") -> Suite:
    prompts = tuple(SuitePrompt(f"p{i}", text) for i, text in enumerate(texts or ("one", "two")))
    return Suite(name, prompts, DataFacts("mine.jsonl", "0" * 64, len(prompts), "test"))


def plan(server: BenchServer, **changes: Any) -> ServerPlan:
    values: dict[str, Any] = {"url": server.url, "suites": (suite(),), "repeats": 1, "timeout": 10.0}
    return ServerPlan(**{**values, **changes})


def measure(answer: Answerer = good_answer, **changes: Any) -> tuple[BenchCell, ServerFacts]:
    with BenchServer(answer) as server:
        (cell,), facts = measure_server(plan(server, **changes))
    return cell, facts


def fails(answer: Answerer, **changes: Any) -> str:
    with pytest.raises(ServerError) as caught:
        measure(answer, **changes)
    text = str(caught.value)
    assert "\n" not in text
    return text


def after_warmup(answer: Answerer) -> Answerer:
    """Sound for the first request, then ``answer``."""
    seen: list[int] = []

    def reply(exchange: Exchange) -> None:
        seen.append(1)
        (good_answer if len(seen) == 1 else answer)(exchange)

    return reply


def for_prompt(text: str, answer: Answerer) -> Answerer:
    def reply(exchange: Exchange) -> None:
        asked = exchange.body["messages"][0]["content"]
        (answer if asked == text else good_answer)(exchange)

    return reply


def has_note(cell: BenchCell, *words: str) -> bool:
    return any(all(word in note for word in words) for note in cell.notes)
