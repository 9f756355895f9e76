"""Summaries by hand: shares, percentiles, tokens per forward of hand-made traces."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlmrt.errors import DataError
from dlmrt.results.check_parts import check_distribution, check_tokens_per_forward
from dlmrt.results.schema import Distribution, ForwardCounts, ShareOf
from dlmrt.results.summarise import distribution, forward_counts, share_of, tokens_per_forward
from dlmrt.stats.counting import AnswerCounts


def answer(tokens: int, decided: int, denoise: int, commit: int, prefill: int = 1) -> AnswerCounts:
    return AnswerCounts(tokens, decided, prefill, denoise, commit, seconds=1.0, first_block=0.5)


def test_shares() -> None:
    share = share_of(15, 148)
    assert (share.hits, share.total, share.share) == (15, 148, 15 / 148)
    assert share.interval_95 == pytest.approx((0.0624, 0.1605), abs=5e-5)  # Newcombe 1998, table I
    assert share_of(0, 0) == ShareOf(0, 0, None, None)
    for hits, total in ((1, 0), (6, 5), (-1, 5), (-1, 0)):
        with pytest.raises(DataError):
            share_of(hits, total)


def test_percentiles_interpolate_between_ranks() -> None:
    """1 2 3 4 10 at rank q * 4: p10 at 0.4 is 1.4, p90 at 3.6 is 4 + 0.6 * 6 = 7.6."""
    assert distribution([10, 1, 4, 2, 3]) == Distribution(
        5, 4.0, 3.0, pytest.approx(1.4), 2.0, 4.0, pytest.approx(7.6), 1.0, 10.0
    )
    assert distribution([2.5]) == Distribution(1, *[2.5] * 8)
    two = distribution([1.0, 2.0])
    assert two is not None
    assert (two.p25, two.median, two.p75) == (1.25, 1.5, 1.75)


def test_no_values_have_no_distribution_and_nan_is_refused() -> None:
    assert distribution([]) is None
    assert distribution(iter(())) is None
    for bad in (math.nan, math.inf):
        with pytest.raises(DataError, match=f"value 1 of 3 is {bad}"):
            distribution([1.0, bad, 2.0])


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=40))
def test_a_distribution_passes_the_check_of_result_files(values: list[float]) -> None:
    found = distribution(values)
    assert found is not None
    check_distribution(found, "values", count=len(values))
    assert (found.minimum, found.maximum) == (min(values), max(values))


@given(st.floats(0, 1e9), st.integers(1, 9))
def test_equal_values_are_their_own_summary(value: float, count: int) -> None:
    assert distribution([value] * count) == Distribution(count, *[value] * 8)


def test_tokens_per_forward_of_two_answers() -> None:
    """8 decided in 4 + 2 forwards and 3 in 1 + 1: mean (4/3 + 3/2) / 2, sums 11/8; without commits 11/5."""
    found = tokens_per_forward([answer(7, 8, 4, 2), answer(3, 3, 1, 1)])
    assert found is not None
    assert found.mean_of_ratios == pytest.approx((8 / 6 + 3 / 2) / 2)
    assert found.ratio_of_sums == 11 / 8
    assert found.mean_of_ratios_without_commits == pytest.approx((8 / 4 + 3) / 2)
    assert found.ratio_of_sums_without_commits == 11 / 5
    assert found.per_answer == distribution([8 / 6, 3 / 2])
    assert tokens_per_forward([]) is None


def test_prefill_is_apart_and_an_answer_of_the_prefill_alone_counts_one() -> None:
    assert tokens_per_forward([answer(1, 1, 0, 0, prefill=5)]) == tokens_per_forward([answer(1, 1, 1, 0)])


def test_autoregressive_answers_lie_slightly_above_one() -> None:
    """Ten tokens, the first from the prefill: 10 / 9, as Result.tokens_per_forward has it."""
    found = tokens_per_forward([answer(10, 10, 9, 0)])
    assert found is not None
    assert found.ratio_of_sums == found.mean_of_ratios == pytest.approx(10 / 9)


def test_forwards_add_up() -> None:
    counts = [answer(7, 8, 4, 2), answer(3, 3, 1, 1, prefill=2)]
    assert forward_counts(counts) == ForwardCounts(3, 5, 3)
    assert forward_counts([]) == ForwardCounts(0, 0, 0)


small = st.integers(0, 40)
answers = st.builds(answer, small, small, small, small)


@given(st.lists(answers, min_size=1, max_size=12))
def test_rates_pass_the_check_of_result_files(counts: list[AnswerCounts]) -> None:
    decided = sum(each.decided for each in counts)
    check_tokens_per_forward(tokens_per_forward(counts), "rates", decided, forward_counts(counts))
