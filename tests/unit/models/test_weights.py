"""Reading a folder's weights: every layout gives the same arrays, every misfit is named."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from dlmrt.errors import WeightsError
from dlmrt.models.folder import ModelFolder
from dlmrt.models.weights import count_parameters, describe_weights, expected_shapes, read_weights
from tests.helpers import random_weights, tiny_config, weight_shapes
from tests.unit.models.conftest import MakeFolder

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
NORM = "model.norm.weight"
EMBEDDING = "model.embed_tokens.weight"


def rewrite(folder: ModelFolder, **changes: np.ndarray | None) -> None:
    """Change tensors of a single-file folder (dots written as ``__``); ``None`` removes one."""
    tensors = load_file(folder.path / SINGLE)
    for name, value in changes.items():
        name = name.replace("__", ".")
        if value is None:
            del tensors[name]
        else:
            tensors[name] = value
    save_file(tensors, folder.path / SINGLE)


@pytest.mark.parametrize("changes", [{}, {"tie_embeddings": False, "qk_norm": False, "residual": None}])
def test_expected_shapes_equal_an_independent_list(changes: dict[str, object]) -> None:
    config = tiny_config(**changes)
    assert list(expected_shapes(config).items()) == list(weight_shapes(config).items())
    assert count_parameters(config) == sum(math.prod(s) for s in weight_shapes(config).values())


@pytest.mark.parametrize("shard_bytes", [10**9, 4000])
def test_float32_comes_back_exactly(make_folder: MakeFolder, shard_bytes: int) -> None:
    folder = make_folder(max_shard_bytes=shard_bytes)
    assert (folder.path / INDEX).exists() == (shard_bytes == 4000)
    got, want = read_weights(folder), random_weights(folder.config)
    assert list(got) == list(expected_shapes(folder.config))
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array)
        assert got[name].dtype == np.float32


@pytest.mark.parametrize(("storage", "step"), [("float16", 2**-11), ("int8", 1 / 254)])
@pytest.mark.parametrize("shard_bytes", [10**9, 2000])
def test_smaller_storage_is_close(
    make_folder: MakeFolder, storage: str, step: float, shard_bytes: int
) -> None:
    folder = make_folder(storage=storage, max_shard_bytes=shard_bytes)
    got = read_weights(folder)
    for name, array in random_weights(folder.config).items():
        if storage == "int8" and array.ndim == 1:
            np.testing.assert_array_equal(got[name], array)
            continue
        largest = np.abs(array).max(axis=-1, keepdims=True)
        assert (np.abs(got[name] - array) <= 1.001 * step * largest).all(), name
    smallest = {"float16": "F16", "int8": "I8"}[storage]
    assert smallest in describe_weights(folder).dtypes


def test_missing_unexpected_and_wrongly_shaped_are_named_in_one_error(make_folder: MakeFolder) -> None:
    folder = make_folder()
    layer = {
        f"model__layers__{i}__mlp__{n}_proj__weight": None for i in (0, 1) for n in ("gate", "up", "down")
    }
    rewrite(
        folder,
        **layer,
        model__norm__weight=np.ones(5, np.float32),
        model__extra__bias=np.ones(3, np.float32),
    )
    with pytest.raises(WeightsError) as caught:
        read_weights(folder)
    text = str(caught.value)
    assert str(folder.path) in text
    assert "6 missing (model.layers.0.mlp.gate_proj.weight, " in text
    assert "and 2 more)" in text
    assert "1 unexpected (model.extra.bias)" in text
    assert "1 wrongly shaped (model.norm.weight is [5], needed [24])" in text


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_values_that_are_not_finite_are_named(make_folder: MakeFolder, bad: float, storage: str) -> None:
    folder = make_folder(storage=storage)
    norm = load_file(folder.path / SINGLE)[NORM]
    norm[3] = bad
    rewrite(folder, model__norm__weight=norm)
    with pytest.raises(WeightsError, match=r"1 in model\.norm\.weight of model\.safetensors"):
        read_weights(folder)


def test_a_tied_head_may_be_stored_twice_when_equal(make_folder: MakeFolder) -> None:
    folder = make_folder()
    head = load_file(folder.path / SINGLE)[EMBEDDING]
    rewrite(folder, lm_head__weight=head)
    assert list(read_weights(folder)) == list(expected_shapes(folder.config))
    rewrite(folder, lm_head__weight=head + 1)
    with pytest.raises(WeightsError, match=r"lm_head\.weight .*tie_word_embeddings"):
        read_weights(folder)
    rewrite(folder, lm_head__weight=head[:-1])
    with pytest.raises(WeightsError, match=r"wrongly shaped \(lm_head\.weight"):
        read_weights(folder)


def test_a_head_is_needed_when_not_tied(make_folder: MakeFolder) -> None:
    folder = make_folder(config=tiny_config(tie_embeddings=False))
    rewrite(folder, lm_head__weight=None)
    with pytest.raises(WeightsError, match=r"1 missing \(lm_head\.weight\)"):
        read_weights(folder)


def test_int8_without_a_fitting_scale(make_folder: MakeFolder) -> None:
    folder = make_folder(storage="int8")
    scale = load_file(folder.path / SINGLE)[EMBEDDING + ".scale"]
    rewrite(folder, model__embed_tokens__weight__scale=None)
    with pytest.raises(WeightsError, match=r"embed_tokens\.weight is int8 without .*\.scale"):
        read_weights(folder)
    rewrite(folder, model__embed_tokens__weight__scale=scale[:-1])
    with pytest.raises(WeightsError, match=r"embed_tokens\.weight\.scale is F32 \[48\], needed .* \[49\]"):
        read_weights(folder)
    scale[0] = np.nan
    rewrite(folder, model__embed_tokens__weight__scale=scale)
    with pytest.raises(WeightsError, match=r"in model\.embed_tokens\.weight of"):
        read_weights(folder)
    rewrite(
        folder, model__norm__weight=np.ones(24, np.int8), model__embed_tokens__weight__scale=scale * 0 + 1
    )
    with pytest.raises(WeightsError, match=r"model\.norm\.weight is int8 of shape \[24\], only matrices"):
        read_weights(folder)


def test_a_scale_without_its_int8_tensor_is_unexpected(make_folder: MakeFolder) -> None:
    folder = make_folder()
    rewrite(folder, model__norm__weight__scale=np.ones(24, np.float32))
    with pytest.raises(WeightsError, match=r"1 unexpected \(model\.norm\.weight\.scale\)"):
        read_weights(folder)


def test_a_truncated_folder_names_file_and_tensor(make_folder: MakeFolder) -> None:
    folder = make_folder()
    file = folder.path / SINGLE
    whole = file.read_bytes()
    begin = 8 + int.from_bytes(whole[:8], "little")
    for length in [*range(0, begin, 97), *range(begin, len(whole), 5003), len(whole) - 1]:
        file.write_bytes(whole[:length])
        with pytest.raises(WeightsError, match=r"model\.safetensors") as caught:
            read_weights(folder)
        assert length < begin or "tensor '" in str(caught.value)


def edit_index(folder: ModelFolder, **changes: object) -> dict[str, str]:
    file = folder.path / INDEX
    index = json.loads(file.read_text())
    index["weight_map"].update(changes)
    file.write_text(json.dumps(index))
    return dict(index["weight_map"])


def test_a_missing_shard_is_named_with_a_tensor(make_folder: MakeFolder) -> None:
    folder = make_folder(max_shard_bytes=4000)
    shard = edit_index(folder)[NORM]
    (folder.path / shard).unlink()
    with pytest.raises(WeightsError, match=f"shard .*{shard} is missing; .* tensor '.*'"):
        read_weights(folder)


def test_an_index_that_contradicts_its_shards(make_folder: MakeFolder) -> None:
    folder = make_folder(max_shard_bytes=4000)
    first = edit_index(folder)[EMBEDDING]
    edit_index(folder, **{NORM: first})
    with pytest.raises(WeightsError, match=rf"tensor '{NORM}'.*{first}"):
        read_weights(folder)


def test_an_index_that_names_a_shard_that_is_not_there(make_folder: MakeFolder) -> None:
    folder = make_folder(max_shard_bytes=4000)
    edit_index(folder, **{NORM: "model-00099-of-00099.safetensors"})
    with pytest.raises(WeightsError, match=r"shard .*00099.* is missing"):
        read_weights(folder)


def test_a_tensor_in_two_shards(make_folder: MakeFolder) -> None:
    folder = make_folder(max_shard_bytes=4000)
    for file in sorted(set(edit_index(folder).values()))[:2]:
        tensors = load_file(folder.path / file)
        save_file({**tensors, "twin": np.ones(1, np.float32)}, folder.path / file)
    with pytest.raises(WeightsError, match=r"tensor 'twin' is both in .*00001-of.* and in .*00002-of"):
        read_weights(folder)


def test_an_index_that_names_a_tensor_no_shard_has(make_folder: MakeFolder) -> None:
    folder = make_folder(max_shard_bytes=4000)
    first = edit_index(folder)[EMBEDDING]
    edit_index(folder, ghost=first)
    with pytest.raises(WeightsError, match=rf"tensor 'ghost' is in .*{first}; it is not"):
        read_weights(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "JSON object"),
        ("{}", "no weight_map"),
        ('{"weight_map": []}', "no weight_map"),
        ('{"weight_map": {"a": 3}}', "maps tensor 'a' to 3"),
        ('{"weight_map": {"a": "../other/model.safetensors"}}', "file name in that folder"),
        ('{"weight_map": {"a": ""}}', "file name in that folder"),
        ('{"weight_map": {"a": "x\\u0000y"}}', "shard .* is missing"),
    ],
)
def test_a_corrupt_index(make_folder: MakeFolder, text: str, message: str) -> None:
    folder = make_folder(max_shard_bytes=4000)
    (folder.path / INDEX).write_text(text)
    with pytest.raises(WeightsError, match=message) as caught:
        read_weights(folder)
    assert INDEX in str(caught.value)


def test_no_weights_and_both_kinds_of_weights(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder()
    (folder.path / INDEX).write_text("{}")
    with pytest.raises(WeightsError, match="has both"):
        read_weights(folder)
    (folder.path / INDEX).unlink()
    (folder.path / SINGLE).rename(folder.path / "model-00001-of-00002.safetensors")
    with pytest.raises(WeightsError, match=r"no weights.*copy model\.safetensors\.index\.json"):
        read_weights(folder)


def test_pickles_are_never_read(make_folder: MakeFolder) -> None:
    folder = make_folder()
    (folder.path / SINGLE).rename(folder.path / "pytorch_model.bin")
    with pytest.raises(WeightsError, match=r"pytorch_model\.bin is not read.*convert it to safetensors"):
        read_weights(folder)
