"""Reading the project's own sources, for the checks beside this file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Source:
    """One Python file: where it lies (relative to the checked root), its text and its tree."""

    name: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> list[str]:
        """The file's lines without their ends."""
        return self.text.splitlines()


def sources(root: Path, *folders: str) -> Iterator[Source]:
    """Yield every Python file below the given folders of ``root``, in name order."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            yield Source(path.relative_to(root).as_posix(), text, ast.parse(text, str(path)))
