"""The family of small Python functions: see :mod:`dlmrt.datasets.pythonic.levels` for its difficulty."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from dlmrt.datasets.pythonic import levels
from dlmrt.datasets.pythonic.checks import choose_tests, is_alive, load
from dlmrt.datasets.pythonic.plan import draw_plan, is_held
from dlmrt.datasets.pythonic.render import draw_names, write_code, write_description
from dlmrt.errors import DataError

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class PythonFamily:
    """English description and signature to a whole function, judged by asserts.

    name, version, prefix, split_rule: what a manifest records; ``prefix`` is not part of a prompt.
    """

    name: str = "python"
    version: int = 2
    prefix: str = "python: "
    splits: tuple[str, ...] = SPLITS
    split_rule: str = (
        f"a hash holds out {levels.HELD_PAIRS} of 100 pairs of neighbouring operations: every test program "
        "has at least one of them, no train or dev program has any; a hash holds out the last phrasing of "
        f"{levels.HELD_PHRASINGS} of 100 operations that have several, which test programs use in "
        f"{levels.HELD_PHRASING_SHARE:.0%} of the places; a hash of operations and constants makes "
        f"one remaining program in {levels.DEV_SHARE} a dev program"
    )

    def sample(self, rng: random.Random, split: str) -> dict[str, Any] | None:
        """One item of that split, a function of ``rng`` alone, or None when the draw is rejected.

        Fields: prompt, answer, verifier, entry_point, level (operations after the source), and tests,
        which is empty for train. Raises DataError: an unknown split.
        """
        if split not in self.splits:
            raise DataError(f"unknown split '{split}' of family 'python' (splits: {', '.join(self.splits)})")
        plan = draw_plan(rng)
        if plan is None or any(is_held(*pair) for pair in plan.pairs()) != (split == "test"):
            return None
        if split != "test" and (plan.fingerprint() % levels.DEV_SHARE == 0) != (split == "dev"):
            return None
        names = draw_names(rng, plan)
        code = write_code(plan, names)
        if not levels.MIN_CHARS <= len(code) <= levels.MAX_CHARS:
            return None
        prompt = f"{write_description(rng, plan, names, held_out=split == 'test')}\n{names.signature}"
        if len(prompt) > levels.MAX_PROMPT_CHARS or not is_alive(rng, plan, load(code, names.function)):
            return None
        tests = [] if split == "train" else choose_tests(rng, plan, names, code)
        if tests is None or (split != "train" and len(tests) < levels.MIN_TESTS):
            return None
        item: dict[str, Any] = {
            "prompt": prompt,
            "answer": code.rstrip(),
            "verifier": "python_tests",
            "tests": tests,
        }
        return {**item, "entry_point": names.function, "level": plan.level}


FAMILY = PythonFamily()
