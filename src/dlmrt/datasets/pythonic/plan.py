"""Draw a program: which operations, in which order, with which constants and parameters."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType
from typing import TypeVar

from dlmrt.datasets.pythonic import levels
from dlmrt.datasets.pythonic.after import AFTERS
from dlmrt.datasets.pythonic.collect import COLLECTORS
from dlmrt.datasets.pythonic.conditions import CONDITIONS
from dlmrt.datasets.pythonic.maps import MAPS, STATES
from dlmrt.datasets.pythonic.ops import Fill, Op, draw_fill
from dlmrt.datasets.pythonic.sources import NESTED, SOURCES

T = TypeVar("T")

OPERATIONS: tuple[Op, ...] = (*SOURCES, *CONDITIONS, *MAPS, *STATES, *COLLECTORS, *AFTERS)
KEY_TYPES: Mapping[str, str] = MappingProxyType({"name": "str", "key": "str", "i": "int"})


@dataclass(frozen=True, slots=True)
class Step:
    """One place of a program: its kind (of ``levels.STAGES``, or source, collect, after) and operations.

    both: two conditions and ``joiner``; branch: a condition and two maps; collect: the collector and the
    operation that it asks for, if any. drop: the condition says what is left out.
    """

    kind: str
    ops: tuple[Op, ...]
    fills: tuple[Fill, ...]
    joiner: str = ""
    drop: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole program. parameters: name to slot, beside the source's arguments."""

    source: Step
    stages: tuple[Step, ...]
    collect: Step
    after: tuple[Step, ...]
    parameters: Mapping[str, str]

    @property
    def level(self) -> int:
        """Operations after the source."""
        return sum(len(step.ops) for step in (*self.stages, self.collect, *self.after))

    def ops(self) -> Iterator[Op]:
        """All operations in order."""
        for step in (self.source, *self.stages, self.collect, *self.after):
            yield from step.ops

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Names of operations that follow each other; a collector's second one counts as following it."""
        main = [self.source.ops[0], *(op for step in self.stages for op in step.ops), self.collect.ops[0]]
        yield from pairwise(op.name for op in (*main, *(step.ops[0] for step in self.after)))
        if len(self.collect.ops) > 1:
            yield self.collect.ops[0].name, self.collect.ops[1].name

    def fingerprint(self) -> int:
        """A hash of operations and constants, names of arguments and phrasing left out."""
        steps = (self.source, *self.stages, self.collect, *self.after)
        parts = [f"{step.kind}{step.joiner}{step.drop}" for step in steps]
        parts += [op.name for op in self.ops()]
        parts += [f"{fill.code}" for step in steps for fill in step.fills]
        return _hash("\x1f".join(parts))


def is_held(first: str, second: str) -> bool:
    """Whether that pair of neighbours is kept for the test set."""
    return _hash(f"{first}>{second}") % 100 < levels.HELD_PAIRS


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _by_type(ops: tuple[Op, ...], *kinds: str) -> Mapping[str, tuple[Op, ...]]:
    found: dict[str, list[Op]] = {}
    for op in ops:
        if not kinds or op.kind in kinds:
            found.setdefault(op.takes, []).append(op)
    return MappingProxyType({takes: tuple(those) for takes, those in found.items()})


_CONDITIONS, _MAPS, _COLLECTORS = _by_type(CONDITIONS), _by_type(MAPS), _by_type(COLLECTORS)
_AFTERS, _STATES = _by_type(AFTERS), _by_type(STATES)
_SOURCES: Mapping[str, tuple[Op, ...]] = MappingProxyType(
    {kind: tuple(op for op in SOURCES if ("keyed" if op.key else op.gives) == kind) for kind in levels.KINDS}
)
#: maps that give the same type as another one of the same input, so that the two can be branches
_GIVING: Mapping[tuple[str, str], tuple[Op, ...]] = MappingProxyType(
    {
        (op.takes, op.gives): tuple(m for m in MAPS if (m.takes, m.gives) == (op.takes, op.gives))
        for op in MAPS
    }
)

_PLAIN: Mapping[tuple[tuple[str, ...], str, str], Op] = MappingProxyType(
    {(op.arguments, op.gives, op.key): op for op in reversed(SOURCES) if not op.slots}
)


def draw_plan(rng: random.Random) -> Plan | None:
    """A random program, or None when the draws lead nowhere."""
    return _Draw(rng).plan()


