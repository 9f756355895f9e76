"""When numbers may stand beside each other: same machine and software, same items, enough of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dlmrt.errors import DataError
from dlmrt.results.schema import ResultFile

# Facts of the environment that change from run to run and not with the machine.
_PASSING = frozenset({"available", "disk_free_gb", "embedded_model", "backends"})


def require_comparable(results: Sequence[ResultFile]) -> None:
    """Refuse results whose speeds or accuracies can't be compared with each other.

    Compared are the kind, the hardware, the environment (processor, GPUs, driver, packages, threads),
    the version of dlmrt, and the bytes behind every model and data set that two of them name alike.
    Raises DataError naming each fact that differs with two of its values.
    """
    found = differences(results)
    if found:
        raise DataError(
            "the results are of mixed environments or data and can't be compared: "
            + "; ".join(found)
            + ". Measure them in one run, or report them apart"
        )


def differences(results: Sequence[ResultFile]) -> list[str]:
    """Return one line for each fact in which the results differ, empty when they are comparable."""
    found = []
    for first, second in ((results[0], other) for other in results[1:]):
        mine, theirs = _facts(first), _facts(second)
        for name in sorted({*mine, *theirs}):
            if name.startswith(("models.", "data.")) and not (name in mine and name in theirs):
                continue  # only what both name can contradict
            a, b = mine.get(name), theirs.get(name)
            if a != b:
                found.append(f"{name} is {_show(a)} and {_show(b)}")
    return [*dict.fromkeys(found)]


def _facts(result: ResultFile) -> dict[str, Any]:
    facts: dict[str, Any] = {"kind": result.kind, "hardware": result.hardware, "dlmrt": result.run.version}
    facts.update(_flat(result.environment, "environment"))
    for name, model in result.models.items():
        facts[f"models.{name}.weights_sha256"] = model.weights_sha256
        facts[f"models.{name}.random_weights"] = model.random_weights
    facts.update({f"data.{name}.sha256": data.sha256 for name, data in result.data.items()})
    return facts


def _flat(part: Mapping[str, Any], at: str) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name, value in part.items():
        if name in _PASSING:
            continue
        where = f"{at}.{name}"
        facts.update(_flat(value, where) if isinstance(value, Mapping) else {where: value})
    return facts


def _show(value: Any) -> str:
    text = "not given" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
