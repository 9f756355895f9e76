"""Checkpoints: bit-exact content, complete or absent, old ones removed, damage reported."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from safetensors import SafetensorError  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from dlmrt.config import DiffusionConfig, GenerationDefaults, ModelConfig, ResidualConfig  # noqa: E402
from dlmrt.errors import DlmrtError, WeightsError  # noqa: E402
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
    with pytest.raises(DlmrtError, match=r"step-00000002 \(disk full\); free some space .*--resume"):
        ckpt.save_checkpoint(tmp_path, state, setup.optimizer, setup.model, None, fail, 1)
    assert [p.name for p in ckpt.list_checkpoints(tmp_path)] == ["step-00000001"]


@pytest.mark.parametrize("error", [SafetensorError("disk full"), OSError(28, "disk full")])
def test_a_full_disk_is_one_error_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    setup = Setup("adamw", 0, steps=1)
    setup.save(tmp_path, 1)

    def full(*_: object) -> None:
        raise error

    monkeypatch.setattr(ckpt, "save_file", full)
    with pytest.raises(DlmrtError, match="cannot write the checkpoint .*disk full.*--resume"):
        setup.save(tmp_path, 2)
    monkeypatch.undo()
    setup.save(tmp_path, 3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-00000001", "step-00000003"]


@pytest.mark.parametrize("file", [ckpt.STATE_FILE, "model.safetensors"])
def test_a_kill_while_an_old_checkpoint_is_removed_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """Whichever file went first, the rest neither counts as a checkpoint nor stays for ever."""
    setup = Setup("adamw", 0, steps=1)
    for step in (1, 2):
        setup.save(tmp_path, step)

    class Killed(BaseException):
        pass

    def half(folder: Path) -> None:
        (folder / file).unlink()
        raise Killed

    monkeypatch.setattr(ckpt.shutil, "rmtree", half)
    with pytest.raises(Killed):
        setup.save(tmp_path, 3)
    monkeypatch.undo()
    assert [p.name for p in ckpt.list_checkpoints(tmp_path)] == ["step-00000002", "step-00000003"]
    setup.save(tmp_path, 4)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-00000003", "step-00000004"]


@pytest.mark.parametrize("kind", ["adamw", "muon"])
@pytest.mark.parametrize("what", ["one key", "a whole parameter", "the main weights", "ema"])
def test_missing_tensors_are_named(tmp_path: Path, kind: str, what: str) -> None:
    setup = Setup(kind, 0, steps=1)
    path = setup.save(tmp_path, 1)
    file, name = path / ckpt.TENSOR_FILE, "model.layers.0.mlp.up_proj.weight"
    tensors = load_file(file)
    own = [key for key in tensors if key.endswith(f"/{name}") and not key.startswith("ema/")]
    main = [key for key in tensors if "/residual." not in key and not key.startswith("ema/")]
    gone = {"one key": own[:1], "a whole parameter": own, "the main weights": main, "ema": [f"ema/{name}"]}
    save_file({key: value for key, value in tensors.items() if key not in gone[what]}, file)
    with pytest.raises(WeightsError, match=r"incomplete: trainer\.safetensors lacks .*remove the folder"):
        ckpt.load_tensors(path, setup.optimizer, setup.model, setup.ema)


def test_a_residual_that_no_step_used_has_no_entries(tmp_path: Path) -> None:
    first, second = Setup("adamw", 0, steps=0), Setup("adamw", 1, steps=0)
    for name, weight in first.model.named_parameters():
        weight.grad = None if name.startswith("residual.") else torch.ones_like(weight)
    first.optimizer.step()
    ckpt.load_tensors(first.save(tmp_path, 1), second.optimizer, second.model, second.ema)
    assert len(second.optimizer.state) == len([n for n, _ in first.model.named_parameters() if n[0] != "r"])


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
