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

from dlmrt.config import (
    DecoderConfig,
    DiffusionConfig,
    GenerationDefaults,
    ModelConfig,
    from_mapping,
    to_mapping,
)
from dlmrt.errors import ConfigError, DlmrtError, ModelNotFoundError, nearest
from dlmrt.models.families import (
    DIFFUSION_KEYS,
    Family,
    find_family,
    read_model_config,
    write_model_config,
)
from dlmrt.models.storage import STORAGES, Array, Storage, encode, parse_json, write_tensors
from dlmrt.models.weights import check_tensors
from dlmrt.validate import validate_ids

CONFIG_FILE = "config.json"
GENERATION_FILE = "generation_config.json"
OVERLAY_FILE = "dlmrt.json"
TOKENIZER_FILE = "tokenizer.json"
TOKENIZER_CONFIG_FILE = "tokenizer_config.json"
CARD_FILE = "README.md"
SHARD_BYTES = 2_000_000_000

_GENERATION_KEYS = (*DIFFUSION_KEYS, "eos_token_id", "pad_token_id", "max_new_tokens", "decoder", "prompt")
_OVERLAY_KEYS = (*_GENERATION_KEYS, "clean_attention", "residual")
_HARMLESS = frozenset(
    {
        "_from_model_config", "bos_token_id", "output_attentions", "output_hidden_states",
        "transformers_version", "use_cache",
    }
)  # fmt: skip
# Defaults for autoregressive sampling in checkpoints of other origin; decoding takes its defaults
# from "decoder" only.
_SAMPLING = frozenset(
    {"do_sample", "max_length", "min_p", "num_beams", "repetition_penalty", "temperature", "top_k", "top_p"}
)


@dataclass(frozen=True)
class ModelFolder:
    """An opened model folder: where it is, its architecture, how it generates by default."""

    path: Path
    config: ModelConfig
    generation: GenerationDefaults


def open_folder(path: str | Path) -> ModelFolder:
    """Read and check the configuration of a model folder; the weights are not touched.

    EOS ids are the union of what ``generation_config.json``, ``config.json`` and the tokenizer's
    configuration name.

    Raises ModelNotFoundError: no folder, or no config.json in it. Raises ConfigError: an unknown key
    (nearest name given), a value that is not allowed, an architecture or feature that is not
    supported, no diffusion settings, or control ids outside the vocabulary.
    """
    folder = Path(path)
    if not (folder / CONFIG_FILE).is_file():
        raise ModelNotFoundError(f"{folder} is no model folder: it has no {CONFIG_FILE}")
    where = str(folder / CONFIG_FILE)
    data = _read(folder / CONFIG_FILE)
    family = find_family(data, where)
    overlay = _read(folder / OVERLAY_FILE) if (folder / OVERLAY_FILE).is_file() else {}
    _check_keys(overlay, folder / OVERLAY_FILE, _OVERLAY_KEYS, frozenset())
    model_keys: dict[str, Any] = {
        key: overlay[key] for key in ("clean_attention", "residual") if key in overlay
    }
    config = read_model_config({**data, **model_keys}, family, where)
    return ModelFolder(folder, config, _read_generation(folder, config, family, data, overlay))


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_bytes()
    except OSError as problem:
        raise ConfigError(f"cannot read {path}: {problem.strerror or problem}") from None
    return parse_json(text, str(path))


def _check_keys(
    data: Mapping[str, Any], path: Path, allowed: tuple[str, ...], harmless: frozenset[str]
) -> None:
    for key in data:
        if key not in allowed and key not in harmless:
            names = [*allowed, *(f"decoder.{name}" for name in DecoderConfig.__dataclass_fields__)]
            raise ConfigError(
                f"{path} has the unknown option '{key}'{nearest(key, names)} (allowed: {', '.join(allowed)})"
            )


def _read_generation(
    folder: Path, config: ModelConfig, family: Family, model: Mapping[str, Any], overlay: Mapping[str, Any]
) -> GenerationDefaults:
    """Merge ``dlmrt.json`` over ``generation_config.json`` over ``config.json``."""
    path = folder / GENERATION_FILE
    generation = _read(path) if path.is_file() else {}
    _check_keys(generation, path, _GENERATION_KEYS, _HARMLESS if family.own else _HARMLESS | _SAMPLING)
    from_model: dict[str, Any] = {}
    if not family.own:
        from_model = {key: model[key] for key in DIFFUSION_KEYS if key in model}
    merged = {**from_model, **generation, **overlay}
    if merged.get("block_size") is None:
        raise ConfigError(_no_diffusion(folder, family))
    eos = _eos_ids(folder, model, generation, overlay, config.vocab_size)
    pad = merged.get("pad_token_id")
    diffusion: dict[str, Any] = {key: merged[key] for key in DIFFUSION_KEYS if key in merged}
    diffusion["eos_token_ids"] = eos
    diffusion["pad_token_id"] = model.get("pad_token_id") if pad is None else pad
    where = str(folder / (OVERLAY_FILE if overlay else GENERATION_FILE))
    rest: dict[str, Any] = {k: merged[k] for k in ("max_new_tokens", "decoder", "prompt") if k in merged}
    try:
        built = from_mapping(DiffusionConfig, diffusion)
        defaults = from_mapping(GenerationDefaults, {"diffusion": built, **rest})
        _check_generation(config, defaults)
    except DlmrtError as problem:  # a RequestError too: here the file is at fault, not a request
        raise ConfigError(f"{where}: {problem}") from None
    return defaults


