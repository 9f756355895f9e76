"""Memory: how much is free before something large is made, and how much a measurement needed at most."""

from __future__ import annotations

import contextlib
import resource
import sys
from pathlib import Path

from dlmrt.environment.hardware import memory_gb

CLEAR, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
RESETTABLE = (
    "peak memory is the resident size of the whole process while this arm decoded: Python, libraries and "
    "all loaded models included"
)
HIGH_WATER = (
    "peak memory is the process's high-water mark (ru_maxrss), which never falls: it includes loading, "
    "measuring the rates, and arms that ran before"
)
ALLOCATED = (
    "peak memory is what torch had allocated on the GPU at most while this arm decoded, weights included"
)


def free_bytes(device: str) -> int:
    """Bytes that can still be allocated on ``cpu`` or a CUDA device (0: not known)."""
    if device == "cpu":
        memory = memory_gb()
        free = memory.get("available", memory["total"])
        return int(1e9 * min(free, memory.get("container_limit", free)))
    import torch

    free, _ = torch.cuda.mem_get_info(torch.device(device))
    return int(free)


class PeakMemory:
    """The most memory used between :meth:`start` and :meth:`peak`, on a CPU as far as the system can tell.

    device: where the model runs. meaning: one sentence for people who read the number.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._resets = device == "cpu" and _reset()
        self.meaning = RESETTABLE if self._resets else HIGH_WATER
        if device != "cpu":
            self.meaning = ALLOCATED

    def start(self) -> None:
        """Forget earlier peaks, where that is possible."""
        if self._device != "cpu":
            import torch

            torch.cuda.reset_peak_memory_stats(self._device)
        elif self._resets:
            _reset()

    def peak(self) -> int:
        """Bytes at most since :meth:`start`."""
        if self._device != "cpu":
            import torch

            return int(torch.cuda.max_memory_allocated(self._device))
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if self._resets:
            for line in STATUS.read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        return most if sys.platform == "darwin" else most * 1024


def _reset() -> bool:
    """Set the process's high-water mark back to its present size; says whether the system allows it."""
    with contextlib.suppress(OSError):
        CLEAR.write_text("5")  # see proc(5), /proc/pid/clear_refs
        return True
    return False
