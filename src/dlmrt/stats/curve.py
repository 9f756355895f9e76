"""Accuracy against parallelism as one number: AUP, with its formula spelled out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from dlmrt.errors import DataError

ALPHA = 3.0
# Points whose accuracy lies further than this below that of the slowest point don't count.
CUT = 0.05
FORMULA = (
    "AUP = r1 y1 + sum over i >= 2 of (ri - r(i-1)) (yi W(yi) + y(i-1) W(y(i-1))) / 2, "
    "W(y) = min(exp(-alpha (1 - y/y_max)), 1); r: tokens per forward, ascending; y: accuracy in percent; "
    "points with y < y1 - 5 are left out (d3LLM, arXiv 2601.07568)"
)


def area_under_points(
    points: Sequence[tuple[float, float]], *, y_max: float, alpha: float = ALPHA
) -> float | None:
    """Return AUP (accuracy under parallelism) of points (tokens per forward, accuracy as a share).

    See :data:`FORMULA`; accuracies and ``y_max`` are shares in [0, 1], the area is in the published
    unit, percent times tokens per forward. ``y_max`` is the highest accuracy that any compared arm
    reached on the task: areas with different ``y_max`` or ``alpha`` can't be compared. Of points with
    equal tokens per forward the most accurate counts. None without points or when ``y_max`` is 0.
    Raises DataError: a value that is not finite, tokens per forward < 0, an accuracy outside [0, 1].
    """
    for i, (rate, accuracy) in enumerate(points):
        if not (math.isfinite(rate) and rate >= 0 and 0 <= accuracy <= 1):
            raise DataError(
                f"point {i} is ({rate}, {accuracy}); tokens per forward must be >= 0 and the accuracy "
                "a share in [0, 1]"
            )
    if not (0 <= y_max <= 1 and math.isfinite(alpha) and alpha >= 0):
        raise DataError(f"y_max is {y_max} and alpha {alpha}; y_max must be in [0, 1] and alpha >= 0")
    if not points or y_max == 0:
        return None
    best: dict[float, float] = {}
    for rate, accuracy in points:
        best[rate] = max(accuracy, best.get(rate, 0.0))
    first = min(best)
    # The slack is rounding: 0.27 - 0.05 and 0.22 are the same share.
    kept = [(rate, best[rate]) for rate in sorted(best) if best[rate] >= best[first] - CUT - 1e-12]
    weighted = [(rate, y * weight(y, y_max, alpha)) for rate, y in kept]
    area = first * best[first]
    for (left, low), (right, high) in itertools.pairwise(weighted):
        area += (right - left) * (low + high) / 2
    return 100 * area


def weight(accuracy: float, y_max: float, alpha: float = ALPHA) -> float:
    """Return W of :data:`FORMULA`: how much of an accuracy below ``y_max`` > 0 still counts."""
    return min(math.exp(-alpha * (1 - accuracy / y_max)), 1.0)
