from __future__ import annotations

import itertools
import random

import pytest

from dlmrt.engine.stops import RowText, StopMatcher


class Letters:
    """A decoder of code points; -1 is half of a character that the next id completes."""

    pending = False

    def feed(self, token: int) -> str:
        self.pending = token == -1
        return "" if self.pending else chr(token)

    def flush(self) -> str:
        return "\ufffd" if self.pending else ""


def run(text: str, stops: list[str], cuts: list[int]) -> tuple[str, str | None]:
    matcher = StopMatcher(stops)
    out = "".join(matcher.feed(text[a:b]) for a, b in itertools.pairwise([0, *cuts, len(text)]))
    if matcher.hit is None:
        out += matcher.flush()
    assert matcher.emitted == len(out)
    return out, matcher.hit


def test_a_stop_string_is_cut_out_and_nothing_follows() -> None:
    matcher = StopMatcher(["END"])
    assert matcher.feed("ab END cd") == "ab "
    assert matcher.hit == "END"
    assert matcher.feed("more") == ""


def test_text_that_may_begin_a_stop_string_is_held_back() -> None:
    matcher = StopMatcher(["END"])
    assert matcher.feed("abE") == "ab"
    assert matcher.feed("N") == ""
    assert matcher.feed("X") == "ENX"  # it was none


def test_b07_where_the_text_is_cut_does_not_change_what_is_found() -> None:
    rng = random.Random(0)
    for _ in range(400):
        text = "".join(rng.choices("abc", k=rng.randint(0, 9)))
        stops = ["".join(rng.choices("abc", k=rng.randint(1, 4))) for _ in range(rng.randint(0, 3))]
        whole = run(text, stops, [])
        for _ in range(4):
            cuts = sorted(rng.sample(range(len(text) + 1), k=min(len(text), rng.randint(0, 4))))
            assert run(text, stops, cuts) == whole, (text, stops, cuts)
        letters = run(text, stops, list(range(1, len(text))))
        assert letters == whole


def test_the_stop_string_that_completes_first_wins() -> None:
    assert run("xabcd", ["abcd", "c"], []) == ("xab", "c")
    assert run("xabc", ["bc", "abc"], []) == ("x", "abc")


def test_row_text_hands_out_ids_with_their_text() -> None:
    row = RowText(Letters(), ["END"])
    assert row.feed(map(ord, "aE")) == ("a", (ord("a"),))
    assert row.feed(map(ord, "N")) == ("", ())
    assert row.feed(map(ord, "D.")) == ("", ())
    assert row.stopped
    assert row.finish() == ("", ())
    assert row.text == "a"
    assert row.ids == (ord("a"),)


def test_row_text_keeps_the_ids_of_half_a_character_back() -> None:
    row = RowText(Letters(), ["b"])
    assert row.feed([ord("a"), -1]) == ("a", (ord("a"),))
    assert row.feed([0xE9]) == ("é", (-1, 0xE9))
    row.feed([-1])
    assert row.feed([ord("b")]) == ("", ())  # the stop string begins with the half token: both go
    assert row.ids == (ord("a"), -1, 0xE9)


@pytest.mark.parametrize("stops", [[], ["Z"]])
def test_row_text_gives_everything_at_the_end(stops: list[str]) -> None:
    row = RowText(Letters(), stops)
    row.feed([ord("a"), -1])
    assert row.finish() == ("\ufffd", (-1,))
    assert row.ids == (ord("a"), -1)
