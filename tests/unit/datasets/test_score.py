"""The verifier: what counts as repaired, what counts as harm, against outputs made to fool it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dlmrt.datasets.corrupt import corrupt
from dlmrt.datasets.repair import corrupt_pair
from dlmrt.datasets.score import align, judge, score_file, summarise, word_distance
from dlmrt.errors import DataError

SENTENCES = (
    "When the server starts, it reads the file that the user's home directory contains.",
    "An empty item at the end of a list is always ignored by Linux.",
    "To begin, press the key and hold it, then press the other key, and then let it go again.",
    "The the same words stand here the more the same words stand here, the harder it is to align the words.",
    "Note that a program (or a part of a program) may call the function again, or not at all.",
)


def pairs(epochs: int = 40) -> list[dict[str, Any]]:
    return [
        corrupt_pair(text, 5, epoch).record({}, errors=True) for text in SENTENCES for epoch in range(epochs)
    ]


def score(items: list[dict[str, Any]], outputs: list[str]) -> dict[str, Any]:
    return summarise(
        judge(item["answer"], item["prompt"], output, item["errors"])
        for item, output in zip(items, outputs, strict=True)
    )


def test_the_answer_scores_full_marks_and_no_harm() -> None:
    items = pairs()
    report = score(items, [item["answer"] for item in items])
    assert report["errors_gone"]["share"] == 1.0
    assert report["untouched_words_changed"]["hits"] == 0
    assert report["exact_match"]["share"] == report["clean_left_alone"]["share"] == 1.0
    assert report["word_error_rate_after"] == 0.0 < report["word_error_rate_before"]


def test_the_prompt_scores_nothing_and_no_harm() -> None:
    items = pairs(200)
    report = score(items, [item["prompt"] for item in items])
    assert report["errors_gone"]["hits"] == 0 < report["errors_gone"]["total"]
    assert report["untouched_words_changed"]["hits"] == 0 < report["untouched_words_changed"]["total"]
    assert report["exact_match_corrupted"]["hits"] == 0
    assert report["clean_left_alone"]["share"] == 1.0
    assert report["word_error_rate_after"] == report["word_error_rate_before"]


@pytest.mark.parametrize("output", ["", " \n ", "Zq."])
def test_an_output_without_the_words_repairs_nothing_and_changes_all(output: str) -> None:
    items = pairs()
    report = score(items, [output] * len(items))
    assert report["errors_gone"]["share"] == 0.0
    assert report["untouched_words_changed"]["share"] == 1.0
    assert report["exact_match"]["hits"] == 0


def test_each_error_alone_is_told_from_the_others() -> None:
    """Repairing exactly one of the errors is credited to that one, and to no other."""
    judged = 0
    for item in pairs():
        for repaired in range(len(item["errors"])):
            output = item["prompt"]
            start, end = item["errors"][repaired]["bad_span"]
            output = output[:start] + item["errors"][repaired]["clean"] + output[end:]
            result = judge(item["answer"], item["prompt"], output, item["errors"])
            assert [gone for _, gone in result.gone] == [i == repaired for i in range(len(item["errors"]))], (
                item
            )
            assert result.changed == 0
            judged += 1
    assert judged > 200


def typo(answer: str, word: int, kind: str = "typo.swap", end: int | None = None) -> list[dict[str, Any]]:
    return [{"type": kind, "words": [word, end or word + 1]}]


def test_another_wrong_spelling_is_not_gone() -> None:
    result = judge("We receive mail.", "We recieve mail.", "We receeve mail.", typo("", 1))
    assert result.gone == (("typo.swap", False),)
    assert result.changed == 0


def test_a_case_change_counts_as_change_and_as_error() -> None:
    result = judge("We read mail.", "We raed mail.", "we read mail.", typo("", 1))
    assert result.gone[0][1]
    assert (result.changed, result.untouched) == (1, 2)


def test_white_space_errors_are_seen() -> None:
    doubled = typo("", 0, "spacing.two", 2)
    assert not judge("We read mail.", "We  read mail.", "We  read mail.", doubled).gone[0][1]
    assert judge("We read mail.", "We  read mail.", "We read mail.", doubled).gone[0][1]
    joined = judge("We read mail.", "Weread mail.", "We mail.", doubled)
    assert not joined.gone[0][1]
    assert joined.changed == 0


def test_new_double_space_between_untouched_words_is_harm() -> None:
    result = judge("We read mail daily.", "We raed mail daily.", "We read mail  daily.", typo("", 1))
    assert result.changed == 1
    assert not result.exact


@pytest.mark.parametrize(
    ("output", "changed"),
    [
        ("We read all mail daily.", 0),  # beside the repaired word: the repair is not clean
        ("We read mail all daily.", 1),
        ("Yes We read mail daily.", 1),
        ("We read mail daily. Yes.", 1),
        ("We read mail.", 2),
        ("We read daily.", 1),
        ("We read mail daily. " * 2, 1),
        ("daily. mail read We", 2),
    ],
)
def test_inserted_and_lost_words_are_harm(output: str, changed: int) -> None:
    result = judge("We read mail daily.", "We raed mail daily.", output, typo("", 1))
    assert result.changed == changed
    assert not result.exact


def test_a_repair_with_a_word_put_beside_it_is_not_gone() -> None:
    assert not judge("We read mail.", "We raed mail.", "We read read mail.", typo("", 1)).gone[0][1]
    assert not judge("We read mail.", "We re ad mail.", "We read ad mail.", typo("", 1)).gone[0][1]


def test_a_word_elsewhere_does_not_repair_an_error() -> None:
    """The clean word is in the output, but not in its place."""
    result = judge(
        "You may read what you wrote.",
        "You may raed what you wrote.",
        "read You may what you wrote.",
        typo("", 2),
    )
    assert not result.gone[0][1]


def test_alignment_prefers_similar_words() -> None:
    assert align(["the", "server", "starts"], ["the", "fast", "servre", "starts"]) == [0, 2, 3]
    assert align(["a", "b"], []) == [None, None]
    assert align([], ["a"]) == []


def test_word_distance() -> None:
    assert word_distance("a b c".split(), "a c".split()) == 1
    assert word_distance("a b".split(), "b a".split()) == 2
    assert word_distance([], "a b".split()) == 2


def test_types_add_up_to_their_family() -> None:
    items = pairs()
    report = score(items, [item["answer"] for item in items])
    by_type = report["errors_gone_by_type"]
    families = [name for name in by_type if "." not in name]
    assert sum(by_type[name]["total"] for name in families) == report["errors_gone"]["total"]
    for family in families:
        members = [name for name in by_type if name.startswith(f"{family}.")]
        assert sum(by_type[name]["total"] for name in members) == by_type[family]["total"]


def test_no_items_have_no_shares() -> None:
    report = summarise([])
    assert report["errors_gone"] == {"hits": 0, "total": 0, "share": None, "interval_95": None}
    assert report["word_error_rate_after"] is None


@pytest.mark.parametrize("words", [[0], [0, 4], [2, 2], [-1, 1], "01", None])
def test_an_error_record_that_does_not_fit_is_refused(words: Any) -> None:
    with pytest.raises(DataError, match="3 words"):
        judge("We read mail.", "We raed mail.", "", [{"type": "typo.swap", "words": words}])


def test_score_file_names_the_bad_line(tmp_path: Path) -> None:
    text, errors = corrupt(SENTENCES[0], seed=1)
    good = {
        "prompt": text,
        "answer": SENTENCES[0],
        "output": SENTENCES[0],
        "errors": [vars(e) for e in errors],
    }
    path = tmp_path / "out.jsonl"
    path.write_text(json.dumps(good) + "\n\n" + json.dumps({**good, "output": None}) + "\n")
    with pytest.raises(DataError, match=r"out\.jsonl:3: 'output' is a NoneType"):
        score_file(path)
    path.write_text(json.dumps(good) + "\n")
    assert score_file(path)["exact_match"]["share"] == 1.0
