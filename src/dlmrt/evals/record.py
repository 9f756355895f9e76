"""One answer of one arm to one item: what is streamed to disk, and all that the result is made of.

A line of ``items.jsonl`` holds every number that aggregation needs, so a result is made again from the file
alone: no model, no tokenizer.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from dlmrt.config import from_mapping, to_mapping
from dlmrt.errors import ConfigError, DataError
from dlmrt.stats.counting import AnswerCounts

# An answer's key: arm, task, seed, item id. Each stands once in a run.
Key = tuple[str, str, int, str]


@dataclass(frozen=True)
class StepEntropy:
    """Open positions of the answer at one step index (0 = a block's first step), summed over its blocks."""

    step: int
    blocks: int
    positions: int
    nats: float  # summed over the positions


@dataclass(frozen=True)
class Observation:
    """What the denoising steps showed of one answer.

    entropy: by step index. confidence: of each emitted token, in order (``None``: no step decided it).
    aligned: whether the token stands in the reference answer in its place; ``None`` without a reference.
    """

    entropy: tuple[StepEntropy, ...]
    confidence: tuple[float | None, ...]
    aligned: tuple[bool, ...] | None = None


@dataclass(frozen=True)
class ItemRecord:
    """An answer, its counts and its verdict.

    seconds: from the prompt's text to the last block; the wait for the call's earlier batches left out, but
    for rows that are decoded one after another (NumPy, AR) not that for the rows before. machine_seconds:
    the same with the time of a batch shared out among its rows, so that a sum over answers is the time that
    passed.
    error: why the item could not be decoded (it then counts as wrong, and has no counts).
    """

    arm: str
    task: str
    seed: int
    item: str
    correct: bool
    detail: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    ids: tuple[int, ...] = ()
    prompt_tokens: int | None = None
    decided_tokens: int = 0
    prefill: int = 0
    denoise: int = 0
    commit: int = 0
    seconds: float = 0.0
    first_block: float = 0.0
    machine_seconds: float = 0.0
    finish: str | None = None
    error: str | None = None
    observation: Observation | None = None

    @property
    def key(self) -> Key:
        """What names the answer within its run."""
        return self.arm, self.task, self.seed, self.item

    @property
    def counts(self) -> AnswerCounts:
        """The numbers of a decoded answer, as the statistics take them."""
        return AnswerCounts(
            tokens=len(self.ids),
            decided=self.decided_tokens,
            prefill=self.prefill,
            denoise=self.denoise,
            commit=self.commit,
            seconds=self.seconds,
            first_block=self.first_block,
        )


def to_line(record: ItemRecord) -> str:
    """One line of JSON, newline included.

    Raises DataError: a number that is not finite, or a detail that JSON can't hold (a verifier's fault).
    """
    try:
        return json.dumps(to_mapping(record), ensure_ascii=False, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        where = _not_finite(record.detail)
        raise DataError(
            f"task '{record.task}', item '{record.item}', arm '{record.arm}': the answer can't be recorded "
            f"({where or error}); the task's verifier must give finite numbers and plain values"
        ) from None


def from_line(line: str, where: str) -> ItemRecord:
    """Read a line back; ``where`` (file and line) is named in the DataError if it is no record."""
    try:
        return from_mapping(ItemRecord, json.loads(line, parse_constant=_refuse))
    except (ValueError, RecursionError, ConfigError) as error:
        raise DataError(
            f"{where}: no record of an answer ({error}); remove the line, or begin again with --fresh"
        ) from None


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _not_finite(detail: dict[str, Any]) -> str:
    bad = [k for k, v in detail.items() if isinstance(v, float) and not math.isfinite(v)]
    return f"'{bad[0]}' is {detail[bad[0]]}" if bad else ""
