"""The envelope tells how to repeat a run, and nothing about its owner."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import dlmrt
from dlmrt.environment.hardware import cpu
from dlmrt.errors import DataError, RequestError, WeightsError
from dlmrt.results.envelope import (
    command_line,
    data_facts,
    hardware_label,
    public_environment,
    run_facts,
    shorten,
    slug,
    weights_sha256,
)

HOME = Path("/home/zoe")


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["/home/zoe/.venv/bin/dlmrt", "eval", "--tasks", "all"], "dlmrt eval --tasks all"),
        (["dlmrt", "eval", "/home/zoe/my data/x.jsonl"], "dlmrt eval ~/'my data/x.jsonl'"),
        (["dlmrt", "--model", "/home/zoe"], "dlmrt --model '~'"),
        (["dlmrt", "--arms", "a:model=/home/zoe/m"], "dlmrt --arms 'a:model=~/m'"),
        (["dlmrt", "/home/zoey/x", "/data/home/zoe/x"], "dlmrt x x"),
        (["dlmrt", "--suite", "/srv/customer/a.txt,/srv/customer/b.txt"], "dlmrt --suite a.txt,b.txt"),
        (["dlmrt", "--arms", "a:model=/mnt/alice/m,threshold=0.7"], "dlmrt --arms a:model=m,threshold=0.7"),
        (["dlmrt", "--server", "http://h/v1?key=s3cret&x=1"], "dlmrt --server 'http://h/v1?***'"),
        (["dlmrt", "--api-key", "sk-1", "x"], "dlmrt --api-key *** x"),
        (["dlmrt", "--api-key=sk-1", "--max-new-tokens", "5"], "dlmrt '--api-key=***' --max-new-tokens 5"),
        (["dlmrt", "--server", "http://me:pw@host:80/v1"], "dlmrt --server 'http://***@host:80/v1'"),
        (["dlmrt", "--max-new-tokens", "32", "--tokens", "7"], "dlmrt --max-new-tokens 32 --tokens 7"),
    ],
)
def test_command_is_short_and_keeps_no_secret(argv: list[str], command: str) -> None:
    assert command_line(argv, HOME) == command


def test_a_root_home_hides_nothing() -> None:
    assert shorten("/data/x", Path("/")) == "/data/x"
    assert shorten("see /home/zoe/a and /home/zoe/b", HOME) == "see ~/a and ~/b"


def test_run_facts() -> None:
    run = run_facts(datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), 1.5, " Zoë ", ["dlmrt", "bench"])
    assert (run.command, run.version, run.seconds, run.who) == ("dlmrt bench", dlmrt.__version__, 1.5, "Zoë")
    assert run.started == "2026-01-02T03:04:05+00:00"
    local = run_facts(datetime(2026, 1, 2, 3, 4, 5), 1.5, "z", ["dlmrt"])
    assert datetime.fromisoformat(local.started).tzinfo is not None
    for who in ("", "  ", "///"):
        with pytest.raises(RequestError, match="who is"):
            run_facts(datetime.now(UTC), 1.0, who, ["dlmrt"])


def test_environment_loses_paths_and_keeps_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/zoe")
    report = {
        "dlmrt": {"version": "0.1.0", "path": "/home/zoe/src/dlmrt"},
        "python": {"version": "3.11.7", "executable": "/home/zoe/.venv/bin/python"},
        "system": {"os": "Debian", "kernel": "6.1.0-zoe"},
        "cpu": {"model": "AMD EPYC", "flags": ["avx2"]},
        "threads": {},
        "torch": {
            "error": "OSError: /home/zoe/lib/libcudart.so is broken",
            "gpus": [{"path": "/x", "name": "a"}],
        },
    }
    public = public_environment(report)
    assert public["torch"] == {"error": "OSError: ~/lib/libcudart.so is broken", "gpus": [{"name": "a"}]}
    assert public["dlmrt"] == {"version": "0.1.0"}
    assert public["python"] == {"version": "3.11.7"}
    assert public["system"] == {"os": "Debian"}
    assert public["cpu"] == report["cpu"]
    assert public["threads"] == {}
    assert "path" in report["dlmrt"], "the report itself stays as it was"


def test_weights_are_hashed_by_file(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="no \\*.safetensors"):
        weights_sha256(tmp_path)
    (tmp_path / "model-2.safetensors").write_bytes(b"two")
    (tmp_path / "model-1.safetensors").write_bytes(b"one")
    (tmp_path / "config.json").write_text("{}")
    assert weights_sha256(tmp_path) == {
        "model-1.safetensors": hashlib.sha256(b"one").hexdigest(),
        "model-2.safetensors": hashlib.sha256(b"two").hexdigest(),
    }
    assert list(weights_sha256(tmp_path)) == ["model-1.safetensors", "model-2.safetensors"]


def test_data_is_named_without_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(b"{}\n")
    facts = data_facts(path, 1, "my own")
    assert (facts.file, facts.items, facts.source) == ("items.jsonl", 1, "my own")
    assert facts.sha256 == hashlib.sha256(b"{}\n").hexdigest()
    with pytest.raises(DataError, match=r"cannot read .*absent"):
        data_facts(tmp_path / "absent", 1, "")


def machine(cpu: str = "", cores: int | None = 2, gpus: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "cpu": {"model": cpu, "cores": 64, "usable_cores": cores},
        "torch": {"gpus": [{"name": name} for name in gpus]} if gpus else None,
    }


@pytest.mark.parametrize(
    ("report", "device", "label"),
    [
        (machine(gpus=("NVIDIA H200",)), "cuda", "h200"),
        (machine(gpus=("NVIDIA GeForce RTX 5090",)), "cuda:0", "rtx-5090"),
        (machine(gpus=("NVIDIA H200", "NVIDIA A100-SXM4-80GB")), "cuda:1", "a100-sxm4-80gb"),
        (machine(gpus=("NVIDIA H200",)), "cuda:3", "unknown-gpu"),
        (machine(), "cuda", "unknown-gpu"),
        (machine("Intel(R) Xeon(R) Platinum 8480+ CPU @ 2.00GHz"), "cpu", "xeon-platinum-8480-2-cores"),
        (machine("AMD EPYC 7763 64-Core Processor", 1), None, "epyc-7763-1-core"),
        (machine("AMD Ryzen 7 7840U with Radeon 780M Graphics", 16), "cpu", "ryzen-7-7840u-16-cores"),
        (machine("AMD EPYC"), "cpu", "epyc-2-cores"),
        (machine("Apple M2", None), "cpu", "apple-m2-64-cores"),
        (machine("Intel(R) Xeon(R) Processor @ 2.00GHz", gpus=("NVIDIA H200",)), "cpu", "xeon-2-cores"),
        ({}, None, "unknown"),
    ],
)
def test_hardware_labels(report: dict[str, Any], device: str | None, label: str) -> None:
    assert hardware_label(report, device) == label


def test_this_machine_has_a_label() -> None:
    label = hardware_label({"cpu": cpu()}, None)
    assert label == slug(label)
    assert label.endswith(("core", "cores"))
