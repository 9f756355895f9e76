"""Parity beyond the grid: mixed batches, other models, step budgets, cancelling, autoregression."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dlmrt.config import POLICIES, DecoderConfig, ResidualConfig
from dlmrt.rows import Backend, RowOutput, RowRequest
from tests.helpers import BLOCK, tiny_config, tiny_diffusion
from tests.parity.support import SAMPLED, TINY_DECODER, backends, differences, prompt, run, uneven_rows

MIXED: list[dict[str, Any]] = [
    {"policy": "fixed", "per_step": 3, **SAMPLED},
    {"policy": "entropy_bound", "seed": 7},
    {"policy": "threshold", "temperature": 0.5, "top_p": 0.6, "residual": False},
    {"policy": "joint", "temperature": 1.3, "top_k": 5, "seed": 8},
    {"policy": "threshold", "threshold": 0.9},
    {"policy": "joint", "max_post_steps": 0, "residual": False},
    {"policy": "fixed", "max_steps": 2, "temperature": 0.8},
]


def mixed_rows() -> list[RowRequest]:
    """Rows whose prompts, limits and settings all differ."""
    return [
        RowRequest(
            prompt(length, seed=20 + row),
            new,
            DecoderConfig(**{**TINY_DECODER, "seed": row, **settings}),
        )
        for row, (length, new, settings) in enumerate(
            zip((3, 8, 17, 1, 9, 12, 20), (9, 20, 16, 24, 2, 13, 30), MIXED, strict=True)
        )
    ]


@pytest.mark.parametrize("noise", ["mask", "uniform"])
def test_rows_keep_their_own_settings_in_a_mixed_batch(noise: str) -> None:
    reference, torch_loop = backends(tiny_config(), tiny_diffusion(noise=noise))
    rows = mixed_rows()
    assert differences(run(reference, rows), run(torch_loop, rows)) == []


def test_autoregressive_and_diffusion_rows_in_one_call() -> None:
    reference, torch_loop = backends(tiny_config(), tiny_diffusion())
    rows = mixed_rows()
    rows[1], rows[4] = replace(rows[1], method="ar"), replace(rows[4], method="ar_lookup")
    assert differences(run(reference, rows), run(torch_loop, rows)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"residual": ResidualConfig(top_k=None, alpha=0.15, d_hidden=16)},
        {"residual": ResidualConfig(top_k=1, alpha=0.15, d_hidden=16)},
        {"residual": None, "qk_norm": False, "n_kv_heads": 1},
        {"activation": "gelu_tanh", "tie_embeddings": False, "rotary_fraction": 1.0, "n_kv_heads": 4},
    ],
    ids=["whole vocabulary", "top 1", "no residual", "gelu and untied"],
)
def test_other_models(changes: dict[str, Any]) -> None:
    reference, torch_loop = backends(tiny_config(**changes), tiny_diffusion(noise="uniform"))
    rows = mixed_rows()[:4]
    assert differences(run(reference, rows), run(torch_loop, rows)) == []


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("max_steps", [1, 3])
def test_step_budgets(policy: str, max_steps: int) -> None:
    reference, torch_loop = backends(tiny_config(), tiny_diffusion(noise="uniform"))
    tight: dict[str, Any] = {"threshold": 1.0, "per_step": 1, "entropy_bound": 0.0, "max_steps": max_steps}
    rows = uneven_rows(policy=policy, **tight)
    expected = run(reference, rows)
    assert differences(expected, run(torch_loop, rows)) == []
    assert max(steps for output in expected.outputs for steps in output.steps_per_block) == max_steps


def test_cancelling_after_a_block() -> None:
    reference, torch_loop = backends(tiny_config(), tiny_diffusion(noise="uniform", eos_token_ids=()))
    rows = uneven_rows(policy="threshold")

    def cancelled(backend: Backend) -> list[RowOutput]:
        heard: list[int] = []

        def on_block(row: int, _: tuple[int, ...]) -> bool:
            heard.append(row)
            return row in (0, 4) or heard.count(row) == 2

        return backend.generate(rows, on_block=on_block)

    expected = cancelled(reference)
    assert expected == cancelled(torch_loop)
    reasons = [output.finish_reason for output in expected]
    # Rows 1, 3 and 4 reach their limits in the very block after which they are cancelled.
    assert reasons == ["cancelled", "length", "cancelled", "length", "length"]
    assert expected[0].commit_forwards == 0


def repetitive_rows(method: Any, **decoder: Any) -> list[RowRequest]:
    """Prompts that repeat themselves, so that lookup finds something to copy."""
    prompts = [prompt(1, 3), prompt(4, 4) * 4, prompt(BLOCK, 5) * 2 + prompt(2, 5), prompt(3, 6) * 5]
    return [
        RowRequest(ids, new, DecoderConfig(seed=row, **decoder), method)
        for row, (ids, new) in enumerate(zip(prompts, (12, 25, 1, 30), strict=True))
    ]


@pytest.mark.parametrize("method", ["ar", "ar_lookup"])
@pytest.mark.parametrize("clean_attention", ["block", "causal"])
@pytest.mark.parametrize("decoder", [{}, SAMPLED, {"temperature": 0.3}], ids=["greedy", "sampled", "cool"])
def test_autoregression(method: str, clean_attention: str, decoder: dict[str, Any]) -> None:
    reference, torch_loop = backends(tiny_config(clean_attention=clean_attention), tiny_diffusion())
    rows = repetitive_rows(method, **decoder)
    expected = run(reference, rows)
    assert differences(expected, run(torch_loop, rows)) == []
    if method == "ar_lookup":
        assert sum(output.proposed_tokens for output in expected.outputs) > 0
