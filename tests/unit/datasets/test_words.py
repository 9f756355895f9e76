"""Word problems: true equations, checked answers, phrasings that training never sees."""

from __future__ import annotations

import random
import re
from fractions import Fraction

import pytest

from dlmrt.datasets.words import settings as hard
from dlmrt.datasets.words.family import EQUATION, FAMILY, equations_hold
from dlmrt.datasets.words.operations import EQUATIONS, REVERSIBLE, Event, draw_event
from dlmrt.datasets.words.phrases import PHRASES, QUESTIONS
from dlmrt.datasets.words.vocabulary import NUMBER_WORDS, THINGS

ALL = (*PHRASES.values(), *QUESTIONS.values())


def problems(split: str, count: int = 300) -> list[dict[str, object]]:
    found = (FAMILY.sample(random.Random(f"{split}{i}"), split) for i in range(4 * count))
    return [each for each in found if each is not None][:count]


@pytest.mark.parametrize("split", FAMILY.splits)
def test_equations_are_true_and_end_in_the_answer(split: str) -> None:
    least, most = hard.HARDER_STEPS if split == "harder" else hard.STEPS
    levels = set()
    for each in problems(split):
        solution, _, answer = str(each["answer"]).partition("\n#### ")
        equations = EQUATION.findall(solution)
        assert equations_hold(solution) and least <= len(equations) <= most
        assert equations[-1][-1] == answer
        levels.add(len(equations))
    assert levels == set(range(least, most + 1))


def test_an_untrue_equation_is_noticed() -> None:
    assert equations_hold("so 12*3=36 and 200*15/100=30")
    assert not equations_hold("so 12*3=35")
    assert not equations_hold("and 200*15/100=31")


def test_solutions_use_only_numbers_that_were_told_or_found() -> None:
    for each in problems("train", 200):
        words = re.findall(r"[a-z]+", str(each["prompt"]).lower())
        told = {str(NUMBER_WORDS.index(word)) for word in words if word in NUMBER_WORDS}
        told |= set(re.findall(r"\d+", str(each["prompt"]))) | {"1", "2", "3", "4", "5", "6", "8", "10", "20"}
        for a, _, b, _, r in EQUATION.findall(str(each["answer"])):
            assert {a, b} <= told, (each["prompt"], each["answer"])
            told.add(r)


def test_held_out_phrasings_are_in_every_test_problem_and_in_no_training_problem() -> None:
    held = [re.compile(_pattern(text)) for each in ALL for line in each.held for text in line]
    seen = [sum(bool(p.search(str(each["prompt"]))) for p in held) for each in problems("test", 200)]
    assert min(seen) >= 1
    assert not any(p.search(str(each["prompt"])) for p in held for each in problems("train", 400))


def _pattern(phrase: str) -> str:
    number = f"(?:\\d+|{'|'.join(NUMBER_WORDS)})"
    things = f"(?:{'|'.join(name for name, _ in THINGS)})"
    parts = re.split(r"(\{\w+\})", phrase.rstrip(".?"))
    slots = (
        number if part[1:-1] in "knm" else things if part == "{t}" else "[\\w' ]+?" for part in parts[1::2]
    )
    texts = map(re.escape, parts[::2])
    inner = "".join(text + slot for text, slot in zip(texts, (*slots, ""), strict=True))
    return rf"(?i)(?:^|[.?:,] ){inner}[.?]"


def test_there_are_enough_phrasings() -> None:
    for name in (*EQUATIONS, "start", "end", "more", "fewer", "multiple"):
        assert len(PHRASES[name].known) >= 12 and len(PHRASES[name].held) == 3
    assert all(len(each.known) >= 6 and len(each.held) == 1 for each in QUESTIONS.values())


def test_no_phrasing_is_known_and_held_out() -> None:
    for each in ALL:
        known = {text for line in each.known for text in line}
        assert not known & {text for line in each.held for text in line}


@pytest.mark.parametrize("kind", EQUATIONS)
def test_solving_an_event_agrees_with_its_meaning_and_undoing_it(kind: str) -> None:
    rng = random.Random(kind)
    done = 0
    for _ in range(400):
        value = 20 * rng.randint(1, 60)
        event = draw_event(rng, value, 3, (kind,))
        if event is None:
            continue
        lines, after = event.solve(value, "Ava", "boxes", "pens")
        assert equations_hold(" ".join(lines)) and Fraction(after) == event.after(Fraction(value))
        assert len(EQUATION.findall(" ".join(lines))) == event.equations
        if kind in REVERSIBLE:
            back, before = event.undo(after, "Ava", "boxes", "pens")
            assert before == value and equations_hold(" ".join(back))
        done += 1
    assert done > 50


def test_a_fraction_of_several_parts_takes_three_equations() -> None:
    assert Event("fraction", fraction=(1, 4)).equations == 2
    assert Event("fraction", fraction=(3, 4)).equations == 3


@pytest.mark.parametrize(("percent", "equations"), [(25, 2), (5, 2), (15, 3), (80, 3)])
def test_a_percentage_is_taken_as_a_fraction(percent: int, equations: int) -> None:
    event = Event("percent_up", k=percent)
    lines, after = event.solve(400, "Ava", "boxes", "pens")
    assert event.equations == equations and after == 400 + 4 * percent
    assert "*100" not in " ".join(lines) and equations_hold(" ".join(lines))
