"""What an answer counts for is what the engine's own result says."""

from __future__ import annotations

from dlmrt.engine.request import Forwards, Result, Timings
from dlmrt.stats.counting import AnswerCounts, count_answer


def answer(ids: tuple[int, ...], eos: bool, forwards: Forwards, method: str = "diffusion") -> Result:
    return Result(
        text="", ids=ids, prompt_tokens=3, finish_reason="stop", ended_by_eos=eos,
        timings=Timings(load=9.0, tokenise=0.5, first_block=0.25, decode=2.0, queue=7.0),
        forwards=forwards, steps_per_block=(), method=method, backend="numpy",  # type: ignore[arg-type]
        backend_reason="", seed=0,
    )  # fmt: skip


def test_counts_of_a_diffusion_answer() -> None:
    """7 tokens and the EOS in 4 denoising and 2 commit forwards; loading and waiting don't count."""
    result = answer(tuple(range(7)), True, Forwards(1, 4, 2))
    counts = count_answer(result)
    assert counts == AnswerCounts(7, 8, 1, 4, 2, seconds=2.5, first_block=0.25)
    assert counts.tokens_per_forward == 8 / 6 == result.tokens_per_forward
    assert counts.tokens_per_forward_without_commits == 2 == result.tokens_per_forward_without_commits


def test_an_answer_that_the_prefill_gave() -> None:
    """Autoregressive, one token: no counted forward, ratio 1 as in the engine's result."""
    result = answer((5,), False, Forwards(1, 0, 0), "ar")
    assert count_answer(result).tokens_per_forward == 1 == result.tokens_per_forward


def test_an_empty_answer_counts_its_eos_only() -> None:
    counts = count_answer(answer((), True, Forwards(1, 2, 1)))
    assert (counts.tokens, counts.decided) == (0, 1)
    assert counts.tokens_per_forward == 1 / 3
