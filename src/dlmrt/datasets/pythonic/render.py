"""Write a program as Python code and as an English description."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from dlmrt.datasets.pythonic import levels
from dlmrt.datasets.pythonic.ops import Op, clause
from dlmrt.datasets.pythonic.plan import OPERATIONS, Plan, Step

#: names of arguments, by what they hold; none is a variable of an operation
ARGUMENTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ints": ("nums", "numbers", "values", "data", "amounts", "xs"),
        "words": ("words", "names", "items", "tokens", "parts", "labels"),
        "text": ("text", "sentence", "phrase", "message", "note"),
        "lines": ("lines", "texts", "notes"),
        "grid": ("grid", "matrix", "board", "table"),
        "n": ("n", "number", "start", "top_value"),
        "big": ("n", "number", "code", "num"),
        "counts": ("counts", "stock", "prices", "ages", "scores"),
        "groups": ("groups", "marks", "records", "shelves"),
        "teams": ("teams", "boxes", "classes", "rooms"),
        "pairs": ("pairs", "entries", "sales", "rows"),
    }
)
_VARIABLES = {"int": "x", "str": "w", "chr": "c"}
_NEW = {"int": ("y", "z", "u", "q"), "str": ("s", "t", "r", "e"), "chr": ("s", "t", "r", "e")}
_VERBS = (
    "get",
    "make",
    "find",
    "build",
    "compute",
    "collect",
    "scan",
    "process",
    "take",
    "work",
    "run",
    "pick",
)
_THINGS = {
    "int": ("numbers", "values", "result", "ints", "series"),
    "str": ("words", "strings", "result", "names", "terms"),
    "chr": ("chars", "letters", "result", "text", "symbols"),
}
_KEY_WORDS = {"name": "name", "key": "key", "i": "index"}


@dataclass(frozen=True, slots=True)
class Names:
    """Names that the description and the code share."""

    function: str
    arguments: tuple[str, ...]
    parameters: tuple[str, ...]

    @property
    def signature(self) -> str:
        """The first line of the function."""
        return f"def {self.function}({', '.join((*self.arguments, *self.parameters))}):"


def draw_names(rng: random.Random, plan: Plan) -> Names:
    """Names of the function and its arguments."""
    source = plan.source.ops[0]
    found: list[str] = []
    for kind in source.arguments:
        found.append(rng.choice([name for name in ARGUMENTS[kind] if name not in found]))
    function = rng.choice(_VERBS) + "_" + rng.choice(_THINGS[source.gives])
    return Names(function, tuple(found), tuple(plan.parameters))


def write_code(plan: Plan, names: Names) -> str:
    """The function, in one canonical form, with a line end."""
    writer = _Writer(dict(zip("ab", names.arguments, strict=False)))
    return names.signature + "\n" + "\n".join(writer.function(plan)) + "\n"


@dataclass(slots=True)
class _Writer:
    env: dict[str, str]
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    used: set[str] = field(default_factory=set)

    def function(self, plan: Plan) -> list[str]:
        source, (collector, *_) = plan.source.ops[0], plan.collect.ops
        self.env["v"], self.env["key"] = _VARIABLES[source.gives], source.key
        self.emit(collector.init, plan.collect, 0)
        for step in plan.stages:
            self.emit(step.ops[0].init, step, 0)
        self.emit(source.code, plan.source, 0)
        self.depth += source.opens
        for step in plan.stages:
            self.stage(step)
        self.collect(plan.collect)
        self.depth = 1
        self.emit(collector.after, plan.collect, 0)
        self.env["r"] = collector.result
        for step, name in zip(plan.after, ("out", "final"), strict=False):
            self.env["o"] = name
            self.emit(step.ops[0].code, step, 0)
            if "{o}" in step.ops[0].code:
                self.env["r"] = name
        if "final" not in collector.marks:
            self.lines.append(f"    return {self.env['r']}")
        return self.lines

    def emit(self, template: str, step: Step, index: int, extra: int = 0) -> None:
        """Append a template's lines at the current depth."""
        if template:
            indent = "    " * (self.depth + extra)
            text = template.format_map({**self.env, **step.fills[index].code}).replace(" - -", " + ")
            self.lines += [indent + line for line in text.split("\n")]

    def expression(self, step: Step, index: int = 0, *, negated: bool = False) -> str:
        op = step.ops[index]
        return (op.other if negated else op.code).format_map({**self.env, **step.fills[index].code})

    def fresh(self, kind: str) -> str:
        name = next(name for name in _NEW[kind] if name not in self.used)
        self.used.add(name)
        return name

    def stage(self, step: Step) -> None:
        kind, op = step.kind, step.ops[0]
        if kind in ("keep", "stop"):
            self.open_if(self.expression(step, negated=step.drop))
        elif kind == "both":
            sides = [self.expression(step, i) for i in (0, 1)]
            self.open_if(f" {step.joiner} ".join(map(_wrapped, sides)))
        elif kind == "map":
            self.env["o"] = self.fresh(op.gives)
            self.emit(op.code, step, 0)
            self.env["v"] = self.env["o"]
        elif kind == "branch":
            self.env["o"] = self.fresh(step.ops[1].gives)
            condition = self.expression(step)
            self.open_if(condition)
            self.emit(step.ops[1].code, step, 1)
            self.lines.append("    " * (self.depth - 1) + "else:")
            self.emit(step.ops[2].code, step, 2)
            self.depth -= 1
            self.env["v"] = self.env["o"]
        else:
            makes = "{o}" in op.code
            if makes:
                self.env["o"] = self.fresh(op.gives if op.gives != "any" else "int")
            self.emit(op.code, step, 0)
            self.depth += op.opens
            if makes:
                self.env["v"] = self.env["o"]
        if kind == "stop":
            self.lines.append("    " * self.depth + "break")
            self.depth -= 1

    def open_if(self, condition: str) -> None:
        self.lines.append("    " * self.depth + f"if {condition}:".replace(" - -", " + "))
        self.depth += 1

    def collect(self, step: Step) -> None:
        op = step.ops[0]
        if op.asks == "cond":
            self.env["cond"] = self.expression(step, 1).replace(" - -", " + ")
            self.env["ncond"] = self.expression(step, 1, negated=True).replace(" - -", " + ")
        elif op.asks:
            self.env["o"] = "g"
            self.emit(step.ops[1].code, step, 1)
        self.emit(op.code, step, 0)


