"""The first canvas, the next one, and the noise on them."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
import torch

from dlmrt.config import DecoderConfig
from dlmrt.decode.rng import noise_ids
from dlmrt.decode.state import DecodeState, RowSettings, next_block
from dlmrt.rows import RowRequest
from tests.helpers import BLOCK, MASK_ID
from tests.unit.decode.support import LENGTHS, NOISES, prompt, start, tiny_backend


@pytest.mark.parametrize("noise", NOISES)
def test_b02_the_first_canvas_keeps_the_prompts_tail_on_the_grid(noise: str) -> None:
    requests = [RowRequest(prompt(length), 9, DecoderConfig(seed=length)) for length in LENGTHS]
    at = start(tiny_backend(noise), requests)
    assert at.state.start_B.tolist() == [0, 0, 0, BLOCK, BLOCK]
    for row, request in enumerate(requests):
        tail = list(request.prompt_ids[len(request.prompt_ids) // BLOCK * BLOCK :])
        assert at.state.canvas_BS[row, : len(tail)].tolist() == tail
        assert at.state.fixed_BS[row].tolist() == [i < len(tail) for i in range(BLOCK)]
        assert torch.equal(at.state.open_BS[row], ~at.state.fixed_BS[row])
    assert at.state.settings.end_B.tolist() == [length + 9 for length in LENGTHS]


def test_noise_of_the_first_canvas_is_the_mask_or_draws_of_counter_zero() -> None:
    request = RowRequest(prompt(3), 9, DecoderConfig(seed=77))
    masked = start(tiny_backend("mask"), [request]).state
    assert masked.canvas_BS[0, 3:].tolist() == [MASK_ID] * (BLOCK - 3)
    at = start(tiny_backend("uniform"), [request])
    expected = noise_ids(
        torch.tensor([77]), torch.arange(BLOCK)[None], torch.tensor([0]), at.backend.tables.allowed
    )
    assert torch.equal(at.state.canvas_BS[0, 3:], expected[0, 3:])


@pytest.mark.parametrize("noise", NOISES)
def test_next_block_opens_rows_that_are_done_and_leaves_the_others_alone(noise: str) -> None:
    requests = [RowRequest(prompt(3), 30, DecoderConfig(seed=row)) for row in range(2)]
    at = start(tiny_backend(noise), requests)
    # Both have done two steps; the noise of step 2 is on row 1, whose block goes on.
    ids = noise_ids(
        at.state.settings.seed_B, at.state.position_BS, torch.tensor([2, 2]), at.backend.tables.allowed
    )
    canvas_BS = (
        at.state.canvas_BS if noise == "mask" else torch.where(at.state.open_BS, ids, at.state.canvas_BS)
    )
    state = replace(
        at.state,
        canvas_BS=canvas_BS,
        open_BS=at.state.open_BS & torch.tensor([[False], [True]]),
        residual_probs_BSR=at.state.residual_probs_BSR + 0.5,
        step_B=torch.tensor([2, 2]),
        post_B=torch.tensor([1, 1]),
        closed_B=torch.tensor([True, False]),
        done_B=torch.tensor([True, False]),
    )
    after = next_block(state, at.plan, at.tables)
    for field in fields(DecodeState):
        if field.name != "settings":
            assert torch.equal(getattr(after, field.name)[1], getattr(state, field.name)[1]), field.name
    assert after.start_B.tolist() == [BLOCK, 0]
    assert after.open_BS[0].all()
    assert not after.fixed_BS[0].any()
    assert not after.residual_probs_BSR[0].any()
    assert [after.step_B[0], after.post_B[0], after.closed_B[0], after.done_B[0]] == [0, 0, False, False]
    fresh = noise_ids(torch.tensor([0]), after.position_BS[:1], torch.tensor([0]), at.tables.allowed)
    assert after.canvas_BS[0].tolist() == ([MASK_ID] * BLOCK if noise == "mask" else fresh[0].tolist())


def test_select_takes_rows_with_their_settings() -> None:
    requests = [RowRequest(prompt(length), 9, DecoderConfig(seed=length)) for length in LENGTHS]
    state = start(tiny_backend(), requests).state
    picked = state.select(torch.tensor([3, 1]))
    assert torch.equal(picked.canvas_BS, state.canvas_BS[[3, 1]])
    for field in fields(RowSettings):
        assert torch.equal(getattr(picked.settings, field.name), getattr(state.settings, field.name)[[3, 1]])


def test_settings_of_a_greedy_row_have_no_filters() -> None:
    decoders = [DecoderConfig(top_k=5, top_p=0.5), DecoderConfig(top_k=5, top_p=0.5, temperature=1.0)]
    settings = start(tiny_backend(), [RowRequest((7,), 1, decoder) for decoder in decoders]).state.settings
    assert settings.top_k_B.tolist() == [0, 5]
    assert settings.top_p_B.tolist() == [1.0, 0.5]
