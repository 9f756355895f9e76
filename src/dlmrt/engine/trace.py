"""Records what a decoder did, step by step, as plain data that a terminal or a page can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dlmrt.engine.request import Result
from dlmrt.engine.text import TextCodec
from dlmrt.rows import StepRecord

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Step:
    """One denoising step of one row; lists have one entry a position of the block.

    before, after: canvas tokens. open, open_after: not yet decided. fixed: prompt tokens.
    accepted: decided in this step; edited: decided before and rewritten now. confidence: of the
    proposed token. entropy: nats.
    """

    row: int
    block: int
    step: int
    start: int
    before: list[int]
    after: list[int]
    open: list[bool]
    open_after: list[bool]
    fixed: list[bool]
    accepted: list[bool]
    edited: list[bool]
    confidence: list[float]
    entropy: list[float]

    @property
    def decided(self) -> int:
        """Positions of the block that are decided after the step, prompt tokens left out."""
        return sum(not o and not f for o, f in zip(self.open_after, self.fixed, strict=True))

    @property
    def to_decide(self) -> int:
        """Positions of the block that are the decoder's to decide."""
        return sum(not f for f in self.fixed)

    @property
    def mean_entropy(self) -> float:
        """Mean entropy (nats) of the positions that were open before the step; 0 if none was."""
        values = [e for e, o in zip(self.entropy, self.open, strict=True) if o]
        return sum(values) / len(values) if values else 0.0


def plain_step(record: StepRecord) -> Step:
    """Turn a backend's record (NumPy or torch arrays) into plain data."""
    before, after = _ints(record.canvas_S), _ints(record.canvas_after_S)
    was_open, open_after = _bools(record.open_S), _bools(record.open_after_S)
    edited = [
        not a and not b and old != new
        for a, b, old, new in zip(was_open, open_after, before, after, strict=True)
    ]
    return Step(
        row=record.row,
        block=record.block,
        step=record.step,
        start=record.start,
        before=before,
        after=after,
        open=was_open,
        open_after=open_after,
        fixed=_bools(record.fixed_S),
        accepted=[a and not o for a, o in zip(was_open, open_after, strict=True)],
        edited=edited,
        confidence=[float(x) for x in record.confidence_S.tolist()],  # sync: recording was asked for
        entropy=[float(x) for x in record.entropy_S.tolist()],  # sync: recording was asked for
    )


class TraceRecorder:
    """Keeps every step of a run; pass it as ``on_step``."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def __call__(self, record: StepRecord) -> None:
        """Take one step."""
        self.steps.append(plain_step(record))

    def payload(
        self,
        codec: TextCodec,
        prompts: Sequence[str],
        results: Sequence[Result | None],
        about: dict[str, Any],
    ) -> dict[str, Any]:
        """Return the data of a trace page: one entry a prompt, and the text of every token in it.

        about: what to say about the run (model, backend, settings), shown as it is.
        """
        used = {token for step in self.steps for token in (*step.before, *step.after)}
        return {
            "version": FORMAT_VERSION,
            "about": about,
            "tokens": {str(token): codec.token_text(token) for token in sorted(used)},
            "control": sorted(token for token in used if codec.is_hidden(token)),
            "rows": [
                {
                    "prompt": prompt,
                    "result": None if result is None else result.to_dict(),
                    "steps": [_compact(step) for step in self.steps if step.row == row],
                }
                for row, (prompt, result) in enumerate(zip(prompts, results, strict=True))
            ],
        }


def _compact(step: Step) -> dict[str, Any]:
    """Short keys and few digits: a trace of a long answer has many thousand entries."""
    return {
        "block": step.block,
        "step": step.step,
        "start": step.start,
        "before": step.before,
        "after": step.after,
        "state": states(step),
        "confidence": [round(c, 4) for c in step.confidence],
        "entropy": [round(e, 4) for e in step.entropy],
        "mean_entropy": round(step.mean_entropy, 4),
        "decided": step.decided,
        "to_decide": step.to_decide,
    }


def _columns(step: Step) -> tuple[list[bool], list[bool], list[bool], list[bool]]:
    return step.fixed, step.open_after, step.accepted, step.edited


def _state(fixed: bool, is_open: bool, accepted: bool, edited: bool) -> str:
    """One letter: (p)rompt, (o)pen, (e)dited, (n)ewly accepted, (d)ecided earlier."""
    if fixed:
        return "p"
    if is_open:
        return "o"
    return "e" if edited else "n" if accepted else "d"


def states(step: Step) -> str:
    """One letter a position, after the step: p prompt, o open, n newly accepted, e edited, d decided."""
    return "".join(map(_state, *_columns(step)))


def _ints(array: Any) -> list[int]:
    return [int(x) for x in array.tolist()]  # sync: recording was asked for


def _bools(array: Any) -> list[bool]:
    return [bool(x) for x in array.tolist()]  # sync: recording was asked for
