"""The file format: what is read back, and that no damaged file is ever taken for a sound one."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from dlmrt.errors import ConfigError, WeightsError
from dlmrt.models.storage import (
    dequantise_rows,
    encode,
    parse_json,
    plan_shards,
    quantise_rows,
    read_header,
    read_tensor,
    write_tensors,
)

FLOAT = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def write_raw(file: Path, header: object, data: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return file


def read_all(file: Path) -> dict[str, Any]:
    return {name: read_tensor(entry) for name, entry in read_header(file).items()}


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    """A file with tensors of several types, written by the format's own library."""
    file = tmp_path / "sound.safetensors"
    tensors = {
        "first": np.arange(6, dtype=np.float32).reshape(2, 3),
        "second": np.arange(4, dtype=np.float16),
        "third": np.arange(-3, 2, dtype=np.int8).reshape(5, 1),
    }
    save_file(tensors, file, metadata={"format": "pt"})
    return file


def test_values_and_types_equal_the_librarys(sound: Path) -> None:
    got, want = read_all(sound), load_file(sound)
    assert set(got) == set(want)
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array)
    assert {name: a.dtype for name, a in got.items()} == {
        "first": np.float32, "second": np.float32, "third": np.int8,
    }  # fmt: skip
    got["first"] += 1  # writable


def test_bfloat16_is_the_upper_half_of_a_float32(tmp_path: Path) -> None:
    values = np.array([1.0, -2.5, 3.140625, 0.0, np.inf], dtype=np.float32)
    raw = (values.view(np.uint32) >> 16).astype("<u2").tobytes()
    entry = {"x": {"dtype": "BF16", "shape": [5], "data_offsets": [0, 10]}}
    np.testing.assert_array_equal(read_all(write_raw(tmp_path / "f", entry, raw))["x"], values)


def test_a_file_cut_anywhere_is_a_weights_error_that_names_it(sound: Path, tmp_path: Path) -> None:
    whole, file = sound.read_bytes(), tmp_path / "cut.safetensors"
    begin = 8 + int.from_bytes(whole[:8], "little")
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(WeightsError, match=r"cut\.safetensors") as caught:
            read_all(file)
        if length >= begin:  # the header is whole: the tensor that is hit is known
            assert any(f"'{name}'" in str(caught.value) for name in ("first", "second", "third"))


def test_a_file_with_bytes_behind_is_refused(sound: Path) -> None:
    sound.write_bytes(sound.read_bytes() + b"\0")
    with pytest.raises(WeightsError, match="1 bytes behind"):
        read_header(sound)


def test_any_byte_of_the_header_may_be_wrong(sound: Path, tmp_path: Path) -> None:
    whole, file = sound.read_bytes(), tmp_path / "flipped.safetensors"
    end = 8 + int.from_bytes(whole[:8], "little")
    rng = random.Random(0)
    refused = 0
    for at in range(end):
        damaged = bytearray(whole)
        damaged[at] ^= rng.randrange(1, 256)
        file.write_bytes(damaged)
        try:
            read_all(file)
        except WeightsError as error:
            refused += "flipped.safetensors" in str(error)
    assert refused > 0.7 * end  # the rest are letters of names and spaces


@pytest.mark.parametrize(
    ("header", "data", "message"),
    [
        (b"", b"", "not valid JSON"),
        (b"not json", b"", "not valid JSON"),
        (b"\xff\xfe{}", b"", "not valid JSON"),
        (b"[" * 200_000, b"", "deeply"),
        ([1, 2], b"", "it must be a JSON object"),
        (b'{"x": {}, "x": {}}', b"", "'x' is given twice"),
        (b'{"x": NaN}', b"", "finite"),
        ({"x": 3}, b"", "tensor 'x'.*not described"),
        ({"x": {"dtype": "F32", "shape": [2]}}, b"", "tensor 'x'.*not described"),
        ({"x": FLOAT | {"extra": 1}}, bytes(8), "tensor 'x'.*not described"),
        ({"x": FLOAT | {"dtype": "F64"}}, bytes(8), "'F64'; supported: F32, F16, BF16, I8"),
        ({"x": FLOAT | {"dtype": ["F32"]}}, bytes(8), "tensor 'x'"),
        ({"x": FLOAT | {"shape": [-2]}}, bytes(8), "tensor 'x'.*corrupt"),
        ({"x": FLOAT | {"shape": [True, 2]}}, bytes(8), "tensor 'x'.*corrupt"),
        ({"x": FLOAT | {"shape": 2}}, bytes(8), "tensor 'x'.*corrupt"),
        ({"x": FLOAT | {"shape": [3]}}, bytes(8), "has 8 bytes.*needs 12"),
        ({"x": FLOAT | {"shape": [2**70, 2**70]}}, bytes(8), "tensor 'x'.*needs"),
        ({"x": FLOAT | {"data_offsets": [8, 0]}}, bytes(8), "has -8 bytes"),
        ({"x": FLOAT | {"data_offsets": [0]}}, bytes(8), "tensor 'x'.*corrupt"),
        ({"x": FLOAT | {"data_offsets": [0.0, 8.0]}}, bytes(8), "tensor 'x'.*corrupt"),
        ({"x": FLOAT | {"data_offsets": [8, 16]}}, bytes(16), "tensor 'x'.*leaves a gap"),
        ({"x": FLOAT, "y": FLOAT | {"data_offsets": [4, 12]}}, bytes(12), "tensor 'y'.*overlaps tensor 'x'"),
        ({"x": FLOAT, "y": FLOAT}, bytes(8), "overlaps tensor 'x'"),
        ({"x": FLOAT, "y": FLOAT | {"data_offsets": [8, 16]}}, bytes(15), "truncated in tensor 'y'"),
    ],
)  # fmt: skip
def test_corrupt_headers(tmp_path: Path, header: object, data: bytes, message: str) -> None:
    file = write_raw(tmp_path / "bad.safetensors", header, data)
    with pytest.raises(WeightsError, match=f"(?s){message}") as caught:
        read_header(file)
    assert "bad.safetensors" in str(caught.value)


