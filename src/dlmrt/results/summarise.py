"""Lists of measured values and counts as the summaries that a result file holds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dlmrt.errors import DataError
from dlmrt.results.schema import Distribution, ForwardCounts, ShareOf, TokensPerForward
from dlmrt.stats.counting import AnswerCounts
from dlmrt.stats.intervals import wilson


def share_of(hits: int, total: int) -> ShareOf:
    """Return ``hits`` of ``total`` with its share and 95 % Wilson interval (None when total is 0).

    Raises DataError: hits outside 0..total.
    """
    if total == 0 and hits == 0:
        return ShareOf(0, 0, None, None)
    return ShareOf(hits, total, hits / max(1, total), wilson(hits, total))


def distribution(values: Iterable[float]) -> Distribution | None:
    """Summarise values of one unit; None when there are none.

    Percentiles interpolate linearly between the two nearest ranks (Hyndman & Fan 1996, type 7).
    Raises DataError: a value that is NaN or infinite, which is a fault of whatever measured it.
    """
    ordered = [float(value) for value in values]
    for i, value in enumerate(ordered):
        if not math.isfinite(value):
            raise DataError(f"value {i} of {len(ordered)} is {value}; only finite values can be summarised")
    if not ordered:
        return None
    ordered.sort()
    # Rounding must not carry the mean of equal values past them.
    mean = min(max(math.fsum(ordered) / len(ordered), ordered[0]), ordered[-1])
    p10, p25, median, p75, p90 = (_quantile(ordered, q) for q in (0.1, 0.25, 0.5, 0.75, 0.9))
    return Distribution(len(ordered), mean, median, p10, p25, p75, p90, ordered[0], ordered[-1])


def _quantile(ordered: Sequence[float], q: float) -> float:
    at = q * (len(ordered) - 1)
    below = math.floor(at)
    if below + 1 == len(ordered):
        return ordered[below]
    low, high = ordered[below], ordered[below + 1]
    return min(low + (high - low) * (at - below), high)


def tokens_per_forward(counts: Sequence[AnswerCounts]) -> TokensPerForward | None:
    """Summarise decided tokens a forward over answers; None when there are none.

    A forward count of 0 (an answer that the prefill alone gave) divides as 1, as in
    :attr:`dlmrt.engine.request.Result.tokens_per_forward`.
    """
    if not counts:
        return None
    ratios = [each.tokens_per_forward for each in counts]
    without = [each.tokens_per_forward_without_commits for each in counts]
    decided, total = sum(each.decided for each in counts), forward_counts(counts)
    return TokensPerForward(
        mean_of_ratios=math.fsum(ratios) / len(counts),
        ratio_of_sums=decided / max(1, total.denoise + total.commit),
        mean_of_ratios_without_commits=math.fsum(without) / len(counts),
        ratio_of_sums_without_commits=decided / max(1, total.denoise),
        per_answer=distribution(ratios),
    )


def forward_counts(counts: Iterable[AnswerCounts]) -> ForwardCounts:
    """Sum how often the model ran over answers."""
    prefill = denoise = commit = 0
    for each in counts:
        prefill, denoise, commit = prefill + each.prefill, denoise + each.denoise, commit + each.commit
    return ForwardCounts(prefill, denoise, commit)
