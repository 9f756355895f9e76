"""The transformer in NumPy, float32: plain enough to check by reading, fast enough to serve.

Matrices are stored as [in, out] and fused (q, k and v; gate and up) once at load, and each row
brings its own preallocated cache, so a forward is a handful of matrix products a layer.

Who sees whom is one array: ``last_key_L``, the absolute position of the last key that each query
sees (every earlier key is visible to it as well).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dlmrt.config import ModelConfig, ResidualConfig
from dlmrt.errors import WeightsError

Int = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
Bool = npt.NDArray[np.bool_]

# Queries whose attention scores are held at a time: bounds the memory of a long prefill.
_QUERY_CHUNK = 256


class Residual(NamedTuple):
    """The previous step's distribution, restricted to R entries; probability 0 = no residual.

    With R equal to the vocabulary the ids are 0..V-1.
    """

    ids_SR: Int
    probs_SR: F32


def rms_norm(x: F32, weight: F32, eps: float) -> F32:
    """``x / sqrt(mean(x^2) + eps) * weight`` over the last axis."""
    mean_square: F32 = np.square(x).sum(axis=-1, keepdims=True) / x.shape[-1]
    root: F32 = np.sqrt(mean_square + eps)
    return x / root * weight


def silu(x: F32) -> F32:
    """``x * sigmoid(x)``."""
    with np.errstate(over="ignore"):  # to infinity at large negative x: the quotient is the right 0
        exp: F32 = np.exp(-x)
    return x / (1.0 + exp)


def gelu_tanh(x: F32) -> F32:
    """GELU in its tanh approximation."""
    inner = (2.0 / math.pi) ** 0.5 * (x + 0.044715 * x * x * x)
    out: F32 = 0.5 * x * (1.0 + np.tanh(inner))
    return out


def softmax(z: F32) -> F32:
    """Softmax over the last axis; -inf gives exactly 0. Each row needs a finite entry."""
    out: F32 = np.exp(z - z.max(axis=-1, keepdims=True))
    out /= out.sum(axis=-1, keepdims=True)
    return out


def rotate_in_place(x_LNH: F32, cos_L1R: F32, sin_L1R: F32) -> None:
    """Rotary embedding by halves on the first ``2R`` channels of every head."""
    half = cos_L1R.shape[-1]
    a, b = x_LNH[..., :half], x_LNH[..., half : 2 * half]
    rotated_a = a * cos_L1R - b * sin_L1R
    b[...] = b * cos_L1R + a * sin_L1R
    a[...] = rotated_a


@dataclass(frozen=True)
class Cache:
    """Keys and values of one row, [layer, K, capacity, H], and the rotary tables of its positions."""

    keys: F32
    values: F32
    cos_T1R: F32
    sin_T1R: F32


@dataclass(frozen=True)
class _Layer:
    """One layer's weights; matrices are [in, out]."""

    attention_norm_D: F32
    qkv: F32
    qk_norm: F32 | None  # [N + K, H]: the query norm for each query head, then the key norm
    out: F32
    mlp_norm_D: F32
    gate_up: F32
    down: F32


@dataclass(frozen=True)
class _Adapter:
    """``g_phi`` of the residual input; matrices are [in, out]."""

    norm_D: F32
    gate_up: F32
    down: F32


class _Weights:
    """Hands out weights by name and checks their shapes."""

    def __init__(self, tensors: Mapping[str, npt.NDArray[Any]]) -> None:
        self._tensors = tensors

    def vector(self, name: str, *shape: int) -> F32:
        if name not in self._tensors:
            raise WeightsError(f"weight '{name}' is missing; the configuration needs it with shape {shape}")
        value = np.ascontiguousarray(self._tensors[name], dtype=np.float32)
        if value.shape != shape:
            raise WeightsError(f"weight '{name}' has shape {value.shape}; the configuration needs {shape}")
        return value

    def matrix(self, d_in: int, *named: tuple[str, int]) -> F32:
        """Stack [out, in] matrices along their outputs and store them as one [in, out]."""
        stacked = np.concatenate([self.vector(name, d_out, d_in) for name, d_out in named])
        return np.ascontiguousarray(stacked.T)


