"""The same random words in NumPy and torch, bit for bit."""

from __future__ import annotations

import numpy as np
import torch

from dlmrt.decode import rng as torch_rng
from dlmrt.reference import rng

SEEDS = [0, 1, 2**32 - 1, 2**32, 2**63 - 1, 0x1234_5678_9ABC_DEF0]


def test_words_are_equal_bit_for_bit() -> None:
    draws = np.random.RandomState(0).randint(0, 2**32, (6, 1000), dtype=np.uint64)
    draws[:, :4] = [0, 1, 2**31, 2**32 - 1]
    mine = [rng.philox4x32(*column[:4], (int(column[4]), int(column[5]))) for column in draws.T]
    theirs = torch_rng.philox(*torch.from_numpy(draws.astype(np.int64)))
    np.testing.assert_array_equal(np.array(mine)[:, :, 0].T.astype(np.int64), theirs.numpy())


def test_noise_ids_are_equal() -> None:
    allowed, positions = np.array([3, 5, 6, 9, 2000]), np.arange(64)
    for counter, seed in enumerate(SEEDS):
        theirs = torch_rng.noise_ids(
            torch.tensor([seed]),
            torch.from_numpy(positions)[None],
            torch.tensor([counter]),
            torch.from_numpy(allowed),
        )
        np.testing.assert_array_equal(rng.noise_ids(seed, positions, counter, allowed), theirs[0].numpy())


def test_gumbel_noise_is_equal_up_to_the_rounding_of_a_logarithm() -> None:
    positions = np.array([0, 1, 77, 4095])
    for seed in SEEDS:
        for stream in (rng.GUMBEL_STREAM, rng.AR_STREAM):
            theirs = torch_rng.gumbel_noise(
                torch.tensor([seed]), torch.from_numpy(positions)[None], torch.tensor([9]), 50, stream
            )
            mine = rng.gumbel(seed, positions, 9, 50, stream)
            np.testing.assert_allclose(mine, theirs[0].numpy(), rtol=1e-5, atol=1e-6)
