"""Split paragraphs into sentences and keep those that look like clean English prose."""

from __future__ import annotations

import re
from collections.abc import Collection

MIN_CHARS, MAX_CHARS, MIN_WORDS = 20, 200, 4

_QUOTES = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201b": "'", "\u02bc": "'", "\u00b4": "'",
        "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"',
        "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2026": "...",
        "\u00a0": " ", "\u2002": " ", "\u2003": " ", "\u2009": " ", "\u202f": " ",
        "\u200b": None, "\u00ad": None, "\ufeff": None, "\u00b6": None,
        "\ufb01": "fi", "\ufb02": "fl", "\u00d7": "x",
    }
)  # fmt: skip
_ABBREVIATION_LIST = """
    e.g i.e eg ie etc vs cf fig figs eq eqs no nos mr mrs ms dr prof st jr sr resp approx ca al inc ltd co
    corp sec sect ch chap vol pp ed eds ref refs min max dept univ u.s u.k a.k.a w.r.t viz jan feb mar apr jun
    jul aug sep sept oct nov dec incl esp
"""
_FUNCTION_WORD_LIST = """
    the of to and is are that this with for be it by as can will not if you when from which or in has have but
    must may should do does your we they their its these there than then was were been any all only also
"""
_ABBREVIATIONS = frozenset(_ABBREVIATION_LIST.split())
_FUNCTION_WORDS = frozenset(_FUNCTION_WORD_LIST.split())
_BOUNDARY = re.compile(r"([.!?])([\"')\]]*)\s+(?=[\"'(\[]?[A-Z0-9])")
_FORBIDDEN = re.compile(r"[^\x20-\x7e]|[{}<>|\\^~=*#$&@`\[\]]|://|www\.|--|\.\.|_{2}")
_BROKEN = re.compile(
    r"\s[,.;:!?)]|\(\s|[,;:!?]{2}|[a-z][,;][A-Za-z]|[a-z]\.[A-Z][a-z]|,\.|\.,(?<![a-z]\.,)"
    r"|''|\"\"|\(,|, ?\)|[a-z]\((?!\d?\))|\)[A-Za-z]|[.,]\s*(?:and|or|to|of)[.,]"
)
_REPEATED = re.compile(r"\b(\w+) \1\b", re.I)
#: words that never follow each other unless something between them was lost ("the is", "of and")
_GAP = re.compile(
    r"\b(?:the|a|an|your) (?:is|are|was|and|or|of|to|in|for|with|has|can|will|may|as|the|from|that)\b"
    r"|\b(?:of|by|with|from) (?:is|are|was|and|or|of|to|has|can|will|may)\b"
    r"|\b(?:see|from|and|with|of|by|the|a|an|or) ?[.,;:!?]"
    r"|^(?:Or|Of|Is|Are) ",
    re.I,
)
_OPENERS = re.compile(
    r"^(?:Copyright|Note that copyright|Permission is hereby|Licensed under|Redistribution)\b"
)
WORD = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)?")


def normalise(text: str) -> str:
    """ASCII quotes and dashes, single spaces, no footnote marks."""
    text = text.translate(_QUOTES).replace("\u2014", " - ")
    text = re.sub(r"\[\d+\]", "", text)
    text = re.sub(r"``|''", '"', text)
    text = " ".join(text.split())
    return re.sub(r"(?<=\w) - - (?=\w)| -- ", " - ", text)


def split_sentences(paragraph: str) -> list[str]:
    """Split a normalised paragraph; abbreviations, initials and numbers do not end a sentence."""
    out: list[str] = []
    start = 0
    for match in _BOUNDARY.finditer(paragraph):
        before = paragraph[start : match.start()].rsplit(" ", 1)[-1].lstrip("(\"'")
        if match.group(1) == "." and not match.group(2):
            if before.lower() in _ABBREVIATIONS or (len(before) == 1 and before.isupper() and before != "I"):
                continue
            if before.isdigit() and len(before) < 3 and start + len(before) == match.start():
                continue  # "1. First item"
        out.append(paragraph[start : match.end(2)].strip())
        start = match.end()
    out.append(paragraph[start:].strip())
    return [sentence for sentence in out if sentence]


def plausible(sentence: str) -> bool:
    """Whether a sentence has the outward form of clean prose (no dictionary needed)."""
    if not MIN_CHARS <= len(sentence) <= MAX_CHARS or _FORBIDDEN.search(sentence):
        return False
    if not re.match(r"[\"(]?[A-Z]", sentence) or not re.search(r"[.!?][\")]?$|[a-z]:$", sentence):
        return False
    if _BROKEN.search(sentence) or _REPEATED.search(sentence) or _GAP.search(sentence):
        return False
    if _OPENERS.match(sentence) or not balanced(sentence):
        return False
    words = sentence.split()
    lower = [word.strip("\"'().,;:!?") for word in words]
    functional = sum(word.lower() in _FUNCTION_WORDS for word in lower)
    if len(words) < MIN_WORDS or functional < max(1, len(words) // 7):
        return False
    plain = sum(bool(re.fullmatch(r"[a-z]+(?:[-'][a-z]+)*", word)) for word in lower)
    odd = sum(not re.fullmatch(r"[A-Za-z]+(?:[-'][A-Za-z]+)*|\d+(?:[.,]\d+)?%?|-", word) for word in lower)
    capitals = sum(word[:1].isupper() for word in lower[1:])
    return (
        plain >= 0.6 * len(words) and odd <= max(1, len(words) // 8) and capitals <= max(1, len(words) // 4)
    )


def balanced(sentence: str) -> bool:
    """Parentheses closed in order and quotes paired."""
    depth = 0
    for char in sentence:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    singles = len(re.findall(r"(?<![A-Za-z0-9])'", sentence)), len(re.findall(r"'(?![A-Za-z0-9])", sentence))
    return depth == 0 and sentence.count('"') % 2 == 0 and singles[0] <= singles[1] <= singles[0] + 1


def known_words(sentence: str, lexicon: Collection[str]) -> bool:
    """Whether every lower-case word is in the lexicon: drops foreign text and the source's own typos."""
    for word in sentence.split():
        bare = word.strip("\"'().,;:!?")
        for part in bare.split("-"):
            if part.islower() and part.isalpha() and part not in lexicon:
                return False
            if "'" in part and part.lower() not in lexicon and not part.lower().endswith(("'s", "s'")):
                return False
    return True


def key(sentence: str) -> str:
    """The form in which two sentences count as the same: letters only, lower case, digits as one."""
    return re.sub(r"[^a-z0]+", " ", re.sub(r"\d+", "0", sentence.lower())).strip()


def ngrams(sentence: str, size: int) -> list[str]:
    """Runs of ``size`` consecutive words in the form of :func:`key`."""
    words = key(sentence).split()
    return [" ".join(words[i : i + size]) for i in range(len(words) - size + 1)]
