"""Items of the Python family: what they hold, how the splits are kept apart, whether tests can fail."""

from __future__ import annotations

import ast
import random
from typing import Any

import pytest

from dlmrt.datasets.pythonic import levels
from dlmrt.datasets.pythonic.checks import load
from dlmrt.datasets.pythonic.family import FAMILY
from dlmrt.errors import DataError
from dlmrt.evals.item import Item
from dlmrt.evals.verifiers import find_verifier


def items(split: str, count: int, seed: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number in range(100_000):
        item = FAMILY.sample(random.Random(f"{seed}/{number}"), split)
        if item is not None:
            found.append(item)
        if len(found) == count:
            return found
    raise AssertionError("too few items")


def passes(tests: list[str], code: str) -> bool:
    space: dict[str, Any] = {}
    try:
        exec(code + "\n" + "\n".join(tests), space)
    except Exception:
        return False
    return True


@pytest.fixture(scope="module")
def test_items() -> list[dict[str, Any]]:
    return items("test", 40)


def test_an_item_is_a_description_a_signature_and_the_whole_function(
    test_items: list[dict[str, Any]],
) -> None:
    for item in [*items("train", 200), *test_items]:
        description, signature = item["prompt"].split("\n")
        code = item["answer"]
        assert code.startswith(signature + "\n")
        assert signature.startswith(f"def {item['entry_point']}(")
        assert levels.MIN_CHARS - 1 <= len(code) < levels.MAX_CHARS
        assert description.endswith(".")
        assert not set("{}") & set(description)
        (function,) = ast.parse(code).body
        assert isinstance(function, ast.FunctionDef)
        assert not code.endswith("\n")


def test_the_same_random_numbers_give_the_same_item() -> None:
    first, again = items("dev", 5), items("dev", 5)
    assert first == again
    assert items("dev", 5, seed=1) != first


def test_train_items_carry_no_tests_and_others_do(test_items: list[dict[str, Any]]) -> None:
    assert all(item["tests"] == [] for item in items("train", 50))
    for item in [*test_items, *items("dev", 10)]:
        assert levels.MIN_TESTS <= len(item["tests"]) <= levels.MAX_TESTS


def test_an_unknown_split_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(DataError, match="'valid'.*train, dev, test"):
        FAMILY.sample(random.Random(0), "valid")


def test_references_pass_and_the_wrong_answers_fail_under_the_verifier() -> None:
    found = items("test", 12, seed=2)
    records = [
        Item(
            str(n),
            item["prompt"],
            item["answer"],
            {"tests": item["tests"], "entry_point": item["entry_point"]},
        )
        for n, item in enumerate(found)
    ]
    verifier = find_verifier("python_tests")
    assert all(verifier.check(record) is None for record in records)
    answers = [item["answer"] for item in found]
    assert all(verdict.correct for verdict in verifier.verify(records, answers, 2))
    shifted = [*answers[1:], answers[0]]
    assert not any(verdict.correct for verdict in verifier.verify(records, shifted, 2))


def test_returning_the_input_or_a_constant_passes_no_item(test_items: list[dict[str, Any]]) -> None:
    for item in test_items:
        signature = item["answer"].split("\n", 1)[0]
        argument = signature[signature.index("(") + 1 :].split(",")[0].rstrip("):")
        assert passes(item["tests"], item["answer"])
        results = {test.rsplit(" == ", 1)[1] for test in item["tests"]}
        for wrong in (argument, *results, "None"):
            assert not passes(item["tests"], f"{signature}\n    return {wrong}")


def test_leaving_a_condition_out_fails(test_items: list[dict[str, Any]]) -> None:
    tried = 0
    for item in test_items:
        lines = item["answer"].split("\n")
        for i, line in enumerate(lines):
            # Those of the stages stand deepest among `if`s of the program's own making: try them all.
            if line.lstrip().startswith("if ") and " not in result:" not in line:
                open_if = [*lines[:i], line[: line.index("if ")] + "if True:", *lines[i + 1 :]]
                tried += 1
                item.setdefault("survived", []).append(passes(item["tests"], "\n".join(open_if)))
    survived = sum(sum(item.get("survived", [])) for item in test_items)
    assert tried > 30
    assert survived <= 0.12 * tried  # conditions inside a collector may make no difference


def test_functions_do_not_change_their_arguments(test_items: list[dict[str, Any]]) -> None:
    for item in test_items:
        function = load(item["answer"] + "\n", item["entry_point"])
        for test in item["tests"]:
            call = ast.parse(test).body[0].test.left  # type: ignore[attr-defined]
            given = [ast.literal_eval(argument) for argument in call.args]
            before = repr(given)
            function(*given)
            assert repr(given) == before
