"""Warnings that torch raises about itself while it compiles; the suite turns all others into errors."""

from __future__ import annotations

from pathlib import Path

import pytest

TORCH_ABOUT_ITSELF = (
    "ignore:.*torch.jit.*is deprecated:DeprecationWarning",  # importing its compiler, torch 2.11
    "ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning",  # tracing flex_attention
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            for warning in TORCH_ABOUT_ITSELF:
                item.add_marker(pytest.mark.filterwarnings(warning))
