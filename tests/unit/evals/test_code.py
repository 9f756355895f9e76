"""Cutting code out of answers: the two named rules, line by line."""

from __future__ import annotations

import pytest

from dlmrt.evals.code import complete, extract

PREFIX = '''import math


def helper(x):
    """Double x."""
    return 2 * x


def area(r: float) -> float:
    """Area of a circle.

    >>> area(0)
    0.0
    """
'''
BODY = "    square = r * r\n    return math.pi * square"
WHOLE = PREFIX + BODY + "\n"


def run(source: str) -> float:
    space: dict[str, object] = {}
    exec(compile(source, "answer", "exec"), space)
    return space["area"](1.0)  # type: ignore[operator, no-any-return]


@pytest.mark.parametrize(
    "answer",
    [
        BODY,
        BODY + "\n\n\nprint(area(3))\ndef area(r):\n    return 0",
        BODY + "\n# area(3) is about 28\nassert False",
        BODY.lstrip() + "\nThat is the area.",  # the first line lost its blanks
        "\n" + BODY[1:] + "\nclass Circle:\n    pass",
        "```python\n" + BODY + "\n```\nThat is the area.",
        "Here it is:\n\n```\n" + BODY + "\n```\n",
        BODY + "\n```\n\nAnd another one:\n\n```python\nprint(1)\n```",  # closes what the prompt opened
        "```python\n" + WHOLE + "```",
        "The function:\n" + WHOLE + "\nprint(area(2))",
        "def area(r: float) -> float:\n" + BODY + "\n\ndef area(r):\n    return 0",
        "def area(\n    r: float,\n) -> float:\n" + BODY + "\n\nx = (",
        '    text = """\nat column 0\n"""\n' + BODY + "\nnot code",
        "    values = [\n        1,\n]\n" + BODY + "\nnot code",
    ],
)
def test_every_shape_of_a_right_answer_is_cut_to_code_that_runs(answer: str) -> None:
    assert run(complete(PREFIX, "area", answer)) == pytest.approx(3.14159, abs=1e-4)


def test_the_body_ends_at_the_first_line_at_column_0() -> None:
    assert complete(PREFIX, "area", BODY + "\n\nprint(1)") == WHOLE + "\n"
    assert complete(PREFIX, "area", "") == PREFIX + "\n"


def test_a_repeated_signature_replaces_the_function_and_keeps_helpers() -> None:
    helper = "from math import tau\ndef half(x):\n    return x / 2\n\n"
    answer = "Sure.\n" + helper + "def area(r):\n    return half(tau * r * r)\nEnd."
    cut = complete(PREFIX, "area", answer)
    assert cut.count("def area") == 1 and "Sure" not in cut and "End" not in cut
    assert "def helper" in cut
    assert run(cut) == pytest.approx(3.14159, abs=1e-4)


def test_a_function_of_a_longer_name_is_not_the_signature() -> None:
    cut = complete(PREFIX, "area", "    return 1\ndef area_of_all(r):\n    return 2\n")
    assert cut == PREFIX + "    return 1\n"


PROGRAM = "import re\n\nSIZE = 3\n\ndef f(x):\n    return x + SIZE\n"


@pytest.mark.parametrize(
    "answer",
    [
        PROGRAM,
        "Here is the program:\n\n" + PROGRAM,
        PROGRAM + "\nThis function adds three.\nTry it: f(1)",
        PROGRAM + "\nNote: f adds three",
        "Text.\n```python\n" + PROGRAM + "```\nMore text = better text.\n```\nf(\n```",
        "```py\n" + PROGRAM,  # cut off before the closing fence
        PROGRAM + "\nfor i in range(3):\n    f(i)\nif f(1):\n    pass\nprint(f(2))\n",
        PROGRAM + 'HELP = """\nThis is text, not code.\n"""\n',
    ],
)
def test_a_program_is_found_in_its_answer(answer: str) -> None:
    space: dict[str, object] = {"print": lambda *values: None}
    exec(compile(extract(answer), "answer", "exec"), space)
    assert space["f"](1) == 4  # type: ignore[operator]


def test_text_without_code_gives_an_empty_program() -> None:
    assert extract("I can't write this.\nSorry.").strip() == ""
