"""How answers are judged: one verifier for each kind of task, found by name.

=============  ===========================================================================================
exact          the answer, white space at both ends apart
contains       the answer stands somewhere in the text
regex          ``pattern`` is found in the text (Python syntax; ``^`` and ``$`` are the text's ends)
number         the number after the first ``####`` that has one, else the last number, equals the answer's
json           the text (a code fence apart) is JSON of the same value as the answer
repair         the clean sentence exactly; quality counts each recorded error (``datasets/score.py``)
python_tests   the code passes ``tests`` in a child process (``execution.py``)
=============  ===========================================================================================
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from dlmrt.datasets.score import Judgement, judge, summarise
from dlmrt.errors import DataError, nearest
from dlmrt.evals.code import COMPLETE_RULE, EXTRACT_RULE, complete, extract
from dlmrt.evals.execution import Limits, Program, run_all
from dlmrt.evals.item import Item, Verdict

Texts = Sequence[str]
DETAIL_CHARS = 80


def _no_quality(items: Sequence[Item], texts: Texts, verdicts: Sequence[Verdict] | None) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Verifier:
    """One way to judge.

    needs: the fields a record must have beside the prompt, with their types. check: what is wrong with
    an item, found before any decoding (None: nothing). verify: (items, texts, jobs) to verdicts.
    """

    needs: Mapping[str, type]
    verify: Callable[[Sequence[Item], Texts, int], list[Verdict]]
    check: Callable[[Item], str | None] = lambda item: None
    quality: Callable[[Sequence[Item], Texts, Sequence[Verdict] | None], dict[str, Any]] = _no_quality
    optional: Mapping[str, type | tuple[type, ...]] = field(default_factory=dict)


def find_verifier(name: object) -> Verifier:
    """The verifier of that name; raises DataError with the known ones."""
    found = VERIFIERS.get(name) if isinstance(name, str) else None
    if found is None:
        raise DataError(
            f"unknown verifier {name!r}{nearest(str(name), VERIFIERS)} (verifiers: {', '.join(VERIFIERS)})"
        )
    return found


def _one_by_one(verify: Callable[[Item, str], Verdict]) -> Callable[..., list[Verdict]]:
    def verify_all(items: Sequence[Item], texts: Texts, jobs: int) -> list[Verdict]:
        return [verify(item, text) for item, text in zip(items, texts, strict=True)]

    return verify_all


def _reference(item: Item) -> str:
    if item.answer is None:
        raise DataError(f"item '{item.id}' has no answer to compare with; add the field 'answer'")
    return item.answer


def _exact(item: Item, text: str) -> Verdict:
    return Verdict(text.strip() == _reference(item).strip())


def _contains(item: Item, text: str) -> Verdict:
    return Verdict(_reference(item) in text)


def _check_contains(item: Item) -> str | None:
    return None if item.answer else "'answer' is empty, which every text contains"


def _regex(item: Item, text: str) -> Verdict:
    found = re.search(item.meta["pattern"], text)
    return Verdict(found is not None, {"found": _short(found.group()) if found else None})


def _check_regex(item: Item) -> str | None:
    try:
        re.compile(item.meta["pattern"])
    except (re.error, RecursionError, OverflowError) as error:
        return f"'pattern' is no regular expression ({error})"
    return None


# A minus counts as a sign unless something that it could be subtracted from stands before it.
NUMBER = re.compile(
    r"(?P<minus>(?<![\w).])[-−])?\$?\s?(?P<digits>\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?P<rest>(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"|(?P<minus2>(?<![\w).])[-−])?(?<![\w.])(?P<small>\.\d+)"
)
_MARKED = re.compile(r"####\s*(?=[-−$.\d])")


def find_number(text: str) -> tuple[Decimal | None, str]:
    """The number that an answer ends with, and where it was found.

    ``marked``: the number right after the first ``####`` that is followed by one; ``last``: the last
    number of the text; ``none``. Thousands commas, a dollar sign and a trailing dot don't count.
    """
    for mark in _MARKED.finditer(text):
        found = NUMBER.match(text, mark.end())
        if found is not None:
            return _decimal(found), "marked"
    *_, last = (None, *NUMBER.finditer(text))
    return (None, "none") if last is None else (_decimal(last), "last")


def _decimal(found: re.Match[str]) -> Decimal | None:
    digits = found["small"] or found["digits"].replace(",", "") + found["rest"]
    try:
        value = Decimal(digits)
    except InvalidOperation:  # an exponent beyond all bounds
        return None
    return -value if found["minus"] or found["minus2"] else value


def _number(item: Item, text: str) -> Verdict:
    wanted, _ = find_number(_reference(item))
    value, where = find_number(text)
    correct = value is not None and value == wanted
    return Verdict(correct, {"found": None if value is None else _short(str(value)), "where": where})


def _check_number(item: Item) -> str | None:
    return None if find_number(item.answer or "")[0] is not None else "'answer' holds no number"


def _json(item: Item, text: str) -> Verdict:
    found = re.search(r"```(?:json)?\s*\n(.*?)\n\s*```", text, re.DOTALL)
    try:
        value = _parse_json(found.group(1) if found else text)
        return Verdict(_same(value, _parse_json(_reference(item))), {"valid": True})
    except (ValueError, RecursionError) as error:
        return Verdict(False, {"valid": False, "reason": _short(str(error))})


def _parse_json(text: str) -> Any:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def _same(a: Any, b: Any) -> bool:
    """Equal as JSON: 1 and 1.0 are, 1 and true are not; the order of keys doesn't count."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    numbers = isinstance(a, int | float) and isinstance(b, int | float)
    return (numbers or type(a) is type(b)) and bool(a == b)


