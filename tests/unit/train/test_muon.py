"""Muon's orthogonalisation, and AdamW inside it against torch's own."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from dlmrt.train.muon import MuonAdamW, orthogonalise  # noqa: E402


@pytest.mark.parametrize("shape", [(24, 24), (16, 48), (48, 16)])
def test_orthogonalise_brings_singular_values_near_one(shape: tuple[int, int]) -> None:
    matrix = torch.randn(3, *shape, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonalise(matrix).float())
    assert values.quantile(0.15) > 0.5 and values.max() < 1.4
    before = torch.linalg.svdvals(matrix)
    assert before.max() > 3 and before.quantile(0.15) > 0  # far from orthogonal before


def test_adamw_group_equals_torch() -> None:
    start = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    ours, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    mine = MuonAdamW([{"params": [ours], "weight_decay": 0.1}], lr=1e-2, betas=(0.9, 0.95), eps=1e-8)
    reference = torch.optim.AdamW([theirs], lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    for step in range(5):
        gradient = torch.randn(5, 3, generator=torch.Generator().manual_seed(step))
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        mine.step()
        reference.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_muon_lowers_a_matrix_loss_and_its_state_survives_a_round_trip() -> None:
    target = torch.randn(12, 8, generator=torch.Generator().manual_seed(2))

    def run(switch: bool) -> torch.Tensor:
        weight = torch.nn.Parameter(torch.zeros(12, 8))
        optimizer = make(weight)
        for step in range(20):
            if switch and step == 10:
                saved = optimizer.state_dict()
                optimizer = make(weight)
                optimizer.load_state_dict(saved)
            optimizer.zero_grad()
            (weight - target).square().sum().backward()
            optimizer.step()
        return weight.detach()

    def make(weight: torch.nn.Parameter) -> MuonAdamW:
        return MuonAdamW([{"params": [weight], "kind": "muon"}], lr=0.1, betas=(0.9, 0.95), eps=1e-8)

    result = run(switch=False)
    assert (result - target).square().sum() < 0.3 * target.square().sum()
    assert torch.equal(run(switch=True), result)
