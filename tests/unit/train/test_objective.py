"""The objective: what is noised, what is scored, who influences whom, and equality with serving."""

from __future__ import annotations

import dataclasses

import pytest

torch = pytest.importorskip("torch")

from dlmrt.config import DiffusionConfig, ModelConfig, ResidualConfig  # noqa: E402
from dlmrt.errors import ConfigError  # noqa: E402
from dlmrt.models.residual import ResidualInput  # noqa: E402
from dlmrt.models.transformer import Transformer  # noqa: E402
from dlmrt.train import objective  # noqa: E402
from dlmrt.train.mask import DenseAttend, Layout, dense_mask  # noqa: E402
from dlmrt.train.objective import (  # noqa: E402
    PackedBatch,
    compute_loss,
    draw_noise,
    noisy_stream,
)
from dlmrt.train.objective_config import ObjectiveConfig  # noqa: E402

V, S, EOS, MASK, PAD = 41, 4, 0, 1, 2
DIFFUSION = DiffusionConfig(S, "mask", MASK, (EOS,), PAD)


def model(clean_attention: str = "block") -> Transformer:
    config = ModelConfig(
        vocab_size=V, d_model=32, n_layers=2, n_heads=4, n_kv_heads=2, head_dim=8, d_ffn=48,
        max_positions=64, clean_attention=clean_attention, residual=ResidualConfig(top_k=3, d_hidden=16),
    )  # fmt: skip
    net = Transformer(config)
    generator = torch.Generator().manual_seed(3)
    net.initialise(generator)
    with torch.no_grad():  # a spread that makes predictions differ, and a residual that matters
        for weight in net.parameters():
            if weight.ndim == 2:
                weight.normal_(0, 0.15, generator=generator)
    return net


