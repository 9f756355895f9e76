"""Encoded samples to packed rows: pack without mixing samples, in a fixed order.

A sample lies in a row as ``prompt | answer EOS | filler``, starts at position 0 and fills whole
blocks, so that block edges of the row and of the sample coincide. Filler is what follows the EOS
up to the block edge: at serving those canvas positions exist too, and nothing scores them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from dlmrt.errors import DataError
from dlmrt.train.encode import EncodedSet
from dlmrt.train.objective import PackedBatch


def pack(blocks_N: NDArray[np.int64], order: NDArray[np.int64], capacity: int) -> list[list[int]]:
    """Pack samples into rows of ``capacity`` blocks: best fit, largest samples first.

    blocks_N: blocks of each sample. order: the samples to pack; equal sizes keep this order, so
    which samples share a row changes with it. Returns sample indices row by row; each sample of
    ``order`` occurs exactly once, and none may need more than ``capacity`` blocks.
    """
    sizes = blocks_N[order]
    by_size = order[np.argsort(-sizes, kind="stable")]
    rows: list[list[int]] = []
    with_room: list[list[list[int]]] = [[] for _ in range(capacity + 1)]
    for sample, size in zip(by_size.tolist(), np.sort(sizes)[::-1].tolist(), strict=True):
        for room in range(size, capacity):
            if with_room[room]:
                row = with_room[room].pop()
                break
        else:
            room, row = capacity, []
            rows.append(row)
        row.append(sample)
        with_room[room - size].append(row)
    return rows


@dataclass(frozen=True)
class RowPlan:
    """How a set becomes batches: row lengths, rows a batch of each, and what was left out."""

    block_size: int
    row_lengths: tuple[int, ...]  # ascending; the last is the longest
    batch_rows: int  # rows of the longest length in a batch

    def rows_of(self, length: int) -> int:
        """Rows of ``length`` in a batch, so that every batch has about the same positions."""
        return max(1, self.batch_rows * self.row_lengths[-1] // length)


class PackedSet:
    """An encoded set with its row plan; makes the batches of any epoch from (seed, epoch) alone."""

    def __init__(self, data: EncodedSet, plan: RowPlan, pad_id: int) -> None:
        self.data, self.plan, self.pad_id = data, plan, pad_id
        self.blocks_N = -(-data.length_N.astype(np.int64) // plan.block_size)
        lengths = self.blocks_N * plan.block_size
        bucket_N = np.searchsorted(np.array(plan.row_lengths), lengths)
        self._members = [np.flatnonzero(bucket_N == b) for b in range(len(plan.row_lengths))]
        self.too_long = int((bucket_N == len(plan.row_lengths)).sum())
        self.used = len(data) - self.too_long
        if len(data) == 0:
            raise DataError("the data files hold no samples; give JSONL with one object a line")
        if self.used == 0:
            raise DataError(
                f"none of {len(data)} samples fits a row of {plan.row_lengths[-1]} positions "
                f"({data.dropped} more have too long a prompt); raise row_length or prompt.max_text_tokens"
            )

    def epoch(self, seed: int, epoch: int | None) -> list[tuple[int, list[list[int]]]]:
        """All batches of an epoch as (row length, rows of sample indices); ``None``: file order.

        Shuffled: samples, rows and batches; rows that fill no whole batch are left out, unless
        the set is smaller than one batch. In file order (for evaluation) nothing is left out.
        """
        rng = None if epoch is None else np.random.default_rng([seed, epoch])
        batches: list[tuple[int, list[list[int]]]] = []
        tails: list[tuple[int, list[list[int]]]] = []
        for length, members in zip(self.plan.row_lengths, self._members, strict=True):
            order = members if rng is None else rng.permutation(members)
            rows = pack(self.blocks_N, order, length // self.plan.block_size)
            if rng is not None:
                rows = [rows[i] for i in rng.permutation(len(rows)).tolist()]
            size = self.plan.rows_of(length)
            cut = [(length, rows[i : i + size]) for i in range(0, len(rows), size)]
            whole = len(rows) // size
            batches.extend(cut[:whole])
            tails.extend(cut[whole:])
        if rng is None or not batches:
            batches.extend(tails)
        return batches if rng is None else [batches[i] for i in rng.permutation(len(batches)).tolist()]

    def assemble(self, length: int, rows: list[list[int]]) -> PackedBatch:
        """Lay rows of samples out as tensors [rows of the plan, length]; missing rows are padding."""
        data, size = self.data, self.plan.block_size
        shape = (self.plan.rows_of(length), length)
        tokens, positions = np.full(shape, self.pad_id, np.int64), np.zeros(shape, np.int64)
        sample, answer, filler = np.full(shape, -1, np.int64), np.zeros(shape, bool), np.zeros(shape, bool)
        ramp = np.arange(length)
        for r, row in enumerate(rows):
            at = 0
            for number, s in enumerate(row):
                start, prompt, end = data.starts_N[s], data.prompt_N[s], data.prompt_N[s] + data.answer_N[s]
                whole = int(self.blocks_N[s]) * size
                tokens[r, at : at + end] = data.ids[start : start + end]
                positions[r, at : at + whole] = ramp[:whole]
                sample[r, at : at + whole] = number
                answer[r, at + prompt : at + end] = True
                filler[r, at + end : at + whole] = True
                at += whole
        return PackedBatch(*(torch.from_numpy(x) for x in (tokens, positions, sample, answer, filler)))

    def statistics(self) -> dict[str, int | float]:
        """Counts a user checks before training: samples, tokens, padding of a first epoch."""
        kept = self.blocks_N * self.plan.block_size <= self.plan.row_lengths[-1]
        batches = self.epoch(0, 0)
        positions = sum(self.plan.rows_of(length) * length for length, _ in batches)
        chosen = np.array([s for _, rows in batches for row in rows for s in row], dtype=np.int64)
        real = int(self.data.length_N[chosen].sum())
        whole = int(self.blocks_N[chosen].sum()) * self.plan.block_size
        return {
            "samples": self.used,
            "dropped_too_long": self.too_long,
            "dropped_long_prompt": self.data.dropped,
            "tokens": int(self.data.length_N[kept].sum(dtype=np.int64)),
            "answer_tokens": int(self.data.answer_N[kept].sum(dtype=np.int64)),
            "longest": int(self.data.length_N[kept].max()),
            "longest_prompt": int(self.data.prompt_N[kept].max()),
            "batches_an_epoch": len(batches),
            "padding_share": round(1 - whole / positions, 4),
            "filler_share": round((whole - real) / positions, 4),
        }


class BatchStream:
    """Endless training batches; its cursor (epoch, batch) is all a resumed run needs."""

    def __init__(self, packed: PackedSet, seed: int, epoch: int = 0, index: int = 0) -> None:
        self.packed, self.seed, self.epoch, self.index = packed, seed, epoch, index
        self._batches = packed.epoch(seed, epoch)

    def next(self) -> PackedBatch:
        """The next batch; a new epoch is packed and shuffled afresh."""
        if self.index >= len(self._batches):
            self.epoch, self.index = self.epoch + 1, 0
            self._batches = self.packed.epoch(self.seed, self.epoch)
        batch = self.packed.assemble(*self._batches[self.index])
        self.index += 1
        return batch
