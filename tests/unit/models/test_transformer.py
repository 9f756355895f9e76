"""The transformer's own behaviour: shapes, rotary positions, who the attend callable isolates."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from dlmrt.config import ModelConfig, ResidualConfig  # noqa: E402
from dlmrt.models.residual import ResidualInput  # noqa: E402
from dlmrt.models.transformer import Transformer, rotary_tables, rotate  # noqa: E402
from dlmrt.train.mask import DenseAttend  # noqa: E402


def config(**changes: object) -> ModelConfig:
    values: dict[str, object] = {
        "vocab_size": 31, "d_model": 32, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "head_dim": 8,
        "d_ffn": 40, "max_positions": 64, "residual": ResidualConfig(top_k=3, d_hidden=16),
    }  # fmt: skip
    return ModelConfig(**{**values, **changes})  # type: ignore[arg-type]


def build(**changes: object) -> Transformer:
    net = Transformer(config(**changes))
    net.initialise(torch.Generator().manual_seed(0))
    return net


def everyone(length: int) -> DenseAttend:
    return DenseAttend(torch.ones(1, 1, length, length, dtype=torch.bool))


def test_parameter_names_follow_the_published_checkpoints() -> None:
    names = set(dict(build(qk_norm=True, tie_embeddings=False).named_parameters()))
    layer = "model.layers.1."
    assert {
        "model.embed_tokens.weight", "model.norm.weight", "lm_head.weight", "residual.norm.weight",
        "residual.gate_proj.weight", "residual.up_proj.weight", "residual.down_proj.weight",
        layer + "input_layernorm.weight", layer + "post_attention_layernorm.weight",
        layer + "self_attn.q_proj.weight", layer + "self_attn.k_norm.weight", layer + "mlp.down_proj.weight",
    } <= names  # fmt: skip
    assert "lm_head.weight" not in dict(build().named_parameters())


@pytest.mark.parametrize("fraction", [1.0, 0.5])
def test_rotary_scores_depend_on_distance_only(fraction: float) -> None:
    cfg = config(rotary_fraction=fraction)
    q, k = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)

    def score(at: int, to: int) -> torch.Tensor:
        place = [rotary_tables(cfg, torch.tensor([[p]])) for p in (at, to)]
        return (rotate(q, *place[0]) * rotate(k, *place[1])).sum()

    torch.testing.assert_close(score(3, 10), score(23, 30))
    assert not torch.isclose(score(3, 10), score(3, 11))
    untouched = rotate(q, *rotary_tables(cfg, torch.tensor([[5]])))[..., cfg.rotary_dim :]
    assert torch.equal(untouched, q[..., cfg.rotary_dim :])


def test_positions_matter_and_batch_rows_do_not_mix() -> None:
    net = build()
    tokens = torch.randint(0, 31, (2, 6), generator=torch.Generator().manual_seed(1))
    positions = torch.arange(6).expand(2, 6)
    both = net(tokens, positions, everyone(6))
    alone = net(tokens[1:], positions[1:], everyone(6))
    torch.testing.assert_close(both[1:], alone, rtol=1e-5, atol=1e-6)
    stretched = net(tokens, positions * 2, everyone(6))
    assert (stretched - both).abs().max() > 1e-4


def test_untrained_residual_changes_nothing_and_empty_residual_never_does() -> None:
    net = build()
    tokens, positions = torch.arange(5)[None], torch.arange(5)[None]
    plain = net(tokens, positions, everyone(5))
    ids = torch.randint(0, 31, (1, 5, 3))
    believed = ResidualInput(ids, torch.full((1, 5, 3), 0.3))
    assert torch.equal(net(tokens, positions, everyone(5), believed), plain)
    assert net.residual is not None
    torch.nn.init.normal_(net.residual.down_proj.weight)
    assert torch.equal(net(tokens, positions, everyone(5), ResidualInput(ids, torch.zeros(1, 5, 3))), plain)
    assert (net(tokens, positions, everyone(5), believed) - plain).abs().max() > 1e-4


def test_whole_vocabulary_residual_equals_top_k_of_everything() -> None:
    whole, top = build(residual=ResidualConfig(top_k=None)), build(residual=ResidualConfig(top_k=30))
    for net in (whole, top):
        assert net.residual is not None
        torch.nn.init.normal_(net.residual.down_proj.weight, generator=torch.Generator().manual_seed(2))
    probs = torch.rand(1, 4, 31).softmax(-1)
    probs[..., 30] = 0
    ids = torch.arange(31).expand(1, 4, 31)
    table = whole.model.embed_tokens.weight
    assert whole.residual is not None and top.residual is not None
    got = whole.residual(ResidualInput(ids, probs), table)
    kept = top.residual(ResidualInput(ids[..., :30].flip(-1), probs[..., :30].flip(-1)), table)
    torch.testing.assert_close(got, kept, rtol=1e-4, atol=1e-5)


def test_logits_are_float32_whatever_the_weights() -> None:
    net = build().to(torch.bfloat16)
    hidden = net(torch.arange(4)[None], torch.arange(4)[None], everyone(4))
    assert hidden.dtype == torch.bfloat16
    assert net.logits(hidden).dtype == torch.float32
