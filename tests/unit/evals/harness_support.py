"""Tasks, plans and lanes for tests of the harness: a tiny random model, or one that recites a script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dlmrt.engine.arms import Place, parse_arms
from dlmrt.evals.item import Item
from dlmrt.evals.plan import EvalPlan
from dlmrt.evals.task import Task
from dlmrt.results.schema import DataFacts

WORDS = ("the ab", "ab ab", "stop the", "a bee", "the the the", "abab", "x", "the end")


def make_items(pairs: Sequence[tuple[str, str]]) -> tuple[Item, ...]:
    """Items with ids i0, i1, ..."""
    return tuple(Item(f"i{n}", prompt, answer) for n, (prompt, answer) in enumerate(pairs))


def make_task(pairs: Sequence[tuple[str, str]] | None = None, name: str = "words", **changes: Any) -> Task:
    """A task of exact answers; by default eight short prompts that are their own answers."""
    items = make_items(pairs if pairs is not None else [(word, word) for word in WORDS])
    facts = DataFacts(f"{name}.jsonl", "a" * 64, len(items), "a test")
    return Task(**{"name": name, "items": items, "verifier": "exact", "data": facts, **changes})


def make_plan(
    model: str | Path,
    arms: Sequence[str] = ("diffusion",),
    tasks: Sequence[Task] | None = None,
    options: dict[str, Any] | None = None,
    **changes: Any,
) -> EvalPlan:
    """A plan on one model folder."""
    parsed = parse_arms(arms, Place(str(model)), {} if options is None else options)
    return EvalPlan(tuple(tasks or [make_task()]), parsed, **changes)
