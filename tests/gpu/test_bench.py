"""The benchmark on a GPU: rates by events, weights made on the device, phases told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from dlmrt.bench.harness import FloorRow, run_bench  # noqa: E402
from dlmrt.bench.memory import free_bytes  # noqa: E402
from dlmrt.bench.plan import BenchPlan  # noqa: E402
from dlmrt.bench.random_model import RandomModel, open_random, read_shape  # noqa: E402
from dlmrt.bench.rates import measure_torch  # noqa: E402
from dlmrt.engine.arms import Place, parse_arms  # noqa: E402
from dlmrt.errors import RequestError  # noqa: E402
from dlmrt.models.weights import count_parameters  # noqa: E402
from dlmrt.results.files import read_result, write_result  # noqa: E402
from tests.bench_support import suite  # noqa: E402

pytestmark = pytest.mark.gpu

CUDA = Place(backend="eager", device="cuda")
SHAPE = (
    "d_model=256,n_layers=4,n_heads=4,n_kv_heads=2,d_ffn=512,vocab_size=4096,max_positions=512,qk_norm=true"
)


def test_rates_are_those_of_a_gpu() -> None:
    rates = measure_torch(torch.device("cuda:0"), torch.bfloat16)
    assert rates.bandwidth > 50e9
    assert rates.matrix > 1e12
    assert "bfloat16 on cuda:0, CUDA events" in rates.how


def test_a_bench_of_random_weights(tmp_path: Path) -> None:
    model = RandomModel("custom", read_shape(SHAPE)[1], block_size=32, per_step=4)
    plan = BenchPlan(
        suites=(suite("the first prompt of this suite", "and a second one"),),
        arms=parse_arms(["diffusion", "ar", "lookup"], CUDA, {}),
        batches=(1, 2),
        lengths=(64,),
        repeats=2,
        random=model,
    )
    floors: list[FloorRow] = []
    result = run_bench(plan, on_floors=floors.extend)
    assert len(floors) == len(result.speeds) == 6
    weights = 2 * count_parameters(model.config)
    for cell in result.speeds:
        assert (cell.backend.name, cell.backend.device, cell.backend.dtype) == ("eager", "cuda:0", "bfloat16")
        assert [prompt.tokens for prompt in cell.prompts] == [64, 64]
        if cell.arm == "diffusion":
            assert [prompt.denoise_forwards for prompt in cell.prompts] == [16, 16]
        assert cell.percent_of_floor is not None
        assert cell.percent_of_floor > 0
        assert cell.peak_memory_bytes is not None
        assert cell.peak_memory_bytes >= weights
        assert cell.phases is not None
        parts = (cell.phases.prefill, cell.phases.denoise, cell.phases.commit)
        assert all(part is not None for part in parts)
        assert cell.tokens_per_second is not None
        assert cell.tokens_per_second_decode is not None
        assert cell.tokens_per_second_decode.median > cell.tokens_per_second.median
    assert result.hardware != "unknown-gpu"
    assert read_result(write_result(result, tmp_path)) == result


def test_weights_are_made_on_the_device_in_its_precision() -> None:
    llm = open_random(RandomModel("custom", read_shape(SHAPE)[1]), CUDA)
    weights = list(llm.backend.model.parameters())  # type: ignore[attr-defined]
    assert {(weight.device.type, weight.dtype) for weight in weights} == {("cuda", torch.bfloat16)}


def test_what_the_gpu_can_not_hold_is_refused_before_it_is_made() -> None:
    huge = "d_model=65536,n_layers=100,n_heads=512,n_kv_heads=8,d_ffn=131072"
    before = torch.cuda.memory_allocated()
    with pytest.raises(RequestError, match="GB on cuda and"):
        open_random(RandomModel("custom", read_shape(huge)[1]), CUDA)
    assert torch.cuda.memory_allocated() == before
    assert free_bytes("cuda") > 1 << 30
