"""Who sees whom in training: the staircase mask over one clean stream and its noisy copies.

A training row is ``[clean ; copy 1 ; copy 2 ...]``. Every token carries four numbers: its sample in
the packed row, its position, its block and its copy (0 = clean). One rule on these numbers,
:func:`allowed`, is the definition; the dense mask (CPU) and the Flex mask (GPU) both come from it.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from dlmrt.config import CleanAttention


class Layout(NamedTuple):
    """The four numbers of every token, each int64 [B, L] (sample -1 = padding)."""

    sample_BL: Tensor
    position_BL: Tensor
    block_BL: Tensor
    copy_BL: Tensor


def allowed(query: Layout, key: Layout, clean_attention: CleanAttention) -> Tensor:
    """The rule: may ``query`` see ``key``? Shapes broadcast.

    Clean sees clean block-causally (or token-causally); a noisy block sees the clean blocks before
    it and itself, never its own clean answer, later blocks or other copies. Nothing sees another
    sample; padding sees only padding.
    """
    same = query.sample_BL == key.sample_BL
    clean_query, clean_key = query.copy_BL == 0, key.copy_BL == 0
    if clean_attention == "causal":
        clean_to_clean = key.position_BL <= query.position_BL
    else:
        clean_to_clean = key.block_BL <= query.block_BL
    noisy_to_clean = key.block_BL < query.block_BL
    own_copy = (query.copy_BL == key.copy_BL) & (query.block_BL == key.block_BL)
    sees_clean = clean_key & torch.where(clean_query, clean_to_clean, noisy_to_clean)
    sees_noisy = ~clean_key & ~clean_query & own_copy
    return same & (sees_clean | sees_noisy)


def dense_mask(layout: Layout, clean_attention: CleanAttention) -> Tensor:
    """Boolean mask [B, 1, L, L]; True = may see. Every query sees at least itself."""
    query = Layout(*(x[:, :, None] for x in layout))
    key = Layout(*(x[:, None, :] for x in layout))
    mask = allowed(query, key, clean_attention)
    eye = torch.eye(mask.shape[-1], dtype=torch.bool, device=mask.device)
    return (mask | eye)[:, None]


class DenseAttend:
    """Scaled dot-product attention under a dense mask: the CPU path and the reference."""

    def __init__(self, mask_B1LL: Tensor) -> None:
        self.mask_B1LL = mask_B1LL

    def __call__(self, layer: int, q_BNLH: Tensor, k_BKLH: Tensor, v_BKLH: Tensor) -> Tensor:
        grouped = q_BNLH.shape[1] != k_BKLH.shape[1]
        return F.scaled_dot_product_attention(
            q_BNLH, k_BKLH, v_BKLH, attn_mask=self.mask_B1LL, enable_gqa=grouped
        )


@functools.cache
def _compiled_flex() -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=True)


class FlexAttend:
    """FlexAttention under the same rule: skips the empty tiles of the staircase on a GPU."""

    def __init__(self, layout: Layout, clean_attention: CleanAttention, *, compile: bool = True) -> None:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        batch, length = layout.sample_BL.shape

        def rule(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
            query = Layout(*(x[b, q] for x in layout))
            key = Layout(*(x[b, k] for x in layout))
            return allowed(query, key, clean_attention) | (q == k)

        device = layout.sample_BL.device
        self.block_mask = create_block_mask(rule, batch, None, length, length, device=device)
        self._flex: Any = _compiled_flex() if compile else flex_attention

    def __call__(self, layer: int, q_BNLH: Tensor, k_BKLH: Tensor, v_BKLH: Tensor) -> Tensor:
        grouped = q_BNLH.shape[1] != k_BKLH.shape[1]
        out: Tensor = self._flex(q_BNLH, k_BKLH, v_BKLH, block_mask=self.block_mask, enable_gqa=grouped)
        return out
