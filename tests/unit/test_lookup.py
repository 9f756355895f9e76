"""The index of n-grams against a plain scan, and what a draft is."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from dlmrt.lookup import LONGEST_DRAFT, LONGEST_NGRAM, PromptLookup, block_draft, common_prefix


def scan(tokens: Sequence[int], longest: int) -> list[int]:
    """The definition: the last earlier match of the longest suffix n-gram, looked for from the end."""
    for n in range(min(LONGEST_NGRAM, len(tokens) - 1), 0, -1):
        for begin in range(len(tokens) - n - 1, -1, -1):
            if list(tokens[begin : begin + n]) == list(tokens[-n:]):
                return list(tokens[begin + n : begin + n + min(longest, LONGEST_DRAFT)])
    return []


@pytest.mark.parametrize(
    ("tokens", "longest", "draft"),
    [
        ([1, 2, 3, 9, 1, 2, 3], 10, [9, 1, 2, 3]),  # a trigram
        ([1, 2, 3, 9, 1, 2, 3], 2, [9, 1]),
        ([1, 2, 3, 9, 1, 2, 3], 0, []),
        ([5, 2, 3, 8, 1, 2, 3, 9, 2, 3], 10, [9, 2, 3]),  # a bigram: the later match
        ([7, 3, 8, 2, 3, 9, 4, 3], 10, [9, 4, 3]),  # one token: the later match
        ([1, 2, 3, 7, 2, 3, 8, 1, 2, 3], 10, [7, 2, 3, 8, 1, 2, 3]),  # longest first, although older
        ([9, 3, 7, 2, 3, 8, 2, 3], 10, [8, 2, 3]),
        ([3, 7, 3, 8, 3], 1, [8]),
        ([4, 4, 4, 4], 10, [4]),  # the match may overlap the suffix
        ([*range(20), 0], 99, [*range(1, 11)]),  # never more than ten
        ([1, 2, 3], 10, []),
        ([1], 10, []),
        ([], 10, []),
    ],
)
def test_draft(tokens: list[int], longest: int, draft: list[int]) -> None:
    assert PromptLookup(tokens).draft(longest) == draft
    assert scan(tokens, longest) == draft


def test_the_index_grows_with_the_text_and_finds_what_a_scan_finds() -> None:
    rng = random.Random(1)
    found = 0
    for _ in range(60):
        tokens: list[int] = []
        lookup = PromptLookup()
        for _ in range(40):
            new = rng.choices(range(rng.choice([2, 4, 30])), k=rng.randint(0, 3))
            lookup.extend(new)
            tokens += new
            longest = rng.randint(0, 12)
            assert lookup.draft(longest) == scan(tokens, longest)
            found += bool(lookup.draft(longest))
    assert found > 500


@pytest.mark.parametrize(
    ("draft", "picks", "expected"),
    [([], [4], 0), ([1, 2], [1, 2, 3], 2), ([1, 9], [1, 2, 3], 1), ([9], [1, 2], 0)],
)
def test_common_prefix(draft: list[int], picks: list[int], expected: int) -> None:
    assert common_prefix(draft, picks) == expected


PROMPT = [5, 6, 7, 8, 9, 6, 7, 1, 2]


@pytest.mark.parametrize(
    ("answer", "size", "draft"),
    [
        ([], 4, [5, 6, 7, 8]),  # the prompt's beginning
        ([], 99, PROMPT),
        ([0, 6, 7, 8], 3, [9, 6, 7]),  # three tokens
        ([5, 6, 7], 9, [8, 9, 6, 7, 1, 2]),  # three, although two occur later
        ([0, 6, 7], 9, [1, 2]),  # two: where they occur last
        ([6, 7, 8, 0], 2, [6, 7]),  # one token was changed: it is passed over in the prompt, too
        ([6, 7, 8, 0, 0, 0], 9, [1, 2]),
        ([6, 7, 8, 0, 0, 0, 0], 9, []),  # too far back
        ([8, 9], 9, [6, 7, 1, 2]),
        ([9], 9, []),  # one token is too little
        ([1, 2], 9, []),  # nothing follows the prompt's end
    ],
)
def test_draft_of_a_block(answer: list[int], size: int, draft: list[int]) -> None:
    assert block_draft(PROMPT, answer, size) == draft


def test_a_draft_of_an_empty_prompt_is_empty() -> None:
    assert block_draft([], [], 4) == block_draft([], [1, 2, 3], 4) == []
