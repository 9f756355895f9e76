"""What a batch of rows is while it is being denoised: tensors of fixed shape, and static facts.

:class:`DecodeState` holds everything that changes from step to step, :class:`RowSettings` what each
row asked for, :class:`Tables` what the vocabulary needs, and :class:`StepPlan` what the host knows
beforehand about the whole batch, so that a step skips work that no row needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from dlmrt.config import POLICIES, DiffusionConfig, ModelConfig, Noise, PolicyName
from dlmrt.decode.rng import noise_ids
from dlmrt.models.residual import ResidualInput
from dlmrt.rows import RowRequest


@dataclass(frozen=True)
class StepPlan:
    """Static facts about a batch; a step with another plan is another graph.

    policies: those that occur. sampling: some row has a temperature. max_top_k, top_p: the largest
    top-k filter (0: none), and whether any row filters by top-p. residual_k: R, 0 when no row uses a
    residual. entropy: whether someone reads the entropies (a policy, a hook or a capture).
    """

    block_size: int
    noise: Noise | None
    policies: frozenset[PolicyName]
    sampling: bool
    max_top_k: int
    top_p: bool
    residual_k: int
    entropy: bool

    @classmethod
    def of(
        cls,
        requests: Sequence[RowRequest],
        config: ModelConfig,
        diffusion: DiffusionConfig,
        *,
        observed: bool = False,
    ) -> StepPlan:
        """Collect the facts; ``observed``: a hook or a capture looks at every step."""
        decoders = [request.decoder for request in requests]
        warm = [d for d in decoders if d.temperature > 0]
        policies = frozenset(d.policy for d in decoders)
        residual_k = 0
        if config.residual is not None and any(d.residual for d in decoders):
            residual_k = min(config.residual.top_k or config.vocab_size, config.vocab_size)
        return cls(
            block_size=diffusion.block_size,
            noise=diffusion.noise,
            policies=policies,
            sampling=bool(warm),
            max_top_k=min(max((d.top_k for d in warm), default=0), config.vocab_size),
            top_p=any(d.top_p < 1 for d in warm),
            residual_k=residual_k,
            entropy=observed or "entropy_bound" in policies,
        )


@dataclass(frozen=True)
class Tables:
    """What decoding needs to know of the vocabulary.

    ban_V: float32, 0 or -inf, added to logits (None: nothing is banned). eos_V: bool.
    allowed: the ids that may be produced, ascending. mask_id: None for models without one.
    """

    ban_V: Tensor | None
    eos_V: Tensor
    allowed: Tensor
    mask_id: int | None

    @classmethod
    def of(cls, config: ModelConfig, diffusion: DiffusionConfig, device: torch.device) -> Tables:
        """Build the tables of a model on a device."""
        free_V = torch.ones(config.vocab_size, dtype=torch.bool)
        free_V[list(diffusion.banned_ids)] = False
        eos_V = torch.zeros(config.vocab_size, dtype=torch.bool)
        eos_V[list(diffusion.eos_token_ids)] = True
        ban_V = torch.zeros(config.vocab_size).masked_fill(~free_V, float("-inf"))
        return cls(
            ban_V=ban_V.to(device) if diffusion.banned_ids else None,
            eos_V=eos_V.to(device),
            allowed=torch.arange(config.vocab_size)[free_V].to(device),
            mask_id=diffusion.mask_token_id,
        )


@dataclass(frozen=True)
class RowSettings:
    """What each row asked for, [B] each; ``policy_B`` indexes ``config.POLICIES``.

    A row at temperature 0 has its filters off. ``end_B``: the absolute position after the last token
    it may produce. ``row_B``, ``first_block_B``: its place in the request list and its first canvas
    (for captures).
    """

    policy_B: Tensor
    threshold_B: Tensor
    per_step_B: Tensor
    entropy_bound_B: Tensor
    edit_threshold_B: Tensor
    max_post_B: Tensor
    budget_B: Tensor
    temperature_B: Tensor
    top_k_B: Tensor
    top_p_B: Tensor
    seed_B: Tensor
    residual_B: Tensor
    end_B: Tensor
    row_B: Tensor
    first_block_B: Tensor

    @classmethod
    def of(
        cls, requests: Sequence[RowRequest], rows: Sequence[int], block_size: int, device: torch.device
    ) -> RowSettings:
        """Gather the settings of ``requests``, whose places in the caller's list are ``rows``."""
        decoders = [request.decoder for request in requests]

        def column(values: Sequence[float], dtype: torch.dtype = torch.int64) -> Tensor:
            return torch.tensor(values, dtype=dtype, device=device)

        return cls(
            policy_B=column([POLICIES.index(d.policy) for d in decoders]),
            threshold_B=column([d.threshold for d in decoders], torch.float32),
            per_step_B=column([d.per_step for d in decoders]),
            entropy_bound_B=column([d.entropy_bound for d in decoders], torch.float32),
            edit_threshold_B=column([d.edit_threshold for d in decoders], torch.float32),
            max_post_B=column([d.max_post_steps for d in decoders]),
            budget_B=column([d.step_budget(block_size) for d in decoders]),
            temperature_B=column([d.temperature for d in decoders], torch.float32),
            top_k_B=column([d.top_k if d.temperature > 0 else 0 for d in decoders]),
            top_p_B=column([d.top_p if d.temperature > 0 else 1.0 for d in decoders], torch.float32),
            seed_B=column([d.seed for d in decoders]),
            residual_B=column([d.residual for d in decoders], torch.bool),
            end_B=column([len(r.prompt_ids) + r.max_new_tokens for r in requests]),
            row_B=column(list(rows)),
            first_block_B=column([len(r.prompt_ids) // block_size for r in requests]),
        )

    def has_policy(self, name: PolicyName) -> Tensor:
        """Which rows use a policy, bool [B]."""
        return self.policy_B == POLICIES.index(name)


@dataclass(frozen=True)
class DecodeState:
    """A batch of blocks in the middle of denoising.

    canvas_BS: tokens, noise at open positions. open_BS: not yet decided. fixed_BS: prompt tokens.
    residual_ids_BSR, residual_probs_BSR: what the next forward consumes; zero probability = none.
    start_B: absolute position of the block. step_B: steps done in this block. post_B: how many of
    them began with nothing open before the horizon. closed_B: nothing is open before it now.
    done_B: the block is decided; such a row is frozen.
    """

    canvas_BS: Tensor
    open_BS: Tensor
    fixed_BS: Tensor
    residual_ids_BSR: Tensor
    residual_probs_BSR: Tensor
    start_B: Tensor
    step_B: Tensor
    post_B: Tensor
    closed_B: Tensor
    done_B: Tensor
    settings: RowSettings

    @property
    def offset_S(self) -> Tensor:
        """The places inside a block, int64 [S]."""
        return torch.arange(self.canvas_BS.shape[1], device=self.canvas_BS.device)

    @property
    def position_BS(self) -> Tensor:
        """Absolute positions of the canvas."""
        return self.start_B[:, None] + self.offset_S

    @property
    def residual(self) -> ResidualInput | None:
        """The residual input of the next forward; None when no row has one."""
        if self.residual_ids_BSR.shape[-1] == 0:
            return None
        return ResidualInput(self.residual_ids_BSR, self.residual_probs_BSR)

    def select(self, rows: Tensor) -> DecodeState:
        """Return the state of some rows only, in the order of the indices ``rows``."""
        settings = RowSettings(**{f.name: getattr(self.settings, f.name)[rows] for f in fields(RowSettings)})
        tensors = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name != "settings"}
        return DecodeState(**tensors, settings=settings)


def renoise(state: DecodeState, plan: StepPlan, tables: Tables, counter_B: Tensor) -> DecodeState:
    """Put noise on every open position: the mask token, or fresh uniform ids of ``counter_B``."""
    if plan.noise == "mask":
        assert tables.mask_id is not None  # DiffusionConfig refuses mask noise without a mask id
        return replace(state, canvas_BS=state.canvas_BS.masked_fill(state.open_BS, tables.mask_id))
    ids_BS = noise_ids(state.settings.seed_B, state.position_BS, counter_B, tables.allowed)
    return replace(state, canvas_BS=torch.where(state.open_BS, ids_BS, state.canvas_BS))


def initial_state(
    requests: Sequence[RowRequest], rows: Sequence[int], plan: StepPlan, tables: Tables
) -> DecodeState:
    """Return the first canvas of every request: what is left of its prompt, fixed, and noise.

    rows: the places of ``requests`` in the caller's list.
    """
    size, batch, device = plan.block_size, len(requests), tables.allowed.device
    lengths = [len(request.prompt_ids) for request in requests]
    tails = [list(request.prompt_ids[n - n % size :]) for request, n in zip(requests, lengths, strict=True)]
    canvas_BS = torch.tensor([tail + [0] * (size - len(tail)) for tail in tails], device=device)
    tail_B = torch.tensor([len(tail) for tail in tails], device=device)
    zeros_B = torch.zeros(batch, dtype=torch.int64, device=device)
    false_B = torch.zeros(batch, dtype=torch.bool, device=device)
    fixed_BS = torch.arange(size, device=device) < tail_B[:, None]
    state = DecodeState(
        canvas_BS=canvas_BS,
        open_BS=~fixed_BS,
        fixed_BS=fixed_BS,
        residual_ids_BSR=torch.zeros(batch, size, plan.residual_k, dtype=torch.int64, device=device),
        residual_probs_BSR=torch.zeros(batch, size, plan.residual_k, device=device),
        start_B=torch.tensor(lengths, device=device) - tail_B,
        step_B=zeros_B,
        post_B=zeros_B,
        closed_B=false_B,
        done_B=false_B,
        settings=RowSettings.of(requests, rows, size, device),
    )
    return renoise(state, plan, tables, zeros_B)


def with_drafts(
    state: DecodeState, plan: StepPlan, vocab_size: int, drafts: Mapping[int, tuple[int, Sequence[int]]]
) -> DecodeState:
    """Give the first step of some rows' blocks a residual that is certain of their drafts.

    drafts: by row of the state, the block's first open position and the tokens from there on.
    """
    if plan.residual_k == 0 or not drafts:
        return state
    ids_BSR, probs_BSR = state.residual_ids_BSR.clone(), state.residual_probs_BSR.clone()
    device = ids_BSR.device
    for row, (first, draft) in drafts.items():
        places = torch.arange(first, first + len(draft), device=device)
        tokens = torch.tensor(draft, dtype=torch.int64, device=device)
        if plan.residual_k == vocab_size:
            ids_BSR[row] = torch.arange(vocab_size, device=device)
            probs_BSR[row, places, tokens] = 1.0
        else:
            ids_BSR[row, places, 0] = tokens
            probs_BSR[row, places, 0] = 1.0
    return replace(state, residual_ids_BSR=ids_BSR, residual_probs_BSR=probs_BSR)


def next_block(state: DecodeState, plan: StepPlan, tables: Tables) -> DecodeState:
    """Move every row whose block is done to its next block, all open; the others stay as they are."""
    done_B = state.done_B
    done_B1, done_B11 = done_B[:, None], done_B[:, None, None]
    opened = replace(
        state,
        open_BS=state.open_BS | done_B1,
        fixed_BS=state.fixed_BS & ~done_B1,
        residual_ids_BSR=state.residual_ids_BSR.masked_fill(done_B11, 0),
        residual_probs_BSR=state.residual_probs_BSR.masked_fill(done_B11, 0),
        start_B=state.start_B + done_B * plan.block_size,
        step_B=state.step_B.masked_fill(done_B, 0),
        post_B=state.post_B.masked_fill(done_B, 0),
        closed_B=state.closed_B & ~done_B,
        done_B=torch.zeros_like(done_B),
    )
    # An untouched row is renoised with its own counter: its canvas comes out as it went in.
    return renoise(opened, plan, tables, opened.step_B)
