"""Tiny models with random weights whose decisions are not trivial, for tests of every backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dlmrt.config import DiffusionConfig, ModelConfig, ResidualConfig

if TYPE_CHECKING:
    from dlmrt.models.transformer import Transformer

VOCAB, BLOCK = 49, 8
MASK_ID, EOS_ID, SECOND_EOS_ID, PAD_ID, RESERVED_ID = 0, 1, 2, 3, 4
FIRST_TEXT_ID = 5


def tiny_config(**changes: Any) -> ModelConfig:
    """Two layers with grouped heads, query/key norms, partial rotary and a residual input.

    The residual weighs little enough that rounding errors do not grow from step to step.
    """
    values: dict[str, Any] = {
        "vocab_size": VOCAB,
        "d_model": 24,
        "n_layers": 2,
        "n_heads": 4,
        "n_kv_heads": 2,
        "head_dim": 8,
        "d_ffn": 40,
        "max_positions": 96,
        "rope_theta": 100.0,
        "rotary_fraction": 0.5,
        "qk_norm": True,
        "residual": ResidualConfig(top_k=4, alpha=0.15, d_hidden=16),
    }
    return ModelConfig(**{**values, **changes})


def tiny_diffusion(**changes: Any) -> DiffusionConfig:
    """Blocks of 8; mask id 0, two EOS ids, a pad id and a reserved id."""
    values: dict[str, Any] = {
        "block_size": BLOCK,
        "mask_token_id": MASK_ID,
        "eos_token_ids": (EOS_ID, SECOND_EOS_ID),
        "pad_token_id": PAD_ID,
        "reserved_ids": (MASK_ID, PAD_ID, RESERVED_ID),
    }
    return DiffusionConfig(**{**values, **changes})


def weight_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Every tensor of a model under its Hugging Face name, [out, in]."""
    d, q, kv = config.d_model, config.n_heads * config.head_dim, config.n_kv_heads * config.head_dim
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config.vocab_size, d)}
    for index in range(config.n_layers):
        at = f"model.layers.{index}."
        shapes[at + "input_layernorm.weight"] = (d,)
        shapes[at + "self_attn.q_proj.weight"] = (q, d)
        shapes[at + "self_attn.k_proj.weight"] = (kv, d)
        shapes[at + "self_attn.v_proj.weight"] = (kv, d)
        shapes[at + "self_attn.o_proj.weight"] = (d, q)
        if config.qk_norm:
            shapes[at + "self_attn.q_norm.weight"] = (config.head_dim,)
            shapes[at + "self_attn.k_norm.weight"] = (config.head_dim,)
        shapes[at + "post_attention_layernorm.weight"] = (d,)
        shapes[at + "mlp.gate_proj.weight"] = (config.d_ffn, d)
        shapes[at + "mlp.up_proj.weight"] = (config.d_ffn, d)
        shapes[at + "mlp.down_proj.weight"] = (d, config.d_ffn)
    shapes["model.norm.weight"] = (d,)
    if not config.tie_embeddings:
        shapes["lm_head.weight"] = (config.vocab_size, d)
    if config.residual is not None:
        hidden = config.residual.d_hidden
        shapes["residual.norm.weight"] = (d,)
        shapes["residual.gate_proj.weight"] = (hidden, d)
        shapes["residual.up_proj.weight"] = (hidden, d)
        shapes["residual.down_proj.weight"] = (d, hidden)
    return shapes


def random_weights(
    config: ModelConfig, seed: int = 0, *, spread: float = 3.0
) -> dict[str, npt.NDArray[np.float32]]:
    """Random weights with logits of standard deviation ``spread``.

    The other matrices keep the size of what they multiply or double it, so that context, positions
    and the residual input weigh as much as a token's own embedding, and confidences lie anywhere
    between a few per cent and nearly one. Norm weights differ from one.
    """
    rng = np.random.RandomState(seed)  # its stream is frozen for good; golden files rest on it
    weights = {}
    for name, shape in weight_shapes(config).items():
        value = rng.standard_normal(shape)
        if len(shape) == 1:
            value = 1 + 0.2 * value
        elif name in ("model.embed_tokens.weight", "lm_head.weight"):
            value *= spread * shape[1] ** -0.5
        else:
            value *= (2.0 if name.endswith(("o_proj.weight", "down_proj.weight")) else 1.0) * shape[1] ** -0.5
        weights[name] = value.astype(np.float32)
    return weights


def torch_model(config: ModelConfig, weights: dict[str, npt.NDArray[np.float32]]) -> Transformer:
    """The torch transformer with these weights, in evaluation mode."""
    import torch

    from dlmrt.models.transformer import Transformer

    model = Transformer(config)
    model.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in weights.items()})
    return model.eval()
