"""Stop strings, and which text and ids of a growing answer are safe to show.

Decoding runs in blocks, so a stop string, like a character of several bytes, may lie across a block
edge. What may still turn into one is held back until it is decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol


class StopMatcher:
    """Finds the first stop string in text that comes in pieces.

    The one that *completes* first wins (then the one that began first), so the outcome doesn't
    depend on where the pieces are cut.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self._stops = tuple(stops)
        self._held = ""
        self.emitted = 0  # characters handed out so far
        self.hit: str | None = None

    def feed(self, text: str) -> str:
        """Take the next piece and return the text that is now safe; nothing after a hit."""
        if self.hit is not None:
            return ""
        held = self._held + text
        found = [(at + len(stop), at, stop) for stop in self._stops if (at := held.find(stop)) >= 0]
        if found:
            _, cut, self.hit = min(found)
            self._held = ""
        else:
            cut = len(held) - self._possible_start(held)
            self._held = held[cut:]
        self.emitted += cut
        return held[:cut]

    def flush(self) -> str:
        """Return what was held back: the answer is over, so it was no stop string."""
        held, self._held = self._held, ""
        self.emitted += len(held)
        return held

    def _possible_start(self, text: str) -> int:
        """Length of the longest end of ``text`` that a stop string begins with."""
        longest = min(len(text), max(map(len, self._stops), default=1) - 1)
        for size in range(longest, 0, -1):
            if any(len(stop) > size and stop.startswith(text[-size:]) for stop in self._stops):
                return size
        return 0


class PieceDecoder(Protocol):
    """Turns ids into text one by one (:class:`dlmrt.engine.text.IncrementalDecoder`)."""

    pending: bool

    def feed(self, token: int) -> str:
        """Take one id; return the text that can't change any more."""
        ...

    def flush(self) -> str:
        """Return the rest, replacement characters included."""
        ...


class RowText:
    """One row's answer as it grows: ids in, safe text and the ids behind it out."""

    def __init__(self, decoder: PieceDecoder, stops: Sequence[str] = ()) -> None:
        self._decoder = decoder
        self._matcher = StopMatcher(stops)
        self._ids: list[int] = []
        self._spans: list[tuple[int, int]] = []  # characters [start, end) of each decided id
        self._decoded = 0  # characters decoded, held ones included
        self._shown = 0  # ids handed out
        self.parts: list[str] = []

    @property
    def stopped(self) -> bool:
        """A stop string was found; nothing more will be shown."""
        return self._matcher.hit is not None

    @property
    def fed(self) -> int:
        """How many ids were taken in."""
        return len(self._ids)

    @property
    def text(self) -> str:
        """All text handed out so far."""
        return "".join(self.parts)

    @property
    def ids(self) -> tuple[int, ...]:
        """All ids handed out so far."""
        return tuple(self._ids[: self._shown])

    def feed(self, ids: Iterable[int]) -> tuple[str, tuple[int, ...]]:
        """Take the next ids and return (text, ids) that became safe to show."""
        text = ""
        for token in ids:
            if self.stopped:
                break
            text += self._take(token)
        return self._show(text)

    def finish(self) -> tuple[str, tuple[int, ...]]:
        """The answer is over: return what was held back, unless a stop string was found."""
        text = ""
        if not self.stopped:
            rest = self._decoder.flush()
            self._decoded += len(rest)
            self._settle(pending=False)
            text = self._matcher.feed(rest)
            if not self.stopped:
                text += self._matcher.flush()
        return self._show(text)

    def _take(self, token: int) -> str:
        piece = self._decoder.feed(token)
        self._ids.append(token)
        self._decoded += len(piece)
        self._settle(pending=self._decoder.pending)
        text = self._matcher.feed(piece)
        if self.stopped:
            self._settle(pending=False)
        return text

    def _settle(self, *, pending: bool) -> None:
        """Note the span of every id whose text is decided; half a character decides none."""
        if pending:
            return
        start = self._spans[-1][1] if self._spans else 0
        missing = len(self._ids) - len(self._spans)
        self._spans += [(start, self._decoded)] * missing

    def _show(self, text: str) -> tuple[str, tuple[int, ...]]:
        cut, first = self._matcher.emitted, self._shown
        while self._shown < len(self._spans):
            start, end = self._spans[self._shown]
            # After a hit a token counts when any of its text was emitted; before, when all was.
            if end > cut and not (self.stopped and start < cut):
                break
            self._shown += 1
        if text:
            self.parts.append(text)
        return text, tuple(self._ids[first : self._shown])
