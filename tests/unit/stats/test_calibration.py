"""Reliability bins and the expected calibration error, by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlmrt.errors import DataError
from dlmrt.stats.calibration import bins, expected_calibration_error

tokens = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=60)


def test_error_by_hand() -> None:
    """Ten tokens at 0.9 of which 8 are right, ten at 0.6 of which 5 are: (10 * 0.1 + 10 * 0.1) / 20 = 0.1."""
    found = bins([0.9] * 10 + [0.6] * 10, [True] * 8 + [False] * 2 + [True] * 5 + [False] * 5)
    assert found[9] == (0.9, 1.0, 10, pytest.approx(0.9), 0.8)
    assert found[6] == (0.6, 0.7, 10, pytest.approx(0.6), 0.5)
    assert found[0] == (0.0, 0.1, 0, None, None)
    assert expected_calibration_error(found) == pytest.approx(0.1)


def test_errors_of_opposite_sign_in_different_bins_do_not_cancel() -> None:
    """0.95 always wrong in one bin, 0.05 always right in another: 0.95 each."""
    assert expected_calibration_error(bins([0.95, 0.05], [False, True])) == pytest.approx(0.95)


def test_within_a_bin_they_do() -> None:
    """0.8 wrong and 0.84 right, one bin of 5: |0.82 - 0.5| = 0.32."""
    assert expected_calibration_error(bins([0.80, 0.84], [False, True], 5)) == pytest.approx(0.32)


@pytest.mark.parametrize("count", [1, 3, 10, 100])
def test_an_edge_belongs_to_the_bin_that_it_opens_and_one_to_the_last(count: int) -> None:
    for i in range(count):
        found = bins([i / count], [True], count)
        assert [n for _, _, n, _, _ in found] == [int(j == i) for j in range(count)]
    assert bins([1.0], [True], count)[-1][2] == 1


def test_float32_rounding_above_one_is_one() -> None:
    assert bins([1.0000001], [True])[-1][3] == 1.0


def test_no_tokens_have_no_error() -> None:
    assert expected_calibration_error(bins([], [])) is None


@pytest.mark.parametrize(
    ("confidence", "correct", "count"),
    [
        ([0.5], [], 10),
        ([1.1], [True], 10),
        ([-0.1], [True], 10),
        ([math.nan], [True], 10),
        ([0.5], [True], 0),
    ],
)
def test_refuses_what_is_no_probability(confidence: list[float], correct: list[bool], count: int) -> None:
    with pytest.raises(DataError):
        bins(confidence, correct, count)


@given(tokens, st.integers(1, 20))
def test_bins_tile_and_hold_every_token(pairs: list[tuple[float, bool]], count: int) -> None:
    found = bins([c for c, _ in pairs], [good for _, good in pairs], count)
    assert found[0][0] == 0
    assert found[-1][1] == 1
    assert [high for _, high, *_ in found[:-1]] == [low for low, *_ in found[1:]]
    assert sum(n for _, _, n, _, _ in found) == len(pairs)
    for low, high, n, mean, share in found:
        assert (mean is None) == (share is None) == (n == 0)
        if mean is not None and share is not None:
            assert low - 1e-12 <= mean <= high + 1e-12
            assert share * n == pytest.approx(round(share * n))
    error = expected_calibration_error(found)
    assert error is None if not pairs else 0 <= (error or 0) <= 1
