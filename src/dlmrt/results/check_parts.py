"""Checks of the parts that both kinds of results share: shares, distributions, rates, floors, bins.

Each raises DataError that begins with the place of the value, as in ``cells[2].accuracy.hits is 9 of 5``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from dlmrt.errors import DataError
from dlmrt.results.schema import (
    Calibration,
    CalibrationBin,
    Distribution,
    Floor,
    ForwardCounts,
    PhaseShares,
    ShareOf,
    TokensPerForward,
)
from dlmrt.stats.calibration import expected_calibration_error
from dlmrt.stats.intervals import wilson


def need(ok: bool, at: str, said: str) -> None:
    """Raise DataError ``at said`` unless ``ok``."""
    if not ok:
        raise DataError(f"{at} {said}")


def close(a: float, b: float) -> bool:
    """Whether two numbers are the same but for rounding on the way through a file."""
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)


def at_least(value: float | None, least: float, at: str) -> None:
    """Refuse a number below ``least``; None, not measured, passes."""
    if value is not None:
        need(value >= least, at, f"is {value}; it must be >= {least:g}, or null if not measured")


def check_fields(part: object, names: str, at: str, least: float = 0) -> None:
    """Refuse a number below ``least`` in any of the named fields of ``part``."""
    for name in names.split():
        at_least(getattr(part, name), least, f"{at}.{name}")


def check_text(value: str, at: str) -> None:
    """Refuse an empty name."""
    need(bool(value.strip()), at, "is empty; it must be named")


def check_interval(interval: tuple[float, float], inside: float, at: str, least: float, most: float) -> None:
    """Refuse an interval that leaves [least, most] or doesn't hold the value that it belongs to."""
    low, high = interval
    need(least <= low <= high <= most, at, f"is [{low}, {high}]; it must lie inside [{least:g}, {most:g}]")
    need(
        low <= inside <= high or close(low, inside) or close(high, inside),
        at,
        f"is [{low}, {high}] and does not hold {inside}, whose interval it is",
    )


def check_share(part: ShareOf, at: str) -> None:
    """Refuse hits outside the total, and a share or interval that is not theirs."""
    need(part.total >= 0, f"{at}.total", f"is {part.total}; it must be >= 0")
    need(0 <= part.hits <= part.total, f"{at}.hits", f"is {part.hits} of {part.total}")
    if part.total == 0:
        need(part.share is None, f"{at}.share", f"is {part.share} of no items; it must be null")
        need(part.interval_95 is None, f"{at}.interval_95", "is given for no items; it must be null")
        return
    share = part.hits / part.total
    need(
        part.share is not None and close(part.share, share),
        f"{at}.share",
        f"is {part.share}; {part.hits} of {part.total} is {share}",
    )
    need(part.interval_95 is not None, f"{at}.interval_95", "is null; it must be given with a share")
    if part.interval_95 is not None:
        check_interval(part.interval_95, share, f"{at}.interval_95", 0, 1)
        expected = wilson(part.hits, part.total)
        need(
            all(map(close, part.interval_95, expected)),
            f"{at}.interval_95",
            f"is {list(part.interval_95)}; Wilson's for {part.hits} of {part.total} is {list(expected)}",
        )


def check_distribution(part: Distribution | None, at: str, *, count: int | None = None) -> None:
    """Refuse a distribution out of order, with a negative value, or of more than ``count`` values."""
    if part is None:
        return
    need(part.count >= 1, f"{at}.count", f"is {part.count}; a distribution of no values must be null")
    if count is not None:
        need(part.count <= count, f"{at}.count", f"is {part.count}; there are only {count}")
    at_least(part.minimum, 0, f"{at}.minimum")
    names = ("minimum", "p10", "p25", "median", "p75", "p90", "maximum")
    for left, right in itertools.pairwise(names):
        a, b = getattr(part, left), getattr(part, right)
        need(a <= b or close(a, b), f"{at}.{left}", f"is {a}, more than {right}, which is {b}")
    inside = part.minimum <= part.mean <= part.maximum
    need(
        inside or close(part.mean, part.minimum) or close(part.mean, part.maximum),
        f"{at}.mean",
        f"is {part.mean}, outside {part.minimum} to {part.maximum}",
    )


def check_forwards(part: ForwardCounts | None, at: str) -> None:
    """Refuse negative counts."""
    if part is not None:
        check_fields(part, "prefill denoise commit", at)


