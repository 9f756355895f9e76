"""Writing and opening a model folder: round trips, strictness, and never half a folder."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlmrt.config import DecoderConfig, DiffusionConfig, GenerationDefaults
from dlmrt.errors import ConfigError, ModelNotFoundError, WeightsError
from dlmrt.models import folder as folder_module
from dlmrt.models.folder import ModelFolder, card_summary, open_folder, save_folder
from dlmrt.models.weights import read_weights
from tests.helpers import MASK_ID, VOCAB, random_weights, tiny_config, tiny_diffusion
from tests.unit.models.conftest import MakeFolder, defaults


def edit(folder: ModelFolder, file: str, **changes: Any) -> None:
    path = folder.path / file
    data = json.loads(path.read_text()) if path.exists() else {}
    data.update(changes)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"residual": None, "qk_norm": False, "tie_embeddings": False, "rotary_fraction": 1.0},
        {"activation": "gelu_tanh", "clean_attention": "causal", "norm_eps": 1e-5},
    ],
)
def test_what_is_saved_is_what_is_opened(make_folder: MakeFolder, changes: dict[str, Any]) -> None:
    config = tiny_config(**changes)
    saved = make_folder(config=config)
    assert open_folder(saved.path) == saved
    assert saved.config == config
    assert saved.generation == defaults()


def test_an_autoregressive_model_is_saved_as_one(tmp_path: Path) -> None:
    config = tiny_config(residual=None, clean_attention="causal")
    generation = GenerationDefaults(DiffusionConfig(block_size=1, noise=None, eos_token_ids=(1,)))
    saved = save_folder(tmp_path / "ar", config, generation, random_weights(config), tokenizer_json=None)
    assert open_folder(saved.path) == saved
    assert saved.methods == ("ar", "ar_lookup")


def test_saved_again_it_is_the_same_bytes(make_folder: MakeFolder) -> None:
    first = make_folder("one", storage="int8", extra_files={"README.md": "# Card", "raw": b"\xff"})
    second = make_folder("two", storage="int8", extra_files={"README.md": "# Card", "raw": b"\xff"})
    names = sorted(p.name for p in first.path.iterdir())
    assert names == [
        "README.md", "config.json", "generation_config.json", "model.safetensors", "raw", "tokenizer.json",
    ]  # fmt: skip
    for name in names:
        assert (first.path / name).read_bytes() == (second.path / name).read_bytes()


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("config.json", {"hiden_size": 24}, "unknown option 'hiden_size'; did you mean 'hidden_size'"),
        ("config.json", {"hidden_size": "24"}, "hidden_size = '24'; it must be an integer >= 1"),
        ("config.json", {"hidden_size": True}, "hidden_size = True"),
        ("config.json", {"num_hidden_layers": 0}, "num_hidden_layers = 0"),
        ("config.json", {"num_key_value_heads": 3}, "a multiple of n_kv_heads"),
        ("config.json", {"rope_theta": -1}, "rope_theta = -1; it must be a number > 0"),
        ("config.json", {"tie_word_embeddings": 1}, "tie_word_embeddings = 1; it must be true or false"),
        (
            "config.json",
            {"clean_attention": "full"},
            "clean_attention = 'full'; it must be one of block, causal",
        ),
        ("config.json", {"hidden_act": "relu"}, "hidden_act = 'relu'; it must be one of silu"),
        ("config.json", {"residual": {"alfa": 1.0}}, "'residual.alfa'; did you mean 'alpha'"),
        ("config.json", {"residual": {"top_k": 0}}, r"residual\.top_k is 0"),
        ("config.json", {"rope_scaling": {"rope_type": "yarn"}}, "rope_scaling.*not supported"),
        ("config.json", {"vocab_size": None}, "lacks 'vocab_size'"),
        ("generation_config.json", {"blocksize": 4}, "unknown option 'blocksize'; did you mean 'block_size'"),
        ("generation_config.json", {"temperature": 1.0}, "'temperature'; did you mean 'decoder.temperature'"),
        ("generation_config.json", {"block_size": 1000}, "block_size is 1000, the model has 96 positions"),
        ("generation_config.json", {"block_size": 0}, "block_size is 0"),
        ("generation_config.json", {"block_size": None}, "lacks 'block_size'"),
        ("generation_config.json", {"noise": "gauss"}, "noise is 'gauss'; it must be one of mask, uniform"),
        ("generation_config.json", {"mask_token_id": None}, "mask_token_id is None"),
        (
            "generation_config.json",
            {"mask_token_id": VOCAB},
            rf"mask_token_id has id {VOCAB}.*\[0, {VOCAB}\)",
        ),
        ("generation_config.json", {"eos_token_id": [1, -2]}, "eos_token_ids has id -2"),
        (
            "generation_config.json",
            {"eos_token_id": "</s>"},
            "eos_token_id '</s>'; it must be an id or a list",
        ),
        ("generation_config.json", {"eos_token_id": MASK_ID}, "is an EOS id too"),
        ("generation_config.json", {"reserved_ids": [1.5]}, r"reserved_ids\[0\] is 1.5"),
        ("generation_config.json", {"max_new_tokens": 0}, "max_new_tokens is 0; it must be >= 1"),
        ("generation_config.json", {"decoder": {"threshhold": 0.5}}, "did you mean 'threshold'"),
        ("generation_config.json", {"decoder": {"threshold": 1.5}}, "threshold is 1.5"),
        ("generation_config.json", {"prompt": {"align": "yes"}}, "prompt.align is 'yes'"),
        ("dlmrt.json", {"block": 4}, "unknown option 'block'; did you mean 'block_size'"),
    ],
)
def test_strict_configuration(
    make_folder: MakeFolder, file: str, changes: dict[str, Any], message: str
) -> None:
    folder = make_folder()
    edit(folder, file, **changes)
    with pytest.raises(ConfigError, match=message) as caught:
        open_folder(folder.path)
    assert str(folder.path / file) in str(caught.value)


@pytest.mark.parametrize("file", ["config.json", "generation_config.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"a": 1, "a": 2}', b"[" * 10**5])
def test_files_that_are_no_json_objects(make_folder: MakeFolder, file: str, content: bytes) -> None:
    folder = make_folder()
    (folder.path / file).write_bytes(content)
    with pytest.raises(ConfigError, match=file):
        open_folder(folder.path)


def test_harmless_keys_are_tolerated(make_folder: MakeFolder) -> None:
    folder = make_folder()
    edit(
        folder,
        "config.json",
        torch_dtype="bfloat16",
        transformers_version="5",
        use_cache=True,
        rope_scaling=None,
    )
    edit(folder, "generation_config.json", bos_token_id=2, transformers_version="5")
    assert open_folder(folder.path) == folder


def test_a_folder_without_config(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"no config\.json"):
        open_folder(tmp_path)
    with pytest.raises(ModelNotFoundError, match="absent"):
        open_folder(tmp_path / "absent")


def test_eos_ids_are_the_union_of_all_files(make_folder: MakeFolder) -> None:
    folder = make_folder(tokenizer_json='{"model": {"vocab": {"<stop>": 9}}}')
    edit(folder, "generation_config.json", eos_token_id=5)
    edit(folder, "config.json", eos_token_id=[6, 5])
    assert open_folder(folder.path).generation.diffusion.eos_token_ids == (5, 6)
    edit(folder, "tokenizer_config.json", eos_token="<stop>")
    assert open_folder(folder.path).generation.diffusion.eos_token_ids == (5, 6, 9)
    edit(folder, "dlmrt.json", eos_token_id=4)
    assert open_folder(folder.path).generation.diffusion.eos_token_ids == (4, 5, 6, 9)


def test_the_id_of_an_added_token_wins_over_its_text(make_folder: MakeFolder) -> None:
    tokenizer = {"added_tokens": [{"id": 7, "content": "<END>"}], "model": {"vocab": {"<|END|>": 8}}}
    folder = make_folder(tokenizer_json=json.dumps(tokenizer))
    edit(folder, "generation_config.json", eos_token_id=[])
    # tokenizer.json spells id 7 otherwise; the table says which id is meant.
    edit(
        folder,
        "tokenizer_config.json",
        eos_token={"content": "<|END|>"},
        added_tokens_decoder={"7": {"content": "<|END|>"}},
    )
    assert open_folder(folder.path).generation.diffusion.eos_token_ids == (7,)
    edit(folder, "tokenizer_config.json", eos_token="<END>", added_tokens_decoder={})
    assert open_folder(folder.path).generation.diffusion.eos_token_ids == (7,)


@pytest.mark.parametrize("eos_token", [None, "<nowhere>", "<far>", 3])
def test_a_tokenizer_eos_without_a_usable_id_is_ignored(make_folder: MakeFolder, eos_token: object) -> None:
    folder = make_folder(tokenizer_json=json.dumps({"model": {"vocab": {"<far>": VOCAB}}}))
    edit(folder, "tokenizer_config.json", eos_token=eos_token)
    assert open_folder(folder.path) == folder


def test_the_overlay_wins(make_folder: MakeFolder) -> None:
    folder = make_folder()
    edit(folder, "dlmrt.json", block_size=4, clean_attention="causal", decoder={"threshold": 0.5})
    opened = open_folder(folder.path)
    assert opened.generation.diffusion.block_size == 4
    assert opened.generation.decoder == DecoderConfig(threshold=0.5)
    assert opened.config.clean_attention == "causal"


def test_saving_refuses_what_does_not_fit(make_folder: MakeFolder, tmp_path: Path) -> None:
    weights = random_weights(tiny_config())
    for tensors, message in (
        (
            {k: v for k, v in weights.items() if k != "model.norm.weight"},
            r"1 missing \(model\.norm\.weight\)",
        ),
        (weights | {"x": np.ones(1, np.float32)}, r"1 unexpected \(x\)"),
        (weights | {"model.norm.weight": np.ones(3, np.float32)}, r"is \[3\], needed \[24\]"),
        (weights | {"model.norm.weight": np.full(24, np.nan, np.float32)}, r"24 in model\.norm\.weight"),
    ):
        with pytest.raises(WeightsError, match=message):
            make_folder(tensors=tensors)
    for options, message in (
        ({"storage": "int4"}, "storage is 'int4'; it must be one of .*; did you mean 'int8'"),
        ({"max_shard_bytes": 0}, "max_shard_bytes is 0"),
        ({"extra_files": {"config.json": ""}}, r"extra file 'config\.json' is not allowed"),
        ({"extra_files": {"../x": ""}}, r"extra file '\.\./x' is not allowed"),
        ({"extra_files": {"more.safetensors": ""}}, "is not allowed"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_folder(**options)
    assert list(tmp_path.iterdir()) == []


def test_saving_refuses_ids_outside_the_vocabulary(tmp_path: Path) -> None:
    config = tiny_config()
    generation = GenerationDefaults(diffusion=tiny_diffusion(pad_token_id=VOCAB))
    with pytest.raises(ConfigError, match="pad_token_id"):
        save_folder(tmp_path / "m", config, generation, random_weights(config), tokenizer_json=None)


def test_a_folder_that_is_there_is_replaced_only_when_asked(make_folder: MakeFolder, tmp_path: Path) -> None:
    first = make_folder()
    with pytest.raises(ConfigError, match="exists already"):
        make_folder(storage="int8")
    assert read_weights(first)
    make_folder(storage="int8", overwrite=True, tokenizer_json=None)
    assert not (first.path / "tokenizer.json").exists()  # nothing of the old one is left
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_only_model_folders_and_empty_folders_are_replaced(make_folder: MakeFolder, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    make_folder()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear")
    (tmp_path / "file").write_text("x")
    for name in ("home", "file"):
        with pytest.raises(ConfigError, match="is no model folder"):
            make_folder(name, overwrite=True)
    assert (tmp_path / "home" / "letter.txt").read_text() == "dear"


def test_a_symlink_is_followed(make_folder: MakeFolder, tmp_path: Path) -> None:
    real = make_folder("real")
    os.symlink(real.path, tmp_path / "link")
    make_folder("link", storage="int8", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert read_weights(open_folder(tmp_path / "link"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "real"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failure_midway_leaves_nothing_and_keeps_the_old(
    make_folder: MakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    if overwrite:
        make_folder()
    before = sorted(p.name for p in tmp_path.rglob("*"))

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder_module, "write_tensors", full)
    with pytest.raises(ConfigError, match=r"cannot write the model folder .*No space left on device"):
        make_folder(overwrite=overwrite, storage="int8")
    assert sorted(p.name for p in tmp_path.rglob("*")) == before
    if overwrite:
        assert read_weights(open_folder(tmp_path / "model"))


def test_a_failed_rename_puts_the_old_folder_back(
    make_folder: MakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = make_folder()
    real = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if ".writing-" in self.name and not self.name.endswith("-old"):
            raise OSError(13, "Permission denied")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(ConfigError, match="Permission denied"):
        make_folder(storage="int8", overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    assert open_folder(old.path) == old


def test_an_output_that_cannot_be_written_is_one_error(make_folder: MakeFolder, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match=r"cannot write the model folder .*choose another place"):
        make_folder("file/inside")


def test_written_files_have_ordinary_permissions(make_folder: MakeFolder, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    folder = make_folder()
    modes = {p.stat().st_mode & 0o777 for p in folder.path.iterdir()}
    assert modes == {(tmp_path / "plain").stat().st_mode & 0o777}


@pytest.mark.parametrize(
    ("card", "summary"),
    [
        ("# tiny\n\nRepairs text.\nMore.\n", "Repairs text."),
        ("---\nlicense: x\n---\n\n# tiny\n\nRepairs text.", "Repairs text."),
        ("# Only a title", "Only a title"),
        ("---\nopen: for ever\n", "open: for ever"),
        ("\n\n", ""),
        (None, ""),
    ],
)
def test_card_summary(tmp_path: Path, card: str | None, summary: str) -> None:
    if card is not None:
        (tmp_path / "README.md").write_text(card)
    assert card_summary(tmp_path) == summary


def test_the_examples_of_the_documentation_open(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "model-format.md").read_text(encoding="utf-8")
    config, generation, overlay = re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "config.json").write_text(config)
    (tmp_path / "generation_config.json").write_text(generation)
    opened = open_folder(tmp_path)
    assert opened.config.residual is not None
    assert opened.generation.diffusion.banned_ids == (0, 2)
    (tmp_path / "config.json").write_text(config.replace("8192", "151936"))
    (tmp_path / "dlmrt.json").write_text(overlay)
    assert open_folder(tmp_path).generation.diffusion.mask_token_id == 151669
