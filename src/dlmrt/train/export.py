"""From a run to the folder that is served: stored precision, generation defaults, card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dlmrt.config import GenerationDefaults, from_mapping, to_mapping
from dlmrt.errors import ConfigError
from dlmrt.train.checkpoint import list_checkpoints
from dlmrt.train.config import apply_override

KEPT_FILES = ("chat_template.jinja", "tokenizer_config.json")  # what travels with weights and tokenizer


def find_model(run: Path) -> Path:
    """The model folder of a run: ``final``, else the newest checkpoint, else ``run`` itself."""
    if (run / "final" / "config.json").is_file():
        return run / "final"
    checkpoints = list_checkpoints(run / "checkpoints")
    if checkpoints:
        return checkpoints[-1]
    if (run / "config.json").is_file():
        return run
    raise ConfigError(
        f"{run} holds neither final/, checkpoints/ nor config.json; "
        "give the out folder of a run or a model folder"
    )


def export_model(
    run: Path, out: Path, *, storage: str, card: Path | None = None, overrides: Sequence[str] = ()
) -> Path:
    """Write the model of ``run`` to the new folder ``out`` and return ``out``.

    storage: ``float32``, ``float16`` or ``int8`` (rows with scales). overrides: dotted changes of
    the generation defaults (``decoder.*``, ``prompt.*``, ``max_new_tokens``). Raises ConfigError.
    """
    from dlmrt.models.folder import open_folder, save_folder
    from dlmrt.models.weights import read_weights

    folder = open_folder(find_model(run))
    defaults = to_mapping(folder.generation)
    for item in overrides:
        if item.partition("=")[0].startswith("diffusion"):
            raise ConfigError(f"--set {item}: the block grid, noise and ids are properties of the weights")
        apply_override(defaults, item)
    tokenizer = folder.path / "tokenizer.json"
    kept = {name: folder.path / name for name in KEPT_FILES if (folder.path / name).is_file()}
    if card is not None:
        kept["README.md"] = card
    save_folder(
        out,
        folder.config,
        from_mapping(GenerationDefaults, defaults),
        read_weights(folder),
        tokenizer_json=tokenizer.read_text(encoding="utf-8") if tokenizer.is_file() else None,
        storage=storage,
        extra_files={name: path.read_text(encoding="utf-8") for name, path in kept.items()},
    )
    return out
