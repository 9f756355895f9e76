"""Answers to numbers: every figure of a cell is computed here, from the streamed records alone."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any

from dlmrt.config import to_mapping
from dlmrt.engine.request import AR_OPTIONS
from dlmrt.evals.item import Verdict
from dlmrt.evals.plan import Lane
from dlmrt.evals.record import ItemRecord
from dlmrt.evals.task import Task
from dlmrt.results.schema import BackendFacts, Calibration, CalibrationBin, EntropyStep, EvalCell
from dlmrt.results.summarise import distribution, forward_counts, share_of, tokens_per_forward
from dlmrt.stats.calibration import bins, expected_calibration_error
from dlmrt.stats.repetition import repeated_ngrams
from dlmrt.validate import AR_METHODS


def make_cell(
    lane: Lane,
    task: Task,
    records: Sequence[ItemRecord],
    *,
    model: str,
    backend: BackendFacts,
    batch_size: int,
    observed: bool,
) -> EvalCell:
    """Sum up one arm with one seed on one task. records: one for each item of the task, in its order.

    An item that could not be decoded counts as wrong, and its empty answer in the task's quality; it has
    no tokens, forwards or seconds.
    """
    answers = [record for record in records if record.error is None]
    counts = [record.counts for record in answers]
    correct = [record for record in answers if record.correct]
    tokens = sum(each.tokens for each in counts)
    seconds = sum(record.machine_seconds for record in answers)
    verdicts = [Verdict(record.correct, record.detail) for record in records]
    forwards = forward_counts(counts)
    return EvalCell(
        arm=lane.arm.name,
        task=task.name,
        seed=lane.seed,
        model=model,
        method=lane.settings.method,
        options=_options(lane, task),
        backend=backend,
        batch_size=batch_size,
        items=len(records),
        failed=dict(Counter(reason_kind(record.error) for record in records if record.error is not None)),
        accuracy=share_of(len(correct), len(records)),
        quality=task.quality(task.items, [record.text for record in records], verdicts),
        tokens=tokens,
        decided_tokens=sum(each.decided for each in counts),
        forwards=forwards,
        tokens_per_forward=tokens_per_forward(counts),
        tokens_per_second=tokens / seconds if seconds > 0 else None,
        tokens_per_second_per_answer=distribution(e.tokens / e.seconds for e in counts if e.seconds > 0),
        seconds=distribution(each.seconds for each in counts),
        first_block_seconds=distribution(each.first_block for each in counts),
        answer_tokens=distribution(each.tokens for each in counts),
        seconds_to_correct=seconds / len(correct) if correct else None,
        median_seconds_of_correct=statistics.median(r.seconds for r in correct) if correct else None,
        repeated_8grams=_repeated(answers),
        entropy_per_step=_entropy(answers),
        calibration=_calibration(answers),
        finish=dict(Counter(record.finish for record in answers if record.finish is not None)),
        steps_observed=observed and lane.settings.method == "diffusion",
        model_seconds=seconds,
    )


def reason_kind(message: str) -> str:
    """What failures of one kind share: the message up to its advice, with N for its numbers."""
    return re.sub(r"\d+", "N", message.partition(";")[0]).strip()


def _options(lane: Lane, task: Task) -> dict[str, Any]:
    """What the arm decoded with: all settings that its method reads, not only those that were given."""
    limit = lane.max_new_tokens if lane.max_new_tokens is not None else task.max_new_tokens
    decoder = to_mapping(lane.settings.decoder)
    if lane.settings.method in AR_METHODS:
        decoder = {name: value for name, value in decoder.items() if name in AR_OPTIONS}
    return {"given": to_mapping(lane.options), "decoder": decoder, "max_new_tokens": limit,
            "stop": list(task.stop)}  # fmt: skip


def _repeated(answers: Sequence[ItemRecord]) -> float | None:
    pairs = [repeated_ngrams(record.ids) for record in answers]
    total = sum(count for _, count in pairs)
    return sum(repeated for repeated, _ in pairs) / total if total else None


def _entropy(answers: Sequence[ItemRecord]) -> tuple[EntropyStep, ...]:
    """Mean over the open positions of all answers, step by step."""
    blocks: Counter[int] = Counter()
    positions: Counter[int] = Counter()
    nats: dict[int, float] = {}
    for record in answers:
        for step in record.observation.entropy if record.observation else ():
            blocks[step.step] += step.blocks
            positions[step.step] += step.positions
            nats[step.step] = nats.get(step.step, 0.0) + step.nats
    return tuple(EntropyStep(i, blocks[i], max(0.0, nats[i]) / positions[i]) for i in sorted(nats))


def _calibration(answers: Sequence[ItemRecord]) -> Calibration | None:
    """``reference`` if every observed answer could be aligned with one, else ``verified``."""
    seen = [record for record in answers if record.observation is not None]
    by_reference = all(record.observation and record.observation.aligned is not None for record in seen)
    confidence: list[float] = []
    right: list[bool] = []
    for record in seen:
        assert record.observation is not None
        values = record.observation.confidence
        outcome = record.observation.aligned if by_reference else [record.correct] * len(values)
        for value, good in zip(values, outcome or (), strict=True):
            if value is not None:
                confidence.append(value)
                right.append(good)
    if not confidence:
        return None
    found = bins(confidence, right)
    return Calibration(
        basis="reference" if by_reference else "verified",
        tokens=len(confidence),
        expected_calibration_error=expected_calibration_error(found),
        bins=tuple(CalibrationBin(*each) for each in found),
    )
