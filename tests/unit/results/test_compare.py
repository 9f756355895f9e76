"""Mixed environments and claims on too few items are refused with the reason."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest

from dlmrt.errors import DataError
from dlmrt.results.compare import differences, require_comparable
from dlmrt.results.schema import ResultFile
from tests.unit.results.support import DATA, ENVIRONMENT, MODEL, RUN, bench_result, eval_result, put


def elsewhere(path: str, value: Any) -> ResultFile:
    environment = copy.deepcopy(ENVIRONMENT)
    put(environment, path, value)
    return eval_result(environment=environment)


def test_runs_of_one_machine_are_comparable() -> None:
    later = dataclasses.replace(RUN, started="2026-12-01T00:00:00+00:00", seconds=1.0, who="B")
    other = eval_result(run=later, settings={"limit": 9})
    require_comparable([eval_result(), other, elsewhere("memory_gb.available", 1.0)])
    require_comparable([eval_result()])
    require_comparable([])


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (elsewhere("cpu.usable_cores", 8), "environment.cpu.usable_cores is 2 and 8"),
        (elsewhere("packages.numpy", "1.26"), 'environment.packages.numpy is "2.4.6" and "1.26"'),
        (elsewhere("nvidia_driver", "570.1"), 'environment.nvidia_driver is not given and "570.1"'),
        (eval_result(hardware="h200"), 'hardware is "epyc-2-cores" and "h200"'),
        (eval_result(run=dataclasses.replace(RUN, version="0.2.0")), 'dlmrt is "0.1.0" and "0.2.0"'),
        (bench_result(), 'kind is "eval" and "bench"'),
        (
            eval_result(data={"repair": dataclasses.replace(DATA, sha256="00" * 32)}),
            "data.repair.sha256 is",
        ),
        (
            eval_result(models={"first-light": dataclasses.replace(MODEL, weights_sha256={})}),
            "models.first-light.weights_sha256 is",
        ),
    ],
)
def test_a_difference_is_named_with_both_values(other: ResultFile, said: str) -> None:
    with pytest.raises(DataError, match="mixed environments") as error:
        require_comparable([eval_result(), other])
    assert said in str(error.value)


def test_all_differences_are_named_once() -> None:
    other = elsewhere("cpu", {"model": "Xeon", "usable_cores": 4})
    assert differences([eval_result(), other, other]) == [
        'environment.cpu.model is "AMD EPYC" and "Xeon"',
        "environment.cpu.usable_cores is 2 and 4",
    ]


def test_other_models_and_sets_do_not_contradict() -> None:
    other = eval_result(models={"other": dataclasses.replace(MODEL, weights_sha256={})}, data={"b": DATA})
    assert differences([eval_result(), other]) == []
