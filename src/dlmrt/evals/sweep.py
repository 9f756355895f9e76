"""One decoder option over a range: an arm for each value, and the curve through their points."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from dlmrt.engine.arms import Arm
from dlmrt.engine.request import AR_OPTIONS
from dlmrt.errors import RequestError, nearest
from dlmrt.results.schema import Curve, CurvePoint, EvalCell
from dlmrt.stats.curve import ALPHA, FORMULA, area_under_points

REALS = ("threshold", "entropy_bound", "edit_threshold", "temperature", "top_p")
WHOLE_NUMBERS = ("per_step", "max_post_steps", "max_steps", "top_k")
MOST_VALUES = 200


@dataclass(frozen=True)
class Sweep:
    """The option and its values, ascending and exact: 0.7 is what ``0.7`` reads as."""

    option: str
    values: tuple[float | int, ...]


@dataclass(frozen=True)
class SweptArm:
    """``name`` is arm ``base`` with the option at ``value``."""

    name: str
    base: str
    value: float


def parse_sweep(text: str) -> Sweep:
    """Read ``OPTION=START:STOP:STEP``, both ends included.

    Raises RequestError: another form, an option that is no number, a step <= 0, STOP < START, or more
    values than anybody draws.
    """
    option, equals, rest = text.partition("=")
    parts = rest.split(":")
    if not equals or len(parts) != 3:
        raise RequestError(f"--sweep is '{text}'; write OPTION=START:STOP:STEP, as threshold=0.5:0.95:0.05")
    allowed = (*REALS, *WHOLE_NUMBERS)
    if option not in allowed:
        raise RequestError(
            f"--sweep names '{option}'{nearest(option, allowed)}; what can be swept: {', '.join(allowed)}"
        )
    try:
        start, stop, step = (Decimal(part) for part in parts)
    except InvalidOperation:
        raise RequestError(f"--sweep is '{text}'; START, STOP and STEP must be numbers") from None
    if not all(value.is_finite() for value in (start, stop, step)):
        raise RequestError(f"--sweep is '{text}'; START, STOP and STEP must be finite")
    if step <= 0 or stop < start:
        raise RequestError(f"--sweep is '{text}'; it needs START <= STOP and a STEP > 0")
    count = int((stop - start) / step) + 1
    if count > MOST_VALUES:
        raise RequestError(
            f"--sweep is '{text}', which is {count} values; at most {MOST_VALUES}: take a larger STEP"
        )
    values = [start + i * step for i in range(count)]
    if option in REALS:
        return Sweep(option, tuple(float(value) for value in values))
    if any(value != int(value) for value in values):
        raise RequestError(f"--sweep is '{text}'; {option} takes whole numbers")
    return Sweep(option, tuple(int(value) for value in values))


def expand(arms: Sequence[Arm], sweep: Sweep | None) -> tuple[tuple[Arm, ...], tuple[SweptArm, ...]]:
    """Replace every arm whose method can read the option by one arm a value; others stay as they are.

    Whether the arm's policy reads the option is for the engine to check.
    Raises RequestError: no arm can read it, or an arm sets it by itself.
    """
    if sweep is None:
        return tuple(arms), ()
    expanded: list[Arm] = []
    swept: list[SweptArm] = []
    for arm in arms:
        if arm.options.get("method") != "diffusion" and sweep.option not in AR_OPTIONS:
            expanded.append(arm)
            continue
        if sweep.option in arm.options:
            raise RequestError(
                f"arm '{arm.name}' sets {sweep.option} to {arm.options[sweep.option]} and the sweep varies "
                "it; leave one of them out"
            )
        for value in sweep.values:
            name = f"{arm.name}@{value:g}" if isinstance(value, int) else f"{arm.name}@{value!r}"
            swept.append(SweptArm(name, arm.name, float(value)))
            expanded.append(dataclasses.replace(arm, name=name, options={**arm.options, sweep.option: value}))
    if not swept:
        raise RequestError(
            f"--sweep {sweep.option}: no arm reads it ({', '.join(arm.name for arm in arms)} decode "
            "autoregressively); add the arm 'diffusion' or sweep another option"
        )
    return tuple(expanded), tuple(swept)


def curves(
    cells: Iterable[EvalCell], sweep: Sweep, swept: Sequence[SweptArm], y_max: float | None
) -> tuple[Curve, ...]:
    """One curve for each swept arm and task, sorted by tokens per forward.

    y_max: given, or the best accuracy that any arm of the run (swept or not) reached on the task. A cell
    without a decoded answer is no point, and a curve has at least one.
    """
    by_name = {arm.name: arm for arm in swept}
    by_task: dict[str, list[EvalCell]] = {}
    for cell in cells:
        by_task.setdefault(cell.task, []).append(cell)
    found = []
    for task, all_cells in by_task.items():
        best = max((cell.accuracy.share or 0.0) for cell in all_cells) if y_max is None else y_max
        for base in dict.fromkeys(arm.base for arm in swept):
            points = sorted(
                (
                    CurvePoint(by_name[c.arm].value, c.accuracy.share, c.tokens_per_forward.ratio_of_sums)
                    for c in all_cells
                    if c.arm in by_name
                    and by_name[c.arm].base == base
                    and c.tokens_per_forward is not None
                    and c.accuracy.share is not None
                ),
                key=lambda point: (point.tokens_per_forward, point.value),
            )
            if not points:
                continue
            area = area_under_points([(p.tokens_per_forward, p.accuracy) for p in points], y_max=best)
            found.append(Curve(base, task, sweep.option, tuple(points), area, FORMULA, ALPHA, best))
    return tuple(found)
