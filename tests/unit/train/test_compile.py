"""Compiled layers compute what plain ones do, gradients included, in one graph for all layers and shapes."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from dlmrt.config import ModelConfig, ResidualConfig  # noqa: E402
from dlmrt.models.residual import ResidualInput  # noqa: E402
from dlmrt.models.transformer import Transformer  # noqa: E402
from dlmrt.train.mask import DenseAttend  # noqa: E402
from dlmrt.train.prepare import compile_layers  # noqa: E402

CONFIG = ModelConfig(
    vocab_size=90, d_model=32, n_layers=3, n_heads=2, n_kv_heads=1, head_dim=16, d_ffn=48, max_positions=64,
    residual=ResidualConfig(top_k=4, d_hidden=16),
)  # fmt: skip


def loss_and_gradients(
    model: Transformer, rows: int, length: int, residual: bool
) -> tuple[float, list[torch.Tensor]]:
    generator = torch.Generator().manual_seed(length)
    tokens = torch.randint(90, (rows, length), generator=generator)
    given = None
    if residual:
        ids = torch.randint(90, (rows, length, 4), generator=generator)
        given = ResidualInput(ids, torch.rand((rows, length, 4), generator=generator))
    mask = torch.ones(rows, 1, length, length, dtype=torch.bool).tril()
    model.zero_grad()
    hidden = model(tokens, torch.arange(length).expand(rows, length), DenseAttend(mask), given)
    loss = model.logits(hidden).square().mean()
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.item(), [p.grad.clone() for p in model.parameters() if p.grad is not None]


# Torch warns of itself while it compiles, and the suite turns warnings into errors.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
@pytest.mark.filterwarnings("ignore:.*torch.jit.*is deprecated:DeprecationWarning")
def test_one_graph_for_all_layers_and_shapes_gives_the_same_gradients() -> None:
    from torch._dynamo.utils import counters

    plain, compiled = Transformer(CONFIG), Transformer(CONFIG)
    plain.initialise(torch.Generator().manual_seed(0))
    compiled.load_state_dict(plain.state_dict())
    compile_layers(compiled, "aot_eager")
    counters.clear()
    for rows, length, residual in ((2, 12, False), (3, 17, False), (2, 40, True), (5, 9, True)):
        wanted, found = (loss_and_gradients(m, rows, length, residual) for m in (plain, compiled))
        assert found[0] == pytest.approx(wanted[0], rel=1e-6)
        for a, b in zip(wanted[1], found[1], strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-8)
    assert counters["stats"]["unique_graphs"] == 1
