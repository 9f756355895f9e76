from __future__ import annotations

from dataclasses import replace

import pytest

from dlmrt.report.phases import sentence, shares, whole
from dlmrt.results.schema import PhaseShares
from tests.unit.report.support import bench_cell


def times(total: float = 1.0, **parts: float) -> PhaseShares:
    names = ("queue", "tokenise", "prefill", "denoise", "commit", "detokenise", "other")
    return PhaseShares(**{name: parts.get(name) for name in names}, total=total)  # type: ignore[arg-type]


def said(phases: PhaseShares | None, **changes: object) -> str:
    return sentence(replace(bench_cell(prompts=2), phases=phases, percent_of_floor=None, **changes))  # type: ignore[arg-type]


def test_a_dominant_phase_is_named_with_its_share() -> None:
    text = said(times(0.05, prefill=0.008, denoise=0.04, commit=0.001, tokenise=0.001))
    assert (
        text
        == "chat, diffusion: a request takes 50.0 ms, dominated by denoising (80 %), then the prefill 16 %."
    )


def test_without_one_the_largest_is_named() -> None:
    text = said(times(0.1, prefill=0.045, denoise=0.04, commit=0.015))
    assert (
        "no phase dominates; the largest is the prefill (45 %), then denoising 40 % and committing 15 %."
        in text
    )


def test_half_dominates() -> None:
    assert "dominated by the prefill (50 %)" in said(times(2.0, prefill=1.0, denoise=0.9))


def test_autoregressive_decoding_does_not_denoise() -> None:
    assert "dominated by decoding forwards (90 %)" in said(times(denoise=0.9), method="ar_lookup")


def test_headroom_is_said_only_where_forwards_are_what_takes_the_time() -> None:
    cell = replace(bench_cell(prompts=2), percent_of_floor=37.4)
    assert sentence(replace(cell, phases=times(denoise=0.9))).endswith("at 37 % of the machine's floor.")
    assert "floor" not in sentence(replace(cell, phases=times(prefill=0.9)))


def test_what_the_clock_does_not_see_is_not_made_up() -> None:
    assert said(None) == "chat, diffusion: phases were not measured."
    blind = said(times(0.2, other=0.1), clock="client")
    assert blind == "chat, diffusion: a request takes 200 ms; the client's clock does not see its phases."


def test_batches_are_said() -> None:
    assert "takes 1,000 ms at batch 4," in said(times(denoise=0.9), batch_size=4)


def test_shares_add_up_where_the_total_starts_after_the_queue() -> None:
    inside, outside = times(1.0, queue=0.5, denoise=0.5), times(1.0, queue=1.0, denoise=1.0)
    assert shares(inside) == shares(outside) == {"queue": 0.5, "denoise": 0.5}
    assert whole(outside) == pytest.approx(2.0)
    assert shares(times(0.0)) == {}
