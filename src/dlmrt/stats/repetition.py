"""How much of an answer it has said before."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from dlmrt.errors import RequestError


def repeated_ngrams(tokens: Sequence[Hashable], n: int = 8) -> tuple[int, int]:
    """Return (n-grams that stood earlier in the same sequence, all n-grams).

    A sequence shorter than ``n`` has none of either. Sum both numbers over answers before dividing;
    n-grams never span two answers. Raises RequestError: ``n`` < 1.
    """
    if n < 1:
        raise RequestError(f"n is {n}; an n-gram has at least 1 token")
    total = max(0, len(tokens) - n + 1)
    different = {tuple(tokens[i : i + n]) for i in range(total)}
    return total - len(different), total