def _no_diffusion(folder: Path, family: Family) -> str:
    if family.own:
        return f"{folder / GENERATION_FILE} lacks 'block_size'; it says how the model was trained"
    return (
        f"{folder} is a {family.model_type} checkpoint without diffusion settings; if it was trained for "
        f'block diffusion, add {OVERLAY_FILE} with "block_size", "noise" and "mask_token_id" '
        "(see docs/model-format.md)"
    )


def _check_generation(config: ModelConfig, defaults: GenerationDefaults) -> None:
    diffusion = defaults.diffusion
    validate_ids(config, diffusion)
    if diffusion.mask_token_id is not None and diffusion.mask_token_id in diffusion.eos_token_ids:
        raise ConfigError(f"mask_token_id {diffusion.mask_token_id} is an EOS id too; they must differ")
    if diffusion.block_size > config.max_positions:
        raise ConfigError(
            f"block_size is {diffusion.block_size}, the model has {config.max_positions} positions; "
            "a block must fit into them"
        )
    if defaults.max_new_tokens < 1:
        raise ConfigError(f"max_new_tokens is {defaults.max_new_tokens}; it must be >= 1")


def _eos_ids(
    folder: Path,
    model: Mapping[str, Any],
    generation: Mapping[str, Any],
    overlay: Mapping[str, Any],
    vocab_size: int,
) -> tuple[int, ...]:
    """The union of the EOS ids of all files, in the order dlmrt, generation, model, tokenizer."""
    ids: list[int] = []
    for data, file in ((overlay, OVERLAY_FILE), (generation, GENERATION_FILE), (model, CONFIG_FILE)):
        value = data.get("eos_token_id")
        listed = [] if value is None else value if isinstance(value, list) else [value]
        for item in listed:
            if type(item) is not int:
                raise ConfigError(
                    f"{folder / file} has eos_token_id {value!r}; it must be an id or a list of ids"
                )
        ids += listed
    named = _tokenizer_eos(folder)
    if named is not None and named < vocab_size:  # an id beyond the vocabulary is never produced
        ids.append(named)
    return tuple(dict.fromkeys(ids))


def _tokenizer_eos(folder: Path) -> int | None:
    """The id of the ``eos_token`` that ``tokenizer_config.json`` names; ``None`` if it has no id.

    The table of ids in that file is asked first: where a text and an id's configuration differ, the
    id wins.
    """
    path = folder / TOKENIZER_CONFIG_FILE
    if not path.is_file():
        return None
    data = _read(path)
    text = _content(data.get("eos_token"))
    if text is None:
        return None
    table = data.get("added_tokens_decoder")
    for key, token in table.items() if isinstance(table, dict) else ():
        if _content(token) == text and key.isdecimal():
            return int(key)
    tokenizer = folder / TOKENIZER_FILE
    return _find_token(_read(tokenizer), text) if tokenizer.is_file() else None


def _content(token: object) -> str | None:
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else None


def _find_token(tokenizer: Mapping[str, Any], text: str) -> int | None:
    added = tokenizer.get("added_tokens")
    for token in added if isinstance(added, list) else ():
        if isinstance(token, dict) and token.get("content") == text and type(token.get("id")) is int:
            return int(token["id"])
    model = tokenizer.get("model")
    vocab = model.get("vocab") if isinstance(model, dict) else None
    value = vocab.get(text) if isinstance(vocab, dict) else None
    return value if type(value) is int else None


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
    _check_generation(config, generation)
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
        GENERATION_FILE: _json_bytes(_write_generation(generation)),
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


def _write_generation(generation: GenerationDefaults) -> dict[str, Any]:
    diffusion = to_mapping(generation.diffusion)
    diffusion["eos_token_id"] = diffusion.pop("eos_token_ids")
    rest = {key: to_mapping(getattr(generation, key)) for key in ("max_new_tokens", "decoder", "prompt")}
    return {**diffusion, **rest}


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
