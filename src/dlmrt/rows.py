"""What a decoding backend is asked and what it answers, for one row of a batch.

Plain data without torch: the NumPy reference and the torch loops share these types, so the same
tests and the same engine drive both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from dlmrt.config import DecoderConfig

FinishReason = Literal["stop", "length", "cancelled"]
Method = Literal["diffusion", "ar", "ar_lookup"]


@dataclass(frozen=True)
class RowRequest:
    """One row: a prompt as ids, a limit on new tokens, and its own decoder settings."""

    prompt_ids: tuple[int, ...]
    max_new_tokens: int
    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    method: Method = "diffusion"


@dataclass(frozen=True)
class StepRecord:
    """One denoising step of one row: what the model consumed and what the step decided.

    Arrays belong to the backend (NumPy or torch); ``S`` = block length, ``R`` = residual top-k
    (0 columns when the model has no residual or it is off).
    """

    row: int
    block: int  # index on the absolute grid
    step: int  # 0-based, inside the block
    start: int  # absolute position of the block's first token
    canvas_S: Any  # tokens the forward consumed
    open_S: Any  # open positions before the step
    fixed_S: Any  # prompt positions
    residual_ids_SR: Any  # residual the forward consumed: token ids ...
    residual_probs_SR: Any  # ... and probabilities (at a block's first step zero, or a draft)
    token_S: Any  # the token proposed at each position
    confidence_S: Any
    entropy_S: Any  # nats
    accept_S: Any
    canvas_after_S: Any
    open_after_S: Any


@dataclass(frozen=True)
class PhaseSeconds:
    """Seconds of a row's phases by the backend's own clock; rows decoded together share them."""

    prefill: float
    denoise: float
    commit: float


@dataclass(frozen=True)
class RowOutput:
    """What one row produced. ``ids`` stop before the first EOS and hold at most max_new_tokens."""

    ids: tuple[int, ...]
    finish_reason: FinishReason
    ended_by_eos: bool
    prefill_forwards: int
    denoise_forwards: int
    commit_forwards: int
    steps_per_block: tuple[int, ...]
    proposed_tokens: int = 0  # ar_lookup: draft tokens offered ...
    accepted_tokens: int = 0  # ... and kept
    # None: the backend doesn't tell its phases apart. Time is not part of what makes outputs equal.
    seconds: PhaseSeconds | None = field(default=None, compare=False)

    @property
    def decided_tokens(self) -> int:
        """Tokens that count for tokens per forward: the ids, and the EOS if one was produced."""
        return len(self.ids) + int(self.ended_by_eos)


# Called once per denoising step and row.
StepHook = Callable[[StepRecord], None]
# Called with (row, new ids of the finished block, EOS and the length limit already applied);
# returning True cancels that row after this block.
BlockHook = Callable[[int, tuple[int, ...]], bool | None]


class Backend(Protocol):
    """Something that decodes rows: the NumPy reference or a torch loop."""

    name: str

    def generate(
        self,
        requests: Sequence[RowRequest],
        *,
        on_step: StepHook | None = None,
        on_block: BlockHook | None = None,
    ) -> list[RowOutput]:
        """Decode all rows to their end; the answer is in request order."""
        ...
