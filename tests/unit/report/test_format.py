from __future__ import annotations

import pytest

from dlmrt.report import format as fmt
from dlmrt.results.summarise import distribution, share_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"), (0, "0"), (0.012345, "0.0123"), (0.9996, "1.00"), (4.746, "4.75"), (9.9949, "9.99"),
        (9.996, "10.0"), (34.06, "34.1"), (99.96, "100"), (1468.6, "1,469"), (-3.14159, "-3.14"),
        (2e16, "2e+16"),
    ],
)  # fmt: skip
def test_number(value: float | None, text: str) -> None:
    assert fmt.number(value) == text


def test_shares() -> None:
    assert fmt.share(share_of(652, 1000)) == "65.2 % (62.2-68.1)"
    assert fmt.share(share_of(0, 0)) == "-"
    assert fmt.share(None) == "-"
    assert fmt.share_of_mapping({"share": 0.5, "interval_95": [0.4, 0.6], "hits": 1}) == "50.0 % (40.0-60.0)"
    assert fmt.share_of_mapping({"share": None, "interval_95": None}) == "-"
    assert fmt.share_of_mapping({"share": 0.5, "interval_95": "wide"}) == "50.0 %"
    assert fmt.share_of_mapping({"share": "all", "interval_95": None}) is None
    assert fmt.share_of_mapping({"typo": 3}) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0312, "0.031 %"),
        (0.5, "0.5 %"),
        (0.994, "0.99 %"),
        (0.996, "1.0 %"),
        (37.44, "37.4 %"),
    ],
)
def test_a_small_share_of_the_floor_keeps_two_digits(value: float | None, text: str) -> None:
    assert fmt.percent_of_floor(value) == text


def test_intervals_and_differences_keep_their_sign() -> None:
    assert fmt.interval((-0.012, 0.034), 100) == "-1.2 to 3.4"
    assert fmt.interval(None) == "-"
    assert fmt.points(-0.0371) == "-3.7"
    assert fmt.points(0.04) == "+4.0"


def test_small_p_values_are_not_zero() -> None:
    assert fmt.p_value(1e-9) == "<0.001"
    assert fmt.p_value(0.0421) == "0.042"
    assert fmt.p_value(1.0) == "1.000"


def test_spread_and_median() -> None:
    values = distribution([0.01 * i for i in range(1, 102)])
    assert fmt.spread(values, 1000) == "510 (110-910)"
    assert fmt.median(values) == "0.51"
    assert fmt.spread(None) == fmt.median(None) == "-"


def test_scaled_quantities() -> None:
    assert fmt.scaled(12_050_000, "B") == "12.1 MB"
    assert fmt.scaled(3.35e12, "B/s") == "3.35 TB/s"
    assert fmt.scaled(410, "B") == "410 B"
    assert fmt.scaled(None, "B") == "-"


def test_settings_counts_and_words() -> None:
    options = {"threshold": 0.9, "residual": False, "stop": ["a", "b"], "max_steps": None}
    assert fmt.settings(options) == "threshold=0.9 residual=no stop=a,b max_steps=none"
    assert fmt.settings({}) == "-"
    assert fmt.settings({"decoder": {"top_k": 0, "seed": None}, "given": {}}) == (
        "decoder=(top_k=0 seed=none) given=none"
    )
    assert fmt.counts({"stop": 1190, "length": 8}) == "stop 1,190, length 8"
    assert fmt.counts({}) == "0"
    assert [fmt.words("abc"[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_foreign_text_stays_on_its_line_and_is_encodable() -> None:
    cleaned = fmt.clean("a\n\tb\x1b[2Jc\ud800d\u202ee")
    assert cleaned == "a b\ufffd[2Jc\ufffdd\ufffde"
    cleaned.encode("utf-8")
    assert fmt.shorten("abcdefgh", 5) == "abcd…"
    assert fmt.shorten("abcde", 5) == "abcde"
