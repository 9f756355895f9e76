"""``dlmrt train``: supervised training of a block-diffusion model, its tokenizer, its export."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlmrt.cli.common import JsonFlag, answer, note, print_json
from dlmrt.errors import MissingExtraError, RequestError

if TYPE_CHECKING:
    from dlmrt.train.config import TrainConfig

ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="YAML file of the run.")]
Overrides = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="Override an option: optim.lr=1e-3.")
]
EXIT_CODES = {"finished": 0, "time": 0, "SIGINT": 130, "SIGTERM": 143}

SFT_HELP = """Train on prompt/answer pairs, as the YAML file CONFIG describes (docs/training.md).

Exit codes: 0 done or out of time, 130 or 143 stopped by SIGINT or SIGTERM with a checkpoint. With --json
the outcome, the last step, the folder of the model and the last dev metrics go to stdout at the end.

\b
Examples:
  dlmrt train sft examples/configs/quick.yaml --dry-run
  dlmrt train sft examples/configs/quick.yaml --set optim.lr=1e-3 --max-minutes 50
  dlmrt train sft examples/configs/quick.yaml --resume --json
"""
TOKENIZER_HELP = """Train the tokenizer that CONFIG describes and write it to a file.

\b
Example:
  dlmrt train tokenizer examples/configs/quick.yaml --out tokenizer.json
"""
EXPORT_HELP = """Write the model folder that is served: weights, tokenizer, generation defaults, card.

\b
Example:
  dlmrt train export runs/quick --storage int8 --card card.md --out models/quick
"""


def register(app: typer.Typer) -> None:
    """Add the verbs ``train sft``, ``train tokenizer`` and ``train export`` to ``app``."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    group.command("sft", help=SFT_HELP)(sft)
    group.command("tokenizer", help=TOKENIZER_HELP)(tokenizer)
    group.command("export", help=EXPORT_HELP)(export)
    app.add_typer(group, name="train", help="Train a model, train a tokenizer, export a run.")


def sft(
    config: ConfigFile,
    overrides: Overrides = [],  # noqa: B006 (typer reads the default, nothing mutates it)
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the newest checkpoint.")] = False,
    max_minutes: Annotated[
        float | None,
        typer.Option(
            "--max-minutes",
            help="Save and stop after so many minutes: of this session when optim.by is steps, of the "
            "whole run (it replaces max_minutes, where the schedule ends) when it is minutes.",
        ),
    ] = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print the full configuration and exit.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, report sizes and data; no training.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Train, or say what would be trained."""
    _check_flags(max_minutes, {"--print-config": print_config, "--dry-run": dry_run, "--resume": resume})
    settings = _load(config, overrides)
    session = max_minutes
    if max_minutes is not None and settings.optim.by == "minutes":
        settings, session = dataclasses.replace(settings, max_minutes=max_minutes), None
    if print_config:
        from dlmrt.train.config import dump_config

        if as_json:
            print_json(settings)
        else:
            answer(dump_config(settings), end="")
        return
    if dry_run:
        _dry_run(settings, as_json)
        return
    from dlmrt.train.metrics import ConsoleReporter
    from dlmrt.train.trainer import train

    with ConsoleReporter() as reporter:
        outcome = train(settings, reporter, resume=resume, session_minutes=session)
    note(
        {"finished": f"finished; the model is in {settings.out}/final"}.get(
            outcome, f"stopped ({outcome}); go on with --resume"
        )
    )
    if as_json:
        print_json(_result(Path(settings.out), outcome))
    if EXIT_CODES[outcome]:
        raise typer.Exit(EXIT_CODES[outcome])


def _check_flags(max_minutes: float | None, flags: dict[str, bool]) -> None:
    """Raise RequestError for a time that is none, and for two flags of which one would be ignored."""
    if max_minutes is not None and not (max_minutes > 0 and math.isfinite(max_minutes)):
        raise RequestError(f"--max-minutes is {max_minutes:g}; it must be > 0 and finite")
    given = [name for name, is_given in flags.items() if is_given]
    if len(given) > 1:
        raise RequestError(f"{given[0]} and {given[1]} cannot be used together; give one of them")


def _result(out: Path, outcome: str) -> dict[str, Any]:
    """What ``--json`` prints at the end; ``path`` and ``dev`` are null where there is none."""
    from dlmrt.train.checkpoint import list_checkpoints, read_state
    from dlmrt.train.metrics import read_metrics

    checkpoints = list_checkpoints(out / "checkpoints")
    newest = checkpoints[-1] if checkpoints else None
    path = out / "final" if outcome == "finished" else newest
    dev = [record for record in read_metrics(out / "metrics.jsonl") if record["kind"] == "dev"]
    return {
        "outcome": outcome,
        "step": 0 if newest is None else read_state(newest).step,
        "path": None if path is None else str(path),
        "dev": dev[-1] if dev else None,
    }


def tokenizer(
    config: ConfigFile,
    out: Annotated[Path, typer.Option("--out", help="File to write.")],
    overrides: Overrides = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Train it and write it."""
    settings = _load(config, overrides)
    from dlmrt.train.metrics import SilentReporter
    from dlmrt.train.prepare import make_tokenizer

    text, _ = make_tokenizer(settings, SilentReporter())
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    _report_file(out, out.stat().st_size, as_json)


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder (its final) or a model folder.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write; must not exist.")],
    storage: Annotated[str, typer.Option("--storage", help="float32, float16 or int8.")] = "float32",
    card: Annotated[Path | None, typer.Option("--card", help="Markdown file that becomes README.md.")] = None,
    overrides: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE", help="Change a default: decoder.threshold=0.9."),
    ] = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Write the folder."""
    _require_torch()
    from dlmrt.train.export import export_model

    path = export_model(run, out, storage=storage, card=card, overrides=overrides)
    size = sum(p.stat().st_size for p in path.iterdir() if p.is_file())
    _report_file(path, size, as_json)


def _report_file(path: Path, size: int, as_json: bool) -> None:
    if as_json:
        print_json({"path": str(path), "bytes": size})
    else:
        note(f"wrote {path} ({size / 1e6:.1f} MB)")


def _load(path: Path, overrides: list[str]) -> TrainConfig:
    _require_torch()
    from dlmrt.train.config import load_config

    return load_config(path, overrides)


def _require_torch() -> None:
    try:
        import tokenizers  # noqa: F401
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtraError("dlmrt train", "train") from None


def _dry_run(settings: TrainConfig, as_json: bool) -> None:
    from dlmrt.train.config import dump_config
    from dlmrt.train.metrics import ConsoleReporter
    from dlmrt.train.prepare import prepare, summary

    with ConsoleReporter() as reporter:
        report = summary(prepare(settings, reporter))
    if as_json:
        print_json({"config": settings, **report})
        return
    answer(dump_config(settings))
    for name, value in report.items():
        if isinstance(value, dict):
            value = ", ".join(f"{k} {v}" for k, v in value.items())
        answer(f"{name}: {value}")
