"""The error generator: recorded truthfully, one error a word, the promised mix, deterministic."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest

from dlmrt.datasets.corrupt import CLEAN_SHARE, MAX_ERRORS, MIX, WORDS_PER_ERROR, Error, corrupt
from dlmrt.datasets.repair import corrupt_pair

SENTENCES = (
    "When the server starts, it doesn't read the configuration file unless the user's home directory "
    "contains one.",
    "An empty item at the end of a list is always ignored by Linux; this follows the address format.",
    'If this happens, try switching your wireless off (see below), and then "back on" again.',
)
LEXICON = frozenset({"then", "than", "from", "form", "its", "linux", "of", "off", "the", "they"})


def draws(epochs: int = 400, lexicon: frozenset[str] = frozenset()) -> list[tuple[str, str, list[Error]]]:
    return [
        (text, *corrupt(text, seed=3, epoch=epoch, lexicon=lexicon))
        for text in SENTENCES
        for epoch in range(epochs)
    ]


def test_spans_say_what_stands_there_before_and_after() -> None:
    for clean, bad, errors in draws():
        for error in errors:
            assert clean[slice(*error.span)] == error.clean
            assert bad[slice(*error.bad_span)] == error.bad
            assert error.clean != error.bad
            first, end = error.words
            assert " ".join(clean.split(" ")[first:end]) == error.clean


def test_undoing_the_errors_gives_the_clean_sentence() -> None:
    for clean, bad, errors in draws():
        for error in reversed(errors):
            bad = bad[: error.bad_span[0]] + error.clean + bad[error.bad_span[1] :]
        assert bad == clean


def test_no_two_errors_touch_one_word() -> None:
    for _, _, errors in draws():
        touched = [word for error in errors for word in range(*error.words)]
        assert len(touched) == len(set(touched))
        assert touched == sorted(touched)


def test_number_of_errors_and_share_left_clean() -> None:
    rows = draws(1500)
    counts = [len(errors) for _, _, errors in rows]
    assert max(counts) <= MAX_ERRORS
    assert sum(count == 0 for count in counts) / len(counts) == pytest.approx(CLEAN_SHARE, abs=0.015)
    words = sum(len(clean.split()) for clean, _, errors in rows if errors)
    assert words / sum(counts) == pytest.approx(WORDS_PER_ERROR, rel=0.1)
    assert all((bad == clean) == (not errors) for clean, bad, errors in rows)


def test_every_type_occurs_and_typos_are_the_largest_part() -> None:
    counts = Counter(error.type for _, _, errors in draws(1500) for error in errors)
    assert set(counts) == set(MIX)
    typos = sum(count for kind, count in counts.items() if kind.startswith("typo."))
    assert 0.45 <= typos / sum(counts.values()) <= 0.7
    assert sum(MIX.values()) == pytest.approx(1.0)


def test_a_typo_is_never_a_real_word() -> None:
    lexicon = LEXICON | {"hen", "ten", "thn", "the", "tis"}
    seen = [e for _, _, errors in draws(1500, lexicon) for e in errors if e.type.startswith("typo.")]
    assert not [e for e in seen if e.bad.strip('"().,;:').lower() in lexicon]
    without = [e for _, _, errors in draws(1500) for e in errors if e.type.startswith("typo.")]
    assert [e for e in without if e.bad.strip('"().,;:').lower() in lexicon], "the lexicon made no difference"


def test_a_name_that_is_also_a_word_keeps_its_capital() -> None:
    types = {e.type for _, _, errors in draws(1500, LEXICON) for e in errors}
    assert "casing.name" not in types


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        ("typo.swap", lambda a, b: len(a) == len(b) and sorted(a) == sorted(b)),
        ("typo.drop", lambda a, b: len(b) == len(a) - 1),
        ("typo.extra", lambda a, b: len(b) == len(a) + 1),
        ("typo.double", lambda a, b: len(b) == len(a) + 1 and set(a) == set(b)),
        ("typo.near", lambda a, b: len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) == 1),
        ("typo.undouble", lambda a, b: len(b) == len(a) - 1 and set(a) == set(b)),
        ("casing.start", lambda a, b: b[0].islower() and a.lower() == b.lower()),
        ("casing.capital", lambda a, b: a.islower() and b.istitle() and a.lower() == b.lower()),
        ("casing.upper", lambda a, b: b.isupper() and a.lower() == b.lower()),
        ("casing.name", lambda a, b: a[0].isupper() and b.islower() and a.lower() == b.lower()),
        ("spacing.two", lambda a, b: b == a.replace(" ", "  ")),
        ("spacing.join", lambda a, b: b == a.replace(" ", "")),
        ("spacing.split", lambda a, b: a == b.replace(" ", "") and " " not in a),
        ("spacing.before", lambda a, b: b[-2] == " " and a == b.replace(" ", "")),
        ("spacing.after", lambda a, b: b == a.replace(" ", "") and any(mark in b for mark in ",;:.")),
        ("punctuation.final", lambda a, b: a[-1] == "." and b == a[:-1]),
        ("punctuation.twice", lambda a, b: b == a + a[-1] and not a[-1].isalnum()),
        ("punctuation.comma", lambda a, b: a == b + ","),
        ("punctuation.apostrophe", lambda a, b: b == a.replace("'", "") and "'" in a),
        ("punctuation.wrong", lambda a, b: a[:-1] == b[:-1] and {a[-1], b[-1]} == {",", "."}),
    ],
)
def test_each_type_does_what_it_says(kind: str, check) -> None:  # type: ignore[no-untyped-def]
    found = [e for _, _, errors in draws(700) for e in errors if e.type == kind]
    assert found
    assert [e for e in found if not check(e.clean, e.bad)] == []


def test_same_arguments_same_errors_and_others_differ() -> None:
    text = SENTENCES[0]
    assert corrupt(text, seed=1) == corrupt(text, seed=1)
    assert len({corrupt(text, seed=seed)[0] for seed in range(20)}) > 10
    assert len({corrupt(text, seed=1, epoch=epoch)[0] for epoch in range(20)}) > 10


def test_the_generator_has_not_drifted() -> None:
    """A change here needs a new GENERATOR_VERSION: recorded hashes of test files depend on it."""
    text = "\n".join(corrupt(text, seed=1, epoch=epoch)[0] for text in SENTENCES for epoch in range(100))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "df32713c9b3b9eea"


@pytest.mark.parametrize("text", ["", "A", "A b c d.", "1 2 3 4 5 6 7 8 9 10 11 12", '(x) [y] "z" - - -'])
def test_sentences_with_nothing_to_damage(text: str) -> None:
    for epoch in range(50):
        bad, errors = corrupt(text, seed=0, epoch=epoch)
        assert (bad == text) == (not errors)


def test_pair_record() -> None:
    pair = corrupt_pair(SENTENCES[0], seed=1, epoch=2)
    assert (pair.prompt, list(pair.errors)) == corrupt(SENTENCES[0], seed=1, epoch=2)
    bare = pair.record({"doc": "d"}, errors=False)
    assert bare == {"prompt": pair.prompt, "answer": SENTENCES[0], "task": "repair", "doc": "d"}
    full = pair.record({}, errors=True)
    assert full["errors"][0]["type"] == pair.errors[0].type