def _check_json(item: Item) -> str | None:
    try:
        _parse_json(item.answer or "")
    except (ValueError, RecursionError) as error:
        return f"'answer' is not JSON ({error}); write the expected value as JSON text"
    return None


def _judge_repair(item: Item, text: str) -> Judgement:
    # A template around the sentence is not what was corrupted.
    prompt = item.meta.get("unwrapped_prompt", item.prompt)
    return judge(_reference(item), prompt, text, item.meta["errors"])


def _repair(item: Item, text: str) -> Verdict:
    found = _judge_repair(item, text)
    gone = sum(is_gone for _, is_gone in found.gone)
    return Verdict(
        found.exact,
        {"errors_gone": gone, "errors": len(found.gone), "untouched_words_changed": found.changed},
    )


def _check_repair(item: Item) -> str | None:
    try:
        _judge_repair(item, item.prompt)
    except (DataError, AttributeError, TypeError, KeyError) as error:
        return str(error) if isinstance(error, DataError) else "'errors' is not a list of error records"
    return None


def _repair_quality(
    items: Sequence[Item], texts: Texts, verdicts: Sequence[Verdict] | None
) -> dict[str, Any]:
    return summarise(_judge_repair(item, text) for item, text in zip(items, texts, strict=True))


def program_of(item: Item, text: str) -> Program:
    """The program that an answer makes: see :mod:`dlmrt.evals.code` for how it is cut out."""
    meta = item.meta
    prefix = meta.get("prefix")
    code = extract(text) if prefix is None else complete(prefix, meta["entry_point"], text)
    return Program(code, tuple(meta["tests"]), meta.get("setup", ""))


def _python_tests(items: Sequence[Item], texts: Texts, jobs: int) -> list[Verdict]:
    programs = [program_of(item, text) for item, text in zip(items, texts, strict=True)]
    limits = [Limits(seconds=item.meta.get("seconds", Limits.seconds)) for item in items]
    verdicts = []
    for item, outcome in zip(items, run_all(programs, limits, jobs=jobs), strict=True):
        rule = EXTRACT_RULE if item.meta.get("prefix") is None else COMPLETE_RULE
        detail = {"status": outcome.status, "reason": outcome.reason, "rule": rule}
        verdicts.append(Verdict(outcome.status == "passed", {**detail, "isolated": outcome.isolated}))
    return verdicts


def _check_python_tests(item: Item) -> str | None:
    tests = item.meta["tests"]
    if not tests or not all(isinstance(test, str) and test.strip() for test in tests):
        return "'tests' must be a list of at least one piece of Python code"
    prefix, name = item.meta.get("prefix"), item.meta.get("entry_point")
    if prefix is not None and (
        name is None or not re.search(rf"^(async )?def {re.escape(name)}\b", prefix, re.M)
    ):
        return "'prefix' needs 'entry_point', the name of a function that it defines"
    seconds = item.meta.get("seconds", 1)
    return None if 0 < seconds <= 3600 else f"'seconds' is {seconds}; it must be in (0, 3600]"


def _python_quality(
    items: Sequence[Item], texts: Texts, verdicts: Sequence[Verdict] | None
) -> dict[str, Any]:
    if verdicts is None:
        return {}
    details = [verdict.detail for verdict in verdicts if "status" in verdict.detail]
    return {
        "outcomes": dict(sorted(Counter(detail["status"] for detail in details).items())),
        "rules": sorted({detail["rule"] for detail in details}),
        "isolated": bool(details) and all(detail["isolated"] for detail in details),
    }


def _short(text: str) -> str:
    return text if len(text) <= DETAIL_CHARS else text[: DETAIL_CHARS - 3] + "..."


VERIFIERS: dict[str, Verifier] = {
    "exact": Verifier({"answer": str}, _one_by_one(_exact)),
    "contains": Verifier({"answer": str}, _one_by_one(_contains), _check_contains),
    "regex": Verifier({"pattern": str}, _one_by_one(_regex), _check_regex),
    "number": Verifier({"answer": str}, _one_by_one(_number), _check_number),
    "json": Verifier({"answer": str}, _one_by_one(_json), _check_json),
    "repair": Verifier(
        {"answer": str, "errors": list}, _one_by_one(_repair), _check_repair, _repair_quality
    ),
    "python_tests": Verifier(
        {"tests": list}, _python_tests, _check_python_tests, _python_quality,
        {"setup": str, "prefix": str, "entry_point": str, "seconds": (int, float)},
    ),
}  # fmt: skip
