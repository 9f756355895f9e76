"""The same logits from the NumPy model and the torch transformer, for every kind of forward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from dlmrt.config import ResidualConfig
from dlmrt.decode.kv_cache import KVCache
from dlmrt.models.residual import ResidualInput
from dlmrt.reference.model import NumpyModel, Residual
from tests.helpers import BLOCK, VOCAB, random_weights, tiny_config, torch_model, weight_shapes
from tests.parity.support import TOLERANCE

VARIANTS: dict[str, dict[str, Any]] = {
    "tiny": {},
    "causal": {"clean_attention": "causal"},
    "one kv head, all channels rotated": {"n_kv_heads": 1, "rotary_fraction": 1.0},
    "no grouping, no norm of q and k": {"n_kv_heads": 4, "qk_norm": False},
    "gelu, untied head": {"activation": "gelu_tanh", "tie_embeddings": False},
    "whole vocabulary in the residual": {"residual": ResidualConfig(None, 0.5, 12)},
    "no residual": {"residual": None},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_prefill_canvas_commit_and_causal_forwards(variant: str) -> None:
    config = tiny_config(**VARIANTS[variant])
    weights = random_weights(config, 5)
    model, net = NumpyModel(weights, config), torch_model(config, weights)
    rng = np.random.RandomState(0)
    tokens = rng.randint(0, VOCAB, 4 * BLOCK)
    columns = VOCAB if config.residual and config.residual.top_k is None else 4
    probs = rng.rand(BLOCK, columns).astype(np.float32) / columns
    probs[::3] = 0
    ids = (
        np.tile(np.arange(VOCAB), (BLOCK, 1)) if columns == VOCAB else rng.randint(0, VOCAB, (BLOCK, columns))
    )
    positions = np.arange(4 * BLOCK)
    clean = positions if config.clean_attention == "causal" else positions // BLOCK * BLOCK + BLOCK - 1
    mine_cache = model.new_cache(4 * BLOCK)
    torch_cache = KVCache(config, 1, 4 * BLOCK, device=torch.device("cpu"), dtype=torch.float32)

    def compare(first: int, last: int, last_key: np.ndarray, attend: Any, residual: bool = False) -> None:
        span = slice(first, last)
        mine = model.forward(
            tokens[span], first, last_key, mine_cache, Residual(ids, probs) if residual else None
        )
        theirs = net(
            torch.from_numpy(tokens[span])[None],
            torch.from_numpy(positions[span])[None],
            attend,
            ResidualInput(torch.from_numpy(ids)[None], torch.from_numpy(probs)[None]) if residual else None,
        )
        np.testing.assert_allclose(model.logits(mine), net.logits(theirs)[0].numpy(), atol=TOLERANCE)

    with torch.inference_mode():
        two, three, four = 2 * BLOCK, 3 * BLOCK, 4 * BLOCK
        compare(0, two, clean[:two], torch_cache.prefill([two], BLOCK, config.clean_attention))
        canvas = np.full(BLOCK, three - 1)
        compare(two, three, canvas, torch_cache.canvas([two], BLOCK))
        compare(two, three, canvas, torch_cache.canvas([two], BLOCK), residual=config.residual is not None)
        commit = torch_cache.append([two], BLOCK, config.clean_attention)
        compare(two, three, clean[two:three], commit)
        causal = torch_cache.append([three], BLOCK, "causal")
        compare(three, four, positions[three:], causal)


def test_the_comparison_tells_a_wrong_block_size_apart() -> None:
    config = tiny_config()
    weights = random_weights(config, 5)
    model, net = NumpyModel(weights, config), torch_model(config, weights)
    tokens, positions = np.random.RandomState(0).randint(0, VOCAB, 2 * BLOCK), np.arange(2 * BLOCK)
    cache = KVCache(config, 1, 2 * BLOCK, device=torch.device("cpu"), dtype=torch.float32)
    with torch.inference_mode():
        attend = cache.prefill([2 * BLOCK], BLOCK // 2, "block")
        theirs = net.logits(net(torch.from_numpy(tokens)[None], torch.from_numpy(positions)[None], attend))
    last_key = positions // BLOCK * BLOCK + BLOCK - 1
    mine = model.logits(model.forward(tokens, 0, last_key, model.new_cache(2 * BLOCK)))
    assert np.abs(mine - theirs[0].numpy()).max() > 100 * TOLERANCE


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_helpers_know_every_tensor_of_the_transformer(variant: str) -> None:
    config = tiny_config(**VARIANTS[variant])
    state = torch_model(config, random_weights(config)).state_dict()
    assert {name: tuple(value.shape) for name, value in state.items()} == weight_shapes(config)
