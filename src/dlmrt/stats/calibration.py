"""Does confidence mean what it says: reliability bins and the expected calibration error."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

from dlmrt.errors import DataError

# low, high, number of tokens, mean confidence, share of correct ones (None in an empty bin).
Bin = tuple[float, float, int, float | None, float | None]

# A probability of float32 may exceed 1 by rounding.
_ROUNDING = 1e-5


def bins(confidence: Sequence[float], correct: Sequence[bool], count: int = 10) -> list[Bin]:
    """Sort tokens into ``count`` bins of equal width by confidence: [low, high), the last with 1.

    Raises DataError: lists of different length, a confidence outside [0, 1], or no bins.
    """
    if len(confidence) != len(correct):
        raise DataError(
            f"{len(confidence)} confidences and {len(correct)} outcomes; each token needs one of both"
        )
    if count < 1:
        raise DataError(f"{count} bins were asked for; calibration needs at least 1")
    edges = [i / count for i in range(count + 1)]
    members: list[list[tuple[float, bool]]] = [[] for _ in range(count)]
    for i, (value, good) in enumerate(zip(confidence, correct, strict=True)):
        if not -_ROUNDING <= value <= 1 + _ROUNDING:  # NaN fails too
            raise DataError(f"confidence {i} is {value}; it must be a probability in [0, 1]")
        value = min(max(float(value), 0.0), 1.0)
        members[min(bisect.bisect_right(edges, value) - 1, count - 1)].append((value, bool(good)))
    return [
        (edges[i], edges[i + 1], len(part), *(_means(part) if part else (None, None)))
        for i, part in enumerate(members)
    ]


def _means(part: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    return math.fsum(value for value, _ in part) / len(part), sum(good for _, good in part) / len(part)


def expected_calibration_error(bins: Sequence[Bin]) -> float | None:
    """Return the bins' |mean confidence - share correct|, weighted by their tokens; None without tokens.

    Naeini, Cooper & Hauskrecht 2015; Guo et al. 2017, equation 3.
    """
    total = sum(count for _, _, count, _, _ in bins)
    if not total:
        return None
    gaps = [
        count * abs(mean - share)
        for _, _, count, mean, share in bins
        if mean is not None and share is not None
    ]
    return math.fsum(gaps) / total
