from __future__ import annotations

from dataclasses import replace

import pytest

from dlmrt.report.phases import above_floor, sentence, shares, whole
from dlmrt.results.schema import BackendFacts, BenchCell, Distribution, Floor, PhaseShares
from tests.unit.report.support import bench_cell

FLOOR = Floor(32, 64, 8_000_000, 0, 1_000_000, 1e9, 1e9, memory_ms=8.0, arithmetic_ms=1.0, ms=8.0, how="")


def times(total: float = 1.0, **parts: float) -> PhaseShares:
    names = ("queue", "tokenise", "prefill", "denoise", "commit", "detokenise", "other")
    return PhaseShares(**{name: parts.get(name) for name in names}, total=total)  # type: ignore[arg-type]


USUAL = times(
    0.1, queue=0.0, tokenise=0.001, prefill=0.009, denoise=0.080, commit=0.008, detokenise=0.001, other=0.001
)


def cell(phases: PhaseShares | None = USUAL, percent: float | None = 25.0, **changes: object) -> BenchCell:
    made = replace(bench_cell(prompts=2), phases=phases, floor=FLOOR, percent_of_floor=percent)
    return replace(made, **changes)  # type: ignore[arg-type]


def test_forwards_that_take_the_time_make_it_yes_and_the_parts_are_named_by_size() -> None:
    text = sentence(cell())
    assert text.startswith("chat, diffusion: yes, forwards that run one after another are 97 % of 100 ms; ")
    assert "it sits in denoising 80.0 ms (80 %: 20.0 ms at the floor, 60.0 ms above it), the prefill" in text
    assert "the prefill 9.00 ms (9 %), committing 8.00 ms (8 %)" in text
    assert "queue" not in text


def test_a_cause_is_called_usual_because_none_was_measured() -> None:
    text = sentence(cell())
    assert "A forward runs at 25.0 % of its floor: most of it lies above; " in text
    assert "above; small operations and host work are the usual causes." in text
    on_gpu = sentence(cell(backend=BackendFacts("eager", "a test", "cuda:0")))
    assert "above; launches, small operations and host work are the usual causes." in on_gpu
    assert "arithmetic would take 12 % of the time; a batch could use the rest" in text


def test_near_the_floor_it_says_what_sets_it() -> None:
    text = sentence(cell(percent=80.0))
    assert "64.0 ms at the floor, 16.0 ms above it" in text
    assert "at 80.0 % of its floor, which memory sets: fewer bytes, or more tokens a forward, help." in text
    assert "causes" not in text
    text = sentence(cell(percent=80.0, floor=replace(FLOOR, memory_ms=1.0, arithmetic_ms=8.0)))
    assert "which arithmetic sets: fewer operations" in text
    assert "a batch could" not in text


def test_a_small_share_of_the_floor_keeps_its_digits() -> None:
    assert "at 0.03 % of its floor" in sentence(cell(percent=0.03))


def test_a_forward_that_beats_its_floor_has_nothing_above_it() -> None:
    assert "80.0 ms at the floor, 0 ms above it" in sentence(cell(percent=130.0))
    assert above_floor(cell(percent=130.0)) == 0


@pytest.mark.parametrize(
    ("phases", "words"),
    [
        (times(0.5, queue=0.4, denoise=0.1), "no, a request waits for others of its batch 80 % of 500 ms"),
        (times(0.5, other=0.4, denoise=0.095), "no, the model works only 19 % of 500 ms; it sits in work"),
    ],
)
def test_waiting_and_work_around_the_model_make_it_no(phases: PhaseShares, words: str) -> None:
    text = sentence(cell(phases, batch_size=4))
    assert f"batch 4: {words}" in text
    assert "A forward runs" not in text


def test_half_is_most() -> None:
    assert ": yes, " in sentence(cell(times(2.0, prefill=0.2, denoise=0.8, other=1.0)))
    assert ": no, " in sentence(cell(times(2.0, prefill=0.2, denoise=0.79, other=1.01)))


def test_autoregressive_decoding_does_not_denoise() -> None:
    text = sentence(cell(times(denoise=0.9), None, method="ar_lookup"))
    assert "it sits in decoding forwards 900 ms (90 %)." in text


def test_a_client_cannot_see_inside_a_server() -> None:
    total, first = (Distribution(3, *[ms] * 8) for ms in (250.0, 40.0))
    blind = {"clock": "client", "total_ms": total, "first_block_ms": first}
    text = sentence(cell(times(0.2, other=0.1), None, **blind))
    assert text.startswith("chat, diffusion: a client waits 250 ms for an answer, 40.0 ms of it until the")
    assert "its clock can't tell" in text
    assert "until" not in sentence(cell(None, None, **{**blind, "first_block_ms": None}))
    assert "not known" in sentence(cell(None, None, **{**blind, "total_ms": None}))


def test_what_was_not_measured_is_not_guessed() -> None:
    assert sentence(cell(None)) == "chat, diffusion: not known, the phases of a request were not measured."
    assert "not known" in sentence(cell(replace(USUAL, denoise=None)))
    assert "above" not in sentence(cell(percent=None))
    for unknown in (cell(None), cell(replace(USUAL, denoise=None)), cell(percent=None)):
        assert above_floor(unknown) is None


def test_parts_below_a_hundredth_are_left_out() -> None:
    text = sentence(cell(replace(USUAL, tokenise=0.0009)))
    assert "detokenising 1.00 ms (1 %)" in text
    assert " tokenising" not in text


def test_shares_add_up_where_the_total_starts_after_the_queue() -> None:
    inside, outside = times(1.0, queue=0.5, denoise=0.5), times(1.0, queue=1.0, denoise=1.0)
    assert shares(inside) == shares(outside) == {"queue": 0.5, "denoise": 0.5}
    assert whole(outside) == pytest.approx(2.0)
    assert shares(times(0.0)) == {}
