"""The recorded commit: exact for a clean checkout, marked when files differ, none outside git."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dlmrt.provenance import source_commit

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    done = subprocess.run(
        ["git", *identity, "-C", str(folder), *arguments],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    return done.stdout.strip()


def test_a_changed_tracked_file_marks_the_commit(tmp_path: Path) -> None:
    code = tmp_path / "code.py"
    code.write_text("a = 1\n")
    assert source_commit(code) is None
    git(tmp_path, "init", "-q")
    assert source_commit(code) is None  # in a checkout, but not part of it
    git(tmp_path, "add", "code.py")
    git(tmp_path, "commit", "-q", "-m", "one")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert source_commit(code) == head
    (tmp_path / "notes.txt").write_text("not tracked\n")
    assert source_commit(code) == head
    code.write_text("a = 2\n")
    assert source_commit(code) == f"{head}+"
    git(tmp_path, "add", "code.py")
    assert source_commit(code) == f"{head}+"
