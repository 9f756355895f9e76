"""Judge outputs of the text repair task, error by error, and count harm done to correct words.

Outputs are aligned with the clean sentence word by word (minimal edit cost, substitutions cheaper
between similar words). An error is *gone* when every clean word it touched stands in the output,
those words follow each other directly, and the white space between them is the clean one. A word
no error touched is *changed* when it is missing, altered, or follows another untouched word with
other white space or with inserted words between them.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlmrt.datasets.records import iterate_records
from dlmrt.errors import DataError
from dlmrt.stats.intervals import wilson


@dataclass(frozen=True)
class Share:
    """``hits`` of ``total`` with the 95 % Wilson interval; an empty total has share None."""

    hits: int
    total: int

    @property
    def share(self) -> float | None:
        """The proportion, or None without any item."""
        return self.hits / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson score interval at 95 %, both ends in [0, 1]."""
        return wilson(self.hits, self.total) if self.total else None

    def report(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {"hits": self.hits, "total": self.total, "share": self.share, "interval_95": self.interval}


@dataclass(frozen=True)
class Judgement:
    """One scored item. ``gone`` holds (error type, whether gone) in the order of the errors."""

    gone: tuple[tuple[str, bool], ...]
    untouched: int
    changed: int
    exact: bool
    answer_words: int
    distance_before: int
    distance_after: int


def judge(answer: str, prompt: str, output: str, errors: Sequence[Mapping[str, Any]]) -> Judgement:
    """Score one output against its clean sentence; ``errors`` as written by the builder.

    Leading and trailing white space of the output does not count. Raises DataError for an error
    whose word range does not fit the answer.
    """
    output = output.strip()
    clean, clean_gaps = _split(answer)
    given, given_gaps = _split(output)
    place = align(clean, given)
    kept = [at is not None and clean[i] == given[at] for i, at in enumerate(place)]

    def joined(i: int) -> bool:
        """Whether clean words i-1 and i follow each other in the output as they do in the answer."""
        left, right = place[i - 1], place[i]
        return left is not None and right == left + 1 and given_gaps[right] == clean_gaps[i]

    touched: set[int] = set()
    gone: list[tuple[str, bool]] = []
    for error in errors:
        first, end = _word_range(error, len(clean))
        touched.update(range(first, end))
        whole = all(kept[first:end]) and all(joined(i) for i in range(first + 1, end))
        gone.append((str(error["type"]), whole and _clear(first, end, clean, place, given)))
    changed = 0
    for i in range(len(clean)):
        if i in touched:
            continue
        bad = not kept[i] or (i > 0 and i - 1 not in touched and kept[i - 1] and not joined(i))
        bad = bad or (i == 0 and place[0] != 0) or (i == len(clean) - 1 and place[i] != len(given) - 1)
        changed += bad
    return Judgement(
        tuple(gone), len(clean) - len(touched), changed, output == answer, len(clean),
        word_distance(clean, _split(prompt)[0]), word_distance(clean, given),
    )  # fmt: skip


def _word_range(error: Mapping[str, Any], words: int) -> tuple[int, int]:
    """The half-open word range of an error record; raises DataError when there is none that fits."""
    match error:
        case {"type": str(), "words": [int(first), int(end)]} if 0 <= first < end <= words:
            return first, end
    raise DataError(
        f"error record {error!r} does not fit an answer of {words} words; it needs 'type' and 'words' "
        "[first, end], as `dlmrt data build` writes them"
    )


def _clear(
    first: int, end: int, clean: Sequence[str], place: Sequence[int | None], given: Sequence[str]
) -> bool:
    """No inserted words directly beside the repaired ones (half of a split word, a mark left alone)."""
    start, stop = place[first], place[end - 1]
    if start is None or stop is None:
        return False
    used = {at for at in place if at is not None}
    before_ok = start == 0 or start - 1 in used
    after_ok = stop == len(given) - 1 or stop + 1 in used
    return before_ok and after_ok


def _split(text: str) -> tuple[list[str], list[str]]:
    """Words, and the white space before each."""
    parts = re.findall(r"(\s*)(\S+)", text)
    return [word for _, word in parts], [gap for gap, _ in parts]


def align(clean: Sequence[str], given: Sequence[str]) -> list[int | None]:
    """For every clean word the index of its counterpart in ``given``, or None when it was dropped.

    Minimal total cost: insert or drop 1, replace 1 to 1.5 by dissimilarity, keep 0. Equal words at
    both ends are paired first, which never costs more. Of equal costs pairing (seen from the end)
    goes before inserting, inserting before dropping.
    """
    start, spare = 0, min(len(clean), len(given))
    while start < spare and clean[start] == given[start]:
        start += 1
    tail = 0
    while tail < spare - start and clean[-1 - tail] == given[-1 - tail]:
        tail += 1
    middle = _align(clean[start : len(clean) - tail], given[start : len(given) - tail])
    place: list[int | None] = list(range(start))
    place += [None if at is None else start + at for at in middle]
    return place + list(range(len(given) - tail, len(given)))


def _align(clean: Sequence[str], given: Sequence[str]) -> list[int | None]:
    rows, columns = len(clean), len(given)
    cost = [[float(i + j) if not (i and j) else 0.0 for j in range(columns + 1)] for i in range(rows + 1)]
    swap = [[_replace_cost(a, b) for b in given] for a in clean]
    for i in range(1, rows + 1):
        above, row = cost[i - 1], cost[i]
        for j in range(1, columns + 1):
            row[j] = min(above[j - 1] + swap[i - 1][j - 1], above[j] + 1, row[j - 1] + 1)
    place: list[int | None] = [None] * rows
    i, j = rows, columns
    while i and j:
        if cost[i][j] == cost[i - 1][j - 1] + swap[i - 1][j - 1]:
            i, j = i - 1, j - 1
            place[i] = j
        elif cost[i][j] == cost[i][j - 1] + 1:
            j -= 1
        else:
            i -= 1
    return place


def _replace_cost(a: str, b: str) -> float:
    if a == b:
        return 0.0
    common = difflib.SequenceMatcher(None, a.lower(), b.lower(), autojunk=False).ratio()
    return 1.5 - round(32 * common) / 64  # multiples of 1/64: sums are exact, so equal costs compare equal


def word_distance(a: Sequence[str], b: Sequence[str]) -> int:
    """Word-level Levenshtein distance (insert, drop, replace cost 1)."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            diagonal, row[j] = row[j], min(diagonal + (left != right), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def summarise(judgements: Iterable[Judgement]) -> dict[str, Any]:
    """Totals over items: shares with 95 % Wilson intervals, word error rates in [0, inf)."""
    by_type: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    items = list(judgements)
    for item in items:
        for kind, is_gone in item.gone:
            for name in ("all", kind.split(".")[0], kind):
                by_type[name][0] += is_gone
                by_type[name][1] += 1
    corrupted = [item for item in items if item.gone]
    clean = [item for item in items if not item.gone]
    words = sum(item.answer_words for item in items)
    total = by_type.pop("all", [0, 0])
    return {
        "items": len(items),
        "errors_gone": Share(*total).report(),
        "untouched_words_changed": Share(
            sum(item.changed for item in items), sum(item.untouched for item in items)
        ).report(),
        "exact_match": Share(sum(item.exact for item in items), len(items)).report(),
        "exact_match_corrupted": Share(sum(item.exact for item in corrupted), len(corrupted)).report(),
        "clean_left_alone": Share(sum(item.exact for item in clean), len(clean)).report(),
        "word_error_rate_before": sum(item.distance_before for item in items) / words if words else None,
        "word_error_rate_after": sum(item.distance_after for item in items) / words if words else None,
        "errors_gone_by_type": {name: Share(*by_type[name]).report() for name in sorted(by_type)},
    }


def score_file(path: Path) -> dict[str, Any]:
    """Score a JSONL file with the fields prompt, answer, output and errors."""
    fields = {"prompt": str, "answer": str, "output": str, "errors": list}
    return summarise(
        judge(item["answer"], item["prompt"], item["output"], item["errors"])
        for item in iterate_records(path, fields)
    )
