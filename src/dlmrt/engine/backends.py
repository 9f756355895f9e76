"""Which backend decodes, and why: the rule in one function, the reason in words.

``numpy``: the light one, no torch. ``eager``: torch, on the CPU or a GPU.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dlmrt.errors import MissingExtraError, RequestError, nearest
from dlmrt.rows import Backend

if TYPE_CHECKING:
    from dlmrt.models.folder import ModelFolder

BACKENDS = ("auto", "numpy", "eager")
DTYPES = ("float32", "bfloat16", "float16")
# Up to this size NumPy has answered before torch is imported (seconds).
SMALL_PARAMETERS = 30_000_000


@dataclass(frozen=True)
class Choice:
    """A backend with where and in what precision it runs, and a reason to print.

    device: a torch device name, ``cpu`` for NumPy; ``None`` = a GPU if there is one (asking costs an
    import of torch, so it is left to :func:`open_backend`). dtype: ``None`` = the device's default.
    """

    name: str
    device: str | None
    dtype: str | None
    reason: str


def choose(
    backend: str,
    *,
    device: str | None,
    dtype: str | None,
    parameters: int,
    torch_installed: bool,
) -> Choice:
    """Pick the backend for a model of ``parameters`` weights.

    Raises RequestError: an unknown backend or dtype, or a combination that can't be.
    Raises MissingExtraError: torch is needed and not installed.
    """
    if backend not in BACKENDS:
        allowed = ", ".join(BACKENDS)
        raise RequestError(f"backend is '{backend}'; it must be one of {allowed}{nearest(backend, BACKENDS)}")
    if dtype is not None and dtype not in DTYPES:
        raise RequestError(
            f"dtype is '{dtype}'; it must be one of {', '.join(DTYPES)}{nearest(dtype, DTYPES)}"
        )
    if device is not None and device != "cpu" and device.partition(":")[0] != "cuda":
        raise RequestError(f"device is '{device}'; it must be cpu, cuda or cuda:<number>")
    name, reason = _rule(backend, device, dtype, parameters, torch_installed)
    if name == "numpy":
        _check_numpy(device, dtype)
        return Choice("numpy", "cpu", "float32", reason)
    if not torch_installed:
        raise MissingExtraError(f"the '{name}' backend ({reason})", "torch")
    return Choice(name, device, dtype, reason)


def _rule(
    backend: str, device: str | None, dtype: str | None, parameters: int, torch_installed: bool
) -> tuple[str, str]:
    """The rule of ``auto``: the name of a backend and why."""
    millions = f"{parameters / 1e6:.1f}M parameters"
    if backend != "auto":
        return backend, "asked for"
    if device is not None and device != "cpu":
        return "eager", f"device {device} was asked for"
    if dtype not in (None, "float32"):
        return "eager", f"dtype {dtype} was asked for"
    if not torch_installed:
        return "numpy", "torch is not installed"
    if parameters <= SMALL_PARAMETERS:
        return "numpy", f"small model ({millions}); importing torch would take longer"
    return "eager", f"torch is installed and the model is not small ({millions})"


def _check_numpy(device: str | None, dtype: str | None) -> None:
    if device not in (None, "cpu"):
        raise RequestError(f"device is '{device}', and numpy runs on the cpu; use backend 'eager'")
    if dtype not in (None, "float32"):
        raise RequestError(f"dtype is '{dtype}', and numpy computes in float32; use backend 'eager'")


def choose_for(folder: ModelFolder, backend: str, device: str | None, dtype: str | None) -> Choice:
    """:func:`choose` for a model folder and this environment; doesn't import torch."""
    from dlmrt.models.weights import count_parameters

    return choose(
        backend,
        device=device,
        dtype=dtype,
        parameters=count_parameters(folder.config),
        torch_installed=importlib.util.find_spec("torch") is not None,
    )


def open_backend(folder: ModelFolder, choice: Choice) -> Backend:
    """Load the weights and build the backend.

    Raises WeightsError: weights that are missing, corrupt or don't fit. Raises RequestError: a GPU was
    asked for and torch sees none.
    """
    if choice.name == "numpy":
        from dlmrt.models.weights import read_weights
        from dlmrt.reference.loop import NumpyBackend

        return NumpyBackend(read_weights(folder), folder.config, folder.generation.diffusion)
    return _open_eager(folder, choice)


def _open_eager(folder: ModelFolder, choice: Choice) -> Backend:
    import torch

    from dlmrt.decode.eager import EagerBackend
    from dlmrt.models.load import load_transformer

    gpu = torch.cuda.is_available()
    device = choice.device or ("cuda" if gpu else "cpu")
    if device != "cpu" and not gpu:
        raise RequestError(f"device is '{device}' and torch sees no GPU; use 'cpu', or see `dlmrt doctor`")
    name = choice.dtype or ("float32" if device == "cpu" else "bfloat16")
    model = load_transformer(folder, device=device, dtype=getattr(torch, name))
    return EagerBackend(model, folder.generation.diffusion, device=device)