@dataclass(slots=True)
class _Draw:
    """The state of one draw. value: type of the current value; large: it may be a large number."""

    rng: random.Random
    parameters: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    value: str = ""
    key: str = ""
    large: bool = False
    label: bool = False

    def plan(self) -> Plan | None:
        rng = self.rng
        source = rng.choice(_SOURCES[_weighted(rng, levels.KINDS)])
        first = self.step("source", source)
        self.value, self.key = source.gives, source.key
        self.large = "grows" in source.marks or "big" in source.arguments
        count = _weighted(rng, levels.LEVELS)
        after = min(_weighted(rng, levels.AFTER), count - 1)
        stages = self.stages(count - 1 - after, NESTED in source.marks)
        collect = self.collect(final=after == 0) if stages is not None else None
        if stages is None or collect is None:
            return None
        result = self.result_of(collect.ops)
        ends: list[Step] = []
        for _ in range(after):
            op = self.pick(_AFTERS.get(_base(result), ()))
            if op is None:
                return None
            ends.append(self.step("after", op))
            result = _resolve(op.gives, *_parts(result))
        return Plan(first, tuple(stages), collect, tuple(ends), self.parameters)

    def stages(self, left: int, nested: bool) -> list[Step] | None:
        """Fill so many places inside the loop."""
        found: list[Step] = []
        kinds = set()
        while left > 0:
            kind = _weighted(self.rng, levels.STAGES)
            cost = {"both": 2, "branch": 3}.get(kind, 1)
            if cost > left or (kind in ("state", "stop") and (kind in kinds or (nested and kind == "stop"))):
                continue
            step = None if self.label else getattr(self, "_" + kind)(nested)
            if step is None:
                return None
            kinds.add(kind)
            found.append(step)
            left -= cost
        return found

    def step(self, kind: str, *ops: Op, joiner: str = "", drop: bool = False) -> Step:
        most = levels.MAX_PARAMETERS
        fills = tuple(draw_fill(self.rng, op, self.parameters, levels.PARAMETER_SHARE, most) for op in ops)
        return Step(kind, ops, fills, joiner, drop)

    def pick(self, ops: tuple[Op, ...]) -> Op | None:
        """One that is not in the program yet and not too slow for large numbers."""
        free = [op for op in ops if op.name not in self.used and not (self.large and "heavy" in op.marks)]
        if not free:
            return None
        op = self.rng.choice(free)
        self.used.add(op.name)
        self.large = self.large or "grows" in op.marks
        return op

    def condition(self) -> Op | None:
        """A condition on the value, or sometimes on its key."""
        if self.key and self.rng.random() < 0.25:
            kind = "i" if self.key == "i" else "name"
            keyed = (*_CONDITIONS.get(f"{kind}:{self.value}", ()), *_CONDITIONS.get(f"{kind}:any", ()))
            if keyed:
                return self.pick(keyed)
        return self.pick(_CONDITIONS[self.value])

    def _keep(self, nested: bool) -> Step | None:
        op = self.condition()
        return None if op is None else self.step("keep", op, drop=self.rng.random() < 0.35)

    def _stop(self, nested: bool) -> Step | None:
        op = self.condition()
        return None if op is None else self.step("stop", op)

    def _both(self, nested: bool) -> Step | None:
        first, second = self.condition(), self.condition()
        if first is None or second is None:
            return None
        return self.step("both", first, second, joiner=self.rng.choice(("and", "or")))

    def _map(self, nested: bool) -> Step | None:
        op = self.pick(_MAPS[self.value])
        if op is None:
            return None
        self.value, self.label = op.gives, "label" in op.marks
        return self.step("map", op)

    def _branch(self, nested: bool) -> Step | None:
        condition, first = self.condition(), self.pick(_MAPS[self.value])
        second = first and self.pick(_GIVING[first.takes, first.gives])
        if condition is None or first is None or second is None:
            return None
        self.value = first.gives
        return self.step("branch", condition, first, second)

    def _state(self, nested: bool) -> Step | None:
        states = (*_STATES.get(self.value, ()), *_STATES["any"])
        op = self.pick(tuple(op for op in states if not (nested and op.kind == "stop")))
        return None if op is None else self.step("state", op)

    def collect(self, *, final: bool) -> Step | None:
        """The collector and what it asks for; ``final`` ones may be drawn if nothing follows."""
        if self.key and self.rng.random() < levels.KEYED_SHARE:
            choices = (*_COLLECTORS.get(f"key:{self.value}", ()), *_COLLECTORS["key:any"])
        else:
            choices = (*_COLLECTORS[self.value], *_COLLECTORS["any"])
        op = self.pick(tuple(op for op in choices if final or "final" not in op.marks))
        if op is None:
            return None
        if not op.asks:
            return self.step("collect", op)
        second = self.condition() if op.asks == "cond" else self.pick(self.keys_for(op))
        return None if second is None else self.step("collect", op, second)

    def keys_for(self, op: Op) -> tuple[Op, ...]:
        """Maps that give the key of a dictionary, or a number to compare by."""
        if op.asks == "by int":
            return tuple(m for m in _MAPS[self.value] if m.gives == "int")
        return tuple(m for m in _MAPS[self.value] if "by" in m.marks)

    def result_of(self, ops: tuple[Op, ...]) -> str:
        """The type of what a collector makes, say ``groups[str,int]``."""
        by = ops[1].gives if len(ops) > 1 and ops[0].asks.startswith("by") else ""
        names = {"v": self.value, "by": by, "key": KEY_TYPES.get(self.key, "")}
        return _fill_type(ops[0].gives, {name: _plain(kind) for name, kind in names.items()})


