"""``dlmrt doctor``: the environment report that people paste into issues."""

from __future__ import annotations

import typer

from dlmrt.cli.common import JsonFlag, answer, print_json

HELP = """Report versions, hardware, backends, embedded model.

Nothing is sent anywhere. The report holds no host name, user name or home folder.

Examples:

\b
  dlmrt doctor
  dlmrt doctor --json > report.json
"""


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("doctor", help=HELP)(doctor)


def doctor(as_json: JsonFlag = False) -> None:
    """Report versions, hardware, backends, embedded model."""
    from dlmrt.environment.report import environment, render

    report = environment()
    if as_json:
        print_json(report)
    else:
        answer(render(report))
