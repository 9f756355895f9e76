"""Keys and values of committed tokens, and the three views that forwards have of them.

The cache makes the ``attend`` callables that a :class:`~dlmrt.models.transformer.Transformer` asks for:

* ``prefill``: whole clean prompts of uneven length, padded on the right; KV written,
* ``append``: clean tokens after the committed ones (a finished block, or autoregressive tokens); KV written,
* ``canvas``: a block being denoised; it sees the committed tokens and all of itself, and writes nothing.

Lengths are known on the host, so a forward touches only the part of the cache that some row has filled.
Slots beyond a row's own length hold zeros or leftovers; masks hide them until a later write replaces them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from dlmrt.config import CleanAttention, ModelConfig


@dataclass(frozen=True)
class CachedAttention:
    """Attention over a prefix of the cache and over this forward's own tokens (see ``Attend``).

    prefix: slots of the cache in view. bias: float, 0 or -inf, broadcastable to
    [B, N, L, prefix + L]; None when everything is visible. rows: the cache rows that the batch of this
    forward stands for; None for all of them, in order. slots_BL: where to write the new keys and values;
    None to write nothing.
    """

    cache: KVCache
    prefix: int
    bias: Tensor | None
    rows: Tensor | None = None
    slots_BL: Tensor | slice | None = None

    def __call__(self, layer: int, q_BNLH: Tensor, k_BKLH: Tensor, v_BKLH: Tensor) -> Tensor:
        """Attend, and keep the new keys and values where ``slots_BL`` says so."""
        keys_BKLH, values_BKLH = k_BKLH, v_BKLH
        if self.prefix > 0:
            keys_BKLH = torch.cat((self._read(self.cache.keys[layer]), k_BKLH), dim=2)
            values_BKLH = torch.cat((self._read(self.cache.values[layer]), v_BKLH), dim=2)
        if self.slots_BL is not None:
            self._write(self.cache.keys[layer], k_BKLH)
            self._write(self.cache.values[layer], v_BKLH)
        grouped = q_BNLH.shape[1] != k_BKLH.shape[1]
        return F.scaled_dot_product_attention(
            q_BNLH, keys_BKLH, values_BKLH, attn_mask=self.bias, enable_gqa=grouped
        )

    def _read(self, store_BKCH: Tensor) -> Tensor:
        seen = store_BKCH[:, :, : self.prefix]
        return seen if self.rows is None else seen[self.rows]

    def _write(self, store_BKCH: Tensor, new_BKLH: Tensor) -> None:
        if isinstance(self.slots_BL, slice):
            rows: Tensor | slice = slice(None) if self.rows is None else self.rows
            store_BKCH[rows, :, self.slots_BL] = new_BKLH
            return
        assert self.slots_BL is not None
        batch, heads = store_BKCH.shape[:2]
        device = store_BKCH.device
        row_B = torch.arange(batch, device=device) if self.rows is None else self.rows
        head_K = torch.arange(heads, device=device)
        store_BKCH[row_B[:, None, None], head_K[:, None], self.slots_BL[:, None, :]] = new_BKLH


class KVCache:
    """Keys (rotated) and values of clean tokens, one [B, K, capacity, H] tensor of each a layer."""

    def __init__(
        self, config: ModelConfig, batch: int, capacity: int, *, device: torch.device, dtype: torch.dtype
    ) -> None:
        shape = (batch, config.n_kv_heads, capacity, config.head_dim)
        # Zeros, not empty: a masked slot has weight 0, and 0 times a leftover NaN would still be NaN.
        self.keys = [torch.zeros(shape, device=device, dtype=dtype) for _ in range(config.n_layers)]
        self.values = [torch.zeros(shape, device=device, dtype=dtype) for _ in range(config.n_layers)]
        self.capacity = capacity
        self.device, self.dtype = device, dtype

    @property
    def batch(self) -> int:
        """How many rows the cache holds."""
        return self.keys[0].shape[0]

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all rows but ``rows`` (ascending); memory is kept, its content moved."""
        index = torch.tensor(rows, dtype=torch.int64, device=self.device)
        for stores in (self.keys, self.values):
            for layer, store in enumerate(stores):
                store[: len(rows)] = store[index]
                stores[layer] = store[: len(rows)]

    def canvas(self, starts: Sequence[int], length: int) -> CachedAttention:
        """Return the view of every row's block of ``length`` tokens from ``starts`` on: read only."""
        return CachedAttention(self, max(starts), self._bias(starts, length, None))

    def prefill(
        self,
        lengths: Sequence[int],
        block_size: int,
        clean: CleanAttention,
        rows: Sequence[int] | None = None,
    ) -> CachedAttention:
        """Return the view of whole prompts from position 0, padded on the right to the longest one.

        lengths: tokens of each row, at least 1. clean: ``block`` lets a token see its own block and
        earlier ones, ``causal`` only itself and earlier tokens. rows: see ``append``.
        """
        longest = max(lengths)
        place_L = torch.arange(longest, device=self.device)
        group_L = place_L // block_size if clean == "block" else place_L
        seen_BLL = (group_L[:, None] >= group_L)[None]
        if min(lengths) < longest:
            length_B = torch.tensor(lengths, device=self.device)
            seen_BLL = seen_BLL & (place_L < length_B[:, None])[:, None, :]
        bias = self._hide(~seen_BLL)[:, None]
        return CachedAttention(self, 0, bias, self._index(rows), slice(0, longest))

    def append(
        self, starts: Sequence[int], length: int, clean: CleanAttention, rows: Sequence[int] | None = None
    ) -> CachedAttention:
        """Return the view of ``length`` clean tokens of each row from ``starts`` on, which it keeps.

        clean: whether these tokens see all of each other (``block``) or only earlier ones. rows: the
        cache rows that the forward's batch stands for (None: all).
        """
        own_LL = None
        if clean == "causal" and length > 1:
            place_L = torch.arange(length, device=self.device)
            own_LL = self._hide(place_L[:, None] < place_L)
        bias = self._bias(starts, length, own_LL)
        if min(starts) == max(starts):
            return CachedAttention(
                self, starts[0], bias, self._index(rows), slice(starts[0], starts[0] + length)
            )
        start_B = torch.tensor(starts, device=self.device)
        slots_BL = start_B[:, None] + torch.arange(length, device=self.device)
        return CachedAttention(self, max(starts), bias, self._index(rows), slots_BL)

    def _bias(self, starts: Sequence[int], length: int, own_LL: Tensor | None) -> Tensor | None:
        """Hide slots that a row has not filled, and of the forward's own tokens what ``own_LL`` hides."""
        prefix = max(starts)
        if min(starts) == prefix:
            if own_LL is None:
                return None
            starts = starts[:1]  # every row sees the same: one mask, broadcast
        start_B = torch.tensor(starts, device=self.device)
        unfilled_BT = torch.arange(prefix, device=self.device) >= start_B[:, None]
        if own_LL is None:
            own_LL = torch.zeros(1, length, device=self.device, dtype=self.dtype)
        queries = own_LL.shape[0]
        prefix_BLT = self._hide(unfilled_BT)[:, None].expand(-1, queries, -1)
        own_BLL = own_LL.expand(len(starts), -1, -1)
        return torch.cat((prefix_BLT, own_BLL), dim=-1)[:, None]

    def _hide(self, hidden: Tensor) -> Tensor:
        return torch.zeros(hidden.shape, device=self.device, dtype=self.dtype).masked_fill_(
            hidden, float("-inf")
        )

    def _index(self, rows: Sequence[int] | None) -> Tensor | None:
        if rows is None or list(rows) == list(range(self.batch)):
            return None
        return torch.tensor(rows, dtype=torch.int64, device=self.device)
