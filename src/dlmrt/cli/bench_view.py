"""What ``dlmrt bench`` shows: floors before the work, a bar during it, tables and sentences after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dlmrt.cli.common import answer, note, stderr_console
from dlmrt.cli.view import TerminalBar, stdout_console
from dlmrt.report import format as fmt
from dlmrt.report import phases
from dlmrt.results.schema import BenchCell, Distribution, ResultFile

if TYPE_CHECKING:
    from dlmrt.bench.harness import FloorRow


class Bar(TerminalBar):
    """How far the run is, on stderr."""

    def __init__(self) -> None:
        super().__init__(stderr_console())


def print_floors(rows: Sequence[FloorRow]) -> None:
    """The table of floors, with how their rates were measured."""
    headings = (
        "suite", "arm", "batch", "backend", "positions", "context", "weights MB", "KV MB", "GFLOP",
        "memory ms", "arithmetic ms", "floor ms",
    )  # fmt: skip
    _table(
        "floor of a forward, right after the prompt", headings, [_floor_row(r) for r in rows], left=(0, 1, 3)
    )
    rates = {(row.backend, row.floor.bandwidth_bytes_per_second): row for row in rows}
    for row in rates.values():
        answer(_rates_line(row))
    if any(row.arm == "lookup" for row in rows):
        answer("lookup: drafts add positions; how many is known afterwards")
    answer("")


def _floor_row(row: FloorRow) -> list[str]:
    floor = row.floor
    return [
        row.suite,
        row.arm,
        str(row.batch),
        row.backend,
        f"{floor.positions:,}",
        f"{floor.context:,}",
        f"{floor.weight_bytes / 1e6:,.1f}",
        f"{floor.kv_bytes / 1e6:,.2f}",
        f"{floor.flops / 1e9:,.3g}",
        f"{floor.memory_ms:.3g}",
        f"{floor.arithmetic_ms:.3g}",
        f"{floor.ms:.3g}",
    ]


def note_floors(rows: Sequence[FloorRow]) -> None:
    """The floors on stderr, a line each, when stdout belongs to a document."""
    for row in rows:
        note(f"floor: {row.suite}, {row.arm}, batch {row.batch}: {row.floor.ms:.3g} ms a forward")


def _rates_line(row: FloorRow) -> str:
    floor = row.floor
    return (
        f"{row.backend}: {floor.bandwidth_bytes_per_second / 1e9:,.1f} GB/s, "
        f"{floor.matrix_flops_per_second / 1e9:,.0f} GFLOP/s ({floor.how})"
    )


def print_result(result: ResultFile, *, breakdown: bool) -> None:
    """The table of speeds, the sentences, the verdicts."""
    _print_speeds(result)
    if breakdown:
        _print_phases(result)
        _print_sentences(result)
    for claim in result.claims:
        answer(f"claim, {claim.suite}, {claim.arm}: {claim.verdict}")
    for line in _notes(result):
        note(line)


def _print_speeds(result: ResultFile) -> None:
    lengths = len({cell.max_new_tokens for cell in result.speeds}) > 1
    headings = [
        "suite", "arm", "batch", "prompts", "ms/forward", "% of floor", "tokens/forward",
        "tokens/s decode", "tokens/s end to end", "first block ms", "memory MB", "clock",
    ]  # fmt: skip
    if lengths:
        headings.insert(3, "new tokens")
    rows = []
    for cell in result.speeds:
        row = _speed_row(cell)
        if lengths:
            row.insert(3, fmt.count(cell.max_new_tokens))
        rows.append(row)
    _table(
        f"speed on {result.hardware}: medians [middle half]; commits counted in tokens/forward",
        headings,
        rows,
        left=(0, 1, len(headings) - 1),
    )


def _speed_row(cell: BenchCell) -> list[str]:
    rate, peak = cell.tokens_per_forward, cell.peak_memory_bytes
    return [
        cell.suite,
        cell.arm,
        str(cell.batch_size),
        str(len(cell.prompts)),
        fmt.median(cell.ms_per_forward),
        fmt.percent_of_floor(cell.percent_of_floor).removesuffix(" %"),
        fmt.ratio(None if rate is None else rate.ratio_of_sums),
        _spread(cell.tokens_per_second_decode),
        _spread(cell.tokens_per_second),
        fmt.median(cell.first_block_ms),
        fmt.MISSING if peak is None else f"{peak / 1e6:,.0f}",
        cell.clock,
    ]


def _print_phases(result: ResultFile) -> None:
    rows = []
    for cell in result.speeds:
        if cell.phases is None:
            continue
        times = [getattr(cell.phases, name) for name in phases.PHASES]
        values = (*times, phases.above_floor(cell), phases.whole(cell.phases))
        rows.append([cell.suite, cell.arm, str(cell.batch_size), *map(fmt.milliseconds, values)])
    _table(
        "where a request's time goes: mean ms a request",
        ("suite", "arm", "batch", *phases.PHASES, "of denoise above floor", "total"),
        rows,
        left=(0, 1),
    )


def _print_sentences(result: ResultFile) -> None:
    answer(phases.QUESTION)
    for cell in result.speeds:
        answer(f"  {phases.sentence(cell)}")


def _notes(result: ResultFile) -> list[str]:
    """The notes of all cells: what all carry is said once, what was skipped has been said already."""
    if not result.speeds:
        return []
    told = set(result.skipped.values())
    shared = set.intersection(*(set(cell.notes) for cell in result.speeds)) - told
    lines = [text for text in result.speeds[0].notes if text in shared]
    for cell in result.speeds:
        where = f"{cell.suite}, {cell.arm}, batch {cell.batch_size}"
        lines += [f"{where}: {text}" for text in cell.notes if text not in shared | told]
    return lines


def _spread(part: Distribution | None) -> str:
    return fmt.MISSING if part is None else f"{part.median:,.0f} [{part.p25:,.0f} .. {part.p75:,.0f}]"


def _table(
    title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int]
) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left")
    for at, heading in enumerate(headings):
        table.add_column(heading, justify="left" if at in left else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    stdout_console().print(table)
