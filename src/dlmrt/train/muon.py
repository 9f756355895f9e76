"""Muon for hidden matrices, AdamW for the rest, in one optimiser object.

Muon replaces a matrix's momentum by its nearest semi-orthogonal matrix, computed with a quintic
Newton-Schulz iteration (Jordan et al. 2024, "Muon: an optimizer for hidden layers"). For small
models trained on few tokens it needs markedly fewer steps than AdamW.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

# Coefficients of the quintic: fast growth of small singular values, not exact convergence to 1.
_QUINTIC = (3.4445, -4.7750, 2.0315)


def orthogonalise(matrix_ON: Tensor, steps: int = 5) -> Tensor:
    """The approximate polar factor of each matrix in [..., O, N], computed in bfloat16."""
    a, b, c = _QUINTIC
    tall = matrix_ON.shape[-2] > matrix_ON.shape[-1]
    x = matrix_ON.to(torch.bfloat16)
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    out: Tensor = (x.mT if tall else x).to(matrix_ON.dtype)
    return out


class MuonAdamW(torch.optim.Optimizer):
    """Parameter groups carry ``kind``: ``muon`` or ``adamw``.

    Muon groups use ``momentum`` (Nesterov) and scale the update by ``sqrt(max(1, out / in))``.
    Weight decay is decoupled in both kinds. Same-shaped matrices are orthogonalised together.
    """

    def __init__(
        self,
        groups: Iterable[dict[str, Any]],
        *,
        lr: float,
        betas: tuple[float, float],
        eps: float,
        momentum: float = 0.95,
    ) -> None:
        defaults = {"lr": lr, "betas": betas, "eps": eps, "momentum": momentum, "weight_decay": 0.0}
        super().__init__(list(groups), {**defaults, "kind": "adamw"})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            if group["kind"] == "muon":
                self._muon(parameters, group)
            else:
                for parameter in parameters:
                    self._adamw(parameter, group)

    def _muon(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        by_shape: dict[torch.Size, list[Tensor]] = {}
        for parameter in parameters:
            by_shape.setdefault(parameter.shape, []).append(parameter)
        for shape, same in by_shape.items():
            updates = torch.stack([self._nesterov(p, group["momentum"]) for p in same])
            updates = orthogonalise(updates)
            rate = group["lr"] * max(1.0, shape[0] / shape[1]) ** 0.5
            for parameter, update in zip(same, updates, strict=True):
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                parameter.sub_(update, alpha=rate)

    def _nesterov(self, parameter: Tensor, momentum: float) -> Tensor:
        state = self.state[parameter]
        if not state:
            state["momentum"] = torch.zeros_like(parameter)
        gradient = parameter.grad
        assert gradient is not None
        state["momentum"].lerp_(gradient, 1 - momentum)
        return gradient.lerp(state["momentum"], momentum)

    def _adamw(self, parameter: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros(())
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        gradient = parameter.grad
        assert gradient is not None
        beta1, beta2 = group["betas"]
        state["step"] += 1
        state["exp_avg"].lerp_(gradient, 1 - beta1)
        state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        count = float(state["step"])
        scale = (1 - beta2**count) ** 0.5
        denominator = state["exp_avg_sq"].sqrt().div_(scale).add_(group["eps"])
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.addcdiv_(state["exp_avg"], denominator, value=-group["lr"] / (1 - beta1**count))
