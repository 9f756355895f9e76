"""The configuration tree: strictness, YAML numbers, overrides, what may change on resuming."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import yaml

from dlmrt.config import ModelConfig, ResidualConfig, from_mapping, to_mapping
from dlmrt.errors import ConfigError
from dlmrt.train.config import (
    ModelSection,
    TrainConfig,
    apply_override,
    differences,
    dump_config,
    load_config,
    parse_yaml,
)

ROOT = Path(__file__).parents[3]


@pytest.fixture
def config_file(tmp_path: Path, run_data: dict[str, Any]) -> Path:
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump(run_data))
    return path


def test_written_configuration_reads_back_equal(config_file: Path, tmp_path: Path) -> None:
    config = load_config(config_file)
    assert config.optim.lr == 3e-3 and config.model.residual == ResidualConfig(3, 1.0, 8)
    copy = tmp_path / "copy.yaml"
    copy.write_text(dump_config(config))
    assert load_config(copy) == config


@pytest.mark.parametrize("text", ["1e-3", "1E-3", "1.0e-3", ".001", "+1e-3", "0.001"])
def test_every_spelling_of_a_number_is_a_number(text: str) -> None:
    assert parse_yaml(f"x: {text}", "test") == {"x": 0.001}


def test_words_and_dates_stay_what_they_are() -> None:
    assert parse_yaml("[e5, 1e, 12, -3]", "test") == ["e5", "1e", 12, -3]


def test_overrides_reach_nested_options_and_make_missing_sections(config_file: Path) -> None:
    items = ["optim.lr=1e-4", "objective.copies=4", "data.dev=[]", "row_buckets=[8, 16]", "max_minutes=null"]
    config = load_config(config_file, items)
    assert config.optim.lr == 1e-4 and config.optim.warmup == 0.1
    assert config.objective.copies == 4 and config.data.dev == () and config.row_buckets == (8, 16)


@pytest.mark.parametrize("item", ["optim.lr", "=3", "optim..lr=3"])
def test_a_malformed_override_is_named(item: str) -> None:
    with pytest.raises(ConfigError, match="must look like"):
        apply_override({}, item)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("optim.learning_rat=1", "unknown option 'optim.learning_rat'"),
        ("optim.wamup=0.1", "did you mean 'warmup'"),
        ("batch_row=1", "did you mean 'batch_rows'"),
        ("objective.copys=2", "did you mean 'copies'"),
        ("optim.lr=fast", "optim.lr is 'fast'"),
        ("optim.lr=0", "must be > 0"),
        ("optim.warmup=0.8", r"optim.warmup \+ optim.decay is 1.3"),
        ("row_length=12", "multiple of diffusion.block_size"),
        ("row_buckets=[40]", "at most row_length"),
        ("max_steps=null", "max_steps is None"),
        ("optim.by=minutes", "max_minutes is None"),
        ("tokenizer.path=x.json", "both path and train"),
        ("seed=-1", r"seed is -1"),
        ("ema=1.0", r"in \[0, 1\)"),
        ("objective.attention=flex", "objective.attention is 'flex'; it must be 'dense' on device 'cpu'"),
        ("data.format=jsonl", "unknown option 'data.format'"),
        ("precision=float16", "one of float32, bfloat16"),
    ],
)
def test_a_wrong_option_is_refused_by_name(config_file: Path, item: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(config_file, [item])


def test_unreadable_files_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the configuration"):
        load_config(tmp_path / "absent.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1, 2\n")
    with pytest.raises(ConfigError, match="not valid YAML.*line 2"):
        load_config(broken)
    broken.write_text("- 1\n")
    with pytest.raises(ConfigError, match="must hold a mapping"):
        load_config(broken)


def test_what_may_change_when_resuming(make_config: Callable[..., TrainConfig]) -> None:
    old = make_config()
    assert differences(old, make_config(max_steps=9, log_every=3, out="elsewhere", threads=2)) == []
    assert differences(old, make_config(decoder={"threshold": 0.5})) == []
    changed = make_config(seed=1, batch_rows=4, optim={"lr": 1e-4, "warmup": 0.1})
    assert differences(old, changed) == ["batch_rows", "optim.lr", "seed"]
    with_residual_off = to_mapping(old)
    with_residual_off["model"]["residual"] = None
    assert "model.residual.top_k" in differences(old, from_mapping(TrainConfig, with_residual_off))


def test_the_vocabulary_defaults_to_the_tokenizers_and_may_only_be_larger() -> None:
    section = ModelSection(
        d_model=8, n_layers=1, n_heads=1, n_kv_heads=1, head_dim=8, d_ffn=8, max_positions=8, rope_theta=5e4
    )
    resolved = section.resolve(300, None)
    assert resolved.vocab_size == 300 and resolved.rope_theta == 5e4 and resolved.norm_eps == 1e-6
    larger = ModelSection(**{**section.given(), "vocab_size": 320})
    assert larger.resolve(300, None).vocab_size == 320
    with pytest.raises(ConfigError, match="the tokenizer has 321 tokens"):
        larger.resolve(321, None)
    with pytest.raises(ConfigError, match=r"model\.d_model' is missing"):
        ModelSection(n_layers=1).resolve(300, None)


def option_names(config_type: type, where: str = "") -> set[str]:
    """Dotted names of all options; sections that docs describe as one value are not opened."""
    hints = typing.get_type_hints(config_type)
    names = set()
    for field in dataclasses.fields(config_type):
        kind = hints[field.name]
        name = f"{where}{field.name}"
        nested = dataclasses.is_dataclass(kind) and name != "decoder"
        names |= option_names(kind, f"{name}.") if nested else {name.replace("decoder", "decoder.*")}
    return names


def test_the_documentation_lists_every_option_and_no_other() -> None:
    table = (ROOT / "docs" / "training.md").read_text().partition("## Options")[2].partition("\n## ")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = set(re.findall(r"`([a-z_.*]+)`", " ".join(first_cells)))
    assert listed == option_names(TrainConfig)


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "configs").glob("*.yaml")), ids=lambda p: p.stem)
def test_the_example_configurations_are_valid(path: Path) -> None:
    assert load_config(path).out.startswith("runs/")


def test_a_start_model_keeps_its_shape() -> None:
    start = ModelConfig(300, 8, 1, 1, 1, 8, 8, 8)
    grown = ModelSection(start="x", residual=ResidualConfig(4), clean_attention="causal").resolve(300, start)
    assert grown.residual == ResidualConfig(4) and grown.clean_attention == "causal" and grown.d_model == 8
    with pytest.raises(ConfigError, match=r"model\.d_model cannot be"):
        ModelSection(start="x", d_model=16).resolve(300, start)
