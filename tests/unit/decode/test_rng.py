"""The random numbers: published answers, exact mapping, and independence of the batch."""

from __future__ import annotations

import math

import pytest
import torch

from dlmrt.decode.rng import STREAM_AR, STREAM_GUMBEL, gumbel_noise, noise_ids, philox, uniform

# Known-answer vectors of Random123 (kat_vectors, philox4x32 with 10 rounds): counter, key, result.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text: str) -> list[torch.Tensor]:
    return [torch.tensor([int(word, 16)]) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_philox_gives_the_published_answers(counter: str, key: str, expected: str) -> None:
    got = philox(*words(counter), *words(key))
    assert got.flatten().tolist() == [int(word, 16) for word in expected.split()]


def test_philox_broadcasts_like_the_single_counters() -> None:
    index, position = torch.arange(3), torch.arange(4)[:, None]
    key = torch.tensor([[5]])
    grid = philox(index, position, torch.tensor([[7]]), torch.tensor([[0]]), key, key + 1)
    assert grid.shape == (4, 4, 3)
    one = [torch.tensor([value]) for value in (2, 3, 7, 0, 5, 6)]
    assert grid[:, 3, 2].tolist() == philox(*one)[:, 0].tolist()


def test_uniform_is_exact_and_never_zero_or_one() -> None:
    word = torch.tensor([0, 511, 512, 2**32 - 1])
    assert uniform(word).tolist() == [0.5 * 2**-23, 0.5 * 2**-23, 1.5 * 2**-23, 1 - 2**-24]
    assert 0 < uniform(word).min()
    assert uniform(word).max() < 1


def test_gumbel_noise_uses_four_words_of_each_counter() -> None:
    seed, position, counter = 2**35 + 9, 13, 4
    noise = gumbel_noise(
        torch.tensor([seed]), torch.tensor([[position]]), torch.tensor([counter]), 7, STREAM_AR
    )
    assert noise.shape == (1, 1, 7)
    for v in range(7):
        at = [v // 4, position, counter, STREAM_AR, seed & 0xFFFFFFFF, seed >> 32]
        word = philox(*(torch.tensor([value]) for value in at))[v % 4, 0].item()
        u = ((word >> 9) + 0.5) * 2**-23
        assert noise[0, 0, v].item() == pytest.approx(-math.log(-math.log(u)), rel=1e-5)


def test_draws_do_not_depend_on_the_other_rows() -> None:
    seeds, positions = torch.tensor([3, 2**40, 3]), torch.tensor([[0, 1], [8, 9], [16, 17]])
    counters, allowed = torch.tensor([0, 5, 2]), torch.arange(5, 40)
    together = gumbel_noise(seeds, positions, counters, 10, STREAM_GUMBEL)
    ids = noise_ids(seeds, positions, counters, allowed)
    for row in range(3):
        one = slice(row, row + 1)
        alone = gumbel_noise(seeds[one], positions[one], counters[one], 10, STREAM_GUMBEL)
        assert torch.equal(together[one], alone)
        assert torch.equal(ids[one], noise_ids(seeds[one], positions[one], counters[one], allowed))


def test_every_part_of_the_counter_and_both_halves_of_the_seed_matter() -> None:
    def draw(seed: int, position: int, counter: int, stream: int) -> list[float]:
        noise = gumbel_noise(
            torch.tensor([seed]), torch.tensor([[position]]), torch.tensor([counter]), 8, stream
        )
        return noise.flatten().tolist()

    base = draw(1, 1, 1, 0)
    others = [
        draw(2, 1, 1, 0),
        draw(1 + 2**32, 1, 1, 0),
        draw(1, 2, 1, 0),
        draw(1, 1, 2, 0),
        draw(1, 1, 1, 2),
    ]
    assert all(other != base for other in others)


def test_noise_ids_are_uniform_over_the_allowed_ids_only() -> None:
    allowed = torch.tensor([2, 3, 5, 7, 11])
    ids = noise_ids(torch.tensor([0]), torch.arange(5000)[None], torch.tensor([0]), allowed)
    counts = torch.bincount(ids.flatten(), minlength=12)
    assert counts.sum() == counts[allowed].sum() == 5000
    # 1000 expected each; 5 standard deviations are 141.
    assert (counts[allowed] - 1000).abs().max() < 141
