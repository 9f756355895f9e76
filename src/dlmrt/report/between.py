"""Ratios between files, for files that may be compared: the same arm and task, or suite, in both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dlmrt.report import format as fmt
from dlmrt.report.bench_tables import quotient
from dlmrt.report.layout import Table, columns, fold
from dlmrt.report.sources import Source
from dlmrt.results.compare import differences
from dlmrt.results.schema import BenchCell, EvalCell

Row = tuple[str, ...]


def what_differs(sources: Sequence[Source]) -> list[str]:
    """Facts in which the files differ, so that their speeds must not be divided; empty when none does."""
    return differences([source.result for source in sources])


def ratios(sources: Sequence[Source]) -> Table:
    """Every later file against the first. Cells that differ in what they did get the reason, no ratio."""
    first, rows = sources[0], []
    for other in sources[1:]:
        name = f"{other.letter} / {first.letter}"
        rows += [(name, *row) for row in _eval_rows(first, other)]
        rows += [(name, *row) for row in _bench_rows(first, other)]
    kind = first.result.kind
    titles = columns(
        "?<files", "<task" if kind == "eval" else "<suite", "<arm", "tokens/s",
        "tokens a forward" if kind == "eval" else "ms a forward",
        "median request time", "?<no ratio because",
    )  # fmt: skip
    note = "Ratios of medians (tokens/s of an evaluation and tokens a forward: of sums)."
    return fold(Table("Between files", titles, tuple(rows), (note,)))


def _eval_rows(first: Source, other: Source) -> Iterator[Row]:
    theirs = {(c.task, c.arm, c.seed): c for c in other.result.cells}
    for cell in first.result.cells:
        match = theirs.get((cell.task, cell.arm, cell.seed))
        if match is None:
            continue
        reason = _differs(cell, match)
        if reason:
            yield (cell.task, cell.arm, *3 * [fmt.MISSING], reason)
            continue
        a, b = cell.tokens_per_forward, match.tokens_per_forward
        yield (
            cell.task,
            cell.arm,
            fmt.ratio(_divide(match.tokens_per_second, cell.tokens_per_second)),
            fmt.ratio(_divide(b.ratio_of_sums if b else None, a.ratio_of_sums if a else None)),
            fmt.ratio(quotient(match.seconds, cell.seconds)),
            fmt.MISSING,
        )


def _bench_rows(first: Source, other: Source) -> Iterator[Row]:
    theirs = {(c.suite, c.arm, c.batch_size, c.max_new_tokens): c for c in other.result.speeds}
    for cell in first.result.speeds:
        match = theirs.get((cell.suite, cell.arm, cell.batch_size, cell.max_new_tokens))
        if match is None:
            continue
        reason = _differs(cell, match)
        if not reason and cell.clock != match.clock:
            reason = f"clocks differ: {cell.clock}, {match.clock}"
        if reason:
            yield (cell.suite, cell.arm, *3 * [fmt.MISSING], reason)
            continue
        yield (
            cell.suite,
            cell.arm,
            fmt.ratio(quotient(match.tokens_per_second, cell.tokens_per_second)),
            fmt.ratio(quotient(match.ms_per_forward, cell.ms_per_forward)),
            fmt.ratio(quotient(match.total_ms, cell.total_ms)),
            fmt.MISSING,
        )


def _differs(mine: EvalCell | BenchCell, theirs: EvalCell | BenchCell) -> str:
    """Name what two cells of one arm did differently; empty when nothing."""
    named = {
        "method": (mine.method, theirs.method),
        "options": (fmt.settings(mine.options), fmt.settings(theirs.options)),
        "batch": (mine.batch_size, theirs.batch_size),
    }
    different = [f"{name} differ: {a}, {b}" for name, (a, b) in named.items() if a != b]
    return "; ".join(different)


def _divide(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None
