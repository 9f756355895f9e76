"""Policies: which open positions a step accepts, and when a block is done. Pure functions of [B, S].

Ties between positions always go to the lower one. Comparisons are in float32.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dlmrt.decode.sampling import Proposal
from dlmrt.decode.state import DecodeState, StepPlan, Tables

_INF = float("inf")


class Verdict(NamedTuple):
    """A step's decision: accept the proposal, rewrite a decided token, leave open. Bool [B, S]."""

    accept_BS: Tensor
    edit_BS: Tensor
    open_BS: Tensor


def decide(proposal: Proposal, state: DecodeState, plan: StepPlan) -> Verdict:
    """Ask each row's policy; the last step of a row's budget accepts whatever is left."""
    settings, confidence_BS = state.settings, proposal.confidence_BS
    cand_BS = state.open_BS
    accept_BS = edit_BS = torch.zeros_like(cand_BS)
    if plan.policies & {"threshold", "joint"}:
        accept_BS = accept_threshold(confidence_BS, cand_BS, settings.threshold_B)
    if "prefix" in plan.policies:
        prefix_BS = accept_prefix(confidence_BS, cand_BS, settings.threshold_B)
        accept_BS = torch.where(settings.has_policy("prefix")[:, None], prefix_BS, accept_BS)
    if "fixed" in plan.policies:
        fixed_BS = accept_most_confident(confidence_BS, cand_BS, settings.per_step_B)
        accept_BS = torch.where(settings.has_policy("fixed")[:, None], fixed_BS, accept_BS)
    if "entropy_bound" in plan.policies:
        bounded_B1 = settings.has_policy("entropy_bound")[:, None]
        cand_BS = torch.where(bounded_B1, ~state.fixed_BS, cand_BS)
        bounded_BS = accept_entropy_bound(proposal.entropy_BS, cand_BS, settings.entropy_bound_B)
        accept_BS = torch.where(bounded_B1, bounded_BS, accept_BS)
    if "joint" in plan.policies:
        decided_BS = settings.has_policy("joint")[:, None] & ~state.open_BS & ~state.fixed_BS
        sure_BS = confidence_BS >= settings.edit_threshold_B[:, None]
        edit_BS = decided_BS & sure_BS & (proposal.token_BS != state.canvas_BS)
    accept_BS = accept_BS | (cand_BS & is_last_step(state)[:, None])
    return Verdict(accept_BS, edit_BS, cand_BS & ~accept_BS)


def accept_threshold(confidence_BS: Tensor, cand_BS: Tensor, threshold_B: Tensor) -> Tensor:
    """Candidates with confidence >= threshold, and always the most confident candidate."""
    best_B = confidence_BS.masked_fill(~cand_BS, -1.0).argmax(-1)
    is_best_BS = torch.arange(cand_BS.shape[1], device=cand_BS.device) == best_B[:, None]
    return cand_BS & (is_best_BS | (confidence_BS >= threshold_B[:, None]))


def accept_prefix(confidence_BS: Tensor, cand_BS: Tensor, threshold_B: Tensor) -> Tensor:
    """Candidates from the first one on while confidence >= threshold; always the first."""
    first_BS = cand_BS & (cand_BS.cumsum(-1) == 1)
    goes_on_BS = first_BS | ~cand_BS | (confidence_BS >= threshold_B[:, None])
    return cand_BS & goes_on_BS.cumprod(-1).to(torch.bool)


def accept_most_confident(confidence_BS: Tensor, cand_BS: Tensor, per_step_B: Tensor) -> Tensor:
    """Accept the ``per_step`` most confident candidates."""
    masked_BS = confidence_BS.masked_fill(~cand_BS, -1.0)
    order_BS = torch.sort(masked_BS, dim=-1, descending=True, stable=True).indices
    rank_BS = order_BS.argsort(-1)
    return cand_BS & (rank_BS < per_step_B[:, None])


def accept_entropy_bound(entropy_BS: Tensor, cand_BS: Tensor, bound_B: Tensor) -> Tensor:
    """In order of entropy, candidates while the entropies summed *before* them stay <= the bound."""
    sorted_BS, order_BS = torch.sort(entropy_BS.masked_fill(~cand_BS, _INF), dim=-1, stable=True)
    within_BS = (sorted_BS.cumsum(-1) - sorted_BS) <= bound_B[:, None]
    return cand_BS & torch.zeros_like(cand_BS).scatter(-1, order_BS, within_BS)


def is_last_step(state: DecodeState) -> Tensor:
    """Rows whose step budget ends with this step, bool [B]."""
    return state.step_B == state.settings.budget_B - 1


def horizon(state: DecodeState, tables: Tables) -> Tensor:
    """How many positions of the canvas count, int64 [B]: up to the row's limit or a decided EOS.

    An EOS of the prompt does not count, nor does one at a position that is still open.
    """
    size = state.canvas_BS.shape[1]
    limit_B = (state.settings.end_B - state.start_B).clamp(0, size)
    ends_BS = tables.eos_V[state.canvas_BS] & ~state.open_BS & ~state.fixed_BS
    eos_B = torch.where(ends_BS, state.offset_S, size).amin(-1)
    return torch.minimum(limit_B, eos_B)


def nothing_open(state: DecodeState, horizon_B: Tensor) -> Tensor:
    """Rows without an open position before their horizon, bool [B]."""
    return ~(state.open_BS & (state.offset_S < horizon_B[:, None])).any(-1)


def is_done(before: DecodeState, after: DecodeState, edit_BS: Tensor, plan: StepPlan) -> Tensor:
    """Rows whose block is decided, bool [B].

    Done is: nothing open before the horizon (``after.closed_B``). The joint policy goes on until a step
    that began so edits nothing, or until its post steps are used up. The budget's last step ends both.
    """
    done_B = after.closed_B
    if "joint" in plan.policies:
        settings = before.settings
        settled_B = before.closed_B & ~edit_BS.any(-1)
        spent_B = after.post_B >= settings.max_post_B
        done_B = done_B & (settled_B | spent_B | ~settings.has_policy("joint"))
    return done_B | is_last_step(before)
