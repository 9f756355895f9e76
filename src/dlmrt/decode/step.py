"""The heart: one denoising step of a batch of blocks. Read this file first.

A step asks the model what it believes about every position of the canvas, lets each row's policy accept
some of it, puts fresh noise on what stays open, and remembers the beliefs as the next step's residual.
It is a pure function of tensors of fixed shape: no value is read by the host, nothing branches on data,
and its random numbers are a function of (seed, position, step). So the same step serves an eager loop
and a captured graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dlmrt.decode.policy import decide, horizon, is_done, nothing_open
from dlmrt.decode.rng import STREAM_GUMBEL
from dlmrt.decode.sampling import propose, top_r
from dlmrt.decode.state import DecodeState, StepPlan, Tables, renoise
from dlmrt.models.transformer import Attend, Transformer


@dataclass(frozen=True)
class StepTrace:
    """What a step proposed and decided, for hooks and captures.

    token_BS, confidence_BS, entropy_BS: see ``sampling.Proposal``. accept_BS, edit_BS: see
    ``policy.Verdict``.
    """

    token_BS: Tensor
    confidence_BS: Tensor
    entropy_BS: Tensor
    accept_BS: Tensor
    edit_BS: Tensor


def denoise_step(
    model: Transformer, state: DecodeState, attend: Attend, plan: StepPlan, tables: Tables
) -> tuple[DecodeState, StepTrace]:
    """Run one step of every row whose block is not done; rows that are done come out unchanged.

    attend: the canvas's view of the committed tokens (``KVCache.canvas``).
    """
    # 1. What does the model believe?
    hidden_BSD = model(state.canvas_BS, state.position_BS, attend, state.residual)
    logits_BSV = ban(model.logits(hidden_BSD), tables)
    raw_BSV = logits_BSV.softmax(-1)
    proposal = propose(
        logits_BSV, raw_BSV, state.settings, plan, state.position_BS, state.step_B, STREAM_GUMBEL
    )
    # 2. What of it is accepted?
    verdict = decide(proposal, state, plan)
    written_BS = verdict.accept_BS | verdict.edit_BS
    after = replace(
        state,
        canvas_BS=torch.where(written_BS, proposal.token_BS, state.canvas_BS),
        open_BS=verdict.open_BS,
        step_B=state.step_B + 1,
        post_B=state.post_B + state.closed_B,
    )
    # 3. Fresh noise where it is still open, and the beliefs there as the next residual.
    after = renoise(after, plan, tables, after.step_B)
    after = remember(after, raw_BSV, plan)
    # 4. Is the block done?
    after = replace(after, closed_B=nothing_open(after, horizon(after, tables)))
    after = replace(after, done_B=is_done(state, after, verdict.edit_BS, plan))
    return freeze_done(state, after), StepTrace(*proposal, verdict.accept_BS, verdict.edit_BS)


def commit_block(model: Transformer, state: DecodeState, attend: Attend) -> None:
    """Run the final tokens of every row's block as clean tokens; ``attend`` keeps their KV.

    attend: ``KVCache.append`` for these rows. The residual plays no part: clean tokens have none.
    """
    model(state.canvas_BS, state.position_BS, attend)


def ban(logits_BSV: Tensor, tables: Tables) -> Tensor:
    """Make control ids impossible."""
    return logits_BSV if tables.ban_V is None else logits_BSV + tables.ban_V


def remember(state: DecodeState, raw_BSV: Tensor, plan: StepPlan) -> DecodeState:
    """Keep the raw distribution's top R at open positions of rows that use a residual."""
    if plan.residual_k == 0:
        return state
    ids_BSR, probs_BSR = top_r(raw_BSV, plan.residual_k)
    absent_BS1 = ~(state.open_BS & state.settings.residual_B[:, None])[..., None]
    if plan.residual_k < raw_BSV.shape[-1]:  # ids of the whole vocabulary stay 0 .. V-1 everywhere
        ids_BSR = ids_BSR.masked_fill(absent_BS1, 0)
    probs_BSR = probs_BSR.masked_fill(absent_BS1, 0.0)
    return replace(state, residual_ids_BSR=ids_BSR, residual_probs_BSR=probs_BSR)


def freeze_done(before: DecodeState, after: DecodeState) -> DecodeState:
    """Take back the step for rows that were done before it."""
    frozen_B = before.done_B
    frozen_B1, frozen_B11 = frozen_B[:, None], frozen_B[:, None, None]
    return replace(
        after,
        canvas_BS=torch.where(frozen_B1, before.canvas_BS, after.canvas_BS),
        open_BS=torch.where(frozen_B1, before.open_BS, after.open_BS),
        residual_ids_BSR=torch.where(frozen_B11, before.residual_ids_BSR, after.residual_ids_BSR),
        residual_probs_BSR=torch.where(frozen_B11, before.residual_probs_BSR, after.residual_probs_BSR),
        step_B=torch.where(frozen_B, before.step_B, after.step_B),
        post_B=torch.where(frozen_B, before.post_B, after.post_B),
        closed_B=torch.where(frozen_B, before.closed_B, after.closed_B),
        done_B=frozen_B | after.done_B,
    )
