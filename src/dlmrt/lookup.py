"""Prompt lookup: drafts copied from the text so far, found in an index that grows with it (no torch)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LONGEST_NGRAM = 3
LONGEST_DRAFT = 10
DRAFT_NGRAMS = (3, 2)  # of a block's draft, in the order in which they are tried
LONGEST_STEP_BACK = 3


class PromptLookup:
    """The tokens of one row, and for each n-gram in them what followed it last.

    A token costs ``LONGEST_NGRAM`` dictionary entries, a draft at most as many look-ups, however long
    the text is.
    """

    def __init__(self, tokens: Iterable[int] = ()) -> None:
        self._tokens: list[int] = []
        self._after: dict[tuple[int, ...], int] = {}  # n-gram: where what followed it begins
        self.extend(tokens)

    def extend(self, tokens: Iterable[int]) -> None:
        """Take in the next tokens."""
        for token in tokens:
            # An n-gram is known once a token follows it, so the text's own end never matches itself.
            end = len(self._tokens)
            for size in range(1, min(LONGEST_NGRAM, end) + 1):
                self._after[tuple(self._tokens[end - size :])] = end
            self._tokens.append(token)

    def draft(self, longest: int = LONGEST_DRAFT) -> list[int]:
        """What followed the last earlier occurrence of the longest suffix n-gram; often nothing.

        longest: at most so many tokens, and never more than ``LONGEST_DRAFT``.
        """
        for size in range(min(LONGEST_NGRAM, len(self._tokens) - 1), 0, -1):
            begin = self._after.get(tuple(self._tokens[-size:]))
            if begin is not None:
                return self._tokens[begin : begin + max(0, min(longest, LONGEST_DRAFT))]
        return []


def block_draft(prompt: Sequence[int], answer: Sequence[int], size: int) -> list[int]:
    """What the next block may copy from the prompt: at most ``size`` tokens, often none.

    At the start of the answer, the prompt's beginning. Later, what follows the answer's last three (or two)
    tokens where they last occur in the prompt; where they don't occur, up to ``LONGEST_STEP_BACK`` tokens
    are passed over, as many in the prompt as in the answer, because the last ones may be what was changed.
    """
    if not answer:
        return list(prompt[:size])
    for n in DRAFT_NGRAMS:
        for back in range(min(LONGEST_STEP_BACK, len(answer) - n) + 1):
            end = len(answer) - back
            key = list(answer[end - n : end])
            for begin in range(len(prompt) - 1, n - 1, -1):
                if prompt[begin - 1] == key[-1] and list(prompt[begin - n : begin]) == key:
                    return list(prompt[begin + back : begin + back + size])
    return []


def common_prefix(draft: Sequence[int], picks: Sequence[int]) -> int:
    """How many draft tokens, from the front, are what decoding picked."""
    for place, (drafted, picked) in enumerate(zip(draft, picks, strict=False)):
        if drafted != picked:
            return place
    return min(len(draft), len(picks))
