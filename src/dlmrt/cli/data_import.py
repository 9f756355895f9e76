"""``dlmrt data import``: bring the file of an evaluation task into the user's data folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlmrt.cli.common import JsonFlag, answer, note, print_json
from dlmrt.errors import RequestError

if TYPE_CHECKING:
    from dlmrt.evals.importers import Imported

HELP = """Import the file of an evaluation task, so that `dlmrt eval` finds it by name.

NAME is gsm8k (FILE: test.jsonl of openai/grade-school-math), mbpp (FILE: mbpp.jsonl of google-research), or
a name of your own for a FILE in dlmrt's task format, which docs/tasks.md describes. FILE is checked as a
whole first. Tasks lie in $DLMRT_DATA_HOME/tasks (default: ~/.local/share/dlmrt/tasks).

\b
Examples:
  dlmrt data import gsm8k grade-school-math/test.jsonl
  dlmrt data import mbpp mbpp.jsonl --split validation
  dlmrt data import my-task questions.jsonl --force
  dlmrt data import --list
"""


def register(group: typer.Typer) -> None:
    """Add the verb to the group ``dlmrt data``."""
    group.command("import", help=HELP)(import_file)


def import_file(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="gsm8k, mbpp or your own.")] = None,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="JSONL file.")] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="mbpp: test (default), validation, train or prompt.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a task of that name.")] = False,
    show: Annotated[bool, typer.Option("--list", help="Show the imported tasks instead.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Import FILE as NAME, or list what is there."""
    from dlmrt.evals.importers import import_task, list_imported, tasks_folder

    if show:
        if name is not None or split is not None or force:
            raise RequestError("--list shows what is there and takes nothing else but --json")
        _show(list_imported(), tasks_folder(), as_json)
        return
    if name is None or file is None:
        raise RequestError("give a NAME and a FILE, as in: dlmrt data import gsm8k test.jsonl; or --list")
    imported = import_task(name, file, split=split, force=force)
    if as_json:
        print_json(_plain(imported))
        return
    note(f"{imported.name}: {imported.items:,} items, verifier {imported.verifier}, sha256 {imported.sha256}")
    answer(imported.path)


def _show(tasks: Sequence[Imported], folder: Path, as_json: bool) -> None:
    if as_json:
        print_json({"folder": str(folder), "tasks": [_plain(task) for task in tasks]})
        return
    if not tasks:
        note(f"no task has been imported into {folder}")
    for task in tasks:
        what = task.problem or f"{task.items:,} items, verifier {task.verifier}, sha256 {task.sha256}"
        answer(f"{task.name}: {what}")


def _plain(task: Imported) -> dict[str, Any]:
    import dataclasses

    return dataclasses.asdict(task)
