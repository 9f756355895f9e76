"""What the processor, the memory and the NVIDIA driver are, read from the operating system."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

# The instruction sets that decide how fast matrix products are.
FLAGS = frozenset(
    {"avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "avx512_fp16"}
    | {"avx_vnni", "amx_tile", "amx_bf16", "amx_int8"}
    | {"asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2", "sme"}
)


def cpu() -> dict[str, Any]:
    """Return model, cores (of the machine, and usable by this process) and relevant flags."""
    info = _read("/proc/cpuinfo")
    if sys.platform == "darwin":
        model, present = _output("sysctl", "-n", "machdep.cpu.brand_string"), set[str]()
    else:
        named = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", info, re.MULTILINE)
        flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", info, re.MULTILINE)
        model, present = named[1] if named else "", set(flags[1].split()) if flags else set()
    return {
        "model": model or platform.processor() or "unknown",
        "cores": os.cpu_count(),
        "usable_cores": _usable_cores(),
        "flags": sorted(FLAGS & present),
    }


def memory_gb() -> dict[str, float]:
    """Return total and available memory in GB, and a container's limit when there is one."""
    found = {"total": _total_memory() / 1e9}
    available = re.search(r"^MemAvailable:\s*(\d+) kB", _read("/proc/meminfo"), re.MULTILINE)
    if available:
        found["available"] = int(available[1]) * 1024 / 1e9
    limit = _read("/sys/fs/cgroup/memory.max").strip()
    if limit.isdigit():
        found["container_limit"] = int(limit) / 1e9
    return {name: round(size, 1) for name, size in found.items()}


def nvidia_driver() -> str:
    """Return the version of the NVIDIA driver, or an empty string when there is none."""
    found = re.search(r"Kernel Module.*?(\d+\.\d+[\d.]*)", _read("/proc/driver/nvidia/version"))
    if found:
        return found[1]
    if shutil.which("nvidia-smi") is None:
        return ""
    return _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").partition("\n")[0]


def _usable_cores() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _total_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
