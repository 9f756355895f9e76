"""Plain calculations: true equations, what is told is what is solved, splits apart."""

from __future__ import annotations

import random
import re

import pytest

from dlmrt.datasets.words.family import EQUATION, equations_hold
from dlmrt.datasets.words.sums import FAMILY, STEPS, WORDS


def items(split: str, count: int = 300) -> list[dict[str, object]]:
    found = (FAMILY.sample(random.Random(f"{split}{i}"), split) for i in range(100 * count))
    kept = []
    for each in found:
        kept += [] if each is None else [each]
        if len(kept) == count:
            break
    return kept


@pytest.mark.parametrize("split", FAMILY.splits)
def test_equations_are_true_and_chained_to_the_answer(split: str) -> None:
    for each in items(split):
        solution, _, answer = str(each["answer"]).partition("\n#### ")
        equations = EQUATION.findall(solution)
        assert equations_hold(solution) and STEPS[0] <= len(equations) <= STEPS[1]
        assert [e[-1] for e in equations[:-1]] == [e[0] for e in equations[1:]]
        assert equations[-1][-1] == answer


def test_what_is_told_in_signs_has_the_value_of_the_answer() -> None:
    told = 0
    for each in items("train"):
        found = re.search(r"[(\d][\d+*/() -]*", str(each["prompt"]))
        if str(each["prompt"]).startswith("Start"):
            continue
        assert found is not None
        value = eval(found[0].replace("/", "//"))  # digits, signs and brackets only, by the pattern
        assert value == int(str(each["answer"]).rpartition(" ")[2]), each
        told += 1
    assert told > 100


def test_what_is_told_in_words_has_the_value_of_the_answer() -> None:
    told = 0
    for each in items("train"):
        start = re.match(r"Start with (\d+), (.*)\.$", str(each["prompt"]))
        if start is None:
            continue
        value = int(start[1])
        for part in start[2].split(", "):
            number = int(re.findall(r"\d+", part)[0])
            sign = next(s for s, ways in WORDS.items() if any(way.format(number) == part for way in ways))
            changed = {"+": value + number, "-": value - number, "*": value * number, "/": value // number}
            value = changed[sign]
        assert value == int(str(each["answer"]).rpartition(" ")[2]), each
        told += 1
    assert told > 50


def test_no_calculation_is_in_two_splits() -> None:
    solutions = [{str(each["answer"]) for each in items(split)} for split in FAMILY.splits]
    assert not (solutions[0] & solutions[1] or solutions[0] & solutions[2] or solutions[1] & solutions[2])
