"""Checkpoints: an ordinary model folder with the trainer's state beside the weights.

``checkpoints/step-00000100/`` loads like any model folder and also holds ``trainer.json`` (step,
data cursor, configuration, ...) and ``trainer.safetensors`` (optimiser moments, moving average).
A checkpoint is written aside and renamed, and older ones are removed only after that, so a run
killed at any moment leaves at least one complete checkpoint. Older ones are renamed before they are
removed, so a folder named like a checkpoint is always whole; what a kill leaves under another name
goes when the next checkpoint is saved.
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
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from dlmrt.config import GenerationDefaults
from dlmrt.errors import ConfigError, DlmrtError, WeightsError
from dlmrt.models.transformer import Transformer
from dlmrt.train.optim import RESIDUAL_PREFIX, MovingAverage

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

    write: writes the model folder at the path it is given. Raises DlmrtError when the disk is full
    or the folder cannot be written; earlier checkpoints are untouched then.
    """
    final = root / f"step-{state.step:08d}"
    aside = root / f".writing-{final.name}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        remove_unfinished(root, "step-")
        write(aside)
        save_file(_pack_tensors(optimizer, model, ema), aside / TENSOR_FILE)
        (aside / STATE_FILE).write_text(json.dumps(dataclasses.asdict(state), indent=1), encoding="utf-8")
        _sync(aside)
        if final.exists():  # not complete, or list_checkpoints would have had it resumed from
            _remove(final)
        aside.rename(final)
        _sync_directory(root)
        for old in list_checkpoints(root)[:-keep_last]:
            _remove(old)
    except (OSError, SafetensorError, ConfigError) as error:  # ConfigError: the model folder's OSError
        raise DlmrtError(
            f"cannot write the checkpoint {final} ({error}); free some space or make the folder writable, "
            "then go on with --resume from the checkpoint before it"
        ) from error
    return final


def _remove(folder: Path) -> None:
    """Remove a checkpoint: under another name first, since a kill may leave half of it."""
    old = folder.with_name(f".old-{folder.name}")
    folder.rename(old)
    shutil.rmtree(old)


def list_checkpoints(root: Path) -> list[Path]:
    """Complete checkpoints, oldest first."""
    if not root.is_dir():
        return []
    found = [p for p in root.iterdir() if _NAME.fullmatch(p.name) and (p / STATE_FILE).is_file()]
    return sorted(found, key=step_of)


def step_of(checkpoint: Path) -> int:
    """The step that a checkpoint's name says."""
    return int(checkpoint.name.removeprefix("step-"))


def remove_unfinished(root: Path, prefix: str) -> None:
    """Remove folders ``prefix*`` that a killed process left half written or half removed in ``root``."""
    for path in root.glob(f".*{prefix}*"):
        if path.is_dir() and ("writing" in path.name or path.name.startswith(".old-")):
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
    averages = {name: state.pop("ema") for name, state in entries.items() if "ema" in state}
    _check_complete(path, optimizer, model, entries, None if ema is None else averages)
    groups = {id(p): group for group in optimizer.param_groups for p in group["params"]}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(weights[name]))
            if ema is not None:
                ema.shadow[name].copy_(averages[name])
            if state := entries.get(name):
                fused = bool(groups[id(parameter)].get("fused"))
                # Copied: what is read lies in the mapped file, where tensors are not aligned.
                devices = {key: parameter.device for key in state if fused or key != "step"}
                optimizer.state[parameter] = {
                    key: value.to(devices.get(key, "cpu"), copy=True) for key, value in state.items()
                }


def _check_complete(
    path: Path,
    optimizer: torch.optim.Optimizer,
    model: Transformer,
    entries: dict[str, dict[str, Tensor]],
    averages: dict[str, Tensor] | None,
) -> None:
    """Raise WeightsError when optimiser state or averages lack a parameter.

    The parameters of a group get their first gradient in the same step, so either all of them have
    an entry or none has (a residual pathway that no step has used yet).
    """
    names = {id(p): name for name, p in model.named_parameters()}
    missing = []
    for group in optimizer.param_groups:
        members = [names[id(p)] for p in group["params"]]
        keys = {key for name in members for key in entries.get(name, {})}
        missing += [f"{k}/{n}" for n in members for k in sorted(keys - entries.get(n, {}).keys())]
    main = [name for name in names.values() if not name.startswith(RESIDUAL_PREFIX)]
    if any(entries.values()):  # then a step was taken, and every step moves the main weights
        missing += [f"state of {name}" for name in main if not entries.get(name)]
    if averages is not None:
        missing += [f"ema/{name}" for name in names.values() if name not in averages]
    if missing:
        raise WeightsError(
            f"checkpoint {path} is incomplete: {TENSOR_FILE} lacks {missing[0]}"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            + "; remove the folder to resume from the one before it"
        )


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
    _sync_directory(folder)


def _sync_directory(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
