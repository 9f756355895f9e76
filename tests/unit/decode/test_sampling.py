"""Proposals: filters a row at a time, ties, confidence, entropy and the residual's top R."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from dlmrt.config import DecoderConfig
from dlmrt.decode.rng import STREAM_GUMBEL
from dlmrt.decode.sampling import Proposal, entropy, filter_top_k, filter_top_p, propose, top_r
from dlmrt.decode.state import RowSettings, StepPlan
from dlmrt.rows import RowRequest
from tests.helpers import tiny_config, tiny_diffusion

INF = float("inf")


def propose_for(logits_BSV: Tensor, *decoders: DecoderConfig) -> Proposal:
    requests = [RowRequest((5,), 1, decoder) for decoder in decoders]
    plan = replace(
        StepPlan.of(requests, tiny_config(vocab_size=logits_BSV.shape[-1]), tiny_diffusion()), entropy=True
    )
    settings = RowSettings.of(requests, range(len(requests)), 8, torch.device("cpu"))
    position_BS = torch.arange(logits_BSV.shape[1]).expand(len(requests), -1)
    counter_B = torch.zeros(len(requests), dtype=torch.int64)
    raw_BSV = logits_BSV.softmax(-1)
    return propose(logits_BSV, raw_BSV, settings, plan, position_BS, counter_B, STREAM_GUMBEL)


def test_b10_top_k_keeps_each_rows_own_number_and_all_ties() -> None:
    logits = torch.tensor([3.0, 2.0, 2.0, 1.0, 0.0]).expand(4, 1, 5)
    kept = filter_top_k(logits, torch.tensor([1, 2, 4, 0]), 4) > -INF
    assert kept[:, 0].tolist() == [
        [True, False, False, False, False],
        [True, True, True, False, False],
        [True, True, True, True, False],
        [True, True, True, True, True],
    ]


def test_b10_top_p_counts_what_lies_before_an_entry() -> None:
    logits = torch.tensor([0.2, 0.5, 0.3]).log().expand(4, 1, 3)
    kept = filter_top_p(logits, torch.tensor([0.4, 0.6, 0.9, 1.0])) > -INF
    assert kept[:, 0].tolist() == [
        [False, True, False],
        [False, True, True],
        [True, True, True],
        [True, True, True],
    ]


def test_b10_top_p_takes_equal_entries_in_the_order_of_their_ids() -> None:
    kept = filter_top_p(torch.zeros(1, 1, 4), torch.tensor([0.3])) > -INF
    assert kept.flatten().tolist() == [True, True, False, False]


def test_temperature_zero_takes_the_likeliest_and_the_lower_id_of_two() -> None:
    logits = torch.tensor([[[0.0, 2.0, 2.0, 1.0], [4.0, 0.0, 0.0, 4.0]]])
    got = propose_for(logits, DecoderConfig())
    assert got.token_BS.tolist() == [[1, 0]]
    assert torch.equal(got.confidence_BS, logits.softmax(-1).amax(-1))


def test_b12_a_greedy_row_beside_a_sampled_one_is_untouched() -> None:
    logits = torch.randn(1, 6, 40, generator=torch.Generator().manual_seed(0)).repeat(2, 1, 1)
    warm = DecoderConfig(temperature=1.5, top_k=9, top_p=0.7, seed=3)
    mixed = propose_for(logits, DecoderConfig(top_k=1, top_p=0.1), warm)
    greedy, sampled = propose_for(logits[:1], DecoderConfig()), propose_for(logits[1:], warm)
    for field in range(3):
        assert torch.equal(mixed[field][:1], greedy[field])
        assert torch.equal(mixed[field][1:], sampled[field])
    assert not torch.equal(mixed.token_BS[0], mixed.token_BS[1])


def test_b10_samples_follow_the_processed_distribution() -> None:
    logits = torch.tensor([1.0, 0.0, -1.0, 0.5]).expand(1, 20_000, 4)
    got = propose_for(logits, DecoderConfig(temperature=2.0, top_k=3, seed=1))
    z = torch.tensor([0.5, 0.0, -INF, 0.25])
    share = torch.bincount(got.token_BS.flatten(), minlength=4) / 20_000
    assert torch.allclose(share, z.softmax(-1), atol=0.015)
    assert share[2] == 0
    assert torch.allclose(got.confidence_BS, z.softmax(-1)[got.token_BS])
    assert got.entropy_BS[0, 0].item() == pytest.approx(entropy(z.softmax(-1)[None])[0].item())


def test_entropy_of_known_distributions() -> None:
    probs = torch.tensor([[0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]])
    assert torch.allclose(entropy(probs), torch.tensor([4.0, 1.0, 2.0]).log())


@pytest.mark.parametrize("r", [1, 3, 7])
def test_top_r_orders_by_probability_then_by_id(r: int) -> None:
    generator = torch.Generator().manual_seed(r)
    probs = torch.randint(0, 4, (2, 5, 60), generator=generator) / 8.0  # full of ties, zeros too
    ids, kept = top_r(probs, r)
    for row in range(2):
        for place in range(5):
            p = probs[row, place].tolist()
            expected = sorted(range(60), key=lambda v: (-p[v], v))[:r]
            assert ids[row, place].tolist() == expected
            assert kept[row, place].tolist() == [p[v] for v in expected]


def test_top_r_of_the_whole_vocabulary_is_the_distribution_in_id_order() -> None:
    probs = torch.rand(1, 2, 6)
    ids, kept = top_r(probs, 6)
    assert ids[0, 1].tolist() == [0, 1, 2, 3, 4, 5]
    assert torch.equal(kept, probs)


@pytest.mark.parametrize(
    ("decoders", "expected"),
    [
        ([{}], {"sampling": False, "max_top_k": 0, "top_p": False, "entropy": False, "residual_k": 4}),
        ([{"top_k": 5, "top_p": 0.5}], {"sampling": False, "max_top_k": 0, "top_p": False}),
        ([{"temperature": 1.0, "top_k": 5}, {}], {"sampling": True, "max_top_k": 5, "top_p": False}),
        ([{"temperature": 1.0, "top_k": 500, "top_p": 0.5}], {"max_top_k": 49, "top_p": True}),
        ([{"policy": "entropy_bound"}], {"entropy": True, "policies": {"entropy_bound"}}),
        ([{"residual": False}], {"residual_k": 0}),
        ([{"residual": False}, {}], {"residual_k": 4}),
    ],
)
def test_plan_skips_what_no_row_needs(decoders: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    requests = [RowRequest((5,), 1, DecoderConfig(**values)) for values in decoders]
    plan = StepPlan.of(requests, tiny_config(), tiny_diffusion())
    assert {name: getattr(plan, name) for name in expected} == expected
