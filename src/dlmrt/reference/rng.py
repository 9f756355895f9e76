"""Counter-based random numbers: a draw depends on what it is for, never on who drew before.

Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). The key is
the request's seed; the counter is (index, absolute position, step counter, stream). So a request
gives the same tokens alone, in any batch, and from any backend.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
U64 = npt.NDArray[np.uint64]

GUMBEL_STREAM, NOISE_STREAM, AR_STREAM = 0, 1, 2

_ROUNDS = 10
_MULTIPLIER_0, _MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_STEP_0, _KEY_STEP_1 = 0x9E3779B9, 0xBB67AE85
_LOW, _HALF = 0xFFFFFFFF, np.uint64(32)


def philox4x32(
    c0: npt.ArrayLike, c1: npt.ArrayLike, c2: npt.ArrayLike, c3: npt.ArrayLike, key: tuple[int, int]
) -> tuple[U64, U64, U64, U64]:
    """The four output words of Philox4x32-10 for counters that broadcast against each other.

    Counter and key words lie in [0, 2**32). The result has at least one axis; its 32-bit words sit
    in uint64, so that the 64-bit products need no casts.
    """
    w0, w1, w2, w3 = (np.atleast_1d(np.asarray(word, np.uint64)) for word in (c0, c1, c2, c3))
    k0, k1 = key
    low = np.uint64(_LOW)
    for _ in range(_ROUNDS):
        product_0, product_1 = w0 * _MULTIPLIER_0, w2 * _MULTIPLIER_1
        w0, w1, w2, w3 = (
            (product_1 >> _HALF) ^ w1 ^ np.uint64(k0),
            product_1 & low,
            (product_0 >> _HALF) ^ w3 ^ np.uint64(k1),
            product_0 & low,
        )
        k0, k1 = (k0 + _KEY_STEP_0) & _LOW, (k1 + _KEY_STEP_1) & _LOW
    return w0, w1, w2, w3


def seed_key(seed: int) -> tuple[int, int]:
    """The two key words of a seed in [0, 2**64)."""
    return seed & _LOW, seed >> 32


def gumbel(seed: int, positions_S: Int, step: int, vocab_size: int, stream: int = GUMBEL_STREAM) -> F32:
    """Standard Gumbel noise, float32 [S, V]: entry v is lane ``v % 4`` of counter index ``v // 4``."""
    index_Q = np.arange(-(-vocab_size // 4), dtype=np.uint64)
    words = philox4x32(index_Q, positions_S.astype(np.uint64)[:, None], step, stream, seed_key(seed))
    bits_SV = np.stack(words, axis=-1).reshape(len(positions_S), -1)[:, :vocab_size]
    # 23 bits and a half: exact in float32, and never 0 or 1.
    u_SV = ((bits_SV >> np.uint64(9)).astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-23)
    noise: F32 = -np.log(-np.log(u_SV))
    return noise


def noise_ids(seed: int, positions_S: Int, step: int, allowed: Int) -> Int:
    """Uniform draws, int64 [S], from the ascending ids ``allowed``, by multiply and shift."""
    word_S = philox4x32(0, positions_S.astype(np.uint64), step, NOISE_STREAM, seed_key(seed))[0]
    picked: Int = allowed[((word_S * np.uint64(len(allowed))) >> _HALF).astype(np.int64)]
    return picked
