"""The tables of a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from dlmrt.report import facts
from dlmrt.report import format as fmt
from dlmrt.report.layout import Column, Table, columns, fold
from dlmrt.report.phases import PHASES, named, whole
from dlmrt.report.sources import Source, bench_cells
from dlmrt.results.schema import BenchCell

CLOCKS = {"engine": "the engine's", "client": "a client's, beside the server"}


def compact(sources: Sequence[Source]) -> Table:
    """One row an arm and suite: what a README has room for. Medians over prompts."""
    rows = tuple(
        (
            *_key(source, cell),
            fmt.median(cell.ms_per_forward),
            fmt.percent_of_floor(cell.percent_of_floor),
            fmt.median(cell.tokens_per_second_decode),
            fmt.median(cell.tokens_per_second),
            fmt.median(cell.first_block_ms),
        )
        for source, cell in bench_cells(sources)
    )
    titles = columns(
        "ms a forward", "percent of floor", "tokens/s decode", "tokens/s end to end", "first block ms"
    )
    return fold(Table("Benchmark", (*_keys(), *titles), rows))


def floors(sources: Sequence[Source]) -> Table | None:
    """The least time of one forward: its bytes, its operations, and what the machine was measured to do."""
    suites: dict[tuple[str, ...], list[str]] = {}  # floors of one arm that are alike share a row
    hows: dict[str, None] = {}
    for source, cell in bench_cells(sources):
        floor = cell.floor
        if floor is None:
            continue
        hows[floor.how] = None
        bound = "memory" if floor.memory_ms >= floor.arithmetic_ms else "arithmetic"
        row = (
            source.letter,
            cell.arm,
            fmt.count(floor.positions),
            fmt.count(floor.context),
            fmt.scaled(floor.weight_bytes, "B"),
            fmt.scaled(floor.kv_bytes, "B"),
            fmt.scaled(floor.bandwidth_bytes_per_second, "B/s"),
            fmt.number(floor.memory_ms),
            fmt.scaled(floor.flops, "FLOP"),
            fmt.scaled(floor.matrix_flops_per_second, "FLOP/s"),
            fmt.number(floor.arithmetic_ms),
            f"{fmt.number(floor.ms)} ({bound})",
        )
        suites.setdefault(row, []).append(cell.suite)
    rows = [(row[0], ", ".join(dict.fromkeys(names)), *row[1:]) for row, names in suites.items()]
    if not rows:
        return None
    titles = columns(
        "?<file", "?<suite", "<arm", "positions", "context", "weights read", "keys and values read",
        "?bandwidth", "memory ms", "operations", "?matrix rate", "arithmetic ms", "floor ms (bound by)",
    )  # fmt: skip
    return fold(Table("Floor of one forward", titles, tuple(rows), tuple(hows)))


def speed(sources: Sequence[Source]) -> Table:
    """Forwards against their floor, both rates, first block and total; median (10-90 % of prompts)."""
    rows = []
    for source, cell in bench_cells(sources):
        tpf = cell.tokens_per_forward
        rows.append(
            (
                *_key(source, cell),
                cell.clock,
                fmt.number(cell.floor.ms if cell.floor else None),
                fmt.spread(cell.ms_per_forward),
                fmt.percent_of_floor(cell.percent_of_floor),
                "-"
                if tpf is None
                else f"{fmt.ratio(tpf.ratio_of_sums)} / {fmt.ratio(tpf.ratio_of_sums_without_commits)}",
                fmt.spread(cell.tokens_per_second_decode),
                fmt.spread(cell.tokens_per_second),
                fmt.spread(cell.first_block_ms),
                fmt.spread(cell.total_ms),
            )
        )
    titles = columns(
        "?<clock", "floor ms", "ms a forward", "percent of floor", "TPF with / without commits",
        "tokens/s decode", "tokens/s end to end", "first block ms", "request ms",
    )  # fmt: skip
    clocks = dict.fromkeys(cell.clock for _, cell in bench_cells(sources))
    notes = (
        "Medians over prompts, in brackets the 10th and 90th percentile. "
        f"Clock: {fmt.words(CLOCKS[clock] for clock in clocks)}.",
    )
    return fold(Table("Speed", (*_keys(), *titles), tuple(rows), notes))


def arms(sources: Sequence[Source]) -> Table:
    """What each arm was, with the reason for its backend."""
    cells = list(bench_cells(sources))
    notes = dict.fromkeys(note for _, cell in cells for note in cell.notes)
    counts = {"warm-ups": "warmups", "repeats": "repeats"}
    return facts.arms(cells, counts, tuple(notes))


def phases(sources: Sequence[Source]) -> Table | None:
    """Mean milliseconds of a request by phase."""
    rows = []
    for source, cell in bench_cells(sources):
        if cell.phases is not None and named(cell.phases):
            times = (getattr(cell.phases, name) for name in PHASES)
            rows.append(
                (*_key(source, cell), *map(fmt.milliseconds, times), fmt.milliseconds(whole(cell.phases)))
            )
    titles = (*_keys(), *(Column(f"{name} ms") for name in PHASES), Column("request ms"))
    return fold(Table("Phases of a request, mean", titles, tuple(rows))) if rows else None


def ratios(sources: Sequence[Source]) -> Table | None:
    """The first arm of each suite against each other arm of the same run, prompt by prompt."""
    rows = []
    for source in sources:
        groups: dict[tuple[str, int, int | None], list[BenchCell]] = {}
        for cell in source.result.speeds:
            groups.setdefault((cell.suite, cell.batch_size, cell.max_new_tokens), []).append(cell)
        for cells in groups.values():
            rows += [_ratio_row(source, cells[0], other) for other in cells[1:]]
    if not rows:
        return None
    titles = columns(
        "?<file", "?<suite", "?batch", "?new tokens", "<arms", "decode, ratio of medians",
        "end to end, ratio of medians", "prompt by prompt: median", "least", "most", "faster on", "?<note",
    )  # fmt: skip
    return fold(Table("Tokens/s between arms of one run", titles, tuple(rows)))


def _ratio_row(source: Source, first: BenchCell, other: BenchCell) -> tuple[str, ...]:
    _, suite, _, batch, limit = _key(source, first)
    head = (source.letter, suite, batch, limit, f"{first.arm} / {other.arm}")
    if first.clock != other.clock:
        return (*head, *6 * [fmt.MISSING], f"{first.clock}'s and {other.clock}'s clocks: no ratio")
    theirs = {prompt.prompt: prompt.tokens_per_second for prompt in other.prompts}
    both = [(p.tokens_per_second, theirs[p.prompt]) for p in first.prompts if p.prompt in theirs]
    each = [mine / their for mine, their in both if their > 0]
    return (
        *head,
        fmt.ratio(quotient(first.tokens_per_second_decode, other.tokens_per_second_decode)),
        fmt.ratio(quotient(first.tokens_per_second, other.tokens_per_second)),
        fmt.ratio(median(each) if each else None),
        fmt.ratio(min(each, default=None)),
        fmt.ratio(max(each, default=None)),
        f"{sum(value > 1 for value in each)} of {len(each)} prompts",
        fmt.MISSING,
    )


def memory(sources: Sequence[Source]) -> Table | None:
    """Peak memory, where it was measured."""
    rows = tuple(
        (*_key(source, cell), fmt.scaled(cell.peak_memory_bytes, "B"))
        for source, cell in bench_cells(sources)
        if cell.peak_memory_bytes is not None
    )
    return fold(Table("Memory", (*_keys(), Column("peak")), rows)) if rows else None


def claims(sources: Sequence[Source]) -> Table | None:
    """Claimed speeds against measured ones."""
    rows = tuple(
        (
            source.letter,
            claim.suite,
            claim.arm,
            fmt.number(claim.tokens_per_second),
            claim.measure,
            claim.clock,
            fmt.spread(claim.measured),
            f"{claim.met.hits:,} of {claim.met.total:,}",
            fmt.share(claim.met),
            claim.verdict,
        )
        for source in sources
        for claim in source.result.claims
    )
    titles = columns(
        "?<file", "?<suite", "<arm", "?claimed tokens/s", "?<measure", "?<clock", "measured (10-90 %)",
        "met on prompts", "share (95 %)", "<verdict",
    )  # fmt: skip
    return fold(Table("Claims", titles, rows)) if rows else None


def prompts(sources: Sequence[Source]) -> Table:
    """Every prompt of every cell."""
    rows = tuple(
        (
            *_key(source, cell),
            prompt.prompt,
            fmt.count(prompt.prompt_tokens),
            fmt.count(prompt.tokens),
            " / ".join(
                map(fmt.count, (prompt.prefill_forwards, prompt.denoise_forwards, prompt.commit_forwards))
            ),
            fmt.number(prompt.tokens_per_second_decode),
            fmt.number(prompt.tokens_per_second),
            fmt.number(prompt.first_block_ms),
            f"{fmt.number(prompt.total_ms)} ({'-'.join(map(fmt.number, prompt.total_ms_spread))})",
            prompt.finish,
        )
        for source, cell in bench_cells(sources)
        for prompt in cell.prompts
    )
    titles = columns(
        "<prompt", "prompt tokens", "tokens", "forwards: prefill / denoise / commit", "tokens/s decode",
        "tokens/s end to end", "first block ms", "request ms (of repeats)", "?<ended by",
    )  # fmt: skip
    return fold(Table("Every prompt", (*_keys(), *titles), rows))


def quotient(first: object, second: object) -> float | None:
    """Ratio of two distributions' medians; None where one is missing or the second is 0."""
    a, b = getattr(first, "median", None), getattr(second, "median", None)
    return a / b if a is not None and b else None


def _keys() -> tuple[Column, ...]:
    return columns("?<file", "<suite", "<arm", "?batch", "?new tokens at most")


def _key(source: Source, cell: BenchCell) -> tuple[str, str, str, str, str]:
    limit = fmt.count(cell.max_new_tokens)
    return source.letter, cell.suite, cell.arm, fmt.count(cell.batch_size), limit
