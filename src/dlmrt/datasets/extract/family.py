"""The family of records: free text to one JSON object with a fixed order of keys.

``type`` comes first. A field that the text does not mention is left out. Money, counts, percentages and
degrees are numbers, dates and times ISO, lengths of time minutes.
"""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

from dlmrt.datasets.extract.kinds import (
    DISTRACTORS,
    FORMS,
    HELD_OUT_FLAGS,
    HELD_OUT_FORMS,
    KINDS,
    NO,
    YES,
    Field,
    Kind,
)
from dlmrt.datasets.extract.phrasing import HELD_OUT_SPLIT, Chooser

PRESENT = 0.65  # share of items that hold an optional field
LEAST_FIELDS = 3
HELD_OUT_PERCENT = 10  # of the combinations of fields
DISTRACTOR_SHARES = (0.5, 0.35, 0.15)  # of texts with none, one, two


def held_out(kind: str, keys: tuple[str, ...]) -> bool:
    """Whether this combination of fields occurs in test only; fixed by its names alone."""
    digest = hashlib.sha256(f"dlmrt.extract:{kind}:{','.join(keys)}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % 100 < HELD_OUT_PERCENT


class Records:
    """Texts about orders, contacts, appointments and nine other kinds of things."""

    name = "extract"
    version = 1
    prefix = "json: "
    split_rule = (
        "by combination of fields: sha256('dlmrt.extract:' + kind + ':' + keys), first 8 bytes mod 100, "
        f"below {HELD_OUT_PERCENT} test only; and by phrasing: the last forms of every list occur in test "
        "only; every test item has a held-out combination and a held-out phrase"
    )
    splits = ("train", "dev", "test")

    def sample(self, rng: random.Random, split: str) -> dict[str, Any] | None:
        """Draw one text with its record."""
        kind = rng.choice(KINDS)
        fields = [field for field in kind.fields if field.required or rng.random() < PRESENT]
        keys = tuple(field.key for field in fields)
        if len(fields) < LEAST_FIELDS or held_out(kind.name, keys) != (split == HELD_OUT_SPLIT):
            return None
        choose = Chooser(rng, split)
        record: dict[str, Any] = {"type": kind.name}
        sentences = []
        for field in fields:
            record[field.key], sentence = _say(field, choose)
            sentences.append(sentence)
        if split == HELD_OUT_SPLIT and not choose.used:
            return None
        return {
            "prompt": _arrange(rng, kind, sentences),
            "answer": json.dumps(record, ensure_ascii=False, separators=(",", ":")),
            "verifier": "json",
            "schema": kind.name,
            "level": len(fields),
        }


def _say(field: Field, choose: Chooser) -> tuple[Any, str]:
    label = choose.rng.choice(field.labels)
    if field.draw is None:
        value = choose.rng.random() < 0.6
        form, said = choose.pick(YES if value else NO, HELD_OUT_FLAGS), ""
    else:
        value, said = field.draw(choose)
        form = choose.pick(FORMS, HELD_OUT_FORMS)
    text = form.format(l=label, L=_capital(label), v=said, V=_capital(said))
    return value, text


def _arrange(rng: random.Random, kind: Kind, sentences: list[str]) -> str:
    rng.shuffle(sentences)
    for _ in range(rng.choices(range(len(DISTRACTOR_SHARES)), DISTRACTOR_SHARES)[0]):
        sentences.insert(rng.randint(0, len(sentences)), rng.choice(DISTRACTORS))
    return " ".join([rng.choice(kind.openings), *sentences])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


FAMILY = Records()
