"""A text before training prompts, by which one model tells several tasks apart, and a share without it."""

from __future__ import annotations

from dlmrt.datasets.corrupt import Rng
from dlmrt.errors import ConfigError


def check_bare_share(share: float) -> None:
    """Refuse a share of prompts without prefix outside [0, 1]; raises ConfigError."""
    if not 0 <= share <= 1:
        raise ConfigError(f"bare_share is {share}; it must be in [0, 1]")


def with_prefix(prompt: str, prefix: str, bare_share: float, *item: object) -> str:
    """The prompt behind ``prefix``, or bare; which, is fixed by what ``item`` names."""
    return prompt if Rng("bare", *item).unit() < bare_share else prefix + prompt
