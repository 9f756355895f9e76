"""``dlmrt doctor``: the environment report that people paste into issues."""

from __future__ import annotations

import typer

from dlmrt.cli.common import JsonFlag, answer, print_json


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("doctor")(doctor)


def doctor(as_json: JsonFlag = False) -> None:
    """Report versions, hardware, backends, embedded model."""
    from dlmrt.bench.env import environment, render

    report = environment()
    if as_json:
        print_json(report)
    else:
        answer(render(report))
