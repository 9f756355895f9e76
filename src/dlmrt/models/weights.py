"""The weights of a model folder: which tensors a configuration needs, and reading them strictly.

Every problem is found before anything is computed, and all misfits are reported in one error.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dlmrt.config import ModelConfig
from dlmrt.errors import WeightsError
from dlmrt.models.storage import (
    INDEX_FILE,
    SCALE_SUFFIX,
    WEIGHTS_FILE,
    Array,
    TensorEntry,
    dequantise_rows,
    parse_json,
    read_header,
    read_tensor,
)

if TYPE_CHECKING:
    from dlmrt.models.folder import ModelFolder

EMBEDDING = "model.embed_tokens.weight"
HEAD = "lm_head.weight"
_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_SHOWN = 4  # names listed of each kind of misfit

Shapes = dict[str, tuple[int, ...]]


def expected_shapes(config: ModelConfig) -> Shapes:
    """Return the names and shapes of all weights of a model, matrices as [out, in].

    The names are those of Qwen3 checkpoints, plus ``residual.*`` for the residual input.
    """
    d, f, h = config.d_model, config.d_ffn, config.head_dim
    queries, keys = config.n_heads * h, config.n_kv_heads * h
    shapes: Shapes = {EMBEDDING: (config.vocab_size, d)}
    for index in range(config.n_layers):
        layer = f"model.layers.{index}."
        shapes[layer + "input_layernorm.weight"] = (d,)
        shapes[layer + "self_attn.q_proj.weight"] = (queries, d)
        shapes[layer + "self_attn.k_proj.weight"] = (keys, d)
        shapes[layer + "self_attn.v_proj.weight"] = (keys, d)
        shapes[layer + "self_attn.o_proj.weight"] = (d, queries)
        if config.qk_norm:
            shapes[layer + "self_attn.q_norm.weight"] = (h,)
            shapes[layer + "self_attn.k_norm.weight"] = (h,)
        shapes[layer + "post_attention_layernorm.weight"] = (d,)
        shapes[layer + "mlp.gate_proj.weight"] = (f, d)
        shapes[layer + "mlp.up_proj.weight"] = (f, d)
        shapes[layer + "mlp.down_proj.weight"] = (d, f)
    shapes["model.norm.weight"] = (d,)
    if not config.tie_embeddings:
        shapes[HEAD] = (config.vocab_size, d)
    if config.residual is not None:
        hidden = config.residual.d_hidden
        shapes["residual.norm.weight"] = (d,)
        shapes["residual.gate_proj.weight"] = (hidden, d)
        shapes["residual.up_proj.weight"] = (hidden, d)
        shapes["residual.down_proj.weight"] = (d, hidden)
    return shapes


def count_parameters(config: ModelConfig) -> int:
    """Return the number of weights; a tied head is counted once."""
    return sum(math.prod(shape) for shape in expected_shapes(config).values())


@dataclass(frozen=True)
class StoredWeights:
    """What the headers of a folder's weight files say. ``dtypes``: stored types, e.g. ``I8``."""

    files: tuple[Path, ...]
    dtypes: tuple[str, ...]
    nbytes: int


def describe_weights(folder: ModelFolder) -> StoredWeights:
    """Look at the weight files of a folder without reading the tensors; raises WeightsError."""
    entries = find_tensors(folder.path).values()
    files = sorted({entry.file for entry in entries})
    dtypes = sorted({entry.dtype for entry in entries})
    return StoredWeights(tuple(files), tuple(dtypes), sum(entry.nbytes for entry in entries))


def read_weights(folder: ModelFolder) -> dict[str, Array]:
    """Read all weights of a folder as float32 arrays, in the order of :func:`expected_shapes`.

    float32, float16, bfloat16 and int8 rows with scales are understood, in one file or in shards.
    With tied embeddings an extra ``lm_head.weight`` is accepted when it equals the embedding.

    Raises WeightsError: a file that is missing, truncated or corrupt (file and tensor named);
    missing, unexpected or wrongly shaped tensors (all in one message); values that are not finite.
    """
    entries = find_tensors(folder.path)
    expected = expected_shapes(folder.config)
    spare_head = HEAD in entries and folder.config.tie_embeddings
    wanted = {**expected, HEAD: expected[EMBEDDING]} if spare_head else expected
    logical, broken = _join_scales(entries)
    misfits = [*broken, *_misfits(wanted, logical)]
    if misfits:
        raise WeightsError(
            f"the weights in {folder.path} do not fit its config.json: {'; '.join(misfits)}; "
            "use the config.json that belongs to these weights"
        )
    weights = {name: _decode(entries, name) for name in wanted}
    _check_finite(weights, str(folder.path), {name: entries[name].file.name for name in wanted})
    if spare_head and not np.array_equal(weights.pop(HEAD), weights[EMBEDDING]):
        raise WeightsError(
            f"{HEAD} in {folder.path} differs from {EMBEDDING}, but the config.json says that they are tied; "
            'set "tie_word_embeddings": false there'
        )
    return weights


def check_tensors(config: ModelConfig, tensors: Mapping[str, Array]) -> None:
    """Raise WeightsError when ``tensors`` are not exactly the weights that ``config`` needs."""
    misfits = _misfits(expected_shapes(config), {name: tuple(t.shape) for name, t in tensors.items()})
    if misfits:
        raise WeightsError(f"the tensors do not fit the model configuration: {'; '.join(misfits)}")
    _check_finite(tensors, "the tensors to save", {})


