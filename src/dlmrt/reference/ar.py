"""Autoregressive decoding with the same weights, plain or sped up by lossless prompt lookup.

The logits at clean position i predict token i + 1, and every token sees itself and what is before
it, whatever the model's clean attention. Prompt lookup drafts a continuation by copying from the
text so far, checks it in one forward, and keeps exactly what plain decoding would have produced.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from dlmrt.config import DecoderConfig, DiffusionConfig
from dlmrt.lookup import PromptLookup, common_prefix
from dlmrt.reference import rng
from dlmrt.reference.context import Context
from dlmrt.reference.model import NumpyModel, softmax
from dlmrt.reference.sampling import propose
from dlmrt.rows import BlockHook, FinishReason, PhaseSeconds, RowOutput, RowRequest


def decode_ar(
    model: NumpyModel,
    diffusion: DiffusionConfig,
    row: int,
    request: RowRequest,
    context: Context,
    on_block: BlockHook | None,
) -> RowOutput:
    """Decode one row with a prompt of at least one token; ``on_block`` hears of every forward."""
    prompt, limit = list(request.prompt_ids), request.max_new_tokens
    ids: list[int] = []
    lookup = PromptLookup(prompt) if request.method == "ar_lookup" else None
    draft: list[int] = []
    proposed = accepted = 0
    seconds: list[float] = []
    unread = prompt  # decided tokens that no forward has consumed yet: the prompt, then one token
    while True:
        started = time.perf_counter()
        picks = _forward(model, diffusion, request.decoder, context, unread + draft, len(unread) - 1)
        seconds.append(time.perf_counter() - started)
        kept = common_prefix(draft, picks)
        context.truncate(context.length - (len(draft) - kept))
        new = picks[: kept + 1]
        eos = next((i for i, token in enumerate(new) if token in diffusion.eos_token_ids), None)
        new_ids = new if eos is None else new[:eos]
        proposed += len(draft)
        accepted += min(kept, len(new_ids) + (eos is not None))
        ids.extend(new_ids)
        cancelled = on_block is not None and bool(on_block(row, tuple(new_ids)))
        reason: FinishReason | None = "stop" if eos is not None else None
        if reason is None and len(ids) == limit:
            reason = "length"
        if reason is None and cancelled:
            reason = "cancelled"
        if reason is not None:
            break
        unread = new[-1:]
        if lookup is not None:
            lookup.extend(new_ids)
            # One token comes free with every forward, so a draft never needs the last place.
            draft = lookup.draft(limit - len(ids) - 1)
    return RowOutput(
        ids=tuple(ids),
        finish_reason=reason,
        ended_by_eos=reason == "stop",
        prefill_forwards=1,
        denoise_forwards=len(seconds) - 1,
        commit_forwards=0,
        steps_per_block=(),
        proposed_tokens=proposed,
        accepted_tokens=accepted,
        seconds=PhaseSeconds(prefill=seconds[0], denoise=sum(seconds[1:]), commit=0.0),
    )


def _forward(
    model: NumpyModel,
    diffusion: DiffusionConfig,
    decoder: DecoderConfig,
    context: Context,
    tokens: Sequence[int],
    first: int,
) -> list[int]:
    """Extend the context by ``tokens``; what decoding picks after each of ``tokens[first:]``."""
    positions_L = context.length + np.arange(len(tokens))
    hidden_LD = context.extend(np.array(tokens, np.int64), last_key_L=positions_L)
    logits_LV = model.logits(hidden_LD[first:])
    logits_LV[:, list(diffusion.banned_ids)] = -np.inf
    gumbel_LV = None
    if decoder.temperature > 0:
        vocab_size = logits_LV.shape[1]
        gumbel_LV = rng.gumbel(decoder.seed, positions_L[first:] + 1, 0, vocab_size, rng.AR_STREAM)
    picks: list[int] = propose(logits_LV, softmax(logits_LV), decoder, gumbel_LV).token_S.tolist()
    return picks
