"""From logits to a proposed token a position, its confidence and its entropy.

Two distributions matter: the *raw* one, softmax of the logits, which the residual is made of, and the
*processed* one after temperature, top-k and top-p, from which the token, its confidence and the entropy
come. At temperature 0 they are the same. Everything is float32; ties go to the lower id.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dlmrt.decode.rng import gumbel_noise
from dlmrt.decode.state import RowSettings, StepPlan

_TINY = torch.finfo(torch.float32).tiny


class Proposal(NamedTuple):
    """What a forward suggests for every position of the canvas.

    token_BS: int64. confidence_BS: the processed probability of that token. entropy_BS: nats of the
    processed distribution (all zero when nobody reads it, see ``StepPlan.entropy``).
    """

    token_BS: Tensor
    confidence_BS: Tensor
    entropy_BS: Tensor


def propose(
    logits_BSV: Tensor,
    raw_BSV: Tensor,
    settings: RowSettings,
    plan: StepPlan,
    position_BS: Tensor,
    counter_B: Tensor,
    stream: int,
) -> Proposal:
    """Pick a token at every position: the likeliest, or a sample where the row has a temperature.

    logits_BSV: float32, banned ids at -inf. raw_BSV: their softmax. position_BS, counter_B, stream:
    name the random draw (see ``rng``).
    """
    score_BSV, probs_BSV = logits_BSV, raw_BSV
    if plan.sampling:
        score_BSV = processed_logits(logits_BSV, settings, plan)
        probs_BSV = score_BSV.softmax(-1)
        noise_BSV = gumbel_noise(settings.seed_B, position_BS, counter_B, logits_BSV.shape[-1], stream)
        score_BSV = score_BSV + noise_BSV * (settings.temperature_B > 0)[:, None, None]
    token_BS = score_BSV.argmax(-1)
    confidence_BS = probs_BSV.gather(-1, token_BS[..., None]).squeeze(-1)
    entropy_BS = entropy(probs_BSV) if plan.entropy else torch.zeros_like(confidence_BS)
    return Proposal(token_BS, confidence_BS, entropy_BS)


def processed_logits(logits_BSV: Tensor, settings: RowSettings, plan: StepPlan) -> Tensor:
    """Apply temperature, then top-k, then top-p; a row at temperature 0 comes out unchanged."""
    warm_B = settings.temperature_B > 0
    logits_BSV = logits_BSV / torch.where(warm_B, settings.temperature_B, 1.0)[:, None, None]
    if plan.max_top_k > 0:
        logits_BSV = filter_top_k(logits_BSV, settings.top_k_B, plan.max_top_k)
    if plan.top_p:
        logits_BSV = filter_top_p(logits_BSV, settings.top_p_B)
    return logits_BSV


def filter_top_k(logits_BSV: Tensor, top_k_B: Tensor, max_top_k: int) -> Tensor:
    """Keep entries at least as large as the k-th largest (ties stay), others -inf; k = 0 keeps all."""
    largest_BSk = logits_BSV.topk(max_top_k, dim=-1).values
    kth_B = top_k_B.clamp(1, max_top_k) - 1
    kth_BS1 = largest_BSk.gather(-1, kth_B[:, None, None].expand(-1, logits_BSV.shape[1], 1))
    below_BSV = (logits_BSV < kth_BS1) & (top_k_B > 0)[:, None, None]
    return logits_BSV.masked_fill(below_BSV, float("-inf"))


def filter_top_p(logits_BSV: Tensor, top_p_B: Tensor) -> Tensor:
    """Keep, from the likeliest down, entries whose probabilities *before* them sum to less than p.

    The likeliest entry always stays; p = 1 keeps all.
    """
    sorted_BSV, order_BSV = torch.sort(logits_BSV, dim=-1, descending=True, stable=True)
    probs_BSV = sorted_BSV.softmax(-1)
    before_BSV = probs_BSV.cumsum(-1) - probs_BSV
    p_B11 = top_p_B[:, None, None]
    drop_BSV = (before_BSV >= p_B11) & (p_B11 < 1)
    drop_BSV = torch.zeros_like(drop_BSV).scatter(-1, order_BSV, drop_BSV)
    return logits_BSV.masked_fill(drop_BSV, float("-inf"))


def entropy(probs_BSV: Tensor) -> Tensor:
    """Return the entropy in nats, [B, S]; a probability of zero contributes nothing."""
    return -(probs_BSV * probs_BSV.clamp_min(_TINY).log()).sum(-1)


def top_r(probs_BSV: Tensor, r: int) -> tuple[Tensor, Tensor]:
    """Return the ids and probabilities of the ``r`` likeliest entries, [B, S, r], likeliest first.

    Equal probabilities come in order of their ids. With ``r`` the whole vocabulary the ids are simply
    ``0 .. V-1``, which is what the residual adapter expects there.
    """
    vocab = probs_BSV.shape[-1]
    ids_V = torch.arange(vocab, device=probs_BSV.device)
    if r >= vocab:
        return ids_V.expand_as(probs_BSV), probs_BSV
    # torch.topk breaks ties as it likes. Bits of non-negative floats order like the floats, so a key of
    # probability bits above and reversed id below is unique and orders exactly as wanted. (In place: the
    # key is the largest tensor of a step.)
    key_BSV = probs_BSV.view(torch.int32).to(torch.int64)
    key_BSV.bitwise_left_shift_(32).bitwise_or_(vocab - 1 - ids_V)
    ids_BSR = (vocab - 1) - (key_BSV.topk(r, dim=-1).values & 0xFFFFFFFF)
    return ids_BSR, probs_BSV.gather(-1, ids_BSR)
