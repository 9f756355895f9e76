"""What this machine can do: how fast it copies memory and multiplies matrices, measured in this run.

Both are measured where the model runs (device, precision, threads), by the library that runs it, on
operands too large for the caches. The best of several tries counts: a ceiling is what was once reached.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TRIES = 5
# A copy that spends most of its time in main memory: this many times the largest cache.
CACHES = 4
LEAST_COPY, MOST_CPU_COPY = 64 << 20, 512 << 20  # bytes of one operand
GPU_COPY = 2 << 30
GPU_MATRIX = 8192
WAKE = 0.2  # seconds of work before a GPU's rates count
# The largest square product tried on a CPU, and seconds of one that are long enough to time.
CPU_MATRIX, ENOUGH = 2048, 0.02


@dataclass(frozen=True)
class Rates:
    """Ceilings of one device in one precision.

    bandwidth: bytes a second of a large copy, read and written ones counted. matrix: floating point
    operations a second of a large matrix product, a multiplication and an addition counted as two.
    cache: bytes of the largest cache (None: not known). how: one line that says how they were measured.
    """

    bandwidth: float
    matrix: float
    cache: int | None
    how: str


def measure_numpy() -> Rates:
    """Measure NumPy on this CPU in float32, with as many threads as its matrix products have."""
    threads, cache = blas_threads(), cpu_cache_bytes()
    copied = copy_bytes(cache)
    bandwidth = 2 * copied / _numpy_copy_seconds(copied // 4, threads)
    size, matrix = cpu_matrix_rate(_numpy_product)
    return Rates(bandwidth, matrix, cache, _how("numpy", "float32 on the cpu", threads, copied, size))


def _numpy_copy_seconds(count: int, threads: int) -> float:
    """Seconds of a copy of ``count`` float32, spread over threads as matrix products spread theirs."""
    import numpy as np

    source, target = np.ones(count, np.float32), np.zeros(count, np.float32)
    edges = [count * i // threads for i in range(threads + 1)]
    parts = [slice(low, high) for low, high in itertools.pairwise(edges)]
    if threads == 1:
        return best_seconds(lambda: np.copyto(target, source))
    with ThreadPoolExecutor(threads) as pool:
        return best_seconds(lambda: list(pool.map(lambda at: np.copyto(target[at], source[at]), parts)))


def _numpy_product(n: int) -> Callable[[], object]:
    import numpy as np

    a, b, out = np.ones((n, n), np.float32), np.ones((n, n), np.float32), np.empty((n, n), np.float32)
    return lambda: np.matmul(a, b, out=out)


def measure_torch(device: Any, dtype: Any) -> Rates:
    """Measure torch on ``device`` (a torch.device) in ``dtype`` (a torch.dtype); a GPU by CUDA events."""
    import torch

    with torch.inference_mode():
        return _measure_cuda(device, dtype) if device.type == "cuda" else _measure_torch_cpu(dtype)


def _measure_torch_cpu(dtype: Any) -> Rates:
    import torch

    cache = cpu_cache_bytes()
    copied = copy_bytes(cache)
    bandwidth = 2 * copied / best_seconds(_torch_copy(copied // dtype.itemsize, torch.device("cpu"), dtype))
    size, matrix = cpu_matrix_rate(lambda n: _torch_product(n, torch.device("cpu"), dtype))
    how = _how("torch", f"{_name(dtype)} on the cpu", torch.get_num_threads(), copied, size)
    return Rates(bandwidth, matrix, cache, how)


def _measure_cuda(device: Any, dtype: Any) -> Rates:
    import torch

    with torch.cuda.device(device):
        free, _ = torch.cuda.mem_get_info()
        count = min(GPU_COPY, free // 8) // dtype.itemsize
        copied = count * dtype.itemsize
        bandwidth = 2 * copied / _best_event_seconds(_torch_copy(count, device, dtype))
        matrix = 2 * GPU_MATRIX**3 / _best_event_seconds(_torch_product(GPU_MATRIX, device, dtype))
        torch.cuda.empty_cache()  # the model gets the memory
        cache = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", None)
    return Rates(
        bandwidth,
        matrix,
        cache,
        _how("torch", f"{_name(dtype)} on {device}, CUDA events", None, copied, GPU_MATRIX),
    )


def _torch_copy(count: int, device: Any, dtype: Any) -> Callable[[], object]:
    import torch

    source = torch.ones(count, dtype=dtype, device=device)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def _torch_product(n: int, device: Any, dtype: Any) -> Callable[[], object]:
    import torch

    # Random operands: a product of constants draws less power, and a GPU clocks higher for it.
    a, b = (torch.randn(n, n, device=device).to(dtype) for _ in range(2))
    out = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=out)


def _best_event_seconds(work: Callable[[], object], inside: int = 5) -> float:
    """Least seconds of one ``work`` on the current CUDA stream, ``inside`` of them timed together."""
    import torch

    awake = time.perf_counter() + WAKE  # an idle GPU clocks low; and the library chooses its kernel
    while time.perf_counter() < awake:
        work()
        torch.cuda.synchronize()
    best = float("inf")
    for _ in range(TRIES):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        first.record()
        for _ in range(inside):
            work()
        last.record()
        last.synchronize()
        best = min(best, first.elapsed_time(last) / 1000 / inside)
    return best


def best_seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Least seconds of one ``work``, after one that isn't timed."""
    work()
    best = float("inf")
    for _ in range(TRIES):
        start = clock()
        work()
        best = min(best, clock() - start)
    return best


def cpu_matrix_rate(product: Callable[[int], Callable[[], object]]) -> tuple[int, float]:
    """Return (size, operations a second) of square products, doubled until one takes long enough.

    product: makes the operands of a size and returns what multiplies them. Slow precisions (bfloat16 on
    an old CPU) stop early.
    """
    size, best = 256, 0.0
    while True:
        seconds = best_seconds(product(size))
        best = max(best, 2 * size**3 / seconds)
        if seconds >= ENOUGH or size >= CPU_MATRIX:
            return size, best
        size *= 2


def copy_bytes(cache: int | None) -> int:
    """Bytes of one operand of a copy that the cache can't hold."""
    return min(max(CACHES * (cache or 0), LEAST_COPY), MOST_CPU_COPY)


def cpu_cache_bytes(root: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int | None:
    """Bytes of the largest cache that the first core uses; None where the system doesn't tell."""
    sizes = []
    for path in root.glob("index*/size"):
        try:
            found = re.fullmatch(r"(\d+)([KMG]?)", path.read_text().strip())
        except OSError:
            continue
        if found:
            sizes.append(int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]])
    return max(sizes, default=None)


def blas_threads() -> int:
    """Threads that NumPy's matrix products use, as far as the environment says so."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) >= 1:
            return int(value)
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return usable or 1


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _how(library: str, where: str, threads: int | None, size: int, n: int) -> str:
    workers = "" if threads is None else f", {threads} thread{'s' if threads != 1 else ''}"
    return (
        f"{library}, {where}{workers}: copy of {size / 1e6:.0f} MB (read + written), "
        f"matrix product {n}x{n}x{n}; best of {TRIES}, measured in this run"
    )
