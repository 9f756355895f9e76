"""``dlmrt report``: being built."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
