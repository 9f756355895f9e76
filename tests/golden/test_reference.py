"""The reference's answers of the day they were checked, so that both backends cannot drift together.

``DLMRT_UPDATE_GOLDEN=1 pytest tests/golden`` writes the file anew; look at the difference before you
commit it, and say in the changelog why answers changed.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlmrt.config import POLICIES, DecoderConfig
from dlmrt.reference import NumpyBackend, rng
from dlmrt.rows import RowRequest, StepRecord
from tests.helpers import BLOCK, random_weights, tiny_config, tiny_diffusion
from tests.parity.support import SAMPLED, TINY_DECODER, WEIGHTS_SEED, prompt

FILE = Path(__file__).parent / "reference.json"


def cases() -> dict[str, tuple[NumpyBackend, RowRequest]]:
    """A few rows that between them use every policy, noise, kind of attention and method."""
    found: dict[str, tuple[NumpyBackend, RowRequest]] = {}
    for noise in ("mask", "uniform"):
        for clean_attention in ("block", "causal"):
            config = tiny_config(clean_attention=clean_attention)
            one = NumpyBackend(random_weights(config, WEIGHTS_SEED), config, tiny_diffusion(noise=noise))
            for seed, policy in enumerate(POLICIES):
                sampled = SAMPLED if (seed + (clean_attention == "causal")) % 2 else {}
                decoder = DecoderConfig(**{**TINY_DECODER, "policy": policy, "seed": seed, **sampled})
                name = f"{noise} {clean_attention} {policy} {'sampled' if sampled else 'greedy'}"
                found[name] = one, RowRequest(prompt(9 + seed, seed=50 + seed), 20, decoder)
            found[f"ar {noise} {clean_attention}"] = (
                one,
                RowRequest(prompt(BLOCK, 60), 12, DecoderConfig(seed=3, temperature=0.7), "ar"),
            )
    return found


def answer(one: NumpyBackend, request: RowRequest) -> dict[str, Any]:
    """What is pinned: the whole output, and the first and last step's probabilities."""
    records: list[StepRecord] = []
    [output] = one.generate([request], on_step=records.append)
    pinned = asdict(output)
    del pinned["seconds"]
    ends = [records[0], records[-1]] if records else []
    return {
        **json.loads(json.dumps(pinned)),
        "prompt_ids": list(request.prompt_ids),
        "confidence": [[round(float(c), 4) for c in record.confidence_S] for record in ends],
        "entropy": [[round(float(h), 4) for h in record.entropy_S] for record in ends],
    }


def randomness() -> dict[str, Any]:
    """A few draws of every kind."""
    positions = np.array([0, 5, 1000])
    noise = rng.gumbel(2**40 + 7, positions, 3, 6)
    return {
        "gumbel": [[round(float(g), 4) for g in row] for row in noise],
        "noise_ids": rng.noise_ids(2**40 + 7, positions, 3, np.arange(5, 1005)).tolist(),
    }


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    if os.environ.get("DLMRT_UPDATE_GOLDEN") == "1":
        fresh = {"randomness": randomness(), **{name: answer(*case) for name, case in cases().items()}}
        lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in fresh.items())
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    stored: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return stored


def assert_equal_but_for_rounding(got: dict[str, Any], stored: dict[str, Any]) -> None:
    assert set(got) == set(stored)
    for name, value in stored.items():
        if name in ("confidence", "entropy", "gumbel"):
            np.testing.assert_allclose(np.array(got[name]), np.array(value), atol=3e-4)
        else:
            assert got[name] == value, name


def test_no_case_is_left_out(golden: dict[str, Any]) -> None:
    assert set(golden) == {"randomness", *cases()}


def test_random_numbers_are_the_golden_ones(golden: dict[str, Any]) -> None:
    assert_equal_but_for_rounding(randomness(), golden["randomness"])


@pytest.mark.parametrize("name", cases())
def test_answers_are_the_golden_ones(name: str, golden: dict[str, Any]) -> None:
    assert_equal_but_for_rounding(answer(*cases()[name]), golden[name])
