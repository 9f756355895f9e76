"""Checkpoints: bit-exact content, complete or absent, old ones removed, damage reported."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from dlmrt.config import DiffusionConfig, GenerationDefaults, ModelConfig, ResidualConfig  # noqa: E402
from dlmrt.errors import WeightsError  # noqa: E402
from dlmrt.models.folder import open_folder  # noqa: E402
from dlmrt.models.transformer import Transformer  # noqa: E402
from dlmrt.train import checkpoint as ckpt  # noqa: E402
from dlmrt.train.config import OptimConfig  # noqa: E402
from dlmrt.train.optim import MovingAverage, build_optimizer  # noqa: E402

GENERATION = GenerationDefaults(DiffusionConfig(4, "mask", 2, (1,), 0))


class Setup:
    """A model, its optimiser and its moving average after a few made-up steps."""

    def __init__(self, kind: str, seed: int, steps: int) -> None:
        self.model = Transformer(
            ModelConfig(20, 8, 1, 2, 1, 4, 12, 16, residual=ResidualConfig(2, d_hidden=6))
        )
        generator = torch.Generator().manual_seed(seed)
        self.model.initialise(generator)
        self.optimizer = build_optimizer(self.model, OptimConfig(kind=kind))  # type: ignore[arg-type]
        self.ema = MovingAverage(self.model, 0.9)
        for _ in range(steps):
            for weight in self.model.parameters():
                weight.grad = torch.randn(weight.shape, generator=generator)
            self.optimizer.step()
            self.ema.update(self.model)

    def save(self, root: Path, step: int, keep: int = 2) -> Path:
        write = functools.partial(
            ckpt.write_model,
            model=self.model, generation=GENERATION, tokenizer_json="{}", extra_files={"note.txt": "x"},
        )  # fmt: skip
        state = ckpt.TrainerState(step=step, window={"loss": 0.1 + 0.2}, elapsed=1.5)
        return ckpt.save_checkpoint(root, state, self.optimizer, self.model, self.ema, write, keep)


def step_once(setup: Setup) -> None:
    for i, weight in enumerate(setup.model.parameters()):
        weight.grad = torch.full_like(weight, 0.01 * (i + 1)).cos_()
    setup.optimizer.step()
    setup.ema.update(setup.model)


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_a_loaded_checkpoint_goes_on_bit_for_bit(tmp_path: Path, kind: str) -> None:
    first, second = Setup(kind, 0, steps=3), Setup(kind, 1, steps=0)
    path = first.save(tmp_path, 3)
    ckpt.load_tensors(path, second.optimizer, second.model, second.ema)
    second.ema.updates = first.ema.updates
    assert ckpt.read_state(path) == ckpt.TrainerState(step=3, window={"loss": 0.1 + 0.2}, elapsed=1.5)
    for setup in (first, second):
        step_once(setup)
    for (name, a), b in zip(first.model.named_parameters(), second.model.parameters(), strict=True):
        assert torch.equal(a, b), name
        assert torch.equal(first.ema.shadow[name], second.ema.shadow[name]), name


def test_a_checkpoint_is_a_model_folder_and_only_the_newest_stay(tmp_path: Path) -> None:
    setup = Setup("adamw", 0, steps=1)
    for step in (5, 10, 200_000_000):
        path = setup.save(tmp_path, step)
    assert [p.name for p in ckpt.list_checkpoints(tmp_path)] == ["step-00000010", "step-200000000"]
    assert open_folder(path).generation == GENERATION
    assert (path / "note.txt").read_text() == "x"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-00000010", "step-200000000"]


def test_what_a_kill_leaves_is_ignored_and_removed(tmp_path: Path) -> None:
    setup = Setup("adamw", 0, steps=1)
    setup.save(tmp_path, 1)
    for name in (".writing-step-00000002", "..writing-step-00000002.writing-ab12"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ckpt.STATE_FILE).write_text("{")
    (tmp_path / ".git").mkdir()
    assert [p.name for p in ckpt.list_checkpoints(tmp_path)] == ["step-00000001"]
    setup.save(tmp_path, 2)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".git", "step-00000001", "step-00000002"]


def test_a_failed_write_keeps_the_previous_checkpoint(tmp_path: Path) -> None:
    setup = Setup("adamw", 0, steps=1)
    setup.save(tmp_path, 1, keep=1)

    def fail(path: Path) -> None:
        path.mkdir()
        raise OSError("disk full")

    state = ckpt.TrainerState(step=2)
    with pytest.raises(OSError, match="disk full"):
        ckpt.save_checkpoint(tmp_path, state, setup.optimizer, setup.model, None, fail, 1)
    assert [p.name for p in ckpt.list_checkpoints(tmp_path)] == ["step-00000001"]


def test_damage_is_reported_with_the_way_out(tmp_path: Path) -> None:
    setup = Setup("adamw", 0, steps=1)
    path = setup.save(tmp_path, 1)
    tensors = path / ckpt.TENSOR_FILE
    tensors.write_bytes(tensors.read_bytes()[:100])
    with pytest.raises(WeightsError, match="remove the folder to resume from the one before"):
        ckpt.load_tensors(path, setup.optimizer, setup.model, setup.ema)
    (path / ckpt.STATE_FILE).write_text('{"step": 1, "colour": 2}')
    with pytest.raises(WeightsError, match="remove the folder"):
        ckpt.read_state(path)
