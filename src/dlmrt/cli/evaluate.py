"""``dlmrt eval``: accuracy and speed of tasks in one pass, decoders and models side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlmrt.cli.common import JsonFlag, answer, command_line, note
from dlmrt.cli.files import check_folder
from dlmrt.cli.groups import Without, grouped
from dlmrt.cli.options import Decoding
from dlmrt.errors import RequestError

if TYPE_CHECKING:
    from dlmrt.engine.arms import Arm
    from dlmrt.evals.plan import EvalPlan
    from dlmrt.results.schema import ResultFile

HELP = """Answer the items of tasks, score the answers, and report quality and speed together.

An ARM is a decoder or a model: diffusion, ar, lookup, or a label with settings, as in
fast:policy=threshold,threshold=0.7 or mine:model=runs/mine/final. All arms answer an item before the next.
Answers stream to the run folder; a killed run goes on where it was when the same command is given again.

\b
Examples:
  dlmrt eval --tasks all --limit 200 --json
  dlmrt eval --tasks repair --arms diffusion ar lookup --paired
  dlmrt eval --tasks repair --sweep threshold=0.5:0.95:0.05
  dlmrt eval --tasks mine.jsonl --model runs/mine/final --temperature 0.7 --seeds 0,1,2
"""


@dataclass(frozen=True)
class Asked:
    """What is to be found out: a group of options."""

    more: Annotated[list[str] | None, typer.Argument(metavar="[ARM]...", help="Further arms.")] = None
    tasks: Annotated[
        list[str] | None,
        typer.Option("--tasks", help="Names or JSONL files, joined by commas; all when left out."),
    ] = None
    arms: Annotated[
        list[str] | None,
        typer.Option(
            "--arms", metavar="ARM", help="A decoder or model; more may follow. Default: the model's."
        ),
    ] = None
    limit: Annotated[int | None, typer.Option("--limit", help="Only the first items of each task.")] = None
    paired: Annotated[bool, typer.Option("--paired", help="Test the first arm against each other one.")] = (
        False
    )
    claim_margin: Annotated[
        float | None,
        typer.Option("--claim-margin", help="Say how many items show a difference of so much: 0.01."),
    ] = None
    seeds: Annotated[str | None, typer.Option("--seeds", help="Run every arm with each: 0,1,2.")] = None
    sweep: Annotated[
        str | None,
        typer.Option("--sweep", metavar="OPTION=START:STOP:STEP", help="Accuracy and speed over an option."),
    ] = None
    y_max: Annotated[
        float | None,
        typer.Option("--y-max", help="Accuracy (0 to 1) that the area of --sweep is relative to."),
    ] = None


@dataclass(frozen=True)
class Conduct:
    """How the run goes and where it lies: a group of options."""

    batch_size: Annotated[int, typer.Option("--batch-size", help="Items that an arm decodes together.")] = 1
    out: Annotated[
        Path | None, typer.Option("--out", help="Run folder. Default: runs/eval-<fingerprint>.")
    ] = None
    fresh: Annotated[bool, typer.Option("--fresh", help="Decode anew what the run folder holds.")] = False
    no_steps: Annotated[
        bool, typer.Option("--no-steps", help="Don't listen to denoising steps: no entropy, no calibration.")
    ] = False
    jobs: Annotated[int, typer.Option("--jobs", help="Answers verified at a time.")] = 1
    who: Annotated[str, typer.Option("--who", help="Name that goes into the result file.")] = "anonymous"


Results = Annotated[
    Path | None, typer.Option("--results", help="Also write the result here under its own name.")
]


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("eval", help=HELP)(evaluate)


@grouped
def evaluate(
    asked: Asked,
    decoding: Annotated[Decoding, Without("stop", "method", "seed")],
    conduct: Conduct,
    results: Results = None,
    as_json: JsonFlag = False,
) -> None:
    """Check the whole plan, run it, show what came out."""
    plan = _plan(asked, decoding, conduct)
    if results is not None:
        check_folder(results, "--results")

    from dlmrt.cli.eval_view import Bar, print_result
    from dlmrt.evals.harness import run_prepared
    from dlmrt.evals.plan import prepare
    from dlmrt.results.files import to_json

    prepared = prepare(plan)
    for name, reason in plan.skipped.items():
        note(f"skipped {name}: {reason}")
    with Bar(plan.arms[0].name) as bar:
        result = run_prepared(prepared, progress=bar)
    if results is not None:
        note(f"result: {_publish(result, results)}")
    if as_json:
        answer(to_json(result), end="")
    else:
        print_result(result)


def _plan(asked: Asked, decoding: Decoding, conduct: Conduct) -> EvalPlan:
    from dlmrt.evals.plan import EvalPlan
    from dlmrt.evals.sweep import parse_sweep
    from dlmrt.evals.tasks import open_tasks

    if asked.limit is not None and asked.limit < 1:
        raise RequestError(f"--limit is {asked.limit}; it must be >= 1")
    arms = _arms([*(asked.arms or ()), *(asked.more or ())], decoding)
    seeds = _seeds(asked.seeds)
    sweep = None if asked.sweep is None else parse_sweep(asked.sweep)
    opened = open_tasks(_names(asked.tasks), limit=asked.limit)
    return EvalPlan(
        tasks=opened.tasks,
        arms=arms,
        skipped=opened.skipped,
        limit=asked.limit,
        seeds=seeds,
        sweep=sweep,
        y_max=asked.y_max,
        paired=asked.paired,
        claim_margin=asked.claim_margin,
        batch_size=conduct.batch_size,
        observe=not conduct.no_steps,
        jobs=conduct.jobs,
        out=conduct.out,
        fresh=conduct.fresh,
        who=conduct.who,
        argv=command_line(),
    )


def _arms(specs: Sequence[str], decoding: Decoding) -> tuple[Arm, ...]:
    """The arms as given, or the default one of the model, with the options as defaults."""
    from dlmrt.engine.arms import parse_arms
    from dlmrt.models.folder import open_folder
    from dlmrt.models.registry import resolve

    specs = specs or [open_folder(resolve(decoding.model)).methods[0]]
    return parse_arms(specs, decoding.place, decoding.given())


def _names(given: Sequence[str] | None) -> list[str]:
    names = [name.strip() for part in given or ("all",) for name in part.split(",")]
    if not all(names):
        raise RequestError(f"--tasks is '{','.join(given or ())}'; a name in it is empty")
    return names


def _seeds(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise RequestError(f"--seeds is '{text}'; give integers >= 0 joined by commas, as in 0,1,2")
    return tuple(map(int, parts))


def _publish(result: ResultFile, folder: Path) -> Path:
    """Write the result under its own name, once: a file that says the same is left alone."""
    from dlmrt.results.files import is_name_of, to_json, write_result

    text = to_json(result)
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        if is_name_of(path.name, result) and path.read_text(encoding="utf-8") == text:
            return path
    return write_result(result, folder)
