"""``dlmrt eval``: accuracy and speed of tasks in one pass, decoders and models side by side."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlmrt.cli import options as opt
from dlmrt.cli.common import JsonFlag, answer, note
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

More = Annotated[list[str] | None, typer.Argument(metavar="[ARM]...", help="Further arms.")]
Tasks = Annotated[
    list[str] | None,
    typer.Option("--tasks", help="Names or JSONL files, joined by commas; all when left out."),
]
Arms = Annotated[
    list[str] | None,
    typer.Option("--arms", metavar="ARM", help="A decoder or model; more may follow. Default: the model's."),
]
Limit = Annotated[int | None, typer.Option("--limit", help="Only the first items of each task.")]
Seeds = Annotated[str | None, typer.Option("--seeds", help="Run every arm with each: 0,1,2.")]
SweepOption = Annotated[
    str | None,
    typer.Option("--sweep", metavar="OPTION=START:STOP:STEP", help="Accuracy and speed over an option."),
]
YMax = Annotated[
    float | None, typer.Option("--y-max", help="Accuracy (0 to 1) that the area of --sweep is relative to.")
]
Paired = Annotated[bool, typer.Option("--paired", help="Test the first arm against each other one.")]
Margin = Annotated[
    float | None,
    typer.Option("--claim-margin", help="Say how many items show a difference of so much: 0.01."),
]
BatchSize = Annotated[int, typer.Option("--batch-size", help="Items that an arm decodes together.")]
Out = Annotated[Path | None, typer.Option("--out", help="Run folder. Default: runs/eval-<fingerprint>.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Decode anew what the run folder holds.")]
NoSteps = Annotated[
    bool, typer.Option("--no-steps", help="Don't listen to denoising steps: no entropy, no calibration.")
]
Jobs = Annotated[int, typer.Option("--jobs", help="Answers verified at a time.")]
Who = Annotated[str, typer.Option("--who", help="Name that goes into the result file.")]
Results = Annotated[
    Path | None, typer.Option("--results", help="Also write the result here under its own name.")
]


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("eval", help=HELP)(evaluate)


def evaluate(
    ctx: typer.Context,
    more: More = None,
    tasks: Tasks = None,
    arms: Arms = None,
    limit: Limit = None,
    paired: Paired = False,
    claim_margin: Margin = None,
    seeds: Seeds = None,
    sweep: SweepOption = None,
    y_max: YMax = None,
    model: opt.Model = None,
    backend: opt.Backend = "auto",
    device: opt.Device = None,
    dtype: opt.Dtype = None,
    max_new_tokens: opt.MaxNewTokens = None,
    policy: opt.Policy = None,
    threshold: opt.Threshold = None,
    per_step: opt.PerStep = None,
    entropy_bound: opt.EntropyBound = None,
    edit_threshold: opt.EditThreshold = None,
    max_post_steps: opt.MaxPostSteps = None,
    max_steps: opt.MaxSteps = None,
    no_residual: opt.NoResidual = False,
    temperature: opt.Temperature = None,
    top_k: opt.TopK = None,
    top_p: opt.TopP = None,
    batch_size: BatchSize = 1,
    out: Out = None,
    fresh: Fresh = False,
    no_steps: NoSteps = False,
    jobs: Jobs = 1,
    who: Who = "anonymous",
    results: Results = None,
    as_json: JsonFlag = False,
) -> None:
    """Check the whole plan, run it, show what came out."""
    plan = _plan(ctx.params)
    if results is not None:
        _check_folder(results)

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


def _plan(params: Mapping[str, Any]) -> EvalPlan:
    from dlmrt.evals.plan import EvalPlan
    from dlmrt.evals.sweep import parse_sweep
    from dlmrt.evals.tasks import open_tasks

    limit = params["limit"]
    if limit is not None and limit < 1:
        raise RequestError(f"--limit is {limit}; it must be >= 1")
    arms = _arms(params)
    seeds, sweep = _seeds(params["seeds"]), params["sweep"]
    parsed = None if sweep is None else parse_sweep(sweep)
    opened = open_tasks(_names(params["tasks"]), limit=limit)
    plan = EvalPlan(
        tasks=opened.tasks,
        arms=arms,
        skipped=opened.skipped,
        limit=limit,
        seeds=seeds,
        sweep=parsed,
        observe=not params["no_steps"],
        argv=("dlmrt", *sys.argv[1:]),
        **{name: params[name] for name in ("y_max", "paired", "claim_margin", "batch_size", "jobs", "out",
                                           "fresh", "who")},
    )  # fmt: skip
    return plan


def _arms(params: Mapping[str, Any]) -> tuple[Arm, ...]:
    """The arms as given, or the default one of the model, with the options as defaults."""
    from dlmrt.engine.arms import Place, parse_arms
    from dlmrt.models.folder import open_folder
    from dlmrt.models.registry import resolve

    specs = [*(params["arms"] or ()), *(params["more"] or ())]
    if not specs:
        specs = [open_folder(resolve(params["model"])).methods[0]]
    options = {name: params[name] for name in opt.NAMES if params.get(name) is not None}
    if params["no_residual"]:
        options["residual"] = False
    place = Place(params["model"], params["backend"], params["device"], params["dtype"])
    return parse_arms(specs, place, options)


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


def _check_folder(folder: Path) -> None:
    """Refuse a results folder that can't be written, before any work."""
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise RequestError(f"--results '{folder}': '{there}' is a file; give a folder")
    if not os.access(there, os.W_OK):
        raise RequestError(f"--results '{folder}' cannot be written; change its permissions or give another")


def _publish(result: ResultFile, folder: Path) -> Path:
    """Write the result under its own name, once: a file that says the same is left alone."""
    from dlmrt.results.files import is_name_of, to_json, write_result

    text = to_json(result)
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        if is_name_of(path.name, result) and path.read_text(encoding="utf-8") == text:
            return path
    return write_result(result, folder)
