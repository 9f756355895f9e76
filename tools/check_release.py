"""The changelog's newest numbered entry is the version that the package reports."""

from __future__ import annotations

import re
from pathlib import Path

from source import ROOT

HEADING = re.compile(r"^## \[?(\d+\.\d+\.\d+[^\s\]]*)", re.MULTILINE)
VERSION = re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE)


def problems(root: Path = ROOT) -> list[str]:
    """Return one line when the two differ or one is missing."""
    version = VERSION.search((root / "src/dlmrt/__init__.py").read_text(encoding="utf-8"))
    newest = HEADING.search((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    if version is None:
        return ['src/dlmrt/__init__.py: no line __version__ = "..."']
    if newest is None:
        return ["CHANGELOG.md: no heading '## X.Y.Z'"]
    if version[1] != newest[1]:
        return [
            f"CHANGELOG.md: newest entry is {newest[1]}, dlmrt.__version__ is {version[1]}; make them one"
        ]
    return []
