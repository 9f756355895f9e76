"""The folder of a run: one training at a time, and none over another run by accident."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dlmrt.errors import ConfigError
from dlmrt.train import checkpoint as ckpt
from dlmrt.train.config import TrainConfig


def claim_out(config: TrainConfig, *, resume: bool) -> None:
    """Make the folder ``out``; refuse one that holds a run unless ``resume``."""
    out = Path(config.out)
    used = [n for n in ("metrics.jsonl", "checkpoints", "final") if (out / n).exists()]
    if used and not resume:
        raise ConfigError(
            f"{out} already holds a run ({', '.join(used)}); add --resume to go on with it, "
            "or choose another folder with --set out=FOLDER"
        )
    out.mkdir(parents=True, exist_ok=True)


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep other trainings out of the folder; the lock ends with the process, however it ends."""
    with open(out / "run.lock", "a", encoding="utf-8") as file:
        try:
            import fcntl
        except ImportError:  # Windows
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(
                f"another training is writing to {out}; wait for it, stop it, "
                "or choose another folder with --set out=FOLDER"
            ) from None
        yield


def refuse_past_end(config: TrainConfig) -> None:
    """Refuse to go on with a run that is past the end it is given now; raises ConfigError."""
    steps = [ckpt.step_of(path) for path in ckpt.list_checkpoints(Path(config.out) / "checkpoints")]
    if steps and config.max_steps is not None and steps[-1] > config.max_steps:
        raise ConfigError(
            f"{config.out} is at step {steps[-1]}, past max_steps={config.max_steps}; raise it to go on"
        )
