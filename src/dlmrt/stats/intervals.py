"""95 % intervals of a proportion (Wilson) and of a mean (Student's t)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from dlmrt.errors import DataError

Z_95 = 1.959963984540054  # the 97.5 % point of the normal distribution

# Up to here the t distribution is summed exactly; beyond, its expansion is exact to 1e-9.
_EXACT_DEGREES = 100


def wilson(hits: int, total: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a proportion (Wilson 1927), both ends in [0, 1].

    Raises DataError: no items, or hits outside 0..total.
    """
    if total < 1 or not 0 <= hits <= total:
        raise DataError(
            f"{hits} hits of {total} are no proportion; hits must lie in 0..total and total be >= 1"
        )
    share, z2 = hits / total, Z_95 * Z_95
    centre = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = Z_95 * math.sqrt(share * (1 - share) / total + z2 / (4 * total * total)) / (1 + z2 / total)
    low = 0.0 if hits == 0 else max(0.0, centre - half)
    return low, 1.0 if hits == total else min(1.0, centre + half)


def mean_interval(values: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    """Return the mean and its 95 % interval by Student's t; None in its place for fewer than 2 values.

    The values are taken as independent draws, such as one value a seed. The interval is not cut to the
    range that the values can have. Raises DataError: no value, or one that is NaN or infinite.
    """
    if not values:
        raise DataError("a mean needs at least one value; none was given")
    for i, value in enumerate(values):
        if not math.isfinite(value):
            raise DataError(f"value {i} of {len(values)} is {value}; a mean needs finite values")
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    half = t_quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return mean, (mean - half, mean + half)


def t_quantile(degrees: int) -> float:
    """Return the 97.5 % point of Student's t with ``degrees`` >= 1 degrees of freedom.

    Up to 100 degrees the point where the central probability A(t) is 0.95 (Abramowitz & Stegun 1964,
    26.7.3 and 26.7.4), found by bisection; beyond, their expansion 26.7.5 in 1/degrees.
    """
    if degrees < 1:
        raise DataError(f"{degrees} degrees of freedom; Student's t needs at least 1")
    if degrees > _EXACT_DEGREES:
        return _t_expansion(degrees)
    low, high = Z_95, 13.0  # one degree has 12.706
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _t_central(middle, degrees) < 0.95 else (low, middle)
    return (low + high) / 2


def _t_central(t: float, degrees: int) -> float:
    """P(-t < T < t) for T of Student's t: a finite sum in the sine and cosine of atan(t / sqrt(degrees))."""
    angle = math.atan(t / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    term, total = (cosine if odd else 1.0), 0.0
    for k in range(odd, degrees - 1, 2):
        total += term
        term *= cosine * cosine * (k + 1) / (k + 2)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def _t_expansion(degrees: int) -> float:
    z, n = Z_95, degrees
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )
