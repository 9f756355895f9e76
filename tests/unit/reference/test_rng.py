"""Philox against its published vectors, and the layout of counters against plain integers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dlmrt.reference import rng

# Random123, tests/kat_vectors, the lines "philox4x32 10": counter, key, output.
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
SEED = 0x1234_5678_9ABC_DEF0


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def plain_philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10 in Python integers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b % 2**32, (a >> 32) ^ c[3] ^ k[1], a % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


@pytest.mark.parametrize(("counter", "key", "output"), KNOWN_ANSWERS)
def test_published_known_answers(counter: str, key: str, output: str) -> None:
    k0, k1 = words(key)
    got = [int(word[0]) for word in rng.philox4x32(*words(counter), (k0, k1))]
    assert got == words(output)
    assert plain_philox(words(counter), [k0, k1]) == words(output)


def test_counters_broadcast() -> None:
    index, position = np.arange(3), np.array([[5], [2**32 - 1]])
    got = rng.philox4x32(index, position, 7, 2, (11, 13))
    for row, where in enumerate((5, 2**32 - 1)):
        for column in range(3):
            expected = plain_philox([column, where, 7, 2], [11, 13])
            assert [int(np.broadcast_to(word, (2, 3))[row, column]) for word in got] == expected


def test_seed_is_split_low_word_first() -> None:
    assert rng.seed_key(SEED) == (0x9ABC_DEF0, 0x1234_5678)


@pytest.mark.parametrize("vocab_size", [1, 4, 7, 49])
def test_gumbel_layout(vocab_size: int) -> None:
    noise = rng.gumbel(SEED, np.array([0, 9]), 3, vocab_size)
    assert noise.shape == (2, vocab_size)
    assert noise.dtype == np.float32
    for row, position in enumerate((0, 9)):
        for v in range(vocab_size):
            word = plain_philox([v // 4, position, 3, 0], [0x9ABC_DEF0, 0x1234_5678])[v % 4]
            u = ((word >> 9) + 0.5) * 2.0**-23
            assert noise[row, v] == pytest.approx(-math.log(-math.log(u)), rel=1e-5, abs=1e-6)


def test_gumbel_stays_finite_at_the_ends_of_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = tuple(np.array([[word]], np.uint64) for word in (0, 2**32 - 1, 511, 512))
    monkeypatch.setattr(rng, "philox4x32", lambda *_: ends)
    noise = rng.gumbel(0, np.array([0]), 0, 4)[0]
    u = np.array([0.5, 2**23 - 0.5, 0.5, 1.5]) * 2.0**-23
    np.testing.assert_allclose(noise, -np.log(-np.log(u)), rtol=1e-5)


def test_gumbel_mean_and_variance() -> None:
    noise = rng.gumbel(5, np.arange(64), 0, 512).astype(np.float64)
    assert noise.mean() == pytest.approx(0.5772, abs=0.03)
    assert noise.var() == pytest.approx(math.pi**2 / 6, abs=0.06)


def test_a_draw_depends_on_seed_position_step_and_stream_only() -> None:
    base = rng.gumbel(1, np.array([4, 5]), 2, 16)
    np.testing.assert_array_equal(base[1:], rng.gumbel(1, np.array([5]), 2, 16))
    others = [
        rng.gumbel(2, np.array([4]), 2, 16),
        rng.gumbel(1 + 2**32, np.array([4]), 2, 16),
        rng.gumbel(1, np.array([6]), 2, 16),
        rng.gumbel(1, np.array([4]), 3, 16),
        rng.gumbel(1, np.array([4]), 2, 16, rng.AR_STREAM),
    ]
    for other in others:
        assert not np.isin(other[0], base[0]).any()


def test_noise_ids_layout_and_range() -> None:
    allowed = np.array([2, 3, 5, 7, 11, 13, 48])
    ids = rng.noise_ids(SEED, np.arange(400), 6, allowed)
    for position in range(20):
        word = plain_philox([0, position, 6, 1], [0x9ABC_DEF0, 0x1234_5678])[0]
        assert ids[position] == allowed[word * len(allowed) >> 32]
    counts = [(ids == value).sum() for value in allowed]
    assert sum(counts) == 400
    assert min(counts) > 30