def find_tensors(path: Path) -> dict[str, TensorEntry]:
    """Return all tensors stored in the folder ``path``, from one file or through the index of shards.

    Raises WeightsError: no weight file, both kinds at once, or files that are damaged or that
    contradict the index.
    """
    single, index = path / WEIGHTS_FILE, path / INDEX_FILE
    if single.is_file() and index.is_file():
        raise WeightsError(
            f"{path} has both {WEIGHTS_FILE} and {INDEX_FILE}; remove the one that is not meant"
        )
    if index.is_file():
        return _find_sharded(index)
    if single.is_file():
        return read_header(single)
    raise WeightsError(_no_weights(path))


def _no_weights(path: Path) -> str:
    text = f"{path} has no weights: neither {WEIGHTS_FILE} nor {INDEX_FILE}"
    pickled = sorted(p.name for p in path.glob("*") if p.suffix in _PICKLED)
    if pickled:
        text += f"; {pickled[0]} is not read, since a pickle can run code: convert it to safetensors"
    elif shards := sorted(p for p in path.glob("*.safetensors") if p.is_file()):
        text += f"; {shards[0].name} is there, but no index: copy {INDEX_FILE} as well"
    return text


def _find_sharded(index: Path) -> dict[str, TensorEntry]:
    try:
        text = index.read_bytes()
    except OSError as problem:
        raise WeightsError(f"cannot read {index}: {problem.strerror or problem}") from None
    mapping = parse_json(text, str(index), WeightsError).get("weight_map")
    if not isinstance(mapping, dict) or not mapping:
        raise WeightsError(f"{index} has no weight_map from tensor names to files; it is corrupt")
    for name, file in mapping.items():
        if not isinstance(file, str) or not file or Path(file).name != file:
            raise WeightsError(
                f"{index} maps tensor '{name}' to {file!r}; it must be a file name in that folder"
            )
    for name, file in mapping.items():
        if not index.with_name(file).is_file():
            raise WeightsError(
                f"shard {index.with_name(file)} is missing; {index.name} names it for tensor '{name}'"
            )
    entries: dict[str, TensorEntry] = {}
    for file in sorted(set(mapping.values())):
        for name, entry in read_header(index.with_name(file)).items():
            if mapping.get(name, file) != file:
                raise WeightsError(
                    f"tensor '{name}' is in {entry.file}, but {index.name} has it in {mapping[name]}"
                )
            if name in entries:
                raise WeightsError(f"tensor '{name}' is both in {entries[name].file} and in {entry.file}")
            entries[name] = entry
    for name, file in mapping.items():
        if name not in entries:
            raise WeightsError(
                f"{index.name} says that tensor '{name}' is in {index.with_name(file)}; it is not"
            )
    return entries


def _join_scales(entries: Mapping[str, TensorEntry]) -> tuple[dict[str, tuple[int, ...]], list[str]]:
    """Fold the scales into their int8 tensors: (shapes without scales, what is wrong with them)."""
    shapes = {name: entry.shape for name, entry in entries.items()}
    broken = []
    for name, entry in entries.items():
        if entry.dtype != "I8":
            continue
        scale = shapes.pop(name + SCALE_SUFFIX, None)
        stored = entries.get(name + SCALE_SUFFIX)
        if len(entry.shape) != 2:
            broken.append(f"{name} is int8 of shape {list(entry.shape)}, only matrices can be")
        elif scale is None or stored is None:
            broken.append(f"{name} is int8 without {name}{SCALE_SUFFIX}")
        elif scale != entry.shape[:1] or stored.dtype == "I8":
            broken.append(
                f"{name}{SCALE_SUFFIX} is {stored.dtype} {list(scale)}, needed is a float {[entry.shape[0]]}"
            )
    return shapes, broken


def _misfits(expected: Mapping[str, tuple[int, ...]], got: Mapping[str, tuple[int, ...]]) -> list[str]:
    """Say in words what is missing, unexpected and wrongly shaped; empty when all fits."""
    missing = [name for name in expected if name not in got]
    unexpected = [name for name in got if name not in expected]
    shaped = [
        f"{name} is {list(got[name])}, needed {list(shape)}"
        for name, shape in expected.items()
        if name in got and got[name] != shape
    ]
    kinds = (("missing", missing), ("unexpected", unexpected), ("wrongly shaped", shaped))
    return [f"{len(names)} {kind} ({_some(names)})" for kind, names in kinds if names]


def _some(names: Collection[str]) -> str:
    shown: list[str] = list(names)[:_SHOWN]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def _decode(entries: Mapping[str, TensorEntry], name: str) -> Array:
    tensor = read_tensor(entries[name])
    if entries[name].dtype == "I8":
        return dequantise_rows(tensor, read_tensor(entries[name + SCALE_SUFFIX]))
    return tensor


def _check_finite(tensors: Mapping[str, Array], where: str, files: Mapping[str, str]) -> None:
    bad = list(_not_finite(tensors.items(), files))
    if bad:
        raise WeightsError(
            f"{where}: {len(bad)} tensors have NaN or infinite values ({_some(bad)}); the weights are damaged"
        )


def _not_finite(tensors: Iterable[tuple[str, Array]], files: Mapping[str, str]) -> Iterator[str]:
    for name, tensor in tensors:
        count = tensor.size - int(np.isfinite(tensor).sum())
        if count:
            file = f" of {files[name]}" if name in files else ""
            yield f"{count} in {name}{file}"
