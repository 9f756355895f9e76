"""Which state of the source code is running: what a run and a benchmark result record."""

from __future__ import annotations

import subprocess
from pathlib import Path


def source_commit(file: Path = Path(__file__)) -> str | None:
    """The commit of the checkout that ``file`` belongs to, with ``+`` when tracked files differ from it.

    ``None`` outside git, for a file that git does not track (an installed package) and without git.
    """
    file = file.resolve()
    if _git(file.parent, "ls-files", "--error-unmatch", file.name) is None:
        return None
    commit = _git(file.parent, "rev-parse", "HEAD")
    if commit is None:
        return None
    # Not `diff --quiet`: its exit code can't be told from an error's, and a stale index misleads it.
    changed = _git(file.parent, "status", "--porcelain", "--untracked-files=no")
    return commit if changed == "" else f"{commit}+"


def _git(folder: Path, *arguments: str) -> str | None:
    """The output of a git command in ``folder``; ``None`` when it fails."""
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
