"""Intervals against published tables."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlmrt.errors import DataError
from dlmrt.stats.intervals import Z_95, mean_interval, t_quantile, wilson


def test_wilson_against_published_values() -> None:
    """Newcombe 1998 (Statistics in Medicine 17:857), table I, method 3: 81/263, 15/148, 0/20, 1/29."""
    for hits, total, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        assert wilson(hits, total) == pytest.approx((low, high), abs=5e-5)
    assert wilson(20, 20) == pytest.approx((1 - 0.1611, 1.0), abs=5e-5)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_inside_0_and_1_and_mirrors(case: tuple[int, int]) -> None:
    hits, total = case
    low, high = wilson(hits, total)
    assert 0 <= low <= hits / total <= high <= 1
    assert low < high
    mirrored = wilson(total - hits, total)
    assert (1 - high, 1 - low) == pytest.approx(mirrored, abs=1e-12)


@given(st.integers(1, 500), st.data())
def test_wilson_solves_the_score_equation(total: int, data: st.DataObject) -> None:
    """An end p of the interval is where |share - p| is 1.96 standard errors of p (Wilson 1927)."""
    hits = data.draw(st.integers(0, total))
    for end in wilson(hits, total):
        if 0 < end < 1:
            distance = Z_95 * math.sqrt(end * (1 - end) / total)
            assert abs(hits / total - end) == pytest.approx(distance, abs=1e-9)


@pytest.mark.parametrize(("hits", "total"), [(0, 0), (1, 0), (-1, 5), (6, 5)])
def test_wilson_refuses_what_is_no_proportion(hits: int, total: int) -> None:
    with pytest.raises(DataError, match=f"{hits} hits of {total}"):
        wilson(hits, total)


def test_student_points_against_the_printed_table() -> None:
    """Fisher & Yates, Statistical Tables, table III, P = 0.05 two-sided."""
    table = {
        1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262,
        10: 2.228, 15: 2.131, 20: 2.086, 30: 2.042, 40: 2.021, 60: 2.000, 120: 1.980,
    }  # fmt: skip
    for degrees, point in table.items():
        assert t_quantile(degrees) == pytest.approx(point, abs=5e-4), degrees
    with pytest.raises(DataError, match="0 degrees"):
        t_quantile(0)


def test_student_points_have_closed_forms_for_one_and_two_degrees() -> None:
    """One degree is Cauchy: tan(pi 0.475). Two: p = t / sqrt(2 + t^2) = 0.95, so t^2 = 2 p^2 / (1 - p^2)."""
    assert t_quantile(1) == pytest.approx(math.tan(math.pi * 0.475), rel=1e-11)
    assert t_quantile(2) == pytest.approx(math.sqrt(2 * 0.95**2 / (1 - 0.95**2)), rel=1e-11)


def test_student_points_fall_to_the_normal_one_without_a_step_between_the_two_methods() -> None:
    points = [t_quantile(degrees) for degrees in (*range(1, 140), 10_000, 10**9)]
    assert points == sorted(points, reverse=True)
    assert points[-1] == pytest.approx(Z_95, abs=1e-8)
    steps = [a - b for a, b in itertools.pairwise(points[95:106])]
    assert steps == pytest.approx(sorted(steps, reverse=True), abs=1e-9)


def test_mean_interval_by_hand() -> None:
    """1..5: mean 3, standard deviation sqrt(2.5), 2.7764 sqrt(2.5 / 5) = 1.9632."""
    mean, interval = mean_interval([5, 1, 4, 2, 3])
    assert mean == 3
    assert interval == pytest.approx((3 - 1.9632, 3 + 1.9632), abs=5e-5)
    assert mean_interval([2.0, 2.0]) == (2.0, (2.0, 2.0))
    assert mean_interval([0.25]) == (0.25, None)


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_mean_interval_refuses_nothing_and_what_is_no_number(values: list[float]) -> None:
    with pytest.raises(DataError):
        mean_interval(values)
