"""Paired comparisons against published tables and hand-computed values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlmrt.errors import DataError, RequestError
from dlmrt.stats.intervals import wilson
from dlmrt.stats.paired import (
    Pairs,
    difference_interval,
    items_for_difference,
    items_for_margin,
    mcnemar_exact,
    pair_up,
)

counts = st.integers(0, 60)
tables = st.builds(Pairs, counts, counts, counts, counts).filter(lambda pairs: pairs.items > 0)


def test_outcomes_are_counted_by_item() -> None:
    first = [True, True, False, False, True]
    second = [True, False, True, False, True]
    pairs = pair_up(first, second)
    assert pairs == Pairs(both=2, only_first=1, only_second=1, neither=1)
    assert (pairs.items, pairs.difference, pairs.discordant_share) == (5, 0.0, 0.4)
    assert pair_up([True, False, False], [True, True, True]).difference == pytest.approx(2 / 3)
    with pytest.raises(DataError, match="one arm has 2 outcomes, the other 1"):
        pair_up([True, False], [True])


@pytest.mark.parametrize(
    ("first", "second", "p_value"),
    [
        # Fagerland, Lydersen & Laake 2013 (BMC Med Res Methodol 13:91), exact conditional test of 1 and 7
        # (airway data) and of 6 and 16 (complete response): 0.0703 and 0.0525.
        (1, 7, 0.0703125),
        (6, 16, 0.052478790283203125),
        # By hand: 2 (1 + 10 + 45) / 2^10 and 2 / 2^5.
        (2, 8, 112 / 1024),
        (5, 0, 0.0625),
        (3, 3, 1.0),
        (0, 1, 1.0),
        (0, 0, 1.0),
    ],
)
def test_mcnemar_exact(first: int, second: int, p_value: float) -> None:
    assert mcnemar_exact(first, second) == pytest.approx(p_value, rel=1e-12)
    assert mcnemar_exact(second, first) == mcnemar_exact(first, second)


def test_mcnemar_with_thousands_of_items_neither_overflows_nor_drifts() -> None:
    """1900 against 2100, with the continuity correction, is z = (200 - 1) / sqrt(4000)."""
    z = 199 / math.sqrt(4000)
    assert mcnemar_exact(1900, 2100) == pytest.approx(math.erfc(z / math.sqrt(2)), rel=2e-3)
    assert 0 <= mcnemar_exact(0, 3000) < 1e-300
    with pytest.raises(DataError, match="-1"):
        mcnemar_exact(-1, 3)


@given(st.integers(0, 80), st.integers(0, 80))
def test_mcnemar_is_the_binomial_tail(first: int, second: int) -> None:
    n, few = first + second, min(first, second)
    tail = sum(math.comb(n, k) for k in range(few + 1))
    assert mcnemar_exact(first, second) == min(1.0, 2 * tail / 2**n)


@pytest.mark.parametrize(
    ("pairs", "low", "high"),
    [
        # Published as first - second; ours is second - first.
        # Fagerland, Lydersen & Laake 2014 (Statistics in Medicine 33:2850), Newcombe's interval of their
        # first example, a correlation that the correction takes to 0: -0.507 to -0.026.
        (Pairs(1, 1, 7, 12), 0.026, 0.507),
        # Fagerland, Lydersen & Laake 2017 (Statistical Analysis of Contingency Tables, chapter 8), their
        # second example, correlated outcomes: -0.1186 to -0.0046.
        (Pairs(59, 6, 16, 80), 0.0046, 0.1186),
    ],
)
def test_difference_interval_against_published_values(pairs: Pairs, low: float, high: float) -> None:
    digits = 5e-4 if low == 0.026 else 5e-5
    assert difference_interval(pairs) == pytest.approx((low, high), abs=digits)


def test_difference_interval_by_hand_without_discordant_items() -> None:
    """20 right and 20 wrong in both arms: phi = (400 - 20) / 400 = 0.95, Wilson 0.35199 to 0.64801.

    Both distances are 0.14801, so the half width is 0.14801 sqrt(2 - 1.9) = 0.046805.
    """
    assert difference_interval(Pairs(20, 0, 0, 20)) == pytest.approx((-0.046805, 0.046805), abs=2e-6)


def test_difference_interval_of_all_alike_arms_is_not_empty() -> None:
    """Every item right in both: no correlation can be told; Wilson 40/40 is 0.91238 to 1 on each side."""
    low = wilson(40, 40)[0]
    assert difference_interval(Pairs(40, 0, 0, 0)) == pytest.approx((low - 1, 1 - low), abs=1e-12)
    with pytest.raises(DataError, match="no items"):
        difference_interval(Pairs(0, 0, 0, 0))


@given(tables)
def test_difference_interval_holds_the_difference_and_turns_with_the_arms(pairs: Pairs) -> None:
    low, high = difference_interval(pairs)
    assert -1 <= low <= pairs.difference + 1e-12
    assert pairs.difference - 1e-12 <= high <= 1
    turned = difference_interval(Pairs(pairs.both, pairs.only_second, pairs.only_first, pairs.neither))
    assert turned == pytest.approx((-high, -low), abs=1e-12)


@pytest.mark.parametrize(
    ("difference", "share", "power", "items"),
    [
        # (1.959964 sqrt(0.2) + 0.841621 sqrt(0.19))^2 / 0.01 = (0.876523 + 0.366854)^2 / 0.01 = 154.60
        (0.1, 0.2, 0.8, 155),
        # (1.959964 sqrt(0.1) + 1.281552 sqrt(0.0975))^2 / 0.0025 = (0.619796 + 0.400163)^2 / 0.0025 = 416.1
        (0.05, 0.1, 0.9, 417),
        # One point with 5 % discordant items:
        # (1.959964 sqrt(0.05) + 0.841621 sqrt(0.0499))^2 / 0.0001 = (0.438261 + 0.188003)^2 / 0.0001 = 3922.1
        (0.01, 0.05, 0.8, 3923),
        # All discordant items favour one arm: (1.959964 sqrt(0.2) + 0.841621 sqrt(0.16))^2 / 0.04 = 36.8
        (0.2, 0.2, 0.8, 37),
    ],
)
def test_items_for_difference_by_hand(difference: float, share: float, power: float, items: int) -> None:
    assert items_for_difference(difference, share, power=power) == items
    assert items_for_difference(-difference, share, power=power) == items


def test_items_for_difference_at_its_edges() -> None:
    assert items_for_difference(0.0, 0.3) is None
    assert items_for_difference(0.0, 0.0) is None
    assert items_for_difference(1.0, 1.0) == 4  # 1.959964^2 = 3.84
    small, large = items_for_difference(0.1, 0.2, alpha=0.01), items_for_difference(0.1, 0.2)
    assert small is not None
    assert large is not None
    assert small > large


@pytest.mark.parametrize(
    "bad",
    [
        {"difference": 0.2, "discordant_share": 0.1},
        {"difference": 0.2, "discordant_share": 1.1},
        {"difference": math.nan, "discordant_share": 0.1},
        {"difference": 0.1, "discordant_share": math.nan},
        {"difference": 0.1, "discordant_share": 0.2, "power": 1.0},
        {"difference": 0.1, "discordant_share": 0.2, "alpha": 0.0},
    ],
)
def test_items_for_difference_refuses_the_impossible(bad: dict[str, float]) -> None:
    with pytest.raises(RequestError):
        items_for_difference(**bad)


@given(tables)
def test_measured_pairs_always_have_a_sample_size(pairs: Pairs) -> None:
    needed = items_for_difference(pairs.difference, pairs.discordant_share)
    assert (needed is None) == (pairs.only_first == pairs.only_second)


@given(st.integers(0, 20), st.sampled_from([0.3, 0.1, 0.05, 0.03]))
def test_items_for_margin_is_the_least_that_gives_it(twentieths: int, margin: float) -> None:
    share = twentieths / 20
    n = items_for_margin(share, margin)

    def half(items: int) -> float:
        z2 = 1.959963984540054**2
        return math.sqrt(z2 * (share * (1 - share) / items + z2 / (4 * items * items))) / (1 + z2 / items)

    if 0 < twentieths < 20:  # this half width is Wilson's; at 0 and 1 the end is rounded to them
        low, high = wilson(twentieths * n, 20 * n)
        assert half(20 * n) == pytest.approx((high - low) / 2, abs=1e-12)
    assert half(n) <= margin + 1e-9
    assert n == 1 or half(n - 1) > margin


def test_items_for_margin_by_hand() -> None:
    """At share 0.5 the half width is 0.98 / sqrt(n + 3.8415): 0.05 needs 384.15 - 3.84 = 380.3 items."""
    assert items_for_margin(0.5, 0.05) == 381
    assert items_for_margin(0.5, 0.01) == 9600  # 9603.65 - 3.84 = 9599.8
    assert items_for_margin(0.0, 0.01) == 189  # z^2 (1 / (2 h) - 1) = 3.8415 * 49 = 188.2
    for share, margin in ((1.1, 0.1), (-0.1, 0.1), (0.5, 0.0), (0.5, 0.5), (math.nan, 0.1)):
        with pytest.raises(RequestError):
            items_for_margin(share, margin)
