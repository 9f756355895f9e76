"""The residual pathway: what the previous step believed, fed back as a soft embedding.

``e_i = E[x_i] + alpha * g_phi(z_i)`` with ``z_i = sum_r p_{i,r} E[id_{i,r}]``: the form of the
residual is a public fact about On-Policy Residual Learning, the definition of ``z`` over a stored
top-k is this project's reconstruction (see docs/architecture.md).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dlmrt.config import ModelConfig, ResidualConfig


class ResidualInput(NamedTuple):
    """The distribution a position had one step earlier, restricted to its R likeliest tokens.

    ids_BLR: int64 token ids. probs_BLR: float32 probabilities, not renormalised; all zero where a
    position has no residual (prompt, decided, or the block's first step).
    """

    ids_BLR: Tensor
    probs_BLR: Tensor


class RMSNorm(nn.Module):
    """``x / sqrt(mean(x^2) + eps) * weight`` over the last axis, in the dtype of ``x``."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self.eps)


class ResidualAdapter(nn.Module):
    """``g_phi``: RMSNorm, gated MLP, output projection that starts at zero.

    It has no biases, so a zero ``z`` gives exactly zero: a position without a residual is the
    plain embedding.
    """

    def __init__(self, config: ModelConfig, residual: ResidualConfig) -> None:
        super().__init__()
        self.alpha = residual.alpha
        self.norm = RMSNorm(config.d_model, config.norm_eps)
        self.gate_proj = nn.Linear(config.d_model, residual.d_hidden, bias=False)
        self.up_proj = nn.Linear(config.d_model, residual.d_hidden, bias=False)
        self.down_proj = nn.Linear(residual.d_hidden, config.d_model, bias=False)
        nn.init.zeros_(self.down_proj.weight)

    def forward(self, residual: ResidualInput, table_VD: Tensor) -> Tensor:
        """Return ``alpha * g_phi(z)``, shape [B, L, D]; no gradient flows through ``z``."""
        table_VD = table_VD.detach()
        ids_BLR, probs_BLR = residual.ids_BLR, residual.probs_BLR.detach()
        if ids_BLR.shape[-1] == table_VD.shape[0]:  # whole vocabulary: ids are 0..V-1 by construction
            z_BLD = probs_BLR.to(table_VD.dtype) @ table_VD
        else:
            rows_BLRD = F.embedding(ids_BLR, table_VD)
            z_BLD = (probs_BLR.to(table_VD.dtype).unsqueeze(-2) @ rows_BLRD).squeeze(-2)
        hidden = self.norm(z_BLD)
        gated: Tensor = self.down_proj(F.silu(self.gate_proj(hidden)) * self.up_proj(hidden))
        return self.alpha * gated
