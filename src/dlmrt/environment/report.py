"""The environment report: what ``dlmrt doctor`` prints and benchmark results carry.

Everything is read from this machine; nothing is sent anywhere, and the report holds no host name,
user name or home folder. It works without torch; torch is imported only when it is installed.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import dlmrt
from dlmrt.environment.hardware import cpu, memory_gb, nvidia_driver
from dlmrt.errors import DlmrtError

LIGHT_PACKAGES = ("numpy", "tokenizers", "safetensors")
OPTIONAL_PACKAGES = ("torch", "transformers", "triton", "jinja2", "tensorboard")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CUDA_VISIBLE_DEVICES")

Report = dict[str, Any]


def environment() -> Report:
    """Return the report as plain data (JSON-ready). Sizes are in GB (1e9 bytes)."""
    torch = _torch()
    return {
        "dlmrt": {"version": dlmrt.__version__, "path": _short(Path(dlmrt.__file__).parent)},
        "python": {
            "version": platform.python_version(),
            "implementation": platform.python_implementation(),
            "executable": _short(Path(sys.executable)),
        },
        "system": {"os": _os_name(), "kernel": platform.release(), "machine": platform.machine()},
        "cpu": cpu(),
        "memory_gb": memory_gb(),
        "disk_free_gb": round(shutil.disk_usage(Path.cwd()).free / 1e9, 1),
        "packages": _packages(),
        "nvidia_driver": nvidia_driver(),
        "torch": torch,
        "threads": _threads(),
        "backends": _backends(torch),
        "embedded_model": _embedded_model(),
    }


def machine(*, gpus: bool) -> Report:
    """What decides times here: processor, packages, threads, driver; ``gpus``: these too (imports torch)."""
    facts: Report = {
        "python": platform.python_version(),
        "os": _os_name(),
        "cpu": cpu(),
        "packages": _packages(),
        "nvidia_driver": nvidia_driver(),
        "threads": _threads(),
    }
    return {**facts, "torch": _torch()} if gpus else facts


def render(report: Report) -> str:
    """Lay the report out for people: one ``name: value`` line each, nested parts indented."""
    return "\n".join(_lines(report, "", "unknown"))


def _lines(part: Report, indent: str, missing: str) -> list[str]:
    """``missing``: what a value of ``None`` means in this part."""
    lines = []
    for name, value in part.items():
        missing = "not installed" if name in ("packages", "torch") else missing
        if isinstance(value, dict) and value:
            lines += [f"{indent}{name}:", *_lines(value, indent + "  ", missing)]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for i, item in enumerate(value):
                lines += [f"{indent}{name}[{i}]:", *_lines(item, indent + "  ", missing)]
        else:
            lines.append(f"{indent}{name}: {missing if value is None else _plain(value)}")
    return lines


def _plain(value: object) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list | dict) else str(value)
    return text or "none"


def _packages() -> Report:
    return {name: _version(name) for name in LIGHT_PACKAGES + OPTIONAL_PACKAGES}


def _threads() -> Report:
    return {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _short(path: Path) -> str:
    """Write the home folder as ``~``: reports are pasted in public."""
    home = Path.home()
    return str(Path("~") / path.relative_to(home)) if path.is_relative_to(home) else str(path)


def _os_name() -> str:
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()


def _torch() -> Report | None:
    if _version("torch") is None:
        return None
    try:
        import torch
    except (ImportError, OSError) as error:  # installed, but a shared library is missing or broken
        return {"error": f"{type(error).__name__}: {error}"}
    gpus = []
    for i in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(i)
        gpus.append(
            {
                "name": properties.name,
                "memory_gb": round(properties.total_memory / 1e9, 1),
                "compute_capability": f"{properties.major}.{properties.minor}",
            }
        )
    return {
        "version": torch.__version__,
        "cuda_build": torch.version.cuda or "none (CPU build)",
        "threads": torch.get_num_threads(),
        "gpus": gpus,
    }


def _backends(torch: Report | None) -> Report:
    if torch is None:
        eager = "not available: torch is not installed (pip install 'dlmrt[torch]')"
    elif "error" in torch:
        eager = f"not available: torch does not import ({torch['error']})"
    elif torch["gpus"]:
        eager = f"available on cpu and cuda ({len(torch['gpus'])} GPU)"
    elif nvidia_driver() and torch["cuda_build"].startswith("none"):
        eager = "available on cpu; not on cuda: this torch is a CPU build"
    else:
        eager = "available on cpu; not on cuda: no NVIDIA GPU is visible"
    return {"numpy": "available", "eager": eager}


def _embedded_model() -> Report:
    """Return the default model's name and size after reading all of its weights."""
    from dlmrt.models.folder import open_folder
    from dlmrt.models.registry import resolve
    from dlmrt.models.weights import read_weights

    try:
        folder = open_folder(resolve(None))
        weights = read_weights(folder)
    except DlmrtError as error:
        return {"readable": False, "error": str(error)}
    return {
        "readable": True,
        "name": folder.path.name,
        "parameters": sum(int(array.size) for array in weights.values()),
        "size_mb": round(sum(f.stat().st_size for f in folder.path.rglob("*") if f.is_file()) / 1e6, 1),
    }
