"""The staircase mask against a rule written out in plain Python, and Flex against dense."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from dlmrt.train.mask import DenseAttend, FlexAttend, Layout, dense_mask  # noqa: E402


def example_layout(size: int = 4) -> Layout:
    """Two samples of 10 and 6 tokens and one pad; two noisy copies of their later blocks."""
    clean = [(0, p, p // size, 0) for p in range(10)] + [(1, p, p // size, 0) for p in range(6)]
    clean.append((-1, 0, 0, 0))
    noisy = [(s, p, b, c) for c in (1, 2) for s, p, b, _ in clean if s >= 0 and b >= 1]
    columns = zip(*(clean + noisy), strict=True)
    return Layout(*(torch.tensor([list(column)]) for column in columns))


def obvious(query: tuple[int, ...], key: tuple[int, ...], clean_attention: str) -> bool:
    (qs, qp, qb, qc), (ks, kp, kb, kc) = query, key
    if query == key:
        return True
    if qs != ks:
        return False
    if kc == 0 and qc == 0:
        return kp <= qp if clean_attention == "causal" else kb <= qb
    if kc == 0:
        return kb < qb
    return qc == kc and qb == kb


@pytest.mark.parametrize("clean_attention", ["block", "causal"])
def test_mask_is_the_obvious_rule(clean_attention: str) -> None:
    layout = example_layout()
    tokens = list(zip(*(x[0].tolist() for x in layout), strict=True))
    mask = dense_mask(layout, clean_attention)[0, 0]
    expected = [[obvious(q, k, clean_attention) for k in tokens] for q in tokens]
    assert mask.tolist() == expected


def test_noisy_block_never_sees_its_own_clean_answer() -> None:
    layout = example_layout()
    mask = dense_mask(layout, "block")[0, 0]
    noisy, clean = layout.copy_BL[0] > 0, layout.copy_BL[0] == 0
    same_block = layout.block_BL[0][:, None] == layout.block_BL[0][None, :]
    same_sample = layout.sample_BL[0][:, None] == layout.sample_BL[0][None, :]
    leak = mask & noisy[:, None] & clean[None, :] & same_block & same_sample
    assert not leak.any()


@pytest.mark.filterwarnings("ignore:.*flex_attention.*without torch.compile")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("clean_attention", ["block", "causal"])
def test_flex_equals_dense(clean_attention: str) -> None:
    layout = example_layout()
    length = layout.sample_BL.shape[1]
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(1, 4, length, 16, generator=generator)
    k = torch.randn(1, 2, length, 16, generator=generator)
    v = torch.randn(1, 2, length, 16, generator=generator)
    dense = DenseAttend(dense_mask(layout, clean_attention))(0, q, k, v)
    flex = FlexAttend(layout, clean_attention, compile=False)(0, q, k, v)
    torch.testing.assert_close(flex, dense, rtol=1e-5, atol=1e-5)
