"""Options of the training objective; apart from it, because processes that encode data need no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dlmrt.config import require
from dlmrt.errors import ConfigError


@dataclass(frozen=True)
class ObjectiveConfig:
    """Options of the objective.

    copies: noisy copies a clean stream carries. complementary: copy 2k+1 noises exactly the answer
    positions that copy 2k leaves clean. full_noise: share of blocks noised completely (the state
    every block starts from). suffix_noise: share of blocks whose noised positions are the last
    ones (decoders decide roughly from left to right, so serving meets such states often). Together
    at most 1. With ``complementary`` the two are shares of the blocks that draw their own noise: all
    blocks of even copies, and of odd ones the partners of full and suffix blocks. t_min, t_max: range
    of the noise level elsewhere. ar_weight: weight of the next-token loss on the clean stream.
    residual_probability: share of steps whose noisy copies carry the residual of a first pass.
    draft_probability: share of wholly noised blocks whose residual is, in that first pass or where there
    is none, the draft that a decoder with ``draft: prompt`` gives a block's first step.
    attention: ``dense`` (SDPA, any device) or ``flex`` (GPU).
    """

    copies: int = 2
    complementary: bool = True
    full_noise: float = 0.2
    suffix_noise: float = 0.0
    t_min: float = 0.0
    t_max: float = 1.0
    ar_weight: float = 0.2
    residual_probability: float = 0.5
    draft_probability: float = 0.0
    attention: Literal["dense", "flex"] = "dense"

    def __post_init__(self) -> None:
        if self.copies < 1 or (self.complementary and self.copies % 2):
            raise ConfigError(
                f"objective.copies is {self.copies}; it must be >= 1, and even when complementary is true"
            )
        if not 0 <= self.t_min < self.t_max <= 1:
            raise ConfigError(
                f"objective.t_min, t_max are {self.t_min}, {self.t_max}; 0 <= t_min < t_max <= 1"
            )
        for name in ("full_noise", "suffix_noise", "residual_probability", "draft_probability"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"objective.{name}", value, "in [0, 1]")
        if self.full_noise + self.suffix_noise > 1:
            raise ConfigError(
                f"objective.full_noise and objective.suffix_noise are {self.full_noise} and "
                f"{self.suffix_noise}; they are shares of the same blocks, so their sum must be at most 1"
            )
        require(self.ar_weight >= 0, "objective.ar_weight", self.ar_weight, ">= 0")
