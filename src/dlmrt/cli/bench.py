"""``dlmrt bench``: speed of prompt suites beside its floor, decoders and servers side by side."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlmrt.cli import options as opt
from dlmrt.cli.common import EXIT_INTERRUPTED, JsonFlag, answer, nearest, note
from dlmrt.errors import RequestError

if TYPE_CHECKING:
    from dlmrt.bench.plan import BenchPlan, ClaimPlan
    from dlmrt.bench.random_model import RandomModel
    from dlmrt.bench.server import ServerPlan
    from dlmrt.config import Noise
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
NO_BASELINE = "none"

More = Annotated[list[str] | None, typer.Argument(metavar="[ARM]...", help="Further arms.")]
SuiteOption = Annotated[
    list[str] | None,
    typer.Option(
        "--suite",
        help="chat, code, maths, long, json, repair, all, or a .jsonl or .txt file; joined by commas.",
    ),
]
Arms = Annotated[
    list[str] | None,
    typer.Option("--arms", metavar="ARM", help="A decoder or model; more may follow."),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline", help="Beside diffusion: ar,lookup, or none. Default: what the model supports."
    ),
]
BatchSizes = Annotated[str, typer.Option("--batch", help="Prompts decoded together: 1,4.")]
Lengths = Annotated[
    str | None, typer.Option("--max-new-tokens", "-n", help="At most this many tokens an answer: 64,128.")
]
Warmup = Annotated[int, typer.Option("--warmup", help="Runs of each arm before those that count.")]
Repeats = Annotated[int, typer.Option("--repeats", help="How often each prompt counts.")]
Limit = Annotated[int | None, typer.Option("--limit", help="Only the first prompts of each suite.")]
Breakdown = Annotated[bool, typer.Option("--breakdown", help="Show where a request's time goes.")]
ClaimOption = Annotated[
    float | None, typer.Option("--claim", metavar="TOKENS_PER_SECOND", help="Judge this claimed speed.")
]
ClaimMeasure = Annotated[
    str | None, typer.Option("--claim-measure", help="decode (the default) or end_to_end.")
]
Server = Annotated[
    str | None, typer.Option("--server", metavar="URL", help="Measure this OpenAI-compatible server.")
]
ServerModel = Annotated[str | None, typer.Option("--server-model", help="The model's name on the server.")]
Api = Annotated[str | None, typer.Option("--api", help="chat (the default) or completions.")]
NoStream = Annotated[bool, typer.Option("--no-stream", help="Ask the server for whole answers.")]
Concurrency = Annotated[int | None, typer.Option("--concurrency", help="Requests in flight at the server.")]
ApiKeyEnv = Annotated[
    str | None, typer.Option("--api-key-env", metavar="VAR", help="Environment variable with the API key.")
]
RandomWeights = Annotated[
    str | None,
    typer.Option(
        "--random-weights", metavar="SHAPE", help="A preset, or d_model=..,n_layers=..,n_heads=..,d_ffn=.."
    ),
]
BlockSize = Annotated[
    int | None, typer.Option("--block-size", help="Block of --random-weights. Default: 32.")
]
NoiseOption = Annotated[
    str | None, typer.Option("--noise", help="Noise of --random-weights: mask (the default) or uniform.")
]
Out = Annotated[Path | None, typer.Option("--out", help="Write the result to this new file.")]
Results = Annotated[Path | None, typer.Option("--results", help="Write the result here under its own name.")]
Who = Annotated[str, typer.Option("--who", help="Name that goes into the result file.")]


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("bench", help=HELP)(bench)


def bench(
    ctx: typer.Context,
    more: More = None,
    suite: SuiteOption = None,
    arms: Arms = None,
    baseline: Baseline = None,
    batch: BatchSizes = "1",
    max_new_tokens: Lengths = None,
    warmup: Warmup = 1,
    repeats: Repeats = 3,
    limit: Limit = None,
    breakdown: Breakdown = False,
    claim: ClaimOption = None,
    claim_measure: ClaimMeasure = None,
    server: Server = None,
    server_model: ServerModel = None,
    api: Api = None,
    no_stream: NoStream = False,
    concurrency: Concurrency = None,
    api_key_env: ApiKeyEnv = None,
    random_weights: RandomWeights = None,
    block_size: BlockSize = None,
    noise: NoiseOption = None,
    model: opt.Model = None,
    backend: opt.Backend = "auto",
    device: opt.Device = None,
    dtype: opt.Dtype = None,
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
    seed: opt.Seed = None,
    out: Out = None,
    results: Results = None,
    who: Who = "anonymous",
    as_json: JsonFlag = False,
) -> None:
    """Check the whole plan, run it, show what came out."""
    plan = _plan(ctx.params)
    _check_targets(out, results)
    code = _run(plan, out, results, breakdown, as_json)
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


def _plan(params: Mapping[str, Any]) -> BenchPlan:
    from dlmrt.bench.plan import BenchPlan
    from dlmrt.bench.suites import load_suites

    local = params["server"] is None or any(
        params[name] for name in ("model", "arms", "more", "baseline", "random_weights")
    )
    random, lengths = _random(params), params["max_new_tokens"]
    suites = load_suites(_suites(params, local))
    plan = BenchPlan(
        suites=suites,
        arms=_arms(params, random) if local else (),
        batches=_numbers("--batch", params["batch"]),
        lengths=(None,) if lengths is None else _numbers("--max-new-tokens", lengths),
        warmups=params["warmup"],
        repeats=params["repeats"],
        limit=params["limit"],
        random=random,
        server=_server(params),
        claim=_claim(params),
        who=params["who"],
        argv=tuple(sys.argv),
    )  # fmt: skip
    if not local:
        _refuse_local_options(params)
    return plan


def _suites(params: Mapping[str, Any], local: bool) -> list[str]:
    from dlmrt.models.registry import DEFAULT_NAME, list_models

    if not params["suite"]:
        embedded = {None, DEFAULT_NAME, *(model.name for model in list_models())}
        own = local and params["model"] in embedded and params["random_weights"] is None
        return [EMBEDDED_SUITE if own else DEFAULT_SUITE]
    names = [name.strip() for part in params["suite"] for name in part.split(",")]
    if not all(names):
        raise RequestError(f"--suite is '{','.join(params['suite'])}'; a name in it is empty")
    return names


def _decoder_options(params: Mapping[str, Any]) -> dict[str, Any]:
    names = [name for name in opt.NAMES if name not in ("max_new_tokens", "method")]
    options = {name: params[name] for name in names if params[name] is not None}
    if params["no_residual"]:
        options["residual"] = False
    return options


def _arms(params: Mapping[str, Any], random: RandomModel | None) -> tuple[Arm, ...]:
    """The arms as given, or the model's own with its baselines."""
    from dlmrt.bench.plan import default_arms
    from dlmrt.engine.arms import Place, parse_arms

    specs = [*(params["arms"] or ()), *(params["more"] or ())]
    baseline = _baseline(params["baseline"])
    if specs and baseline is not None:
        raise RequestError(
            "--arms names all decoders and --baseline adds to the default ones; drop one of them"
        )
    options = _decoder_options(params)
    if random is not None:
        # How many drafts lookup accepts means nothing here: it is measured only when asked for.
        specs = specs or ["diffusion", *(("ar",) if baseline is None else baseline)]
        options = {}
    place = Place(params["model"], params["backend"], params["device"], params["dtype"])
    return parse_arms(specs or default_arms(params["model"], baseline), place, options)


