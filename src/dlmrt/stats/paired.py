"""Two arms on the same items: McNemar's test, the difference's interval, how many items a claim needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from dlmrt.errors import DataError, RequestError
from dlmrt.stats.intervals import Z_95, wilson


@dataclass(frozen=True)
class Pairs:
    """How many items both arms got right, only the first, only the second, and neither."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def items(self) -> int:
        """All items."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def difference(self) -> float:
        """Accuracy of the second arm minus that of the first; needs at least one item."""
        return (self.only_second - self.only_first) / self.items

    @property
    def discordant_share(self) -> float:
        """The share of items that exactly one arm got right; needs at least one item."""
        return (self.only_first + self.only_second) / self.items


def pair_up(first: Sequence[bool], second: Sequence[bool]) -> Pairs:
    """Count the four outcomes of two arms whose answers stand in the order of the same items.

    Raises DataError: the arms did not answer equally many items.
    """
    if len(first) != len(second):
        raise DataError(
            f"one arm has {len(first)} outcomes, the other {len(second)}; "
            "a paired comparison needs both on the same items"
        )
    outcomes = [(bool(a), bool(b)) for a, b in zip(first, second, strict=True)]
    return Pairs(
        both=outcomes.count((True, True)),
        only_first=outcomes.count((True, False)),
        only_second=outcomes.count((False, True)),
        neither=outcomes.count((False, False)),
    )


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Return the two-sided p value of McNemar's exact test (McNemar 1947; Fay 2010).

    Under equal accuracy an item on which the arms differ favours each with chance 1/2, so the p value
    is min(1, 2 P(X <= min(only_first, only_second))) with X ~ Binomial(only_first + only_second, 1/2).
    It is 1 when the arms never differ.
    """
    if only_first < 0 or only_second < 0:
        raise DataError(f"counts are {only_first} and {only_second}; they must be >= 0")
    n = only_first + only_second
    ways = tail = 1  # of choosing 0 of n; whole numbers, so the sum is exact
    for i in range(min(only_first, only_second)):
        ways = ways * (n - i) // (i + 1)
        tail += ways
    return min(1.0, 2 * tail / (1 << n))


def difference_interval(pairs: Pairs) -> tuple[float, float]:
    """Return the 95 % interval of the second arm's accuracy minus the first's.

    Newcombe's method 10 for paired proportions (Statistics in Medicine 17:2635, 1998): the distances
    of the two Wilson intervals' ends from their proportions are combined by the square root of
    ``d^2 - 2 phi d e + e^2``; phi, the correlation of the outcomes, has ``both * neither - only_first *
    only_second`` as its numerator, which is lowered by items/2, at most to 0, when it is positive.
    Raises DataError: no items.
    """
    n = pairs.items
    if n < 1:
        raise DataError("there are no items; a difference needs at least one")
    hits_first, hits_second = pairs.both + pairs.only_first, pairs.both + pairs.only_second
    first, second = hits_first / n, hits_second / n
    low_first, high_first = wilson(hits_first, n)
    low_second, high_second = wilson(hits_second, n)
    numerator = float(pairs.both * pairs.neither - pairs.only_first * pairs.only_second)
    if numerator > 0:
        numerator = max(numerator - n / 2, 0.0)
    margins = hits_first * (n - hits_first) * hits_second * (n - hits_second)
    phi = numerator / math.sqrt(margins) if margins else 0.0
    below = _combine(second - low_second, high_first - first, phi)
    above = _combine(high_second - second, first - low_first, phi)
    difference = pairs.difference
    return max(-1.0, difference - below), min(1.0, difference + above)


def _combine(d: float, e: float, phi: float) -> float:
    return math.sqrt(max(0.0, d * d - 2 * phi * d * e + e * e))


def items_for_difference(
    difference: float, discordant_share: float, *, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Return how many paired items McNemar's test needs to show ``difference`` in accuracy.

    With d the difference and s the share of items that exactly one arm gets right (Connor 1987,
    Biometrics 43:207): n = (z(1 - alpha/2) sqrt(s) + z(power) sqrt(s - d^2))^2 / d^2, rounded up.
    None when the difference is 0, which no number of items can show.
    Raises RequestError: a value out of range; the share can't be smaller than the difference.
    """
    if not (0 < alpha < 1 and 0 < power < 1):
        raise RequestError(f"alpha is {alpha} and power {power}; both must lie between 0 and 1")
    if not (math.isfinite(difference) and abs(difference) <= discordant_share + 1e-12 <= 1 + 2e-12):
        raise RequestError(
            f"a difference of {difference} with {discordant_share} of the items decided by one arm alone is "
            "impossible; it needs |difference| <= that share <= 1"
        )
    if difference == 0:
        return None
    normal, squared = NormalDist(), difference * difference
    root = normal.inv_cdf(1 - alpha / 2) * math.sqrt(discordant_share)
    root += normal.inv_cdf(power) * math.sqrt(max(0.0, discordant_share - squared))
    return max(1, math.ceil(root * root / squared - 1e-9))


def items_for_margin(share: float, margin: float) -> int:
    """Return the least number of items at which the 95 % interval of ``share`` is at most +- ``margin``.

    The interval is Wilson's, whose half width h at n items solves
    ``h^2 (n + z^2)^2 = z^2 (share (1 - share) n + z^2 / 4)``, z = 1.96.
    Raises RequestError: share outside [0, 1], or margin outside (0, 0.5).
    """
    if not 0 <= share <= 1:
        raise RequestError(f"share is {share}; it must be in [0, 1]")
    if not 0 < margin < 0.5:
        raise RequestError(f"margin is {margin}; it must be between 0 and 0.5")
    z2, m2 = Z_95 * Z_95, margin * margin
    half = z2 * (m2 - share * (1 - share) / 2)  # m2 n^2 + 2 half n + z2^2 (m2 - 1/4) = 0
    root = (-half + math.sqrt(half * half + m2 * z2 * z2 * (0.25 - m2))) / m2
    return max(1, math.ceil(root - 1e-9))
