from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dlmrt.bench import rates


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands that take no time: what is tested is not this machine."""
    monkeypatch.setattr(rates, "LEAST_COPY", 1 << 16)
    monkeypatch.setattr(rates, "MOST_CPU_COPY", 1 << 16)
    monkeypatch.setattr(rates, "CPU_MATRIX", 256)


def test_the_best_try_counts_and_the_first_is_not_timed() -> None:
    ticks = iter([0.0, 9.0, 10.0, 12.0, 20.0, 27.0, 30.0, 33.0, 40.0, 44.0])
    calls: list[int] = []
    best = rates.best_seconds(lambda: calls.append(1), clock=lambda: next(ticks))
    assert best == 2.0
    assert len(calls) == rates.TRIES + 1


def test_matrix_products_grow_until_they_can_be_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {256: 0.001, 512: 0.004, 1024: 0.040}
    sizes: list[int] = []

    def product(n: int) -> Callable[[], object]:
        sizes.append(n)
        return lambda: None

    monkeypatch.setattr(rates, "best_seconds", lambda work: seconds[sizes[-1]])
    size, rate = rates.cpu_matrix_rate(product)
    assert (size, sizes) == (1024, [256, 512, 1024])
    assert rate == 2 * 512**3 / 0.004  # the best of them, not the last


def test_a_slow_precision_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "best_seconds", lambda work: 5.0)
    assert rates.cpu_matrix_rate(lambda n: lambda: None) == (256, 2 * 256**3 / 5.0)


@pytest.mark.parametrize(
    ("cache", "expected"),
    [(None, 64 << 20), (1 << 20, 64 << 20), (32 << 20, 128 << 20), (1 << 30, 512 << 20)],
)
def test_the_copy_is_larger_than_the_cache_within_bounds(cache: int | None, expected: int) -> None:
    assert rates.copy_bytes(cache) == expected


def test_cache_sizes_are_read_with_their_unit(tmp_path: Path) -> None:
    for name, size in (("index0", "32K"), ("index1", "1024K"), ("index3", "36M"), ("index4", "odd")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "size").write_text(f"{size}\n")
    assert rates.cpu_cache_bytes(tmp_path) == 36 << 20
    assert rates.cpu_cache_bytes(tmp_path / "nothing") is None


def test_threads_are_those_of_the_matrix_products(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert rates.blas_threads() >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", "6")
    assert rates.blas_threads() == 6
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    assert rates.blas_threads() == 3


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("threads", [1, 3])
def test_numpy_says_how_it_was_measured(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", str(threads))
    monkeypatch.setattr(rates, "cpu_cache_bytes", lambda: 4096)
    found = rates.measure_numpy()
    assert found.bandwidth > 0
    assert found.matrix > 0
    assert found.cache == 4096
    assert f"{threads} thread" in found.how
    assert "256x256x256" in found.how


@pytest.mark.usefixtures("small")
def test_bandwidth_counts_bytes_read_and_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "best_seconds", lambda work: 0.5)
    assert rates.measure_numpy().bandwidth == 2 * (1 << 16) / 0.5


@pytest.mark.usefixtures("small")
def test_torch_measures_in_the_precision_that_runs() -> None:
    torch = pytest.importorskip("torch")
    found = rates.measure_torch(torch.device("cpu"), torch.bfloat16)
    assert found.bandwidth > 0
    assert found.matrix > 0
    assert found.how.startswith("torch, bfloat16 on the cpu")
