"""``dlmrt demo``: every example of the model is answered, and what it cost is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dlmrt.cli.app import main
from dlmrt.cli.demo import EXAMPLES, read_examples
from dlmrt.models.registry import list_models, resolve


def test_every_embedded_model_has_examples() -> None:
    for model in list_models():
        examples = read_examples(model.path)
        assert examples and all(each["prompt"].strip() for each in examples)


def test_all_examples_are_shown_with_their_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    for example in read_examples(resolve(None)):
        assert f"--- {example['task']}: " in out and example["prompt"] in out
    assert " forwards, " in out


def test_one_task_as_json_is_what_generate_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "repair", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {each["task"] for each in rows} == {"repair"}
    assert main(["generate", rows[0]["prompt"], "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert rows[0]["answer"] == answer["text"]
    assert rows[0]["tokens_per_forward"] == rows[0]["tokens"] / rows[0]["forwards"]


def test_what_cannot_be_shown_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "poems"]) == 2
    assert "no demo of task 'poems'; this model's: " in capsys.readouterr().err
    folder = tmp_path / "mine"
    folder.mkdir()
    for file in resolve(None).iterdir():
        if file.name != EXAMPLES:
            (folder / file.name).symlink_to(file)
    assert main(["demo", "--model", str(folder)]) == 2
    assert "has no demo.jsonl" in capsys.readouterr().err
