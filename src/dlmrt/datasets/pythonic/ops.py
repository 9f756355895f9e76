"""What an operation is: English and code with the same slots, and the value types it goes between.

Types of one value: ``int``, ``str`` (a word) and ``chr`` (a character). Types of a result: ``int``,
``str``, ``bool``, ``ints``, ``strs``, ``pair`` (two integers), ``counts`` (key to integer) and
``groups`` (key to list). Code templates use ``{v}`` for the value, ``{o}`` for a new one, ``{r}``
for the result, and one-letter slots that are filled once for an operation.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from string import Formatter

#: slots: small factor, a second one, threshold, range ends, digit, letter, separator, affix, remainder
SLOTS = ("k", "m", "t", "lo", "hi", "d", "c", "g", "f", "q")
LETTERS, SEPARATORS, AFFIXES = "aeionrstlmdc", ("-", "/", ", ", "+", " ", "_"), ("x", "no", "re", "#", "id_")
#: names of parameters, by the slot they stand for
PARAMETERS = {
    "k": ("k", "size", "factor", "width"),
    "t": ("limit", "bound", "threshold"),
    "c": ("letter", "char"),
    "g": ("sep", "glue"),
}


@dataclass(frozen=True, slots=True)
class Op:
    """One operation.

    text: phrasings; a clause in the plural ("are even") for a condition, a noun phrase about "it" for a
    map, an imperative for the rest. code: lines in the loop, or a condition's expression. other: a
    condition's negation. init, after: lines before and after the loop. opens: by how much the lines that
    follow are indented. asks: a second operation that it needs, ``cond`` or ``by``. marks: ``heavy`` (its
    time grows with its value), ``grows`` (its value may be large), ``by`` (few different values, so fit
    for a key), ``final`` (the code returns by itself).
    """

    name: str
    kind: str
    takes: str
    gives: str
    text: tuple[str, ...]
    code: str
    other: str = ""
    init: str = ""
    after: str = ""
    result: str = ""
    opens: int = 0
    asks: str = ""
    marks: frozenset[str] = frozenset()
    slots: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    key: str = ""


def make(name: str, kind: str, takes: str, gives: str, text: str, code: str, **more: str | int) -> Op:
    """An operation from its table row; phrasings are separated by `` | `` and marks by blanks."""
    found = {
        slot
        for part in (text, code, *map(str, more.values()))
        for _, slot, _, _ in Formatter().parse(part)
        if slot in SLOTS
    }
    sets: dict[str, object] = dict(more)
    sets["marks"] = frozenset(str(more.get("marks", "")).split())
    sets["arguments"] = tuple(str(more.get("arguments", "")).split())
    slots = tuple(slot for slot in SLOTS if slot in found)
    phrases = tuple(text.split(" | "))
    return Op(name, kind, takes, gives, phrases, code, slots=slots, **sets)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Fill:
    """The slots of one operation, as they stand in the text and in the code."""

    text: dict[str, str] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)


def draw_fill(rng: random.Random, op: Op, parameters: dict[str, str], share: float, most: int) -> Fill:
    """Fill the slots; a new parameter goes into ``parameters`` (name to slot)."""
    fill = Fill()
    for slot in op.slots:
        names = PARAMETERS.get(slot)
        if names and len(parameters) < most and rng.random() < share:
            free = [name for name in names if name not in parameters]
            name = rng.choice(free)
            parameters[name] = slot
            fill.text[slot] = fill.code[slot] = name
            continue
        value = _draw(rng, slot, fill)
        fill.code[slot] = fill.text[slot] = f'"{value}"' if isinstance(value, str) else str(value)
    return fill


def _draw(rng: random.Random, slot: str, fill: Fill) -> int | str:
    if slot in "km":
        taken = fill.code.get("k")
        return rng.choice([value for value in range(2, 10) if str(value) != taken])
    if slot == "t":
        others = fill.code.values()
        return rng.choice([value for value in range(-3, 26) if str(value) not in others])
    if slot == "lo":
        return rng.randint(-5, 10)
    if slot == "hi":
        return int(fill.code["lo"]) + rng.randint(4, 25)
    if slot == "d":
        return rng.randint(0, 9)
    if slot == "q":
        k = fill.code["k"]
        return rng.randrange(1, int(k)) if k.isdigit() else 1
    return rng.choice({"c": LETTERS, "g": SEPARATORS, "f": AFFIXES}[slot])


_VERBS = {"are": ("is", "are not", "is not"), "have": ("has", "do not have", "does not have")}


def clause(plural: str, *, single: bool, negated: bool) -> str:
    """Turn "are even" into "is even", "are not even" or "is not even"; likewise with other verbs."""
    verb, _, rest = plural.partition(" ")
    one, none, none_one = _VERBS.get(verb, (verb + "s", f"do not {verb}", f"does not {verb}"))
    word = (none_one if single else none) if negated else one if single else verb
    return f"{word} {rest}"
