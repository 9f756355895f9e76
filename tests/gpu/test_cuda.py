"""What needs an NVIDIA GPU: compiled FlexAttention with gradients, and the eager loop on the device."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from dlmrt.decode.eager import EagerBackend  # noqa: E402
from dlmrt.rows import RowRequest  # noqa: E402
from dlmrt.train.mask import DenseAttend, FlexAttend, Layout, dense_mask  # noqa: E402
from tests.helpers import random_weights, tiny_config, tiny_diffusion, torch_model  # noqa: E402

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("clean_attention", ["block", "causal"])
def test_flex_equals_dense_forward_and_backward(clean_attention: str) -> None:
    size, length = 32, 256
    position = torch.arange(length, device="cuda").repeat(2)
    copy = torch.arange(2, device="cuda").repeat_interleave(length)
    layout = Layout(torch.zeros_like(position)[None], position[None], position[None] // size, copy[None])
    generator = torch.Generator("cuda").manual_seed(0)
    base = [torch.randn(1, heads, 2 * length, 32, device="cuda", generator=generator) for heads in (4, 2, 2)]
    results = []
    for attend in (
        DenseAttend(dense_mask(layout, clean_attention)),
        FlexAttend(layout, clean_attention),
    ):
        q, k, v = (x.clone().requires_grad_() for x in base)
        out = attend(0, q, k, v)
        out.square().sum().backward()
        results.append((out, q.grad, k.grad, v.grad))
    for dense, flex in zip(*results, strict=True):
        torch.testing.assert_close(flex, dense, rtol=2e-3, atol=2e-3)


def test_eager_loop_on_the_gpu_gives_the_cpu_tokens() -> None:
    config, diffusion = tiny_config(), tiny_diffusion()
    weights = random_weights(config, 0)
    requests = [RowRequest(tuple(range(7, 7 + n)), 9) for n in (1, 4, 9)]
    outputs = []
    for device in ("cpu", "cuda"):
        model = torch_model(config, weights).to(device)
        outputs.append(EagerBackend(model, diffusion, device=device).generate(requests))
    assert [o.ids for o in outputs[0]] == [o.ids for o in outputs[1]]
