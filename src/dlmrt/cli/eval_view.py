"""What ``dlmrt eval`` shows: a bar on stderr while it runs, tables on stdout at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from dlmrt.cli.common import note, stderr_console
from dlmrt.cli.view import TerminalBar, stdout_console
from dlmrt.results.schema import Curve, EvalCell, PairedComparison, ResultFile, SeedSummary, ShareOf

if TYPE_CHECKING:
    from rich.table import Table

    from dlmrt.evals.record import ItemRecord


class Bar(TerminalBar):
    """Answers done, accuracy so far and tokens/s of the first arm, time left; a bar on a terminal only."""

    def __init__(self, first_arm: str) -> None:
        super().__init__(stderr_console())
        self._total = self._done = 0
        self._folder: Path | None = None
        self._arm = first_arm
        self._answers = self._correct = self._tokens = 0
        self._seconds = 0.0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if kind is KeyboardInterrupt and self._folder is not None:
            note(f"interrupted; what is done is in {self._folder}, and the same command goes on from there")

    def started(self, folder: Path, total: int, done: Sequence[ItemRecord]) -> None:
        """Say where the answers go and how many are there."""
        if len(done) == total:
            note(f"{folder}: finished before, shown again (--fresh decodes anew)")
            return
        self._folder = folder
        there = f", {len(done):,} of them there already" if done else ""
        note(f"{folder}: {total:,} answers{there}")
        for record in done:
            self._count(record)
        self._done, self._total = len(done), total
        self(self._done, total, self._arm)

    def answered(self, record: ItemRecord) -> None:
        """Move the bar."""
        self._count(record)
        self._done += 1
        speed = f", {self._tokens / self._seconds:,.0f} tokens/s" if self._seconds > 0 else ""
        accuracy = f"{self._correct / self._answers:.1%} right" if self._answers else ""
        self(self._done, self._total, f"{record.task}, {self._arm}: {accuracy}{speed}")

    def _count(self, record: ItemRecord) -> None:
        if record.arm == self._arm or record.arm.startswith(f"{self._arm}@"):
            self._answers += 1
            self._correct += record.correct
            self._tokens += len(record.ids)
            self._seconds += record.machine_seconds


def print_result(result: ResultFile) -> None:
    """Write the tables of a result to stdout."""
    console = stdout_console()

    def line(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    for task in dict.fromkeys(cell.task for cell in result.cells):
        cells = [cell for cell in result.cells if cell.task == task]
        line(f"{task}, {cells[0].items:,} items")
        console.print(_cells(cells))
        for text in _failures(cells):
            line(text)
    for curve in result.curves:
        area = "none" if curve.area is None else f"{curve.area:.2f}"
        line(f"{curve.arm} on {curve.task}: AUP {area}, alpha {curve.alpha:g}, y_max {curve.y_max:.4f}")
        console.print(_curve(curve))
    for formula in dict.fromkeys(curve.formula for curve in result.curves):
        line(formula)
    for text in (*map(_comparison, result.comparisons), *map(_seeds, result.seeds), *_margins(result)):
        line(text)


def _table(*headings: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i == 0 else "right", overflow="fold")
    return table


def _cells(cells: Sequence[EvalCell]) -> Table:
    """One row an arm and seed; tokens a forward are the ratio of sums, prefill apart."""
    seeds = {cell.seed for cell in cells}
    headings = ("arm", "correct", "95 %", "decoded", "tokens/\nforward", "without\ncommits", "tokens\n/s",
                "median\nms", "s to\ncorrect", "repeats")  # fmt: skip
    table = _table(*headings)
    for cell in cells:
        rate, failed = cell.tokens_per_forward, sum(cell.failed.values())
        table.add_row(
            cell.arm if len(seeds) == 1 else f"{cell.arm}, seed {cell.seed}",
            *_share(cell.accuracy),
            f"{cell.items - failed:,}",
            _number(None if rate is None else rate.ratio_of_sums, 2),
            _number(None if rate is None else rate.ratio_of_sums_without_commits, 2),
            _number(cell.tokens_per_second, 0),
            _number(None if cell.seconds is None else 1e3 * cell.seconds.median, 1),
            _number(cell.seconds_to_correct, 3),
            "-" if cell.repeated_8grams is None else f"{cell.repeated_8grams:.1%}",
        )
    return table


def _failures(cells: Sequence[EvalCell]) -> list[str]:
    """Why items were not decoded, and the most that any arm could not."""
    reasons: dict[str, int] = {}
    for cell in cells:
        for reason, count in cell.failed.items():
            reasons[reason] = max(count, reasons.get(reason, 0))
    return [f"not decoded, counted as wrong: {count:,} x {reason}" for reason, count in reasons.items()]


def _share(share: ShareOf) -> tuple[str, str]:
    if share.share is None or share.interval_95 is None:
        return "-", "-"
    low, high = share.interval_95
    return f"{share.share:.1%}", f"{low:.1%} .. {high:.1%}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _curve(curve: Curve) -> Table:
    table = _table(curve.option, "correct", "tokens/forward")
    for point in curve.points:
        table.add_row(f"{point.value:g}", f"{point.accuracy:.1%}", f"{point.tokens_per_forward:.2f}")
    return table


def _comparison(part: PairedComparison) -> str:
    low, high = part.difference_95
    needed = (
        "" if part.items_needed is None else f"; {part.items_needed:,} items would show such a difference"
    )
    return (
        f"{part.second} - {part.first} on {part.task}: {100 * part.difference:+.1f} points "
        f"({100 * low:+.1f} .. {100 * high:+.1f}), McNemar p = {part.p_value:.3g}; of {part.items:,} items "
        f"both {part.both:,}, only {part.first} {part.only_first:,}, only {part.second} "
        f"{part.only_second:,}, neither {part.neither:,}{needed}. {part.note}"
    )


def _seeds(part: SeedSummary) -> str:
    interval = ""
    if part.accuracy_95 is not None:
        low, high = part.accuracy_95
        interval = f" ({low:.1%} .. {high:.1%})"
    rate = ""
    if part.tokens_per_forward_mean is not None:
        rate = f", {part.tokens_per_forward_mean:.2f} tokens/forward"
    if part.tokens_per_forward_95 is not None:
        low, high = part.tokens_per_forward_95
        rate += f" ({low:.2f} .. {high:.2f})"
    return (
        f"{part.arm} on {part.task}, {len(part.seeds)} seeds: mean {part.accuracy_mean:.1%}{interval}{rate}"
    )


def _margins(result: ResultFile) -> Iterable[str]:
    margin = result.settings.get("claim_margin", 0.0)
    for name, items in result.settings.get("items_for_margin", {}).items():
        yield f"{name}: {items:,} items for an accuracy within +-{100 * margin:g} points (95 %)"