class NumpyModel:
    """A block-causal decoder-only transformer with an optional residual input.

    weights: float32 tensors under their Hugging Face names, [out, in].
    Raises WeightsError: a tensor is missing or has the wrong shape.
    """

    def __init__(self, weights: Mapping[str, npt.NDArray[Any]], config: ModelConfig) -> None:
        self.config = config
        store = _Weights(weights)
        self.embedding_VD = store.vector("model.embed_tokens.weight", config.vocab_size, config.d_model)
        self.layers = [_load_layer(store, config, i) for i in range(config.n_layers)]
        self.norm_D = store.vector("model.norm.weight", config.d_model)
        head = "model.embed_tokens.weight" if config.tie_embeddings else "lm_head.weight"
        self.head_DV = store.matrix(config.d_model, (head, config.vocab_size))
        self.activation = silu if config.activation == "silu" else gelu_tanh
        self.adapter = None if config.residual is None else _load_adapter(store, config, config.residual)

    def new_cache(self, capacity: int) -> Cache:
        """An empty cache for positions 0..capacity-1."""
        c = self.config
        shape = (c.n_layers, c.n_kv_heads, capacity, c.head_dim)
        exponent = np.arange(c.rotary_dim // 2, dtype=np.float32) * np.float32(2.0 / c.rotary_dim)
        frequency = np.float32(c.rope_theta) ** -exponent
        angle_T1R = np.arange(capacity, dtype=np.float32)[:, None, None] * frequency
        keys, values = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        return Cache(keys, values, np.cos(angle_T1R), np.sin(angle_T1R))

    def forward(
        self, tokens_L: Int, start: int, last_key_L: Int, cache: Cache, residual: Residual | None = None
    ) -> F32:
        """The final hidden states [L, D] of the tokens at positions start..start+L-1.

        Their keys and values overwrite the cache at those positions; whether they stay is up to
        the caller, who may overwrite them by the next forward.
        """
        x_LD = self.embed(tokens_L, residual)
        for index, layer in enumerate(self.layers):
            normed_LD = rms_norm(x_LD, layer.attention_norm_D, self.config.norm_eps)
            x_LD += self._attention(index, layer, normed_LD, start, last_key_L, cache)
            normed_LD = rms_norm(x_LD, layer.mlp_norm_D, self.config.norm_eps)
            x_LD += self._gated(normed_LD, layer.gate_up, self.activation) @ layer.down
        return rms_norm(x_LD, self.norm_D, self.config.norm_eps)

    def logits(self, hidden_LD: F32) -> F32:
        """Logits [L, V] of final hidden states; a new array that the caller may change."""
        out: F32 = hidden_LD @ self.head_DV
        return out

    def embed(self, tokens_L: Int, residual: Residual | None) -> F32:
        """``e_i = E[x_i] + alpha * g_phi(z_i)``, ``z_i = sum_r p_ir E[id_ir]``; z = 0 adds nothing."""
        e_LD: F32 = self.embedding_VD[tokens_L]  # fancy indexing copies
        if residual is None or self.adapter is None or self.config.residual is None:
            return e_LD
        rows = np.flatnonzero(residual.probs_SR.any(axis=1))
        if len(rows) == 0:
            return e_LD
        ids, probs = residual.ids_SR[rows], residual.probs_SR[rows]
        if ids.shape[1] == self.config.vocab_size:
            z = probs @ self.embedding_VD
        else:
            z = (probs[:, None, :] @ self.embedding_VD[ids])[:, 0]
        normed = rms_norm(z, self.adapter.norm_D, self.config.norm_eps)
        g_phi = self._gated(normed, self.adapter.gate_up, silu) @ self.adapter.down
        e_LD[rows] += self.config.residual.alpha * g_phi
        return e_LD

    def _gated(self, x: F32, gate_up: F32, activation: Any) -> F32:
        both = x @ gate_up
        width = both.shape[-1] // 2
        out: F32 = activation(both[:, :width]) * both[:, width:]
        return out

    def _attention(
        self, index: int, layer: _Layer, x_LD: F32, start: int, last_key_L: Int, cache: Cache
    ) -> F32:
        c, length = self.config, len(x_LD)
        end = start + length
        qkv = (x_LD @ layer.qkv).reshape(length, c.n_heads + 2 * c.n_kv_heads, c.head_dim)
        qk, v_LKH = qkv[:, : c.n_heads + c.n_kv_heads], qkv[:, c.n_heads + c.n_kv_heads :]
        if layer.qk_norm is not None:
            qk = rms_norm(qk, layer.qk_norm, c.norm_eps)
        rotate_in_place(qk, cache.cos_T1R[start:end], cache.sin_T1R[start:end])
        cache.keys[index, :, start:end] = qk[:, c.n_heads :].swapaxes(0, 1)
        cache.values[index, :, start:end] = v_LKH.swapaxes(0, 1)
        q_LNH = qk[:, : c.n_heads] * c.head_dim**-0.5
        out_LNH = np.empty_like(q_LNH)
        for first in range(0, length, _QUERY_CHUNK):
            rows = slice(first, first + _QUERY_CHUNK)
            out_LNH[rows] = attend(q_LNH[rows], cache.keys[index], cache.values[index], last_key_L[rows])
        out: F32 = out_LNH.reshape(length, -1) @ layer.out
        return out


def attend(q_LNH: F32, keys_KTH: F32, values_KTH: F32, last_key_L: Int) -> F32:
    """Attention [L, N, H] of scaled queries; query heads n*N/K .. share key/value head n."""
    length, n_heads, width = q_LNH.shape
    n_kv, group = len(keys_KTH), n_heads // len(keys_KTH)
    n_keys = int(last_key_L.max()) + 1
    # A group's queries see the same keys: [K, group * L, H] against [K, T, H].
    q_KGLH = q_LNH.reshape(length, n_kv, group, width).transpose(1, 2, 0, 3)
    scores = q_KGLH.reshape(n_kv, group * length, width) @ keys_KTH[:, :n_keys].swapaxes(1, 2)
    if last_key_L.min() < n_keys - 1:
        unseen_LT = np.arange(n_keys) > last_key_L[:, None]
        np.copyto(scores.reshape(n_kv, group, length, n_keys), np.float32(-np.inf), where=unseen_LT)
    out = softmax(scores) @ values_KTH[:, :n_keys]
    return out.reshape(n_kv, group, length, width).transpose(2, 0, 1, 3).reshape(length, n_heads, width)


def _load_layer(store: _Weights, c: ModelConfig, index: int) -> _Layer:
    at = f"model.layers.{index}."
    q_width, kv_width = c.n_heads * c.head_dim, c.n_kv_heads * c.head_dim
    qk_norm = None
    if c.qk_norm:
        q_norm = np.tile(store.vector(at + "self_attn.q_norm.weight", c.head_dim), (c.n_heads, 1))
        k_norm = np.tile(store.vector(at + "self_attn.k_norm.weight", c.head_dim), (c.n_kv_heads, 1))
        qk_norm = np.concatenate([q_norm, k_norm])
    return _Layer(
        attention_norm_D=store.vector(at + "input_layernorm.weight", c.d_model),
        qkv=store.matrix(
            c.d_model,
            (at + "self_attn.q_proj.weight", q_width),
            (at + "self_attn.k_proj.weight", kv_width),
            (at + "self_attn.v_proj.weight", kv_width),
        ),
        qk_norm=qk_norm,
        out=store.matrix(q_width, (at + "self_attn.o_proj.weight", c.d_model)),
        mlp_norm_D=store.vector(at + "post_attention_layernorm.weight", c.d_model),
        gate_up=store.matrix(
            c.d_model, (at + "mlp.gate_proj.weight", c.d_ffn), (at + "mlp.up_proj.weight", c.d_ffn)
        ),
        down=store.matrix(c.d_ffn, (at + "mlp.down_proj.weight", c.d_model)),
    )


def _load_adapter(store: _Weights, c: ModelConfig, residual: ResidualConfig) -> _Adapter:
    hidden = residual.d_hidden
    return _Adapter(
        norm_D=store.vector("residual.norm.weight", c.d_model),
        gate_up=store.matrix(
            c.d_model, ("residual.gate_proj.weight", hidden), ("residual.up_proj.weight", hidden)
        ),
        down=store.matrix(hidden, ("residual.down_proj.weight", c.d_model)),
    )
