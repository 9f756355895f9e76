"""The eager loop from prompt to answer: lengths, endings, budgets, batches and seeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from dlmrt.config import POLICIES, DecoderConfig
from dlmrt.errors import ConfigError, PromptError, RequestError
from dlmrt.rows import RowRequest
from tests.helpers import BLOCK, EOS_ID, FIRST_TEXT_ID, MASK_ID, SECOND_EOS_ID, VOCAB, tiny_diffusion
from tests.unit.decode.support import (
    LENGTHS,
    LIVELY,
    NOISES,
    SAMPLED,
    prompt,
    run,
    same_record,
    scripted_backend,
    sure,
    tiny_backend,
)

WHOLE = {"threshold": 0.0, "per_step": BLOCK, "entropy_bound": 1e6}


def uneven(decoder: DecoderConfig) -> list[RowRequest]:
    """A row for each prompt length, with its own limit and seed.

    A canvas of masks alone looks the same from every position, so which of them is most confident is a
    matter of rounding: a row without a prompt accepts its whole block.
    """
    limits = (21, BLOCK - 1, 20, 2 * BLOCK, 1)
    rows = [
        RowRequest(prompt(length), limit, replace(decoder, seed=decoder.seed + row))
        for row, (length, limit) in enumerate(zip(LENGTHS, limits, strict=True))
    ]
    return [replace(rows[0], decoder=replace(rows[0].decoder, **WHOLE)), *rows[1:]]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("noise", NOISES)
def test_b01_prompt_tokens_are_never_denoised_nor_changed(noise: str, policy: str) -> None:
    # Its own EOS included: it is text, and ends nothing.
    ids = (*prompt(BLOCK), 7, EOS_ID, 9)
    decoder = replace(LIVELY, policy=policy, edit_threshold=0.0)
    got = run(tiny_backend(noise, eos=True), [RowRequest(ids, 12, decoder)])
    first = [record for record in got.steps[0] if record.block == 1]
    assert first
    for record in first:
        assert record.fixed_S.tolist() == [True] * 3 + [False] * 5
        assert record.canvas_S[:3].tolist() == record.canvas_after_S[:3].tolist() == [7, EOS_ID, 9]
        assert not (record.open_S | record.accept_S | record.open_after_S)[:3].any()
    assert len(got.outputs[0].ids) > 0


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("length", LENGTHS)
def test_b02_blocks_lie_on_the_absolute_grid(noise: str, length: int) -> None:
    got = run(tiny_backend(noise, eos=False), [RowRequest(prompt(length), 2 * BLOCK, SAMPLED)])
    starts = sorted({record.start for record in got.steps[0]})
    first = length // BLOCK * BLOCK
    assert starts == list(range(first, length + 2 * BLOCK, BLOCK))
    for record in got.steps[0]:
        assert record.block * BLOCK == record.start
        assert record.fixed_S.sum() == max(length - record.start, 0)


@pytest.mark.parametrize("length", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 96 - BLOCK, 95])
def test_b03_prompts_of_every_length_up_to_the_context(length: int) -> None:
    backend = tiny_backend(eos=False)
    new = min(96 - length, 11)
    (output,) = backend.generate([RowRequest(prompt(length), new, SAMPLED)])
    assert len(output.ids) == new
    assert output.prefill_forwards == (length >= BLOCK)


@pytest.mark.parametrize(("length", "new"), [(96 - BLOCK, BLOCK + 1), (96, 1), (97, 1), (0, 97)])
def test_b03_a_prompt_that_does_not_fit_gives_both_numbers(length: int, new: int) -> None:
    with pytest.raises(PromptError, match=rf"{length} prompt tokens \+ {new} new tokens .* has 96"):
        tiny_backend().generate([RowRequest(prompt(length), new)])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("new", [1, BLOCK - 1, BLOCK, BLOCK + 1])
def test_b04_max_new_tokens_is_exact(noise: str, policy: str, new: int) -> None:
    backend = tiny_backend(noise, eos=False)
    decoder = replace(SAMPLED, policy=policy)
    got = run(backend, [RowRequest(prompt(length), new, decoder) for length in LENGTHS])
    for row, output in enumerate(got.outputs):
        assert len(output.ids) == new
        assert output.finish_reason == "length"
        assert sum(got.blocks[row], ()) == output.ids
        assert not set(output.ids) & set(backend.diffusion.banned_ids)
        assert output.commit_forwards == len(output.steps_per_block) - 1
        assert output.denoise_forwards == sum(output.steps_per_block) == len(got.steps[row])


def spelled(text: dict[int, int], weak: tuple[int, ...] = ()) -> Any:
    """A script that proposes ``text[position]`` (id 9 elsewhere), weakly at the positions ``weak``."""
    table = torch.full((200,), 9)
    strength = torch.full((200,), 9.0)
    for position, token in text.items():
        table[position] = token
    strength[list(weak)] = 1.0
    return lambda positions, tokens: sure(table[positions], strength[positions])


@pytest.mark.parametrize("policy", ["threshold", "fixed", "entropy_bound"])
@pytest.mark.parametrize("eos", [EOS_ID, SECOND_EOS_ID])
def test_b06_eos_inside_a_block_ends_the_answer_there(policy: str, eos: int) -> None:
    decoder = DecoderConfig(policy=policy, threshold=0.9, per_step=BLOCK)
    got = run(scripted_backend(spelled({12: eos, 14: 11})), [RowRequest(prompt(5), 40, decoder)])
    (output,) = got.outputs
    assert output.ids == (9,) * 7  # positions 5 .. 11
    assert output.finish_reason == "stop"
    assert output.ended_by_eos
    assert output.decided_tokens == 8
    assert got.blocks[0] == [(9, 9, 9), (9, 9, 9, 9)]
    assert output.commit_forwards == 1


def test_b06_eos_waits_for_what_is_open_before_it_and_for_nothing_after_it() -> None:
    # Position 9 comes last but one: the EOS at 12 must wait for it, position 14 need never be decided.
    script = spelled({12: EOS_ID}, weak=(9, 14, 15))
    got = run(scripted_backend(script), [RowRequest(prompt(BLOCK), 40, DecoderConfig(threshold=0.9))])
    assert [int(record.accept_S.sum()) for record in got.steps[0]] == [5, 1]
    assert got.steps[0][-1].open_after_S.tolist() == [False] * 6 + [True] * 2
    assert got.outputs[0].ids == (9,) * 4
    assert got.outputs[0].finish_reason == "stop"


def test_b06_eos_beyond_the_limit_does_not_count() -> None:
    (output,) = scripted_backend(spelled({12: EOS_ID})).generate([RowRequest(prompt(BLOCK), 4)])
    assert (output.ids, output.finish_reason, output.ended_by_eos) == ((9,) * 4, "length", False)
    (output,) = scripted_backend(spelled({12: EOS_ID})).generate([RowRequest(prompt(BLOCK), 5)])
    assert (output.ids, output.finish_reason, output.ended_by_eos) == ((9,) * 4, "stop", True)


def test_b06_eos_first_of_all_is_an_empty_answer() -> None:
    got = run(scripted_backend(spelled({BLOCK: EOS_ID})), [RowRequest(prompt(BLOCK), 40)])
    assert got.outputs[0].ids == ()
    assert got.outputs[0].finish_reason == "stop"
    assert got.blocks[0] == [()]


def test_b07_finish_reasons_of_one_batch() -> None:
    """Row 0 is cancelled after its first block, row 1 stops, row 2 runs into its limit."""
    requests = [RowRequest(prompt(3), 40), RowRequest(prompt(4), 40), RowRequest(prompt(2), 14)]

    def on_block(row: int, ids: tuple[int, ...]) -> bool:
        return row == 0

    outputs = scripted_backend(spelled({18: EOS_ID})).generate(requests, on_block=on_block)
    assert [output.finish_reason for output in outputs] == ["cancelled", "stop", "length"]
    assert [len(output.ids) for output in outputs] == [5, 14, 14]
    assert [output.commit_forwards for output in outputs] == [0, 2, 1]


def test_b07_cancelling_a_row_that_has_just_ended_changes_nothing() -> None:
    outputs = scripted_backend(spelled({10: EOS_ID})).generate(
        [RowRequest(prompt(8), 40), RowRequest(prompt(8), 2)], on_block=lambda row, ids: True
    )
    assert [output.finish_reason for output in outputs] == ["stop", "length"]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("policy", POLICIES)
def test_b09_the_step_budget_decides_what_the_policy_never_would(noise: str, policy: str) -> None:
    def undecided(positions: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        return sure(positions % 7 + FIRST_TEXT_ID, 0.5)  # nearly flat: confidences of a few per cent

    backend = scripted_backend(undecided, tiny_diffusion(noise=noise))
    decoder = DecoderConfig(policy=policy, threshold=1.0, entropy_bound=0.0, max_steps=3)
    got = run(backend, [RowRequest(prompt(BLOCK), 2 * BLOCK, decoder)])
    assert got.outputs[0].steps_per_block == (3, 3)
    assert got.outputs[0].ids == tuple(i % 7 + FIRST_TEXT_ID for i in range(BLOCK, 3 * BLOCK))
    assert MASK_ID not in got.outputs[0].ids


def test_b09_joint_that_edits_for_ever_is_bounded() -> None:
    calls = 0

    def restless(positions: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        calls += 1
        return sure(torch.full_like(positions, FIRST_TEXT_ID + calls % 2))

    decoder = DecoderConfig(policy="joint", threshold=0.5, edit_threshold=0.5, max_post_steps=4)
    (output,) = scripted_backend(restless).generate([RowRequest(prompt(BLOCK), BLOCK, decoder)])
    assert output.steps_per_block == (5,)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("noise", NOISES)
def test_b11_temperature_zero_repeats_and_seeds_differ_above_it(noise: str, policy: str) -> None:
    backend = tiny_backend(noise, eos=False)
    request = RowRequest(prompt(3), 20, replace(LIVELY, policy=policy, seed=1))
    assert backend.generate([request]) == backend.generate([request])
    warm = [replace(request, decoder=replace(SAMPLED, policy=policy, seed=seed)) for seed in (1, 2, 1)]
    first, second, again = backend.generate(warm)
    assert first.ids == again.ids
    assert first.ids != second.ids


def test_b11_greedy_uniform_noise_depends_on_the_seed_alone() -> None:
    backend = tiny_backend("uniform", eos=False)
    rows = [RowRequest(prompt(3), 16, replace(LIVELY, seed=seed)) for seed in (1, 2**33 + 1, 1)]
    got = run(backend, rows)
    assert torch.equal(got.steps[0][0].canvas_S, got.steps[2][0].canvas_S)
    assert not torch.equal(got.steps[0][0].canvas_S, got.steps[1][0].canvas_S)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("residual", [True, False], ids=["residual", "plain"])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("decoder", [LIVELY, SAMPLED], ids=["greedy", "sampled"])
def test_b13_a_row_in_a_batch_is_the_row_alone(
    decoder: DecoderConfig, noise: str, residual: bool, policy: str
) -> None:
    backend = tiny_backend(noise)
    rows = uneven(replace(decoder, policy=policy, residual=residual))
    together = run(backend, rows)
    for row, request in enumerate(rows):
        alone = run(backend, [request])
        assert together.outputs[row] == alone.outputs[0]
        assert together.blocks[row] == alone.blocks[0]
        assert len(together.steps[row]) == len(alone.steps[0])
        for a, b in zip(together.steps[row], alone.steps[0], strict=True):
            assert same_record(a, b, atol=1e-4, ignore=("row",))


def test_b12_rows_of_one_batch_keep_their_own_settings() -> None:
    backend = tiny_backend(eos=False)
    rows = [
        RowRequest(prompt(3), 21, LIVELY),
        RowRequest(prompt(9), 7, replace(SAMPLED, policy="fixed", per_step=3, residual=False)),
        RowRequest(prompt(5), 16, replace(LIVELY, policy="entropy_bound", entropy_bound=2.0)),
        RowRequest(prompt(17), 12, replace(LIVELY, policy="joint", edit_threshold=0.3)),
        RowRequest(prompt(3), 21, replace(LIVELY, threshold=0.95)),
        RowRequest(prompt(3), 21, replace(SAMPLED, temperature=1.5, top_k=0, top_p=1.0, max_steps=2)),
        RowRequest(prompt(4), 9, LIVELY, method="ar"),
    ]
    together = backend.generate(rows)
    assert together == [backend.generate([request])[0] for request in rows]
    assert len({(output.ids, output.steps_per_block) for output in together}) == len(rows)


@pytest.mark.parametrize("noise", NOISES)
def test_b15_every_row_gets_its_answer_when_rows_end_at_different_times(noise: str) -> None:
    backend = tiny_backend(noise, eos=False)
    limits = (40, 3, 17, 1, 30, 8)
    rows = [RowRequest(prompt(2 * i + 1), new, replace(LIVELY, seed=i)) for i, new in enumerate(limits)]
    outputs = backend.generate(rows)
    assert [len(output.ids) for output in outputs] == list(limits)
    assert outputs == [backend.generate([request])[0] for request in rows]


def test_b23_prefill_denoise_and_commit_forwards_are_what_the_model_ran() -> None:
    backend = scripted_backend(spelled({}))
    (output,) = backend.generate([RowRequest(prompt(BLOCK + 2), 3 * BLOCK, DecoderConfig(threshold=0.9))])
    assert (output.prefill_forwards, output.denoise_forwards, output.commit_forwards) == (1, 4, 3)
    assert backend.model.forwards == 8  # type: ignore[attr-defined]
    assert output.seconds is not None
    assert output.seconds.denoise > 0


@pytest.mark.parametrize("noise", NOISES)
def test_a_bfloat16_model_decodes_uneven_rows(noise: str) -> None:
    backend = tiny_backend(noise, eos=False)
    backend.model.to(torch.bfloat16)
    rows = [*uneven(SAMPLED), RowRequest(prompt(4), 9, SAMPLED, method="ar_lookup")]
    got = run(backend, rows)
    assert [len(output.ids) for output in got.outputs] == [row.max_new_tokens for row in rows]
    assert all(record.confidence_S.dtype == torch.float32 for record in got.steps[1])


def test_no_rows_no_answers() -> None:
    assert tiny_backend().generate([]) == []


def test_hooks_may_train_on_what_they_get() -> None:
    """Records hold ordinary tensors, not inference tensors."""
    weight = torch.ones(VOCAB, 2, requires_grad=True)

    def on_step(record: Any) -> None:
        loss = torch.nn.functional.embedding(record.canvas_S, weight).sum() * record.confidence_S.sum()
        loss.backward()

    tiny_backend().generate([RowRequest(prompt(3), 5)], on_step=on_step)
    assert weight.grad is not None


def test_a_bad_row_is_refused_before_any_is_decoded() -> None:
    backend = scripted_backend(spelled({}))
    with pytest.raises(RequestError, match="row 1: max_new_tokens is 0"):
        backend.generate([RowRequest(prompt(3), 5), RowRequest(prompt(3), 0)])
    assert backend.model.forwards == 0  # type: ignore[attr-defined]


def test_control_ids_must_be_in_the_vocabulary() -> None:
    with pytest.raises(ConfigError, match=rf"eos_token_ids has id {VOCAB}"):
        scripted_backend(spelled({}), tiny_diffusion(eos_token_ids=(VOCAB,)))
