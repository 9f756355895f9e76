"""The cache's views of attention against a dense mask over everything, row by row."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor

from dlmrt.config import CleanAttention, ModelConfig
from dlmrt.decode.kv_cache import CachedAttention, KVCache
from tests.helpers import tiny_config

BLOCK, CAPACITY = 4, 24
LAYER = 1


def new_cache(config: ModelConfig, batch: int) -> KVCache:
    return KVCache(config, batch, CAPACITY, device=torch.device("cpu"), dtype=torch.float32)


class Row:
    """One row's keys and values for every position, and attention over them by a dense mask."""

    def __init__(self, config: ModelConfig, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.group = config.n_heads // config.n_kv_heads
        self.q = torch.randn(config.n_heads, CAPACITY, config.head_dim, generator=generator)
        self.k, self.v = torch.randn(2, config.n_kv_heads, CAPACITY, config.head_dim, generator=generator)

    def attend(self, first: int, last: int, sees: Tensor) -> Tensor:
        """Outputs of queries ``first .. last - 1``; sees [query, key] over positions < last."""
        k, v = (x[:, :last].repeat_interleave(self.group, dim=0) for x in (self.k, self.v))
        scores = self.q[:, first:last] @ k.transpose(1, 2) * self.q.shape[-1] ** -0.5
        return scores.masked_fill(~sees, float("-inf")).softmax(-1) @ v


def batch(rows: list[Row], spans: list[tuple[int, int]]) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of a span of each row, padded on the right with large rubbish."""
    longest = max(last - first for first, last in spans)

    def gather(name: str) -> Tensor:
        parts = []
        for row, (first, last) in zip(rows, spans, strict=True):
            part = getattr(row, name)[:, first:last]
            pad = torch.full((part.shape[0], longest - part.shape[1], part.shape[2]), 50.0)
            parts.append(torch.cat((part, pad), dim=1))
        return torch.stack(parts)

    return gather("q"), gather("k"), gather("v")


def call(attend: CachedAttention, rows: list[Row], spans: list[tuple[int, int]]) -> list[Tensor]:
    out = attend(LAYER, *batch(rows, spans))
    return [out[i, :, : last - first] for i, (first, last) in enumerate(spans)]


def clean_mask(length: int, clean: CleanAttention) -> Tensor:
    place = torch.arange(length) // (BLOCK if clean == "block" else 1)
    return place[:, None] >= place


@pytest.mark.parametrize("clean", ["block", "causal"])
@pytest.mark.parametrize("lengths", [[8, 8, 8], [4, 12, 8], [4], [12]])
def test_b15_prefill_of_uneven_rows_is_each_row_alone(clean: CleanAttention, lengths: list[int]) -> None:
    config = tiny_config()
    rows = [Row(config, seed) for seed in range(len(lengths))]
    got = call(
        new_cache(config, len(rows)).prefill(lengths, BLOCK, clean), rows, [(0, length) for length in lengths]
    )
    for row, length, out in zip(rows, lengths, got, strict=True):
        assert torch.allclose(out, row.attend(0, length, clean_mask(length, clean)), atol=1e-5)


@pytest.mark.parametrize("clean", ["block", "causal"])
@pytest.mark.parametrize("starts", [[8, 8, 8], [4, 12, 8], [0, 12, 4], [0, 0, 0]])
def test_b16_canvas_and_commit_see_the_committed_tokens_of_their_row(
    clean: CleanAttention, starts: list[int]
) -> None:
    config = tiny_config()
    rows = [Row(config, seed) for seed in range(3)]
    cache = new_cache(config, 3)
    filled = [i for i in range(3) if starts[i]]
    if filled:
        spans = [(0, starts[i]) for i in filled]
        call(
            cache.prefill([starts[i] for i in filled], BLOCK, clean, filled), [rows[i] for i in filled], spans
        )
    spans = [(start, start + BLOCK) for start in starts]
    everything = [torch.ones(BLOCK, start + BLOCK, dtype=torch.bool) for start in starts]
    stored = [store.clone() for store in (*cache.keys, *cache.values)]
    for row, span, sees, out in zip(
        rows, spans, everything, call(cache.canvas(starts, BLOCK), rows, spans), strict=True
    ):
        assert torch.allclose(out, row.attend(*span, sees), atol=1e-5)
    assert all(torch.equal(a, b) for a, b in zip(stored, (*cache.keys, *cache.values), strict=True))

    # Rows 0 and 2 commit and go on; row 1 stays where it is.
    committing = [0, 2]
    attend = cache.append([starts[i] for i in committing], BLOCK, clean, committing)
    got = call(attend, [rows[i] for i in committing], [spans[i] for i in committing])
    for i, out in zip(committing, got, strict=True):
        sees = clean_mask(starts[i] + BLOCK, clean)[starts[i] :]
        assert torch.allclose(out, rows[i].attend(*spans[i], sees), atol=1e-5)
    later = [starts[0] + BLOCK, starts[1], starts[2] + BLOCK]
    spans = [(start, start + BLOCK) for start in later]
    for row, span, out in zip(rows, spans, call(cache.canvas(later, BLOCK), rows, spans), strict=True):
        assert torch.allclose(out, row.attend(*span, torch.ones(BLOCK, span[1], dtype=torch.bool)), atol=1e-5)


def test_b15_keep_drops_rows_and_moves_the_others() -> None:
    config = tiny_config()
    rows = [Row(config, seed) for seed in range(4)]
    cache = new_cache(config, 4)
    call(cache.prefill([4, 8, 12, 4], BLOCK, "block"), rows, [(0, 4), (0, 8), (0, 12), (0, 4)])
    cache.keep([1, 3])
    assert cache.batch == 2
    spans = [(8, 12), (4, 8)]
    for row, span, out in zip(
        (rows[1], rows[3]), spans, call(cache.canvas([8, 4], BLOCK), [rows[1], rows[3]], spans), strict=True
    ):
        assert torch.allclose(out, row.attend(*span, torch.ones(4, span[1], dtype=torch.bool)), atol=1e-5)


@pytest.mark.parametrize("cuts", [[0, 5, 6, 7, 11], [0, 1, 4, 12]])
def test_causal_append_in_pieces_is_one_causal_forward(cuts: list[int]) -> None:
    config = tiny_config()
    row = Row(config, 0)
    cache = new_cache(config, 1)
    for first, last in pairwise(cuts):
        (out,) = call(cache.append([first], last - first, "causal"), [row], [(first, last)])
        sees = clean_mask(last, "causal")[first:]
        assert torch.allclose(out, row.attend(first, last, sees), atol=1e-5)
    # A rejected draft leaves rubbish behind; the next forward starts before it and overwrites it.
    end = cuts[-1]
    call(cache.append([end], 3, "causal"), [Row(config, 9)], [(end, end + 3)])
    (out,) = call(cache.append([end], 4, "causal"), [row], [(end, end + 4)])
    assert torch.allclose(out, row.attend(end, end + 4, clean_mask(end + 4, "causal")[end:]), atol=1e-5)


def test_views_of_even_rows_need_no_mask() -> None:
    cache = new_cache(tiny_config(), 2)
    assert cache.canvas([8, 8], BLOCK).bias is None
    assert cache.append([8, 8], BLOCK, "block").bias is None
    assert cache.append([8], 1, "causal").bias is None
    assert cache.canvas([8, 4], BLOCK).bias is not None
