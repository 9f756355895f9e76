"""Repeated n-grams, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlmrt.errors import RequestError
from dlmrt.stats.repetition import repeated_ngrams


@pytest.mark.parametrize(
    ("tokens", "n", "expected"),
    [
        ("abcabcabc", 3, (4, 7)),  # abc bca cab | abc bca cab abc
        ("aaaaa", 2, (3, 4)),
        ("abcdefgh", 8, (0, 1)),
        ("abcdefg", 8, (0, 0)),
        ("", 8, (0, 0)),
        ("abab", 1, (2, 4)),
        ("abcdefghabcdefgh", 8, (1, 9)),  # only the last 8-gram stood before
    ],
)
def test_by_hand(tokens: str, n: int, expected: tuple[int, int]) -> None:
    assert repeated_ngrams(tokens, n) == expected
    assert repeated_ngrams([ord(c) for c in tokens], n) == expected


def test_ngrams_of_no_token_are_refused() -> None:
    with pytest.raises(RequestError, match="n is 0"):
        repeated_ngrams("abc", 0)


@given(st.lists(st.integers(0, 3), max_size=40), st.integers(1, 9))
def test_is_what_a_slow_count_says(tokens: list[int], n: int) -> None:
    grams = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    assert repeated_ngrams(tokens, n) == (sum(g in grams[:i] for i, g in enumerate(grams)), len(grams))
