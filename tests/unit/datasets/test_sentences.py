"""Sentences: where they end, which are clean prose, which are the same."""

from __future__ import annotations

import pytest

from dlmrt.datasets.sentences import balanced, key, known_words, ngrams, normalise, plausible, split_sentences


def test_normalise() -> None:
    text = "\u201cIt\u2019s\u201d \u00a0 a\u2013b\u2014c [12] here\u2026\u200b"
    assert normalise(text) == '"It\'s" a-b - c here...'


@pytest.mark.parametrize(
    ("paragraph", "parts"),
    [
        ("One ends. Two starts! Is it? Yes.", ["One ends.", "Two starts!", "Is it?", "Yes."]),
        (
            "Use a tool, e.g. Emacs, or i.e. Vim. Then go.",
            ["Use a tool, e.g. Emacs, or i.e. Vim.", "Then go."],
        ),
        ("See Fig. 3 and No. 5 there. Next.", ["See Fig. 3 and No. 5 there.", "Next."]),
        ("Written by D. E. Knuth in 1968. It is long.", ["Written by D. E. Knuth in 1968.", "It is long."]),
        (
            "Return the root of x. If there is none, fail.",
            ["Return the root of x.", "If there is none, fail."],
        ),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("It costs 3.50 in v1.2 today. Good.", ["It costs 3.50 in v1.2 today.", "Good."]),
        ("etc. is lower. and so on", ["etc. is lower. and so on"]),
        ("1. First item stays.", ["1. First item stays."]),
        ("", []),
    ],
)
def test_split(paragraph: str, parts: list[str]) -> None:
    assert split_sentences(paragraph) == parts


GOOD = (
    "The server reads its configuration file when it starts.",
    "An optional value (see below) can be given by the user.",
    "The default is 64 bytes, but it can be set to 32.",
    "If this happens, try to restart the computer:",
    'It prints "done" when all of the files were read.',
    "The user's name isn't needed for this.",
    "The size of the file is what the length of the array refers to.",
    "And then call the insert() method, as git-rev-list(1) says.",
)


@pytest.mark.parametrize("sentence", GOOD)
def test_clean_prose_is_kept(sentence: str) -> None:
    assert plausible(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "the sentence starts in lower case and ends well.",
        "The sentence has no end mark at all",
        "Too short, it is.",
        "The " + "very long " * 30 + "one.",
        "See https://example.org for the details of this.",
        "Use the foo->bar and the {x} of the table for it.",
        "The caf\u00e9 is not in plain characters of the set.",
        "The value of  , is missing in the text here .",
        "This is the the same word twice in a row.",
        "The parenthesis (is not closed in the sentence.",
        'The "quote is not closed in the whole sentence.',
        "The is missing a word that was an image.",
        "A word is missing here at the end of the.",
        "Returns Integer Value Object Class Name Here.",
        "Das ist ein Satz aus einer anderen Sprache.",
        "Foo_bar x1y2 a_b c_d for the z9_x.y of.it now.",
        "The sentence,without a space after its comma.",
        "Copyright is held by the authors of the book.",
    ],
)
def test_what_is_not_clean_prose_is_dropped(sentence: str) -> None:
    assert not plausible(sentence)


def test_balanced() -> None:
    assert balanced("a (b) 'c' don't users' \"d\"")
    assert not balanced("a )b(")
    assert not balanced("a 'b")
    assert not balanced('a "b')


def test_known_words() -> None:
    lexicon = {"the", "well", "read", "file", "isn't"}
    assert known_words("The Emacs file 3 isn't well-read, the X.", lexicon)
    assert known_words("The Emacs's file.", lexicon)
    assert not known_words("The flie.", lexicon)
    assert not known_words("The well-raed file.", lexicon)


def test_key_and_ngrams_ignore_form() -> None:
    assert key("It's 12, or 13.5!") == key("it's 7; or 1.25") == "it s 0 or 0 0"
    assert ngrams("One, two; three four.", 3) == ["one two three", "two three four"]
    assert ngrams("One two.", 3) == []
