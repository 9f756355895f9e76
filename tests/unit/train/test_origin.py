"""What a run goes on from: a checkpoint of another version or machine, a start model's settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from dlmrt.errors import ConfigError  # noqa: E402
from dlmrt.provenance import source_commit  # noqa: E402
from dlmrt.train.config import TrainConfig  # noqa: E402
from dlmrt.train.metrics import SilentReporter  # noqa: E402
from dlmrt.train.prepare import prepare  # noqa: E402
from dlmrt.train.trainer import train  # noqa: E402
from tests.tiny_folder import write_llama_folder  # noqa: E402

Make = Callable[..., TrainConfig]


class Notes(SilentReporter):
    """Keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_resuming_tells_of_another_commit_torch_or_thread_count(make_config: Make) -> None:
    config = make_config()
    train(config)
    same, other = Notes(), Notes()
    train(config, same, resume=True)
    assert not [n for n in same.notes if "differently" in n]
    path = Path(config.out) / "checkpoints" / "step-00000006" / "trainer.json"
    state = json.loads(path.read_text())
    assert state["provenance"]["commit"] == source_commit()
    state["provenance"] |= {"commit": "abc+", "torch": "1.0"}
    path.write_text(json.dumps(state))
    train(config, other, resume=True)
    told = [n.partition(":")[0] for n in other.notes if "differently" in n]
    assert told == [f"torch was 1.0 and is {torch.__version__}", f"commit was abc+ and is {source_commit()}"]


def test_a_run_of_another_version_is_refused_by_name(make_config: Make) -> None:
    config = make_config()
    train(config)
    path = Path(config.out) / "checkpoints" / "step-00000006" / "trainer.json"
    state = json.loads(path.read_text())
    state["config"]["colour"] = 3
    path.write_text(json.dumps(state))
    with pytest.raises(ConfigError, match="another version of dlmrt wrote it .*unknown option 'colour'"):
        train(config, resume=True)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"block_size": 4}, "diffusion.block_size gives block_size 4, .* was trained with 8"),
        ({"block_size": 8, "noise": "uniform"}, "noise 'uniform', .* was trained with 'mask'"),
        ({"block_size": 8, "mask_token": "<|sep|>"}, r"diffusion\.mask_token gives mask_token_id \d, .* 2;"),
    ],
)
def test_a_start_model_keeps_its_grid_and_noise(
    make_config: Make, section: dict[str, Any], message: str
) -> None:
    first = make_config(max_steps=1)
    train(first)
    model, out = {"start": f"{first.out}/final"}, first.out + "-2"
    with pytest.raises(ConfigError, match=message):
        prepare(make_config(model=model, tokenizer={}, out=out, diffusion=section), SilentReporter())
    told = Notes()
    form = {"prefix": ["<|sep|>"], "suffix": ["<|fix|>"], "align": True}
    prepare(make_config(model=model, tokenizer={}, out=out, prompt=form), told)
    assert [n for n in told.notes if n.startswith("the prompt format differs from that of the start model")]


def test_a_start_model_without_diffusion_settings_is_refused(make_config: Make, tmp_path: Path) -> None:
    start = write_llama_folder(tmp_path / "llama")
    config = make_config(model={"start": str(start)}, tokenizer={})
    with pytest.raises(ConfigError, match=r"llama: this model has no diffusion settings.*dlmrt\.json"):
        prepare(config, SilentReporter())
