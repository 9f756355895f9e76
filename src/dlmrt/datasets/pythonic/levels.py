"""How hard the family is: every constant that moves its difficulty stands here."""

from __future__ import annotations

#: operations after the source, and how often each number is drawn
LEVELS: dict[int, float] = {2: 0.12, 3: 0.26, 4: 0.34, 5: 0.28}
#: share of programs that work on numbers, words, characters, and values with a key
KINDS: dict[str, float] = {"int": 0.34, "str": 0.24, "chr": 0.12, "keyed": 0.30}
#: what a place inside the loop may hold; ``both`` counts as two operations, ``branch`` as three
STAGES: dict[str, float] = {
    "keep": 0.25, "map": 0.27, "both": 0.13, "branch": 0.15, "state": 0.14, "stop": 0.06,
}  # fmt: skip
#: operations after the loop
AFTER: dict[int, float] = {0: 0.25, 1: 0.55, 2: 0.20}
#: a slot is a parameter of the function rather than a constant; at most so many in one program
PARAMETER_SHARE, MAX_PARAMETERS = 0.16, 2
#: a program whose values have a key collects them by that key
KEYED_SHARE = 0.6
#: the code of an answer, in characters
MIN_CHARS, MAX_CHARS, MAX_PROMPT_CHARS = 150, 560, 520
#: of a hundred pairs of neighbouring operations, so many are in no training or dev program
HELD_PAIRS = 8
#: of a hundred operations with several phrasings, so many keep the last one for test programs, which use
#: it in such a share of the places where they could
HELD_PHRASINGS, HELD_PHRASING_SHARE = 30, 0.5
#: one program in so many is a dev program
DEV_SHARE = 40
#: asserts of a dev or test item
MIN_TESTS, MAX_TESTS = 6, 8
