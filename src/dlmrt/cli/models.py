"""``dlmrt models``: which models there are, and what one of them is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlmrt.cli.common import JsonFlag, answer, print_json
from dlmrt.config import to_mapping

if TYPE_CHECKING:
    from dlmrt.models.folder import ModelFolder

LIST_HELP = """List the models that ship with dlmrt, or show one.

Examples:

\b
  dlmrt models
  dlmrt models --json
  dlmrt models show
  dlmrt models show ./my-model --check
"""

SHOW_HELP = """Show a model: architecture, methods, diffusion settings, decoder defaults, files.

MODEL is the name of an embedded model or the path of a model folder.

Examples:

\b
  dlmrt models show
  dlmrt models show ./my-model --check
  dlmrt models show ./my-model --json
"""


def register(app: typer.Typer) -> None:
    """Add the verbs ``models`` and ``models show`` to ``app``."""
    from dlmrt.cli.app import Verbs

    group = typer.Typer(cls=Verbs, rich_markup_mode=None)
    group.callback(invoke_without_command=True, help=LIST_HELP)(list_all)
    group.command("show", help=SHOW_HELP)(show)
    app.add_typer(group, name="models", short_help="List the models that ship with dlmrt, or show one.")


def list_all(context: typer.Context, as_json: JsonFlag = False) -> None:
    """List the embedded models; does nothing when a sub-command follows."""
    if context.invoked_subcommand is not None:
        return
    from dlmrt.models.folder import open_folder
    from dlmrt.models.registry import list_models

    rows = [_summary(open_folder(m.path), m.is_default) for m in list_models()]
    if as_json:
        print_json({"models": rows})
    elif not rows:
        answer("No model ships with this installation; give the path of a model folder instead.")
    else:
        answer("\n\n".join(_render_summary(row) for row in rows))


def show(
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="Name of an embedded model or path; none: the default."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Read all weights and check names, shapes and values.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Report everything about one model."""
    from dlmrt.models.folder import open_folder
    from dlmrt.models.registry import list_models, resolve

    path = resolve(model)
    folder = open_folder(path)
    is_default = any(m.path == path and m.is_default for m in list_models())
    report = _details(folder, is_default, check=check)
    if as_json:
        print_json(report)
    else:
        answer(_render_details(report))


def _summary(folder: ModelFolder, is_default: bool) -> dict[str, Any]:
    from dlmrt.models.folder import card_summary
    from dlmrt.models.weights import count_parameters

    diffusion = folder.generation.diffusion
    return {
        "name": folder.path.resolve().name,
        "default": is_default,
        "path": str(folder.path),
        "size_bytes": _size(folder.path),
        "parameters": count_parameters(folder.config),
        "methods": list(folder.methods),
        "block_size": diffusion.block_size,
        "noise": diffusion.noise,
        "residual": folder.config.residual is not None,
        "purpose": card_summary(folder.path),
    }


def _details(folder: ModelFolder, is_default: bool, *, check: bool) -> dict[str, Any]:
    from dlmrt.models.weights import describe_weights, read_weights

    stored = describe_weights(folder)
    generation = folder.generation
    # A count: all of them were read, and fit. Misfits are an error, as is a tokenizer that doesn't.
    checked = len(read_weights(folder)) if check else None
    if check:
        from dlmrt.engine.text import TextCodec

        TextCodec(folder)
    return {
        **_summary(folder, is_default),
        "weights": {
            "files": [file.name for file in stored.files],
            "stored_as": list(stored.dtypes),
            "size_bytes": stored.nbytes,
            "checked_tensors": checked,
        },
        "has_tokenizer": (folder.path / "tokenizer.json").is_file(),
        "has_chat_template": (folder.path / "chat_template.jinja").is_file(),
        "model": to_mapping(folder.config),
        "diffusion": to_mapping(generation.diffusion),
        "max_new_tokens": generation.max_new_tokens,
        "step_budget": generation.decoder.step_budget(generation.diffusion.block_size),
        "decoder": to_mapping(generation.decoder),
        "prompt": to_mapping(generation.prompt),
    }


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _render_summary(row: dict[str, Any]) -> str:
    title = row["name"] + (" (default)" if row["default"] else "")
    facts = [
        f"{row['parameters'] / 1e6:.1f} M parameters",
        f"{row['size_bytes'] / 1e6:.1f} MB on disk",
    ]
    if "diffusion" in row["methods"]:
        facts += [
            f"block {row['block_size']}",
            f"{row['noise']} noise",
            f"residual input {'yes' if row['residual'] else 'no'}",
        ]
    else:
        facts.append("autoregressive only")
    return "\n".join([title, *(f"  {line}" for line in (row["purpose"], ", ".join(facts)) if line)])


def _render_details(report: dict[str, Any]) -> str:
    weights = report["weights"]
    count = weights["checked_tensors"]
    facts = {
        "path": report["path"],
        "weights": f"{', '.join(weights['files'])} ({', '.join(weights['stored_as'])})",
        "check": "not run (--check reads all weights)" if count is None else f"{count} tensors, all fit",
        "tokenizer": _yes(report["has_tokenizer"]),
        "chat template": _yes(report["has_chat_template"]),
        "methods": f"{', '.join(report['methods'])} (default: {report['methods'][0]})",
        "max new tokens": report["max_new_tokens"],
    }
    if "diffusion" in report["methods"]:
        facts["step budget"] = f"{report['step_budget']} a block"
    parts = [_render_summary(report), _render_section("", facts)]
    parts += [_render_section(name, report[name]) for name in ("model", "diffusion", "decoder", "prompt")]
    return "\n\n".join(parts)


def _render_section(title: str, values: dict[str, Any]) -> str:
    width = max(map(len, values))
    lines = [f"  {name:<{width}}  {_render_value(value)}" for name, value in values.items()]
    return "\n".join([title, *lines] if title else lines)


def _render_value(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_render_value(v)}" for k, v in value.items())
    if isinstance(value, list):
        shown = ", ".join(map(str, value[:12]))
        return (shown + f", ... ({len(value)} in all)" if len(value) > 12 else shown) or "-"
    return "-" if value is None else _yes(value) if isinstance(value, bool) else str(value)


def _yes(value: bool) -> str:
    return "yes" if value else "no"
