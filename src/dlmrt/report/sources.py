"""The result files of one report: their letters, their names, and whether they go together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from dlmrt.errors import DataError
from dlmrt.report.format import MISSING, words
from dlmrt.results.schema import BenchCell, EvalCell, ModelFacts, ResultFile

Cell = TypeVar("Cell", EvalCell, BenchCell)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Source:
    """One file. name: shown to readers. letter: its short name; MISSING when the report has one file."""

    letter: str
    name: str
    result: ResultFile


def gather(results: Sequence[ResultFile], names: Sequence[str] | None = None) -> tuple[Source, ...]:
    """Letter the results in their order; ``names`` are their file names, where known.

    Raises DataError: no result, more than 26, kinds mixed, or a result without any measurement.
    """
    if not results:
        raise DataError("no result was given; a report needs at least one result file")
    if len(results) > len(LETTERS):
        raise DataError(
            f"{len(results)} results were given; a report takes at most {len(LETTERS)} side by side"
        )
    called = list(names) if names is not None else [label(result) for result in results]
    kinds: dict[str, list[str]] = {}
    for name, result in zip(called, results, strict=True):
        kinds.setdefault(result.kind, []).append(name)
        if not (result.cells or result.speeds):
            reasons = "; ".join(f"{what}: {why}" for what, why in result.skipped.items())
            raise DataError(
                f"'{name}' holds no measurement ({reasons or 'nothing was run'}); "
                "run 'dlmrt eval' or 'dlmrt bench' again and report its file"
            )
    if len(kinds) > 1:
        listed = words(f"{kind} ({', '.join(files)})" for kind, files in sorted(kinds.items()))
        raise DataError(
            f"results of different kinds can't stand in one report: {listed}; report each kind alone"
        )
    letters = LETTERS if len(results) > 1 else MISSING
    return tuple(Source(letters[i], called[i], result) for i, result in enumerate(results))


def label(result: ResultFile) -> str:
    """Name a result by model, hardware and day, as its file would be."""
    return f"{main_model(result)} on {result.hardware}, {result.run.started[:10]}"


def main_model(result: ResultFile) -> str:
    """The first arm's model, with ``+N`` for further ones."""
    used = [cell.model for cell in result.cells] + [cell.model for cell in result.speeds]
    names = list(dict.fromkeys(used))
    first = model_name(result, names[0]) if names else "no model"
    return first if len(names) < 2 else f"{first} +{len(names) - 1}"


def model_name(result: ResultFile, key: str) -> str:
    """The name of the model that cells call ``key``."""
    facts = result.models.get(key)
    return key if facts is None else described(facts)


def described(facts: ModelFacts) -> str:
    """A model's name; random weights are said beside it, because their answers mean nothing."""
    return f"{facts.name} (random weights)" if facts.random_weights else facts.name


def eval_cells(sources: Sequence[Source]) -> Iterator[tuple[Source, EvalCell]]:
    """All eval cells, by task in order of appearance, so that the arms of a task stand together."""
    return _together((source, cell.task, cell) for source in sources for cell in source.result.cells)


def bench_cells(sources: Sequence[Source]) -> Iterator[tuple[Source, BenchCell]]:
    """All bench cells, by suite in order of appearance."""
    return _together((source, cell.suite, cell) for source in sources for cell in source.result.speeds)


def _together(cells: Iterable[tuple[Source, str, Cell]]) -> Iterator[tuple[Source, Cell]]:
    groups: dict[str, list[tuple[Source, Cell]]] = {}
    for source, name, cell in cells:
        groups.setdefault(name, []).append((source, cell))
    return chain.from_iterable(groups.values())
