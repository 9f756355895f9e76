"""Optimiser groups, the learning-rate schedule, clipping by pathway and the weights' moving average."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from dlmrt.train.config import OptimConfig
from dlmrt.train.muon import MuonAdamW

RESIDUAL_PREFIX = "residual."


def build_optimizer(model: nn.Module, config: OptimConfig) -> torch.optim.Optimizer:
    """AdamW, or Muon with AdamW for what is not a hidden matrix, in groups by pathway and decay.

    Only matrices decay; the embedding table only if ``decay_embeddings``. Each group carries
    ``scale``, its factor on the scheduled learning rate. A tied head is the embedding table.
    """
    groups: dict[tuple[bool, bool, str], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        table = name.endswith(("embed_tokens.weight", "lm_head.weight"))
        decays = parameter.ndim >= 2 and (config.decay_embeddings or not name.endswith("embed_tokens.weight"))
        kind = "muon" if config.kind == "muon" and parameter.ndim == 2 and not table else "adamw"
        groups.setdefault((name.startswith(RESIDUAL_PREFIX), decays, kind), []).append(parameter)
    described = [
        {
            "params": parameters,
            "weight_decay": config.weight_decay if decays else 0.0,
            "scale": (config.residual_lr_scale if residual else 1.0)
            * (config.muon_lr / config.lr if kind == "muon" else 1.0),
            **({"kind": kind} if config.kind == "muon" else {}),
        }
        for (residual, decays, kind), parameters in sorted(groups.items())
    ]
    if config.kind == "muon":
        return MuonAdamW(
            described, lr=config.lr, betas=config.betas, eps=config.eps, momentum=config.muon_momentum
        )
    return torch.optim.AdamW(described, lr=config.lr, betas=config.betas, eps=config.eps, fused=True)


def learning_rate(config: OptimConfig, progress: float, step_share: float = 0.0) -> float:
    """The rate when ``progress`` in [0, 1] of the run has passed.

    step_share: progress that one step makes; the warm-up counts the step under way, so that the
    first step does not have rate 0.
    """
    progress = min(max(progress, 0.0), 1.0)
    if config.warmup > 0 and progress + step_share < config.warmup:
        return config.lr * max(progress + step_share, 1e-4) / config.warmup
    start = 1.0 - config.decay
    if config.schedule == "constant" or config.decay == 0 or progress <= start:
        return config.lr
    x = (progress - start) / config.decay
    left = 1 - x if config.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * x))
    return config.lr * (config.final_lr + (1 - config.final_lr) * left)


def set_learning_rate(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """Give every group the scheduled rate times its own factor."""
    for group in optimizer.param_groups:
        group["lr"] = lr * group["scale"]


def clip_gradients(model: nn.Module, config: OptimConfig) -> tuple[float, float]:
    """Clip the main and the residual pathway apart; returns their norms before clipping."""
    main: list[nn.Parameter] = []
    residual: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            (residual if name.startswith(RESIDUAL_PREFIX) else main).append(parameter)
    return _clip(main, config.clip), _clip(residual, config.residual_clip)


def _clip(parameters: list[nn.Parameter], limit: float) -> float:
    if not parameters:
        return 0.0
    return float(nn.utils.clip_grad_norm_(parameters, limit if limit > 0 else math.inf))


class MovingAverage:
    """Exponential moving average of the weights, in float32; ``decay`` is the share kept a step.

    Early on the effective decay is ``(1 + n) / (10 + n)``, so the start weights fade quickly.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay, self.updates = decay, 0
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Take one step towards the model's present weights."""
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for name, parameter in model.named_parameters():
            self.shadow[name].lerp_(parameter, 1 - decay)

    @torch.no_grad()
    def swap(self, model: nn.Module) -> None:
        """Exchange averaged and present weights; call it twice to restore."""
        for name, parameter in model.named_parameters():
            kept: Tensor = self.shadow[name].clone()
            self.shadow[name].copy_(parameter)
            parameter.copy_(kept)
