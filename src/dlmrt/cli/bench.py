"""``dlmrt bench``: speed of prompt suites beside its floor, decoders and servers side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlmrt.cli.bench_options import ClaimOptions, Kept, Measured, RandomOptions, ServerOptions
from dlmrt.cli.common import EXIT_INTERRUPTED, JsonFlag, answer, command_line, note
from dlmrt.cli.groups import Without, changed, grouped, option_name
from dlmrt.cli.options import Decoding
from dlmrt.errors import RequestError

if TYPE_CHECKING:
    from dlmrt.bench.plan import BenchPlan
    from dlmrt.bench.random_model import RandomModel
    from dlmrt.engine.arms import Arm

HELP = """Measure speed on real prompts: floors first, then what the decoders reach, then verdicts.

The floor is the least time of a forward here: bytes over measured bandwidth, or operations over measured
matrix rate. An ARM is a decoder or a model, as in `dlmrt eval`. All arms answer a prompt before the next one.

\b
Examples:
  dlmrt bench
  dlmrt bench --suite chat,code --model models/my-model --batch 1,4 --max-new-tokens 64,128
  dlmrt bench --arms diffusion fast:policy=threshold,threshold=0.7 --breakdown
  dlmrt bench --random-weights qwen3-4b --device cuda --per-step 4 --claim 900
  dlmrt bench --server http://localhost:8000 --server-model my-model --suite chat
"""
DEFAULT_SUITE, EMBEDDED_SUITE = "chat", "repair"

Breakdown = Annotated[bool, typer.Option("--breakdown", help="Show where a request's time goes.")]


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("bench", help=HELP)(bench)


@grouped
def bench(
    *,
    measured: Measured,
    breakdown: Breakdown = False,
    claim: ClaimOptions,
    server: ServerOptions,
    random: RandomOptions,
    decoding: Annotated[Decoding, Without("max_new_tokens", "stop", "method")],
    kept: Kept,
    as_json: JsonFlag = False,
) -> None:
    """Check the whole plan, run it, show what came out."""
    plan = _plan(measured, claim, server, random, decoding, kept.who)
    kept.check()
    code = _run(plan, kept.out, kept.results, breakdown, as_json)
    if code:
        raise typer.Exit(code)


def _run(plan: BenchPlan, out: Path | None, results: Path | None, breakdown: bool, as_json: bool) -> int:
    from dlmrt.bench.harness import INCOMPLETE, run_bench
    from dlmrt.cli.bench_view import Bar, note_floors, print_floors, print_result
    from dlmrt.results.files import to_json, write_result, write_result_to

    with Bar() as bar:
        result = run_bench(plan, progress=bar, on_floors=note_floors if as_json else print_floors)
    for name, reason in result.skipped.items():
        note(f"{name}: {reason}")
    if out is not None:
        note(f"result: {write_result_to(result, out)}")
    if results is not None:
        note(f"result: {write_result(result, results)}")
    if as_json:
        answer(to_json(result), end="")
    else:
        print_result(result, breakdown=breakdown)
    if INCOMPLETE in result.settings:
        note(f"incomplete: {result.settings[INCOMPLETE]}")
        return EXIT_INTERRUPTED
    return 0


def _plan(
    measured: Measured,
    claim: ClaimOptions,
    server: ServerOptions,
    random: RandomOptions,
    decoding: Decoding,
    who: str,
) -> BenchPlan:
    from dlmrt.bench.plan import BenchPlan
    from dlmrt.bench.suites import load_suites

    is_local = server.server is None or any(
        (decoding.model, measured.specs, measured.baseline, random.random_weights)
    )
    model, lengths = random.model(decoding), measured.max_new_tokens()
    default = _default_suite(decoding.model, random=model is not None) if is_local else DEFAULT_SUITE
    plan = BenchPlan(
        suites=load_suites(measured.suites(default)),
        arms=_arms(measured, decoding, model) if is_local else (),
        batches=measured.batches(),
        lengths=lengths,
        warmups=measured.warmup,
        repeats=measured.repeats,
        limit=measured.limit,
        random=model,
        server=server.plan(),
        claim=claim.plan(),
        who=who,
        argv=command_line(),
    )
    if not is_local:
        _refuse_local_options(measured, decoding)
    return plan


def _default_suite(model: str | None, *, random: bool) -> str:
    """What the model is for: repairing text for those that ship with dlmrt."""
    from dlmrt.models.registry import DEFAULT_NAME, list_models

    embedded = {None, DEFAULT_NAME, *(model.name for model in list_models())}
    return EMBEDDED_SUITE if model in embedded and not random else DEFAULT_SUITE


def _arms(measured: Measured, decoding: Decoding, random: RandomModel | None) -> tuple[Arm, ...]:
    """The arms as given, or the model's own with its baselines."""
    from dlmrt.bench.plan import default_arms
    from dlmrt.engine.arms import parse_arms

    specs, baseline, options = measured.specs, measured.baselines(), decoding.given()
    if random is not None:
        # How many drafts lookup accepts means nothing here: it is measured only when asked for.
        specs = specs or ["diffusion", *(("ar",) if baseline is None else baseline)]
        options = {}
    return parse_arms(specs or default_arms(decoding.model, baseline), decoding.place, options)


def _refuse_local_options(measured: Measured, decoding: Decoding) -> None:
    names = changed(decoding) + [name for name in changed(measured) if name == "batch"]
    if names:
        raise RequestError(
            f"{option_name(names[0])} is for decoding here, and only the server is measured; drop it, "
            "or add --model or --arms"
        )
