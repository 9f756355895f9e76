"""The text repair family: a corrupted sentence as the prompt, the clean one as the answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dlmrt.datasets.corrupt import Error, corrupt

#: raised whenever the same inputs would give other pairs
GENERATOR_VERSION = 1


@dataclass(frozen=True)
class Pair:
    """One training or test item; ``meta`` is written beside prompt and answer."""

    prompt: str
    answer: str
    errors: tuple[Error, ...]

    def record(self, meta: Mapping[str, Any], *, errors: bool) -> dict[str, Any]:
        """The JSONL record: prompt, answer, task, the given fields, and (where scored) the errors."""
        record = {"prompt": self.prompt, "answer": self.answer, "task": "repair", **meta}
        return {**record, "errors": [asdict(error) for error in self.errors]} if errors else record


def corrupt_pair(sentence: str, seed: int, epoch: int = 0, lexicon: Collection[str] = frozenset()) -> Pair:
    """The pair of a clean sentence: fresh errors for every epoch, the same ones for the same arguments."""
    prompt, errors = corrupt(sentence, seed=seed, epoch=epoch, lexicon=lexicon)
    return Pair(prompt, sentence, tuple(errors))
