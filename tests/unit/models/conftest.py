"""A small model folder on disk, written by the library itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dlmrt.config import DecoderConfig, GenerationDefaults, ModelConfig, PromptFormat
from dlmrt.models.folder import ModelFolder, save_folder
from tests.helpers import random_weights, tiny_config, tiny_diffusion

MakeFolder = Callable[..., ModelFolder]


def defaults() -> GenerationDefaults:
    return GenerationDefaults(
        diffusion=tiny_diffusion(),
        prompt=PromptFormat(prefix=("<a>",), align=True, max_text_tokens=40),
        decoder=DecoderConfig(policy="joint", threshold=0.7, seed=2**40),
        max_new_tokens=24,
    )


@pytest.fixture
def make_folder(tmp_path: Path) -> MakeFolder:
    """Return a function that writes a model folder; options go to the configuration or save_folder."""

    def make(name: str = "model", config: ModelConfig | None = None, **options: Any) -> ModelFolder:
        config = config or tiny_config()
        options = {"tokenizer_json": "{}", "tensors": random_weights(config), **options}
        return save_folder(tmp_path / name, config, defaults(), **options)

    return make
