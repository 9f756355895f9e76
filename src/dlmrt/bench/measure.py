"""Decoding one batch of prompts with one arm under the clock: what was counted and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dlmrt.bench.memory import PeakMemory
from dlmrt.bench.rates import Rates
from dlmrt.bench.suites import SuitePrompt
from dlmrt.engine.arms import Arm
from dlmrt.engine.llm import LLM, Prepared
from dlmrt.engine.request import Request, Result
from dlmrt.results.schema import BackendFacts

Clock = Callable[[], float]


@dataclass(frozen=True)
class Subject:
    """A loaded model and what is known of the place where it runs.

    name: as results call it, no path. width: bytes a number of its weights. random: weights mean nothing.
    """

    name: str
    llm: LLM
    backend: BackendFacts
    rates: Rates
    width: int
    memory: PeakMemory
    random: bool = False

    def together(self, method: str) -> bool:
        """Whether the rows of a batch share forwards; else they are decoded one after another."""
        return self.backend.name != "numpy" and method == "diffusion"


@dataclass(frozen=True)
class Answer:
    """One answer as it was timed.

    Seconds: ``total`` is what a user waits (tokenising, waiting for others of the batch, decoding,
    detokenising); ``first_block`` the same up to the first block. prefill, denoise and commit are None
    where the backend doesn't tell them apart. filler: only there to fill the last batch up.
    """

    prompt: str
    result: Result
    total: float
    filler: bool = False

    @property
    def tokens(self) -> int:
        """Emitted tokens."""
        return len(self.result.ids)

    @property
    def first_block(self) -> float:
        """Seconds from the request to its first finished block."""
        timings = self.result.timings
        return timings.tokenise + timings.queue + timings.first_block

    @property
    def decode_seconds(self) -> float | None:
        """Seconds of denoising (autoregressive: of all forwards but the first) and committing."""
        denoise, commit = self.result.timings.denoise, self.result.timings.commit
        return None if denoise is None or commit is None else denoise + commit

    @property
    def decoded_tokens(self) -> int:
        """Tokens that these seconds made: an autoregressive answer's first one comes from the prefill."""
        return self.tokens if self.result.method == "diffusion" else max(0, self.tokens - 1)

    @property
    def decode_rate(self) -> float | None:
        """Tokens a second, prefill and text work apart; None where nothing was decoded or is not known."""
        seconds = self.decode_seconds
        return self.decoded_tokens / seconds if seconds else None

    @property
    def rate(self) -> float:
        """Tokens a second of the whole request."""
        return self.tokens / self.total

    @property
    def ms_per_forward(self) -> float | None:
        """Milliseconds of one denoising (or autoregressive) forward; None without any."""
        forwards, seconds = self.result.forwards.denoise, self.result.timings.denoise
        return 1000 * seconds / forwards if forwards and seconds is not None else None


@dataclass(frozen=True)
class Batch:
    """Prompts that one arm answered in one call. wall: seconds of it, tokenising included.

    together: the rows shared their forwards. peak: bytes of memory at most.
    """

    answers: tuple[Answer, ...]
    wall: float
    together: bool
    peak: int
    repeat: int = 0

    @property
    def rate(self) -> float:
        """Tokens a second of the whole batch."""
        return sum(answer.tokens for answer in self.answers) / self.wall

    @property
    def decode_rate(self) -> float | None:
        """Tokens a second of the batch while it decoded, prefill and text work apart."""
        seconds = [answer.decode_seconds for answer in self.answers]
        known = [each for each in seconds if each is not None]
        spent = max(known, default=0.0) if self.together else sum(known)
        if len(known) < len(seconds) or not spent:
            return None
        return sum(answer.decoded_tokens for answer in self.answers) / spent

    @property
    def forwards(self) -> int:
        """How often the model ran to denoise: rows that decode together share a forward."""
        counts = [answer.result.forwards.denoise for answer in self.answers]
        return max(counts) if self.together else sum(counts)


def prepare(llm: LLM, arm: Arm, prompt: SuitePrompt, length: int | None) -> Prepared:
    """Check and tokenise a prompt of a suite for an arm.

    The limit is the arm's own, else ``length``, else the suite's for this prompt as far as the context
    has room for it, else the model's. Raises PromptError or RequestError: it doesn't fit.
    """
    options: dict[str, Any] = {} if length is None else {"max_new_tokens": length}
    options |= arm.options
    prepared = llm.prepare(Request(prompt=prompt.text, options=options))
    if "max_new_tokens" in options or prompt.max_new_tokens is None:
        return prepared
    room = llm.folder.config.max_positions - len(prepared.row.prompt_ids)
    row = replace(prepared.row, max_new_tokens=min(prompt.max_new_tokens, room))
    return replace(prepared, row=row)


def run_batch(
    subject: Subject,
    arm: Arm,
    prompts: Sequence[SuitePrompt],
    length: int | None,
    *,
    fillers: int = 0,
    repeat: int = 0,
    clock: Clock = time.perf_counter,
) -> Batch:
    """Tokenise and decode ``prompts`` with one arm. fillers: how many of the last ones only fill up."""
    llm = subject.llm
    together = subject.together(arm.options["method"])
    subject.memory.start()
    start = clock()
    prepared = [prepare(llm, arm, prompt, length) for prompt in prompts]
    results = llm.decode(prepared, batch_size=len(prepared) if together else 1)
    wall = clock() - start
    peak = subject.memory.peak()
    real = len(prompts) - fillers
    answers = tuple(
        Answer(prompt.id, result, wall if len(results) == 1 else _total(result), at >= real)
        for at, (prompt, result) in enumerate(zip(prompts, results, strict=True))
    )
    return Batch(answers, wall, together, peak, repeat)


def _total(result: Result) -> float:
    """Seconds of one row among others: its own work and its wait."""
    timings = result.timings
    named = sum(
        part or 0.0 for part in (timings.prefill, timings.denoise, timings.commit, timings.detokenise)
    )
    # `decode` ends with the last block; its text comes after.
    return timings.tokenise + timings.queue + max(timings.decode, named)
