from __future__ import annotations

import dataclasses

import pytest

from dlmrt.bench.breakdown import parts, sentence
from dlmrt.results.schema import BackendFacts, BenchCell, Distribution, Floor, PhaseShares

PHASES = PhaseShares(
    queue=0.0, tokenise=0.001, prefill=0.009, denoise=0.080, commit=0.008, detokenise=0.001, other=0.001,
    total=0.1,
)  # fmt: skip
FLOOR = Floor(32, 64, 8_000_000, 0, 1_000_000, 1e9, 1e9, memory_ms=8.0, arithmetic_ms=1.0, ms=8.0, how="")


def cell(phases: PhaseShares | None = PHASES, percent: float | None = 25.0, **changes: object) -> BenchCell:
    made = BenchCell(
        arm="diffusion", suite="chat", model="m", method="diffusion", options={},
        backend=BackendFacts("numpy", "a test", "cpu"), clock="engine", batch_size=1, max_new_tokens=None,
        warmups=1, repeats=1, prompts=(), forwards=None, tokens_per_forward=None, ms_per_forward=None,
        floor=FLOOR, percent_of_floor=percent, tokens_per_second_decode=None, tokens_per_second=None,
        first_block_ms=None, total_ms=None, phases=phases, peak_memory_bytes=None,
    )  # fmt: skip
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def test_forwards_that_take_the_time_make_it_yes_and_the_parts_are_named_by_size() -> None:
    text = sentence(cell())
    assert text.startswith("chat, diffusion: yes, forwards that run one after another are 97 % of 100 ms")
    assert "denoise 80 ms (80 %: 20 ms floor, 60 ms overhead above it), prefill 9 ms (9 %), commit" in text
    assert "queue" not in text
    assert "Most of a forward is overhead: small operations and Python" in text
    assert "88 % of the arithmetic idles" in text


def test_near_the_floor_the_advice_is_another() -> None:
    text = sentence(cell(percent=80.0))
    assert "64 ms floor, 16 ms overhead" in text
    assert "its floor (memory): fewer bytes" in text
    compute = dataclasses.replace(FLOOR, memory_ms=1.0, arithmetic_ms=8.0)
    text = sentence(cell(percent=80.0, floor=compute))
    assert "its floor (arithmetic)" in text
    assert "idles" not in text


def test_a_forward_that_beats_its_floor_has_no_negative_overhead() -> None:
    assert "80 ms floor, 0.00 ms overhead" in sentence(cell(percent=130.0))


def test_a_gpu_launches() -> None:
    assert "launches and small" in sentence(cell(backend=BackendFacts("eager", "a test", "cuda:0")))


@pytest.mark.parametrize(
    ("phases", "words"),
    [
        (
            dataclasses.replace(PHASES, queue=0.4, total=0.5),
            "no, a request waits for others of its batch 80 %",
        ),
        (dataclasses.replace(PHASES, other=0.401, total=0.5), "no, the model works only 19 % of 500 ms"),
    ],
)
def test_waiting_and_work_around_the_model_make_it_no(phases: PhaseShares, words: str) -> None:
    text = sentence(cell(phases, batch_size=4))
    assert words in text
    assert "batch 4" in text
    assert "Most of a forward" not in text


def test_a_client_cannot_see_inside_a_server() -> None:
    total, first = (Distribution(3, *[ms] * 8) for ms in (250.0, 40.0))
    text = sentence(cell(None, None, clock="client", total_ms=total, first_block_ms=first))
    assert "waits 250 ms for an answer, 40 ms of it until the first text" in text
    assert "can't tell" in text
    assert "until" not in sentence(cell(None, None, clock="client", total_ms=total))


def test_what_was_not_measured_is_not_guessed() -> None:
    assert "not known" in sentence(cell(None))
    assert "not known" in sentence(cell(dataclasses.replace(PHASES, denoise=None)))
    assert "overhead above" not in sentence(cell(percent=None))


def test_parts_below_half_a_per_cent_are_left_out() -> None:
    assert list(parts(dataclasses.replace(PHASES, tokenise=0.0004))) == [
        "prefill", "denoise", "commit", "detokenise", "other",
    ]  # fmt: skip
