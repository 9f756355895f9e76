"""A task: its items, how an answer is judged, and how it wants to be decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dlmrt.evals.item import Item, Verdict
from dlmrt.evals.verifiers import find_verifier
from dlmrt.results.schema import DataFacts

__all__ = ["Item", "Task", "Verdict"]


@dataclass(frozen=True)
class Task:
    """Items of one kind and their verifier.

    max_new_tokens: at most this many tokens an answer (less where the model's context ends before);
    None: the model's default. stop: the answer ends before the first of these. notes: what a reader
    of the numbers should know, such as the rule that cuts code out of an answer.
    """

    name: str
    items: tuple[Item, ...]
    verifier: str
    data: DataFacts
    max_new_tokens: int | None = None
    stop: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def verify(self, item: Item, text: str) -> Verdict:
        """Judge one answer; for ``python_tests`` this runs its code in a child process."""
        return self.verify_all([item], [text])[0]

    def verify_all(self, items: Sequence[Item], texts: Sequence[str], *, jobs: int = 1) -> list[Verdict]:
        """Judge answers in order; ``jobs`` of them at a time where code is run."""
        return find_verifier(self.verifier).verify(items, texts, jobs)

    def quality(
        self, items: Sequence[Item], texts: Sequence[str], verdicts: Sequence[Verdict] | None = None
    ) -> dict[str, Any]:
        """What the task measures beside correctness, over all answers; ``{}`` where there is nothing.

        ``repair``: :func:`dlmrt.datasets.score.summarise`. ``python_tests``: how often code passed,
        failed, raised, ran out of time and so on, counted from ``verdicts`` (``{}`` without them: code
        is not run again).
        """
        return find_verifier(self.verifier).quality(items, texts, verdicts)
