"""Inject recorded errors into a clean sentence, deterministically from (seed, sentence, epoch).

No two errors touch the same word, so every error can be judged on its own. Types, by family:

=============  ==================================================================================
typo           ``swap`` two neighbouring letters, ``drop`` a letter, ``extra`` letter, ``double`` a
               letter, ``near`` a neighbouring key, ``undouble`` a double letter
casing         ``start`` in lower case, ``capital`` a random word capitalised, ``upper`` a word in
               capitals, ``name`` a proper noun in lower case
spacing        ``two`` spaces, ``join`` two words, ``split`` a word, ``before`` punctuation,
               ``after`` punctuation missing
punctuation    ``final`` missing, ``twice``, ``comma`` missing, ``apostrophe`` missing, ``wrong``
               (comma and period exchanged)
=============  ==================================================================================
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

CLEAN_SHARE = 0.12
WORDS_PER_ERROR = 7.0
MAX_ERRORS = 6
#: how often each error is tried; types without a place in the sentence give way to a typo
MIX: dict[str, float] = {
    "typo.swap": 0.12, "typo.drop": 0.12, "typo.extra": 0.06, "typo.double": 0.06, "typo.near": 0.10,
    "typo.undouble": 0.05,
    "casing.start": 0.05, "casing.capital": 0.05, "casing.upper": 0.03, "casing.name": 0.03,
    "spacing.two": 0.03, "spacing.join": 0.05, "spacing.split": 0.05, "spacing.before": 0.025,
    "spacing.after": 0.025,
    "punctuation.final": 0.05, "punctuation.twice": 0.03, "punctuation.comma": 0.03,
    "punctuation.apostrophe": 0.02, "punctuation.wrong": 0.02,
}  # fmt: skip
_NEIGHBOURS = {
    "q": "wa", "w": "qes", "e": "wrd", "r": "etf", "t": "ryg", "y": "tuh", "u": "yij", "i": "uok", "o": "ipl",
    "p": "ol", "a": "qsz", "s": "awdx", "d": "sefc", "f": "drgv", "g": "fthb", "h": "gyjn", "j": "hukm",
    "k": "jil", "l": "kop", "z": "asx", "x": "zsdc", "c": "xdfv", "v": "cfgb", "b": "vghn", "n": "bhjm",
    "m": "njk",
}  # fmt: skip
_LOWER = re.compile(r"([\"(']*)([a-z]+)([\"').,;:!?]*)")
_NAME = re.compile(r"([\"(']*)([A-Z][a-z]+)([\"').,;:!?]*)")


@dataclass(frozen=True)
class Error:
    """One injected error.

    ``words`` is the half-open range of affected words (split at white space) of the clean sentence;
    ``span`` and ``bad_span`` are half-open character ranges in the clean and the corrupted sentence,
    ``clean`` and ``bad`` the texts there.
    """

    type: str
    words: tuple[int, int]
    span: tuple[int, int]
    clean: str
    bad_span: tuple[int, int]
    bad: str


class Rng:
    """Draws that are the same in every Python version: only ``random.random`` is used."""

    def __init__(self, *parts: object) -> None:
        digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
        self._random = random.Random(int.from_bytes(digest[:16], "big"))

    def unit(self) -> float:
        """A float in [0, 1)."""
        return self._random.random()

    def below(self, n: int) -> int:
        """An integer in [0, n)."""
        return int(self._random.random() * n)

    def choice(self, items: Sequence[T]) -> T:
        """One item, uniformly."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in random order (Fisher-Yates)."""
        out = list(items)
        for i in range(len(out) - 1, 0, -1):
            j = self.below(i + 1)
            out[i], out[j] = out[j], out[i]
        return out


@dataclass
class _Draft:
    """A sentence being corrupted: words, the gap before each word, and which words are taken."""

    words: list[str]
    gaps: list[str]
    taken: list[bool]
    lexicon: Collection[str]
    edits: list[tuple[str, int, int]] = field(default_factory=list)

    def free(self, first: int, last: int | None = None) -> bool:
        return not any(self.taken[first : (first if last is None else last) + 1])

    def take(self, kind: str, first: int, last: int | None = None) -> None:
        end = (first if last is None else last) + 1
        self.taken[first:end] = [True] * (end - first)
        self.edits.append((kind, first, end))


