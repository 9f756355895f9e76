"""Properties of the reference loop: exact cache, limits, endings, hooks, independence of rows."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from dlmrt.config import POLICIES, CleanAttention, DecoderConfig, Noise, ResidualConfig
from dlmrt.errors import ConfigError, PromptError, RequestError
from dlmrt.reference import NumpyBackend
from dlmrt.rows import RowOutput, RowRequest, StepRecord
from tests.helpers import (
    BLOCK,
    EOS_ID,
    FIRST_TEXT_ID,
    MASK_ID,
    SECOND_EOS_ID,
    VOCAB,
    random_weights,
    tiny_config,
    tiny_diffusion,
)

SETTINGS: dict[str, Any] = {"threshold": 0.5, "edit_threshold": 0.6, "per_step": 2, "entropy_bound": 3.0}


def backend(noise: Noise = "uniform", *, use_cache: bool = True, **changes: Any) -> NumpyBackend:
    config = tiny_config(**changes)
    return NumpyBackend(random_weights(config, 1), config, tiny_diffusion(noise=noise), use_cache=use_cache)


def without_eos(noise: Noise = "uniform") -> NumpyBackend:
    config = tiny_config()
    return NumpyBackend(random_weights(config, 1), config, tiny_diffusion(noise=noise, eos_token_ids=()))


def request(length: int = 11, new: int = 21, **decoder: Any) -> RowRequest:
    ids = np.random.RandomState(length).randint(FIRST_TEXT_ID, VOCAB, length)
    return RowRequest(tuple(ids.tolist()), new, DecoderConfig(**{**SETTINGS, **decoder}))


def decode(one: NumpyBackend, asked: RowRequest) -> tuple[RowOutput, list[StepRecord]]:
    records: list[StepRecord] = []
    [output] = one.generate([asked], on_step=records.append)
    return output, records


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("noise", get_args(Noise))
@pytest.mark.parametrize("clean_attention", get_args(CleanAttention))
def test_the_cache_is_exact(policy: str, noise: Noise, clean_attention: CleanAttention) -> None:
    asked = [request(length, policy=policy, seed=length) for length in (3, 8, 18)]
    cached = backend(noise, clean_attention=clean_attention)
    recomputed = backend(noise, clean_attention=clean_attention, use_cache=False)
    assert cached.generate(asked) == recomputed.generate(asked)


@pytest.mark.parametrize("noise", get_args(Noise))
def test_the_cache_is_exact_in_every_probability(noise: Noise) -> None:
    asked = request(18, new=24)
    _, cached = decode(backend(noise), asked)
    _, recomputed = decode(backend(noise, use_cache=False), asked)
    assert len(cached) == len(recomputed)
    for a, b in zip(cached, recomputed, strict=True):
        np.testing.assert_allclose(a.confidence_S, b.confidence_S, atol=2e-5)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("length", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1])
@pytest.mark.parametrize("new", [1, BLOCK - 1, BLOCK, BLOCK + 1])
def test_exactly_so_many_tokens_and_forwards(policy: str, length: int, new: int) -> None:
    output, records = decode(without_eos(), request(length, new, policy=policy))
    blocks = -(-(length + new) // BLOCK) - length // BLOCK
    assert len(output.ids) == new
    assert output.finish_reason == "length"
    assert not output.ended_by_eos
    assert output.prefill_forwards == (length >= BLOCK)
    assert output.commit_forwards == blocks - 1
    assert len(output.steps_per_block) == blocks
    assert output.denoise_forwards == sum(output.steps_per_block) == len(records)
    assert output.seconds is not None
    assert (output.seconds.prefill > 0) == (length >= BLOCK)
    assert output.seconds.denoise > 0
    assert (output.seconds.commit > 0) == (blocks > 1)


def test_the_limit_reaches_to_the_last_position() -> None:
    config = tiny_config(max_positions=20)
    one = NumpyBackend(random_weights(config, 1), config, tiny_diffusion(eos_token_ids=()))
    [output] = one.generate([request(13, 7)])
    assert len(output.ids) == 7
    with pytest.raises(PromptError, match="20"):
        one.generate([request(13, 8)])


@pytest.mark.parametrize("noise", get_args(Noise))
@pytest.mark.parametrize("policy", POLICIES)
def test_an_answer_ends_before_its_first_eos(noise: Noise, policy: str) -> None:
    outputs = backend(noise).generate(
        [request(5, 40, policy=policy, temperature=1.0, seed=seed) for seed in range(12)]
    )
    reserved = {*tiny_diffusion().banned_ids, EOS_ID, SECOND_EOS_ID}
    for output in outputs:
        assert not reserved & set(output.ids)
        assert output.ended_by_eos == (output.finish_reason == "stop")
        assert (len(output.ids) < 40) == output.ended_by_eos
        assert output.decided_tokens == len(output.ids) + output.ended_by_eos
    assert {output.finish_reason for output in outputs} >= {"stop"}
    assert any(output.ended_by_eos and (5 + len(output.ids)) % BLOCK not in (0, 7) for output in outputs)


def test_an_eos_of_the_prompt_ends_nothing() -> None:
    one = backend()
    ids = (9, EOS_ID, 10, 11, 12, 13, 14, 15, 16, SECOND_EOS_ID, 17)
    output, records = decode(one, RowRequest(ids, 5, DecoderConfig(**SETTINGS)))
    assert output.ids
    assert all(record.canvas_after_S[:3].tolist() == [16, SECOND_EOS_ID, 17] for record in records)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_block_ends_when_nothing_before_its_eos_is_open(policy: str) -> None:
    config, early = tiny_config(), 0
    many_ends = tiny_diffusion(eos_token_ids=tuple(range(FIRST_TEXT_ID, 25)))
    one = NumpyBackend(random_weights(config, 1), config, many_ends)
    for seed in range(12):
        slow = {"threshold": 0.95, "edit_threshold": 1.0, "entropy_bound": 1.0, "max_post_steps": 0}
        output, records = decode(
            one, request(4, 20, policy=policy, temperature=1.0, seed=seed, per_step=1, **slow)
        )
        if output.ended_by_eos:
            place = (4 + len(output.ids)) % BLOCK
            still_open = records[-1].open_after_S
            assert records[-1].canvas_after_S[place] in many_ends.eos_token_ids
            assert not still_open[: place + 1].any()
            early += bool(still_open.any())
    assert early > 0, "no block of this policy ended before all of it was decided"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("noise", get_args(Noise))
def test_records_tell_the_whole_story(policy: str, noise: Noise) -> None:
    asked = request(11, 30, policy=policy, temperature=0.7, seed=3)
    output, records = decode(backend(noise), asked)
    diffusion = tiny_diffusion(noise=noise)
    answer = []
    for i, record in enumerate(records):
        fixed_count = max(len(asked.prompt_ids) - record.start, 0)
        assert record.start == record.block * BLOCK
        assert record.fixed_S.tolist() == [p < fixed_count for p in range(BLOCK)]
        assert record.canvas_S[:fixed_count].tolist() == list(asked.prompt_ids[record.start :])
        assert not (record.accept_S & record.fixed_S).any()
        assert not (record.open_after_S & record.accept_S).any()
        assert (record.canvas_after_S == record.token_S)[record.accept_S].all()
        assert not np.isin(record.token_S, diffusion.banned_ids).any()
        assert ((record.confidence_S > 0) & (record.confidence_S <= 1)).all()
        assert ((record.entropy_S >= 0) & (record.entropy_S <= np.log(VOCAB))).all()
        kept = record.residual_probs_SR.any(axis=1)
        assert not (kept & ~record.open_S).any()
        if record.step == 0:
            assert record.open_S.tolist() == (~record.fixed_S).tolist()
            assert not kept.any()
        else:
            before = records[i - 1]
            np.testing.assert_array_equal(record.canvas_S, before.canvas_after_S)
            np.testing.assert_array_equal(record.open_S, before.open_after_S)
            np.testing.assert_array_equal(kept, record.open_S)
            assert (np.diff(record.residual_probs_SR, axis=1) <= 0).all()
        hidden = record.canvas_S[record.open_S]
        assert (
            (hidden == MASK_ID).all() if noise == "mask" else not np.isin(hidden, diffusion.banned_ids).any()
        )
        if i + 1 == len(records) or records[i + 1].step == 0:
            answer += record.canvas_after_S[fixed_count:].tolist()
    assert tuple(answer[: len(output.ids)]) == output.ids


def test_uniform_noise_is_drawn_anew_every_step() -> None:
    _, records = decode(without_eos(), request(8, 8, policy="fixed", per_step=1))
    drawn = [tuple(record.canvas_S[record.open_S].tolist()) for record in records[:4]]
    assert len(records) == BLOCK
    assert all(a[:4] != b[:4] for a, b in pairwise(drawn))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("max_steps", [1, 2, 5])
def test_a_step_budget_decides_what_is_left(policy: str, max_steps: int) -> None:
    decoder = {"threshold": 1.0, "per_step": 1, "entropy_bound": 0.0, "edit_threshold": 0.0}
    asked = request(9, 20, policy=policy, **decoder, max_steps=max_steps)
    output, records = decode(without_eos("mask"), asked)
    assert set(output.steps_per_block) == {max_steps}
    assert len(output.ids) == 20
    assert MASK_ID not in output.ids
    assert all(not record.open_after_S.any() for record in records if record.step == max_steps - 1)


def test_default_budgets_bound_every_policy() -> None:
    never = {"threshold": 1.0, "per_step": 1, "entropy_bound": 0.0, "edit_threshold": 0.0}
    for policy in POLICIES:
        asked = request(9, 20, policy=policy, **never, max_post_steps=3)
        [output] = without_eos().generate([asked])
        assert max(output.steps_per_block) <= asked.decoder.step_budget(BLOCK)


def test_joint_goes_on_while_it_edits_and_at_most_so_many_steps() -> None:
    restless = {"policy": "joint", "threshold": 0.0, "edit_threshold": 0.0}
    one = without_eos()
    steps = {
        n: one.generate([request(8, 8, **restless, max_post_steps=n)])[0].denoise_forwards for n in (0, 1, 2)
    }
    assert steps == {0: 1, 1: 2, 2: 3}
    calm = {"policy": "joint", "threshold": 0.0, "edit_threshold": 1.0}
    assert one.generate([request(8, 8, **calm, max_post_steps=9)])[0].denoise_forwards == 2


def test_an_edit_in_a_post_step_changes_the_answer() -> None:
    restless = {"policy": "joint", "threshold": 0.0, "edit_threshold": 0.3}
    one = without_eos()
    first, _ = decode(one, request(8, 8, **restless, max_post_steps=0))
    edited, records = decode(one, request(8, 8, **restless, max_post_steps=1))
    assert first.ids == tuple(records[0].canvas_after_S.tolist())
    assert edited.ids == tuple(records[1].canvas_after_S.tolist())
    assert first.ids != edited.ids


@pytest.mark.parametrize("noise", get_args(Noise))
def test_a_row_alone_equals_the_row_in_a_batch(noise: Noise) -> None:
    one = backend(noise)
    asked = [
        request(length, 19, temperature=0.9, seed=length, policy=POLICIES[length % 4]) for length in range(9)
    ]
    assert one.generate(asked) == [one.generate([alone])[0] for alone in asked]
    assert one.generate(asked[::-1]) == one.generate(asked)[::-1]


def test_seeds() -> None:
    one = without_eos("mask")
    warm = [request(9, 16, temperature=1.0, seed=seed) for seed in (0, 1, 2**32, 0)]
    a, b, c, again = (output.ids for output in one.generate(warm))
    assert a == again
    assert len({a, b, c}) == 3
    cold = [request(9, 16, seed=seed) for seed in (0, 1)]
    assert one.generate(cold)[0].ids == one.generate(cold)[1].ids


def test_switching_the_residual_off_equals_a_model_without_one() -> None:
    config, diffusion = tiny_config(), tiny_diffusion(noise="uniform")
    weights = random_weights(config, 1)
    with_one = NumpyBackend(weights, config, diffusion)
    without = NumpyBackend(weights, replace(config, residual=None), diffusion)
    off, records = decode(with_one, request(residual=False))
    assert off == without.generate([request()])[0]
    assert records[1].residual_probs_SR.shape == (BLOCK, 0)
    assert off != with_one.generate([request()])[0]


@pytest.mark.parametrize("top_k", [1, 3, VOCAB, VOCAB + 1, None])
def test_residual_columns(top_k: int | None) -> None:
    one = backend(residual=ResidualConfig(top_k=top_k, alpha=0.15, d_hidden=16))
    _, records = decode(one, request(8, 8, policy="fixed", per_step=1))
    columns = VOCAB if top_k is None else min(top_k, VOCAB)
    assert {record.residual_ids_SR.shape for record in records} == {(BLOCK, columns)}
    if columns == VOCAB:
        np.testing.assert_allclose(records[1].residual_probs_SR[records[1].open_S].sum(axis=1), 1, atol=1e-5)


def test_blocks_are_handed_over_and_a_row_can_be_cancelled() -> None:
    one, asked = without_eos(), [request(11, 21), request(4, 21)]
    heard: list[tuple[int, tuple[int, ...]]] = []
    outputs = one.generate(asked, on_block=lambda row, ids: heard.append((row, ids)))
    for row, (output, lengths) in enumerate(zip(outputs, ([5, 8, 8], [4, 8, 8, 1]), strict=True)):
        parts = [ids for who, ids in heard if who == row]
        assert [len(ids) for ids in parts] == lengths
        assert tuple(i for ids in parts for i in ids) == output.ids
    heard.clear()

    def cancel_first(row: int, ids: tuple[int, ...]) -> bool:
        heard.append((row, ids))
        return row == 0 and len(heard) == 2

    cancelled, other = one.generate(asked, on_block=cancel_first)
    assert cancelled.finish_reason == "cancelled"
    assert cancelled.ids == outputs[0].ids[:13]
    assert cancelled.commit_forwards == 1
    assert other == outputs[1]


def test_cancelling_in_the_last_block_is_too_late() -> None:
    [output] = without_eos().generate([request(8, 8)], on_block=lambda *_: True)
    assert output.finish_reason == "length"


def test_bad_rows_are_refused_before_any_is_decoded() -> None:
    one, steps = backend(), []
    for bad, error in [
        (replace(request(), max_new_tokens=0), RequestError),
        (replace(request(), prompt_ids=(MASK_ID,)), PromptError),
        (replace(request(), prompt_ids=(VOCAB,)), PromptError),
        (replace(request(0), method="ar"), PromptError),
        (replace(request(), method="nonsense"), RequestError),  # type: ignore[arg-type]
    ]:
        with pytest.raises(error, match="row 1"):
            one.generate([request(), bad], on_step=steps.append)
    assert steps == []


def test_control_ids_outside_the_vocabulary_are_refused() -> None:
    config = tiny_config()
    with pytest.raises(ConfigError, match="eos_token_ids"):
        NumpyBackend(random_weights(config), config, tiny_diffusion(eos_token_ids=(VOCAB,)))


def test_no_rows() -> None:
    assert backend().generate([]) == []


def test_weights_are_left_as_they_were() -> None:
    config = tiny_config()
    weights = random_weights(config, 1)
    before = {name: value.copy() for name, value in weights.items()}
    NumpyBackend(weights, config, tiny_diffusion(noise="uniform")).generate([request(temperature=1.0)])
    for name, value in weights.items():
        np.testing.assert_array_equal(value, before[name])


def test_torch_is_never_imported() -> None:
    script = """
import sys
sys.modules["torch"] = sys.modules["transformers"] = sys.modules["jinja2"] = None
from tests.helpers import random_weights, tiny_config, tiny_diffusion
from dlmrt.config import DecoderConfig
from dlmrt.reference import NumpyBackend
from dlmrt.rows import RowRequest
one = NumpyBackend(random_weights(tiny_config()), tiny_config(), tiny_diffusion())
print([len(one.generate([RowRequest((9,) * 9, 4, DecoderConfig(), m)])[0].ids) for m in ("diffusion", "ar")])
"""
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[4, 4]"
