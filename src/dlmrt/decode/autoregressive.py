"""Autoregressive decoding with the same weights, plain or sped up by lossless prompt lookup.

The logits at clean position i predict token i + 1, and attention is causal whatever the model's clean
attention is, over a KV cache of its own. Prompt lookup copies a draft from the text so far, checks it in
one forward and keeps exactly what plain decoding would have picked, so both give the same ids.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from dlmrt.config import DiffusionConfig
from dlmrt.decode.kv_cache import KVCache
from dlmrt.decode.rng import STREAM_AR
from dlmrt.decode.sampling import propose
from dlmrt.decode.state import RowSettings, StepPlan, Tables
from dlmrt.decode.step import ban
from dlmrt.lookup import PromptLookup, common_prefix
from dlmrt.models.transformer import Transformer
from dlmrt.rows import BlockHook, FinishReason, PhaseSeconds, RowOutput, RowRequest


class AutoregressiveRow:
    """One row decoded token by token; :meth:`decode` runs it to its end.

    ``on_block`` hears of the new ids of every forward.
    """

    def __init__(
        self, model: Transformer, diffusion: DiffusionConfig, tables: Tables, row: int, request: RowRequest
    ) -> None:
        self.model, self.tables, self.row, self.request = model, tables, row, request
        self.eos = frozenset(diffusion.eos_token_ids)
        self.device = tables.allowed.device
        self.plan = StepPlan.of([request], model.config, diffusion)
        self.settings = RowSettings.of([request], [row], diffusion.block_size, self.device)
        # The last token is never an input.
        capacity = len(request.prompt_ids) + request.max_new_tokens - 1
        dtype = next(model.parameters()).dtype
        self.cache = KVCache(model.config, 1, capacity, device=self.device, dtype=dtype)

    def decode(self, on_block: BlockHook | None) -> RowOutput:
        """Decode to EOS, the limit or cancellation."""
        tokens, limit = list(self.request.prompt_ids), self.request.max_new_tokens
        prompt_len = len(tokens)
        lookup = PromptLookup(tokens) if self.request.method == "ar_lookup" else None
        seconds: list[float] = []  # of each forward, the prefill first
        picks = self._timed_forward(seconds, tokens, 0, 1)
        draft: list[int] = []
        proposed = accepted = 0
        while True:
            kept = common_prefix(draft, picks)
            new, ended_by_eos = self._until_eos(picks[: kept + 1])
            proposed += len(draft)
            accepted += min(kept, len(new) + ended_by_eos)
            tokens += new
            reason = self._finish(ended_by_eos, len(tokens) - prompt_len == limit, new, on_block)
            if reason is not None:
                break
            if lookup is not None:
                lookup.extend(new)
                # One token comes free with every forward, so a draft never needs the last place.
                draft = lookup.draft(limit - (len(tokens) - prompt_len) - 1)
            picks = self._timed_forward(seconds, [tokens[-1], *draft], len(tokens) - 1, 1 + len(draft))
        return RowOutput(
            ids=tuple(tokens[prompt_len:]),
            finish_reason=reason,
            ended_by_eos=ended_by_eos,
            prefill_forwards=1,
            denoise_forwards=len(seconds) - 1,
            commit_forwards=0,
            steps_per_block=(),
            proposed_tokens=proposed,
            accepted_tokens=accepted,
            seconds=PhaseSeconds(prefill=seconds[0], denoise=sum(seconds[1:]), commit=0.0),
        )

    def _timed_forward(
        self, seconds: list[float], tokens: Sequence[int], start: int, wanted: int
    ) -> list[int]:
        """:meth:`_forward`, which waits for the device; appends how long it took."""
        started = time.perf_counter()
        picks = self._forward(tokens, start, wanted)
        seconds.append(time.perf_counter() - started)
        return picks

    def _forward(self, tokens: Sequence[int], start: int, wanted: int) -> list[int]:
        """Run ``tokens`` from position ``start`` on; what follows each of the last ``wanted`` of them.

        Keys and values of rejected drafts stay in the cache until the next forward overwrites them:
        it starts before them and sees only what lies before its start.
        """
        tokens_BL = torch.tensor([tokens], device=self.device)
        position_BL = torch.arange(start, start + len(tokens), device=self.device)[None]
        attend = self.cache.append([start], len(tokens), "causal")
        hidden_BLD = self.model(tokens_BL, position_BL, attend)[:, -wanted:]
        logits_BLV = ban(self.model.logits(hidden_BLD), self.tables)
        if not self.plan.sampling:
            picks: list[int] = logits_BLV[0].argmax(-1).tolist()  # sync: the token is the next input
            return picks
        counter_B = torch.zeros_like(self.settings.seed_B)
        target_BL = position_BL[:, -wanted:] + 1
        proposal = propose(logits_BLV, logits_BLV, self.settings, self.plan, target_BL, counter_B, STREAM_AR)
        picks = proposal.token_BS[0].tolist()  # sync: as above
        return picks

    def _until_eos(self, new: list[int]) -> tuple[list[int], bool]:
        for place, token in enumerate(new):
            if token in self.eos:
                return new[:place], True
        return new, False

    def _finish(
        self, ended_by_eos: bool, full: bool, new: list[int], on_block: BlockHook | None
    ) -> FinishReason | None:
        cancelled = on_block is not None and bool(on_block(self.row, tuple(new)))
        if ended_by_eos:
            return "stop"
        if full:
            return "length"
        return "cancelled" if cancelled else None
