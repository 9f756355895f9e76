"""The torch model holds exactly what the folder says, and gives it back."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dlmrt.errors import WeightsError  # noqa: E402
from dlmrt.models.load import load_transformer, state_tensors  # noqa: E402
from dlmrt.models.weights import expected_shapes, read_weights  # noqa: E402
from tests.helpers import random_weights, tiny_config  # noqa: E402
from tests.unit.models.conftest import MakeFolder  # noqa: E402


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("storage", ["float32", "int8"])
def test_loaded_weights_equal_the_arrays(make_folder: MakeFolder, tied: bool, storage: str) -> None:
    folder = make_folder(config=tiny_config(tie_embeddings=tied), storage=storage)
    model = load_transformer(folder)
    state, want = state_tensors(model), read_weights(folder)
    assert set(state) == set(want) == set(expected_shapes(folder.config))
    for name, array in want.items():
        np.testing.assert_array_equal(state[name], array)
    assert not model.training
    assert all(p.requires_grad and p.device.type == "cpu" for p in model.parameters())


def test_dtype_is_honoured_and_exported_as_float32(make_folder: MakeFolder) -> None:
    folder = make_folder()
    model = load_transformer(folder, dtype=torch.bfloat16)
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}
    for name, array in state_tensors(model).items():
        assert array.dtype == np.float32
        np.testing.assert_allclose(array, random_weights(folder.config)[name], rtol=2**-8)


def test_exported_arrays_do_not_follow_the_model(make_folder: MakeFolder) -> None:
    model = load_transformer(make_folder())
    state = state_tensors(model)
    before = state["model.norm.weight"].copy()
    with torch.no_grad():
        model.model.norm.weight.add_(1)
    np.testing.assert_array_equal(state["model.norm.weight"], before)


def test_values_beyond_float16_are_refused(make_folder: MakeFolder) -> None:
    weights = random_weights(tiny_config())
    weights["model.norm.weight"][0] = 1e5
    folder = make_folder(tensors=weights)
    with pytest.raises(WeightsError, match=r"'model\.norm\.weight' has values beyond float16"):
        load_transformer(folder, dtype=torch.float16)
    load_transformer(folder, dtype=torch.bfloat16)
