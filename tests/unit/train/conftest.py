"""A tiny task and run: words in, the same words with capitals out."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dlmrt.train.config import TrainConfig

WORDS = "disk file host name port path user list node hash tree ring page lock cache 7 42 2031".split()
TINY: dict[str, Any] = {
    "model": {
        "d_model": 16, "n_layers": 1, "n_heads": 2, "n_kv_heads": 1, "head_dim": 8, "d_ffn": 24,
        "max_positions": 64, "residual": {"top_k": 3, "d_hidden": 8},
    },
    "diffusion": {"block_size": 8},
    "tokenizer": {"train": {"vocab_size": 300}},
    "prompt": {"prefix": ["<|fix|>"], "suffix": ["<|sep|>"], "align": True},
    "optim": {"lr": 3e-3, "warmup": 0.1},
    "row_length": 32,
    "batch_rows": 3,
    "max_steps": 6,
    "threads": 1,
    "log_every": 2,
    "eval_every": 4,
    "save_every": 4,
}  # fmt: skip


def write_pairs(path: Path, count: int, seed: int = 0) -> Path:
    """A JSONL file of ``count`` pairs of one to six words."""
    rng = random.Random(seed)
    lines = []
    for _ in range(count):
        text = " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 6)))
        lines.append(json.dumps({"prompt": text, "answer": text.title(), "note": 1}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def run_data(tmp_path: Path) -> dict[str, Any]:
    """Plain data of a run in ``tmp_path`` that trains in a second; change it at will."""
    train = write_pairs(tmp_path / "train.jsonl", 40)
    dev = write_pairs(tmp_path / "dev.jsonl", 9, seed=1)
    data: dict[str, Any] = json.loads(json.dumps(TINY))
    data |= {"data": {"train": [str(train)], "dev": [str(dev)]}, "out": str(tmp_path / "run")}
    return data


@pytest.fixture
def make_config(run_data: dict[str, Any]) -> Callable[..., TrainConfig]:
    """Build the run's configuration; keyword arguments replace top-level options."""
    from dlmrt.config import from_mapping
    from dlmrt.train.config import TrainConfig

    return lambda **changes: from_mapping(TrainConfig, {**run_data, **changes})
