"""Arms beside each other: paired tests on the same items, seeds, and what the items can carry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dlmrt.results.schema import EvalCell, PairedComparison, SeedSummary
from dlmrt.stats.intervals import mean_interval
from dlmrt.stats.paired import (
    Pairs,
    difference_interval,
    items_for_difference,
    items_for_margin,
    mcnemar_exact,
    pair_up,
)

# "Equal accuracy" is not to be claimed from fewer.
ITEMS_FOR_EQUALITY = 1000


def compare(
    first: str,
    second: str,
    task: str,
    outcomes: tuple[Sequence[bool], Sequence[bool]],
    *,
    seeds: tuple[int, int],
    margin: float | None,
) -> PairedComparison:
    """McNemar's test of two arms; ``outcomes``: correct or not, on the same items in the same order."""
    pairs = pair_up(*outcomes)
    share = pairs.discordant_share
    return PairedComparison(
        first=first,
        second=second,
        task=task,
        items=pairs.items,
        both=pairs.both,
        only_first=pairs.only_first,
        only_second=pairs.only_second,
        neither=pairs.neither,
        p_value=mcnemar_exact(pairs.only_first, pairs.only_second),
        difference=pairs.difference,
        difference_95=difference_interval(pairs),
        items_needed=items_for_difference(pairs.difference, share),
        note=_note(pairs, seeds, margin),
    )


def smallest_difference(items: int, discordant_share: float) -> float | None:
    """The least difference that ``items`` show with 80 % power when arms differ on such a share of items.

    None: not even if every item on which they differ favoured the same arm.
    """
    if discordant_share <= 0 or (items_for_difference(discordant_share, discordant_share) or 0) > items:
        return None
    low, high = 0.0, discordant_share
    for _ in range(40):
        middle = (low + high) / 2
        needed = items_for_difference(middle, discordant_share) if middle > 0 else None
        low, high = (low, middle) if needed is not None and needed <= items else (middle, high)
    return high


def _note(pairs: Pairs, seeds: tuple[int, int], margin: float | None) -> str:
    """What these items can and can't show, in a sentence or two."""
    share = pairs.discordant_share
    parts = [f"Seed {seeds[0]}." if seeds[0] == seeds[1] else f"Seeds {seeds[0]} and {seeds[1]}."]
    least = smallest_difference(pairs.items, share)
    if share == 0:
        parts.append("The arms never differ.")
    elif least is None:
        parts.append(
            f"The arms differ on {share:.1%} of the items, too few for {pairs.items} items to show a "
            "difference (5 % two-sided, power 80 %)."
        )
    else:
        parts.append(
            f"{pairs.items} items that differ this often show a difference of {100 * least:.1f} points or "
            "more (5 % two-sided, power 80 %)."
        )
    if pairs.items < ITEMS_FOR_EQUALITY:
        parts.append(f"Equal accuracy can't be claimed from fewer than {ITEMS_FOR_EQUALITY:,} items.")
    if margin is not None and margin > share:
        parts.append(f"A difference of {100 * margin:g} points can't be: the arms differ on {share:.1%}.")
    elif margin is not None:
        needed = items_for_difference(margin, share)
        parts.append(f"A difference of {100 * margin:g} points needs {needed:,} items.")
    return " ".join(parts)


def margins(cells: Iterable[EvalCell], margin: float) -> dict[str, int]:
    """For each arm on each task: items at which its accuracy is known to within +-``margin`` (95 %)."""
    return {
        f"{cell.arm} on {cell.task}, seed {cell.seed}": items_for_margin(cell.accuracy.share, margin)
        for cell in cells
        if cell.accuracy.share is not None
    }


def seed_summaries(cells: Iterable[EvalCell]) -> tuple[SeedSummary, ...]:
    """Mean and 95 % t interval over seeds of each arm on each task; arms with one seed have none."""
    groups: dict[tuple[str, str], list[EvalCell]] = {}
    for cell in cells:
        groups.setdefault((cell.arm, cell.task), []).append(cell)
    return tuple(_summary(arm, task, group) for (arm, task), group in groups.items() if len(group) > 1)


def _summary(arm: str, task: str, group: Sequence[EvalCell]) -> SeedSummary:
    shares = [cell.accuracy.share for cell in group if cell.accuracy.share is not None]
    rates = [cell.tokens_per_forward.ratio_of_sums for cell in group if cell.tokens_per_forward is not None]
    accuracy, accuracy_95 = mean_interval(shares)
    rate, rate_95 = mean_interval(rates) if len(rates) == len(group) else (None, None)
    return SeedSummary(
        arm=arm,
        task=task,
        seeds=tuple(cell.seed for cell in group),
        accuracy_mean=accuracy,
        accuracy_95=accuracy_95,
        tokens_per_forward_mean=rate,
        tokens_per_forward_95=rate_95,
    )


def comparisons(
    arms: Sequence[str],
    outcomes: Mapping[tuple[str, str], Sequence[bool]],
    seeds: Mapping[str, int],
    margin: float | None,
) -> tuple[PairedComparison, ...]:
    """The first arm against every other on every task.

    outcomes: by (arm, task), for the seed of the arm that ``seeds`` names.
    """
    first = arms[0]
    tasks = dict.fromkeys(task for _, task in outcomes)
    return tuple(
        compare(
            first,
            other,
            task,
            (outcomes[first, task], outcomes[other, task]),
            seeds=(seeds[first], seeds[other]),
            margin=margin,
        )
        for task in tasks
        for other in arms[1:]
    )
