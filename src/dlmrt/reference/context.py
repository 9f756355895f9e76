"""What a row has behind it: committed tokens, with or without a key/value cache.

Both classes answer alike. The one that recomputes everything is the proof that the cache is exact:
a decoded row must not depend on which of them it used.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dlmrt.reference.model import F32, Int, NumpyModel, Residual


class Context(Protocol):
    """Committed tokens of one row."""

    @property
    def length(self) -> int:
        """How many tokens are committed: the next token's position."""
        ...

    def extend(self, tokens_L: Int, last_key_L: Int) -> F32:
        """Forward clean tokens, keep them, return their hidden states [L, D]."""
        ...

    def canvas(self, tokens_S: Int, residual: Residual) -> F32:
        """Forward a canvas that sees all committed tokens and itself; keep nothing. [S, D]."""
        ...

    def truncate(self, length: int) -> None:
        """Forget the committed tokens from position ``length`` on."""
        ...


class CachedContext:
    """Committed tokens as keys and values; a canvas lies behind them until it is overwritten."""

    def __init__(self, model: NumpyModel, capacity: int) -> None:
        self._model = model
        self._cache = model.new_cache(capacity)
        self._length = 0

    @property
    def length(self) -> int:
        """The number of positions whose keys and values are final."""
        return self._length

    def extend(self, tokens_L: Int, last_key_L: Int) -> F32:
        """One forward of the new tokens only."""
        hidden_LD = self._model.forward(tokens_L, self._length, last_key_L, self._cache)
        self._length += len(tokens_L)
        return hidden_LD

    def canvas(self, tokens_S: Int, residual: Residual) -> F32:
        """One forward of the canvas only."""
        last_key_S = np.full(len(tokens_S), self._length + len(tokens_S) - 1)
        return self._model.forward(tokens_S, self._length, last_key_S, self._cache, residual)

    def truncate(self, length: int) -> None:
        """Later keys and values stay in memory, out of sight, until they are overwritten."""
        self._length = length


class RecomputedContext:
    """Committed tokens as tokens: every forward starts again from position 0."""

    def __init__(self, model: NumpyModel) -> None:
        self._model = model
        self._tokens = np.zeros(0, np.int64)
        self._last_key = np.zeros(0, np.int64)

    @property
    def length(self) -> int:
        """The number of committed tokens."""
        return len(self._tokens)

    def extend(self, tokens_L: Int, last_key_L: Int) -> F32:
        """One forward of all committed tokens, the new ones among them."""
        self._tokens = np.concatenate([self._tokens, tokens_L])
        self._last_key = np.concatenate([self._last_key, last_key_L])
        cache = self._model.new_cache(self.length)
        return self._model.forward(self._tokens, 0, self._last_key, cache)[-len(tokens_L) :]

    def canvas(self, tokens_S: Int, residual: Residual) -> F32:
        """One forward of all committed tokens and the canvas."""
        clean, size = self.length, len(tokens_S)
        none = np.zeros((clean, residual.probs_SR.shape[1]))
        padded = Residual(
            np.concatenate([none.astype(np.int64), residual.ids_SR]),
            np.concatenate([none.astype(np.float32), residual.probs_SR]),
        )
        tokens = np.concatenate([self._tokens, tokens_S])
        last_key = np.concatenate([self._last_key, np.full(size, clean + size - 1)])
        return self._model.forward(tokens, 0, last_key, self._model.new_cache(clean + size), padded)[clean:]

    def truncate(self, length: int) -> None:
        """Forget later tokens."""
        self._tokens, self._last_key = self._tokens[:length], self._last_key[:length]
