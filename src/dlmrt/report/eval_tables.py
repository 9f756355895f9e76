"""The tables of an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dlmrt.report import facts
from dlmrt.report import format as fmt
from dlmrt.report.layout import Column, Table, columns, fold
from dlmrt.report.sources import Source, eval_cells
from dlmrt.results.schema import EvalCell, TokensPerForward

# What the compact table shows of a task's quality; the page shows all of it.
COMPACT_QUALITY = ("errors_gone", "untouched_words_changed")
MS = 1000.0

Cells = list[tuple[Source, EvalCell]]


def compact(sources: Sequence[Source]) -> Table:
    """One row an arm and task: what a README has room for."""
    cells = list(eval_cells(sources))
    present = [name for name in COMPACT_QUALITY if any(name in cell.quality for _, cell in cells)]
    rows = []
    for source, cell in cells:
        tpf = cell.tokens_per_forward
        rows.append(
            (
                *_key(source, cell),
                fmt.share(cell.accuracy),
                *(_quality(cell.quality.get(name)) for name in present),
                _ratio_of_sums(tpf),
                fmt.number(cell.tokens_per_second),
                fmt.median(cell.seconds, MS),
            )
        )
    titles = (
        *(Column(_title(name) + " (95 %)") for name in present),
        *columns("tokens a forward with / without commits", "tokens/s", "median ms"),
    )
    return fold(Table("Evaluation", (*_keys("accuracy (95 %)"), *titles), tuple(rows)))


def accuracy(sources: Sequence[Source]) -> Table:
    """How good the answers were and how many tokens a forward decided."""
    rows = []
    for source, cell in eval_cells(sources):
        tpf = cell.tokens_per_forward
        rows.append(
            (
                *_key(source, cell),
                fmt.share(cell.accuracy),
                fmt.count(cell.items),
                fmt.counts(cell.failed),
                _ratio_of_sums(tpf),
                _mean_of_ratios(tpf),
                f"{cell.forwards.prefill:,} / {cell.forwards.denoise:,} / {cell.forwards.commit:,}",
            )
        )
    titles = columns(
        "items",
        "<failed",
        "TPF as ratio of sums, with / without commits",
        "TPF as mean of ratios, with / without commits",
        "forwards: prefill / denoise / commit",
    )
    return fold(Table("Accuracy and tokens a forward", (*_keys("accuracy (95 %)"), *titles), tuple(rows)))


def speed(sources: Sequence[Source]) -> Table:
    """How long answers took, how long they were, and how much they repeated themselves."""
    rows = [
        (
            *_key(source, cell),
            fmt.number(cell.tokens_per_second),
            fmt.spread(cell.seconds, MS),
            fmt.median(cell.first_block_seconds, MS),
            fmt.number(cell.seconds_to_correct),
            fmt.number(cell.median_seconds_of_correct),
            fmt.spread(cell.answer_tokens),
            fmt.percent(cell.repeated_8grams),
            fmt.counts(cell.finish),
        )
        for source, cell in eval_cells(sources)
    ]
    titles = columns(
        "ms an answer (10-90 %)",
        "first block ms",
        "s to a correct answer",
        "median s of correct ones",
        "answer tokens (10-90 %)",
        "repeated 8-grams",
        "<ended by",
    )
    table = Table("Speed and answers", (*_keys("tokens/s"), *titles), tuple(rows))
    watched = any(cell.steps_observed for _, cell in eval_cells(sources))
    note = "Every denoising step was observed while the clock ran; 'dlmrt bench' measures speed without that."
    return fold(Table(table.title, table.columns, table.rows, (note,) if watched else ()))


def arms(sources: Sequence[Source]) -> Table:
    """What each arm was: model, decoder, options, backend."""
    return facts.arms(eval_cells(sources), {"batch": "batch_size"})


def quality(sources: Sequence[Source]) -> list[Table]:
    """What tasks measured beside correctness: one table a task."""
    found = []
    for task, cells, names in _qualities(sources):
        flat = [name for name in names if not _is_breakdown(name, cells)]
        if flat:
            rows = tuple(
                (*_key(source, cell), *(_quality(cell.quality.get(name)) for name in flat))
                for source, cell in cells
            )
            titles = (*_keys(), *(Column(_title(name)) for name in flat))
            found.append(fold(Table(f"{task}: quality beside correctness", titles, rows)))
    return found


def breakdowns(sources: Sequence[Source]) -> list[Table]:
    """Nested quality, such as errors gone by type: one table each."""
    return [
        _breakdown(task, name, cells)
        for task, cells, names in _qualities(sources)
        for name in names
        if _is_breakdown(name, cells)
    ]


def _qualities(sources: Sequence[Source]) -> Iterator[tuple[str, Cells, list[str]]]:
    """Each task with its cells and the names of what it measured."""
    for task in dict.fromkeys(cell.task for _, cell in eval_cells(sources)):
        cells = [(source, cell) for source, cell in eval_cells(sources) if cell.task == task]
        yield task, cells, list(dict.fromkeys(n for _, cell in cells for n in cell.quality if n != "items"))


def pairs(sources: Sequence[Source]) -> Table | None:
    """McNemar's test between arms on the same items."""
    rows = []
    for source in sources:
        for pair in source.result.comparisons:
            rows.append(
                (
                    source.letter,
                    pair.task,
                    f"{pair.second} - {pair.first}",
                    fmt.points(pair.difference),
                    fmt.interval(pair.difference_95, 100),
                    fmt.p_value(pair.p_value),
                    fmt.count(pair.items),
                    f"{pair.both:,} / {pair.only_first:,} / {pair.only_second:,} / {pair.neither:,}",
                    fmt.count(pair.items_needed),
                    pair.note or fmt.MISSING,
                )
            )
    titles = columns(
        "?<file",
        "<task",
        "<second - first",
        "points",
        "95 %",
        "p",
        "items",
        "both / first / second / neither right",
        "items needed",
        "?<note",
    )
    return fold(Table("Paired comparisons", titles, tuple(rows))) if rows else None


