"""``dlmrt models`` and ``dlmrt models show``, on folders that the library wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from dlmrt.cli import models as verb
from dlmrt.cli.app import bare_app, main
from dlmrt.config import GenerationDefaults
from dlmrt.models import registry
from dlmrt.models.folder import save_folder
from tests.helpers import VOCAB, random_weights, tiny_config, tiny_diffusion
from tests.tiny_folder import write_llama_folder

Call = Callable[..., tuple[int, str, str]]


def build() -> typer.Typer:
    app = bare_app()
    verb.register(app)
    return app


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*argv: str) -> tuple[int, str, str]:
        code = main(argv, build=build)
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "assets"
    config = tiny_config()
    words = Tokenizer(WordLevel({f"w{i}": i for i in range(config.vocab_size)}, unk_token="w5"))
    save_folder(
        folder / "tiny", config, GenerationDefaults(diffusion=tiny_diffusion()), random_weights(config),
        tokenizer_json=words.to_str(), storage="int8", extra_files={"README.md": "# tiny\n\nRepairs text.\n"},
    )  # fmt: skip
    monkeypatch.setattr(registry, "assets_folder", lambda: folder)
    return folder


def test_list(call: Call, assets: Path) -> None:
    code, out, err = call("models")
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == ["tiny (default)", "  Repairs text."]
    assert "block 8, mask noise" in out


def test_list_as_json(call: Call, assets: Path) -> None:
    code, out, _ = call("models", "--json")
    assert code == 0
    (row,) = json.loads(out)["models"]
    assert row["name"] == "tiny"
    assert row["default"] is True
    assert row["purpose"] == "Repairs text."
    assert row["parameters"] == sum(w.size for w in random_weights(tiny_config()).values())
    assert row["size_bytes"] == sum(p.stat().st_size for p in (assets / "tiny").iterdir())
    assert (row["block_size"], row["noise"]) == (8, "mask")


def test_an_installation_without_models(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "assets_folder", lambda: tmp_path)
    assert call("models")[:2] == (
        0,
        "No model ships with this installation; give the path of a model folder instead.\n",
    )
    assert json.loads(call("models", "--json")[1]) == {"models": []}


@pytest.mark.parametrize("name", [None, "tiny", "path"])
def test_show(call: Call, assets: Path, name: str | None) -> None:
    argument = [] if name is None else [str(assets / "tiny") if name == "path" else name]
    code, out, err = call("models", "show", *argument)
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for line in (
        "tiny (default)",
        "threshold 0.9",
        "clean_attention block",
        "check not run (--check reads all weights)",
    ):
        assert line in lines


def test_show_with_check_as_json(call: Call, assets: Path) -> None:
    code, out, _ = call("models", "show", "--json")
    assert code == 0
    assert json.loads(out)["weights"]["checked_tensors"] is None
    report = json.loads(call("models", "show", "tiny", "--check", "--json")[1])
    assert report["weights"]["checked_tensors"] == len(random_weights(tiny_config()))
    assert report["weights"]["stored_as"] == ["F32", "I8"]
    assert report["model"]["vocab_size"] == VOCAB
    assert report["decoder"]["policy"] == "threshold"
    assert report["diffusion"]["eos_token_ids"] == [1, 2]
    assert report["step_budget"] == 8
    assert report["has_tokenizer"] is True
    assert report["has_chat_template"] is False


def test_check_finds_what_showing_does_not_look_at(call: Call, assets: Path) -> None:
    config = json.loads((assets / "tiny" / "config.json").read_text())
    (assets / "tiny" / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    assert call("models", "show", "tiny")[0] == 0
    code, out, err = call("models", "show", "tiny", "--check")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert "11 missing (model.layers.2.input_layernorm.weight" in err
    assert err.count("\n") == 1


def test_check_reads_the_tokenizer_too(call: Call, assets: Path) -> None:
    (assets / "tiny" / "tokenizer.json").unlink()
    assert call("models", "show", "tiny")[0] == 0
    code, out, err = call("models", "show", "tiny", "--check")
    assert (code, out) == (2, "")
    assert "tokenizer.json" in err and err.count("\n") == 1


def test_a_truncated_file_is_one_line(call: Call, assets: Path) -> None:
    file = assets / "tiny" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-10])
    code, _, err = call("models", "show")
    assert code == 2
    assert "model.safetensors is truncated in tensor '" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("models", "show", "tini"), "did you mean 'tiny'?"),
        (("models", "show", "org/name"), "nothing is downloaded automatically"),
        (("models", "shwo"), "did you mean 'show'?"),
    ],
)
def test_unknown_names(call: Call, assets: Path, argv: tuple[str, ...], message: str) -> None:
    code, out, err = call(*argv)
    assert (code, out) == (2, "")
    assert message in err


def test_help_has_examples(call: Call) -> None:
    for argv in (("models", "--help"), ("models", "show", "--help")):
        code, out, _ = call(*argv)
        assert code == 0
        assert "  dlmrt models show ./my-model --check\n" in out


def test_a_plain_language_model_says_how_it_decodes(call: Call, tmp_path: Path) -> None:
    folder = str(write_llama_folder(tmp_path / "llama"))
    code, out, _ = call("models", "show", folder, "--check")
    assert code == 0
    assert "autoregressive only" in out
    assert "ar, ar_lookup (default: ar)" in out
    assert "step budget" not in out
    report = json.loads(call("models", "show", folder, "--json")[1])
    assert (report["methods"], report["noise"]) == (["ar", "ar_lookup"], None)