def _weighted(rng: random.Random, weights: Mapping[T, float]) -> T:
    at = rng.random() * sum(weights.values())
    for value, weight in weights.items():
        at -= weight
        if at < 0:
            return value
    return value


def _plain(kind: str) -> str:
    """A character is a string once it stands in a result."""
    return "str" if kind == "chr" else kind


def _base(kind: str) -> str:
    """What a result is matched by: lists with their items, dictionaries without."""
    return kind if kind.startswith("list") else kind.partition("[")[0]


def _parts(kind: str) -> tuple[str, str]:
    """Types of keys and items."""
    inside = kind.partition("[")[2].rstrip("]").split(",")
    return inside[0], inside[-1]


def _resolve(kind: str, key: str, item: str) -> str:
    return _fill_type(kind, {"k": key, "e": item})


def _fill_type(kind: str, names: Mapping[str, str]) -> str:
    base, bracket, inside = kind.partition("[")
    if not bracket:
        return kind
    return f"{base}[{','.join(names.get(part, part) for part in inside.rstrip(']').split(','))}]"


def weaker(plan: Plan) -> Iterator[Plan]:
    """The programs that leave one operation out, where that keeps the types.

    A source without its peculiarity is the plainest one of the same arguments and values.
    """
    source = plan.source.ops[0]
    plain = _PLAIN[source.arguments, source.gives, source.key]
    if plain != source:
        yield replace(plan, source=Step("source", (plain,), (Fill(),)))
    for i, step in enumerate(plan.stages):
        before, rest = plan.stages[:i], plan.stages[i + 1 :]
        for less in _weaker_steps(step):
            yield replace(plan, stages=(*before, *less, *rest))
    if plan.collect.ops[0].asks == "cond":
        collector, condition = plan.collect.ops
        for always, never in (("True", "False"), ("False", "True")):
            fixed = replace(condition, code=always, other=never)
            yield replace(plan, collect=replace(plan.collect, ops=(collector, fixed)))
    for i, step in enumerate(plan.after):
        op = step.ops[0]
        if op.takes == op.gives.partition("[")[0] or op.takes == op.gives:
            yield replace(plan, after=plan.after[:i] + plan.after[i + 1 :])


def _weaker_steps(step: Step) -> Iterator[tuple[Step, ...]]:
    if step.kind == "both":
        for op, fill in zip(step.ops, step.fills, strict=True):
            yield (Step("keep", (op,), (fill,)),)
        yield ()
        yield (replace(step, joiner="or" if step.joiner == "and" else "and"),)
    elif step.kind == "branch":
        for op, fill in zip(step.ops[1:], step.fills[1:], strict=True):
            yield (Step("map", (op,), (fill,)),)
        yield (replace(step, ops=step.ops[::2] + step.ops[1:2], fills=step.fills[::2] + step.fills[1:2]),)
    elif step.ops[0].takes == step.ops[0].gives or step.kind in ("keep", "stop"):
        yield ()
        if step.kind == "keep":
            yield (replace(step, drop=not step.drop),)
