"""What the decoding tests share: backends on tiny models, a scripted model, and runs with all hooks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor, nn

from dlmrt.config import DecoderConfig, DiffusionConfig, ModelConfig
from dlmrt.decode.eager import EagerBackend
from dlmrt.decode.state import DecodeState, StepPlan, Tables, initial_state
from dlmrt.rows import RowOutput, RowRequest, StepRecord
from tests.helpers import (
    BLOCK,
    FIRST_TEXT_ID,
    VOCAB,
    random_weights,
    tiny_config,
    tiny_diffusion,
    torch_model,
)

NOISES = ("mask", "uniform")
LENGTHS = (0, 1, BLOCK - 1, BLOCK, BLOCK + 1)
# At these thresholds the tiny model accepts some positions of most steps, not all and not one.
LIVELY = DecoderConfig(threshold=0.5, edit_threshold=0.6, per_step=2, entropy_bound=4.0, max_post_steps=3)
SAMPLED = replace(LIVELY, temperature=0.8, top_k=20, top_p=0.9, seed=2**40 + 5)


def prompt(length: int, seed: int = 0) -> tuple[int, ...]:
    generator = torch.Generator().manual_seed(seed + 100 * length)
    return tuple(torch.randint(FIRST_TEXT_ID, VOCAB, (length,), generator=generator).tolist())


def tiny_backend(noise: str = "mask", *, eos: bool = True, seed: int = 4, **config: Any) -> EagerBackend:
    """Random weights; ``eos=False``: no id ends an answer."""
    model_config = tiny_config(**config)
    changes = {} if eos else {"eos_token_ids": ()}
    model = torch_model(model_config, random_weights(model_config, seed))
    return EagerBackend(model, tiny_diffusion(noise=noise, **changes))


@dataclass(frozen=True)
class Run:
    outputs: list[RowOutput]
    steps: dict[int, list[StepRecord]]
    blocks: dict[int, list[tuple[int, ...]]]


def run(backend: EagerBackend, requests: Sequence[RowRequest], **kwargs: Any) -> Run:
    steps: dict[int, list[StepRecord]] = defaultdict(list)
    blocks: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    outputs = backend.generate(
        requests,
        on_step=lambda record: steps[record.row].append(record),
        on_block=lambda row, ids: blocks[row].append(ids),
        **kwargs,
    )
    return Run(outputs, steps, blocks)


def same_record(a: StepRecord, b: StepRecord, *, atol: float = 0.0, ignore: tuple[str, ...] = ()) -> bool:
    for field in fields(StepRecord):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if field.name in ignore:
            continue
        if isinstance(x, Tensor):
            if x.shape != y.shape or x.dtype != y.dtype or not torch.allclose(x, y, atol=atol, rtol=0):
                return False
        elif x != y:
            return False
    return True


class ScriptedModel(nn.Module):
    """Stands in for a transformer: the logits of a position are whatever ``script`` says.

    script(positions_BL, tokens_BL) -> logits [B, L, V]. It calls ``attend`` as a model would.
    """

    def __init__(self, config: ModelConfig, script: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.config, self.script, self.forwards = config, script, 0
        self.anchor = nn.Parameter(torch.zeros(1))

    def forward(self, tokens_BL: Tensor, positions_BL: Tensor, attend: Any, residual: Any = None) -> Tensor:
        self.forwards += 1
        batch, length = tokens_BL.shape
        for layer in range(self.config.n_layers):
            q = torch.zeros(batch, self.config.n_heads, length, self.config.head_dim)
            kv = torch.zeros(batch, self.config.n_kv_heads, length, self.config.head_dim)
            attend(layer, q, kv, kv)
        return self.script(positions_BL.expand_as(tokens_BL), tokens_BL)

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden.clone()


def scripted_backend(
    script: Callable[[Tensor, Tensor], Tensor], diffusion: DiffusionConfig | None = None
) -> EagerBackend:
    model: Any = ScriptedModel(tiny_config(residual=None), script)
    return EagerBackend(model, diffusion or tiny_diffusion())


def sure(tokens_BL: Tensor, strength_BL: Tensor | float = 9.0) -> Tensor:
    """Logits that propose ``tokens_BL``; the larger the strength, the higher the confidence."""
    logits = torch.zeros(*tokens_BL.shape, VOCAB)
    strength_BL = torch.as_tensor(strength_BL).expand(tokens_BL.shape)
    return logits.scatter(-1, tokens_BL[..., None], strength_BL[..., None].float())


@dataclass(frozen=True)
class Start:
    """The beginning of a batch, for tests of single steps."""

    backend: EagerBackend
    plan: StepPlan
    state: DecodeState

    @property
    def tables(self) -> Tables:
        return self.backend.tables


def start(backend: EagerBackend, requests: Sequence[RowRequest], *, observed: bool = True) -> Start:
    plan = StepPlan.of(requests, backend.model.config, backend.diffusion, observed=observed)
    return Start(backend, plan, initial_state(requests, range(len(requests)), plan, backend.tables))
