"""The model: one block-causal transformer for serving, training and evaluation.

The transformer knows nothing of masks and caches. Who may see whom is decided by the ``attend``
callable of each forward: a dense or Flex mask in training, a KV cache in serving. So there is one
model definition, and what differs is passed in.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dlmrt.config import ModelConfig
from dlmrt.models.residual import ResidualAdapter, ResidualInput, RMSNorm


class Attend(Protocol):
    """Attention of one layer, already told who sees whom.

    q_BNLH: rotated queries; k_BKLH, v_BKLH: this forward's rotated keys and its values. The result
    has the shape of the queries; scores are scaled by ``H ** -0.5``.
    """

    def __call__(self, layer: int, q_BNLH: Tensor, k_BKLH: Tensor, v_BKLH: Tensor) -> Tensor: ...


def rotary_tables(config: ModelConfig, positions_BL: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the rotary angles, each float32 [B, 1, L, rotary_dim / 2]."""
    half = config.rotary_dim // 2
    exponent = torch.arange(half, device=positions_BL.device, dtype=torch.float32) * (2.0 / config.rotary_dim)
    frequency = config.rope_theta**-exponent
    angle = positions_BL.to(torch.float32)[:, None, :, None] * frequency
    return angle.cos(), angle.sin()


def rotate(x_BNLH: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the first ``2 * cos.shape[-1]`` channels by halves; the rest passes unchanged."""
    half = cos.shape[-1]
    cos, sin = cos.to(x_BNLH.dtype), sin.to(x_BNLH.dtype)
    a, b, rest = x_BNLH[..., :half], x_BNLH[..., half : 2 * half], x_BNLH[..., 2 * half :]
    return torch.cat((a * cos - b * sin, b * cos + a * sin, rest), dim=-1)


class Attention(nn.Module):
    """Grouped-query attention with optional per-head RMSNorm of queries and keys."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = config.n_heads, config.n_kv_heads, config.head_dim
        self.q_proj = nn.Linear(config.d_model, config.n_heads * config.head_dim, bias=False)
        self.k_proj = nn.Linear(config.d_model, config.n_kv_heads * config.head_dim, bias=False)
        self.v_proj = nn.Linear(config.d_model, config.n_kv_heads * config.head_dim, bias=False)
        self.o_proj = nn.Linear(config.n_heads * config.head_dim, config.d_model, bias=False)
        self.q_norm: RMSNorm | None = None
        self.k_norm: RMSNorm | None = None
        if config.qk_norm:
            self.q_norm = RMSNorm(config.head_dim, config.norm_eps)
            self.k_norm = RMSNorm(config.head_dim, config.norm_eps)

    def forward(self, layer: int, x_BLD: Tensor, rotary: tuple[Tensor, Tensor], attend: Attend) -> Tensor:
        batch, length, _ = x_BLD.shape
        q = self.q_proj(x_BLD).view(batch, length, self.n_heads, self.head_dim)
        k = self.k_proj(x_BLD).view(batch, length, self.n_kv_heads, self.head_dim)
        v = self.v_proj(x_BLD).view(batch, length, self.n_kv_heads, self.head_dim)
        if self.q_norm is not None and self.k_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        q_BNLH, k_BKLH, v_BKLH = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        out_BNLH = attend(layer, rotate(q_BNLH, *rotary), rotate(k_BKLH, *rotary), v_BKLH)
        out: Tensor = self.o_proj(out_BNLH.transpose(1, 2).reshape(batch, length, -1))
        return out


class MLP(nn.Module):
    """Gated feed-forward layer: SwiGLU or GeGLU by configuration."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.d_model, config.d_ffn, bias=False)
        self.up_proj = nn.Linear(config.d_model, config.d_ffn, bias=False)
        self.down_proj = nn.Linear(config.d_ffn, config.d_model, bias=False)
        self.tanh_gelu = config.activation == "gelu_tanh"

    def forward(self, x_BLD: Tensor) -> Tensor:
        gate = self.gate_proj(x_BLD)
        gate = F.gelu(gate, approximate="tanh") if self.tanh_gelu else F.silu(gate)
        out: Tensor = self.down_proj(gate * self.up_proj(x_BLD))
        return out


def feed_forward(config: ModelConfig, layer: int) -> nn.Module:
    """The feed-forward part of one layer: [B, L, D] to [B, L, D].

    Every layer is dense now; a mixture of experts is another module returned here (by layer,
    because published mixtures keep their first layers dense), with its names and shapes in
    ``weights.expected_shapes``.
    """
    return MLP(config)


class Layer(nn.Module):
    """Pre-norm residual layer."""

    def __init__(self, config: ModelConfig, index: int) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(config.d_model, config.norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = RMSNorm(config.d_model, config.norm_eps)
        self.mlp = feed_forward(config, index)

    def forward(self, layer: int, x_BLD: Tensor, rotary: tuple[Tensor, Tensor], attend: Attend) -> Tensor:
        x_BLD = x_BLD + self.self_attn(layer, self.input_layernorm(x_BLD), rotary, attend)
        out: Tensor = x_BLD + self.mlp(self.post_attention_layernorm(x_BLD))
        return out


class Body(nn.Module):
    """Embedding table, layers and final norm; the names follow the published checkpoints."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.d_model)
        self.layers = nn.ModuleList(Layer(config, index) for index in range(config.n_layers))
        self.norm = RMSNorm(config.d_model, config.norm_eps)


class Transformer(nn.Module):
    """A block-causal decoder-only transformer with an optional residual input."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.model = Body(config)
        self.lm_head: nn.Linear | None = None
        if not config.tie_embeddings:
            self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.residual: ResidualAdapter | None = None
        if config.residual is not None:
            self.residual = ResidualAdapter(config, config.residual)

    def initialise(self, generator: torch.Generator) -> None:
        """Fill the weights for training from scratch.

        Matrices are normal with deviation 0.02, those that write into the residual stream scaled
        down by ``sqrt(2 * n_layers)`` (GPT-2); norms are one; the residual adapter starts at zero.
        """
        scale = (2 * self.config.n_layers) ** -0.5
        with torch.no_grad():
            for name, weight in self.named_parameters():
                if weight.ndim < 2:
                    weight.fill_(1.0)
                elif name == "residual.down_proj.weight":
                    weight.zero_()
                else:
                    std = 0.02 * (scale if name.endswith(("o_proj.weight", "down_proj.weight")) else 1.0)
                    weight.normal_(0.0, std, generator=generator)

    def forward(
        self,
        tokens_BL: Tensor,
        positions_BL: Tensor,
        attend: Attend,
        residual: ResidualInput | None = None,
    ) -> Tensor:
        """Return the final hidden states [B, L, D].

        tokens_BL, positions_BL: int64. attend: who sees whom. residual: the previous step's
        distribution; ignored by a model without the residual pathway.
        """
        x_BLD = self.model.embed_tokens(tokens_BL)
        if residual is not None and self.residual is not None and residual.ids_BLR.shape[-1] > 0:
            x_BLD = x_BLD + self.residual(residual, self.model.embed_tokens.weight)
        rotary = rotary_tables(self.config, positions_BL)
        for index, layer in enumerate(self.model.layers):
            x_BLD = layer(index, x_BLD, rotary, attend)
        out: Tensor = self.model.norm(x_BLD)
        return out

    def logits(self, hidden: Tensor) -> Tensor:
        """Project hidden states [..., D] to float32 logits [..., V]."""
        weight = self.model.embed_tokens.weight if self.lm_head is None else self.lm_head.weight
        return F.linear(hidden, weight).to(torch.float32)
