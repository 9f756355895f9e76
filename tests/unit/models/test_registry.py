"""Names and paths to folders, and what a name that is none of them is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dlmrt.errors import ConfigError, ModelNotFoundError
from dlmrt.models import registry
from dlmrt.models.registry import list_models, resolve


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package folder with two embedded models and things that are none."""
    folder = tmp_path / "assets"
    for name in ("dlmrt-mini", "dlmrt-tiny"):
        (folder / name).mkdir(parents=True)
        (folder / name / "config.json").write_text("{}")
    (folder / "__pycache__").mkdir()
    (folder / "default.json").write_text(json.dumps({"default": "dlmrt-tiny"}))
    monkeypatch.setattr(registry, "assets_folder", lambda: folder)
    monkeypatch.chdir(tmp_path)
    return folder


def test_the_packages_own_assets_can_be_listed() -> None:
    models = list_models()
    assert sum(model.is_default for model in models) == bool(models)


def test_embedded_models_and_the_default(assets: Path) -> None:
    assert [(m.name, m.path, m.is_default) for m in list_models()] == [
        ("dlmrt-mini", assets / "dlmrt-mini", False),
        ("dlmrt-tiny", assets / "dlmrt-tiny", True),
    ]
    assert resolve(None) == resolve("default") == resolve("dlmrt-tiny") == assets / "dlmrt-tiny"
    assert resolve("dlmrt-mini") == assets / "dlmrt-mini"


def test_the_only_model_is_the_default_without_being_named(assets: Path) -> None:
    (assets / "default.json").unlink()
    with pytest.raises(ModelNotFoundError, match="give one by name: dlmrt-mini, dlmrt-tiny"):
        resolve(None)
    (assets / "dlmrt-tiny" / "config.json").unlink()
    assert resolve(None) == assets / "dlmrt-mini"
    (assets / "dlmrt-mini" / "config.json").unlink()
    with pytest.raises(ModelNotFoundError, match="no embedded model"):
        resolve(None)


def test_a_default_that_names_nothing(assets: Path) -> None:
    (assets / "default.json").write_text('{"default": "gone"}')
    with pytest.raises(
        ConfigError, match=r"default\.json names 'gone'; embedded models: dlmrt-mini, dlmrt-tiny"
    ):
        resolve(None)


def test_paths(assets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine" / "final").mkdir(parents=True)
    (tmp_path / "mine" / "final" / "config.json").write_text("{}")
    assert resolve("mine/final") == Path("mine/final")
    assert resolve(tmp_path / "mine" / "final") == tmp_path / "mine" / "final"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve("~/mine/final") == tmp_path / "mine" / "final"
    with pytest.raises(ModelNotFoundError, match=r"'mine' is no model folder.*did you mean 'mine/final'"):
        resolve("mine")
    with pytest.raises(ModelNotFoundError, match="is a file; give the folder"):
        resolve("mine/final/config.json")


def test_a_name_wins_over_a_folder_of_that_name(assets: Path, tmp_path: Path) -> None:
    (tmp_path / "dlmrt-tiny").mkdir()
    (tmp_path / "dlmrt-tiny" / "config.json").write_text("{}")
    assert resolve("dlmrt-tiny") == assets / "dlmrt-tiny"
    assert resolve("./dlmrt-tiny") == Path("dlmrt-tiny")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dlmrt-tny", "no model 'dlmrt-tny'; did you mean 'dlmrt-tiny'"),
        ("defualt", "did you mean 'default'"),
        ("zzz", "no model 'zzz'; embedded models: dlmrt-mini, dlmrt-tiny; or give the path"),
        ("", "no model ''"),
        ("./absent/model", r"no model '\./absent/model'"),
        (
            "Org/Some-Model_1.5B",
            "nothing is downloaded automatically.*hf download Org/Some-Model_1.5B --local-dir",
        ),
        ("a\0b", "no model"),
        ("x" * 5000, "no model 'xxx"),
    ],
)
def test_unknown_names(assets: Path, name: str, message: str) -> None:
    with pytest.raises(ModelNotFoundError, match=message):
        resolve(name)


def test_folders_and_weights_need_no_torch(tmp_path: Path) -> None:
    script = """
import sys
for name in ("torch", "transformers", "jinja2"):
    sys.modules[name] = None  # importing it fails
import numpy as np
from dlmrt.config import DiffusionConfig, GenerationDefaults, ModelConfig
from dlmrt.models.folder import open_folder, save_folder
from dlmrt.models.registry import list_models
from dlmrt.models.weights import expected_shapes, read_weights
config = ModelConfig(8, 4, 1, 1, 1, 4, 4, 8)
defaults = GenerationDefaults(DiffusionConfig(4, mask_token_id=0))
tensors = {name: np.ones(shape, np.float32) for name, shape in expected_shapes(config).items()}
save_folder(sys.argv[1], config, defaults, tensors, tokenizer_json=None, storage="int8")
print(len(read_weights(open_folder(sys.argv[1]))), type(list_models()).__name__)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(tmp_path / "m")], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "11 list\n", "")
