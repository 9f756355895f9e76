"""dlmrt: run, serve, train and measure diffusion language models.

Importing this package is light: torch and the optional extras load only when a name that needs
them is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dlmrt.config import DecoderConfig, DiffusionConfig, ModelConfig
    from dlmrt.engine.llm import LLM
    from dlmrt.engine.request import BlockEvent, Result
    from dlmrt.errors import DlmrtError

__version__ = "0.2.0"

_HOME = {
    "LLM": "dlmrt.engine.llm",
    "Result": "dlmrt.engine.request",
    "BlockEvent": "dlmrt.engine.request",
    "ModelConfig": "dlmrt.config",
    "DiffusionConfig": "dlmrt.config",
    "DecoderConfig": "dlmrt.config",
    "DlmrtError": "dlmrt.errors",
}

__all__ = [
    "LLM",
    "BlockEvent",
    "DecoderConfig",
    "DiffusionConfig",
    "DlmrtError",
    "ModelConfig",
    "Result",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dlmrt' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