def _baseline(text: str | None) -> list[str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if names == [NO_BASELINE]:
        return []
    allowed = ("ar", "lookup", NO_BASELINE)
    for name in names:
        if name not in allowed[:2]:
            raise RequestError(
                f"--baseline is '{text}'; it must be ar, lookup, both, or none{nearest(name, allowed)}"
            )
    return list(dict.fromkeys(names))


def _random(params: Mapping[str, Any]) -> RandomModel | None:
    from dlmrt.bench.random_model import RandomModel, fixed_work, read_shape

    shape = params["random_weights"]
    if shape is None:
        for option in ("block_size", "noise"):
            if params[option] is not None:
                raise RequestError(
                    f"--{option.replace('_', '-')} is for --random-weights; a model brings its own; drop it"
                )
        return None
    if params["model"] is not None:
        raise RequestError("--model and --random-weights both say what to run; drop one of them")
    size = params["block_size"]
    noise: Noise = params["noise"] or "mask"
    if size is not None and size < 1:
        raise RequestError(f"--block-size is {size}; it must be >= 1")
    if noise not in ("mask", "uniform"):
        raise RequestError(
            f"--noise is '{noise}'; it must be mask or uniform{nearest(noise, ('mask', 'uniform'))}"
        )
    per_step = fixed_work(_decoder_options(params))
    name, config = read_shape(shape)
    return RandomModel(name, config, size or 32, noise, per_step, params["seed"] or 0)


def _server(params: Mapping[str, Any]) -> ServerPlan | None:
    from dlmrt.bench.server import ServerPlan, api_key_from

    given = [
        name for name in ("server_model", "api", "no_stream", "concurrency", "api_key_env") if params[name]
    ]
    if params["server"] is None:
        if given:
            raise RequestError(f"--{given[0].replace('_', '-')} is for --server; add --server URL or drop it")
        return None
    variable = params["api_key_env"]
    return ServerPlan(
        url=params["server"],
        suites=(),
        model=params["server_model"],
        concurrency=1 if params["concurrency"] is None else params["concurrency"],
        api=params["api"] or "chat",
        stream=not params["no_stream"],
        api_key=None if variable is None else api_key_from(variable),
    )


def _refuse_local_options(params: Mapping[str, Any]) -> None:
    names = [*_decoder_options(params), *(n for n in ("device", "dtype") if params[n] is not None)]
    names += [name for name, default in (("backend", "auto"), ("batch", "1")) if params[name] != default]
    if names:
        raise RequestError(
            f"--{names[0].replace('_', '-')} is for decoding here, and only the server is measured; drop it, "
            "or add --model or --arms"
        )


def _claim(params: Mapping[str, Any]) -> ClaimPlan | None:
    from dlmrt.bench.plan import ClaimPlan

    if params["claim"] is None:
        if params["claim_measure"] is not None:
            raise RequestError("--claim-measure says which rate --claim speaks of; add --claim or drop it")
        return None
    return ClaimPlan(params["claim"], params["claim_measure"] or "decode")


def _numbers(option: str, text: str) -> tuple[int, ...]:
    parts: Sequence[str] = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise RequestError(f"{option} is '{text}'; give integers >= 1 joined by commas, as in 1,4")
    return tuple(map(int, parts))


def _check_targets(out: Path | None, results: Path | None) -> None:
    """Refuse what can't be written before any work; a result is never overwritten."""
    if out is not None and out.exists():
        raise RequestError(f"--out '{out}' exists, and a result is never overwritten; give another path")
    for option, folder in (("--out", out.parent if out else None), ("--results", results)):
        if folder is None:
            continue
        there = folder
        while not there.exists() and there != there.parent:
            there = there.parent
        if not there.is_dir():
            raise RequestError(f"{option}: '{there}' is a file; give a folder")
        if not os.access(there, os.W_OK):
            raise RequestError(
                f"{option}: '{there}' cannot be written; change its permissions or give another"
            )
