"""Rules for the whole suite: few threads, no network, and what a test without a GPU does."""

from __future__ import annotations

import os
import signal
from functools import cache
from importlib.util import find_spec

import pytest

# Before numpy or torch is imported: the models here are tiny, and more threads only slow them down.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# Tests send Ctrl-C, which a suite that a shell started in the background, and its children, would ignore.
signal.signal(signal.SIGINT, signal.default_int_handler)

GPUS_NEEDED = {"gpu": 1, "multigpu": 2}


@cache
def gpu_count() -> int:
    if find_spec("torch") is None:
        return 0
    import torch

    return torch.cuda.device_count()


def pytest_runtest_setup(item: pytest.Item) -> None:
    needed = max((n for mark, n in GPUS_NEEDED.items() if item.get_closest_marker(mark)), default=0)
    if needed and gpu_count() < needed:
        text = f"needs {needed} NVIDIA GPU, {gpu_count()} found"
        if os.environ.get("DLMRT_REQUIRE_GPU") == "1":
            pytest.fail(f"{text}; DLMRT_REQUIRE_GPU=1 forbids skipping", pytrace=False)
        pytest.skip(text)
