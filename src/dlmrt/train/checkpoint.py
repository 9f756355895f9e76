"""Checkpoints: an ordinary model folder with the trainer's state beside the weights.

``checkpoints/step-00000100/`` loads like any model folder and also holds ``trainer.json`` (step,
data cursor, configuration, ...) and ``trainer.safetensors`` (optimiser moments, moving average).
A checkpoint is written aside and renamed, and older ones are removed only after that, so a run
killed at any moment leaves at least one complete checkpoint.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from dlmrt.config import GenerationDefaults
from dlmrt.errors import DlmrtError, WeightsError
from dlmrt.models.transformer import Transformer
from dlmrt.train.optim import MovingAverage

STATE_FILE = "trainer.json"
TENSOR_FILE = "trainer.safetensors"
_NAME = re.compile(r"step-(\d{8,})")


@dataclass
class TrainerState:
    """Everything but tensors that the next step depends on, and what a report wants to know.

    All randomness is a function of (seed, step), so no generator state is kept. ``elapsed``:
    seconds of training so far, over all sessions. ``window``: sums of the metrics since the last
    log line.
    """

    step: int = 0
    epoch: int = 0
    index: int = 0
    elapsed: float = 0.0
    tokens: int = 0
    answer_tokens: int = 0
    skipped: int = 0
    ema_updates: int = 0
    window: dict[str, float] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)


def write_model(
    path: Path,
    model: Transformer,
    generation: GenerationDefaults,
    tokenizer_json: str,
    extra_files: dict[str, str],
    *,
    overwrite: bool = False,
) -> None:
    """Write the model's float32 weights as a model folder at ``path``.

    extra_files: what else belongs into it (a chat template, ...). overwrite: replace a model folder
    that is there already; without it, one is an error.
    """
    from dlmrt.models.folder import save_folder
    from dlmrt.models.load import state_tensors

    save_folder(
        path,
        model.config,
        generation,
        state_tensors(model),
        tokenizer_json=tokenizer_json,
        storage="float32",
        extra_files=extra_files,
        overwrite=overwrite,
    )


def save_checkpoint(
    root: Path,
    state: TrainerState,
    optimizer: torch.optim.Optimizer,
    model: Transformer,
    ema: MovingAverage | None,
    write: Callable[[Path], object],
    keep_last: int,
) -> Path:
    """Write a checkpoint of ``state.step``, then remove all but the ``keep_last`` newest.

    write: writes the model folder at the path it is given.
    """
    root.mkdir(parents=True, exist_ok=True)
    name = f"step-{state.step:08d}"
    aside, final = root / f".writing-{name}", root / name
    remove_unfinished(root, "step-")
    write(aside)
    save_file(_pack_tensors(optimizer, model, ema), aside / TENSOR_FILE)
    (aside / STATE_FILE).write_text(json.dumps(dataclasses.asdict(state), indent=1), encoding="utf-8")
    _sync(aside)
    if final.exists():  # not complete, or list_checkpoints would have had it resumed from
        shutil.rmtree(final)
    aside.rename(final)
    _sync_directory(root)
    for old in list_checkpoints(root)[:-keep_last]:
        shutil.rmtree(old)
    return final


def list_checkpoints(root: Path) -> list[Path]:
    """Complete checkpoints, oldest first."""
    if not root.is_dir():
        return []
    found = [p for p in root.iterdir() if _NAME.fullmatch(p.name) and (p / STATE_FILE).is_file()]
    return sorted(found, key=lambda p: int(p.name.removeprefix("step-")))


def remove_unfinished(root: Path, prefix: str) -> None:
    """Remove folders ``prefix*`` that a killed process left half written in ``root``."""
    for path in root.glob(f".*{prefix}*"):
        if path.is_dir() and "writing" in path.name:
            shutil.rmtree(path)


def read_state(path: Path) -> TrainerState:
    """The plain part of a checkpoint; WeightsError when it is damaged or of another layout."""
    try:
        data = json.loads((path / STATE_FILE).read_text(encoding="utf-8"))
        return TrainerState(**data)
    except (OSError, ValueError, TypeError) as error:
        raise WeightsError(
            f"{path / STATE_FILE} cannot be read ({error}); "
            f"remove the folder {path} to resume from the checkpoint before it"
        ) from None


def load_tensors(
    path: Path, optimizer: torch.optim.Optimizer, model: Transformer, ema: MovingAverage | None
) -> None:
    """Fill model, optimiser and moving average from a checkpoint, bit for bit."""
    from dlmrt.models.folder import open_folder
    from dlmrt.models.weights import read_weights

    try:
        weights = read_weights(open_folder(path))
        saved = load_file(path / TENSOR_FILE)
    except DlmrtError:
        raise
    except Exception as error:  # safetensors raises its own exception types
        raise WeightsError(
            f"checkpoint {path} cannot be read ({error}); remove the folder to resume from the one before it"
        ) from None
    entries: dict[str, dict[str, Tensor]] = {}
    for path_in_file, value in saved.items():
        key, _, name = path_in_file.partition("/")
        entries.setdefault(name, {})[key] = value
    groups = {id(p): group for group in optimizer.param_groups for p in group["params"]}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(weights[name]))
            state = entries.get(name, {})
            average = state.pop("ema", None)
            if ema is not None and average is not None:
                ema.shadow[name].copy_(average)
            if state:
                fused = bool(groups[id(parameter)].get("fused"))
                optimizer.state[parameter] = {
                    key: value if key == "step" and not fused else value.to(parameter.device)
                    for key, value in state.items()
                }


def _pack_tensors(
    optimizer: torch.optim.Optimizer, model: Transformer, ema: MovingAverage | None
) -> dict[str, Tensor]:
    out: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            out[f"{key}/{name}"] = value.detach().cpu().contiguous()
        if ema is not None:
            out[f"ema/{name}"] = ema.shadow[name].cpu().contiguous()
    return out


def _sync(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())


def _sync_directory(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
