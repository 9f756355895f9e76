"""The text format in which kinds of records are written, and its reader.

A block of text describes one kind; its lines are, by their beginning:

==================  =====================================================================================
``= order``         name of the kind, the value of the key ``type``
``> New order.``    a sentence that says what the text is about
``& {a} ... {b}``   a sentence that mentions several fields
``key! value | a``  a field: key, ``!`` when always there, name of its values, labels separated by ``|``,
                    of which those with ``:`` stand in notes alone ("from: Oslo"), not in sentences
``+ text``          a way to say that the field before is true (fields of ``bool``)
``- text``          a way to say that it is false
other lines         a way to mention the field before, its value at ``{v}``
==================  =====================================================================================

A ``*`` behind the beginning (or at the start of other lines) holds the phrasing out; alternatives are
written as in :func:`dlmrt.datasets.extract.draw.expand`.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from dlmrt.datasets.extract.values import Value
from dlmrt.datasets.phrasing import Forms, expand, forms

HELD_OUT_COMBINATIONS = 0.1
LEAST_FIELDS = 5
_FIELD = re.compile(r"(?P<key>[a-z_]+)(?P<must>!?) (?P<value>\w+) \| (?P<labels>.+)")
_SLOT = re.compile(r"\{(\w+)\}")

# With a label any field can be said: L is it with a capital.
LABELLED = forms("""
    {L}: {v}.
    {L}: {v}
    {L} - {v}.
    The {l} is {v}.
    The {l} (will be|should be) {v}.
    As for the {l}, it is {v}.
    (Please note|Note) the {l}: {v}.
    We have {v} as the {l}.
    * {L} is {v}.
    * {L} = {v}.
    * For the {l}, (we have|note) {v}.
""")
TRUTH = forms("""
    {L}: {v}.
    {L}: {v}
    {L} - {v}.
    {L}? {V}.
    * {L} = {v}.
""")
NOTE = forms("""
    {L}: {v}
    {L}: {v}
    {L} - {v}
    {l}: {v}
    * {L} = {v}
    * {l} - {v}
""")


@dataclass(frozen=True)
class Field:
    """A field of a record.

    value: None for one that is true or false, said by yes and no. labels: names of it, of which nouns fit
    into sentences. says: mentions with the slot ``v``.
    """

    key: str
    required: bool
    value: Value | None
    labels: tuple[str, ...]
    nouns: tuple[str, ...]
    says: Forms
    yes: Forms
    no: Forms


@dataclass(frozen=True)
class Joint:
    """A sentence about several fields."""

    keys: frozenset[str]
    says: Forms


@dataclass(frozen=True)
class Kind:
    """A kind of record. known, held_out: the sets of fields of train and dev, and those of test alone."""

    name: str
    openings: Forms
    fields: Mapping[str, Field]
    joints: tuple[Joint, ...]
    known: tuple[frozenset[str], ...]
    held_out: tuple[frozenset[str], ...]


def read_kind(text: str, values: Mapping[str, Value]) -> Kind:
    """Read the description of a kind; ``values`` are found by name, ``bool`` is built in."""
    name, lines = "", defaultdict[str, list[str]](list)
    heads: list[re.Match[str]] = []
    joints: list[str] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        sign, rest = line[0], line[1:].strip()
        head = _FIELD.fullmatch(line)
        if head is not None:
            heads.append(head)
        elif sign == "=":
            name = rest
        elif sign == "&":
            joints.append(rest)
        else:
            owner = "" if sign == ">" else heads[-1]["key"]
            mark = sign if sign in "+->" else "="
            lines[owner + mark].append(line if mark == "=" else rest)
    fields = {head["key"]: _field(head, values, lines) for head in heads}
    known, held = _combinations(name, list(fields.values()))
    return Kind(name, Forms.of(lines[">"]), fields, _joints(joints), known, held)


def _field(head: re.Match[str], values: Mapping[str, Value], lines: Mapping[str, list[str]]) -> Field:
    labels = [label.strip() for label in head["labels"].split("|")]
    return Field(
        key=head["key"],
        required=head["must"] == "!",
        value=None if head["value"] == "bool" else values[head["value"]],
        labels=tuple(label.removeprefix(":") for label in labels),
        nouns=tuple(label for label in labels if not label.startswith(":")),
        says=Forms.of(lines[head["key"] + "="]),
        yes=Forms.of(lines[head["key"] + "+"]),
        no=Forms.of(lines[head["key"] + "-"]),
    )


def _joints(lines: Sequence[str]) -> tuple[Joint, ...]:
    by_keys: dict[frozenset[str], list[str]] = defaultdict(list)
    for line in lines:
        slots = {frozenset(_SLOT.findall(text)) for text in expand(line)}
        if len(slots) > 1:
            raise ValueError(f"the alternatives of '{line}' mention different fields")
        by_keys[slots.pop()].append(line)
    return tuple(Joint(keys, Forms.of(found)) for keys, found in by_keys.items())


def _combinations(
    kind: str, fields: Sequence[Field]
) -> tuple[tuple[frozenset[str], ...], tuple[frozenset[str], ...]]:
    """All sets of fields; the tenth with the lowest hashes is held out. Fixed by the names alone."""
    sets = []
    for taken in product((True, False), repeat=sum(not field.required for field in fields)):
        flags = iter(taken)
        keys = [field.key for field in fields if field.required or next(flags)]
        if len(keys) >= LEAST_FIELDS:
            digest = hashlib.sha256(f"dlmrt.extract:{kind}:{','.join(keys)}".encode()).digest()
            sets.append((digest, frozenset(keys)))
    ordered = [keys for _, keys in sorted(sets, key=lambda pair: pair[0])]
    count = max(1, round(HELD_OUT_COMBINATIONS * len(ordered)))
    return tuple(ordered[count:]), tuple(ordered[:count])
