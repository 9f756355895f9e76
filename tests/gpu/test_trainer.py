"""Training on an NVIDIA GPU: residual, bfloat16 and FlexAttention together, saved and resumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from dlmrt.config import from_mapping  # noqa: E402
from dlmrt.train.checkpoint import list_checkpoints, read_state  # noqa: E402
from dlmrt.train.config import TrainConfig  # noqa: E402
from dlmrt.train.metrics import SilentReporter, read_metrics  # noqa: E402
from dlmrt.train.prepare import prepare  # noqa: E402
from dlmrt.train.trainer import Trainer  # noqa: E402

pytestmark = pytest.mark.gpu


def config(folder: Path, **changes: Any) -> TrainConfig:
    words = "disk file host name port path user list".split()
    texts = [" ".join(words[(i * k) % 8] for k in (1, 2, 3, 5)) for i in range(1, 41)]
    data = folder / "train.jsonl"
    data.write_text("".join(json.dumps({"prompt": t, "answer": t.upper()}) + "\n" for t in texts))
    options: dict[str, Any] = {
        "model": {
            "d_model": 64, "n_layers": 2, "n_heads": 2, "n_kv_heads": 1, "head_dim": 32, "d_ffn": 96,
            "max_positions": 128, "qk_norm": True, "residual": {"top_k": 3, "d_hidden": 32},
        },
        "diffusion": {"block_size": 16},
        "tokenizer": {"train": {"vocab_size": 320}},
        "prompt": {"prefix": ["<|fix|>"], "suffix": ["<|sep|>"], "align": True},
        "data": {"train": [str(data)], "dev": [str(data)], "dev_limit": 8},
        "objective": {"attention": "flex", "residual_probability": 1.0},
        "out": str(folder / "run"), "row_length": 128, "batch_rows": 2, "device": "cuda",
        "precision": "bfloat16", "max_steps": 3, "log_every": 1, "eval_every": 0, "save_every": 2,
    }  # fmt: skip
    return from_mapping(TrainConfig, {**options, **changes})


def test_three_steps_with_a_checkpoint_and_a_resumed_fourth(tmp_path: Path) -> None:
    """The residual starts at zero output, so its inner weights move from the second step on."""
    trainer = Trainer(prepare(config(tmp_path), SilentReporter()))
    before = {n: p.detach().clone() for n, p in trainer.model.named_parameters()}
    assert trainer.run() == "finished"
    after = {n: p.detach().clone() for n, p in trainer.model.named_parameters()}
    assert [n for n in before if torch.equal(before[n], after[n])] == []
    assert {p.dtype for p in after.values()} == {torch.float32}
    assert all(bool(p.isfinite().all()) for p in after.values())
    lines = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert [(r["kind"], r["step"]) for r in lines] == [("train", 1), ("train", 2), ("train", 3), ("dev", 3)]
    assert all(r["diffusion"] > 0 and r["grad_norm"] > 0 for r in lines if r["kind"] == "train")
    assert trainer.state.skipped == 0

    resumed = Trainer(prepare(config(tmp_path, max_steps=4), SilentReporter()))
    assert resumed.state.step == 3
    for name, parameter in resumed.model.named_parameters():
        assert parameter.device.type == "cuda" and torch.equal(parameter, after[name]), name
        for key, value in trainer.optimizer.state[trainer.model.get_parameter(name)].items():
            loaded = resumed.optimizer.state[parameter][key]
            assert loaded.device == value.device and torch.equal(loaded, value), f"{key} of {name}"
    assert resumed.run() == "finished"
    newest = list_checkpoints(tmp_path / "run" / "checkpoints")[-1]
    assert newest.name == "step-00000004" and read_state(newest).skipped == 0


def test_flex_and_dense_attention_give_one_loss(tmp_path: Path) -> None:
    losses = []
    for attention in ("flex", "dense"):
        options = {"attention": attention, "residual_probability": 1.0}
        given = config(tmp_path, objective=options, precision="float32", out=str(tmp_path / attention))
        trainer = Trainer(prepare(given, SilentReporter()))
        losses.append(trainer.evaluate())
        trainer.log.close()
    assert losses[0] == pytest.approx(losses[1], rel=2e-3)
