"""Trajectory capture: what every step consumed and decided, stored on the device for training.

On-policy training replays the states that decoding really visited. A capture keeps them in tensors
allocated beforehand, indexed by row, block and step, and is filled without a host read. The residual is
stored as the ids and probabilities that made it, so a replay rebuilds it exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dlmrt.config import ModelConfig
from dlmrt.decode.state import DecodeState, StepPlan
from dlmrt.decode.step import StepTrace
from dlmrt.rows import RowRequest, StepRecord


@dataclass(frozen=True)
class TrajectoryCapture:
    """The trajectories of a batch: B rows, at most N blocks of at most M steps each.

    Axis N counts a row's blocks from its first canvas, axis M its steps. ``canvas``, ``open`` and the
    residual are what step m consumed; at m = steps[b, n] ``canvas`` and ``open`` hold the block's end.
    ``steps`` [B, N] is 0 for blocks that a row never reached. Ids are int32.
    """

    prompt_len_B: Tensor
    block_size: int
    uses_residual: tuple[bool, ...]
    steps_BN: Tensor
    canvas_BNMS: Tensor
    open_BNMS: Tensor
    residual_ids_BNMSR: Tensor
    residual_probs_BNMSR: Tensor
    token_BNMS: Tensor
    confidence_BNMS: Tensor
    entropy_BNMS: Tensor
    accept_BNMS: Tensor

    @classmethod
    def allocate(
        cls, requests: Sequence[RowRequest], plan: StepPlan, config: ModelConfig, device: torch.device
    ) -> TrajectoryCapture:
        """Make room for everything that ``requests`` can visit.

        The tensors are ordinary ones (not inference tensors), fit for a training graph.
        """
        size = plan.block_size
        spans = [(len(r.prompt_ids), len(r.prompt_ids) + r.max_new_tokens) for r in requests]
        blocks = max((-(-end // size) - start // size for start, end in spans), default=0)
        # One slot more than steps: the state after the last one.
        slots = max((r.decoder.step_budget(size) for r in requests), default=0) + 1
        shape = (len(requests), blocks, slots, size)
        has_residual = config.residual is not None
        with torch.inference_mode(False):

            def room(dtype: torch.dtype, *extra: int) -> Tensor:
                return torch.zeros(*shape, *extra, dtype=dtype, device=device)

            return cls(
                prompt_len_B=torch.tensor([start for start, _ in spans], device=device),
                block_size=size,
                uses_residual=tuple(has_residual and r.decoder.residual for r in requests),
                steps_BN=torch.zeros(shape[:2], dtype=torch.int32, device=device),
                canvas_BNMS=room(torch.int32),
                open_BNMS=room(torch.bool),
                residual_ids_BNMSR=room(torch.int32, plan.residual_k),
                residual_probs_BNMSR=room(torch.float32, plan.residual_k),
                token_BNMS=room(torch.int32),
                confidence_BNMS=room(torch.float32),
                entropy_BNMS=room(torch.float32),
                accept_BNMS=room(torch.bool),
            )

    def record(self, before: DecodeState, trace: StepTrace, after: DecodeState) -> None:
        """Store one step of every row of the batch. No host read.

        A row that was done before the step has the same state on both sides: it writes its last slots
        again, with the same values, and counts no step.
        """
        row_B = before.settings.row_B
        block_B = before.start_B // self.block_size - before.settings.first_block_B
        last = self.canvas_BNMS.shape[2] - 1
        now = (row_B, block_B, before.step_B.clamp(max=last))
        then = (row_B, block_B, (before.step_B + 1).clamp(max=last))
        self.canvas_BNMS[now] = before.canvas_BS.to(torch.int32)
        self.open_BNMS[now] = before.open_BS
        self.residual_ids_BNMSR[now] = before.residual_ids_BSR.to(torch.int32)
        self.residual_probs_BNMSR[now] = before.residual_probs_BSR
        self.token_BNMS[now] = trace.token_BS.to(torch.int32)
        self.confidence_BNMS[now] = trace.confidence_BS
        self.entropy_BNMS[now] = trace.entropy_BS
        self.accept_BNMS[now] = trace.accept_BS
        self.canvas_BNMS[then] = after.canvas_BS.to(torch.int32)
        self.open_BNMS[then] = after.open_BS
        self.steps_BN[row_B, block_B] = after.step_B.to(torch.int32)

    def records(self) -> Iterator[StepRecord]:
        """All steps as plain records of CPU tensors, row by row in the order they happened."""
        steps = self.steps_BN.tolist()  # sync: the host asks for the trajectory
        lengths = self.prompt_len_B.tolist()  # sync: as above
        for row, blocks in enumerate(steps):
            first = lengths[row] // self.block_size
            for place, count in enumerate(blocks):
                for step in range(count):
                    yield self._record(row, place, step, first + place, lengths[row])

    def _record(self, row: int, place: int, step: int, block: int, prompt_len: int) -> StepRecord:
        at, start = (row, place, step), block * self.block_size
        kept = self.residual_ids_BNMSR.shape[-1] if self.uses_residual[row] else 0
        ids = (self.residual_ids_BNMSR, self.canvas_BNMS, self.token_BNMS)
        residual_ids, canvas, token = (_to_host(store[at].to(torch.int64)) for store in ids)
        after = (row, place, step + 1)
        return StepRecord(
            row=row,
            block=block,
            step=step,
            start=start,
            canvas_S=canvas,
            open_S=_to_host(self.open_BNMS[at]),
            fixed_S=torch.arange(start, start + self.block_size) < prompt_len,
            residual_ids_SR=residual_ids[:, :kept],
            residual_probs_SR=_to_host(self.residual_probs_BNMSR[at][:, :kept]),
            token_S=token,
            confidence_S=_to_host(self.confidence_BNMS[at]),
            entropy_S=_to_host(self.entropy_BNMS[at]),
            accept_S=_to_host(self.accept_BNMS[at]),
            canvas_after_S=_to_host(self.canvas_BNMS[after].to(torch.int64)),
            open_after_S=_to_host(self.open_BNMS[after]),
        )


def step_records(
    before: DecodeState, trace: StepTrace, after: DecodeState, uses_residual: Sequence[bool]
) -> Iterator[StepRecord]:
    """One record for each row of the batch, as CPU tensors, straight from a step.

    uses_residual: for each row of the batch, whether its model and settings have one; without it the
    record's residual has no columns.
    """
    rows = before.settings.row_B.tolist()  # sync: a hook wants to see the step
    starts, steps = before.start_B.tolist(), before.step_B.tolist()  # sync: as above
    for i, row in enumerate(rows):
        kept = before.residual_ids_BSR.shape[-1] if uses_residual[i] else 0
        yield StepRecord(
            row=row,
            block=starts[i] // before.canvas_BS.shape[1],
            step=steps[i],
            start=starts[i],
            canvas_S=_to_host(before.canvas_BS[i]),
            open_S=_to_host(before.open_BS[i]),
            fixed_S=_to_host(before.fixed_BS[i]),
            residual_ids_SR=_to_host(before.residual_ids_BSR[i, :, :kept]),
            residual_probs_SR=_to_host(before.residual_probs_BSR[i, :, :kept]),
            token_S=_to_host(trace.token_BS[i]),
            confidence_S=_to_host(trace.confidence_BS[i]),
            entropy_S=_to_host(trace.entropy_BS[i]),
            accept_S=_to_host(trace.accept_BS[i]),
            canvas_after_S=_to_host(after.canvas_BS[i]),
            open_after_S=_to_host(after.open_BS[i]),
        )


def _to_host(tensor: Tensor) -> Tensor:
    """Copy to an ordinary CPU tensor, fit for a training graph even if made in inference mode."""
    with torch.inference_mode(False):
        return tensor.detach().clone().cpu()  # sync: the record belongs to the host