def corrupt(
    sentence: str, *, seed: int, epoch: int = 0, lexicon: Collection[str] = frozenset()
) -> tuple[str, list[Error]]:
    """Return (corrupted sentence, errors ordered by place).

    ``lexicon`` holds real words: a typo that happens to be one of them is not used, since nobody
    could tell that it is an error. About 12 % of all sentences come back unchanged, with no errors.
    """
    rng = Rng("dlmrt.corrupt", seed, epoch, sentence)
    words = sentence.split(" ")
    if rng.unit() < CLEAN_SHARE:
        return sentence, []
    wanted = max(1, min(MAX_ERRORS, int(len(words) / WORDS_PER_ERROR * (0.5 + rng.unit()) + 0.5)))
    draft = _Draft(list(words), [""] + [" "] * (len(words) - 1), [False] * len(words), lexicon)
    for _ in range(wanted):
        kind = _weighted(rng)
        if not _PLACERS[kind.split(".")[0]](draft, kind, rng):
            _place_typo(draft, rng.choice(_TYPOS), rng)
    return _render(words, draft)


def _weighted(rng: Rng) -> str:
    point = rng.unit() * sum(MIX.values())
    for kind, weight in MIX.items():
        point -= weight
        if point < 0:
            return kind
    return next(iter(MIX))


def _render(clean: list[str], draft: _Draft) -> tuple[str, list[Error]]:
    clean_at, bad_at, bad, position = [], [], "", 0
    for word, gap, changed in zip(clean, draft.gaps, draft.words, strict=True):
        clean_at.append((position, position + len(word)))
        position += len(word) + 1
        bad += gap
        bad_at.append((len(bad), len(bad) + len(changed)))
        bad += changed
    text = " ".join(clean)
    errors = []
    for kind, first, end in sorted(draft.edits, key=lambda edit: edit[1]):
        span, bad_span = (clean_at[first][0], clean_at[end - 1][1]), (bad_at[first][0], bad_at[end - 1][1])
        errors.append(Error(kind, (first, end), span, text[slice(*span)], bad_span, bad[slice(*bad_span)]))
    return bad, errors


def _place_typo(draft: _Draft, kind: str, rng: Rng) -> bool:
    minimum = 3 if kind in {"typo.double", "typo.extra"} else 4
    for index in rng.shuffled(range(len(draft.words))):
        match = _LOWER.fullmatch(draft.words[index]) or (
            _NAME.fullmatch(draft.words[index]) if index == 0 or rng.unit() < 0.3 else None
        )
        if not match or len(match.group(2)) < minimum or not draft.free(index):
            continue
        word = match.group(2)
        for _ in range(4):
            changed = _misspell(word, kind, rng)
            if changed and changed != word and changed.lower() not in draft.lexicon:
                draft.words[index] = match.group(1) + changed + match.group(3)
                draft.take(kind, index)
                return True
    return False


def _misspell(word: str, kind: str, rng: Rng) -> str | None:
    at = rng.below(len(word))
    if kind == "typo.swap":
        at = 1 + rng.below(len(word) - 2) if len(word) > 4 or word[0].isupper() else rng.below(len(word) - 1)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind == "typo.drop":
        at = max(at, 1)
        return word[:at] + word[at + 1 :]
    if kind == "typo.double":
        at = max(at, 1)
        return word[: at + 1] + word[at] + word[at + 1 :]
    if kind == "typo.undouble":
        pairs = [i for i in range(1, len(word)) if word[i] == word[i - 1]]
        return word[: (at := rng.choice(pairs))] + word[at + 1 :] if pairs else None
    near = rng.choice(_NEIGHBOURS[word[at].lower()])
    if word[at].isupper():
        return None
    return word[:at] + near + word[at + (kind == "typo.near") :]


