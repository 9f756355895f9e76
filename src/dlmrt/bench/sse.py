"""Server-sent events from bytes, however the network cut them (WHATWG HTML, "Server-sent events")."""

from __future__ import annotations

from dataclasses import dataclass, field

from dlmrt.errors import ServerError

# A line longer than this is no chunk of an answer; without a limit a broken server fills the memory.
MAX_LINE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Event:
    """One event: its data lines joined by line feeds, and its type (``message`` unless named)."""

    data: str
    kind: str = "message"


@dataclass
class EventParser:
    """Feed it what was read, get the events that became whole.

    Lines end in LF, CRLF or CR; comments (``: keep-alive``) and unknown fields are passed over. Bytes
    that are not UTF-8 raise ServerError: a whole line is decoded at once, so a character cut by the
    network is none of them.
    """

    _buffer: bytearray = field(default_factory=bytearray)
    _data: list[str] = field(default_factory=list)
    _kind: str = ""
    _first: bool = True
    _skip_lf: bool = False

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes; raises ServerError."""
        self._buffer += data
        events = []
        for line in self._lines():
            event = self._line(line)
            if event is not None:
                events.append(event)
        if len(self._buffer) > MAX_LINE_BYTES:
            raise ServerError(
                f"the server sent a line of more than {MAX_LINE_BYTES >> 20} MiB inside its event stream; "
                "is this an OpenAI-compatible API?"
            )
        return events

    def close(self) -> list[Event]:
        """The stream ended: an event whose closing blank line is missing counts (some servers omit it)."""
        return self.feed(b"\n\n")

    def _lines(self) -> list[bytes]:
        if self._skip_lf and self._buffer:
            # The CR that ended the last line was the first half of a CRLF.
            if self._buffer[:1] == b"\n":
                del self._buffer[:1]
            self._skip_lf = False
        end = max(self._buffer.rfind(b"\n"), self._buffer.rfind(b"\r")) + 1
        if not end:
            return []
        whole = bytes(self._buffer[:end])
        del self._buffer[:end]
        self._skip_lf = whole.endswith(b"\r")
        return whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")[:-1]

    def _line(self, raw: bytes) -> Event | None:
        if self._first:
            raw, self._first = raw.removeprefix(b"\xef\xbb\xbf"), False
        if not raw:
            return self._dispatch()
        try:
            name, _, value = raw.decode("utf-8").partition(":")
        except UnicodeDecodeError as error:
            raise ServerError(f"the server's event stream is not UTF-8 ({error.reason})") from None
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._kind = value
        return None

    def _dispatch(self) -> Event | None:
        data, kind = self._data, self._kind or "message"
        self._data, self._kind = [], ""
        return Event("\n".join(data), kind) if data else None
