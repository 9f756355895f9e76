"""Every verb works with its typed arguments, never with what the parser's context holds.

Versions of typer differ in what they leave there: a ``str`` for a ``Path``, a tuple for a list.
"""

from __future__ import annotations

import functools
import inspect
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from dlmrt.cli.app import build_app, main
from dlmrt.datasets import build as build_module
from tests.bench_support import quick_rates
from tests.unit.report.support import eval_result, write

MODEL = "MODEL"  # stands for the folder of the tiny model
DECODING = ("-m", MODEL, "-n", "3")
GENERATED = ("words", "sums", "python", "extract", "dates")
FEW = ("--train", "20", "--dev", "2", "--test", "5", "--bare-share", "0")
# Verbs with a path among their parameters: a command line that gives every one of them.
COMMANDS = {
    "generate": ("--file", "prompt.txt", *DECODING, "--output", "answer.txt", "--trace", "steps.html"),
    "eval": ("--tasks", "words.jsonl", *DECODING, "--out", "run", "--results", "kept"),
    "bench": (
        "--suite", "prompt.txt", *DECODING, "--baseline", "none", "--repeats", "1",
        "--out", "bench.json", "--results", "kept",
    ),
    "report": ("eval.json", "--html", "page.html", "--no-plots"),
    "train sft": ("run.yaml", "--print-config"),
    "train tokenizer": ("run.yaml", "--out", "tokenizer.json"),
    "train export": (MODEL, "--out", "exported", "--card", "prompt.txt"),
    "data build repair": ("--sources", "manual", "--out", "set", "--test", "5", "--dev", "2"),
    **{f"data build {family}": ("--out", "made", *FEW) for family in GENERATED},
    "data build gsm8k": ("--source", "sums.jsonl", "--out", "made", "--copies", "2"),
    "data import": ("mine", "words.jsonl"),
    "data score": ("outputs.jsonl",),
    "data peek": ("words.jsonl",),
}  # fmt: skip
WRITTEN = {
    "generate": ("answer.txt", "steps.html"),
    "eval": ("run/result.json", "kept"),
    "bench": ("bench.json", "kept"),
    "report": ("page.html",),
    "train tokenizer": ("tokenizer.json",),
    "train export": ("exported/README.md",),
    "data build repair": ("set/test.jsonl",),
    "data build words": ("made/harder.jsonl",),
    "data build python": ("made/test.jsonl",),
    "data build sums": ("made/test.jsonl",),
    "data import": ("home/tasks/mine.jsonl",),
}


def with_raw_context(verb: Callable[..., None]) -> Callable[..., None]:
    """Give ``verb`` the arguments as they are, in a context that holds text in place of paths."""
    signature = inspect.signature(verb, eval_str=True)
    own = [p.name for p in signature.parameters.values() if p.annotation is typer.Context]
    name = own[0] if own else "raw_context"

    @functools.wraps(verb)
    def call(**values: Any) -> None:
        context = values[name] if own else values.pop(name)
        context.params = {key: raw(value) for key, value in context.params.items()}
        verb(**values)

    added = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [*signature.parameters.values(), *([] if own else [added])]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    return call


def raw(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(raw, value))
    return str(value) if isinstance(value, Path) else value


def commands(app: typer.Typer, above: str = "") -> Iterator[tuple[str, Any]]:
    """Every verb with its full name."""
    for command in app.registered_commands:
        yield f"{above}{command.name}", command
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from commands(group.typer_instance, f"{above}{group.name} ")


def raw_app() -> typer.Typer:
    app = build_app()
    for _, command in commands(app):
        command.callback = with_raw_context(command.callback)
    return app


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the command lines name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DLMRT_DATA_HOME", str(tmp_path / "home"))
    quick_rates(monkeypatch)
    monkeypatch.setattr(build_module, "HELD_OUT_PER_MILLE", 200)
    monkeypatch.setattr(build_module, "OVERLAP_WORDS", 14)
    Path("prompt.txt").write_text("the ab\n")
    pairs = [{"prompt": word, "answer": word} for word in ("the ab", "ab ab")]
    Path("words.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    outputs = [{**pair, "output": pair["answer"], "errors": []} for pair in pairs]
    Path("outputs.jsonl").write_text("".join(json.dumps(output) + "\n" for output in outputs))
    write(eval_result(("ar",), ("copy",)), Path("eval.json"))
    sums = {"question": "He has 5 pens and 7 cups.", "answer": "<<5+7=12>>12\n#### 12"}
    Path("sums.jsonl").write_text(json.dumps(sums) + "\n")
    nouns = ("server", "client", "reader", "writer", "kernel", "driver", "parser", "editor", "viewer")
    Path("manual").mkdir()
    for noun in nouns:
        text = "When the {} starts, it reads the {} that the user's home directory contains."
        Path(f"manual/{noun}.txt").write_text("\n\n".join(text.format(noun, other) for other in nouns))
    config = {
        "model": {"d_model": 16, "n_layers": 1, "n_heads": 2, "d_ffn": 24, "max_positions": 64},
        "diffusion": {"block_size": 8},
        "tokenizer": {"train": {"vocab_size": 300}},
        "data": {"train": ["words.jsonl"], "dev": ["words.jsonl"]},
        "row_length": 64,
        "max_steps": 1,
        "out": "trained",
    }
    Path("run.yaml").write_text(json.dumps(config))  # JSON is YAML
    return tmp_path


@pytest.mark.parametrize("verb", COMMANDS)
def test_paths_are_paths_whatever_the_context_holds(
    verb: str, place: Path, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if verb.startswith("train"):
        pytest.importorskip("torch")
    argv = [folder if word == MODEL else word for word in (*verb.split(), *COMMANDS[verb])]
    code = main(argv, build=raw_app)
    assert code == 0, capsys.readouterr().err
    for name in WRITTEN.get(verb, ()):
        assert (place / name).exists()


def test_chat_reads_its_arguments_too(
    folder: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the ab\n"), encoding="utf-8"))
    assert main(["chat", "-m", folder, "-n", "3", "--stop", "a", "--stop", "b"], build=raw_app) == 0
    assert "error" not in capsys.readouterr().err


def test_no_verb_with_a_path_is_left_out() -> None:
    with_paths = {
        name
        for name, command in commands(build_app())
        if "Path" in str(inspect.signature(command.callback, eval_str=True))
    }
    assert with_paths == set(COMMANDS)
