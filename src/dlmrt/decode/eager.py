"""The eager loop: repeats :func:`~dlmrt.decode.step.denoise_step` and reads one flag a row after each.

Rows of a batch advance on their own: whoever's block is done commits it and opens the next one while the
others go on denoising theirs. A row that has ended leaves the batch, so it costs nothing more.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from dlmrt.config import DiffusionConfig
from dlmrt.decode.autoregressive import AutoregressiveRow
from dlmrt.decode.capture import TrajectoryCapture, step_records
from dlmrt.decode.kv_cache import KVCache
from dlmrt.decode.policy import horizon
from dlmrt.decode.state import DecodeState, StepPlan, Tables, initial_state, next_block, with_drafts
from dlmrt.decode.step import StepTrace, commit_block, denoise_step
from dlmrt.errors import RequestError
from dlmrt.lookup import block_draft
from dlmrt.models.transformer import Transformer
from dlmrt.rows import BlockHook, FinishReason, PhaseSeconds, RowOutput, RowRequest, StepHook
from dlmrt.validate import validate_ids, validate_rows


class EagerBackend:
    """Decodes batches of rows with plain torch operations; implements :class:`dlmrt.rows.Backend`.

    model: on ``device`` already. Raises ConfigError: control ids outside the model's vocabulary.
    """

    name = "eager"

    def __init__(
        self, model: Transformer, diffusion: DiffusionConfig, *, device: torch.device | str = "cpu"
    ) -> None:
        validate_ids(model.config, diffusion)
        self.model, self.diffusion = model, diffusion
        self.device = torch.device(device)
        self.tables = Tables.of(model.config, diffusion, self.device)

    def generate(
        self,
        requests: Sequence[RowRequest],
        *,
        on_step: StepHook | None = None,
        on_block: BlockHook | None = None,
        capture: TrajectoryCapture | None = None,
    ) -> list[RowOutput]:
        """Decode all rows; the answer is in request order.

        Diffusion rows are decoded together, autoregressive ones after them, one by one. capture: made
        by :meth:`new_capture` for the same requests.
        Raises PromptError or RequestError before any row is decoded.
        """
        validate_rows(requests, self.model.config, self.diffusion)
        if capture is not None and capture.steps_BN.shape[0] != len(requests):
            raise RequestError(
                f"the capture has room for {capture.steps_BN.shape[0]} rows and {len(requests)} were given; "
                "make it with new_capture for these requests"
            )
        outputs: dict[int, RowOutput] = {}
        with torch.inference_mode():
            together = [i for i, request in enumerate(requests) if request.method == "diffusion"]
            if together:
                chosen = [requests[i] for i in together]
                outputs |= _DiffusionRun(self, chosen, together, on_step, on_block, capture).decode()
            for i, request in enumerate(requests):
                if request.method != "diffusion":
                    row = AutoregressiveRow(self.model, self.diffusion, self.tables, i, request)
                    outputs[i] = row.decode(on_block)
        return [outputs[i] for i in range(len(requests))]

    def new_capture(self, requests: Sequence[RowRequest]) -> TrajectoryCapture:
        """Make room for the trajectories of ``requests``, all of which must be diffusion rows.

        Raises RequestError: an autoregressive row, which has no trajectory; or what `generate` raises.
        """
        validate_rows(requests, self.model.config, self.diffusion)
        for i, request in enumerate(requests):
            if request.method != "diffusion":
                raise RequestError(
                    f"row {i}: method is {request.method!r}; only 'diffusion' rows have steps to capture"
                )
        plan = StepPlan.of(requests, self.model.config, self.diffusion)
        return TrajectoryCapture.allocate(requests, plan, self.model.config, self.device)


@dataclass
class _Row:
    """What the host knows of one row: where it is and what it has produced."""

    index: int  # in the caller's list
    request: RowRequest
    start: int  # of the block being denoised
    prefilled: bool
    ids: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    commits: int = 0
    reason: FinishReason | None = None
    ended_by_eos: bool = False

    @property
    def end(self) -> int:
        return len(self.request.prompt_ids) + self.request.max_new_tokens

    def output(self, seconds: PhaseSeconds) -> RowOutput:
        assert self.reason is not None, "a row is put out when it has ended"
        return RowOutput(
            ids=tuple(self.ids),
            finish_reason=self.reason,
            ended_by_eos=self.ended_by_eos,
            prefill_forwards=int(self.prefilled),
            denoise_forwards=sum(self.steps),
            commit_forwards=self.commits,
            steps_per_block=tuple(self.steps),
            seconds=seconds,
        )


class _Clock:
    """Seconds spent in each phase. On a GPU it waits for the device, so that phases are told apart."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.spent = {"prefill": 0.0, "denoise": 0.0, "commit": 0.0}
        self.last = time.perf_counter()

    def charge(self, phase: str) -> None:
        """Charge the time since the last call to ``phase``; None of it if ``phase`` is empty."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)  # sync: once a block, to tell the phases apart
        now = time.perf_counter()
        if phase:
            self.spent[phase] += now - self.last
        self.last = now


class _DiffusionRun:
    """One batch from prompts to answers. ``rows[i]`` is row i of the state and of the cache."""

    def __init__(
        self,
        backend: EagerBackend,
        requests: Sequence[RowRequest],
        places: Sequence[int],
        on_step: StepHook | None,
        on_block: BlockHook | None,
        capture: TrajectoryCapture | None,
    ) -> None:
        self.model, self.tables, self.config = backend.model, backend.tables, backend.model.config
        self.on_step, self.on_block, self.capture = on_step, on_block, capture
        size = backend.diffusion.block_size
        observed = on_step is not None or capture is not None
        self.plan = StepPlan.of(requests, self.config, backend.diffusion, observed=observed)
        self.rows = [
            _Row(i, request, len(request.prompt_ids) // size * size, len(request.prompt_ids) >= size)
            for i, request in zip(places, requests, strict=True)
        ]
        self.state = initial_state(requests, places, self.plan, self.tables)
        self._draft(range(len(self.rows)))
        # A row's last block is never committed.
        capacity = max((row.end - 1) // size * size for row in self.rows)
        dtype = next(self.model.parameters()).dtype
        self.cache = KVCache(self.config, len(self.rows), capacity, device=backend.device, dtype=dtype)
        self.clock = _Clock(backend.device)
        self.outputs: dict[int, RowOutput] = {}

    def decode(self) -> dict[int, RowOutput]:
        """Run every row to its end; outputs by place in the caller's list."""
        self._prefill()
        self.clock.charge("prefill")
        while self.rows:
            self._denoise()
            self.clock.charge("denoise")
            self._finish_blocks()
            self.clock.charge("")
            self._retire()
            if self.rows:
                self._commit()
            self.clock.charge("commit")
        return self.outputs

    def _prefill(self) -> None:
        """Run the whole blocks of all prompts in one forward, padded on the right."""
        having = [i for i, row in enumerate(self.rows) if row.prefilled]
        if not having:
            return
        lengths = [self.rows[i].start for i in having]
        longest = max(lengths)
        prompts = [self.rows[i].request.prompt_ids[: self.rows[i].start] for i in having]
        padded = [[*prompt, *[0] * (longest - len(prompt))] for prompt in prompts]
        tokens_BL = torch.tensor(padded, device=self.cache.device)
        position_BL = torch.arange(longest, device=self.cache.device).expand_as(tokens_BL)
        clean = self.config.clean_attention
        self.model(tokens_BL, position_BL, self.cache.prefill(lengths, self.plan.block_size, clean, having))

    def _denoise(self) -> None:
        """Step all rows until the block of one of them is done."""
        attend = self.cache.canvas([row.start for row in self.rows], self.plan.block_size)
        while True:
            before = self.state
            self.state, trace = denoise_step(self.model, before, attend, self.plan, self.tables)
            self._observe(before, trace)
            if True in self.state.done_B.tolist():  # sync: whether some block is done
                return

    def _observe(self, before: DecodeState, trace: StepTrace) -> None:
        if self.capture is not None:
            self.capture.record(before, trace, self.state)
        if self.on_step is not None:
            has_residual = self.config.residual is not None
            uses_residual = [has_residual and row.request.decoder.residual for row in self.rows]
            with torch.inference_mode(False):  # the hook may do as it likes
                for record in step_records(before, trace, self.state, uses_residual):
                    self.on_step(record)

    def _finish_blocks(self) -> None:
        """Hand over the tokens of every block that is done, and see which rows end with it."""
        done = self.state.done_B.tolist()  # sync: a block is done, its tokens leave the device
        steps = self.state.step_B.tolist()  # sync: as above
        canvas = self.state.canvas_BS.tolist()  # sync: as above
        ends = horizon(self.state, self.tables).tolist()  # sync: as above
        for i, row in enumerate(self.rows):
            if not done[i]:
                continue
            size, prompt_len = self.plan.block_size, len(row.request.prompt_ids)
            new = canvas[i][max(prompt_len - row.start, 0) : ends[i]]
            row.ids += new
            row.steps.append(steps[i])
            row.ended_by_eos = ends[i] < min(row.end - row.start, size)
            cancelled = False
            if self.on_block is not None:
                with torch.inference_mode(False):
                    cancelled = bool(self.on_block(row.index, tuple(new)))
            if row.ended_by_eos:
                row.reason = "stop"
            elif row.end <= row.start + size:
                row.reason = "length"
            elif cancelled:
                row.reason = "cancelled"

    def _retire(self) -> None:
        """Take the rows that have ended out of the batch."""
        going = [i for i, row in enumerate(self.rows) if row.reason is None]
        if len(going) == len(self.rows):
            return
        for row in self.rows:
            if row.reason is not None:
                self.outputs[row.index] = row.output(PhaseSeconds(**self.clock.spent))
        self.rows = [self.rows[i] for i in going]
        if going:
            self.state = self.state.select(self._index(going))
            self.cache.keep(going)

    def _commit(self) -> None:
        """Run finished blocks once more as clean tokens, keep their KV, and open the next blocks."""
        done = self.state.done_B.tolist()  # sync: once a block, who is to be committed
        ready = [i for i, flag in enumerate(done) if flag]
        if not ready:
            return
        finished = self.state
        if len(ready) < len(self.rows):
            finished = finished.select(self._index(ready))
        starts = [self.rows[i].start for i in ready]
        clean = self.config.clean_attention
        commit_block(self.model, finished, self.cache.append(starts, self.plan.block_size, clean, ready))
        self.state = next_block(self.state, self.plan, self.tables)
        for i in ready:
            self.rows[i].commits += 1
            self.rows[i].start += self.plan.block_size
        self._draft(ready)

    def _draft(self, opened: Iterable[int]) -> None:
        """Hand the rows that have just opened a block what they may copy from their prompts."""
        drafts = {}
        for i in opened:
            row, decoder = self.rows[i], self.rows[i].request.decoder
            if decoder.draft == "prompt" and decoder.residual:
                prompt = row.request.prompt_ids
                first = max(len(prompt) - row.start, 0)
                drafts[i] = first, block_draft(prompt, row.ids, self.plan.block_size - first)
        self.state = with_drafts(self.state, self.plan, self.config.vocab_size, drafts)

    def _index(self, rows: Sequence[int]) -> Tensor:
        return torch.tensor(rows, dtype=torch.int64, device=self.cache.device)
