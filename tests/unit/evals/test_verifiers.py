"""Each verifier on answers that are right, nearly right and wrong."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from dlmrt.datasets.repair import corrupt_pair
from dlmrt.errors import DataError
from dlmrt.evals.item import Item, Verdict
from dlmrt.evals.verifiers import VERIFIERS, find_number, find_verifier, program_of


def verify(name: str, item: Item, text: str) -> Verdict:
    verdict = find_verifier(name).verify([item], [text], 1)[0]
    assert len(json.dumps(verdict.detail, allow_nan=False)) < 1000
    return verdict


def test_an_unknown_verifier_is_told_with_the_nearest() -> None:
    with pytest.raises(
        DataError, match=r"unknown verifier 'exakt'; did you mean 'exact'\? \(verifiers: exact"
    ):
        find_verifier("exakt")
    with pytest.raises(DataError, match="unknown verifier 3"):
        find_verifier(3)


@pytest.mark.parametrize(
    ("name", "answer", "text", "correct"),
    [
        ("exact", "Yes. ", "\n Yes.\n", True),
        ("exact", "Yes.", "yes.", False),
        ("exact", "Yes.", "", False),
        ("contains", "blue", "The sky is blue today.", True),
        ("contains", "blue", "The sky is Blue today.", False),
        ("json", '{"a": [1, 2.0], "b": null}', '{"b": null, "a": [1.0, 2]}', True),
        ("json", '{"a": 1}', 'Here:\n```json\n{"a": 1}\n```\nDone.', True),
        ("json", '{"a": 1}', '{"a": 1} and more', False),
        ("json", '{"a": 1}', '{"a": true}', False),
        ("json", '{"a": 1}', '{"a": "1"}', False),
        ("json", "[0]", "[false]", False),
        ("json", "[1, 2]", "[2, 1]", False),
        ("json", "[1, 2]", "[1]", False),
        ("json", "1", "NaN", False),
        ("json", "[]", "[" * 100_000, False),
    ],
)
def test_text_against_an_answer(name: str, answer: str, text: str, correct: bool) -> None:
    assert verify(name, Item("1", "p", answer), text).correct is correct


def test_a_pattern_is_searched() -> None:
    item = Item("1", "p", None, {"pattern": r"^\d+ km$"})
    assert verify("regex", item, "12 km") == Verdict(True, {"found": "12 km"})
    assert verify("regex", item, "about 12 km") == Verdict(False, {"found": None})
    assert "no regular expression" in str(VERIFIERS["regex"].check(Item("1", "p", None, {"pattern": "("})))


@pytest.mark.parametrize(
    ("text", "value", "where"),
    [
        ("She pays 3 and 4.\n#### 7", "7", "marked"),
        ("#### 18\nQuestion: what next? #### 5", "18", "marked"),
        ("End with '#### number'.\n#### $1,234.50.", "1234.50", "marked"),
        ("#### -3", "-3", "marked"),
        ("####12", "12", "marked"),
        ("#### none, but 3 apples and 4 pears", "4", "last"),
        ("First 3, then 1,000.", "1000", "last"),
        ("It costs $18.", "18", "last"),
        ("It is 20%", "20", "last"),
        ("from 3-5", "5", "last"),
        ("from 3 to -5", "-5", "last"),
        ("minus: \u22127", "-7", "last"),
        ("about .5", "0.5", "last"),
        ("2.50 dollars", "2.5", "last"),
        ("1e3 grams", "1000", "last"),
        ("4 + 1,2345", "2345", "last"),
        ("nothing", None, "none"),
        ("", None, "none"),
        ("1e" + "9" * 30, None, "last"),
    ],
)
def test_which_number_an_answer_ends_with(text: str, value: str | None, where: str) -> None:
    found, place = find_number(text)
    assert found == (None if value is None else Decimal(value))
    assert place == where


@pytest.mark.parametrize(
    ("answer", "text", "correct"),
    [
        ("18", "#### 18.00", True),
        ("Because 9*2=18\n#### 18", "18", True),
        ("18", "#### 81", False),
        ("18", "", False),
    ],
)
def test_numbers_are_compared_by_value(answer: str, text: str, correct: bool) -> None:
    assert verify("number", Item("1", "p", answer), text).correct is correct


def repair_item(seed: int = 1) -> Item:
    for epoch in range(9):
        pair = corrupt_pair(
            "The parser reads one line at a time and stops at the first blank one.", seed, epoch
        )
        if len(pair.errors) > 1:
            break
    return Item("1", pair.prompt, pair.answer, {"errors": pair.record({}, errors=True)["errors"]})


def test_repair_is_exact_and_counts_each_error() -> None:
    item = repair_item()
    errors = len(item.meta["errors"])
    right = verify("repair", item, str(item.answer) + "\n")
    assert right == Verdict(True, {"errors_gone": errors, "errors": errors, "untouched_words_changed": 0})
    copied = verify("repair", item, item.prompt)
    assert copied == Verdict(False, {"errors_gone": 0, "errors": errors, "untouched_words_changed": 0})
    quality = find_verifier("repair").quality([item, item], [str(item.answer), item.prompt], None)
    assert quality["errors_gone"]["hits"] == errors and quality["errors_gone"]["total"] == 2 * errors
    assert quality["exact_match"]["share"] == 0.5


def test_a_template_does_not_count_as_an_error_of_the_prompt() -> None:
    item = repair_item()
    wrapped = Item(
        "1", f"Mend this: {item.prompt}", item.answer, {**item.meta, "unwrapped_prompt": item.prompt}
    )
    one, two = (find_verifier("repair").quality([i], ["x"], None) for i in (item, wrapped))
    assert one == two


def test_repair_refuses_errors_that_do_not_fit() -> None:
    check = VERIFIERS["repair"].check
    assert check(repair_item()) is None
    assert "does not fit an answer" in str(
        check(Item("1", "p", "two words", {"errors": [{"type": "a", "words": [1, 9]}]}))
    )
    assert "does not fit an answer" in str(check(Item("1", "p", "two words", {"errors": ["typo"]})))


CODE = Item("1", "p", None, {"tests": ["assert f(1) == 2"], "setup": "one = 1"})


def test_code_is_run_against_its_tests() -> None:
    answer = "Sure:\n```python\ndef f(x):\n    return x + one\n```"
    right = verify("python_tests", CODE, answer)
    assert right.correct
    assert {key: right.detail[key] for key in ("status", "reason", "rule")} == {
        "status": "passed", "reason": "", "rule": "program",
    }  # fmt: skip
    wrong = verify("python_tests", CODE, answer.replace("x +", "x -"))
    assert not wrong.correct and wrong.detail["reason"] == "test 1 of 1: AssertionError"
    quality = find_verifier("python_tests").quality([CODE, CODE], ["", ""], [right, wrong])
    assert quality["outcomes"] == {"failed": 1, "passed": 1} and quality["rules"] == ["program"]
    assert find_verifier("python_tests").quality([CODE], [""], None) == {}


def test_code_that_continues_a_prefix() -> None:
    meta = {"tests": ["assert f(1) == 2"], "prefix": "def f(x):\n", "entry_point": "f", "seconds": 5}
    item = Item("1", "p", None, meta)
    assert verify("python_tests", item, "    return x + 1\nprint(").detail["rule"] == "function-body"
    assert verify("python_tests", item, "return x + 1").correct
    assert program_of(item, "return x").code == "def f(x):\n    return x\n"


@pytest.mark.parametrize(
    ("name", "item", "said"),
    [
        ("number", Item("1", "p", "seven"), "'answer' holds no number"),
        ("contains", Item("1", "p", ""), "'answer' is empty"),
        ("json", Item("1", "p", "{"), "'answer' is not JSON"),
        ("python_tests", Item("1", "p", None, {"tests": []}), "'tests' must be a list"),
        ("python_tests", Item("1", "p", None, {"tests": [3]}), "'tests' must be a list"),
        (
            "python_tests",
            Item("1", "p", None, {"tests": ["f()"], "prefix": "def g():"}),
            "'prefix' needs 'entry_point'",
        ),
        (
            "python_tests",
            Item("1", "p", None, {"tests": ["f()"], "prefix": "def g():", "entry_point": "f"}),
            "'prefix' needs 'entry_point'",
        ),
        ("python_tests", Item("1", "p", None, {"tests": ["f()"], "seconds": 0}), "'seconds' is 0"),
    ],
)
def test_items_that_can_not_be_judged_are_found_first(name: str, item: Item, said: str) -> None:
    assert said in str(VERIFIERS[name].check(item))
