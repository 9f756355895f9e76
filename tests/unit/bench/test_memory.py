from __future__ import annotations

import sys

import numpy as np
import pytest

from dlmrt.bench import memory
from dlmrt.bench.memory import HIGH_WATER, RESETTABLE, PeakMemory, free_bytes


def test_the_peak_covers_what_was_allocated_since_the_start() -> None:
    peak = PeakMemory("cpu")
    peak.start()
    before = peak.peak()
    block = np.ones(64 << 20, np.uint8)
    assert peak.peak() >= before + (48 << 20)
    del block


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets a peak")
def test_a_new_start_forgets_earlier_peaks() -> None:
    peak = PeakMemory("cpu")
    if peak.meaning != RESETTABLE:
        pytest.skip("this system does not let a process reset its own peak")
    block = np.ones(64 << 20, np.uint8)
    high = peak.peak()
    del block
    peak.start()
    assert peak.peak() <= high - (48 << 20)


def test_without_a_reset_the_number_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_reset", lambda: False)
    peak = PeakMemory("cpu")
    assert peak.meaning == HIGH_WATER
    peak.start()
    assert peak.peak() > 1 << 20


def test_free_memory_is_never_more_than_a_container_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        memory, "memory_gb", lambda: {"total": 64.0, "available": 40.0, "container_limit": 8.0}
    )
    assert free_bytes("cpu") == 8_000_000_000
    monkeypatch.setattr(memory, "memory_gb", lambda: {"total": 64.0})
    assert free_bytes("cpu") == 64_000_000_000
