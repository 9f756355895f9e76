from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dlmrt import LLM
from dlmrt.engine.trace import TraceRecorder, plain_step, states
from dlmrt.rows import StepRecord


def record() -> StepRecord:
    """Five positions: prompt, decided, rewritten, accepted now, open."""
    return StepRecord(
        row=0,
        block=1,
        step=2,
        start=5,
        canvas_S=np.array([7, 8, 9, 1, 1]),
        open_S=np.array([False, False, False, True, True]),
        fixed_S=np.array([True, False, False, False, False]),
        residual_ids_SR=np.zeros((5, 0), np.int64),
        residual_probs_SR=np.zeros((5, 0), np.float32),
        token_S=np.array([7, 8, 6, 5, 4]),
        confidence_S=np.array([1, 0.9, 0.95, 0.8, 0.1], np.float32),
        entropy_S=np.array([0, 0, 0, 0.5, 1.5], np.float32),
        accept_S=np.array([False, False, False, True, False]),
        canvas_after_S=np.array([7, 8, 6, 5, 1]),
        open_after_S=np.array([False, False, False, False, True]),
    )


def test_a_steps_states() -> None:
    step = plain_step(record())
    assert states(step) == "pdeno"
    assert (step.decided, step.to_decide) == (3, 4)
    assert step.mean_entropy == 1.0


@pytest.fixture(scope="module")
def llm(folder: Path) -> LLM:
    return LLM.load(str(folder))


def test_the_payload_holds_every_step_and_the_text_of_every_token(llm: LLM) -> None:
    recorder = TraceRecorder()
    prompts = ["one", "two"]
    results = llm.generate(prompts, max_new_tokens=10, on_step=recorder)
    payload = recorder.payload(llm.codec, prompts, results, {"model": "tiny"})
    assert [len(row["steps"]) for row in payload["rows"]] == [r.forwards.denoise for r in results]
    for row, result in zip(payload["rows"], results, strict=True):
        assert row["result"]["text"] == result.text
        last = row["steps"][-1]
        tail = list(result.ids)[-2:]
        assert last["after"][: len(tail)] == tail
        for step in row["steps"]:
            assert len(step["state"]) == len(step["after"]) == len(step["confidence"]) == 8
            assert all(str(token) in payload["tokens"] for token in step["before"] + step["after"])
