from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dlmrt.evals import harness, plan
from dlmrt.results import envelope
from tests import tiny_folder as tiny


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tiny.write_folder(tmp_path_factory.mktemp("models") / "tiny")
    return path


@pytest.fixture
def quick_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short environment report and no questions to git, which have tests of their own and take time."""
    report: dict[str, Any] = {"cpu": {"model": "Test CPU", "usable_cores": 2}, "torch": None}
    monkeypatch.setattr(harness, "environment", lambda: report)
    for module in (plan, envelope):
        monkeypatch.setattr(module, "source_commit", lambda: "0" * 40)
