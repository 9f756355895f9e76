"""Problems with other numbers: both texts agree, and what can't be told apart is left out."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import pytest

from dlmrt.datasets.words.family import EQUATION, equations_hold
from dlmrt.datasets.words.renumber import RenumberBuild, build_renumbered, calculate, read_problem, renumber
from dlmrt.errors import ConfigError, DataError

QUESTION = "A baker has 1,250 rolls and sells 300 of them. The rest go into 5 baskets. How many are in each?"
ANSWER = "She has 1,250 - 300 = <<1250-300=950>>950 left.\nEach holds 950/5 = <<950/5=190>>190.\n#### 190"


def test_question_and_solution_get_the_same_new_numbers() -> None:
    problem = read_problem(QUESTION, ANSWER)
    assert problem is not None and problem.given == (1250, 300, 5)
    made = [renumber(problem, random.Random(seed)) for seed in range(40)]
    pairs = [pair for pair in made if pair is not None]
    assert len({question for question, _ in pairs}) > 10
    for question, solution in pairs:
        numbers = [
            int(word.replace(",", "")) for word in question.replace(".", " ").split() if word[0].isdigit()
        ]
        rolls, sold, baskets = numbers
        worked, _, final = solution.partition("\n#### ")
        assert int(final) * baskets == rolls - sold
        assert equations_hold(worked.replace(",", "")) and len(EQUATION.findall(worked.replace(",", ""))) == 2
        assert "<<" not in solution


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("He has 5 pens and 5 cups. How many?", "<<5+5=10>>10\n#### 10"),  # two things of one number
        ("He has 5 pens and 7 cups.", "<<5+7=13>>13\n#### 13"),  # does not calculate
        ("He has 5 pens and 7 cups.", "<<5+7=12>>12\n#### 11"),  # another answer
        ("He has 5 pens and 7 cups.", "It is 12.\n#### 12"),  # no calculation
        ("He has 5 pens and 7 cups.", "<<5+7=12>>12"),  # no answer
        ("He has 9 pens, 2 cups and twice as many mugs.", "<<2*2=4>>4 <<9+4=13>>13\n#### 13"),  # a word
        (
            "He has 12 pens and 3 cups.",
            "<<12/3=4>>4 <<4*3=12>>12\n#### 12",
        ),  # a result that is a given number
        ("He has 5.5 pens and 2 cups.", "<<5.5*2=11>>11\n#### 11"),  # no whole numbers
        ("Nothing is counted.", "<<5+7=12>>12\n#### 12"),  # nothing to change
    ],
)
def test_what_cannot_be_renumbered_safely_is_left_out(question: str, answer: str) -> None:
    assert read_problem(question, answer) is None


def test_calculations() -> None:
    assert calculate("2+3*4-(6-4)/2") == 13
    assert calculate("7/2") == Fraction(7, 2)
    assert [calculate(text) for text in ("7/0", "(2+3", "2+", "2)")] == [None] * 4


def test_a_set_is_written_with_its_manifest(tmp_path: Path) -> None:
    source = tmp_path / "train.jsonl"
    source.write_text(json.dumps({"question": QUESTION, "answer": ANSWER}) + "\n")
    manifests = [build_renumbered(RenumberBuild(source, tmp_path / name, copies=6, seed=2)) for name in "ab"]
    assert manifests[0] == manifests[1] and manifests[0]["renumbered"] == 1
    records = [json.loads(line) for line in (tmp_path / "a" / "train.jsonl").read_text().splitlines()]
    assert 3 <= len(records) == manifests[0]["files"]["train.jsonl"]["items"] <= 6
    assert len({record["prompt"] for record in records}) == len(records)
    source.write_text(json.dumps({"question": "Why?", "answer": "So."}) + "\n")
    with pytest.raises(DataError, match="no problem of"):
        build_renumbered(RenumberBuild(source, tmp_path / "c"))
    with pytest.raises(ConfigError, match="copies is 0"):
        RenumberBuild(source, tmp_path / "c", copies=0)
