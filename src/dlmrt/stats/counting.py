"""What one answer counts for: tokens, forwards and seconds, taken from the engine's own record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class _Timings(Protocol):
    @property
    def total(self) -> float: ...
    @property
    def first_block(self) -> float: ...


class _Forwards(Protocol):
    @property
    def prefill(self) -> int: ...
    @property
    def denoise(self) -> int: ...
    @property
    def commit(self) -> int: ...


class Answer(Protocol):
    """What :func:`count_answer` reads of :class:`dlmrt.engine.request.Result`."""

    @property
    def ids(self) -> tuple[int, ...]:
        """Emitted tokens: no EOS, no padding, nothing behind either or a stop string."""
        ...

    @property
    def decided_tokens(self) -> int:
        """``ids``, and the EOS if the model made one."""
        ...

    @property
    def timings(self) -> _Timings:
        """Seconds of the engine's clock."""
        ...

    @property
    def forwards(self) -> _Forwards:
        """How often the model ran."""
        ...


@dataclass(frozen=True)
class AnswerCounts:
    """One answer.

    tokens: emitted. decided: those and the EOS, if the model made one; what tokens per forward counts.
    prefill, denoise, commit: forwards. seconds: prompt to last token, loading and waiting apart (rows
    decoded together share them). first_block: seconds until the first block was there.
    """

    tokens: int
    decided: int
    prefill: int
    denoise: int
    commit: int
    seconds: float
    first_block: float

    @property
    def tokens_per_forward(self) -> float:
        """``decided / (denoise + commit)``; the prefill is apart, so an answer may need no forward."""
        return self.decided / max(1, self.denoise + self.commit)

    @property
    def tokens_per_forward_without_commits(self) -> float:
        """``decided / denoise``."""
        return self.decided / max(1, self.denoise)


def count_answer(result: Answer) -> AnswerCounts:
    """Return what a :class:`dlmrt.engine.request.Result` (or its like) counts for."""
    return AnswerCounts(
        tokens=len(result.ids),
        decided=result.decided_tokens,
        prefill=result.forwards.prefill,
        denoise=result.forwards.denoise,
        commit=result.forwards.commit,
        seconds=result.timings.total,
        first_block=result.timings.first_block,
    )
