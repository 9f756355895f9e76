from __future__ import annotations

import math
import re
from typing import Any

import pytest

from dlmrt.bench.claim import MIN_PROMPTS, check_claim, check_measurable, judge_claim
from dlmrt.errors import RequestError
from dlmrt.results.schema import BackendFacts, BenchCell, PromptTimes


def times(name: str, rate: float, decode: float | None = None) -> PromptTimes:
    return PromptTimes(name, 5, 10, None, None, None, decode, rate, None, 10.0, (9.0, 11.0), "stop")


def cell(rates: list[float], decode: list[float | None] | None = None, **changes: Any) -> BenchCell:
    decodes = decode or [None] * len(rates)
    prompts = tuple(times(f"p{i}", r, d) for i, (r, d) in enumerate(zip(rates, decodes, strict=True)))
    values: dict[str, Any] = {
        "arm": "diffusion",
        "suite": "chat",
        "model": "m",
        "method": "diffusion",
        "options": {},
        "backend": BackendFacts("numpy", "chosen"),
        "clock": "engine",
        "batch_size": 1,
        "max_new_tokens": 64,
        "warmups": 1,
        "repeats": 3,
        "prompts": prompts,
        "forwards": None,
        "tokens_per_forward": None,
        "ms_per_forward": None,
        "floor": None,
        "percent_of_floor": None,
        "tokens_per_second_decode": None,
        "tokens_per_second": None,
        "first_block_ms": None,
        "total_ms": None,
        "phases": None,
        "peak_memory_bytes": None,
    }
    return BenchCell(**{**values, **changes})


def test_a_claim_met_on_some_prompts() -> None:
    rates = [100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0, 900.0, 1000.0]
    (claim,), without = judge_claim(800, [cell(rates)], "end_to_end")
    assert without == {}

    assert (claim.met.hits, claim.met.total, claim.met.share) == (3, 10, 0.3)  # 800 itself meets it
    # Wilson, by hand: centre (0.3 + 0.19207) / 1.38415 = 0.35550, half width 0.24769.
    assert claim.met.interval_95 == pytest.approx((0.10779, 0.60322), abs=1e-4)
    assert (claim.measured.median, claim.measured.minimum, claim.measured.maximum) == (550, 100, 1000)
    assert (claim.arm, claim.suite, claim.clock) == ("diffusion", "chat", "engine")
    for part in (
        "800 tokens/s (end to end, the engine's clock) was met on 3 of 10 prompts (30 %",
        "95 % interval 11 to 60 %",
        "median 550 (0.688 times the claim)",
        "10th to 90th percentile 190 to 910",
        "least 100, most 1000",
    ):
        assert part in claim.verdict


def test_decode_only_leaves_out_prompts_without_that_rate() -> None:
    decode = [50.0] * MIN_PROMPTS + [None]
    (claim,), _ = judge_claim(49.5, [cell([1.0] * 9, decode, clock="client", batch_size=4)], "decode")
    assert claim.met.hits == claim.met.total == MIN_PROMPTS
    assert "a request, 4 at a time" in claim.verdict and "the client's clock" in claim.verdict
    assert "1 more have no decode-only rate" in claim.verdict
    # What the least number of prompts is chosen for.
    assert claim.met.interval_95 is not None and claim.met.interval_95[0] > 2 / 3
    claims, without = judge_claim(49.5, [cell([1.0] * 9, [50.0] * 7 + [None, None])], "decode")
    assert claims == ()
    assert re.search(r"has 7 prompts .*2 more have no such rate.*so 1 more", "".join(without.values()))


def test_one_verdict_an_arm_and_suite() -> None:
    cells = [cell([5.0] * 8), cell([15.0] * 8, arm="ar"), cell([25.0] * 8, suite="code")]
    claims, _ = judge_claim(10, cells, "end_to_end")
    assert [(c.arm, c.suite, c.met.hits) for c in claims] == [
        ("diffusion", "chat", 0),
        ("ar", "chat", 8),
        ("diffusion", "code", 8),
    ]


@pytest.mark.parametrize("claimed", [0.0, -1.0, math.nan, math.inf])
def test_claims_that_are_no_speed(claimed: float) -> None:
    with pytest.raises(RequestError, match="above 0"):
        check_claim(claimed, "decode", {"chat": 20})


def test_too_few_prompts_say_how_many_more() -> None:
    check_claim(2788, "decode", {"chat": MIN_PROMPTS})
    with pytest.raises(RequestError, match="'chat' has 3 prompts.*at least 8, so 5 more"):
        check_claim(2788, "decode", {"code": 20, "chat": 3})


def test_a_cell_that_cannot_be_judged_leaves_the_other_verdicts() -> None:
    cells = [cell([1.0] * 8, arm="ar"), cell([1.0] * 3), cell([3e3] * 8, suite="code")]
    claims, without = judge_claim(2788, cells, "end_to_end")
    assert [(c.arm, c.suite, c.met.hits) for c in claims] == [("ar", "chat", 0), ("diffusion", "code", 8)]
    assert list(without) == ["claim on chat, arm diffusion, batch 1"]
    assert "'chat' of arm 'diffusion' has 3 prompts" in without["claim on chat, arm diffusion, batch 1"]


def test_whole_answers_carry_no_claim_about_decoding() -> None:
    check_measurable("end_to_end", streams=False)
    check_measurable("decode", streams=True)
    with pytest.raises(RequestError, match="--claim-measure end_to_end"):
        check_measurable("decode", streams=False)


def test_nothing_to_judge_and_an_unknown_measure() -> None:
    with pytest.raises(RequestError, match="at least one suite"):
        check_claim(10, "decode", {})
    with pytest.raises(RequestError, match="decode, end_to_end"):
        check_claim(10, "fastest", {"chat": 8})  # type: ignore[arg-type]
