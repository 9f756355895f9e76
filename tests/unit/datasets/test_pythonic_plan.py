"""Programs: every operation occurs in training, held pairs do not, and all of it runs."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from dlmrt.datasets.pythonic import levels
from dlmrt.datasets.pythonic.checks import load
from dlmrt.datasets.pythonic.inputs import constants, draw_arguments
from dlmrt.datasets.pythonic.ops import PARAMETERS, Fill, clause, draw_fill, make
from dlmrt.datasets.pythonic.plan import OPERATIONS, Plan, draw_plan, is_held, weaker
from dlmrt.datasets.pythonic.render import ARGUMENTS, draw_names, phrasings, write_code, write_description


def plans(seed: int) -> Iterator[Plan]:
    rng = random.Random(seed)
    while True:
        plan = draw_plan(rng)
        if plan is not None:
            yield plan


def test_operations_are_many_and_names_tell_them_apart() -> None:
    keys = [(op.name, op.takes) for op in OPERATIONS]
    assert len(set(keys)) == len(keys)
    assert len({op.name for op in OPERATIONS}) > 400


def test_every_operation_occurs_in_a_training_program_and_no_held_pair_does() -> None:
    seen: set[str] = set()
    held = Counter[bool]()
    for plan in islice(plans(1), 12_000):
        pairs = list(plan.pairs())
        held.update(is_held(*pair) for pair in set(pairs))
        if not any(is_held(*pair) for pair in pairs):
            seen.update(op.name for op in plan.ops())
    assert seen == {op.name for op in OPERATIONS}
    assert abs(held[True] / held.total() - levels.HELD_PAIRS / 100) < 0.02


def test_pairs_are_neighbours_in_the_order_of_the_program() -> None:
    for plan in islice(plans(2), 200):
        pairs = set(plan.pairs())
        assert len(pairs) <= plan.level + 1
        assert {name for pair in pairs for name in pair} == {op.name for op in plan.ops()}


def test_all_programs_run_on_all_sizes() -> None:
    rng = random.Random(3)
    for plan in islice(plans(3), 1_500):
        names = draw_names(rng, plan)
        function = load(write_code(plan, names), names.function)
        for size in (0, 1, 2, None, None):
            function(*draw_arguments(rng, plan, constants(plan), size))


def test_the_description_names_constants_arguments_and_parameters() -> None:
    rng = random.Random(4)
    for plan in islice(plans(4), 300):
        names = draw_names(rng, plan)
        text = write_description(rng, plan, names, held_out=True)
        steps = (plan.source, *plan.stages, plan.collect, *plan.after)
        for value in (value for step in steps for fill in step.fills for value in fill.text.values()):
            assert value in text
        assert all(name in text for name in (*names.arguments, *names.parameters))


def test_names_of_arguments_are_no_variables_of_operations() -> None:
    given = {name for names in (*ARGUMENTS.values(), *PARAMETERS.values()) for name in names}
    code = "\n".join(f"{op.init}\n{op.code}\n{op.after}" for op in OPERATIONS)
    for no_variable in (r"\.\w+\(", r"\{\w+\}", r'"[^"]*"'):
        code = re.sub(no_variable, " ", code)
    words = set(re.findall(r"[a-z_]\w*", code))
    assert {"total", "seen", "rest", "item"} <= words
    assert not given & words


def test_constants_and_phrasing_of_a_program_count_as_stated() -> None:
    rng = random.Random(5)
    first, *others = {plan.fingerprint(): plan for plan in islice(plans(5), 50)}.values()
    assert first.fingerprint() not in {plan.fingerprint() for plan in others}
    texts = {write_description(rng, first, draw_names(rng, first), held_out=False) for _ in range(20)}
    assert len(texts) > 5


def test_weaker_programs_leave_something_out() -> None:
    rng = random.Random(6)
    for plan in islice(plans(6), 200):
        names = draw_names(rng, plan)
        code = write_code(plan, names)
        for less in weaker(plan):
            load(write_code(less, names), names.function)
            assert less != plan
        assert write_code(plan, names) == code


def test_clauses_follow_number_and_negation() -> None:
    forms = [clause("are even", single=one, negated=no) for one in (True, False) for no in (True, False)]
    assert forms == ["is not even", "is even", "are not even", "are even"]
    assert clause("have 3 parts", single=True, negated=True) == "does not have 3 parts"
    assert clause("end with x", single=True, negated=False) == "ends with x"


def test_a_slot_is_a_constant_or_a_new_parameter() -> None:
    op = make("demo", "cond", "int", "int", "are above {t}", "{v} > {t}", other="{v} <= {t}")
    assert op.slots == ("t",)
    parameters: dict[str, str] = {}
    fills = [draw_fill(random.Random(7), op, parameters, 1.0, 2) for _ in range(3)]
    assert list(parameters.values()) == ["t", "t"]
    assert [fill.code["t"] for fill in fills[:2]] == list(parameters)
    assert fills[2].code["t"].lstrip("-").isdigit()
    assert Fill().code == {}


def test_held_out_phrasings_are_in_no_training_description() -> None:
    held = {text for op in OPERATIONS if (text := phrasings(op)[1]) is not None}
    several = [op for op in OPERATIONS if len(op.text) > 1]
    assert 0.2 < len(held) / len(several) < 0.4
    rng, used = random.Random(7), {False: 0, True: 0}
    plain = {text for text in held if "{" not in text}
    for plan in islice(plans(7), 400):
        for held_out in used:
            text = write_description(rng, plan, draw_names(rng, plan), held_out=held_out)
            used[held_out] += any(phrase in text.lower() for phrase in plain)
    assert used[False] == 0 and used[True] > 20
