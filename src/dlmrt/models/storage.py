"""How tensors lie in files: a strict safetensors reader, int8 rows, shards.

The reader parses the header itself, for three reasons: NumPy has no bfloat16, only the tensors that
are asked for are read, and a damaged file must be reported with its name and the tensor that is hit.
Nothing here runs code from a file: no pickle, no remote code.

Format (safetensors): an 8 byte little-endian header length, a JSON header ``{name: {"dtype", "shape",
"data_offsets": [begin, end]}}`` with offsets counted from the header's end, then the tensors' bytes
without gaps.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from dlmrt.errors import ConfigError, DlmrtError, WeightsError

Array = NDArray[Any]
Storage = Literal["float32", "float16", "int8"]
STORAGES: tuple[Storage, ...] = ("float32", "float16", "int8")
WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
SCALE_SUFFIX = ".scale"
# Stored element types that are read, with the NumPy type of their bytes.
DTYPES: dict[str, str] = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "|i1"}
_MAX_HEADER = 100_000_000  # bytes; the limit of the format's own library
_INT8_MAX = 127


@dataclass(frozen=True)
class TensorEntry:
    """Where one stored tensor lies. ``offset`` counts bytes from the beginning of the file."""

    name: str
    file: Path
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


def parse_json(text: bytes | str, what: str, error: type[DlmrtError] = ConfigError) -> dict[str, Any]:
    """Parse a JSON object strictly; ``what`` names it in messages.

    Raises ``error``: not UTF-8, not JSON, nested too deeply, not an object, a key given twice, or a
    number that is not finite.
    """
    try:
        data = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except RecursionError:
        raise error(f"{what} is not readable: it is nested too deeply") from None
    except ValueError as problem:  # covers JSONDecodeError and UnicodeDecodeError
        raise error(f"{what} is not valid JSON: {problem}") from None
    if not isinstance(data, dict):
        raise error(f"{what} holds {type(data).__name__}; it must be a JSON object")
    return data


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key '{twice}' is given twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a finite number")


def read_header(file: Path) -> dict[str, TensorEntry]:
    """Read which tensors ``file`` holds, and check that all their bytes are there.

    Raises WeightsError: missing, unreadable, truncated or corrupt; the file is named, and the tensor
    where the damage lies in one.
    """
    try:
        with open(file, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            prefix = stream.read(8)
            length = int.from_bytes(prefix, "little")
            if len(prefix) < 8 or length > min(size - 8, _MAX_HEADER):
                raise WeightsError(_short_header(file, size, len(prefix), length))
            text = stream.read(length)
    except OSError as problem:
        raise WeightsError(f"cannot read weight file {file}: {problem.strerror or problem}") from None
    header = parse_json(text, f"the header of weight file {file}", WeightsError)
    header.pop("__metadata__", None)
    entries = [_entry(name, spec, file, 8 + length) for name, spec in header.items()]
    _check_layout(entries, file, 8 + length, size)
    return {entry.name: entry for entry in entries}


def _short_header(file: Path, size: int, got: int, length: int) -> str:
    if got < 8:
        return f"weight file {file} is truncated: {size} bytes, less than a header; copy the file again"
    return (
        f"weight file {file} is truncated or no safetensors file: its header should have {length} bytes, "
        f"the file has {size - 8} after the length (limit {_MAX_HEADER}); copy the file again"
    )


def _entry(name: str, spec: object, file: Path, begin: int) -> TensorEntry:
    where = f"tensor '{name}' in weight file {file}"
    if not isinstance(spec, dict) or set(spec) != {"dtype", "shape", "data_offsets"}:
        raise WeightsError(
            f"{where} is not described by dtype, shape and data_offsets; the header is corrupt"
        )
    dtype, shape, offsets = spec["dtype"], spec["shape"], spec["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise WeightsError(f"{where} is stored as {dtype!r}; supported: {', '.join(DTYPES)}")
    if not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
        raise WeightsError(f"{where} has shape {shape!r} and data_offsets {offsets!r}; the header is corrupt")
    first, last = offsets
    need = math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize
    if last - first != need:
        raise WeightsError(
            f"{where} has {last - first} bytes (data_offsets {offsets}); "
            f"{dtype} of shape {shape} needs {need}"
        )
    return TensorEntry(name, file, dtype, tuple(shape), begin + first, need)


def _are_sizes(value: object) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _check_layout(entries: list[TensorEntry], file: Path, begin: int, size: int) -> None:
    """The tensors fill the file from ``begin`` to ``size``, one after the other."""
    at, before = begin, "the header"
    for entry in sorted(entries, key=lambda e: (e.offset, e.nbytes)):
        where = f"tensor '{entry.name}' in weight file {file}"
        if entry.offset != at:
            how = "overlaps" if entry.offset < at else "leaves a gap behind"
            raise WeightsError(f"{where} {how} {before}: it begins at byte {entry.offset}, expected {at}")
        at, before = entry.offset + entry.nbytes, f"tensor '{entry.name}'"
        if at > size:
            raise WeightsError(
                f"weight file {file} is truncated in tensor '{entry.name}': it ends at byte {at}, "
                f"the file has {size}; copy the file again"
            )
    if at != size:
        raise WeightsError(
            f"weight file {file} has {size - at} bytes behind {before}, its last part; it is corrupt"
        )


def read_tensor(entry: TensorEntry) -> Array:
    """Read one tensor: int8 stays int8, every other type becomes float32 (writable).

    Raises WeightsError: the bytes can't be read (any more).
    """
    raw = np.empty(entry.nbytes, dtype=np.uint8)
    try:
        with open(entry.file, "rb") as stream:
            stream.seek(entry.offset)
            got = stream.readinto(raw.data) if entry.nbytes else 0
    except OSError as problem:
        reason = problem.strerror or problem
        raise WeightsError(
            f"cannot read tensor '{entry.name}' from weight file {entry.file}: {reason}"
        ) from None
    if got != entry.nbytes:
        raise WeightsError(f"weight file {entry.file} became shorter while tensor '{entry.name}' was read")
    stored = raw.view(DTYPES[entry.dtype]).reshape(entry.shape)
    if entry.dtype == "BF16":  # the upper half of a float32
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored if entry.dtype == "I8" else stored.astype(np.float32, copy=False)


def quantise_rows(weight_NK: Array) -> tuple[Array, Array]:
    """Symmetric int8 with one float32 scale a row, ``amax / 127``: (codes [N, K], scales [N]).

    A row of zeros gets scale 0 and is exact.
    """
    amax_N = np.abs(weight_NK).max(axis=1, initial=0.0)
    scale_N = (amax_N / _INT8_MAX).astype(np.float32)
    divisor_N = np.where(scale_N > 0, scale_N, np.float32(1))
    codes_NK = np.clip(np.rint(weight_NK / divisor_N[:, None]), -_INT8_MAX, _INT8_MAX)
    return codes_NK.astype(np.int8), scale_N


def dequantise_rows(codes_NK: Array, scale_N: Array) -> Array:
    """Undo :func:`quantise_rows`, to float32."""
    return codes_NK.astype(np.float32) * scale_N.astype(np.float32)[:, None]


def encode(tensors: Mapping[str, Array], storage: Storage) -> dict[str, Array]:
    """Turn float tensors into what is written.

    ``int8``: matrices as rows with scales under ``<name>.scale``, vectors (norms) as float32.
    Raises WeightsError: a value too large for float16.
    """
    stored: dict[str, Array] = {}
    for name, tensor in tensors.items():
        if storage == "int8" and tensor.ndim == 2:
            stored[name], stored[name + SCALE_SUFFIX] = quantise_rows(tensor)
        elif storage == "float16":
            if tensor.size and np.abs(tensor).max() > np.finfo(np.float16).max:
                raise WeightsError(f"tensor '{name}' has values beyond float16; store it as float32 or int8")
            stored[name] = np.ascontiguousarray(tensor, dtype=np.float16)
        else:
            stored[name] = np.ascontiguousarray(tensor, dtype=np.float32)
    return stored


def write_tensors(folder: Path, stored: Mapping[str, Array], max_shard_bytes: int) -> None:
    """Write one file, or shards of at most ``max_shard_bytes`` with their index.

    A tensor larger than that gets a shard of its own; a scale stays beside its codes. Raises OSError.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    shards = plan_shards({name: tensor.nbytes for name, tensor in stored.items()}, max_shard_bytes)
    total = len(shards)
    files = [WEIGHTS_FILE] if total == 1 else [shard_name(i + 1, total) for i in range(total)]
    for file, names in zip(files, shards, strict=True):
        try:
            save_file({name: stored[name] for name in names}, folder / file, metadata={"format": "pt"})
        except SafetensorError as problem:  # the library's name for "disk full" and the like
            raise OSError(str(problem)) from None
    if total > 1:
        where = {name: file for file, names in zip(files, shards, strict=True) for name in names}
        size = sum(tensor.nbytes for tensor in stored.values())
        index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(where.items()))}
        (folder / INDEX_FILE).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def shard_name(number: int, total: int) -> str:
    """The conventional file name of shard ``number`` (from 1) of ``total``."""
    return f"model-{number:05d}-of-{total:05d}.safetensors"


def plan_shards(sizes: Mapping[str, int], limit: int) -> list[list[str]]:
    """Group tensors, in order, into shards of at most ``limit`` bytes."""
    shards: list[list[str]] = [[]]
    filled = 0
    for name, size in sizes.items():
        scale = sizes.get(name + SCALE_SUFFIX, 0)
        is_scale = name.endswith(SCALE_SUFFIX) and name.removesuffix(SCALE_SUFFIX) in sizes
        if shards[-1] and not is_scale and filled + size + scale > limit:
            shards.append([])
            filled = 0
        shards[-1].append(name)
        filled += size
    return shards