def check_tokens_per_forward(
    part: TokensPerForward | None, at: str, decided: int | None = None, forwards: ForwardCounts | None = None
) -> None:
    """Refuse rates below 0, higher with commits than without, or not those of the cell's own counts."""
    if part is None:
        return
    for name in ("mean_of_ratios", "ratio_of_sums"):
        value, without = getattr(part, name), getattr(part, f"{name}_without_commits")
        at_least(value, 0, f"{at}.{name}")
        need(
            without >= value or close(without, value),
            f"{at}.{name}_without_commits",
            f"is {without}, less than {value} with commits; leaving forwards out can't lower it",
        )
    check_distribution(part.per_answer, f"{at}.per_answer")
    if part.per_answer is not None:
        mean = part.per_answer.mean
        need(
            close(mean, part.mean_of_ratios), f"{at}.mean_of_ratios", f"is {part.mean_of_ratios}; "
            f"the mean of per_answer is {mean}",
        )  # fmt: skip
    if decided is not None and forwards is not None:
        with_commits = decided / max(1, forwards.denoise + forwards.commit)
        without = decided / max(1, forwards.denoise)
        for name, expected in (
            ("ratio_of_sums", with_commits),
            ("ratio_of_sums_without_commits", without),
        ):
            value = getattr(part, name)
            need(
                close(value, expected), f"{at}.{name}", f"is {value}; the cell's decided_tokens and forwards "
                f"give {expected}",
            )  # fmt: skip


def check_calibration(part: Calibration | None, at: str) -> None:
    """Refuse bins that don't tile [0, 1] or don't add up, and an error that is not theirs."""
    if part is None:
        return
    need(bool(part.bins), f"{at}.bins", "is empty; calibration that was not measured must be null")
    edge = 0.0
    for i, each in enumerate(part.bins):
        where = f"{at}.bins[{i}]"
        need(close(each.low, edge) and each.low < each.high, f"{where}.low", f"is {each.low}; the bin "
             f"begins at {edge} and ends at {each.high}")  # fmt: skip
        edge = each.high
        _check_bin(each, where)
    need(close(edge, 1), f"{at}.bins", f"end at {edge}; they must end at 1")
    total = sum(each.count for each in part.bins)
    need(part.tokens == total, f"{at}.tokens", f"is {part.tokens}; the bins hold {total}")
    error = expected_calibration_error(
        [(each.low, each.high, each.count, each.mean_confidence, each.correct) for each in part.bins]
    )
    given = part.expected_calibration_error
    same = given is error is None or (given is not None and error is not None and close(given, error))
    need(same, f"{at}.expected_calibration_error", f"is {given}; the bins give {error}")


def _check_bin(part: CalibrationBin, at: str) -> None:
    need(part.count >= 0, f"{at}.count", f"is {part.count}; it must be >= 0")
    for name, least, most in (("mean_confidence", part.low, part.high), ("correct", 0.0, 1.0)):
        value = getattr(part, name)
        need(
            (value is None) == (part.count == 0), f"{at}.{name}", f"is {value} with {part.count} tokens; "
            "it must be null exactly when there is none",
        )  # fmt: skip
        if value is not None:
            need(
                least <= value <= most or close(value, least) or close(value, most),
                f"{at}.{name}",
                f"is {value}; it must be in [{least:g}, {most:g}]",
            )


def check_floor(part: Floor | None, at: str) -> None:
    """Refuse a floor that doesn't follow from its own bytes, operations and rates."""
    if part is None:
        return
    check_fields(part, "positions context weight_bytes kv_bytes flops", at)
    for name in ("bandwidth_bytes_per_second", "matrix_flops_per_second"):
        value = getattr(part, name)
        need(value > 0, f"{at}.{name}", f"is {value}; a measured rate is > 0")
    memory = 1e3 * (part.weight_bytes + part.kv_bytes) / part.bandwidth_bytes_per_second
    arithmetic = 1e3 * part.flops / part.matrix_flops_per_second
    for name, expected in (
        ("memory_ms", memory),
        ("arithmetic_ms", arithmetic),
        ("ms", max(memory, arithmetic)),
    ):
        value = getattr(part, name)
        need(
            close(value, expected),
            f"{at}.{name}",
            f"is {value}; its bytes, operations and rates give {expected}",
        )


def check_phases(part: PhaseShares | None, at: str) -> None:
    """Refuse negative times, and parts (the queue apart) that add up to more than the whole."""
    if part is None:
        return
    check_fields(part, "queue tokenise prefill denoise commit detokenise other total", at)
    names = ("tokenise", "prefill", "denoise", "commit", "detokenise", "other")
    parts = math.fsum(getattr(part, name) or 0.0 for name in names)
    whole = part.total + (part.queue or 0.0)
    need(parts <= 1.01 * whole + 1e-6, f"{at}.total", f"is {part.total} s; its parts add up to {parts} s")


def check_counts(part: Mapping[str, int], at: str) -> None:
    """Refuse counts of reasons below 1: what did not happen is left out."""
    for name, value in part.items():
        need(value >= 1, f"{at}.{name}", f"is {value}; what did not happen is left out")