def _place_casing(draft: _Draft, kind: str, rng: Rng) -> bool:
    if kind == "casing.start":
        match = re.fullmatch(r"([\"(']*)([A-Z])([a-z']*[,;:]?)", draft.words[0])
        if not match or not draft.free(0):
            return False
        draft.words[0] = match.group(1) + match.group(2).lower() + match.group(3)
        draft.take(kind, 0)
        return True
    pattern = _NAME if kind == "casing.name" else _LOWER
    for index in rng.shuffled(range(1, len(draft.words))):
        match = pattern.fullmatch(draft.words[index])
        if not match or not draft.free(index) or draft.words[index - 1].endswith((".", "!", "?", ":")):
            continue
        word = match.group(2)
        if (kind == "casing.upper" and len(word) < 3) or (
            kind == "casing.name" and word.lower() in draft.lexicon
        ):
            continue
        changed = {"capital": word.capitalize(), "upper": word.upper(), "name": word.lower()}[kind[7:]]
        draft.words[index] = match.group(1) + changed + match.group(3)
        draft.take(kind, index)
        return True
    return False


def _place_spacing(draft: _Draft, kind: str, rng: Rng) -> bool:
    for index in rng.shuffled(range(len(draft.words))):
        word = draft.words[index]
        following = draft.words[index + 1] if index + 1 < len(draft.words) else None
        if not draft.free(index):
            continue
        if kind == "spacing.before" and (match := re.fullmatch(r"(.*\w)([,.;:!?])", word)):
            draft.words[index] = f"{match.group(1)} {match.group(2)}"
            draft.take(kind, index)
            return True
        if kind == "spacing.split" and (match := _LOWER.fullmatch(word)) and len(match.group(2)) >= 5:
            at = len(match.group(1)) + 2 + rng.below(len(match.group(2)) - 3)
            draft.words[index] = word[:at] + " " + word[at:]
            draft.take(kind, index)
            return True
        if following is None or not draft.free(index, index + 1):
            continue
        if kind == "spacing.two":
            draft.gaps[index + 1] = "  "
        elif kind == "spacing.join" and word.isalpha() and re.match(r"[a-z]{2}", following):
            if (word + following).lower() in draft.lexicon:
                continue
            draft.gaps[index + 1] = ""
        elif kind == "spacing.after" and re.search(r"\w[,;:.!?]$", word) and following[0].isalpha():
            draft.gaps[index + 1] = ""
        else:
            continue
        draft.take(kind, index, index + 1)
        return True
    return False


def _place_punctuation(draft: _Draft, kind: str, rng: Rng) -> bool:
    last = len(draft.words) - 1
    order = [last] if kind == "punctuation.final" else rng.shuffled(range(last + 1))
    for index in order:
        word = draft.words[index]
        if not draft.free(index):
            continue
        changed = _PUNCTUATION[kind](word, index == last)
        if changed is not None:
            draft.words[index] = changed
            draft.take(kind, index)
            return True
    return False


def _wrong(word: str, last: bool) -> str | None:
    if not re.search(r"[a-z][,.]$", word) or (word.endswith(".") and not last):
        return None
    return word[:-1] + ("." if word.endswith(",") else ",")


_PUNCTUATION: dict[str, Callable[[str, bool], str | None]] = {
    "punctuation.final": lambda word, last: word[:-1] if re.search(r"\w[.!?]$", word) else None,
    "punctuation.twice": lambda word, last: word + word[-1] if re.search(r"\w[,.;:!?]$", word) else None,
    "punctuation.comma": lambda word, last: word[:-1] if re.search(r"\w,$", word) else None,
    "punctuation.apostrophe": lambda word, last: (
        word.replace("'", "") if re.search(r"[A-Za-z]'[a-z]", word) and word.count("'") == 1 else None
    ),
    "punctuation.wrong": _wrong,
}
_PLACERS: dict[str, Callable[[_Draft, str, Rng], bool]] = {
    "typo": _place_typo,
    "casing": _place_casing,
    "spacing": _place_spacing,
    "punctuation": _place_punctuation,
}
_TYPOS = tuple(kind for kind in MIX if kind.startswith("typo."))
