"""``--trace``: one HTML page, with nothing outside it, that replays a denoising."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

PLACEHOLDER = "__TRACE_DATA__"
# What could end the script element or a line inside it; JSON may write any character as \uXXXX.
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render(payload: dict[str, Any]) -> str:
    """Return the page for ``TraceRecorder.payload``. All text reaches the page as data, never as markup."""
    data = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    for character, escape in UNSAFE.items():
        data = data.replace(character, escape)
    template = files("dlmrt.cli").joinpath("trace.html").read_text(encoding="utf-8")
    before, _, after = template.partition(PLACEHOLDER)
    return before + data + after
