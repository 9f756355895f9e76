"""Arms are read strictly, and defaults reach only the methods that read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlmrt.engine.arms import Arm, Place, backend_facts, open_arms, parse_arms
from dlmrt.errors import RequestError
from tests import tiny_folder as tiny

HERE = Place(model="m")


def test_methods_by_name_and_labels_with_settings() -> None:
    arms = parse_arms(["diffusion", "lookup", "fast:policy=threshold,threshold=0.7,seed=3"], HERE, {})
    assert arms == (
        Arm("diffusion", {"method": "diffusion"}, HERE),
        Arm("lookup", {"method": "ar_lookup"}, HERE),
        Arm("fast", {"policy": "threshold", "threshold": 0.7, "seed": 3, "method": "diffusion"}, HERE),
    )


def test_names_may_be_joined_by_commas_before_the_first_settings() -> None:
    arms = parse_arms(["diffusion,ar,fast:policy=threshold,threshold=0.7", "lookup"], HERE, {})
    assert [arm.name for arm in arms] == ["diffusion", "ar", "fast", "lookup"]
    assert arms[2].options == {"policy": "threshold", "threshold": 0.7, "method": "diffusion"}


def test_each_place_is_loaded_once(folder: Path) -> None:
    arms = parse_arms(["diffusion", "ar", "b:backend=numpy"], Place(str(folder)), {})
    llms = open_arms(arms)
    assert set(llms) == {Place(str(folder)), Place(str(folder), "numpy")}
    facts = backend_facts(llms[arms[2].place])
    assert (facts.name, facts.reason, facts.device, facts.dtype) == ("numpy", "asked for", "cpu", "float32")


def test_an_arm_may_have_a_place_of_its_own() -> None:
    (arm,) = parse_arms(["b:model=runs/1,backend=eager,method=lookup"], HERE, {})
    assert arm.place == Place(model="runs/1", backend="eager")
    assert arm.options == {"method": "ar_lookup"}


def test_a_label_takes_the_method_of_its_model(folder: Path, tmp_path: Path) -> None:
    causal = tiny.write_llama_folder(tmp_path / "llama")
    arms = parse_arms([f"a:model={causal}", f"b:model={folder}", "c:model=nowhere"], Place(), {})
    assert [arm.options["method"] for arm in arms] == ["ar", "diffusion", "diffusion"]


def test_defaults_reach_only_who_reads_them() -> None:
    defaults = {"threshold": 0.5, "temperature": 0.3, "max_new_tokens": 7}
    diffusion, ar = parse_arms(["diffusion:threshold=0.9", "ar"], HERE, defaults)
    assert diffusion.options == {
        "threshold": 0.9, "temperature": 0.3, "max_new_tokens": 7, "method": "diffusion",
    }  # fmt: skip
    assert ar.options == {"temperature": 0.3, "max_new_tokens": 7, "method": "ar"}


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        ([], "no arm"),
        (["a:treshold=1"], "did you mean 'threshold'"),
        (["a:threshold"], "no value for 'threshold'"),
        (["a:seed=1,seed=2"], "'seed' twice"),
        (["ar", "ar:seed=1"], "two arms are called 'ar'"),
        ([":seed=1"], "no usable name"),
        (["threshold=0.7"], "no usable name"),
        (["a:seed=[1"], "can't be read"),
        (["difusion"], "'difusion' is no method; did you mean 'diffusion'"),
        (["gsm8k"], "'gsm8k' is no method .* a label needs some"),
        (["ar,"], "no usable name"),
        (["a:seed=1,b:seed=2"], "every arm with settings is a word of its own"),
    ],
)
def test_what_cannot_be_read_is_refused(specs: list[str], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        parse_arms(specs, HERE, {})


def test_a_default_that_no_arm_reads_is_refused() -> None:
    with pytest.raises(RequestError, match=r"threshold has no effect: no arm reads it \(ar, lookup\)"):
        parse_arms(["ar", "lookup"], HERE, {"threshold": 0.5})
    assert len(parse_arms(["ar", "diffusion"], HERE, {"threshold": 0.5})) == 2
