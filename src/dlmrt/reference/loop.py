"""The denoising loop, one row after the other: the specification that other backends must match.

Read :meth:`_Row.step` first: it is one denoising step from canvas to canvas.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dlmrt.config import DiffusionConfig, ModelConfig
from dlmrt.lookup import block_draft
from dlmrt.reference import rng
from dlmrt.reference.ar import decode_ar
from dlmrt.reference.context import CachedContext, Context, RecomputedContext
from dlmrt.reference.model import Bool, Int, NumpyModel, Residual, softmax
from dlmrt.reference.policy import decide
from dlmrt.reference.sampling import draft_residual, next_residual, propose
from dlmrt.rows import BlockHook, FinishReason, PhaseSeconds, RowOutput, RowRequest, StepHook, StepRecord
from dlmrt.validate import validate_ids, validate_rows

Phase = Literal["prefill", "denoise", "commit"]


class NumpyBackend:
    """Decodes rows with NumPy alone; implements :class:`dlmrt.rows.Backend`.

    weights: float32 tensors under their Hugging Face names. use_cache=False recomputes everything
    at every forward: the same answers, slowly.
    Raises WeightsError: a tensor is missing or has the wrong shape; ConfigError: control ids outside
    the model's vocabulary.
    """

    name = "numpy"

    def __init__(
        self,
        weights: Mapping[str, npt.NDArray[Any]],
        config: ModelConfig,
        diffusion: DiffusionConfig,
        *,
        use_cache: bool = True,
    ) -> None:
        validate_ids(config, diffusion)
        self.model = NumpyModel(weights, config)
        self.diffusion = diffusion
        self.use_cache = use_cache

    def generate(
        self,
        requests: Sequence[RowRequest],
        *,
        on_step: StepHook | None = None,
        on_block: BlockHook | None = None,
    ) -> list[RowOutput]:
        """Decode all rows; the answer is in request order.

        Raises PromptError or RequestError before any row is decoded.
        """
        validate_rows(requests, self.model.config, self.diffusion)
        outputs = []
        for row, request in enumerate(requests):
            context = self._new_context(request)
            if request.method == "diffusion":
                decoding = _Row(self.model, self.diffusion, row, request, context, on_step, on_block)
                outputs.append(decoding.decode())
            else:
                outputs.append(decode_ar(self.model, self.diffusion, row, request, context, on_block))
        return outputs

    def _new_context(self, request: RowRequest) -> Context:
        if not self.use_cache:
            return RecomputedContext(self.model)
        block_size = self.diffusion.block_size
        blocks = -(-(len(request.prompt_ids) + request.max_new_tokens) // block_size)
        return CachedContext(self.model, blocks * block_size)


@dataclass
class _Block:
    """The block being denoised: the state that one step turns into the next."""

    start: int  # absolute position of its first token
    canvas_S: Int
    open_S: Bool  # not yet decided
    fixed_S: Bool  # prompt tokens
    residual: Residual  # what the next forward consumes
    steps: int = 0
    post_steps: int = 0  # steps that began with nothing open before the horizon


class _Row:
    """One request on its way through the blocks."""

    def __init__(
        self,
        model: NumpyModel,
        diffusion: DiffusionConfig,
        row: int,
        request: RowRequest,
        context: Context,
        on_step: StepHook | None,
        on_block: BlockHook | None,
    ) -> None:
        self.model, self.diffusion, self.context = model, diffusion, context
        self.row, self.request, self.decoder = row, request, request.decoder
        self.on_step, self.on_block = on_step, on_block
        self.block_size = diffusion.block_size
        self.end = len(request.prompt_ids) + request.max_new_tokens
        self.banned = np.array(diffusion.banned_ids, np.int64)
        self.allowed = np.setdiff1d(np.arange(model.config.vocab_size), self.banned)
        vocab_size = model.config.vocab_size
        self.is_eos_V = np.isin(np.arange(vocab_size), diffusion.eos_token_ids)
        residual = model.config.residual if request.decoder.residual else None
        self.seconds: dict[Phase, float] = {"prefill": 0.0, "denoise": 0.0, "commit": 0.0}
        self.columns = 0 if residual is None else min(residual.top_k or vocab_size, vocab_size)

    def decode(self) -> RowOutput:
        """Prefill the prompt's whole blocks, then denoise block after block to the row's end."""
        prompt = np.array(self.request.prompt_ids, np.int64)
        whole = len(prompt) // self.block_size * self.block_size
        if whole:
            with self.timed("prefill"):
                self.extend(prompt[:whole])
        tail = prompt[whole:]
        ids: list[int] = []
        steps_per_block: list[int] = []
        commits = 0
        while True:
            block = self.new_block(tail, ids)
            with self.timed("denoise"):
                self.denoise(block)
            steps_per_block.append(block.steps)
            horizon, ended_by_eos = self.horizon(block)
            new_ids = tuple(block.canvas_S[len(tail) : horizon].tolist())
            ids.extend(new_ids)
            cancelled = self.on_block is not None and bool(self.on_block(self.row, new_ids))
            reason = self.finish_reason(block, ended_by_eos, cancelled)
            if reason is not None:
                break
            with self.timed("commit"):
                self.extend(block.canvas_S)
            commits += 1
            tail = prompt[:0]
        return RowOutput(
            ids=tuple(ids),
            finish_reason=reason,
            ended_by_eos=ended_by_eos,
            prefill_forwards=int(whole > 0),
            denoise_forwards=sum(steps_per_block),
            commit_forwards=commits,
            steps_per_block=tuple(steps_per_block),
            seconds=PhaseSeconds(**self.seconds),
        )

    @contextmanager
    def timed(self, phase: Phase) -> Iterator[None]:
        """Charge the seconds spent inside to a phase."""
        start = time.perf_counter()
        yield
        self.seconds[phase] += time.perf_counter() - start

    def extend(self, tokens_L: Int) -> None:
        """Forward whole clean blocks and keep their keys and values."""
        positions_L = self.context.length + np.arange(len(tokens_L))
        if self.model.config.clean_attention == "causal":
            last_key_L = positions_L
        else:
            last_key_L = (positions_L // self.block_size + 1) * self.block_size - 1
        self.context.extend(tokens_L, last_key_L)

    def new_block(self, tail: Int, ids: Sequence[int]) -> _Block:
        """The next block: the prompt's tail is fixed, the rest is open and filled with noise.

        ids: what is decided of the answer, from which its draft is found.
        """
        fixed_S = np.arange(self.block_size) < len(tail)
        canvas_S = np.zeros(self.block_size, np.int64)
        canvas_S[: len(tail)] = tail
        draft: Sequence[int] = ()
        if self.columns and self.decoder.draft == "prompt":
            draft = block_draft(self.request.prompt_ids, ids, self.block_size - len(tail))
        vocab_size = self.model.config.vocab_size
        residual = draft_residual(draft, len(tail), self.block_size, self.columns, vocab_size)
        block = _Block(self.context.length, canvas_S, ~fixed_S, fixed_S, residual)
        block.canvas_S = self.renoised(block, counter=0)
        return block

    def denoise(self, block: _Block) -> None:
        """Step until no position before the horizon is open, and the policy asks for no more."""
        budget = self.decoder.step_budget(self.block_size)
        done = False
        while not done:
            was_settled = self.settled(block)
            edited = self.step(block, last=block.steps == budget - 1)
            block.steps += 1
            block.post_steps += was_settled
            done = self.settled(block)
            if self.decoder.policy == "joint":
                quiet = was_settled and not edited
                done = done and (quiet or block.post_steps >= self.decoder.max_post_steps)
            done = done or block.steps == budget

    def step(self, block: _Block, last: bool) -> bool:
        """One denoising step, in place; says whether a decided position was edited.

        last: the budget's last step, which decides everything that is open.
        """
        canvas_S, open_S, consumed = block.canvas_S, block.open_S, block.residual
        hidden_SD = self.context.canvas(canvas_S, consumed)
        logits_SV = self.model.logits(hidden_SD)
        logits_SV[:, self.banned] = -np.inf
        raw_SV = softmax(logits_SV)
        gumbel_SV = None
        if self.decoder.temperature > 0:
            positions_S = block.start + np.arange(self.block_size)
            gumbel_SV = rng.gumbel(self.decoder.seed, positions_S, block.steps, logits_SV.shape[1])
        proposal = propose(logits_SV, raw_SV, self.decoder, gumbel_SV)
        decision = decide(self.decoder, proposal, canvas_S, open_S, block.fixed_S, last)

        block.canvas_S = np.where(decision.accept_S | decision.edit_S, proposal.token_S, canvas_S)
        block.open_S = decision.candidate_S & ~decision.accept_S
        block.canvas_S = self.renoised(block, counter=block.steps + 1)
        if self.columns:
            block.residual = next_residual(raw_SV, self.columns, block.open_S)
        if self.on_step is not None:
            self.on_step(
                StepRecord(
                    row=self.row,
                    block=block.start // self.block_size,
                    step=block.steps,
                    start=block.start,
                    canvas_S=canvas_S,
                    open_S=open_S,
                    fixed_S=block.fixed_S,
                    residual_ids_SR=consumed.ids_SR,
                    residual_probs_SR=consumed.probs_SR,
                    token_S=proposal.token_S,
                    confidence_S=proposal.confidence_S,
                    entropy_S=proposal.entropy_S,
                    accept_S=decision.accept_S,
                    canvas_after_S=block.canvas_S,
                    open_after_S=block.open_S,
                )
            )
        return bool(decision.edit_S.any())

    def renoised(self, block: _Block, counter: int) -> Int:
        """The canvas with fresh noise at every open position."""
        if self.diffusion.noise == "mask":
            return np.where(block.open_S, np.int64(self.diffusion.mask_token_id or 0), block.canvas_S)
        positions_S = block.start + np.arange(self.block_size)
        fresh_S = rng.noise_ids(self.decoder.seed, positions_S, counter, self.allowed)
        return np.where(block.open_S, fresh_S, block.canvas_S)

    def horizon(self, block: _Block) -> tuple[int, bool]:
        """Where the answer ends inside the block (S: not here), and whether an EOS ends it.

        The nearer of the length limit and the first EOS that is decided and not the prompt's.
        """
        limit = min(max(self.end - block.start, 0), self.block_size)
        is_eos_S = self.is_eos_V[block.canvas_S] & ~block.open_S & ~block.fixed_S
        first_eos = int(is_eos_S.argmax()) if is_eos_S.any() else self.block_size
        return min(limit, first_eos), first_eos < limit

    def finish_reason(self, block: _Block, ended_by_eos: bool, cancelled: bool) -> FinishReason | None:
        """Why the row ends with this block; None: it goes on. Cancelling a row that ends is too late."""
        if ended_by_eos:
            return "stop"
        if self.end <= block.start + self.block_size:
            return "length"
        return "cancelled" if cancelled else None

    def settled(self, block: _Block) -> bool:
        """Nothing before the horizon is open."""
        return not block.open_S[: self.horizon(block)[0]].any()
