"""``--show-steps``: the canvas on stderr while it is denoised, live on a terminal, else one line a step."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from dlmrt.cli.common import note, stderr_console
from dlmrt.engine.text import TextCodec
from dlmrt.engine.trace import Step, plain_step, states
from dlmrt.rows import StepRecord

if TYPE_CHECKING:
    from rich.text import Text

OPEN = "·"
# Style of a token by its state (see dlmrt.engine.trace.states).
STYLES = {"p": "dim", "o": "dim", "n": "bold green", "e": "bold yellow", "d": ""}


class StepView(Protocol):
    """Something that shows steps; :meth:`close` leaves the terminal as it was."""

    def __call__(self, record: StepRecord) -> None:
        """Show one step."""
        ...

    def close(self) -> None:
        """Stop showing."""
        ...


def step_view(codec: TextCodec, *, rows: int) -> StepView:
    """Return the view that suits stderr: animated on a terminal, else lines."""
    return LiveView(codec) if sys.stderr.isatty() else LineView(codec, rows)


class LineView:
    """One line a step: block, step, what was decided, and the text with a dot for an open position."""

    def __init__(self, codec: TextCodec, rows: int) -> None:
        self._codec = codec
        self._rows = rows

    def __call__(self, record: StepRecord) -> None:
        """Show one step."""
        step = plain_step(record)
        row = f"prompt {step.row + 1} " if self._rows > 1 else ""
        new = sum(step.accepted)
        edits = f", {sum(step.edited)} edited" if any(step.edited) else ""
        text = "".join(text for text, _ in pieces(self._codec, step))
        note(
            f"{row}block {step.block} step {step.step + 1}: {step.decided}/{step.to_decide} decided (+{new}"
            f"{edits}), mean entropy {step.mean_entropy:.2f} | {text}"
        )

    def close(self) -> None:
        """Nothing to leave behind."""


class LiveView:
    """The canvas, redrawn in place; finished blocks of the row stay above it."""

    def __init__(self, codec: TextCodec) -> None:
        from rich.live import Live
        from rich.text import Text

        self._codec = codec
        self._finished = Text()
        self._canvas = Text()
        self._at = (-1, -1)  # row and block on the screen
        self._forwards = 0
        self._console = stderr_console()
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,  # the answer is not for this console
            redirect_stderr=False,
            vertical_overflow="visible",
        )
        self._live.start()

    def __call__(self, record: StepRecord) -> None:
        """Show one step."""
        from rich.text import Text

        step = plain_step(record)
        if (step.row, step.block) != self._at:
            self._turn_to(step)
        self._forwards += 1
        self._canvas = Text()
        for text, state in pieces(self._codec, step):
            self._canvas.append(text, STYLES[state])
        self._live.update(self._frame(step), refresh=True)

    def close(self) -> None:
        """Leave the last frame on the screen and give the cursor back."""
        self._live.stop()

    def _turn_to(self, step: Step) -> None:
        from rich.text import Text

        if step.row != self._at[0]:
            self._finished, self._forwards = Text(), 0
        else:
            self._finished.append(self._canvas.plain)
        self._at = (step.row, step.block)

    def _frame(self, step: Step) -> Text:
        from rich.text import Text

        head = (
            f"block {step.block}  step {step.step + 1}  {step.decided}/{step.to_decide} decided  "
            f"entropy {step.mean_entropy:.2f}  forwards {self._forwards}\n"
        )
        # Only what fits on the screen can be redrawn in place: the end of the finished text.
        room = self._console.width * max(1, self._console.height - 8)
        return Text.assemble((head, "cyan"), self._finished[-room:], self._canvas)


def pieces(codec: TextCodec, step: Step) -> list[tuple[str, str]]:
    """Return (text, state) of every position after ``step``; control tokens that are decided are empty.

    Decided neighbours are decoded together, so that a character of several tokens shows whole.
    """
    out: list[tuple[str, str]] = []
    run: list[int] = []
    letters = states(step)
    for at, (token, state) in enumerate(zip(step.after, letters, strict=True)):
        if state == "o":
            out.append((OPEN, "o"))
            continue
        run.append(token)
        if letters[at + 1 : at + 2] != state:
            out.append((printable(codec.decode(run)), state))
            run = []
    return out


def printable(text: str) -> str:
    """Return ``text`` on one line and without characters that steer a terminal."""
    text = text.replace("\n", "↵").replace("\t", "→")
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
