from __future__ import annotations

import json
from typing import Any

import pytest

from dlmrt.config import DecoderConfig, DiffusionConfig, GenerationDefaults
from dlmrt.engine.request import Forwards, Result, Timings, answer_limit, check_options
from dlmrt.errors import PromptError, RequestError

DEFAULTS = GenerationDefaults(
    DiffusionConfig(block_size=8, mask_token_id=1), decoder=DecoderConfig(threshold=0.7, seed=3)
)


def refused(**options: Any) -> str:
    with pytest.raises(RequestError) as caught:
        check_options(options, DEFAULTS)
    return str(caught.value)


def test_defaults_are_the_models_and_single_options_override_them() -> None:
    settings = check_options({"temperature": 1, "stop": "x"}, DEFAULTS)
    assert settings.decoder == DecoderConfig(threshold=0.7, seed=3, temperature=1.0)
    assert settings.stop == ("x",)
    assert settings.method == "diffusion"


def test_the_default_method_is_the_models_first() -> None:
    plain = GenerationDefaults(DiffusionConfig(block_size=1, noise=None))
    for asked in ({}, {"method": None}, {"method": "ar"}):
        assert check_options(asked, plain).method == "ar"
        assert check_options({**asked, "method": "ar_lookup"}, plain).method == "ar_lookup"
    assert check_options({"method": None}, DEFAULTS).method == "diffusion"
    with pytest.raises(RequestError, match="no diffusion settings.*block_size.*noise.*mask_token_id"):
        check_options({"method": "diffusion"}, plain)
    with pytest.raises(RequestError, match=r"threshold has no effect with method 'ar'.*; leave it out$"):
        check_options({"threshold": 0.5}, plain)


def test_a_whole_decoder_replaces_the_defaults() -> None:
    whole = DecoderConfig(policy="fixed", per_step=2)
    assert check_options({"decoder": whole}, DEFAULTS).decoder == whole
    assert check_options({"decoder": whole, "per_step": 4}, DEFAULTS).decoder.per_step == 4
    assert "DecoderConfig" in refused(decoder={"policy": "fixed"})


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("max_tokens", "max_new_tokens"),
        ("temprature", "temperature"),
        ("treshold", "threshold"),
        ("Seed", "seed"),
    ],
)
def test_b10_an_unknown_option_names_the_nearest(name: str, near: str) -> None:
    message = refused(**{name: 1})
    assert f"'{name}'" in message
    assert f"did you mean '{near}'" in message


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": -1.0},
        {"temperature": "hot"},
        {"temperature": float("nan")},
        {"top_p": 0.0},
        {"seed": -1},
        {"seed": 1.5},
        {"policy": "treshold"},
        {"max_steps": 0},
        {"residual": 1},
    ],
)
def test_b10_a_value_out_of_range_or_of_the_wrong_type_is_refused(options: dict[str, Any]) -> None:
    (name,) = options
    assert name in refused(**options)


@pytest.mark.parametrize("name", ["threshold", "per_step", "max_steps", "residual", "policy"])
def test_b10_what_the_method_does_not_read_is_refused(name: str) -> None:
    value = {"policy": "fixed", "residual": False}.get(name, 1)
    assert name in refused(method="ar", **{name: value})
    assert check_options({"method": "ar", "temperature": 0.5, "seed": 1}, DEFAULTS).method == "ar"


@pytest.mark.parametrize(
    ("policy", "name", "value"),
    [
        ("fixed", "threshold", 0.5),
        ("threshold", "per_step", 2),
        ("threshold", "edit_threshold", 0.5),
        ("joint", "entropy_bound", 0.5),
    ],
)
def test_b10_what_the_policy_does_not_read_is_refused(policy: str, name: str, value: float) -> None:
    message = refused(policy=policy, **{name: value})
    assert name in message
    assert policy in message


def test_an_unknown_method_names_the_nearest() -> None:
    assert "did you mean 'diffusion'" in refused(method="difusion")


@pytest.mark.parametrize("stop", ["", ["a", ""], [1], 5])
def test_stop_strings_are_checked(stop: Any) -> None:
    assert "stop" in refused(stop=stop)


def test_the_answers_limit() -> None:
    assert answer_limit(None, 10, 24, 96) == 24
    assert answer_limit(None, 90, 24, 96) == 6  # the default gives way to the context
    assert answer_limit(86, 10, 24, 96) == 86
    with pytest.raises(RequestError, match=r"87 .*10 tokens.*96; ask for at most 86"):
        answer_limit(87, 10, 24, 96)
    for prompt in (96, 97):
        with pytest.raises(PromptError, match=rf"{prompt} tokens.*96"):
            answer_limit(None, prompt, 24, 96)
    for bad in (0, -1, True, 2.0):
        with pytest.raises(RequestError, match="max_new_tokens"):
            answer_limit(bad, 1, 24, 96)  # type: ignore[arg-type]


def make_result(**changes: Any) -> Result:
    fields: dict[str, Any] = {
        "text": "é",
        "ids": (5, 6, 7),
        "prompt_tokens": 8,
        "finish_reason": "stop",
        "ended_by_eos": True,
        "timings": Timings(load=1.0, tokenise=0.5, first_block=0.25, decode=1.5),
        "forwards": Forwards(prefill=1, denoise=2, commit=2),
        "steps_per_block": (1, 1),
        "method": "diffusion",
        "backend": "numpy",
        "backend_reason": "a test",
        "seed": 0,
    }
    return Result(**fields | changes)


def test_b22_b23_counts_leave_the_prefill_out_and_come_with_and_without_commits() -> None:
    result = make_result()
    assert result.tokens_per_forward == 4 / 4
    assert result.tokens_per_forward_without_commits == 4 / 2
    assert result.tokens_per_second == 3 / 1.5
    assert make_result(ended_by_eos=False).tokens_per_forward == 3 / 4


def test_a_result_becomes_json() -> None:
    data = json.loads(json.dumps(make_result().to_dict()))
    assert data["tokens"] == 3
    assert data["timings"]["total"] == 2.0
    assert data["timings"]["prefill"] is None
    assert data["forwards"] == {"prefill": 1, "denoise": 2, "commit": 2}
    assert data["tokens_per_forward"] == 1.0
