"""The environment report: complete, pasteable, and right about this machine."""

from __future__ import annotations

import json
import platform
from importlib import metadata
from pathlib import Path

import pytest

import dlmrt
from dlmrt.cli.app import bare_app, main
from dlmrt.cli.doctor import register
from dlmrt.environment import hardware
from dlmrt.environment import report as env
from dlmrt.errors import ModelNotFoundError


def doctor(*flags: str) -> int:
    def build():  # type: ignore[no-untyped-def]
        app = bare_app()
        register(app)
        return app

    return main(["doctor", *flags], build=build)


@pytest.fixture(autouse=True)
def small_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "_embedded_model", lambda: {"readable": True, "name": "tiny"})


def test_json_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor("--json") == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert err == ""
    assert report["dlmrt"]["version"] == dlmrt.__version__
    assert report["python"]["version"] == platform.python_version()
    assert report["packages"]["numpy"] == metadata.version("numpy")
    assert report["backends"]["numpy"] == "available"
    assert report["cpu"]["cores"] >= report["cpu"]["usable_cores"] >= 1
    assert report["memory_gb"]["total"] > 0


def test_text_report_has_a_line_for_each_fact(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor() == 0
    out = capsys.readouterr().out
    assert f"dlmrt:\n  version: {dlmrt.__version__}\n" in out
    assert f"  numpy: {metadata.version('numpy')}\n" in out
    assert "{" not in out


def test_home_folder_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert env._short(Path("/home/ada/x/python")) == "~/x/python"
    assert env._short(Path("/usr/bin/python")) == "/usr/bin/python"


def test_without_torch_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "_version", lambda package: None)
    report = env.environment()
    assert report["torch"] is None
    assert report["backends"]["eager"].startswith("not available: torch is not installed")
    assert "torch: not installed" in env.render(report)


def test_what_could_not_be_read_is_unknown_and_not_uninstalled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "_version", lambda package: None)
    monkeypatch.setattr(env, "cpu", lambda: {"model": "x", "cores": None, "flags": []})
    lines = env.render(env.environment()).splitlines()
    assert "  cores: unknown" in lines
    assert "  flags: none" in lines
    assert "  jinja2: not installed" in lines
    assert not [line for line in lines if "not installed" in line and "cores" in line]


def test_gpu_driver_with_a_cpu_build_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "nvidia_driver", lambda: "580.1")
    torch = {"version": "2.13.0", "cuda_build": "none (CPU build)", "gpus": []}
    assert env._backends(torch)["eager"] == "available on cpu; not on cuda: this torch is a CPU build"


def test_broken_torch_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "libfoo" in env._backends({"error": "OSError: libfoo"})["eager"]


def test_model_that_cannot_be_read_is_a_line_of_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    def missing(name: str | None) -> Path:
        raise ModelNotFoundError("no embedded model")

    monkeypatch.setattr("dlmrt.models.registry.resolve", missing)
    assert env._embedded_model() == {"readable": False, "error": "no embedded model"}


def test_cpu_is_read_from_cpuinfo(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "model name\t: Ryzen 9\nflags\t\t: fpu avx2 fma avx512f sse\n"
    monkeypatch.setattr(hardware.sys, "platform", "linux")
    monkeypatch.setattr(hardware, "_read", lambda path: text if path == "/proc/cpuinfo" else "")
    report = hardware.cpu()
    assert report["model"] == "Ryzen 9"
    assert report["flags"] == ["avx2", "avx512f", "fma"]


def test_driver_version_is_read_from_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"
    monkeypatch.setattr(hardware, "_read", lambda path: text)
    assert hardware.nvidia_driver() == "580.95.05"
