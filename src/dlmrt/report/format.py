"""How numbers and foreign text look in tables, captions and sentences: one rule each, used everywhere.

A missing value is ``-``. Three significant digits unless said otherwise; thousands have a comma.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from dlmrt.results.schema import Distribution, ShareOf

MISSING = "-"
# Prefixes of 1000: bytes are decimal here (1 GB = 1e9 bytes), as bandwidths are.
PREFIXES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))
# Characters that turn the reading direction of what follows: they can make a line lie.
BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def number(value: float | None) -> str:
    """Three significant digits, whole numbers from 100 on: 0.0123, 4.75, 34.1, 1,469."""
    if value is None:
        return MISSING
    size = abs(value)
    if size == 0:
        return "0"
    if size >= 1e15:
        return f"{value:.3g}"
    if size >= 99.95:
        return f"{value:,.0f}"
    if size >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 0.9995 else f"{value:.3g}"


def count(value: int | None) -> str:
    """A whole number: 1,500."""
    return MISSING if value is None else f"{value:,}"


def ratio(value: float | None) -> str:
    """Two decimals: tokens a forward, quotients."""
    return MISSING if value is None else f"{value:,.2f}"


def milliseconds(seconds: float | None) -> str:
    """Seconds as a number of milliseconds."""
    return MISSING if seconds is None else number(1000 * seconds)


def percent(share: float | None) -> str:
    """A share in [0, 1] with one decimal: ``65.2 %``."""
    return MISSING if share is None else f"{100 * share:.1f} %"


def percent_of_floor(value: float | None) -> str:
    """A percentage (100 is the best possible) with one decimal, below 1 % two digits: ``0.031 %``."""
    if value is None:
        return MISSING
    return f"{value:.1f} %" if value >= 0.995 else f"{value:.2g} %"


def share(value: ShareOf | None) -> str:
    """A share with its 95 % interval: ``65.2 % (63.4-66.9)``."""
    if value is None or value.share is None:
        return MISSING
    if value.interval_95 is None:
        return percent(value.share)
    low, high = value.interval_95
    return f"{percent(value.share)} ({100 * low:.1f}-{100 * high:.1f})"


def share_of_mapping(value: Mapping[str, Any]) -> str | None:
    """Write a mapping with ``share`` and ``interval_95`` (a task's quality) as :func:`share` does.

    None when it is no such mapping.
    """
    if not {"share", "interval_95"} <= value.keys():
        return None
    part, interval = value["share"], value["interval_95"]
    if part is not None and not _is_number(part):
        return None
    pair = isinstance(interval, list | tuple) and len(interval) == 2 and all(map(_is_number, interval))
    return share(ShareOf(0, 0, part, (interval[0], interval[1]) if pair else None))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def interval(low_high: tuple[float, float] | None, scale: float = 1.0, digits: int = 1) -> str:
    """An interval that may be negative: ``-1.2 to 3.4``."""
    if low_high is None:
        return MISSING
    return f"{scale * low_high[0]:.{digits}f} to {scale * low_high[1]:.{digits}f}"


def points(difference: float | None) -> str:
    """A difference of two shares in percentage points, with its sign: ``+3.7``."""
    return MISSING if difference is None else f"{100 * difference:+.1f}"


def p_value(value: float) -> str:
    """Three decimals; what is smaller than one of them is ``<0.001``."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def spread(values: Distribution | None, scale: float = 1.0) -> str:
    """Median with the 10th and 90th percentile: ``34.1 (30.2-41.8)``."""
    if values is None:
        return MISSING
    low, middle, high = (number(scale * v) for v in (values.p10, values.median, values.p90))
    return f"{middle} ({low}-{high})"


def median(values: Distribution | None, scale: float = 1.0) -> str:
    """The median alone."""
    return MISSING if values is None else number(scale * values.median)


def scaled(value: float | None, unit: str) -> str:
    """A quantity with a decimal prefix: ``6.14 GB``, ``989 TFLOP/s``."""
    if value is None:
        return MISSING
    for prefix, size in PREFIXES:
        if abs(value) >= size:
            return f"{number(value / size)} {prefix}{unit}"
    return f"{number(value)} {unit}"


def settings(options: Mapping[str, Any]) -> str:
    """Options as ``threshold=0.9 seed=0``, in their order."""
    return " ".join(f"{name}={plain(value)}" for name, value in options.items()) or MISSING


def plain(value: Any) -> str:
    """A value of a setting in words: booleans as yes and no, lists joined by commas, mappings in brackets."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, list | tuple):
        return ",".join(plain(v) for v in value) or "none"
    if isinstance(value, Mapping):
        return f"({settings(value)})" if value else "none"
    return str(value)


def counts(values: Mapping[str, int]) -> str:
    """Counts by name: ``stop 190, length 10``; ``0`` when there are none."""
    return ", ".join(f"{name} {number_of:,}" for name, number_of in values.items()) or "0"


def words(names: Iterable[str]) -> str:
    """Join names for a sentence: ``a, b and c``."""
    listed = list(names)
    if len(listed) < 2:
        return "".join(listed)
    return f"{', '.join(listed[:-1])} and {listed[-1]}"


def clean(text: str) -> str:
    """Make foreign text safe to print on one line: no control characters, no change of direction.

    Unpaired surrogates, which JSON can smuggle in and UTF-8 can't write, go the same way.
    """
    text = BIDI.sub("\ufffd", " ".join(text.split()))
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") else c for c in text)


def shorten(text: str, limit: int) -> str:
    """``text`` cleaned and cut to ``limit`` characters, the last one an ellipsis when it was longer."""
    text = clean(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"
