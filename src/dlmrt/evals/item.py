"""One question of a task, and what its verifier says about one answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Item:
    """One question.

    id: unique in its task. prompt: the text that is decoded. answer: the reference, where there is
    one. meta: every other field of the record, the verifier's own ones among them.
    """

    id: str
    prompt: str
    answer: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is correct, and why in a few values that JSON can hold."""

    correct: bool
    detail: dict[str, Any] = field(default_factory=dict)
