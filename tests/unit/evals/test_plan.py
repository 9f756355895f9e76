"""What is refused before anything is loaded, and which seeds mean something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dlmrt.config import DecoderConfig, DiffusionConfig, GenerationDefaults
from dlmrt.engine.arms import Arm
from dlmrt.errors import DlmrtError, RequestError
from dlmrt.evals.plan import EvalPlan, prepare
from dlmrt.evals.sweep import Sweep
from dlmrt.models import folder as folders
from dlmrt.models.folder import ModelFolder
from tests.unit.evals.harness_support import make_plan

pytestmark = pytest.mark.usefixtures("quick_report")
SWEEP = Sweep("threshold", (0.5, 0.9))


@pytest.mark.parametrize(
    ("arms", "options", "changes", "message"),
    [
        (("diffusion",), {}, {"batch_size": 0}, "--batch-size is 0"),
        (("diffusion",), {}, {"jobs": 0}, "--jobs is 0"),
        (("diffusion",), {}, {"seeds": ()}, "--seeds is empty"),
        (("diffusion",), {}, {"seeds": (1, 1)}, "names 1 twice"),
        (("diffusion",), {}, {"sweep": SWEEP, "seeds": (1, 2)}, "cannot be used together"),
        (("diffusion",), {}, {"y_max": 0.5}, "belongs to the curve"),
        (("diffusion",), {}, {"sweep": SWEEP, "y_max": 1.5}, "--y-max is 1.5"),
        (("diffusion",), {}, {"claim_margin": 0.0}, "--claim-margin is 0.0"),
        (("diffusion",), {}, {"who": "!!"}, "--who is '!!'"),
        (("diffusion",), {}, {"paired": True}, "--paired compares two arms or more"),
        (("a:policy=fixed",), {}, {"sweep": SWEEP}, "threshold has no effect with policy 'fixed'"),
        (("diffusion",), {}, {"sweep": Sweep("threshold", (0.9, 1.05))}, "threshold is 1.05; it must be in"),
        (("diffusion",), {"threshold": 2.0}, {}, "threshold is 2.0"),
        (("diffusion",), {"max_new_tokens": 0}, {}, "max_new_tokens is 0"),
        (("a:max_new_tokens=x",), {}, {}, "max_new_tokens is 'x'"),
        (("diffusion",), {}, {"seeds": (0, 1)}, "temperature 0 and mask noise every seed gives the same"),
        (("diffusion:temperature=0.5", "ar"), {}, {"seeds": (0, 1)}, "arm 'ar': at temperature 0 every seed"),
        (("a:seed=3",), {"temperature": 1.0}, {"seeds": (0, 1)}, "it sets a seed and --seeds sets others"),
        (("a:backend=nump",), {}, {}, "did you mean 'numpy'"),
        (("a:model=nowhere",), {}, {}, "no model 'nowhere'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_loaded(
    folder: Path, arms: tuple[str, ...], options: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DlmrtError, match=message):
        prepare(make_plan(folder, arms, options=options, **changes))


def test_no_task_is_refused_with_the_reasons(folder: Path) -> None:
    arms = make_plan(folder).arms
    with pytest.raises(RequestError, match="there is no task to run \\(gsm8k: it is not there\\)"):
        prepare(EvalPlan((), arms, {"gsm8k": "it is not there"}))


def test_seeds_make_lanes_and_one_seed_is_always_allowed(folder: Path) -> None:
    run = prepare(make_plan(folder, ("diffusion", "ar"), options={"temperature": 0.5}, seeds=(4, 2)))
    assert [(lane.arm.name, lane.seed) for lane in run.lanes] == [
        ("diffusion", 4), ("diffusion", 2), ("ar", 4), ("ar", 2),
    ]  # fmt: skip
    assert [lane.settings.decoder.seed for lane in run.lanes] == [4, 2, 4, 2]
    assert run.total == 4 * 8
    (lane,) = prepare(make_plan(folder, seeds=(7,))).lanes
    assert lane.settings.decoder.seed == 7
    (lane,) = prepare(make_plan(folder, ("a:seed=3",))).lanes
    assert lane.seed == 3


def test_uniform_noise_makes_seeds_differ(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = folders.open_folder(folder)
    diffusion = DiffusionConfig(block_size=8, noise="uniform", eos_token_ids=(2,), pad_token_id=0)
    uniform = ModelFolder(
        real.path, real.config, GenerationDefaults(diffusion, real.generation.prompt, DecoderConfig())
    )
    monkeypatch.setattr("dlmrt.evals.plan.open_folder", lambda path: uniform)
    assert len(prepare(make_plan(folder, seeds=(0, 1))).lanes) == 2
    with pytest.raises(RequestError, match="arm 'ar'"):
        prepare(make_plan(folder, ("ar",), seeds=(0, 1)))


def test_the_fingerprint_follows_what_decides_answers(folder: Path) -> None:
    base = prepare(make_plan(folder, ("diffusion", "ar"))).fingerprint
    changed: list[dict[str, Any]] = [
        {"options": {"max_new_tokens": 5}}, {"seeds": (5,)}, {"batch_size": 2}, {"observe": False},
    ]  # fmt: skip
    prints = {prepare(make_plan(folder, ("diffusion", "ar"), **change)).fingerprint for change in changed}
    assert len(prints) == 4
    assert base not in prints
    same = make_plan(folder, ("diffusion", "ar"), paired=True, jobs=2, who="me", claim_margin=0.1)
    assert prepare(same).fingerprint == base
    assert isinstance(same.arms[0], Arm)


def test_other_threads_or_packages_are_another_plan(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of two environments in one run folder would stand in one result."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    first = prepare(make_plan(folder)).fingerprint
    assert prepare(make_plan(folder)).fingerprint == first
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    assert prepare(make_plan(folder)).fingerprint != first
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setattr("dlmrt.environment.report._version", lambda package: "0.0.1")
    assert prepare(make_plan(folder)).fingerprint != first
