"""From a model folder to a torch model, and from a torch model to arrays."""

from __future__ import annotations

import torch

from dlmrt.errors import WeightsError
from dlmrt.models.folder import ModelFolder
from dlmrt.models.storage import Array
from dlmrt.models.transformer import Transformer
from dlmrt.models.weights import read_weights


def load_transformer(
    folder: ModelFolder, *, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32
) -> Transformer:
    """Build the model of ``folder`` on ``device`` with its weights in ``dtype``, in evaluation mode.

    Raises WeightsError: weights that are missing, corrupt or don't fit, or too large for ``dtype``.
    """
    weights = read_weights(folder)
    with torch.device("meta"):  # no memory and no random numbers for weights that are replaced
        model = Transformer(folder.config)
    state = {}
    for name in list(weights):
        tensor = torch.from_numpy(weights.pop(name)).to(device=device, dtype=dtype)
        if dtype == torch.float16 and not torch.isfinite(tensor).all():
            raise WeightsError(f"tensor '{name}' has values beyond float16; load it as bfloat16 or float32")
        state[name] = tensor
    model.load_state_dict(state, strict=True, assign=True)
    return model.eval()


def state_tensors(model: Transformer) -> dict[str, Array]:
    """Copy all weights to float32 arrays under the names of the model folder."""
    return {
        name: weight.detach().to(device="cpu", dtype=torch.float32, copy=True).numpy()
        for name, weight in model.named_parameters()
    }