def seeds(sources: Sequence[Source]) -> Table | None:
    """Means over seeds with their t intervals."""
    rows = tuple(
        (
            source.letter,
            row.task,
            row.arm,
            " ".join(map(str, row.seeds)),
            fmt.percent(row.accuracy_mean),
            fmt.interval(row.accuracy_95, 100),
            fmt.ratio(row.tokens_per_forward_mean),
            fmt.interval(row.tokens_per_forward_95, 1, 2),
        )
        for source in sources
        for row in source.result.seeds
    )
    titles = columns("?<file", "<task", "<arm", "?<seeds", "accuracy, mean", "95 %", "TPF, mean", "95 %")
    return fold(Table("Seeds", titles, rows)) if rows else None


def curves(sources: Sequence[Source]) -> Table | None:
    """Every point of every sweep, with its area."""
    rows = tuple(
        (
            source.letter,
            curve.task,
            curve.arm,
            curve.option,
            fmt.number(point.value),
            fmt.percent(point.accuracy),
            fmt.ratio(point.tokens_per_forward),
        )
        for source in sources
        for curve in source.result.curves
        for point in curve.points
    )
    titles = columns("?<file", "?<task", "<arm", "?<option", "value", "accuracy", "tokens a forward")
    return fold(Table("Points of the sweep", titles, rows)) if rows else None


def areas(sources: Sequence[Source]) -> Table | None:
    """AUP with what defines it."""
    rows = tuple(
        (
            source.letter,
            curve.task,
            curve.arm,
            curve.option,
            fmt.count(len(curve.points)),
            fmt.number(curve.area),
            fmt.number(curve.alpha),
            fmt.percent(curve.y_max),
        )
        for source in sources
        for curve in source.result.curves
    )
    if not rows:
        return None
    titles = columns("?<file", "<task", "<arm", "<swept option", "points", "AUP", "alpha", "y_max")
    formulas = dict.fromkeys(c.formula for source in sources for c in source.result.curves)
    return fold(Table("Area under the curve (AUP)", titles, rows, tuple(formulas)))


def calibration(sources: Sequence[Source]) -> Table | None:
    """Expected calibration error and what it rests on."""
    rows = tuple(
        (
            *_key(source, cell),
            fmt.count(cell.calibration.tokens),
            fmt.number(cell.calibration.expected_calibration_error),
            BASIS[cell.calibration.basis],
        )
        for source, cell in eval_cells(sources)
        if cell.calibration is not None
    )
    titles = (*_keys("tokens"), *columns("expected calibration error", "?<correct means"))
    return fold(Table("Calibration", titles, rows)) if rows else None


BASIS = {
    "reference": "the token stands in the reference answer",
    "verified": "the whole answer passed",
}


def _keys(*more: str) -> tuple[Column, ...]:
    return columns("?<file", "?<task", "<arm", "?seed", *more)


def _key(source: Source, cell: EvalCell) -> tuple[str, str, str, str]:
    return source.letter, cell.task, cell.arm, str(cell.seed)


def _ratio_of_sums(tpf: TokensPerForward | None) -> str:
    if tpf is None:
        return fmt.MISSING
    return f"{fmt.ratio(tpf.ratio_of_sums)} / {fmt.ratio(tpf.ratio_of_sums_without_commits)}"


def _mean_of_ratios(tpf: TokensPerForward | None) -> str:
    if tpf is None:
        return fmt.MISSING
    return f"{fmt.ratio(tpf.mean_of_ratios)} / {fmt.ratio(tpf.mean_of_ratios_without_commits)}"


def _title(name: str) -> str:
    return name.replace("_", " ")


def _is_breakdown(name: str, cells: Cells) -> bool:
    values = (cell.quality.get(name) for _, cell in cells)
    return any(isinstance(value, Mapping) and fmt.share_of_mapping(value) is None for value in values)


def _quality(value: Any) -> str:
    if isinstance(value, Mapping):
        return fmt.share_of_mapping(value) or fmt.settings(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return fmt.MISSING if value is None else fmt.plain(value)
    return fmt.count(value) if isinstance(value, int) else fmt.number(value)


def _breakdown(task: str, name: str, cells: Cells) -> Table:
    """Keys of a nested quality down the side, arms across."""
    heads = [" ".join(part for part in _arm_head(source, cell, cells)) for source, cell in cells]
    values = [cell.quality.get(name) or {} for _, cell in cells]
    keys = dict.fromkeys(key for value in values if isinstance(value, Mapping) for key in value)
    rows = tuple(
        (key, *(_quality(value.get(key)) if isinstance(value, Mapping) else fmt.MISSING for value in values))
        for key in keys
    )
    titles = (Column("", text=True), *(Column(head) for head in heads))
    return Table(f"{task}: {_title(name)}", titles, rows)


def _arm_head(source: Source, cell: EvalCell, cells: Cells) -> list[str]:
    several_files = len({s.letter for s, _ in cells}) > 1
    several_seeds = len({c.seed for _, c in cells}) > 1
    seed = [f"(seed {cell.seed})"] if several_seeds else []
    return [*([source.letter] if several_files else []), cell.arm, *seed]
