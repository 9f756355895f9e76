"""``dlmrt train``: supervised training of a block-diffusion model, its tokenizer, its export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlmrt.cli.common import JsonFlag, answer, note, print_json
from dlmrt.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from dlmrt.train.config import TrainConfig

ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="YAML file of the run.")]
Overrides = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="Override an option: optim.lr=1e-3.")
]
EXIT_CODES = {"finished": 0, "time": 0, "SIGINT": 130, "SIGTERM": 143}


def register(app: typer.Typer) -> None:
    """Add the verbs ``train sft``, ``train tokenizer`` and ``train export`` to ``app``."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    group.command("sft")(sft)
    group.command("tokenizer")(tokenizer)
    group.command("export")(export)
    app.add_typer(group, name="train", help="Train a model, train a tokenizer, export a run.")


def sft(
    config: ConfigFile,
    overrides: Overrides = [],  # noqa: B006 (typer reads the default, nothing mutates it)
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the newest checkpoint.")] = False,
    max_minutes: Annotated[
        float | None,
        typer.Option("--max-minutes", help="Save and stop after so many minutes of training."),
    ] = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print the full configuration and exit.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, report sizes and data; no training.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Train on prompt/answer pairs. Exit codes: 0 done or out of time, 130/143 stopped by a signal."""
    settings = _load(config, overrides)
    session = max_minutes
    if max_minutes is not None and settings.optim.by == "minutes":
        settings, session = _with_minutes(settings, max_minutes), None
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
    if EXIT_CODES[outcome]:
        raise typer.Exit(EXIT_CODES[outcome])


def tokenizer(
    config: ConfigFile,
    out: Annotated[Path, typer.Option("--out", help="File to write.")],
    overrides: Overrides = [],  # noqa: B006
) -> None:
    """Train the tokenizer that CONFIG describes and write it to a file."""
    settings = _load(config, overrides)
    from dlmrt.train.metrics import SilentReporter
    from dlmrt.train.prepare import make_tokenizer

    text, _ = make_tokenizer(settings, SilentReporter())
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    note(f"wrote {out}")


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder (its final) or a model folder.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write; must not exist.")],
    storage: Annotated[str, typer.Option("--storage", help="float32, float16 or int8.")] = "float32",
    card: Annotated[Path | None, typer.Option("--card", help="Markdown file that becomes README.md.")] = None,
    overrides: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE", help="Change a default: decoder.threshold=0.9."),
    ] = [],  # noqa: B006
) -> None:
    """Write the model folder that is served: weights, tokenizer, generation defaults, card."""
    _require_torch()
    from dlmrt.train.export import export_model

    path = export_model(run, out, storage=storage, card=card, overrides=overrides)
    size = sum(p.stat().st_size for p in path.iterdir() if p.is_file())
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


def _with_minutes(settings: Any, minutes: float) -> Any:
    import dataclasses

    if minutes <= 0:
        raise ConfigError(f"--max-minutes is {minutes}; it must be > 0")
    return dataclasses.replace(settings, max_minutes=minutes)


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


def main() -> int:
    """Run the training verbs alone: ``python -m dlmrt.cli.train sft CONFIG``."""
    from dlmrt.cli.app import run
    from dlmrt.errors import DlmrtError

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    register(app)
    try:
        return run(app, ["train", *sys.argv[1:]])
    except DlmrtError as error:
        note(f"error: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
