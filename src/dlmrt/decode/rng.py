"""Counter-based random numbers: the same draw for the same question, on any device, in any batch.

Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011)
turns a 128-bit counter and a 64-bit key into four 32-bit words. The key is a row's seed; the counter
names what is drawn: (index, absolute position, step counter, stream). So a row draws the same numbers
wherever it sits in a batch, and nothing here has a state that a captured graph would freeze.

Words are held in int64 tensors, because torch has no 32-bit unsigned multiplication.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from torch import Tensor

STREAM_GUMBEL: Final = 0
STREAM_NOISE: Final = 1
STREAM_AR: Final = 2

_ROUNDS: Final = 10
_WORD: Final = 0xFFFFFFFF
_MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS: Final = (0x9E3779B9, 0xBB67AE85)


def philox(c0: Tensor, c1: Tensor, c2: Tensor, c3: Tensor, k0: Tensor, k1: Tensor) -> Tensor:
    """Return Philox4x32-10 of counters and keys, words in [0, 2**32).

    All six are int64 and broadcast against each other to a shape ``*`` (``k0`` and ``k1`` have one
    shape); the result is [4, *].
    """
    shape = np.broadcast_shapes(*(tuple(word.shape) for word in (c0, c1, c2, c3, k0, k1)))
    # The two halves of a round are the same arithmetic with other constants: axis 0 holds both.
    even = torch.stack((c0.expand(shape), c2.expand(shape)))
    odd = torch.stack((c1.expand(shape), c3.expand(shape)))
    key = torch.stack((k0, k1))
    key = key.view(2, *[1] * (len(shape) - k0.dim()), *k0.shape)
    multipliers = _pair(_MULTIPLIERS, even)
    key_step = _pair(_KEY_STEPS, even)
    for round_ in range(_ROUNDS):
        # The low 64 bits of the product are exact: int64 arithmetic wraps around.
        product = (even * multipliers).flip(0)
        even = (product >> 32).bitwise_xor_(odd).bitwise_xor_(key + round_ * key_step).bitwise_and_(_WORD)
        odd = product.bitwise_and_(_WORD)
    return torch.stack((even[0], odd[0], even[1], odd[1]))


def gumbel_noise(seed_B: Tensor, position_BS: Tensor, counter_B: Tensor, vocab: int, stream: int) -> Tensor:
    """Standard Gumbel noise for every vocabulary entry, float32 [B, S, V].

    Entry ``v`` uses counter index ``v // 4`` and output word ``v % 4``.
    """
    index = torch.arange((vocab + 3) // 4, device=seed_B.device)
    words = _draw(index, position_BS[:, :, None], counter_B[:, None, None], stream, seed_B[:, None, None])
    words_BSV = words.movedim(0, -1).flatten(-2)[..., :vocab]
    return uniform(words_BSV).log_().neg_().log_().neg_()


def noise_ids(seed_B: Tensor, position_BS: Tensor, counter_B: Tensor, allowed: Tensor) -> Tensor:
    """Uniform draws from the ids ``allowed`` (int64, ascending), one a position: int64 [B, S]."""
    zero = torch.zeros_like(position_BS)
    word_BS = _draw(zero, position_BS, counter_B[:, None], STREAM_NOISE, seed_B[:, None])[0]
    return allowed[(word_BS * allowed.shape[0]) >> 32]


def uniform(word: Tensor) -> Tensor:
    """Map words to float32 in the open interval (0, 1); every operation here is exact."""
    return (word >> 9).to(torch.float32).add_(0.5).mul_(2.0**-23)


def _draw(index: Tensor, position: Tensor, counter: Tensor, stream: int, seed: Tensor) -> Tensor:
    return philox(index, position, counter, torch.full_like(counter, stream), seed & _WORD, seed >> 32)


def _pair(values: tuple[int, int], like: Tensor) -> Tensor:
    """Two constants along axis 0, made on the device (a copy from the host would be a sync)."""
    lane = torch.arange(2, device=like.device).view(2, *[1] * (like.dim() - 1))
    return lane * (values[1] - values[0]) + values[0]