def _wrapped(condition: str) -> str:
    return f"({condition})" if " and " in condition or " or " in condition else condition


_KEEP = ("keep only the {ns} that {p}", "ignore the {ns} that {not_p}", "skip every {n} that {not_s}")
_DROP = ("leave out the {ns} that {p}", "skip each {n} that {s}", "pass over {ns} that {p}")
_BOTH = ("keep only the {ns} that {p} {and} {p2}", "use a {n} only if it {s} {and} {s2}")
_STOP = ("stop at the first {n} that {s}, without using it", "end the loop as soon as a {n} {s}")
_MAP = ("replace each {n} by {np}", "turn each {n} into {np}", "from each {n} make {np}")
_BRANCH = (
    "replace each {n} that {s} by {np} and every other by {np2}",
    "if a {n} {s}, turn it into {np}; otherwise into {np2}",
    "turn the {ns} that {p} each into {np}, the others each into {np2}",
)
_TEMPLATES = {"keep": _KEEP, "both": _BOTH, "stop": _STOP, "map": _MAP, "branch": _BRANCH}


def _may_be_held(op: Op) -> bool:
    digest = hashlib.sha256(f"phrasing:{op.name}".encode()).digest()
    return len(op.text) > 1 and int.from_bytes(digest[:8], "big") % 100 < levels.HELD_PHRASINGS


#: what no training program says, of any operation
_HELD = frozenset(op.text[-1] for op in OPERATIONS if _may_be_held(op)) - frozenset(
    text for op in OPERATIONS for text in (op.text[:-1] if _may_be_held(op) else op.text)
)


