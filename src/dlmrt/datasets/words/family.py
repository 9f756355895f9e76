"""The family of word problems: one problem with its worked solution from a random generator.

Three kinds: what somebody has after a chain of events; two people, one given by a relation to the other; and
a chain told forwards whose start is asked for. Facts of no use stand between the others, and with two people
their events are told mixed while the solution takes one after the other.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dlmrt.datasets.words import settings as hard
from dlmrt.datasets.words.operations import EQUATIONS, REVERSIBLE, Event, draw_event, draw_number
from dlmrt.datasets.words.vocabulary import PEOPLE, THINGS, Person
from dlmrt.datasets.words.wording import HELD_OUT_SPLITS, Teller, later

EQUATION = re.compile(r"(\d+)([-+*/])(\d+)(?:/(\d+))?=(\d+)")
_DRAWS = 12  # tries to find a next event


@dataclass(frozen=True)
class _Draft:
    """A problem: what is told, asked and solved, and the answer by exact arithmetic of its own."""

    facts: list[str]
    question: str
    lines: list[str]
    answer: int
    checked: Fraction


class WordProblems:
    """Word problems of 2 to 8 equations, and harder ones of 9 or 10."""

    name = "words"
    version = 2
    prefix = "solve: "
    split_rule = (
        "by phrasing: those marked as held out, three for every fact and one for every question, occur "
        "in test and harder only, and every problem there has one of them; "
        f"harder has {hard.HARDER_STEPS[0]} or {hard.HARDER_STEPS[1]} equations, the rest "
        f"{hard.STEPS[0]} to {hard.STEPS[1]}"
    )
    splits = ("train", "dev", "test", "harder")

    def sample(self, rng: random.Random, split: str) -> dict[str, Any] | None:
        """Draw one problem; None where the draw leads nowhere."""
        steps = rng.randint(*(hard.HARDER_STEPS if split == "harder" else hard.STEPS))
        mode = rng.choices([name for name, _ in hard.MODES], [share for _, share in hard.MODES])[0]
        things, pack = rng.choice(THINGS)
        teller = Teller(rng, split, things, pack, pronouns=mode != "pair")
        person, other = rng.sample(PEOPLE, 2)
        draft = _DRAFTS[mode](rng, teller, person, other, steps)
        if draft is None or draft.checked != draft.answer or not 1 <= draft.answer <= 99_999:
            return None
        facts = draft.facts
        for _ in range(rng.choices(range(len(hard.DISTRACTORS)), hard.DISTRACTORS)[0]):
            facts.insert(rng.randint(1, len(facts)), teller.distractor(person))
        if split in HELD_OUT_SPLITS and not teller.held_out:
            return None
        solution = " ".join(draft.lines)
        assert equations_hold(solution), solution
        return {
            "prompt": " ".join([*facts, draft.question]),
            "answer": f"{solution}\n#### {draft.answer}",
            "verifier": "number",
            "level": len(EQUATION.findall(solution)),
            "kind": mode,
        }


def equations_hold(text: str) -> bool:
    """Whether all equations of a solution are true."""
    for a, sign, b, c, r in EQUATION.findall(text):
        x, y = Fraction(a), Fraction(b)
        left = x + y if sign == "+" else x - y if sign == "-" else x * y if sign == "*" else x / y
        if left / int(c or 1) != int(r):
            return False
    return True


def _chain(
    rng: random.Random, value: int, equations: int, allowed: tuple[str, ...] = tuple(EQUATIONS)
) -> list[Event] | None:
    """Events that take exactly so many equations."""
    events: list[Event] = []
    while equations:
        for _ in range(_DRAWS):
            event = draw_event(rng, value, equations, allowed)
            if event is not None and not (events and event.kind == events[-1].kind):
                break
        else:
            return None
        events.append(event)
        equations -= event.equations
        value = int(event.after(Fraction(value)))
    return events


def _solve(events: list[Event], value: int, name: str, teller: Teller) -> tuple[list[str], int]:
    lines: list[str] = []
    for event in events:
        more, value = event.solve(value, name, teller.pack, teller.things)
        lines += more
    return lines, value


def _exact(events: list[Event], value: Fraction) -> Fraction:
    for event in events:
        value = event.after(value)
    return value


def _single(rng: random.Random, teller: Teller, person: Person, other: Person, steps: int) -> _Draft | None:
    asks_value = steps > 2 and rng.random() < 0.35
    value = draw_number(rng, hard.START)
    events = _chain(rng, value, steps - asks_value)
    if events is None:
        return None
    facts = [teller.number("start", person, value), *(teller.event(person, event) for event in events)]
    lines, end = _solve(events, value, person.name, teller)
    lines.insert(0, f"{person.name} starts with {value} {teller.things}.")
    exact = _exact(events, Fraction(value))
    if not asks_value:
        return _Draft(facts, teller.question("count", person, None), lines, end, exact)
    price = rng.choice(hard.PRICES)
    lines.append(f"At {price} dollars each that is {end}*{price}={end * price} dollars.")
    question = teller.question("value", person, None, price)
    return _Draft(facts, question, lines, end * price, exact * price)


def _reverse(rng: random.Random, teller: Teller, person: Person, other: Person, steps: int) -> _Draft | None:
    value = draw_number(rng, hard.START)
    events = _chain(rng, value, steps, REVERSIBLE)
    if events is None:
        return None
    end = int(_exact(events, Fraction(value)))
    facts = [teller.unknown(person), *(teller.event(person, event) for event in events)]
    facts.append(teller.number("end", person, end))
    lines, back = [f"{person.name} ends with {end} {teller.things}."], end
    for event in reversed(events):
        more, back = event.undo(back, person.name, teller.pack, teller.things)
        lines += more
    return _Draft(facts, teller.question("start", person, None), lines, back, Fraction(value))


def _pair(rng: random.Random, teller: Teller, person: Person, other: Person, steps: int) -> _Draft | None:
    if steps < 3:
        return _single(rng, teller, person, other, steps)
    at_end = rng.random() < 0.3
    room = steps - 2  # the relation and the question take one each
    second = 0 if at_end else rng.randint(0, room - 1) if room > 1 else 0
    value = draw_number(rng, hard.START)
    first_events = _chain(rng, value, room - second)
    if first_events is None:
        return None
    lines, end = _solve(first_events, value, person.name, teller)
    exact_end = _exact(first_events, Fraction(value))
    base, exact_base = (end, exact_end) if at_end else (value, Fraction(value))
    kind, k, sign = _relation(rng, base)
    related = {"+": base + k, "-": base - k, "*": base * k}[sign]
    exact = {"more": exact_base + k, "fewer": exact_base - k, "multiple": exact_base * k}[kind]
    if not 1 <= related <= hard.MOST:
        return None
    second_events = _chain(rng, related, second)
    if second_events is None:
        return None
    facts = _told(rng, teller, (person, first_events), (other, second_events), value, (kind, k, at_end))
    lines.insert(0, f"{person.name} starts with {value} {teller.things}.")
    lines.append(f"{other.name} {'has' if at_end else 'starts with'} {base}{sign}{k}={related}.")
    more, other_end = _solve(second_events, related, other.name, teller)
    exact_other = _exact(second_events, exact)
    lines += more
    if rng.random() < 0.6 or other_end == end:
        lines.append(f"Together they have {end}+{other_end}={end + other_end}.")
        question = teller.question("together", person, other)
        return _Draft(facts, question, lines, end + other_end, exact_end + exact_other)
    (ahead, more_), (behind, less) = sorted(((person, end), (other, other_end)), key=lambda each: -each[1])
    lines.append(f"The difference is {more_}-{less}={more_ - less}.")
    question = teller.question("difference", ahead, behind)
    return _Draft(facts, question, lines, more_ - less, abs(exact_end - exact_other))


def _relation(rng: random.Random, base: int) -> tuple[str, int, str]:
    kind, sign = rng.choice((("more", "+"), ("fewer", "-"), ("multiple", "*")))
    return kind, rng.randint(2, 6) if kind == "multiple" else draw_number(rng, hard.CHANGE), sign


def _told(
    rng: random.Random,
    teller: Teller,
    first: tuple[Person, list[Event]],
    second: tuple[Person, list[Event]],
    value: int,
    relation: tuple[str, int, bool],
) -> list[str]:
    """The facts as told: starts in either order, then the events of both, mixed, each in its own order."""
    kind, k, at_end = relation
    start = teller.number("start", first[0], value)
    related = teller.relation(kind, first[0], second[0], k)
    queues = [[teller.event(person, event) for event in events] for person, events in (first, second)]
    mixed: list[str] = []
    while any(queues):
        queue = rng.choice([queue for queue in queues if queue])
        mixed.append(queue.pop(0))
    if at_end:
        return [start, *mixed, later(related, (first[0].name, second[0].name))]
    starts = [start, related]
    rng.shuffle(starts)
    return [*starts, *mixed]


_DRAFTS = {"single": _single, "pair": _pair, "reverse": _reverse}
FAMILY = WordProblems()
