"""The NumPy reference and the torch loop agree token for token, over the grid of what they can do."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import get_args

import pytest

from dlmrt.config import POLICIES, CleanAttention, DraftName, Noise, ResidualConfig
from dlmrt.decode.eager import EagerBackend
from dlmrt.reference import NumpyBackend
from tests.helpers import tiny_config, tiny_diffusion
from tests.parity.support import SAMPLED, Run, backends, differences, run, uneven_rows, without_ties


@cache
def grid_backends(clean_attention: CleanAttention, noise: Noise) -> tuple[NumpyBackend, EagerBackend]:
    return backends(tiny_config(clean_attention=clean_attention), tiny_diffusion(noise=noise))


@cache
def grid_runs(
    clean_attention: CleanAttention, noise: Noise, residual: bool, sampled: bool, policy: str
) -> tuple[Run, Run]:
    """Five rows (prompts of 0, 1, S-1, S and S+1 tokens) in one uneven batch, on both backends."""
    rows = uneven_rows(policy=policy, residual=residual, **(SAMPLED if sampled else {}))
    if noise == "mask":
        rows = without_ties(rows)
    reference, torch_loop = grid_backends(clean_attention, noise)
    return run(reference, rows), run(torch_loop, rows)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("sampled", [False, True], ids=["greedy", "sampled"])
@pytest.mark.parametrize("residual", [True, False], ids=["residual", "plain"])
@pytest.mark.parametrize("noise", get_args(Noise))
@pytest.mark.parametrize("clean_attention", get_args(CleanAttention))
def test_same_steps_and_answers(
    clean_attention: CleanAttention, noise: Noise, residual: bool, sampled: bool, policy: str
) -> None:
    reference, torch_loop = grid_runs(clean_attention, noise, residual, sampled, policy)
    assert differences(reference, torch_loop) == []


@pytest.mark.parametrize("top_k", [4, None])
@pytest.mark.parametrize("noise", get_args(Noise))
def test_drafts_of_the_prompt_are_the_same(noise: Noise, top_k: int | None) -> None:
    """Rows whose prompts repeat, so that later blocks find something; the second row has no draft."""
    config = tiny_config(residual=ResidualConfig(top_k=top_k, d_hidden=16))
    drafts: tuple[DraftName, ...] = ("prompt", "none", "prompt", "prompt", "prompt")
    rows = [
        replace(row, prompt_ids=row.prompt_ids * 3, decoder=replace(row.decoder, draft=draft))
        for draft, row in zip(drafts, without_ties(uneven_rows(policy="prefix")), strict=True)
    ]
    runs = [run(each, rows) for each in backends(config, tiny_diffusion(noise=noise))]
    assert differences(*runs) == []
    first = {row: steps[0].residual_probs_SR.sum() for row, steps in runs[0].steps.items()}
    assert first[1] == 0 and first[2] > 0


def test_the_grid_reaches_what_it_is_meant_to_compare() -> None:
    everything = [
        (policy, grid_runs("block", noise, residual, sampled, policy)[0])
        for noise in get_args(Noise)
        for residual in (True, False)
        for sampled in (True, False)
        for policy in POLICIES
    ]
    outputs = [output for _, one in everything for output in one.outputs]
    assert {output.finish_reason for output in outputs} == {"stop", "length"}
    assert any(output.ids and output.ended_by_eos for output in outputs)
    assert any(len(output.steps_per_block) >= 3 for output in outputs)
    records = [(policy, r) for policy, one in everything for steps in one.steps.values() for r in steps]
    assert {p for p, r in records if ((r.canvas_after_S != r.canvas_S) & ~r.open_S).any()} >= {"joint"}
    assert {p for p, r in records if (r.open_after_S & ~r.open_S).any()} == {"entropy_bound"}
    confidences = [float(c) for _, r in records for c in r.confidence_S[r.open_S]]
    assert min(confidences) < 0.05
    assert max(confidences) > 0.99
    assert 0.2 < sum(0.1 < c < 0.9 for c in confidences) / len(confidences)
