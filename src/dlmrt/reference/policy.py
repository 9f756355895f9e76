"""Which positions a step accepts, and which decided ones it rewrites: one function a policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dlmrt.config import DecoderConfig
from dlmrt.reference.model import F32, Bool, Int
from dlmrt.reference.sampling import Proposal


class Decision(NamedTuple):
    """The outcome of one step for each position of the canvas."""

    candidate_S: Bool  # positions the step judged: those not accepted are open afterwards
    accept_S: Bool
    edit_S: Bool


def decide(
    decoder: DecoderConfig, proposal: Proposal, canvas_S: Int, open_S: Bool, fixed_S: Bool, last: bool
) -> Decision:
    """Apply the request's policy. ``last``: the budget's last step, which accepts every candidate."""
    candidate_S = ~fixed_S if decoder.policy == "entropy_bound" else open_S
    accept_S = candidate_S if last else _POLICIES[decoder.policy](decoder, proposal, candidate_S)
    edit_S = np.zeros_like(open_S)
    if decoder.policy == "joint":
        decided_S = ~open_S & ~fixed_S
        differs_S = proposal.token_S != canvas_S
        edit_S = decided_S & differs_S & (proposal.confidence_S >= np.float32(decoder.edit_threshold))
    return Decision(candidate_S, accept_S, edit_S)


def _threshold(decoder: DecoderConfig, proposal: Proposal, candidate_S: Bool) -> Bool:
    confident_S = proposal.confidence_S >= np.float32(decoder.threshold)
    return (candidate_S & confident_S) | _most_confident(proposal.confidence_S, candidate_S, 1)


def _fixed(decoder: DecoderConfig, proposal: Proposal, candidate_S: Bool) -> Bool:
    return _most_confident(proposal.confidence_S, candidate_S, decoder.per_step)


def _entropy_bound(decoder: DecoderConfig, proposal: Proposal, candidate_S: Bool) -> Bool:
    positions = np.flatnonzero(candidate_S)
    order = positions[np.argsort(proposal.entropy_S[positions], kind="stable")]
    entropy = proposal.entropy_S[order]
    before = np.cumsum(entropy, dtype=np.float32) - entropy
    accept_S = np.zeros_like(candidate_S)
    accept_S[order[before <= np.float32(decoder.entropy_bound)]] = True
    return accept_S


def _prefix(decoder: DecoderConfig, proposal: Proposal, candidate_S: Bool) -> Bool:
    confident_S = proposal.confidence_S >= np.float32(decoder.threshold)
    confident_S[np.argmax(candidate_S)] = True  # the first open position always goes
    return candidate_S & np.logical_and.accumulate(confident_S | ~candidate_S)


def _most_confident(confidence_S: F32, candidate_S: Bool, count: int) -> Bool:
    """The ``count`` most confident candidates; ties: lower position first."""
    positions = np.flatnonzero(candidate_S)
    order = positions[np.argsort(-confidence_S[positions], kind="stable")]
    chosen_S = np.zeros_like(candidate_S)
    chosen_S[order[:count]] = True
    return chosen_S


_POLICIES: dict[str, Callable[[DecoderConfig, Proposal, Bool], Bool]] = {
    "threshold": _threshold,
    "joint": _threshold,  # for open positions; its edits are in `decide`
    "fixed": _fixed,
    "entropy_bound": _entropy_bound,
    "prefix": _prefix,
}
