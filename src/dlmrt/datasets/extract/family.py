"""The family of records: free text to one JSON object with a fixed order of keys.

``type`` comes first, then the fields of the kind in their order, last ``currency`` if there is an amount of
money. A field that the text does not mention is left out. See ``values.py`` for how values are written.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

from dlmrt.datasets.extract.draw import TEST, Draw
from dlmrt.datasets.extract.english import nth
from dlmrt.datasets.extract.filler import CLOSINGS, DISTRACTORS, GREETINGS
from dlmrt.datasets.extract.kinds import KINDS
from dlmrt.datasets.extract.names import city_name, first_name
from dlmrt.datasets.extract.schema import LABELLED, NOTE, TRUTH, Field, Joint, Kind
from dlmrt.datasets.extract.values import Said

NOTES_SHARE = 0.15  # of texts that are a list of "label: value"
LABEL_SHARE = 0.2  # of mentions in the other texts
JOINT_SHARE = 0.6
ANSWER_CHARS = (112, 450)
_ARTICLE = re.compile(r"(?<!\S)([Aa]) (?=[aeioAEIO])")
DISTRACTOR_COUNTS = (0, 0, 0, 1, 1, 1, 2, 2)


class Records:
    """Texts about orders, contacts, appointments and other kinds of things."""

    name = "extract"
    version = 3
    prefix = "json: "
    split_rule = (
        "by phrasing: of the ways to say a field or a value those marked as held out occur in test only, and "
        "every test item has one; by fields: of each kind's combinations of fields the tenth with the lowest "
        "sha256('dlmrt.extract:' + kind + ':' + keys) occurs in test only, in half of its items"
    )
    splits = ("train", "dev", "test")

    def sample(self, rng: random.Random, split: str) -> dict[str, Any] | None:
        """Draw one text with its record; None when it is too short, too long, or of no use for test.

        Raises ValueError when JSON does not give the record back.
        """
        draw = Draw(rng, split)
        kind = draw.pick(KINDS)
        unseen = split == TEST and draw.chance(0.5)
        present = draw.pick(kind.held_out if unseen else kind.known)
        fields = [field for field in kind.fields.values() if field.key in present]
        said = {field.key: _value(draw, field) for field in fields}
        record = {"type": kind.name, **{key: value for key, (value, _) in said.items()}}
        if "currency" in draw.facts:
            record["currency"] = draw.facts["currency"]
        answer = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        write = _notes if draw.chance(NOTES_SHARE) else _prose
        text = _ARTICLE.sub(r"\1n ", write(draw, kind, fields, said)).replace("..", ".")
        if json.loads(answer) != record:
            raise ValueError(f"the record {record} does not survive being written as JSON")
        if not ANSWER_CHARS[0] <= len(answer) <= ANSWER_CHARS[1] or (split == TEST and not draw.held):
            return None
        return {
            "prompt": text,
            "answer": answer,
            "verifier": "json",
            "schema": kind.name,
            "level": len(fields),
        }


def _value(draw: Draw, field: Field) -> Said:
    if field.value is not None:
        return field.value(draw)
    truth = draw.chance(0.5)
    return truth, draw.pick(("yes", "yes", "true", "yes, please")) if truth else draw.pick(
        ("no", "no", "false")
    )


def _notes(draw: Draw, kind: Kind, fields: list[Field], said: dict[str, Said]) -> str:
    """A list of labels and values, as people write for themselves."""
    lines = []
    for field in draw.some(fields, len(fields)) if draw.chance(0.6) else fields:
        label = draw.pick(field.labels)
        lines.append(draw.say(NOTE).format(L=_capital(label), l=label, v=said[field.key][1]))
    joint = draw.pick(("\n", "\n", "; ", " / ", "\n- "))
    if joint == "; " and any(";" in text for _, text in said.values()):
        joint = "\n"
    return (
        draw.say(kind.openings) + ("\n- " if joint == "\n- " else draw.pick((" ", "\n"))) + joint.join(lines)
    )


def _prose(draw: Draw, kind: Kind, fields: list[Field], said: dict[str, Said]) -> str:
    """Sentences about one or several fields each, in any order, with others that say nothing of use."""
    left = {field.key: field for field in fields}
    sentences = []
    while draw.chance(JOINT_SHARE):
        fitting = [
            joint
            for joint in kind.joints
            if joint.keys <= left.keys() and (joint.says.known or draw.split == TEST)
        ]
        if not fitting:
            break
        joint = draw.pick(fitting)
        sentences.append(_together(draw, joint, said))
        left = {key: field for key, field in left.items() if key not in joint.keys}
    sentences += [_mention(draw, field, said[field.key]) for field in left.values()]
    sentences = draw.some(sentences, len(sentences))
    for _ in range(draw.pick(DISTRACTOR_COUNTS)):
        sentences.insert(draw.whole(0, len(sentences)), _distractor(draw))
    sentences.insert(0 if draw.chance(0.85) else len(sentences), draw.say(kind.openings))
    if draw.chance(0.25):
        sentences.insert(0, draw.say(GREETINGS))
    if draw.chance(0.2):
        sentences.append(draw.say(CLOSINGS))
    if draw.chance(0.25):
        return "\n".join(sentences)
    return " ".join(each if each[-1] in ".!?,:" else f"{each}." for each in sentences)


def _together(draw: Draw, joint: Joint, said: dict[str, Said]) -> str:
    return _sentence(draw.say(joint.says), {key: said[key] for key in joint.keys})


def _mention(draw: Draw, field: Field, said: Said) -> str:
    value, text = said
    if draw.chance(LABEL_SHARE):
        label = draw.pick(field.nouns)
        phrasings = TRUTH if field.value is None else LABELLED
        return draw.say(phrasings).format(L=_capital(label), l=label, v=text, V=_capital(text))
    if field.value is None:
        return draw.say(field.yes if value else field.no)
    return _sentence(draw.say(field.says), {"v": said})


def _sentence(phrasing: str, said: dict[str, Said]) -> str:
    """Fill a phrasing; a capital comes first unless a value that is copied does."""
    text = phrasing.format(**{key: words for key, (_, words) in said.items()})
    return (
        text
        if any(text.startswith(words) for value, words in said.values() if value == words)
        else _capital(text)
    )


def _distractor(draw: Draw) -> str:
    text = draw.say(DISTRACTORS)
    if "{" not in text:
        return text
    number = draw.whole(2, 40)
    return text.format(name=first_name(draw), city=city_name(draw), n=number, nth=nth(number))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


FAMILY = Records()
