"""GSM8K's training problems with other numbers, from the calculations that its solutions carry.

A solution of openai/grade-school-math holds ``<<48/2=24>>`` for each calculation. Where every number of
the question stands for one thing, new numbers can be drawn, the calculations done again, and both texts
rewritten. Only whole numbers are used. Problems in which two things have the same number are left out:
nobody knows which of them a third mention means.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dlmrt.datasets.output import Progress, open_target, sha256_of, write_manifest, writing
from dlmrt.datasets.prefix import check_bare_share, with_prefix
from dlmrt.datasets.records import iterate_records
from dlmrt.datasets.words.family import FAMILY
from dlmrt.errors import ConfigError, DataError

VERSION = 2
TRIES = 60  # draws of numbers for one copy
SPREAD = (0.5, 1.8)  # of a number, around the old one
MOST = 99_999
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w%]|\.\d)")
_CHAIN = re.compile(r"<<([^<>=]+)=([^<>]+)>>")
_EXPRESSION = re.compile(r"[\d+\-*/() ]+")
# Words that also mean a number: a problem with one of them doesn't say whether a calculation means the word.
_WORDS = {
    2: "two twice half double pair both couple second other",
    3: "three thrice triple third",
    4: "four quarter fourth",
    5: "five fifth nickel",
    6: "six sixth",
    7: "seven week weeks weekly",
    8: "eight eighth",
    9: "nine",
    10: "ten dime tenth",
    12: "twelve dozen dozens year yearly inch inches foot feet",
    24: "day days daily",
    25: "quarter quarters",
    30: "month months",
    52: "week weeks weekly year years yearly",
    60: "hour hours minute minutes",
    100: "percent dollar cents",
    365: "day days daily year years",
}
_TOKEN = re.compile(r"\d+|[-+*/()]")


@dataclass(frozen=True)
class Renumberable:
    """A problem whose numbers can be changed. given: numbers of the question that calculations use."""

    question: str
    solution: str  # with its <<...>> marks
    final: int
    chain: tuple[tuple[str, int], ...]
    given: tuple[int, ...]


@dataclass(frozen=True)
class RenumberBuild:
    """What to build: ``copies`` of each problem of ``source``, each with numbers of its own."""

    source: Path
    out: Path
    copies: int = 5
    seed: int = 0
    bare_share: float = 0.1
    force: bool = False

    def __post_init__(self) -> None:
        if self.copies < 1:
            raise ConfigError(f"copies is {self.copies}; it must be at least 1")
        check_bare_share(self.bare_share)


def read_problem(question: str, answer: str) -> Renumberable | None:
    """Understand a problem; None where its numbers can't be told apart or calculated again."""
    solution, mark, last = answer.rpartition("####")
    final = _whole(last)
    chain = [(expression.replace(",", ""), _whole(value)) for expression, value in _CHAIN.findall(solution)]
    if not mark or final is None or not chain:
        return None
    counts = Counter(number.replace(",", "") for number in _NUMBER.findall(question))
    found: list[int] = []
    given: dict[int, None] = {}
    for expression, value in chain:
        if value is None or not _EXPRESSION.fullmatch(expression) or calculate(expression) != value:
            return None
        for number in map(int, re.findall(r"\d+", expression)):
            asked = counts[str(number)]
            if asked and (number in found or asked > 1):
                return None
            if asked:
                given[number] = None
        if value in found or counts[str(value)]:
            return None  # two things of one number
        found.append(value)
    if chain[-1][1] != final or not given or any(_also_a_word(number, question) for number in given):
        return None
    return Renumberable(
        question, solution, final, tuple((e, v) for e, v in chain if v is not None), tuple(given)
    )


def renumber(problem: Renumberable, rng: random.Random) -> tuple[str, str] | None:
    """A question and a solution with other numbers; None where no draw gives whole, positive results."""
    for _ in range(TRIES):
        new = {old: _draw(old, rng) for old in problem.given}
        if len(set(new.values())) < len(new):
            continue
        for expression, old in problem.chain:
            result = calculate(_replaced(expression, new))
            if result is None or result.denominator != 1 or not 1 <= result <= MOST:
                break
            new[old] = int(result)
        else:
            return _write(problem, new)
    return None


def _replaced(expression: str, new: dict[int, int]) -> str:
    return re.sub(r"\d+", lambda match: str(new.get(int(match[0]), int(match[0]))), expression)


