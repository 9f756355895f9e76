"""``dlmrt train`` as a user runs it: exit codes, kills and signals, dry runs, export."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import yaml

from dlmrt.cli.app import main
from dlmrt.train.metrics import ConsoleReporter, read_metrics

CONFIG: dict[str, Any] = {
    "model": {
        "d_model": 16, "n_layers": 1, "n_heads": 2, "n_kv_heads": 1, "head_dim": 8, "d_ffn": 24,
        "max_positions": 64, "residual": {"top_k": 3, "d_hidden": 8},
    },
    "diffusion": {"block_size": 8},
    "tokenizer": {"train": {"vocab_size": 300}},
    "prompt": {"prefix": ["<|fix|>"], "suffix": ["<|sep|>"], "align": True},
    "row_length": 64,
    "batch_rows": 2,
    "max_steps": 12,
    "threads": 1,
    "log_every": 2,
    "eval_every": 5,
    "save_every": 3,
}  # fmt: skip
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration file whose run takes a second, beside its data."""
    rng = random.Random(0)
    for name, count in (("train", 40), ("dev", 6)):
        texts = [
            " ".join(rng.choices(["disk", "host", "port", "7", "42"], k=rng.randint(1, 5)))
            for _ in range(count)
        ]
        lines = [json.dumps({"prompt": text, "answer": text.upper()}) for text in texts]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    data = {"train": [str(tmp_path / "train.jsonl")], "dev": [str(tmp_path / "dev.jsonl")]}
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump({**CONFIG, "data": data, "out": str(tmp_path / "run")}))
    return path


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Start ``dlmrt train sft`` in a process of its own."""

    def run(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "dlmrt.cli.app", "train", "sft", *arguments]
        with open(tmp_path / "stderr.txt", "w") as stderr:
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr, text=True)

    return run


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 300  # a loaded machine is slow; this is not a speed test
    while not condition():
        assert process.poll() is None, "the run ended before it could be stopped"
        assert time.monotonic() < deadline, "the run made no progress"
        time.sleep(0.005)


def numbers(out: Path) -> list[dict[str, Any]]:
    times = ("tokens_per_second", "elapsed", "seconds")
    return [{k: v for k, v in r.items() if k not in times} for r in read_metrics(out / "metrics.jsonl")]


def test_a_killed_and_resumed_run_equals_an_uninterrupted_one(
    config: Path, tmp_path: Path, start: Start
) -> None:
    steps, killed, whole = "max_steps=60", tmp_path / "killed", tmp_path / "whole"
    process = start(str(config), "--set", f"out={killed}", "--set", steps)
    wait_for((killed / "checkpoints" / "step-00000009").exists, process)
    time.sleep(random.random() * 0.05)  # at whatever point of a step or of a save it falls
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not (killed / "final").exists()
    assert main(["train", "sft", str(config), "--set", f"out={killed}", "--set", steps, "--resume"]) == 0
    assert main(["train", "sft", str(config), "--set", f"out={whole}", "--set", steps]) == 0
    for name in ("final/model.safetensors", "checkpoints/step-00000060/trainer.safetensors"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name
    assert numbers(killed) == numbers(whole)
    assert sorted(p.name for p in (killed / "checkpoints").iterdir()) == ["step-00000057", "step-00000060"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_is_told_by_the_exit_code(
    config: Path,
    tmp_path: Path,
    number: int,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def progress(self: ConsoleReporter, step: int, share: float, values: dict[str, float]) -> None:
        if step == 5:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(ConsoleReporter, "progress", progress)
    assert main(["train", "sft", str(config), "--set", "save_every=0"]) == code
    (checkpoint,) = (tmp_path / "run" / "checkpoints").iterdir()
    assert checkpoint.name in ("step-00000005", "step-00000006")
    assert "go on with --resume" in capsys.readouterr().err


def test_out_of_time_is_success(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["train", "sft", str(config), "--set", "max_steps=1000000", "--max-minutes", "0.003"]
    assert main(arguments) == 0
    assert (tmp_path / "run" / "checkpoints").exists() and not (tmp_path / "run" / "final").exists()
    captured = capsys.readouterr()
    assert captured.out == "" and "stopped (time)" in captured.err


def test_max_minutes_ends_a_schedule_by_minutes(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock:
        """Every look at it takes a twentieth of a second."""

        now = 0.0

        def perf_counter(self) -> float:
            self.now += 0.05
            return self.now

    monkeypatch.setattr("dlmrt.train.trainer.time", Clock())
    by_time = ["--set", "optim.by=minutes", "--set", "max_minutes=60", "--set", "max_steps=null"]
    by_time += ["--set", "log_every=1", "--set", "eval_every=0"]
    assert main(["train", "sft", str(config), *by_time, "--max-minutes", "0.1"]) == 0
    assert (tmp_path / "run" / "final" / "model.safetensors").is_file()
    metrics = [r for r in read_metrics(tmp_path / "run" / "metrics.jsonl") if r["kind"] == "train"]
    rates = [r["lr"] for r in metrics]
    assert 10 < len(rates) < 60 and rates[-1] < 0.2 * max(rates)
    assert metrics[-1]["elapsed"] == pytest.approx(6, abs=0.5)


def test_dry_run_reports_and_does_not_train(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "sft", str(config), "--dry-run", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["positions_a_step"] == 128 and report["train"]["samples"] == 40
    assert report["config"]["row_length"] == 64 and report["memory_estimate_mib"].keys() >= {"total"}
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["cache"]
    assert main(["train", "sft", str(config), "--dry-run"]) == 0
    assert "parameters: " in capsys.readouterr().out


def test_printed_configuration_is_complete_and_reads_back(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "sft", str(config), "--print-config", "--set", "optim.lr=5e-4"]) == 0
    printed = capsys.readouterr().out
    assert yaml.safe_load(printed)["optim"]["lr"] == 5e-4 and not (tmp_path / "run").exists()
    copy = tmp_path / "copy.yaml"
    copy.write_text(printed)
    assert main(["train", "sft", str(copy), "--print-config"]) == 0
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "optim.lrr=1"], "error: unknown option 'optim.lrr'; did you mean 'lr'?"),
        (["--set", "data.train=[absent.jsonl]"], "error: cannot read the data file absent.jsonl"),
        (["--max-minutes", "0"], "error: --max-minutes is 0; it must be > 0"),
        (["--max-minutes", "-1"], "error: --max-minutes is -1; it must be > 0"),
        (["--max-minutes", "nan"], "error: --max-minutes is nan"),
        (["--resume", "--dry-run"], "error: --dry-run and --resume cannot be used together"),
        (["--resume", "--print-config"], "error: --print-config and --resume cannot be"),
        (["--print-config", "--dry-run"], "error: --print-config and --dry-run cannot be"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    config: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["train", "sft", str(config), *arguments]) == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith(message)


def test_json_tells_outcome_step_path_and_dev_metrics(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main(["train", "sft", str(config), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    dev = report.pop("dev")
    assert report == {"outcome": "finished", "step": 12, "path": str(run / "final")}
    assert dev["step"] == 12 and dev["diffusion"] > 0
    limit = ["--max-minutes", "1e-9", "--set", f"out={tmp_path / 'short'}"]
    assert main(["train", "sft", str(config), "--json", *limit]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report == {"outcome": "time", "step": 0, "path": None, "dev": None}


@pytest.mark.parametrize("verb", ["sft", "tokenizer", "export"])
def test_help_has_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", verb, "--help"]) == 0
    assert f"  dlmrt train {verb} " in capsys.readouterr().out.partition("Example")[2]


def test_a_used_folder_names_the_remedy(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "sft", str(config)]) == 0
    assert main(["train", "sft", str(config)]) == 2
    assert "add --resume" in capsys.readouterr().err


def test_tokenizer_and_export(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "made" / "tokenizer.json"
    assert main(["train", "tokenizer", str(config), "--out", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"path": str(file), "bytes": file.stat().st_size}
    assert main(["train", "sft", str(config)]) == 0
    out = tmp_path / "served"
    card = tmp_path / "card.md"
    card.write_text("# Shouts\n")
    arguments = ["--storage", "int8", "--card", str(card), "--set", "decoder.threshold=0.5"]
    assert main(["train", "export", str(tmp_path / "run"), "--out", str(out), *arguments, "--json"]) == 0
    size = sum(p.stat().st_size for p in out.iterdir())
    assert json.loads(capsys.readouterr().out) == {"path": str(out), "bytes": size}
    assert (out / "tokenizer.json").read_text() == file.read_text()
    assert json.loads((out / "generation_config.json").read_text())["decoder"]["threshold"] == 0.5
    assert {p.name for p in out.iterdir()} >= {"config.json", "model.safetensors", "README.md"}
    assert main(["train", "export", str(tmp_path / "run"), "--out", str(out)]) == 2
    assert main(["train", "export", str(tmp_path / "run"), "--out", str(out) + "2", "--storage", "int9"]) == 2
    assert "did you mean 'int8'" in capsys.readouterr().err
