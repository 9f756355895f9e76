"""A claimed speed against measured ones: on which share of the prompts it was met, with which spread."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from dlmrt.errors import RequestError
from dlmrt.results.recount import claimed_rate
from dlmrt.results.schema import BenchCell, Claim, Distribution, ShareOf
from dlmrt.results.summarise import distribution, share_of

Measure = Literal["decode", "end_to_end"]
# A claim is judged on at least this many prompts. When all of n prompts meet it, the lower end of the
# 95 % Wilson interval is n / (n + 3.84): with 8 it passes two thirds, so that "met" means "on most".
MIN_PROMPTS = 8
CLOCKS = {"engine": "the engine's clock", "client": "the client's clock"}
RATES = {"decode": "decode-only", "end_to_end": "end to end"}


def check_measurable(measure: Measure, streams: bool) -> None:
    """Refuse a claim about decoding where whole answers come at once; raises RequestError."""
    if measure == "decode" and not streams:
        raise RequestError(
            "the claim speaks of decode-only tokens/s, and a server asked without streaming gives whole "
            "answers, which have no such rate; use --claim-measure end_to_end, or drop --no-stream"
        )


def check_claim(tokens_per_second: float, measure: Measure, prompts: Mapping[str, int]) -> None:
    """Refuse, before any work, a claim that the run could not judge. prompts: how many, by suite.

    Raises RequestError: a claim that is no positive number, an unknown measure, too few prompts (says
    how many more a suite needs).
    """
    if not (math.isfinite(tokens_per_second) and tokens_per_second > 0):
        raise RequestError(
            f"the claim is {tokens_per_second}; it must be tokens a second, above 0 and finite"
        )
    if measure not in get_args(Measure):
        raise RequestError(f"measure is {measure!r}; it must be one of {', '.join(get_args(Measure))}")
    if not prompts:
        raise RequestError("there is nothing to judge the claim on; measure at least one suite")
    for suite, count in prompts.items():
        _require_prompts(f"suite '{suite}'", count)


def judge_claim(
    tokens_per_second: float, cells: Sequence[BenchCell], measure: Measure, *, random_weights: bool = False
) -> tuple[tuple[Claim, ...], dict[str, str]]:
    """Judge a claimed speed on every cell: verdicts in the cells' order, and why a cell has none.

    A prompt meets it when its median rate over the repeats does. measure: ``decode`` (without the first
    block's prefill; prompts whose decode rate is not known are left out, and the verdict says how many)
    or ``end_to_end`` (the whole request).
    A cell without a verdict, because too few of its prompts have that rate, is named by arm and suite.
    """
    claims: list[Claim] = []
    without: dict[str, str] = {}
    for cell in cells:
        try:
            claims.append(_judge(tokens_per_second, cell, measure, random_weights))
        except RequestError as error:  # an interrupted run, or failed requests: the other verdicts stay
            without[f"claim on {cell.suite}, arm {cell.arm}, batch {cell.batch_size}"] = str(error)
    return tuple(claims), without


def _judge(claimed: float, cell: BenchCell, measure: Measure, random_weights: bool) -> Claim:
    known = [rate for rate in (claimed_rate(prompt, measure) for prompt in cell.prompts) if rate is not None]
    left_out = len(cell.prompts) - len(known)
    _require_prompts(f"suite '{cell.suite}' of arm '{cell.arm}'", len(known), left_out)
    met = share_of(sum(rate >= claimed for rate in known), len(known))
    measured = distribution(known)
    assert measured is not None  # there are at least MIN_PROMPTS
    verdict = _sentence(claimed, cell, measure, met, measured)
    if random_weights:
        verdict += (
            " Random weights and a fixed number of tokens a step: no speed of a trained model is judged."
        )
    if left_out:
        verdict += f" {left_out} more have no {RATES[measure]} rate and are left out."
    place = (cell.arm, cell.suite, cell.batch_size, cell.max_new_tokens, cell.clock)
    return Claim(claimed, measure, *place, met, measured, verdict)


def _require_prompts(where: str, count: int, left_out: int = 0) -> None:
    if count >= MIN_PROMPTS:
        return
    lost = f" ({left_out} more have no such rate)" if left_out else ""
    raise RequestError(
        f"{where} has {count} prompts to judge a claim on{lost}; it takes at least {MIN_PROMPTS}, "
        f"so {MIN_PROMPTS - count} more"
    )


def _sentence(claimed: float, cell: BenchCell, measure: Measure, met: ShareOf, measured: Distribution) -> str:
    low, high = met.interval_95 or (0.0, 1.0)
    share = 100 * (met.share or 0.0)
    rows = "" if cell.batch_size == 1 else f" a request, {cell.batch_size} at a time"
    return (
        f"{claimed:g} tokens/s{rows} ({RATES[measure]}, {CLOCKS[cell.clock]}) was met on {met.hits} of "
        f"{met.total} prompts ({share:.0f} %, 95 % interval {100 * low:.0f} to {100 * high:.0f} %). "
        f"Measured: median {_number(measured.median)} ({_number(measured.median / claimed)} times the "
        f"claim), 10th to 90th percentile {_number(measured.p10)} to {_number(measured.p90)}, least "
        f"{_number(measured.minimum)}, most {_number(measured.maximum)}."
    )


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
