"""Where a run's numbers go: one JSON line each, optionally TensorBoard, and a progress display."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from dlmrt.errors import MissingExtraError


class Window:
    """Weighted means of the metrics since the last log line; its sums are part of a checkpoint.

    Values that are not finite are left out of the means: one bad step must not hide the others.
    """

    def __init__(self, sums: dict[str, float] | None = None) -> None:
        self.sums = dict(sums or {})

    def add(self, values: dict[str, float], weight: float = 1.0) -> None:
        """Add one observation of each value; a value may be absent from some observations."""
        for name, value in values.items():
            finite = math.isfinite(value)
            self.sums[name] = self.sums.get(name, 0.0) + (value * weight if finite else 0.0)
            self.sums[f"{name}#"] = self.sums.get(f"{name}#", 0.0) + (weight if finite else 0.0)

    def flush(self) -> dict[str, float]:
        """The means, in order of names (NaN: no finite value); the window is empty afterwards."""
        names = sorted(n for n in self.sums if not n.endswith("#"))
        means = {n: self.sums[n] / self.sums[f"{n}#"] if self.sums[f"{n}#"] else math.nan for n in names}
        self.sums = {}
        return means


class MetricsLog:
    """``metrics.jsonl``: one object a line with ``kind`` (train, dev, ...) and ``step``.

    Opening it at ``step`` drops lines of later steps: those of a killed session that a resumed
    one runs again.
    """

    def __init__(self, path: Path, step: int, *, tensorboard: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        rewind(path, step)
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115 (closed by close)
        self._board: Any = _open_board(path.parent / "tensorboard", step) if tensorboard else None

    def write(self, kind: str, step: int, values: dict[str, Any]) -> None:
        """Append one line and flush it; a number that is not finite is written as null."""
        values = finite_or_none(values)
        self._file.write(json.dumps({"kind": kind, "step": step, **values}, allow_nan=False) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._board.add_scalar(f"{kind}/{name}", value, step)

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        if self._board is not None:
            self._board.close()


def finite_or_none(values: dict[str, Any]) -> dict[str, Any]:
    """The values with None for each number that is not finite, since JSON has no NaN."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """All complete lines; a last line cut short by a kill is ignored."""
    if not path.exists():
        return []
    out = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            out.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return out


def rewind(path: Path, step: int) -> None:
    """Keep only lines up to ``step``; the file is replaced at once."""
    if path.exists():
        kept = [record for record in read_metrics(path) if record["step"] <= step]
        aside = path.with_suffix(".part")
        aside.write_text("".join(json.dumps(r) + "\n" for r in kept), encoding="utf-8")
        aside.replace(path)


def _open_board(folder: Path, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtraError("tensorboard: true", "track") from None
    return SummaryWriter(str(folder), purge_step=step + 1)


class Reporter(Protocol):
    """Shows a run to a person; the trainer never writes to a terminal itself."""

    def note(self, text: str) -> None:
        """One line about what is going on."""

    def progress(self, step: int, share: float, values: dict[str, float]) -> None:
        """After every step: the share of the run that is done and the newest numbers."""

    def logged(self, kind: str, step: int, values: dict[str, Any]) -> None:
        """A line went to ``metrics.jsonl``."""


class SilentReporter:
    """Shows nothing: for tests and for use as a library."""

    def note(self, text: str) -> None:
        """Ignore the line."""

    def progress(self, step: int, share: float, values: dict[str, float]) -> None:
        """Ignore the progress."""

    def logged(self, kind: str, step: int, values: dict[str, Any]) -> None:
        """Ignore the numbers."""


class ConsoleReporter:
    """A progress bar on stderr; plain lines when stderr is no terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>5.1f}%"))
        self._bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=self._console)
        self._task = self._bar.add_task("starting", total=1.0, visible=False)

    def __enter__(self) -> ConsoleReporter:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def note(self, text: str) -> None:
        """Print the line above the bar."""
        self._console.print(text, markup=False)

    def progress(self, step: int, share: float, values: dict[str, float]) -> None:
        """Move the bar."""
        shown = " ".join(f"{name} {value:.4g}" for name, value in values.items())
        self._bar.update(self._task, completed=share, visible=True, description=f"step {step} {shown}")

    def logged(self, kind: str, step: int, values: dict[str, Any]) -> None:
        """Print dev results; training lines only where there is no bar."""
        if kind != "train" or not self._console.is_terminal:
            shown = " ".join(
                f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in values.items()
            )
            self.note(f"{kind} {step}: {shown}")
