from __future__ import annotations

from pathlib import Path

import pytest

from tests import tiny_folder as tiny


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tiny.write_folder(tmp_path_factory.mktemp("models") / "tiny")
    return path
