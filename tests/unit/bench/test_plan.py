from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from dlmrt.bench.plan import BenchPlan, ClaimPlan, Fitted, check_plan, default_arms, fit_prompts, server_plan
from dlmrt.bench.random_model import RandomModel, read_shape
from dlmrt.bench.server import ServerPlan
from dlmrt.engine.arms import Place, parse_arms
from dlmrt.errors import RequestError
from tests import tiny_folder as tiny
from tests.bench_support import subject, suite

SERVER = ServerPlan(url="http://localhost:1", suites=())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_folder(tmp_path_factory.mktemp("models") / "tiny")


def plan(folder: Path, *specs: str, **changes: Any) -> BenchPlan:
    arms = parse_arms(specs or ("diffusion",), Place(str(folder)), {})
    made = BenchPlan(suites=(suite("the end", "one two", "x" * 200),), arms=arms)
    return dataclasses.replace(made, **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arms": ()}, "nothing to measure"),
        ({"batches": (1, 0)}, "--batch is 1,0"),
        ({"batches": ()}, "--batch is empty"),
        ({"batches": (2, 2)}, "give each number once"),
        ({"lengths": (64, -1)}, "--max-new-tokens is 64,-1"),
        ({"repeats": 0}, "--repeats is 0"),
        ({"warmups": -1}, "--warmup is -1"),
        ({"limit": 0}, "--limit is 0"),
        ({"arms": (), "server": SERVER, "claim": ClaimPlan(5.0)}, "takes at least 8"),
        ({"server": dataclasses.replace(SERVER, url="nowhere")}, "nowhere"),
        ({"server": SERVER, "warmups": 0}, "warmups is 0; with a server it must be >= 1"),
    ],
)
def test_a_plan_that_can_not_be_is_refused(folder: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        check_plan(plan(folder, **changes))


def test_a_sound_plan_passes(folder: Path) -> None:
    check_plan(plan(folder, "diffusion", "ar", "fast:threshold=0.5", server=SERVER, lengths=(None, 8)))


def test_an_option_that_an_arm_does_not_read_is_refused(folder: Path) -> None:
    with pytest.raises(RequestError, match="per_step has no effect with policy 'threshold'"):
        check_plan(plan(folder, "odd:per_step=4"))


def test_random_weights_bring_their_own_model_and_a_fixed_policy(folder: Path) -> None:
    config = read_shape("d_model=16,n_layers=1,n_heads=2,d_ffn=24,vocab_size=1100")[1]
    random = RandomModel("custom", config)
    with pytest.raises(RequestError, match="drop one of them"):
        check_plan(plan(folder, random=random))
    for spec, words in (("odd:policy=prefix", "policy is 'prefix'"), ("odd:temperature=1", "no place")):
        with pytest.raises(RequestError, match=words):
            check_plan(plan(folder, random=random, arms=parse_arms([spec], Place(), {})))
    check_plan(plan(folder, random=random, arms=parse_arms(["wide:per_step=4", "ar"], Place(), {})))


def test_prompts_that_fit_every_arm_are_taken_and_the_others_counted(folder: Path) -> None:
    asked = plan(folder, "diffusion", "ar", lengths=(None, 80))
    short, long = fit_prompts(asked, {arm.place: subject(folder) for arm in asked.arms})
    assert [prompt.id for prompt in short.prompts] == ["p0", "p1"]
    assert short.left_out == 1
    assert short.note.startswith("left out: 1 of 3 prompts don't fit (the first: p2: the text is")
    assert [prompt.id for prompt in long.prompts] == ["p0", "p1"]
    assert long.length == 80


def test_the_smaller_context_decides_for_all_arms(folder: Path, tmp_path: Path) -> None:
    tight = tiny.write_folder(tmp_path / "tight", context=32)
    asked = plan(folder, "diffusion", f"other:model={tight}", lengths=(25,), suites=(suite("ab", "the"),))
    roomy = {arm.place: subject(folder) for arm in asked.arms}
    assert fit_prompts(asked, roomy)[0].left_out == 0
    with pytest.raises(RequestError, match=r"no prompt of mine fits: p0: .* at most 24"):
        fit_prompts(asked, {**roomy, asked.arms[1].place: subject(tight)})


def test_the_limit_takes_prompts_that_fit(folder: Path) -> None:
    asked = plan(folder, limit=1, suites=(suite("x" * 200, "the end", "more"),))
    (fitted,) = fit_prompts(asked, {arm.place: subject(folder) for arm in asked.arms})
    assert [prompt.id for prompt in fitted.prompts] == ["p1"]


def test_the_server_sees_what_the_arms_see(folder: Path) -> None:
    asked = plan(folder, server=SERVER, repeats=5, warmups=2)
    fitted = Fitted(asked.suites[0], 8, asked.suites[0].prompts[:2])
    sent = server_plan(asked, [fitted], 8)
    assert [prompt.id for prompt in sent.suites[0].prompts] == ["p0", "p1"]
    assert (sent.repeats, sent.warmups, sent.max_new_tokens) == (5, 2, 8)
    alone = server_plan(dataclasses.replace(asked, arms=(), limit=1), [fitted], None)
    assert [prompt.id for prompt in alone.suites[0].prompts] == ["p0"]


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        (None, ["diffusion", "ar", "lookup"]),
        ([], ["diffusion"]),
        (["lookup"], ["diffusion", "lookup"]),
    ],
)
def test_the_default_arms_are_what_the_model_supports(
    folder: Path, baseline: list[str] | None, expected: list[str]
) -> None:
    assert default_arms(str(folder), baseline) == expected


def test_a_plain_language_model_has_no_diffusion_arm(tmp_path: Path) -> None:
    llama = str(tiny.write_llama_folder(tmp_path / "llama"))
    assert default_arms(llama, None) == ["ar", "lookup"]
    assert default_arms(llama, ["ar"]) == ["ar"]
