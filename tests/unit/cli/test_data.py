"""``dlmrt data``: building, scoring and looking, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dlmrt.cli.app import bare_app, main
from dlmrt.cli.data import register
from dlmrt.datasets import build as build_module
from dlmrt.datasets.repair import corrupt_pair

TEXT = "When the {} starts, it reads the {} that the user's home directory contains."
NOUNS = ("server", "client", "reader", "writer", "kernel", "driver", "parser", "editor", "viewer", "daemon")


def data(*arguments: object) -> int:
    def build():  # type: ignore[no-untyped-def]
        app = bare_app()
        register(app)
        return app

    return main(["data", *map(str, arguments)], build=build)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(build_module, "HELD_OUT_PER_MILLE", 200)
    monkeypatch.setattr(build_module, "OVERLAP_WORDS", 14)
    folder = tmp_path / "manual"
    folder.mkdir()
    for first in NOUNS:
        text = "\n\n".join(TEXT.format(first, second) for second in NOUNS)
        (folder / f"{first}.txt").write_text(text)
    return folder


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    path = tmp_path / "outputs.jsonl"
    with path.open("w") as stream:
        for i, noun in enumerate(NOUNS):
            record = corrupt_pair(TEXT.format(noun, "file"), 1, i).record({"doc": "manual"}, errors=True)
            stream.write(json.dumps({**record, "output": record["answer" if i else "prompt"]}) + "\n")
    return path


def test_build_writes_the_set_and_prints_its_folder(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ("build", "repair", "--sources", source, "--out", out, "--test", 5, "--dev", 2)
    assert data(*arguments) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{out}\n"
    assert "test.jsonl: 5 pairs, sha256 " in captured.err
    assert data(*arguments) == 2
    error = capsys.readouterr().err.splitlines()
    assert error == [f"error: '{out}' exists; choose another --out or pass --force to replace it"]
    assert data(*arguments, "--force", "--json", "--seed", 3) == 0
    manifest = json.loads(capsys.readouterr().out)
    assert manifest["seed"] == 3
    assert manifest == json.loads((out / "manifest.json").read_text())


@pytest.mark.parametrize(
    ("sources", "options", "message"),
    [
        (["nowhere"], [], "error: source 'nowhere' is not a folder; give folders that hold documents"),
        (["."], [], "error: no documents found below .; looked for .html"),
        (["."], ["--test", "0"], "error: test is 0; it must be at least 1"),
    ],
)
def test_build_errors_are_one_line(
    sources: list[str],
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    named = [argument for name in sources for argument in ("--sources", name)]
    assert data("build", "repair", *named, "--out", tmp_path / "out", *options) == 2
    captured = capsys.readouterr()
    lines = [line for line in captured.err.splitlines() if line.strip()]
    assert lines[-1].startswith(message)
    assert "Traceback" not in captured.err
    assert not (tmp_path / "out").exists()


def test_score_as_json_on_stdout(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert data("score", outputs, "--json") == 0
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert captured.err == ""
    assert report["items"] == 10
    assert 9 <= report["exact_match"]["hits"] <= 10
    assert report["untouched_words_changed"]["hits"] == 0


def test_score_as_a_table_on_stdout(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert data("score", outputs) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    for text in ("errors gone", "untouched words changed", "gone: typo", "typo.swap", "word error rate:"):
        assert text in captured.out


def test_score_needs_outputs(
    source: Path, outputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = tmp_path / "bare.jsonl"
    record = json.loads(outputs.read_text().splitlines()[0])
    del record["output"]
    bare.write_text(json.dumps(record) + "\n")
    assert data("score", bare) == 2
    assert capsys.readouterr().err.startswith(
        f"error: {bare}:1: no field 'output'; each line needs prompt (str)"
    )


def test_peek(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert data("peek", outputs, "-n", 2, "--skip", 3) == 0
    shown = capsys.readouterr().out.splitlines()
    records = [json.loads(line) for line in outputs.read_text().splitlines()]
    assert len(shown) == 6
    assert shown[0] == f"- {records[3]['prompt']}"
    assert shown[1] == f"+ {records[3]['answer']}"
    assert shown[2].startswith("  pair 3 manual")
    assert shown[3] == f"- {records[4]['prompt']}"
    assert data("peek", outputs, "-n", 2, "--skip", 3, "--json") == 0
    pairs = json.loads(capsys.readouterr().out)["pairs"]
    assert pairs == [{"index": i, **records[i]} for i in (3, 4)]


def test_peek_names_the_item_and_keeps_lines_of_other_tasks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    item = {"id": "sums/test/7", "prompt": "1 [bold]", "answer": "1+1=2\n#### 2", "task": "sums"}
    (tmp_path / "sums.jsonl").write_text(json.dumps(item) + "\n")
    assert data("peek", tmp_path / "sums.jsonl") == 0
    assert capsys.readouterr().out == "- 1 [bold]\n+ 1+1=2\n#### 2\n  sums/test/7\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--skip", 10), "has no pair after the first 10"), (("-n", 0), "--number is 0")],
)
def test_peek_errors(
    options: tuple[object, ...], message: str, outputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert data("peek", outputs, *options) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("verb", [("build", "repair"), ("score",), ("peek",)])
def test_help_has_an_example(verb: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert data(*verb, "--help") == 0
    assert f"  dlmrt data {' '.join(verb)} " in capsys.readouterr().out


def test_colours_mark_what_differs() -> None:
    from dlmrt.cli import data as module

    before, after = module._marked("a teh b", "a the b")
    assert before.plain == "- a teh b"
    assert after.plain == "+ a the b"
    assert before.spans
    assert after.spans
    assert all(
        "e" in before.plain[s.start : s.end] or "h" in before.plain[s.start : s.end] for s in before.spans
    )
