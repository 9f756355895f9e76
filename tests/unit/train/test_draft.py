"""Drafts of a whole batch are those that decoding finds block by block."""

from __future__ import annotations

import dataclasses

import pytest

torch = pytest.importorskip("torch")

from dlmrt.lookup import block_draft  # noqa: E402
from dlmrt.models.transformer import Transformer  # noqa: E402
from dlmrt.train.draft import prompt_drafts  # noqa: E402
from dlmrt.train.objective import PackedBatch, compute_loss, noisy_stream  # noqa: E402
from dlmrt.train.objective_config import ObjectiveConfig  # noqa: E402
from tests.unit.train.test_objective import DIFFUSION, S, V, generator, model, pack  # noqa: E402

# Some prompts end inside a block, some on an edge; few different tokens, so that much is found.
SAMPLES = [(7, 13), (8, 9), (3, 30), (12, 2), (1, 11)]


def batch(seed: int) -> PackedBatch:
    found = pack(SAMPLES, 128, seed)
    return found._replace(
        tokens_BL=torch.where(found.tokens_BL > 2, 3 + found.tokens_BL % 4, found.tokens_BL)
    )


def loss(net: Transformer, packed: PackedBatch, config: ObjectiveConfig) -> float:
    return compute_loss(net, packed, config, DIFFUSION, generator=generator()).total.item()


def one_by_one(packed: PackedBatch) -> list[int]:
    """The definition, from lists."""
    tokens, sample = packed.tokens_BL[0].tolist(), packed.sample_BL[0].tolist()
    out = [-1] * len(tokens)
    for index, (prompt_len, answer_len) in enumerate(SAMPLES):
        base = sample.index(index)
        prompt = tokens[base : base + prompt_len]
        for start in range(0, prompt_len + answer_len, S):
            first = max(start, prompt_len)
            if first < start + S:
                draft = block_draft(prompt, tokens[base + prompt_len : base + first], start + S - first)
                out[base + first : base + first + len(draft)] = draft
    return out


def test_they_are_those_that_decoding_finds() -> None:
    later = 0  # positions of blocks that don't begin the answer
    for seed in range(40):
        packed = batch(seed)
        expected = one_by_one(packed)
        assert prompt_drafts(packed, S)[0].tolist() == expected
        later += sum(token >= 0 and place % 128 > 40 for place, token in enumerate(expected))
    assert later > 200


def test_only_wholly_noised_blocks_have_one() -> None:
    config = ObjectiveConfig(full_noise=0.5, draft_probability=1.0)
    stream = noisy_stream(batch(0), config, DIFFUSION, V, generator())
    assert stream.draft_BM is not None
    drafted = stream.draft_BM >= 0
    assert drafted.any() and not (drafted & ~stream.open_BM).any()
    left = stream.scored_BM.logical_not() & (stream.targets_BM != DIFFUSION.pad_token_id)
    copies, blocks, samples = stream.layout.copy_BL, stream.layout.block_BL, stream.layout.sample_BL
    for copy, block, sample in {
        (int(c), int(b), int(s))
        for c, b, s, d in zip(copies[0], blocks[0], samples[0], drafted[0], strict=True)
        if d
    }:
        inside = (copies == copy) & (blocks == block) & (samples == sample)
        prompt_len = SAMPLES[sample][0]
        assert not (left & inside & (stream.layout.position_BL >= prompt_len)).any()


def test_they_change_the_loss_and_nothing_that_was_drawn_before() -> None:
    plain = ObjectiveConfig(full_noise=0.5, residual_probability=0.0, ar_weight=0.0)
    net, packed = model(), batch(0)
    drafted = dataclasses.replace(plain, draft_probability=1.0)
    losses = [loss(net, packed, config) for config in (plain, drafted)]
    assert losses[0] != losses[1]
    streams = [noisy_stream(packed, config, DIFFUSION, V, generator()) for config in (plain, drafted)]
    assert streams[0].draft_BM is None
    assert torch.equal(streams[0].open_BM, streams[1].open_BM)


def test_the_first_pass_sees_them() -> None:
    config = ObjectiveConfig(full_noise=1.0, residual_probability=1.0, ar_weight=0.0, complementary=False)
    net, packed = model(), batch(0)
    drafted = dataclasses.replace(config, draft_probability=1.0)
    losses = [loss(net, packed, each) for each in (config, drafted)]
    assert losses[0] != losses[1]
