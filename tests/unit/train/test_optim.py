"""Schedules, parameter groups, clipping by pathway, the moving average."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from dlmrt.config import ModelConfig, ResidualConfig  # noqa: E402
from dlmrt.models.transformer import Transformer  # noqa: E402
from dlmrt.train.config import OptimConfig  # noqa: E402
from dlmrt.train.optim import (  # noqa: E402
    MovingAverage,
    build_optimizer,
    clip_gradients,
    learning_rate,
    set_learning_rate,
)


@pytest.fixture
def model() -> Transformer:
    net = Transformer(ModelConfig(20, 8, 1, 2, 1, 4, 12, 16, residual=ResidualConfig(2, d_hidden=6)))
    net.initialise(torch.Generator().manual_seed(0))
    return net


def fill_gradients(net: Transformer, main: float, residual: float) -> None:
    for name, weight in net.named_parameters():
        weight.grad = torch.full_like(weight, residual if name.startswith("residual.") else main)


def test_the_rate_rises_stays_and_falls_to_its_end() -> None:
    config = OptimConfig(lr=2.0, warmup=0.1, decay=0.5, final_lr=0.1)
    assert learning_rate(config, 0.0, 0.01) == pytest.approx(0.2)  # step 1 of 100, warm-up over 10
    assert learning_rate(config, 0.04, 0.01) == pytest.approx(1.0)
    assert learning_rate(config, 0.09, 0.01) == pytest.approx(learning_rate(config, 0.5)) == 2.0
    assert learning_rate(config, 0.75) == pytest.approx(2.0 * 0.55)
    assert learning_rate(config, 1.0) == learning_rate(config, 1.7) == pytest.approx(0.2)


def test_cosine_and_constant_schedules() -> None:
    cosine = OptimConfig(lr=1.0, warmup=0.0, decay=1.0, schedule="cosine")
    for x in (0.1, 0.5, 0.8):
        assert learning_rate(cosine, x) == pytest.approx(0.5 + 0.5 * math.cos(math.pi * x))
    constant = OptimConfig(lr=1.0, warmup=0.0, decay=0.5, schedule="constant")
    assert learning_rate(constant, 1.0) == 1.0
    assert learning_rate(OptimConfig(lr=1.0, warmup=0.0, decay=0.0), 1.0) == 1.0


def test_only_matrices_decay_and_the_embedding_only_on_request(model: Transformer) -> None:
    for with_embedding in (False, True):
        optimizer = build_optimizer(model, OptimConfig(decay_embeddings=with_embedding))
        decay = {id(p): g["weight_decay"] for g in optimizer.param_groups for p in g["params"]}
        assert len(decay) == len(list(model.parameters()))
        for name, weight in model.named_parameters():
            expected = weight.ndim == 2 and (with_embedding or "embed_tokens" not in name)
            assert decay[id(weight)] == (0.1 if expected else 0.0), name


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_the_residual_pathway_has_its_own_rate(model: Transformer, kind: str) -> None:
    config = OptimConfig(kind=kind, lr=0.5, muon_lr=0.25, residual_lr_scale=0.1)  # type: ignore[arg-type]
    optimizer = build_optimizer(model, config)
    set_learning_rate(optimizer, 0.5)
    rate = {id(p): g["lr"] for g in optimizer.param_groups for p in g["params"]}
    for name, weight in model.named_parameters():
        hidden_matrix = weight.ndim == 2 and "embed_tokens" not in name
        base = 0.25 if kind == "muon" and hidden_matrix else 0.5
        expected = base * (0.1 if name.startswith("residual.") else 1.0)
        assert rate[id(weight)] == pytest.approx(expected), name


def test_pathways_are_clipped_apart(model: Transformer) -> None:
    fill_gradients(model, main=3.0, residual=1e-4)
    norms = clip_gradients(model, OptimConfig(clip=1.0, residual_clip=1.0))
    assert norms[0] > 1 and 0 < norms[1] < 1
    main = [p.grad for n, p in model.named_parameters() if not n.startswith("residual.")]
    residual = [p.grad for n, p in model.named_parameters() if n.startswith("residual.")]
    assert sum(float((g**2).sum()) for g in main if g is not None) ** 0.5 == pytest.approx(1.0, rel=1e-4)
    assert all(bool((g == 1e-4).all()) for g in residual if g is not None)


def test_clip_zero_leaves_gradients_alone(model: Transformer) -> None:
    fill_gradients(model, main=3.0, residual=2.0)
    assert clip_gradients(model, OptimConfig(clip=0.0, residual_clip=0.0))[0] > 10
    assert all(p.grad is not None and float(p.grad.min()) >= 2.0 for p in model.parameters())


def test_the_moving_average_follows_and_swaps_back_exactly(model: Transformer) -> None:
    average = MovingAverage(model, decay=0.9)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1.0)
    average.update(model)  # the first update keeps min(0.9, 2 / 11) of the old average
    for name, value in average.shadow.items():
        torch.testing.assert_close(value, start[name] + 1 - 2 / 11)
    present = {n: p.detach().clone() for n, p in model.named_parameters()}
    average.swap(model)
    assert all(not torch.equal(p, present[n]) for n, p in model.named_parameters())
    average.swap(model)
    assert all(torch.equal(p, present[n]) for n, p in model.named_parameters())
    for _ in range(200):
        average.update(model)
    torch.testing.assert_close(average.shadow["model.norm.weight"], present["model.norm.weight"])
