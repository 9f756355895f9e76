from __future__ import annotations

from typing import Any

import pytest

from dlmrt.engine.backends import SMALL_PARAMETERS, Choice, choose
from dlmrt.errors import MissingExtraError, RequestError


def pick(backend: str = "auto", **changes: Any) -> Choice:
    given: dict[str, Any] = {"device": None, "dtype": None, "parameters": 1000, "torch_installed": True}
    return choose(backend, **given | changes)


def test_auto_takes_numpy_for_a_small_model_and_says_why() -> None:
    small, large = pick(parameters=SMALL_PARAMETERS), pick(parameters=SMALL_PARAMETERS + 1)
    assert (small.name, large.name) == ("numpy", "eager")
    assert "30.0M" in small.reason
    assert "not small" in large.reason


def test_auto_without_torch_takes_numpy_however_large() -> None:
    choice = pick(parameters=10**9, torch_installed=False)
    assert choice.name == "numpy"
    assert choice.reason == "torch is not installed"


def test_asking_for_a_gpu_or_half_precision_means_torch() -> None:
    assert pick(device="cuda:1") == Choice("eager", "cuda:1", None, "device cuda:1 was asked for")
    assert pick(dtype="bfloat16").name == "eager"
    assert pick(device="cpu").name == "numpy"


@pytest.mark.parametrize(("backend", "changes"), [("eager", {}), ("auto", {"device": "cuda"})])
def test_torch_missing_names_the_command(backend: str, changes: dict[str, Any]) -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'dlmrt\[torch\]'"):
        pick(backend, torch_installed=False, **changes)


@pytest.mark.parametrize(
    ("backend", "changes", "message"),
    [
        ("nunpy", {}, "did you mean 'numpy'"),
        ("numpy", {"device": "cuda"}, "runs on the cpu"),
        ("numpy", {"dtype": "bfloat16"}, "float32"),
        ("eager", {"dtype": "bf16"}, "float32, bfloat16, float16"),
        ("auto", {"device": "tpu"}, "cpu, cuda"),
    ],
)
def test_what_cannot_be_is_refused(backend: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        pick(backend, **changes)
