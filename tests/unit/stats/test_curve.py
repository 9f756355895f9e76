"""AUP against the values of its authors and against hand-computed areas."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlmrt.errors import DataError
from dlmrt.stats.curve import ALPHA, CUT, FORMULA, area_under_points, weight

shares = st.floats(0, 1)
curves = st.lists(st.tuples(st.floats(0.1, 50), shares), min_size=1, max_size=8)


def test_one_segment_by_hand() -> None:
    """80 % at 1 and 78 % at 3, y_max 80 %: 1 * 80 + (3 - 1) (80 + 78 exp(-3 * 0.025)) / 2 = 232.364."""
    area = area_under_points([(1.0, 0.80), (3.0, 0.78)], y_max=0.80)
    assert area == pytest.approx(80 + 80 + 78 * math.exp(-0.075), rel=1e-12)
    assert area == pytest.approx(232.364, abs=1e-3)


def test_the_numbers_of_the_metrics_authors() -> None:
    """The authors' points of d3LLM-LLaDA on GSM8K-CoT, (1, 74.02 %) and (9.11, 73.09 %), y_max 74.98 %.

    By hand: 74.02 + 8.11 (73.09 exp(-3 * 0.025207) + 74.02 exp(-3 * 0.012803)) / 2 = 637.65.
    """
    area = area_under_points([(1.0, 0.7402), (9.11, 0.7309)], y_max=0.7498)
    assert area == pytest.approx(637.65, abs=0.01)


def test_first_rectangle_is_not_weighted() -> None:
    assert area_under_points([(1.5, 0.4)], y_max=0.8) == pytest.approx(60.0)


def test_points_more_than_five_points_below_the_slowest_are_left_out() -> None:
    kept = [(1.0, 0.27), (2.0, 0.22)]  # in floating point 0.27 - 0.05 is a little more than 0.22
    area = area_under_points(kept, y_max=0.27)
    assert area == pytest.approx(27 + (27 + 22 * math.exp(-3 * 5 / 27)) / 2)
    assert area_under_points([*kept, (9.0, 0.219)], y_max=0.27) == area
    # The cut counts from the slowest point, not from the best, and a later point may come back.
    back = area_under_points([(1.0, 0.80), (2.0, 0.70), (4.0, 0.80)], y_max=0.80)
    assert back == pytest.approx(80 + 3 * 80)


def test_without_loss_it_is_the_plain_area() -> None:
    assert area_under_points([(4.0, 0.5), (1.0, 0.5), (2.0, 0.5)], y_max=0.5) == pytest.approx(200.0)


def test_order_and_equal_rates_do_not_matter() -> None:
    points = [(1.0, 0.6), (2.0, 0.61), (3.0, 0.58)]
    area = area_under_points(points, y_max=0.7)
    assert area_under_points(points[::-1], y_max=0.7) == area
    assert area_under_points([*points, (2.0, 0.59)], y_max=0.7) == area


def test_nothing_to_measure() -> None:
    assert area_under_points([], y_max=0.5) is None
    assert area_under_points([(1.0, 0.0)], y_max=0.0) is None


@pytest.mark.parametrize(
    ("points", "options"),
    [
        ([(math.nan, 0.5)], {}),
        ([(1.0, math.nan)], {}),
        ([(1.0, 74.0)], {}),
        ([(-1.0, 0.5)], {}),
        ([(1.0, 0.5)], {"y_max": 80.0}),
        ([(1.0, 0.5)], {"y_max": math.nan}),
        ([(1.0, 0.5)], {"alpha": -1.0}),
        ([(1.0, 0.5)], {"alpha": math.inf}),
    ],
)
def test_refuses_what_is_no_share_or_rate(
    points: list[tuple[float, float]], options: dict[str, float]
) -> None:
    with pytest.raises(DataError):
        area_under_points(points, **{"y_max": 0.9, **options})


def test_formula_says_what_is_computed() -> None:
    assert (ALPHA, CUT) == (3.0, 0.05)
    for part in ("r1 y1", "exp(-alpha (1 - y/y_max))", "y < y1 - 5", "2601.07568"):
        assert part in FORMULA


def test_weight_falls_below_the_best_and_never_exceeds_one() -> None:
    assert weight(0.9, 0.9) == 1
    assert weight(1.0, 0.9) == 1
    assert weight(0.45, 0.9) == pytest.approx(math.exp(-1.5))


@given(curves)
def test_area_lies_between_the_first_rectangle_and_the_whole(points: list[tuple[float, float]]) -> None:
    y_max = max(y for _, y in points)
    area = area_under_points(points, y_max=y_max)
    if y_max == 0:
        assert area is None
        return
    first = max(y for rate, y in points if rate == min(points)[0])
    assert area is not None
    assert 100 * min(points)[0] * first - 1e-9 <= area <= 100 * max(points)[0] * y_max + 1e-9


@given(curves, st.floats(0, 5), st.floats(0, 5))
def test_a_harder_penalty_never_gains(points: list[tuple[float, float]], a: float, b: float) -> None:
    y_max = max(0.01, *(y for _, y in points))
    mild = area_under_points(points, y_max=y_max, alpha=min(a, b))
    hard = area_under_points(points, y_max=y_max, alpha=max(a, b))
    assert mild is not None
    assert hard is not None
    assert hard <= mild + 1e-9
