"""The NumPy model against a forward written once more, position by position in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dlmrt.config import ModelConfig, ResidualConfig
from dlmrt.errors import WeightsError
from dlmrt.reference import model as reference
from dlmrt.reference.model import NumpyModel, Residual
from tests.helpers import random_weights, tiny_config

Vector = npt.NDArray[np.float64]


class SlowForward:
    """The same transformer from its definition: one position, one head, one key at a time."""

    def __init__(self, weights: dict[str, npt.NDArray[np.float32]], config: ModelConfig) -> None:
        self.w = {name: value.astype(np.float64) for name, value in weights.items()}
        self.c = config

    def logits(
        self, tokens: list[int], sees: npt.NDArray[np.bool_], residual: Residual | None = None
    ) -> npt.NDArray[np.float64]:
        """Logits [L, V]; sees[i, j]: query i sees key j."""
        x = [self.embed(i, token, residual) for i, token in enumerate(tokens)]
        for layer in range(self.c.n_layers):
            at = f"model.layers.{layer}."
            normed = [self.norm(v, at + "input_layernorm.weight") for v in x]
            attended = self.attention(at + "self_attn.", normed, sees)
            x = [v + a for v, a in zip(x, attended, strict=True)]
            normed = [self.norm(v, at + "post_attention_layernorm.weight") for v in x]
            x = [v + self.gated(at + "mlp.", n, self.c.activation) for v, n in zip(x, normed, strict=True)]
        head = self.w["model.embed_tokens.weight" if self.c.tie_embeddings else "lm_head.weight"]
        return np.stack([head @ self.norm(v, "model.norm.weight") for v in x])

    def embed(self, i: int, token: int, residual: Residual | None) -> Vector:
        table = self.w["model.embed_tokens.weight"]
        if residual is None or self.c.residual is None:
            return table[token]
        z = np.zeros(self.c.d_model)
        for entry, p in zip(residual.ids_SR[i], residual.probs_SR[i], strict=True):
            z = z + float(p) * table[entry]
        g_phi = self.gated("residual.", self.norm(z, "residual.norm.weight"), "silu")
        return table[token] + self.c.residual.alpha * g_phi

    def norm(self, v: Vector, name: str) -> Vector:
        return v / math.sqrt(sum(a * a for a in v) / len(v) + self.c.norm_eps) * self.w[name]

    def gated(self, at: str, v: Vector, activation: str) -> Vector:
        gate, up = self.w[at + "gate_proj.weight"] @ v, self.w[at + "up_proj.weight"] @ v
        act = np.array([silu(g) if activation == "silu" else gelu(g) for g in gate])
        return self.w[at + "down_proj.weight"] @ (act * up)

    def heads(self, at: str, v: Vector, kind: str, count: int, position: int) -> list[Vector]:
        found = (self.w[f"{at}{kind}_proj.weight"] @ v).reshape(count, self.c.head_dim)
        if kind == "v":
            return list(found)
        if self.c.qk_norm:
            found = np.stack([self.norm(h, f"{at}{kind}_norm.weight") for h in found])
        return [self.rotate(h, position) for h in found]

    def rotate(self, h: Vector, position: int) -> Vector:
        out, width = h.copy(), self.c.rotary_dim
        for i in range(width // 2):
            angle = position * self.c.rope_theta ** (-2 * i / width)
            a, b = h[i], h[i + width // 2]
            out[i] = a * math.cos(angle) - b * math.sin(angle)
            out[i + width // 2] = b * math.cos(angle) + a * math.sin(angle)
        return out

    def attention(self, at: str, x: list[Vector], sees: npt.NDArray[np.bool_]) -> list[Vector]:
        n, k = self.c.n_heads, self.c.n_kv_heads
        q = [self.heads(at, v, "q", n, i) for i, v in enumerate(x)]
        keys = [self.heads(at, v, "k", k, i) for i, v in enumerate(x)]
        values = [self.heads(at, v, "v", k, i) for i, v in enumerate(x)]
        result = []
        for i in range(len(x)):
            mixed = []
            for head in range(n):
                shared = head // (n // k)
                score = {
                    j: math.exp(float(q[i][head] @ keys[j][shared]) / math.sqrt(self.c.head_dim))
                    for j in range(len(x))
                    if sees[i, j]
                }
                total = sum(score.values())
                mixed.append(sum(e / total * values[j][shared] for j, e in score.items()))
            result.append(self.w[at + "o_proj.weight"] @ np.concatenate(mixed))
        return result


def silu(x: float) -> float:
    return x / (1 + math.exp(-x))


def gelu(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


LENGTH = 11
VARIANTS: dict[str, dict[str, Any]] = {
    "tiny": {},
    "one kv head, all channels rotated": {"n_kv_heads": 1, "rotary_fraction": 1.0},
    "no grouping, no norm of q and k": {"n_kv_heads": 4, "qk_norm": False},
    "gelu": {"activation": "gelu_tanh"},
    "untied head": {"tie_embeddings": False},
    "head width apart from the model width": {"head_dim": 16, "rotary_fraction": 0.25},
    "large epsilon": {"norm_eps": 0.1},
}


def both_logits(
    config: ModelConfig, last_key: npt.NDArray[np.int64], residual: Residual | None = None
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]:
    weights = random_weights(config, 3)
    tokens = np.random.RandomState(0).randint(0, config.vocab_size, LENGTH)
    model = NumpyModel(weights, config)
    fast = model.logits(model.forward(tokens, 0, last_key, model.new_cache(LENGTH), residual))
    sees = np.arange(LENGTH) <= last_key[:, None]
    return fast, SlowForward(weights, config).logits(tokens.tolist(), sees, residual)


def some_residual(vocab_size: int, columns: int) -> Residual:
    rng = np.random.RandomState(1)
    ids = rng.randint(0, vocab_size, (LENGTH, columns))
    probs = rng.rand(LENGTH, columns).astype(np.float32) / columns
    probs[::3] = 0  # positions without a residual
    return Residual(np.tile(np.arange(columns), (LENGTH, 1)) if columns == vocab_size else ids, probs)


CAUSAL = np.arange(LENGTH)
BLOCKS_OF_4 = np.minimum(CAUSAL // 4 * 4 + 3, LENGTH - 1)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("last_key", [CAUSAL, BLOCKS_OF_4], ids=["causal", "block"])
def test_forward_equals_the_definition(variant: str, last_key: npt.NDArray[np.int64]) -> None:
    fast, slow = both_logits(tiny_config(**VARIANTS[variant]), last_key)
    assert fast.dtype == np.float32
    assert slow.std() > 1  # the comparison is about something
    np.testing.assert_allclose(fast, slow, atol=5e-5)


@pytest.mark.parametrize("columns", [1, 4, 49])
def test_residual_input_equals_the_definition(columns: int) -> None:
    config = tiny_config()
    residual = some_residual(config.vocab_size, columns)
    fast, slow = both_logits(config, BLOCKS_OF_4, residual)
    np.testing.assert_allclose(fast, slow, atol=5e-5)
    without, _ = both_logits(config, BLOCKS_OF_4)
    assert np.abs(fast - without).max() > 0.1


def test_a_zero_residual_changes_nothing_bit_for_bit() -> None:
    config = tiny_config()
    zero = Residual(np.ones((LENGTH, 4), np.int64), np.zeros((LENGTH, 4), np.float32))
    np.testing.assert_array_equal(both_logits(config, CAUSAL, zero)[0], both_logits(config, CAUSAL)[0])


def test_the_definition_tells_masks_apart() -> None:
    config = tiny_config()
    fast, slow = both_logits(config, BLOCKS_OF_4)[0], both_logits(config, CAUSAL)[1]
    assert np.abs(fast - slow).max() > 0.1


@pytest.mark.parametrize(
    "wrong",
    [
        {"rope_theta": 101.0},
        {"rotary_fraction": 1.0},
        {"activation": "gelu_tanh"},
        {"norm_eps": 1e-3},
        {"residual": ResidualConfig(top_k=4, alpha=0.71, d_hidden=16)},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_the_definition_tells_configurations_apart(wrong: dict[str, Any]) -> None:
    residual = some_residual(49, 4)
    fast = both_logits(tiny_config(**wrong), CAUSAL, residual)[0]
    slow = both_logits(tiny_config(), CAUSAL, residual)[1]
    assert np.abs(fast - slow).max() > 5e-4


def test_a_cached_forward_equals_one_forward() -> None:
    config = tiny_config()
    model = NumpyModel(random_weights(config, 3), config)
    tokens = np.random.RandomState(0).randint(0, config.vocab_size, LENGTH)
    whole = model.forward(tokens, 0, CAUSAL, model.new_cache(LENGTH))
    cache = model.new_cache(LENGTH)
    parts = [model.forward(tokens[a:b], a, CAUSAL[a:b], cache) for a, b in ((0, 5), (5, 6), (6, LENGTH))]
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-5)


def test_a_prefill_in_chunks_of_queries_equals_one_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = both_logits(tiny_config(), BLOCKS_OF_4)[0]
    monkeypatch.setattr(reference, "_QUERY_CHUNK", 3)
    np.testing.assert_allclose(both_logits(tiny_config(), BLOCKS_OF_4)[0], whole, atol=1e-5)


def test_activations_survive_large_inputs() -> None:
    x = np.array([-1e4, -100.0, 0.0, 100.0, 1e4], np.float32)
    np.testing.assert_array_equal(reference.silu(x), [0, 0, 0, 100, 1e4])
    np.testing.assert_array_equal(reference.gelu_tanh(x), [0, 0, 0, 100, 1e4])


def test_missing_and_misshapen_weights_are_named() -> None:
    config = tiny_config()
    weights = random_weights(config)
    name = "model.layers.1.self_attn.k_proj.weight"
    with pytest.raises(WeightsError, match=rf"'{name}' has shape \(16, 23\).*\(16, 24\)"):
        NumpyModel({**weights, name: weights[name][:, :-1]}, config)
    del weights[name]
    with pytest.raises(WeightsError, match=rf"'{name}' is missing.*\(16, 24\)"):
        NumpyModel(weights, config)


def test_float64_and_transposed_weights_are_accepted() -> None:
    config = tiny_config()
    weights = random_weights(config)
    odd: Any = {name: np.asfortranarray(value.astype(np.float64)) for name, value in weights.items()}
    tokens, cache = np.arange(5), NumpyModel(weights, config).new_cache(5)
    expected = NumpyModel(weights, config).forward(tokens, 0, np.arange(5), cache)
    np.testing.assert_array_equal(NumpyModel(odd, config).forward(tokens, 0, np.arange(5), cache), expected)
