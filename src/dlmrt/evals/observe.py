"""What denoising steps show of an answer: entropy by step, confidence of the tokens that were kept.

The hook only keeps references while the clock runs; everything is computed after it stopped. No backend
writes into a record's arrays later (NumPy makes new arrays at every step; torch hands out copies, and on a
GPU making them waits for the device). So observing costs little on the CPU and a copy a step on a GPU;
``--no-steps`` leaves it out, and the result says which it was.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence

from dlmrt.evals.record import Observation, StepEntropy
from dlmrt.rows import StepRecord

DIGITS = 6  # kept of a confidence: more than a calibration bin can tell


class StepLog:
    """Keeps the step records of one call; pass it as ``on_step``."""

    def __init__(self) -> None:
        self._records: dict[int, list[StepRecord]] = {}

    def __call__(self, record: StepRecord) -> None:
        """Take one step."""
        self._records.setdefault(record.row, []).append(record)

    def of_row(self, row: int) -> list[StepRecord]:
        """The steps of one row, in order."""
        return self._records.get(row, [])


class NotFiniteError(Exception):
    """A step's confidence or entropy was NaN or infinite: the model's output is broken."""


def observe(
    steps: Sequence[StepRecord],
    prompt_tokens: int,
    ids: Sequence[int],
    *,
    ended_by_eos: bool,
    reference: Sequence[int] | None = None,
) -> Observation:
    """Reduce the steps of one row.

    prompt_tokens: the answer begins at this absolute position. ids: the tokens that were emitted.
    Entropy counts positions that were open before the step and became the answer, its EOS included; what
    lies behind the answer's end (padding, tokens after the EOS or the stop string) doesn't count.
    The confidence of an emitted token is that of the step in which it was last decided: accepted, or
    rewritten by an edit.
    reference: ids of the reference answer. A token is aligned when it lies in one of the matching blocks of
    ``difflib.SequenceMatcher`` between reference and answer.
    Raises NotFiniteError.
    """
    end = prompt_tokens + len(ids)
    entropy: dict[int, list[float]] = {}  # step index: blocks, positions, nats
    confidence: dict[int, float] = {}
    for step in steps:
        _add_entropy(entropy, step, end + ended_by_eos)
        _note_decisions(confidence, step, end)
    curve = tuple(
        StepEntropy(step, int(blocks), int(positions), nats)
        for step, (blocks, positions, nats) in sorted(entropy.items())
    )
    kept = [confidence.get(position) for position in range(prompt_tokens, end)]
    return Observation(
        entropy=curve,
        confidence=tuple(None if c is None else round(c, DIGITS) for c in kept),
        aligned=None if reference is None else aligned(reference, ids),
    )


def aligned(reference: Sequence[int], ids: Sequence[int]) -> tuple[bool, ...]:
    """For each id, whether it lies in a matching block of the alignment with ``reference``."""
    found = [False] * len(ids)
    matcher = difflib.SequenceMatcher(None, reference, ids, autojunk=False)
    for block in matcher.get_matching_blocks():
        found[block.b : block.b + block.size] = [True] * block.size
    return tuple(found)


def _add_entropy(sums: dict[int, list[float]], step: StepRecord, end: int) -> None:
    inside = max(0, end - step.start)
    is_open = step.open_S.tolist()[:inside]
    values = step.entropy_S.tolist()[:inside]
    nats = [value for value, flag in zip(values, is_open, strict=True) if flag]
    if not all(map(math.isfinite, nats)):
        raise NotFiniteError
    if nats:
        entry = sums.setdefault(step.step, [0, 0, 0.0])
        entry[0] += 1
        entry[1] += len(nats)
        entry[2] += sum(nats)


def _note_decisions(confidence: dict[int, float], step: StepRecord, end: int) -> None:
    """Overwrite the confidence of every position that this step decided and that lies before ``end``."""
    before, after = step.canvas_S.tolist(), step.canvas_after_S.tolist()
    was_open, is_open = step.open_S.tolist(), step.open_after_S.tolist()
    accepted, values = step.accept_S.tolist(), step.confidence_S.tolist()
    for i in range(min(len(values), end - step.start)):
        edited = not was_open[i] and not is_open[i] and before[i] != after[i]
        if accepted[i] or edited:
            if not math.isfinite(values[i]):
                raise NotFiniteError
            confidence[step.start + i] = values[i]
        elif is_open[i]:
            confidence.pop(step.start + i, None)  # opened again: what was decided doesn't stand
