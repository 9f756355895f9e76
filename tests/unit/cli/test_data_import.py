"""``dlmrt data import`` as a user meets it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DLMRT_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "tasks"


@pytest.fixture
def sums(tmp_path: Path) -> str:
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps({"question": "3 + 4?", "answer": "#### 7"}) + "\n")
    return str(path)


def test_import_prints_the_path_and_tells_the_hash(
    dlmrt: Callable[..., Any], sums: str, data_home: Path
) -> None:
    done = dlmrt("data", "import", "gsm8k", sums)
    assert (done.code, done.out) == (0, f"{data_home / 'gsm8k.jsonl'}\n")
    assert done.err.startswith("gsm8k: 1 items, verifier number, sha256 ")
    again = dlmrt("data", "import", "gsm8k", sums)
    assert again.code == 2 and again.out == "" and "pass --force to replace it" in again.err
    forced = dlmrt("data", "import", "gsm8k", sums, "--force", "--json")
    report = json.loads(forced.out)
    assert report["items"] == 1 and report["sha256"] in done.err and forced.err == ""


def test_the_list(dlmrt: Callable[..., Any], sums: str, data_home: Path) -> None:
    empty = dlmrt("data", "import", "--list")
    assert (empty.code, empty.out) == (0, "") and str(data_home) in empty.err
    dlmrt("data", "import", "gsm8k", sums)
    assert dlmrt("data", "import", "--list").out.startswith("gsm8k: 1 items, verifier number, sha256 ")
    report = json.loads(dlmrt("data", "import", "--list", "--json").out)
    assert report["folder"] == str(data_home)
    assert [task["name"] for task in report["tasks"]] == ["gsm8k"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "error: give a NAME and a FILE"),
        (("gsm8k",), "error: give a NAME and a FILE"),
        (("gsm8k", "nowhere.jsonl"), "error: cannot read 'nowhere.jsonl': it does not exist"),
        (("gsm8k", "--list"), "error: --list shows what is there and takes nothing else but --json"),
        (("mbpp", "x.jsonl", "--splits", "test"), "error: no option '--splits'; did you mean '--split'?"),
    ],
)
def test_errors_are_one_line(
    arguments: tuple[str, ...], said: str, dlmrt: Callable[..., Any], data_home: Path
) -> None:
    done = dlmrt("data", "import", *arguments)
    assert done.code == 2 and done.out == ""
    assert done.err.startswith(said) and done.err.count("\n") == 1
    assert not data_home.exists()