def calculate(expression: str) -> Fraction | None:
    """The value of a calculation with + - * / and parentheses; None where it is none."""
    tokens = _TOKEN.findall(expression)
    try:
        value, rest = _sum(tokens)
    except (IndexError, ValueError, ZeroDivisionError):
        return None
    return None if rest else value


def _sum(tokens: list[str]) -> tuple[Fraction, list[str]]:
    value, tokens = _product(tokens)
    while tokens and tokens[0] in "+-":
        other, rest = _product(tokens[1:])
        value = value + other if tokens[0] == "+" else value - other
        tokens = rest
    return value, tokens


def _product(tokens: list[str]) -> tuple[Fraction, list[str]]:
    value, tokens = _atom(tokens)
    while tokens and tokens[0] in "*/":
        other, rest = _atom(tokens[1:])
        value = value * other if tokens[0] == "*" else value / other
        tokens = rest
    return value, tokens


def _atom(tokens: list[str]) -> tuple[Fraction, list[str]]:
    if tokens[0] == "(":
        value, rest = _sum(tokens[1:])
        if rest[0] != ")":
            raise ValueError("an open parenthesis")
        return value, rest[1:]
    return Fraction(int(tokens[0])), tokens[1:]


def _draw(old: int, rng: random.Random) -> int:
    least = max(1, int(old * SPREAD[0]))
    return rng.randint(least, max(least + 1, int(old * SPREAD[1])))


def _write(problem: Renumberable, new: dict[int, int]) -> tuple[str, str]:
    def other(match: re.Match[str]) -> str:
        text = match[0].replace(",", "")
        if not text.isdigit() or int(text) not in new:
            return match[0]
        value = new[int(text)]
        return f"{value:,}" if "," in match[0] else str(value)

    question = _NUMBER.sub(other, problem.question)
    plain = _CHAIN.sub("", problem.solution)
    solution = re.sub(r"(?<=\d) *([-+*/=]) *(?=\$?\d)", r"\1", _NUMBER.sub(other, plain))
    return question, f"{' '.join(solution.split())}\n#### {new[problem.final]}"


def _also_a_word(number: int, question: str) -> bool:
    return not set(_WORDS.get(number, "").split()).isdisjoint(re.findall(r"[a-z]+", question.lower()))


def _whole(text: str) -> int | None:
    text = text.strip().replace(",", "").removeprefix("$")
    return int(text) if text.isdigit() else None


def build_renumbered(
    plan: RenumberBuild, progress: Progress = lambda stage, done, total: None
) -> dict[str, Any]:
    """Write ``train.jsonl`` and its manifest; returns the manifest.

    Raises DataError: a file that is no such JSONL, a folder that may not be written, or no problem that can
    be renumbered.
    """
    target = open_target(plan.out, force=plan.force)
    records = list(iterate_records(plan.source, {"question": str, "answer": str}))
    problems = [read_problem(record["question"], record["answer"]) for record in records]
    usable = [(i, problem) for i, problem in enumerate(problems) if problem is not None]
    if not usable:
        raise DataError(
            f"no problem of '{plan.source}' can be renumbered; give train.jsonl of grade-school-math"
        )
    with writing(target) as aside:
        path, written = aside / "train.jsonl", 0
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            for line in _lines(plan, usable, progress):
                stream.write(line + "\n")
                written += 1
        manifest = {
            "format": "dlmrt.data/1",
            "family": "gsm8k",
            "generator_version": VERSION,
            "seed": plan.seed,
            "options": {"copies": plan.copies, "bare_share": plan.bare_share},
            "source": {"file": plan.source.name, "sha256": sha256_of(plan.source), "problems": len(records)},
            "renumbered": len(usable),
            "files": {"train.jsonl": {"sha256": sha256_of(path), "items": written}},
        }
        write_manifest(aside, manifest)
    return manifest


def _lines(plan: RenumberBuild, usable: list[tuple[int, Renumberable]], progress: Progress) -> Iterator[str]:
    seen: set[str] = set()
    for done, (index, problem) in enumerate(usable, 1):
        for copy in range(plan.copies):
            rng = random.Random(f"{plan.seed}:gsm8k:{index}:{copy}")
            pair = renumber(problem, rng)
            if pair is None or pair[0] in seen:
                continue
            seen.add(pair[0])
            prompt = with_prefix(pair[0], FAMILY.prefix, plan.bare_share, plan.seed, index, copy)
            item = {"id": f"gsm8k/{index}/{copy}", "prompt": prompt, "answer": pair[1]}
            yield json.dumps({**item, "task": "gsm8k", "verifier": "number"})
        progress("problems", done, len(usable))
