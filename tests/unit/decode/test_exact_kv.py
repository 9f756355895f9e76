"""Exact KV: every step equals a forward that recomputes the whole sequence without a cache."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from dlmrt.config import POLICIES, CleanAttention
from dlmrt.decode.eager import EagerBackend
from dlmrt.models.residual import ResidualInput
from dlmrt.rows import RowRequest, StepRecord
from tests.helpers import BLOCK
from tests.unit.decode.support import LENGTHS, LIVELY, NOISES, SAMPLED, prompt, run, tiny_backend


def dense_mask(clean_len: int, total: int, clean: CleanAttention) -> Tensor:
    """sees[i, j]: clean tokens see clean tokens only; the canvas after them sees everything."""
    place = torch.arange(total)
    group = place // BLOCK if clean == "block" else place
    sees = group[:, None] >= group
    sees[:clean_len, clean_len:] = False
    sees[clean_len:] = True
    return sees


def recompute(backend: EagerBackend, clean: list[int], record: StepRecord) -> Tensor:
    """Logits [S, V] of the record's canvas from clean tokens and canvas in one forward."""
    model, total = backend.model, len(clean) + BLOCK
    sees = dense_mask(len(clean), total, model.config.clean_attention)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        scores = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(~sees, float("-inf"))
        return scores.softmax(-1) @ v

    columns = record.residual_ids_SR.shape[1]
    ids, probs = torch.zeros(1, total, columns, dtype=torch.int64), torch.zeros(1, total, columns)
    ids[0, len(clean) :], probs[0, len(clean) :] = record.residual_ids_SR, record.residual_probs_SR
    tokens = torch.tensor([[*clean, *record.canvas_S.tolist()]])
    with torch.no_grad():
        hidden = model(tokens, torch.arange(total)[None], attend, ResidualInput(ids, probs))
        logits: Tensor = model.logits(hidden)[0, len(clean) :]
    logits[:, list(backend.diffusion.banned_ids)] = float("-inf")
    return logits


def check_row(backend: EagerBackend, request: RowRequest, records: list[StepRecord]) -> list[int]:
    """Compare every step of a greedy row; return its committed tokens, the last block's included."""
    clean = list(request.prompt_ids[: len(request.prompt_ids) // BLOCK * BLOCK])
    for _, group in groupby(records, key=lambda record: record.start):
        steps = list(group)
        for record in steps:
            assert record.start == len(clean)
            probs = recompute(backend, clean, record).softmax(-1)
            # The proposal may be one of two that tie; its probability may not be lower than the best.
            proposed = probs.gather(1, record.token_S[:, None])[:, 0]
            assert torch.allclose(proposed, probs.amax(1), atol=1e-5)
            assert torch.allclose(record.confidence_S, proposed, atol=1e-5)
            expected = -(probs * probs.clamp_min(1e-30).log()).sum(1)
            assert torch.allclose(record.entropy_S, expected, atol=1e-4)
        clean += steps[-1].canvas_after_S.tolist()
    return clean


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("residual", [True, False], ids=["residual", "plain"])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("clean", ["block", "causal"])
def test_b16_cached_steps_equal_recomputation(
    clean: CleanAttention, noise: str, residual: bool, policy: str
) -> None:
    backend = tiny_backend(noise, eos=False, clean_attention=clean)
    decoder = replace(LIVELY, policy=policy, residual=residual)
    rows = [
        RowRequest(prompt(length), 11 + 3 * i, replace(decoder, seed=i)) for i, length in enumerate(LENGTHS)
    ]
    got = run(backend, rows)
    used_residual = False
    for row, request in enumerate(rows):
        tokens = check_row(backend, request, got.steps[row])
        length = len(request.prompt_ids)
        assert tokens[:length] == list(request.prompt_ids)
        assert tuple(tokens[length : length + request.max_new_tokens]) == got.outputs[row].ids
        used_residual |= any(record.residual_probs_SR.any() for record in got.steps[row])
    assert used_residual == residual


def test_b16_the_oracle_notices_a_stale_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the keys of the last denoising forward in place of the final tokens' it must fail."""
    from dlmrt.decode import eager

    def stale_commit(model: object, state: object, attend: object) -> None:
        """Commit the block before its tokens are final: noise everywhere."""
        tokens = torch.full_like(state.canvas_BS, 7)  # type: ignore[attr-defined]
        model(tokens, state.position_BS, attend)  # type: ignore[operator, attr-defined]

    monkeypatch.setattr(eager, "commit_block", stale_commit)
    backend = tiny_backend(eos=False)
    request = RowRequest(prompt(3), 2 * BLOCK, LIVELY)
    with pytest.raises(AssertionError):
        check_row(backend, request, run(backend, [request]).steps[0])


@pytest.mark.parametrize("top_k", [None, 49], ids=["null", "V"])
def test_b16_residual_over_the_whole_vocabulary(top_k: int | None) -> None:
    from dlmrt.config import ResidualConfig

    backend = tiny_backend(eos=False, residual=ResidualConfig(top_k=top_k, alpha=0.15, d_hidden=16))
    request = RowRequest(prompt(3), 11, LIVELY)
    records = run(backend, [request]).steps[0]
    check_row(backend, request, records)
    second = records[1]
    assert second.residual_ids_SR.shape == (BLOCK, 49)
    assert torch.allclose(second.residual_probs_SR.sum(1), second.open_S.float())


def test_b11_sampled_tokens_are_the_argmax_of_logits_plus_the_rows_noise() -> None:
    from dlmrt.decode.rng import STREAM_GUMBEL, gumbel_noise

    backend = tiny_backend(eos=False)
    decoder = replace(SAMPLED, top_k=0, top_p=1.0, seed=12)
    records = run(backend, [RowRequest(prompt(3), 5, decoder)]).steps[0]
    assert len(records) > 1
    for record in records:
        logits = recompute(backend, [], record)
        noise = gumbel_noise(
            torch.tensor([12]),
            torch.arange(BLOCK)[None],
            torch.tensor([record.step]),
            logits.shape[1],
            STREAM_GUMBEL,
        )
        score = logits / 0.8 + noise[0]
        assert (
            F.one_hot(record.token_S, logits.shape[1])
            .mul(score.nan_to_num(neginf=-1e9))
            .sum(1)
            .allclose(score.amax(1), atol=1e-4)
        )
