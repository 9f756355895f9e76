"""The drafts of all blocks of a batch at once: what :func:`dlmrt.lookup.block_draft` finds one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dlmrt.lookup import DRAFT_NGRAMS, LONGEST_STEP_BACK

if TYPE_CHECKING:
    from dlmrt.train.objective import PackedBatch


def prompt_drafts(batch: PackedBatch, block_size: int) -> Tensor:
    """For each position of the rows, the token that a draft of its block holds there, or -1: int64 [B, L].

    Blocks that lie wholly in a prompt, and positions of a prompt, have none.
    """
    rows, length = batch.tokens_BL.shape
    at_BL = torch.arange(length, device=batch.tokens_BL.device).expand(rows, length)
    base_BL = at_BL - batch.positions_BL  # where the position's sample begins in the row
    prompt_BL = _prompt_lengths(batch)
    # Everything below is in places of the row: the block's first open one, and the prompt's end.
    end_BL = base_BL + prompt_BL
    open_BL = torch.maximum(at_BL - batch.positions_BL % block_size, end_BL)
    first = slice(None, None, block_size)
    source_BN = _sources(batch, open_BL[:, first], base_BL[:, first], end_BL[:, first])
    source_BL = source_BN.repeat_interleave(block_size, dim=1) + at_BL - open_BL
    found_BL = source_BN.repeat_interleave(block_size, dim=1) >= 0
    valid_BL = found_BL & (at_BL >= open_BL) & (source_BL < end_BL) & (batch.sample_BL >= 0)
    return torch.where(valid_BL, batch.tokens_BL.gather(1, source_BL.clamp(0, length - 1)), -1)


def _prompt_lengths(batch: PackedBatch) -> Tensor:
    """The length of each position's prompt, [B, L]."""
    sample_BL = batch.sample_BL.clamp(min=0)
    shape = (len(sample_BL), int(sample_BL.max()) + 1)
    least = torch.full(shape, sample_BL.shape[1], dtype=torch.int64, device=sample_BL.device)
    where_BL = torch.where(batch.answer_BL, batch.positions_BL, sample_BL.shape[1])
    return least.scatter_reduce(1, sample_BL, where_BL, "amin").gather(1, sample_BL)


def _sources(batch: PackedBatch, open_BN: Tensor, base_BN: Tensor, end_BN: Tensor) -> Tensor:
    """The place of the first token that the draft of each of N blocks copies; -1: it has none."""
    tokens_BL, length = batch.tokens_BL, batch.tokens_BL.shape[1]
    place_L = torch.arange(length, device=tokens_BL.device)
    source_BN = torch.where(open_BN == end_BN, base_BN, -1)
    for n in DRAFT_NGRAMS:
        for back in range(LONGEST_STEP_BACK + 1):
            last_BN = open_BN - 1 - back  # of the n-gram, in the answer
            possible_BN = (last_BN - (n - 1) >= end_BN) & (open_BN > end_BN)
            # place_L is where the token after a match stands.
            inside_BNL = (place_L - n >= base_BN[..., None]) & (place_L < end_BN[..., None])
            match_BNL = inside_BNL & possible_BN[..., None]
            for i in range(n):
                key_BN = tokens_BL.gather(1, (last_BN - i).clamp(0, length - 1))
                match_BNL = match_BNL & (tokens_BL.roll(i + 1, 1)[:, None] == key_BN[..., None])
            begin_BN = torch.where(match_BNL, place_L, -1).amax(-1)
            source_BN = torch.where((source_BN < 0) & (begin_BN >= 0), begin_BN + back, source_BN)
    return source_BN
