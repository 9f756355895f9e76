"""Markdown tables from results: what ``dlmrt report`` prints and what the README's tables are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dlmrt.errors import RequestError, nearest
from dlmrt.report import bench_tables, between, eval_tables, facts, phases
from dlmrt.report.layout import Table, markdown_text, to_markdown
from dlmrt.report.sources import Source, bench_cells, gather
from dlmrt.results.compare import require_comparable
from dlmrt.results.schema import ResultFile


def _floor(sources: Sequence[Source]) -> Table:
    table = bench_tables.floors(sources)
    if table is None:
        raise RequestError(
            "table 'floor' needs a floor, and no result has one; run 'dlmrt bench' without --server"
        )
    return table


# Each kind: the kind of result it is made of, and its table.
TABLE_KINDS: dict[str, tuple[str, Callable[[Sequence[Source]], Table]]] = {
    "eval": ("eval", eval_tables.compact),
    "bench": ("bench", bench_tables.compact),
    "floor": ("bench", _floor),
}


def render_table(kind: str, results: Sequence[ResultFile]) -> str:
    """One table of :data:`TABLE_KINDS` in Markdown, with one line of provenance for each result below.

    Raises RequestError: an unknown kind, or one that these results can't fill; DataError as
    :func:`gather`, and for results of mixed environments or data: rows of a table invite comparison.
    """
    if kind not in TABLE_KINDS:
        raise RequestError(
            f"no table '{kind}'{nearest(kind, TABLE_KINDS)} (tables: {', '.join(TABLE_KINDS)})"
        )
    sources = gather(results)
    needed, build = TABLE_KINDS[kind]
    if sources[0].result.kind != needed:
        raise RequestError(
            f"table '{kind}' is made of {needed} results, and '{sources[0].name}' is of kind "
            f"{sources[0].result.kind}; give a result of 'dlmrt {needed}'"
        )
    require_comparable(results)
    lines = "".join(f"\n{markdown_text(facts.provenance(source))}\n" for source in sources)
    return to_markdown(build(sources), title=False) + lines


def markdown_tables(results: Sequence[ResultFile], names: Sequence[str] | None = None) -> str:
    """All tables of a report in Markdown.

    names: the files' names, where known. Raises DataError as :func:`gather`.
    """
    sources = gather(results, names)
    parts = [to_markdown(table) for table in [facts.runs(sources), *report_tables(sources)]]
    if len(sources) > 1 and (facts_that_differ := between.what_differs(sources)):
        listed = "".join(f"* {markdown_text(fact)}\n" for fact in facts_that_differ)
        parts.append(f"### Between files\n\n{NO_RATIOS}\n\n{listed}")
    if sources[0].result.kind == "bench":
        parts.append(f"### Where a request's time goes\n\n{phases.ASKED}\n\n{time_sentences(sources)}")
    return "\n".join(parts)


NO_RATIOS = "Speeds of these files are not divided by each other, because the files differ in:"


def report_tables(sources: Sequence[Source]) -> list[Table]:
    """The tables of a report in their order, the long ones (every prompt, hashes) left to the page."""
    if sources[0].result.kind == "eval":
        found = [
            facts.skipped(sources),
            eval_tables.accuracy(sources),
            eval_tables.speed(sources),
            *eval_tables.quality(sources),
            *eval_tables.breakdowns(sources),
            eval_tables.areas(sources),
            eval_tables.curves(sources),
            eval_tables.calibration(sources),
            eval_tables.pairs(sources),
            eval_tables.seeds(sources),
            eval_tables.arms(sources),
        ]
    else:
        found = [
            facts.skipped(sources),
            bench_tables.floors(sources),
            bench_tables.speed(sources),
            bench_tables.claims(sources),
            bench_tables.ratios(sources),
            bench_tables.phases(sources),
            bench_tables.memory(sources),
            bench_tables.arms(sources),
        ]
    if len(sources) > 1 and not between.what_differs(sources):
        found.append(between.ratios(sources))
    return [table for table in found if table is not None]


def time_sentences(sources: Sequence[Source]) -> str:
    """One Markdown list item a cell: where its requests' time goes."""
    several = len(sources) > 1
    return "".join(
        f"* {markdown_text((source.letter + ', ' if several else '') + phases.sentence(cell))}\n"
        for source, cell in bench_cells(sources)
    )


def tables_as_data(results: Sequence[ResultFile], names: Sequence[str] | None = None) -> dict[str, Any]:
    """The tables as plain data for JSON: cells as text, as they are printed.

    Raw numbers are in the result files themselves. Raises DataError as :func:`gather`.
    """
    sources = gather(results, names)
    bench = sources[0].result.kind == "bench"
    return {
        "kind": sources[0].result.kind,
        "files": [source.name for source in sources],
        "differences": between.what_differs(sources) if len(sources) > 1 else [],
        "tables": [
            {
                "title": table.title,
                "columns": [column.title for column in table.columns],
                "rows": [list(row) for row in table.rows],
                "notes": list(table.notes),
            }
            for table in [facts.runs(sources), *report_tables(sources)]
        ],
        "time": [phases.sentence(cell) for _, cell in bench_cells(sources)] if bench else [],
    }
