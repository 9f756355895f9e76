"""Rows that cannot be decoded are refused with what was given, what is allowed and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from dlmrt.config import DecoderConfig
from dlmrt.errors import ConfigError, DlmrtError, PromptError, RequestError
from dlmrt.rows import RowRequest
from dlmrt.validate import validate_ids, validate_rows
from tests.helpers import EOS_ID, MASK_ID, PAD_ID, VOCAB, tiny_config, tiny_diffusion


def check(*requests: RowRequest, **diffusion: Any) -> None:
    validate_rows(requests, tiny_config(max_positions=20), tiny_diffusion(**diffusion))


@pytest.mark.parametrize(
    ("request_", "error", "message"),
    [
        (RowRequest((7, VOCAB), 1), PromptError, rf"prompt_ids\[1\] is {VOCAB}; .* \[0, {VOCAB}\)"),
        (RowRequest((-1,), 1), PromptError, r"prompt_ids\[0\] is -1"),
        (RowRequest((7, 7, MASK_ID), 1), PromptError, rf"prompt_ids\[2\] is {MASK_ID}, the mask token"),
        (RowRequest((7.0,), 1), PromptError, r"prompt_ids\[0\] is 7.0 \(float\)"),  # type: ignore[arg-type]
        (RowRequest((7,), 0), RequestError, "max_new_tokens is 0; it must be >= 1"),
        (RowRequest((7,) * 15, 6), PromptError, r"15 prompt tokens \+ 6 new tokens = 21 .* <= 5"),
        (RowRequest((7,) * 30, 6), PromptError, "<= 0"),
        (RowRequest((7,), 1, method="af"), RequestError, "did you mean 'ar'"),  # type: ignore[arg-type]
        (RowRequest((), 1, method="ar"), PromptError, "the prompt is empty"),
        (RowRequest((7,), 1, DecoderConfig(temperature=1e-7)), RequestError, "temperature is 1e-07"),
    ],
)
def test_b01_b03_bad_rows_are_refused_by_index(
    request_: RowRequest, error: type[DlmrtError], message: str
) -> None:
    with pytest.raises(error, match=f"row 1: .*{message}"):
        check(RowRequest((7,), 1), request_)


def test_rows_that_fit_pass() -> None:
    check(
        RowRequest((), 20), RowRequest((7,) * 19, 1), RowRequest((EOS_ID, VOCAB - 1), 3), RowRequest((7,), 1)
    )
    check(RowRequest((7,), 19, DecoderConfig(temperature=0.01), method="ar_lookup"))


def test_a_model_without_diffusion_settings_decodes_autoregressively_only() -> None:
    plain: dict[str, Any] = {"block_size": 1, "noise": None, "mask_token_id": None}
    check(RowRequest((7,), 19, method="ar"), RowRequest((7,), 19, method="ar_lookup"), **plain)
    with pytest.raises(
        RequestError, match=r"row 0: method is 'diffusion', .*dlmrt\.json with \"block_size\""
    ):
        check(RowRequest((7,), 19), **plain)
    with pytest.raises(PromptError, match="give at least one prompt token$"):
        check(RowRequest((), 19, method="ar"), **plain)


def test_control_tokens_of_a_prompt_format_may_stand_in_a_prompt() -> None:
    check(RowRequest((PAD_ID, 7), 1), reserved_ids=(PAD_ID,))


@pytest.mark.parametrize(
    "changes",
    [{"mask_token_id": VOCAB}, {"eos_token_ids": (VOCAB,)}, {"pad_token_id": VOCAB}, {"reserved_ids": (-1,)}],
)
def test_control_ids_outside_the_vocabulary_are_refused(changes: dict[str, Any]) -> None:
    (name,) = changes
    with pytest.raises(ConfigError, match=f"{name} has id"):
        validate_ids(tiny_config(), tiny_diffusion(**changes))


def test_some_id_must_be_left_to_produce() -> None:
    with pytest.raises(ConfigError, match="bans all"):
        validate_ids(tiny_config(), tiny_diffusion(reserved_ids=tuple(range(VOCAB)), eos_token_ids=()))
