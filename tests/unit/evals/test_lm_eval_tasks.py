"""What lm-eval's generation kwargs become here, and which are refused. lm-eval itself is not needed."""

from __future__ import annotations

from typing import Any

import pytest

from dlmrt.errors import RequestError
from dlmrt.evals.lm_eval_tasks import plain_scores, render, request_options


@pytest.mark.parametrize(
    ("kwargs", "arm", "options"),
    [
        ({}, {}, {"stop": (), "temperature": 0.0}),
        ({"until": "\n", "max_gen_toks": 9}, {}, {"stop": ("\n",), "temperature": 0.0, "max_new_tokens": 9}),
        (
            {"until": ["a", "b"], "do_sample": False, "temperature": 0.9, "max_new_tokens": 9},
            {"threshold": 0.8, "max_new_tokens": 5},
            {"stop": ("a", "b"), "temperature": 0.0, "max_new_tokens": 5, "threshold": 0.8},
        ),
        (
            {"do_sample": True, "temperature": 1, "top_p": 0.9, "top_k": 5, "seed": 3},
            {},
            {"stop": (), "temperature": 1.0, "top_p": 0.9, "top_k": 5, "seed": 3},
        ),
        ({"temperature": 0.5}, {}, {"stop": (), "temperature": 0.5}),
        ({"do_sample": True}, {"temperature": 0.7}, {"stop": (), "temperature": 0.7}),
        ({"until": None, "max_gen_toks": None}, {"max_new_tokens": None}, None),
    ],
)
def test_kwargs_become_options(
    kwargs: dict[str, Any], arm: dict[str, Any], options: dict[str, Any] | None
) -> None:
    want = {"stop": (), "temperature": 0.0, "max_new_tokens": None} if options is None else options
    assert request_options(kwargs, arm) == want


@pytest.mark.parametrize(
    ("kwargs", "arm", "message"),
    [
        ({"num_beams": 4}, {}, "'num_beams', which is not supported"),
        ({"max_gen_tok": 4}, {}, "'max_gen_tok', which is not supported; did you mean 'max_gen_toks'"),
        ({"max_gen_toks": 0}, {}, "max_gen_toks is 0; it must be an integer >= 1"),
        ({"max_tokens": "9"}, {}, "max_tokens is '9'"),
        ({"do_sample": "yes"}, {}, "do_sample is 'yes'"),
        ({"temperature": "hot"}, {}, "temperature is 'hot'"),
        ({"do_sample": True}, {}, "do_sample: true and no temperature > 0"),
        ({"do_sample": True, "temperature": 0.0}, {}, "do_sample: true and no temperature > 0"),
        (
            {"do_sample": False},
            {"temperature": 0.7},
            r"temperature 0.0 \(do_sample: False\) and the arm sets 0.7",
        ),
        ({"temperature": 1.0, "top_p": 0.5}, {"top_p": 0.9}, "top_p 0.5 .* the arm sets 0.9"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(
    kwargs: dict[str, Any], arm: dict[str, Any], message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        request_options(kwargs, arm)


def test_scores_that_are_no_numbers_are_none() -> None:
    scores = {"alias": "x", "acc,none": 0.5, "acc_stderr,none": "N/A", "f1,none": float("nan")}
    assert plain_scores(scores) == {"acc,none": 0.5, "acc_stderr,none": None, "f1,none": None}


def test_the_text_tells_of_everything_that_lowers_a_score() -> None:
    generation = {
        "answers": 1, "refused": 2, "refused_because": {"too long": 2}, "limits_capped": 1, "tokens": 8,
        "decided_tokens": 9, "forwards": {"prefill": 1, "denoise": 3, "commit": 1},
        "tokens_per_forward": {
            "mean_of_ratios": 2.25, "ratio_of_sums": 2.25, "mean_of_ratios_without_commits": 3.0,
            "ratio_of_sums_without_commits": 3.0,
        },
    }  # fmt: skip
    scores = {"acc,none": 0.25, "acc_stderr,none": 0.125, "f1,strict": None}
    text = render({"tasks": {"t": {"items": 4, "scores": scores}}, "generation": generation})
    assert text.splitlines() == [
        "t  acc (none)  0.2500 ± 0.1250 (standard error)  4 items",
        "t  f1 (strict)  -  4 items",
        "1 answers, 8 tokens, forwards 1 prefill + 3 denoise + 1 commit",
        "tokens per forward 2.25 (mean of ratios), 2.25 (ratio of sums); without commits 3.00, 3.00",
        "2 prompts were refused and count as wrong: {'too long': 2}",
        "1 answers could be no longer than the model's context",
    ]
