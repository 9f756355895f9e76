"""Answers with known times, and a machine that takes no time to measure, for tests of the benchmark."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dlmrt.bench import rates
from dlmrt.bench.measure import Answer, Batch, Subject
from dlmrt.bench.memory import PeakMemory
from dlmrt.bench.rates import Rates
from dlmrt.bench.suites import Suite, SuitePrompt
from dlmrt.engine.arms import backend_facts
from dlmrt.engine.llm import LLM
from dlmrt.engine.request import Forwards, Result, Timings
from dlmrt.results.schema import DataFacts

TIMINGS = Timings(
    load=0.0, tokenise=0.01, first_block=0.2, decode=0.9, prefill=0.1, denoise=0.6, commit=0.1,
    detokenise=0.02,
)  # fmt: skip
RATES = Rates(bandwidth=1e9, matrix=1e9, cache=None, how="by hand")


def quick_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure rates on operands that take no time."""
    monkeypatch.setattr(rates, "LEAST_COPY", 1 << 16)
    monkeypatch.setattr(rates, "MOST_CPU_COPY", 1 << 16)
    monkeypatch.setattr(rates, "CPU_MATRIX", 256)


def result(ids: Sequence[int] = range(12), **changes: Any) -> Result:
    """A diffusion answer of 12 tokens: 16 prompt tokens, two blocks of 8 in 4 and 2 steps."""
    made = Result(
        text="", ids=tuple(ids), prompt_tokens=16, finish_reason="length", ended_by_eos=False,
        timings=TIMINGS, forwards=Forwards(1, 6, 1), steps_per_block=(4, 2), method="diffusion",
        backend="numpy", backend_reason="a test", seed=0,
    )  # fmt: skip
    return dataclasses.replace(made, **changes)


def timings(**changes: float) -> Timings:
    return dataclasses.replace(TIMINGS, **changes)


def ar_result(ids: Sequence[int] = range(12), **changes: Any) -> Result:
    """An autoregressive answer: the first token from the prefill, a forward for each other one."""
    forwards = Forwards(1, len(ids) - 1, 0)
    made = result(ids, method="ar", forwards=forwards, steps_per_block=(), timings=timings(commit=0.0))
    return dataclasses.replace(made, **changes)


def batch(*answers: Answer, together: bool = False, repeat: int = 0, peak: int = 1) -> Batch:
    return Batch(answers, 2.0, together, peak, repeat)


def subject(folder: str | Path, *, name: str = "tiny", eager: bool = False, random: bool = False) -> Subject:
    """The tiny model, as if it had been measured on a machine of 1 GB/s and 1 GFLOP/s."""
    llm = LLM.load(str(folder), backend="numpy")
    facts = backend_facts(llm)
    if eager:
        facts = dataclasses.replace(facts, name="eager")
    return Subject(name, llm, facts, RATES, 4, PeakMemory("cpu"), random)


def suite(*texts: str, name: str = "mine", limit: int | None = None) -> Suite:
    """A suite whose prompts are called p0, p1, ..."""
    prompts = tuple(SuitePrompt(f"p{i}", text, limit) for i, text in enumerate(texts))
    return Suite(name, prompts, DataFacts(f"{name}.jsonl", "0" * 64, len(texts), "a test"))
