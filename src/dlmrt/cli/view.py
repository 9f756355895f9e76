"""What the views of measuring verbs share: a bar on stderr, tables on stdout."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 200  # columns of a table that goes to a file


def stdout_console() -> Console:
    """Return a rich console on stdout whose tables are wide where it is no terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDE)


class TerminalBar:
    """How far a run is: a bar on a terminal only, started by the first report and ended with the block."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console)
        self._terminal = console.is_terminal
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int, what: str) -> None:
        """Move the bar."""
        if not self._terminal:
            return
        if self._task is None:
            self._task = self._bar.add_task(what, total=total, completed=done)
            self._bar.start()
        self._bar.update(self._task, completed=done, total=total, description=what)