def pack(samples: list[tuple[int, int]], length: int, seed: int = 0) -> PackedBatch:
    """One row of samples given as (prompt length, answer length incl. EOS)."""
    generator = torch.Generator().manual_seed(seed)
    tokens, positions, sample, answer, filler = [], [], [], [], []
    for index, (prompt, reply) in enumerate(samples):
        total = -(-(prompt + reply) // S) * S
        ids = torch.randint(3, V, (total,), generator=generator).tolist()
        ids[prompt + reply - 1] = EOS
        ids[prompt + reply :] = [PAD] * (total - prompt - reply)
        tokens += ids
        positions += list(range(total))
        sample += [index] * total
        answer += [prompt <= p < prompt + reply for p in range(total)]
        filler += [p >= prompt + reply for p in range(total)]
    gap = length - len(tokens)
    columns = (tokens + [PAD] * gap, positions + [0] * gap, sample + [-1] * gap)
    flags = (answer + [False] * gap, filler + [False] * gap)
    return PackedBatch(*(torch.tensor([c]) for c in columns), *(torch.tensor([f]) for f in flags))


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def draw(config: ObjectiveConfig, rows: int = 4, block: int = S) -> list[torch.Tensor]:
    place = torch.arange(64).expand(rows, 64)
    depth = (place % block + 0.5) / block
    return draw_noise(torch.ones(rows, 64, dtype=torch.bool), place // block, depth, config, generator())


def test_complementary_copies_partition_the_answer() -> None:
    first, second = draw(ObjectiveConfig(full_noise=0.0))
    assert (first ^ second).all()
    assert 0.2 < first.float().mean() < 0.8


def test_full_noise_blocks_are_whole_and_their_partner_draws_its_own() -> None:
    config = ObjectiveConfig(full_noise=1.0)
    assert all(copy.all() for copy in draw(config))
    first, second = draw(ObjectiveConfig(full_noise=0.5), rows=16)
    whole = first.reshape(16, -1, S).all(-1)
    assert 0.3 < whole.float().mean() < 0.9
    assert 0.05 < second.reshape(16, -1, S)[whole].float().mean() < 0.95


def test_suffix_noise_takes_the_last_positions_of_a_block() -> None:
    config = ObjectiveConfig(full_noise=0.0, suffix_noise=1.0)
    for copy in draw(config, rows=32, block=16):
        blocks = copy.reshape(-1, 16).int()
        assert (blocks.diff(dim=-1) >= 0).all()
        assert blocks.sum(-1).float().std() > 3  # a level each


def test_one_noise_level_per_block() -> None:
    config = ObjectiveConfig(copies=1, complementary=False, full_noise=0.0)
    (noised,) = draw(config, rows=64, block=32)
    share = noised.float().reshape(64, 2, 32).mean(-1)
    assert share.std() > 0.2  # independent positions at one level would give about 0.09


def test_b26_padding_and_tokens_after_eos_are_never_scored() -> None:
    batch = pack([(3, 6), (5, 2)], 32)
    config = ObjectiveConfig(full_noise=1.0, residual_probability=0.0)
    stream = noisy_stream(batch, config, DIFFUSION, V, generator())
    assert not (stream.scored_BM & (stream.targets_BM == PAD)).any()
    assert (stream.layout.sample_BL[stream.scored_BM] >= 0).all()
    first_copy = stream.layout.copy_BL == 1
    assert int((stream.scored_BM & first_copy).sum()) == 6 + 2
    changed = batch._replace(tokens_BL=torch.where(batch.filler_BL, 17, batch.tokens_BL))
    net = model()
    for_each = [
        compute_loss(net, b, ObjectiveConfig(ar_weight=0.0), DIFFUSION, generator=generator(5))
        for b in (batch, changed)
    ]
    assert torch.equal(for_each[0].total, for_each[1].total)
    assert torch.equal(for_each[0].weight, for_each[1].weight)


@pytest.mark.parametrize("clean_attention", ["block", "causal"])
def test_packed_samples_do_not_see_each_other(clean_attention: str) -> None:
    net = model(clean_attention)
    alone = pack([(3, 6)], 12)
    both = pack([(3, 6), (6, 5)], 24)
    config = ObjectiveConfig(full_noise=1.0, copies=1, complementary=False, residual_probability=0.0)

    def logits(batch: PackedBatch, other: int = 0) -> torch.Tensor:
        tokens = batch.tokens_BL.clone()
        tokens[batch.sample_BL == 1] = (tokens[batch.sample_BL == 1] + other) % V
        batch = batch._replace(tokens_BL=tokens)
        stream = noisy_stream(batch, config, DIFFUSION, V, generator())
        block = batch.positions_BL // S
        clean = Layout(batch.sample_BL, batch.positions_BL, block, torch.zeros_like(block))
        layout = Layout(*(torch.cat(p, 1) for p in zip(clean, stream.layout, strict=True)))
        tokens = torch.cat((batch.tokens_BL, stream.tokens_BM), 1)
        hidden = net(tokens, layout.position_BL, DenseAttend(dense_mask(layout, clean_attention)))
        return net.logits(hidden)[layout.sample_BL == 0]

    torch.testing.assert_close(logits(both), logits(alone), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(logits(both, other=1), logits(both), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("clean_attention", ["block", "causal"])
def test_b25_training_logits_equal_the_serving_forward(clean_attention: str) -> None:
    """A noisy copy of block b = a canvas forward after b committed clean blocks."""
    net = model(clean_attention)
    batch = pack([(6, 7)], 16)
    config = ObjectiveConfig(full_noise=1.0, copies=1, complementary=False)
    stream = noisy_stream(batch, config, DIFFUSION, V, generator())
    block = batch.positions_BL // S
    clean = Layout(batch.sample_BL, batch.positions_BL, block, torch.zeros_like(block))
    layout = Layout(*(torch.cat(p, 1) for p in zip(clean, stream.layout, strict=True)))
    tokens = torch.cat((batch.tokens_BL, stream.tokens_BM), 1)
    ids = torch.randint(3, V, (*tokens.shape, 3), generator=generator(1))
    probs = torch.rand(*tokens.shape, 3, generator=generator(2)) / 3
    probs[:, : batch.tokens_BL.shape[1]] = 0
    packed = net(
        tokens,
        layout.position_BL,
        DenseAttend(dense_mask(layout, clean_attention)),
        ResidualInput(ids, probs),
    )
    for b in (1, 2, 3):
        start = b * S
        canvas = (layout.copy_BL[0] == 1) & (layout.block_BL[0] == b)
        sequence = torch.cat((batch.tokens_BL[:, :start], tokens[:, canvas]), 1)
        position = torch.arange(start + S)
        sees = position[:, None] >= position[None, :]
        if clean_attention == "block":
            sees = position[:, None] // S >= position[None, :] // S
        sees[start:] = True
        pad = torch.zeros(1, start, 3)
        residual = ResidualInput(
            torch.cat((pad.long(), ids[:, canvas]), 1), torch.cat((pad, probs[:, canvas]), 1)
        )
        alone = net(sequence, position[None], DenseAttend(sees[None, None]), residual)
        torch.testing.assert_close(packed[:, canvas], alone[:, start:], rtol=1e-4, atol=1e-5)


def test_uniform_noise_draws_allowed_ids_only() -> None:
    diffusion = DiffusionConfig(S, "uniform", MASK, (EOS,), PAD, reserved_ids=(7,))
    batch = pack([(4, 12)] * 8, 128)
    stream = noisy_stream(batch, ObjectiveConfig(full_noise=1.0), diffusion, V, generator())
    noise = stream.tokens_BM[stream.open_BM]
    assert not ((noise == MASK) | (noise == 7)).any()
    assert len(noise.unique()) > 20


def test_uniform_noise_scores_decided_positions_too() -> None:
    diffusion = DiffusionConfig(S, "uniform", None, (EOS,), PAD, reserved_ids=(7,))
    batch = pack([(3, 6), (5, 2)], 32)
    config = ObjectiveConfig(full_noise=0.0, t_max=0.3)
    for kind, all_of_a_copy in ((diffusion, True), (DIFFUSION, False)):
        stream = noisy_stream(batch, config, kind, V, generator())
        counts = [int(stream.scored_BM[stream.layout.copy_BL == copy].sum()) for copy in (1, 2)]
        assert (counts == [8, 8]) == all_of_a_copy
        assert all_of_a_copy or sum(counts) == 8
        assert not (stream.scored_BM & (stream.targets_BM == PAD)).any()


@pytest.mark.parametrize("answers", ["none", "all clean"])
@pytest.mark.parametrize("clean_attention", ["block", "causal"])
def test_a_batch_without_scored_tokens_has_loss_zero(answers: str, clean_attention: str) -> None:
    net, batch = model(clean_attention), pack([(3, 5), (6, 2)], 16)
    config = ObjectiveConfig(copies=1, complementary=False, full_noise=0.0, t_max=1e-9)
    config = dataclasses.replace(config, residual_probability=1.0)
    if answers == "none":
        batch = batch._replace(answer_BL=torch.zeros_like(batch.answer_BL))
    out = compute_loss(net, batch, config, DIFFUSION, generator=generator())
    out.total.backward()  # type: ignore[no-untyped-call]
    assert float(out.weight) == 1 and out.parts["diffusion"] == 0 and out.parts["accuracy"] == 0
    assert (out.parts["ar"] == 0) == (answers == "none") and bool(out.total.isfinite())
    gradients = [weight.grad for weight in net.parameters() if weight.grad is not None]
    assert gradients and all(bool(g.isfinite().all()) for g in gradients)


@pytest.mark.parametrize("clean_attention", ["block", "causal"])
def test_every_weight_gets_a_gradient_under_autocast_after_a_first_pass(
    clean_attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first pass casts without a graph must not serve the second one."""
    net, batch = model(clean_attention), pack([(3, 6), (5, 2)], 32)
    cleared = []
    clear = torch.clear_autocast_cache
    monkeypatch.setattr(torch, "clear_autocast_cache", lambda: (cleared.append(1), clear()))
    config = ObjectiveConfig(residual_probability=1.0)
    with torch.autocast("cpu", torch.bfloat16):
        out = compute_loss(net, batch, config, DIFFUSION, generator=generator())
    assert cleared  # by us: not every torch version needs it
    out.total.backward()  # type: ignore[no-untyped-call]
    without = [n for n, w in net.named_parameters() if w.grad is None or not bool(w.grad.any())]
    assert without == []


def test_both_forwards_use_the_configured_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def flex(layout: Layout, clean_attention: str) -> DenseAttend:
        seen.append(clean_attention)
        return DenseAttend(dense_mask(layout, clean_attention))

    monkeypatch.setattr(objective, "FlexAttend", flex)
    config = ObjectiveConfig(attention="flex", residual_probability=0.0)
    compute_loss(model(), pack([(3, 6)], 12), config, DIFFUSION, generator=generator())
    assert seen == ["block", "causal"]


def test_ar_loss_is_next_token_loss_over_the_answer() -> None:
    net = model("causal")
    batch = pack([(3, 6)], 12)
    out = compute_loss(net, batch, ObjectiveConfig(), DIFFUSION, generator=generator())
    position = torch.arange(12)
    causal = DenseAttend((position[:, None] >= position[None, :])[None, None])
    logits = net.logits(net(batch.tokens_BL, position[None], causal))
    expected = torch.nn.functional.cross_entropy(logits[0, 2:8], batch.tokens_BL[0, 3:9])
    torch.testing.assert_close(out.parts["ar"], expected)


def test_no_gradient_flows_through_the_residual_source() -> None:
    net = model()
    ids = torch.randint(3, V, (1, 4, 3), generator=generator())
    probs = torch.rand(1, 4, 3, generator=generator(), requires_grad=True)
    assert net.residual is not None
    net.residual(ResidualInput(ids, probs), net.model.embed_tokens.weight).sum().backward()
    assert probs.grad is None
    assert net.model.embed_tokens.weight.grad is None
    assert net.residual.down_proj.weight.grad is not None


def test_same_generator_same_loss_and_other_seed_differs() -> None:
    net, batch = model(), pack([(3, 6), (2, 9)], 32)
    one, two, other = (
        compute_loss(net, batch, ObjectiveConfig(), DIFFUSION, generator=generator(s)).total
        for s in (1, 1, 2)
    )
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


@pytest.mark.parametrize(
    "bad", [{"copies": 3}, {"copies": 0, "complementary": False}, {"t_min": 0.8, "t_max": 0.5},
            {"full_noise": 1.5}, {"ar_weight": -1.0}, {"suffix_noise": -0.1},
            {"full_noise": 0.6, "suffix_noise": 0.5}],
)  # fmt: skip
def test_bad_options_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        ObjectiveConfig(**bad)