def test_a_header_length_beyond_the_file_is_no_allocation(tmp_path: Path) -> None:
    file = tmp_path / "long.safetensors"
    file.write_bytes((2**63).to_bytes(8, "little") + b"{}")
    with pytest.raises(WeightsError, match=r"long\.safetensors.*truncated or no safetensors"):
        read_header(file)


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"cannot read weight file .*absent"):
        read_header(tmp_path / "absent")
    with pytest.raises(WeightsError, match="cannot read weight file"):
        read_header(tmp_path)


def test_a_file_that_shrinks_while_it_is_read(sound: Path) -> None:
    entry = read_header(sound)["third"]
    sound.write_bytes(sound.read_bytes()[:-1])
    with pytest.raises(WeightsError, match="became shorter while tensor 'third'"):
        read_tensor(entry)


def test_int8_rows_are_off_by_half_a_step_at_most() -> None:
    weight = np.random.RandomState(0).standard_normal((7, 33)).astype(np.float32)
    weight[2] = 0
    codes, scales = quantise_rows(weight)
    assert codes.dtype == np.int8
    assert scales.dtype == np.float32
    np.testing.assert_allclose(scales, np.abs(weight).max(axis=1) / 127, rtol=1e-6)
    back = dequantise_rows(codes, scales)
    assert (np.abs(back - weight) <= scales[:, None] * 0.5001).all()
    assert not back[2].any()
    again, same = quantise_rows(back)
    np.testing.assert_array_equal(again, codes)  # storing a stored model again loses nothing
    np.testing.assert_allclose(same, scales, rtol=1e-6)


def test_int8_keeps_vectors_and_float16_refuses_what_it_cannot_hold() -> None:
    tensors = {"w": np.full((2, 3), 7e4, np.float32), "norm": np.full(3, 1.0001, np.float32)}
    stored = encode(tensors, "int8")
    assert {name: str(a.dtype) for name, a in stored.items()} == {
        "w": "int8", "w.scale": "float32", "norm": "float32",
    }  # fmt: skip
    with pytest.raises(WeightsError, match="'w' has values beyond float16"):
        encode(tensors, "float16")


def test_shards_keep_the_limit_and_keep_scales_beside_their_codes() -> None:
    sizes = {"a": 4, "b": 4, "b.scale": 2, "c": 20, "d": 1}
    assert plan_shards(sizes, 9) == [["a"], ["b", "b.scale"], ["c"], ["d"]]
    assert plan_shards(sizes, 1000) == [list(sizes)]


def test_shards_and_index_hold_every_tensor_once(tmp_path: Path) -> None:
    stored = {name: np.full(10, i, np.float32) for i, name in enumerate("abc")}
    write_tensors(tmp_path, stored, 80)
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert index["metadata"] == {"total_size": 120}
    assert sorted(set(index["weight_map"].values())) == [
        "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
    ]  # fmt: skip
    for name, file in index["weight_map"].items():
        np.testing.assert_array_equal(load_file(tmp_path / file)[name], stored[name])


def test_json_errors_are_of_the_kind_asked_for() -> None:
    with pytest.raises(ConfigError, match="thing is not valid JSON"):
        parse_json("{", "thing")
    with pytest.raises(WeightsError, match="thing holds int"):
        parse_json("3", "thing", WeightsError)
    with pytest.raises(ConfigError, match="not valid JSON"):
        parse_json('{"x": ' + "9" * 10_000 + "}", "thing")  # more digits than Python converts
