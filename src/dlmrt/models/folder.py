"""A model folder: what it must hold, opening it and writing it.

The layout is the usual one of published checkpoints (see docs/model-format.md): ``config.json``,
``generation_config.json``, ``model.safetensors`` or shards with their index, ``tokenizer.json``,
optionally ``chat_template.jinja`` and a card ``README.md``. A checkpoint of another origin that has no
place for the diffusion settings carries them in ``dlmrt.json``, which overrides the other files.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlmrt.config import GenerationDefaults, ModelConfig
from dlmrt.errors import ConfigError, ModelNotFoundError, nearest
from dlmrt.models.families import find_family, read_model_config, write_model_config
from dlmrt.models.generation import (
    CONFIG_FILE,
    GENERATION_FILE,
    TOKENIZER_FILE,
    check_generation,
    read_json,
    read_settings,
    write_generation,
)
from dlmrt.models.storage import STORAGES, Array, Storage, encode, write_tensors
from dlmrt.models.weights import check_tensors
from dlmrt.rows import Method
from dlmrt.validate import NO_DIFFUSION, methods_of

CARD_FILE = "README.md"
SHARD_BYTES = 2_000_000_000


@dataclass(frozen=True)
class ModelFolder:
    """An opened model folder: where it is, its architecture, how it generates by default."""

    path: Path
    config: ModelConfig
    generation: GenerationDefaults

    @property
    def methods(self) -> tuple[Method, ...]:
        """How the model can decode; the first is its default. All three if it was trained to denoise."""
        return methods_of(self.generation.diffusion)

    def require_diffusion(self) -> ModelFolder:
        """Return the folder itself; raises ConfigError if the model wasn't trained to denoise."""
        if not self.generation.diffusion.denoises:
            raise ConfigError(f"{self.path}: {NO_DIFFUSION}")
        return self


def open_folder(path: str | Path) -> ModelFolder:
    """Read and check the configuration of a model folder; the weights are not touched.

    EOS ids are the union of what ``generation_config.json``, ``config.json`` and the tokenizer's
    configuration name. A plain language model (Llama, Qwen3) without diffusion settings opens as one
    that decodes autoregressively only.

    Raises ModelNotFoundError: no folder, or no config.json in it. Raises ConfigError: an unknown key
    (nearest name given), a value that is not allowed, an architecture or feature that is not
    supported, diffusion settings that are missing or incomplete, or control ids outside the vocabulary.
    """
    folder = Path(path)
    if not (folder / CONFIG_FILE).is_file():
        raise ModelNotFoundError(f"{folder} is no model folder: it has no {CONFIG_FILE}")
    where = str(folder / CONFIG_FILE)
    data = read_json(folder / CONFIG_FILE)
    family = find_family(data, where)
    settings = read_settings(folder, family, data)
    config = read_model_config({**data, **settings.model_keys()}, family, where)
    return ModelFolder(folder, config, settings.build(config))


def card_summary(folder: Path) -> str:
    """Return the first line of text of the model's card: what the model is for ("" without a card)."""
    try:
        lines = (folder / CARD_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    if lines and lines[0].strip() == "---":  # the metadata block that model hubs read
        end = next((i for i, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
        lines = lines[end + 1 :]
    texts = [line.strip() for line in lines if line.strip()]
    return next((t for t in texts if t[0] not in "#<![|`"), texts[0].lstrip("# ") if texts else "")


def save_folder(
    path: str | Path,
    config: ModelConfig,
    generation: GenerationDefaults,
    tensors: Mapping[str, Array],
    *,
    tokenizer_json: str | None,
    storage: Storage | str = "float32",
    max_shard_bytes: int = SHARD_BYTES,
    extra_files: Mapping[str, str | bytes] | None = None,
    overwrite: bool = False,
) -> ModelFolder:
    """Write a model folder: complete at its place or not there at all.

    tensors: exactly the weights of ``expected_shapes(config)``. storage: ``float32``, ``float16``, or
    ``int8`` (matrices as int8 rows with float32 scales, norms as float32). extra_files: file name to
    content, e.g. ``README.md``. The folder is written aside, beside its place, and renamed; with
    ``overwrite`` a model folder that is there already is replaced.

    Raises ConfigError: the place is taken or can't be written, or an option is not allowed. Raises
    WeightsError: tensors that don't fit ``config``, or values that the storage can't hold.
    """
    target = Path(path).resolve()
    if storage not in STORAGES:
        known = ", ".join(STORAGES)
        raise ConfigError(f"storage is {storage!r}; it must be one of {known}{nearest(storage, STORAGES)}")
    if max_shard_bytes < 1:
        raise ConfigError(f"max_shard_bytes is {max_shard_bytes}; it must be >= 1")
    check_generation(config, generation)
    check_tensors(config, tensors)
    files = _text_files(config, generation, tokenizer_json, extra_files or {})
    stored = encode(tensors, storage)
    _check_target(target, overwrite)
    try:
        _write_aside(target, files, stored, max_shard_bytes)
    except OSError as problem:
        reason = problem.strerror or problem
        raise ConfigError(f"cannot write the model folder {target}: {reason}; choose another place") from None
    return ModelFolder(Path(path), config, generation)


def _text_files(
    config: ModelConfig,
    generation: GenerationDefaults,
    tokenizer_json: str | None,
    extra: Mapping[str, str | bytes],
) -> dict[str, bytes]:
    files = {
        CONFIG_FILE: _json_bytes(write_model_config(config)),
        GENERATION_FILE: _json_bytes(write_generation(generation)),
    }
    if tokenizer_json is not None:
        files[TOKENIZER_FILE] = tokenizer_json.encode("utf-8")
    for name, content in extra.items():
        if (
            Path(name).name != name
            or name in files
            or name.endswith((".safetensors", ".safetensors.index.json"))
        ):
            raise ConfigError(
                f"extra file {name!r} is not allowed; it must be a plain name that is not taken"
            )
        files[name] = content.encode("utf-8") if isinstance(content, str) else content
    return files


def _json_bytes(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def _check_target(target: Path, overwrite: bool) -> None:
    if target.is_dir() and not any(target.iterdir()):
        return
    if target.exists():
        if not overwrite:
            raise ConfigError(f"{target} exists already; choose another place or remove it first")
        if not (target / CONFIG_FILE).is_file():
            raise ConfigError(f"{target} is no model folder, so it is not overwritten; choose another place")


def _write_aside(target: Path, files: Mapping[str, bytes], stored: Mapping[str, Array], limit: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.writing-{secrets.token_hex(4)}")
    aside.mkdir()
    try:
        for name, content in files.items():
            (aside / name).write_bytes(content)
        write_tensors(aside, stored, limit)
        for written in aside.iterdir():
            shutil.copymode(aside / CONFIG_FILE, written)  # the library makes private files
            with open(written, "rb") as stream:
                os.fsync(stream.fileno())
        _replace(aside, target)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _replace(aside: Path, target: Path) -> None:
    """Rename ``aside`` to ``target``; what is there moves away first, and back if that fails."""
    if not target.is_dir() or not any(target.iterdir()):
        aside.replace(target)  # also over an empty folder
        return
    old = aside.with_name(aside.name + "-old")
    target.replace(old)
    try:
        aside.replace(target)
    except OSError:
        old.replace(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