def phrasings(op: Op) -> tuple[tuple[str, ...], str | None]:
    """The phrasings that every split may use, and the one that only test programs use, if any."""
    held = op.text[-1] if op.text[-1] in _HELD else None
    return tuple(text for text in op.text if text != held), held


def write_description(rng: random.Random, plan: Plan, names: Names, *, held_out: bool) -> str:
    """English imperatives that say what the program does; phrasings are drawn, held-out ones if asked."""
    teller = _Teller(rng, {**dict(zip("ab", names.arguments, strict=False))}, held_out)
    parts = teller.parts(plan)
    style = rng.randrange(4)
    if style == 0:
        return " ".join(part[0].upper() + part[1:] + "." for part in parts)
    if style == 1:
        text = ", then ".join(parts) if len(parts) < 3 else "; ".join(parts[:-1]) + "; finally " + parts[-1]
        return text[0].upper() + text[1:] + "."
    if style == 2:
        text = "First, " + parts[0] + ". Then " + ". Then ".join(parts[1:]) + "."
        return text
    return "Write a function: " + "; then ".join(parts) + "."


@dataclass(slots=True)
class _Teller:
    rng: random.Random
    env: dict[str, str]
    held_out: bool

    def parts(self, plan: Plan) -> list[str]:
        source = plan.source.ops[0]
        self.env["key"] = _KEY_WORDS.get(source.key, "")
        found = [self.phrase(source, plan.source, 0)]
        noun = {"int": "number", "str": "word", "chr": "character"}[source.gives]
        for step in plan.stages:
            self.env["n"], self.env["ns"] = noun, noun + "s"
            found.append(self.stage(step))
            gives = step.ops[-1].gives
            if step.kind in ("map", "branch"):
                noun = {"int": "number", "str": "string", "chr": "character"}[gives]
        found.append(self.collect(plan.collect))
        found += [self.phrase(step.ops[0], step, 0) for step in plan.after]
        if "final" not in plan.collect.ops[0].marks:
            found[-1] += self.rng.choice((", and return it", ", and return what you get", " and return that"))
        return [part.replace("indexs", "indices") for part in found]

    def phrase(self, op: Op, step: Step, index: int, **more: str) -> str:
        """One of the operation's phrasings with its slots filled."""
        known, held = phrasings(op)
        text = self.rng.choice(known)
        if held is not None and self.held_out and self.rng.random() < levels.HELD_PHRASING_SHARE:
            text = held
        return text.format_map({**self.env, **step.fills[index].text, **more})

    def clauses(self, step: Step, index: int, suffix: str = "") -> dict[str, str]:
        plural = self.phrase(step.ops[index], step, index)
        forms = {
            "p": clause(plural, single=False, negated=False),
            "s": clause(plural, single=True, negated=False),
            "not_p": clause(plural, single=False, negated=True),
            "not_s": clause(plural, single=True, negated=True),
        }
        return {name + suffix: text for name, text in forms.items()}

    def stage(self, step: Step) -> str:
        op = step.ops[0]
        if step.kind == "state":
            return self.phrase(op, step, 0, noun=self.env["n"], nouns=self.env["ns"])
        template = self.rng.choice(_DROP if step.drop else _TEMPLATES[step.kind])
        more: dict[str, str] = {"and": step.joiner}
        if step.kind == "map":
            more["np"] = self.phrase(op, step, 0)
        else:
            more |= self.clauses(step, 0)
        if step.kind == "both":
            more |= self.clauses(step, 1, "2")
        if step.kind == "branch":
            more |= {"np": self.phrase(step.ops[1], step, 1), "np2": self.phrase(step.ops[2], step, 2)}
        return template.format_map({**self.env, **more})

    def collect(self, step: Step) -> str:
        more: dict[str, str] = {}
        if step.ops[0].asks == "cond":
            more = self.clauses(step, 1)
        elif step.ops[0].asks:
            more = {"np": self.phrase(step.ops[1], step, 1)}
        return self.phrase(step.ops[0], step, 0, **more)
