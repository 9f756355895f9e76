from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from dlmrt import LLM, BlockEvent, Result
from dlmrt.engine.request import Forwards, Request
from dlmrt.errors import PromptError, RequestError
from dlmrt.rows import StepRecord
from tests import tiny_folder as tiny


@pytest.fixture(scope="module")
def llm(folder: Path) -> LLM:
    return LLM.load(str(folder))


def check_stream(events: list[BlockEvent]) -> Result:
    """The joined events are the result; only the last carries it."""
    result = events[-1].result
    assert result is not None
    assert all(e.result is None for e in events[:-1])
    assert "".join(e.text for e in events) == result.text
    assert tuple(i for e in events for i in e.ids) == result.ids
    return result


def test_a_real_model_answers_with_everything_filled_in(llm: LLM) -> None:
    result = llm.generate("hello", max_new_tokens=11)
    assert result.backend == "numpy"
    assert "small model" in result.backend_reason
    assert result.prompt_tokens == 8
    assert result.forwards.prefill == 1
    assert result.forwards.denoise == sum(result.steps_per_block) > 0
    assert result.forwards.commit == len(result.steps_per_block) - 1
    assert 0 < result.timings.first_block <= result.timings.decode
    assert result.timings.load > 0
    assert result.text == llm.codec.decode(result.ids)
    assert result.seed == 0


def test_a_list_gives_a_list_in_order(llm: LLM) -> None:
    prompts = ["one", "three", "two"]
    together = llm.generate(prompts, max_new_tokens=9, batch_size=3)
    assert [r.ids for r in together] == [llm.generate(p, max_new_tokens=9).ids for p in prompts]
    assert llm.generate([]) == []


@pytest.mark.parametrize("limit", [1, 7, 8, 9])
def test_b04_exactly_max_new_tokens_at_most(folder: Path, limit: int) -> None:
    llm, _ = tiny.scripted(folder, lambda request: tiny.encode("7" * 50))
    for prompt in ("ab", "1234567", "12345678"):
        result = llm.generate(prompt, max_new_tokens=limit)
        assert result.text == "7" * limit
        assert len(result.ids) == limit
        assert result.finish_reason == "length"


@pytest.mark.parametrize("limit", [1, 7, 8, 9])
def test_b04_a_real_model_keeps_the_limit(llm: LLM, limit: int) -> None:
    result = llm.generate("hello", max_new_tokens=limit)
    assert len(result.ids) == limit or result.finish_reason == "stop"
    assert len(result.ids) <= limit


def test_b06_b22_eos_ends_the_answer_and_nothing_after_it_is_counted(folder: Path) -> None:
    llm, _ = tiny.scripted(folder, lambda request: [*tiny.encode("0123456789"), tiny.EOS, *tiny.encode("xy")])
    result = check_stream(list(llm.stream("ab")))
    assert result.text == "0123456789"
    assert len(result.ids) == 10
    assert result.finish_reason == "stop"
    assert result.ended_by_eos
    assert result.tokens_per_forward == 11 / (4 + 1)  # the EOS was decided too


@pytest.mark.parametrize("at", range(1, 17))
def test_b07_b22_a_stop_string_across_a_block_edge(folder: Path, at: int) -> None:
    text = "7" * at + "ZYX" + "7" * 20
    llm, backend = tiny.scripted(folder, lambda request: tiny.encode(text))
    result = check_stream(list(llm.stream("ab", stop=["nothing", "ZYX"])))
    assert result.text == "7" * at
    assert result.ids == tuple(tiny.encode("7" * at))
    assert result.finish_reason == "stop"
    assert not result.ended_by_eos
    assert backend.blocks_decoded == (at + 2) // 8 + 1  # decoding ended with the block of the match


def test_b07_text_held_back_for_a_stop_string_comes_in_the_end(folder: Path) -> None:
    llm, _ = tiny.scripted(folder, lambda request: [*tiny.encode("12345ZY"), tiny.EOS])
    events = list(llm.stream("ab", stop="ZYX"))
    assert events[0].text == "12345"
    assert check_stream(events).text == "12345ZY"


def test_b08_a_character_split_over_blocks_is_never_shown_broken(folder: Path) -> None:
    text = "1234567😀x€"
    llm, _ = tiny.scripted(folder, lambda request: [*tiny.encode(text), tiny.EOS])
    events = list(llm.stream("ab"))
    assert [e.text for e in events] == ["1234567", "😀x€", ""]
    check_stream(events)
    cut = llm.generate("ab", max_new_tokens=9)  # ends inside the character: what is there is shown
    assert cut.text == "1234567\ufffd"
    assert len(cut.ids) == 9


def test_b11_same_seed_same_text_in_any_place(llm: LLM) -> None:
    def hot(prompt: Any, seed: int = 1, **more: Any) -> Any:
        return llm.generate(prompt, temperature=1.5, seed=seed, max_new_tokens=16, **more)

    first = hot("one").ids
    assert hot("one").ids == first
    assert hot(["three", "one"], batch_size=2)[1].ids == first
    assert hot(["one", "two"], batch_size=1)[0].ids == first
    assert hot("one", seed=2).ids != first
    assert llm.generate("one", seed=1).ids == llm.generate("one", seed=1).ids


def test_b12_requests_in_a_batch_keep_their_own_settings(llm: LLM) -> None:
    asked = [
        Request(prompt="one", options={"max_new_tokens": 3}),
        Request(prompt="one", options={"temperature": 1.5, "seed": 4, "max_new_tokens": 12}),
        Request(ids=tuple(llm.codec.encode_prompt("one")), options={"policy": "fixed", "per_step": 2}),
    ]
    together = llm.decode([llm.prepare(r) for r in asked], batch_size=3)
    alone = [llm.decode([llm.prepare(r)])[0] for r in asked]
    assert [r.ids for r in together] == [r.ids for r in alone]
    assert [len(r.ids) <= n for r, n in zip(together, (3, 12, 24), strict=True)] == [True] * 3


def test_b01_caller_supplied_ids(folder: Path) -> None:
    llm, backend = tiny.scripted(folder, lambda request: tiny.encode("ok"))
    llm.generate(ids=[40, 41])
    assert backend.seen[-1].prompt_ids == (40, 41)
    assert len(llm.generate(ids=[[40], [41, 42]])) == 2
    for bad in (tiny.MASK, 99_999, -1):
        with pytest.raises(PromptError, match="prompt id 1"):
            llm.generate(ids=[40, bad])
    assert len(backend.seen) == 3


def test_b10_unknown_options_are_refused_before_decoding(folder: Path) -> None:
    llm, backend = tiny.scripted(folder, lambda request: tiny.encode("ok"))
    for call in (llm.generate, llm.stream):
        with pytest.raises(RequestError, match="did you mean 'temperature'"):
            call("ab", temprature=1.0)
    with pytest.raises(RequestError, match="exactly one"):
        llm.generate("ab", ids=[1])
    with pytest.raises(RequestError, match="exactly one"):
        llm.generate()
    with pytest.raises(RequestError, match="batch_size"):
        llm.generate("ab", batch_size=0)
    assert not backend.seen


def test_a_bad_prompt_of_a_batch_is_named_and_nothing_is_decoded(folder: Path) -> None:
    llm, backend = tiny.scripted(folder, lambda request: tiny.encode("ok"))
    with pytest.raises(PromptError, match=r"prompt 2 of 3: .*empty"):
        llm.generate(["a", "", "b"])
    assert not backend.seen


def test_b10_what_no_backend_decodes_is_found_before_any_row_is_decoded(folder: Path) -> None:
    llm, backend = tiny.scripted(folder, lambda request: tiny.encode("ok"))
    for call in (llm.generate, llm.stream):
        with pytest.raises(PromptError, match="prompt 2 of 2: the prompt is empty; method 'ar'"):
            call(ids=[[40], []], method="ar")
        with pytest.raises(RequestError, match=r"^temperature is 1e-09; it must be 0 or >="):
            call(["a", "b"], temperature=1e-9)
        with pytest.raises(RequestError, match="prompt 2 of 2: max_new_tokens is 90"):
            call(ids=[[40], [40] * 16], max_new_tokens=90)
        with pytest.raises(RequestError, match=r"^threshold is 7"):  # an option, and no prompt's fault
            call(["a", "b"], threshold=7.0)
    with pytest.raises(RequestError, match="batch_size is 0"):
        llm.stream("ab", batch_size=0)
    with pytest.raises(PromptError, match=r"^the prompt is empty"):
        llm.prepare(Request(ids=(), options={"method": "ar"}))
    assert not backend.seen


@pytest.mark.parametrize("text_length", [1, 6, 7, 8, 40])
def test_b03_prompt_lengths_around_a_block(llm: LLM, text_length: int) -> None:
    assert llm.generate("7" * text_length, max_new_tokens=2).prompt_tokens % 8 == 0


def test_b03_prompts_around_the_context(llm: LLM) -> None:
    def answer(length: int, **options: Any) -> Any:
        return llm.generate(ids=[40] * length, **options)

    assert len(answer(tiny.CONTEXT - 8).ids) <= 8
    assert len(answer(tiny.CONTEXT - 1).ids) <= 1
    assert answer(0, max_new_tokens=4).prompt_tokens == 0
    for length in (tiny.CONTEXT, tiny.CONTEXT + 1):
        with pytest.raises(PromptError, match=f"{length} tokens.*{tiny.CONTEXT}"):
            answer(length)
    with pytest.raises(RequestError, match="ask for at most 8"):
        answer(tiny.CONTEXT - 8, max_new_tokens=9)


def test_b19_closing_the_stream_ends_decoding_within_a_block(folder: Path) -> None:
    llm, backend = tiny.scripted(folder, lambda request: tiny.encode("7" * 80))
    gate = threading.Semaphore(1)  # one block may pass; the others take a while each
    backend.before_block = lambda: gate.acquire(timeout=0.2)
    stream = llm.stream("ab", max_new_tokens=80)
    assert next(stream).text == "7" * 8
    stream.close()
    assert backend.blocks_decoded <= 2


PROMPTS = [f"{'7' * (i % 5)}{i}" for i in range(20)]


def counted(llm: LLM) -> list[str]:
    """What goes through the model's backend from now on: a call, or a block."""
    log: list[str] = []
    inner = llm.backend.generate

    def generate(requests: Any, *, on_step: Any = None, on_block: Any = None) -> Any:
        log.append("call")

        def block_done(row: int, ids: tuple[int, ...]) -> Any:
            log.append("block")
            time.sleep(0.02)  # leaves the consumer its time
            return on_block(row, ids)

        return inner(requests, on_step=on_step, on_block=block_done)

    llm.backend.generate = generate  # type: ignore[method-assign]
    return log


@pytest.mark.parametrize(
    ("backend", "batch_size"), [("numpy", None), ("numpy", 20), ("eager", None), ("eager", 3)]
)
@pytest.mark.parametrize("method", ["diffusion", "ar"])
def test_b19_closing_the_stream_ends_the_decoding_of_all_prompts(
    folder: Path, backend: str, batch_size: int | None, method: str
) -> None:
    if backend == "eager":
        pytest.importorskip("torch")
    llm = LLM.load(str(folder), backend=backend)
    log = counted(llm)
    stream = llm.stream(PROMPTS, max_new_tokens=40, batch_size=batch_size, method=method)
    next(stream)
    stream.close()
    assert log.count("call") == 1
    assert 1 <= log.count("block") <= 4
    seen = list(log)
    time.sleep(0.05)
    assert log == seen  # and its thread is gone
    assert "dlmrt-stream" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize("backend", ["numpy", "eager"])
def test_b13_a_row_that_leaves_midway_changes_nothing_for_the_others(folder: Path, backend: str) -> None:
    if backend == "eager":
        pytest.importorskip("torch")
    llm = LLM.load(str(folder), backend=backend)
    options: Any = {"max_new_tokens": 40, "policy": "fixed", "per_step": 3, "temperature": 1.5, "seed": 3}
    prompts = ["one", "a longer prompt", "three", "four"]
    alone = [llm.generate(p, **options) for p in prompts]
    assert len(alone[1].steps_per_block) > 2

    def leave(event: BlockEvent) -> bool:
        return event.row == 1 and event.block == 1

    together = llm.generate(prompts, on_block=leave, batch_size=4, **options)
    assert together[1].finish_reason == "cancelled"
    assert together[1].ids == alone[1].ids[: len(together[1].ids)]
    assert together[1].steps_per_block == alone[1].steps_per_block[:2]
    for row in (0, 2, 3):
        found, expected = together[row], alone[row]
        assert (found.ids, found.finish_reason) == (expected.ids, expected.finish_reason)
        assert found.steps_per_block == expected.steps_per_block


def test_b07_a_consumer_cancels_a_row_and_keeps_its_text(folder: Path) -> None:
    llm, backend = tiny.scripted(folder, lambda request: tiny.encode("7" * 80))
    result = llm.generate("ab", max_new_tokens=80, on_block=lambda event: event.block == 1)
    assert result.finish_reason == "cancelled"
    assert result.text == "7" * 16
    assert backend.blocks_decoded == 2


def test_an_exception_of_the_consumer_ends_decoding(folder: Path) -> None:
    llm, backend = tiny.scripted(folder, lambda request: tiny.encode("7" * 80))

    def fail(event: BlockEvent) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        llm.generate("ab", max_new_tokens=80, on_block=fail)
    assert backend.blocks_decoded == 1


def test_an_error_of_the_backend_reaches_the_streams_consumer(folder: Path) -> None:
    def fail(request: Any) -> list[int]:
        raise ZeroDivisionError

    llm, _ = tiny.scripted(folder, fail)
    with pytest.raises(ZeroDivisionError):
        list(llm.stream("ab"))


def test_timings_come_from_the_backend_and_the_engines_clock(folder: Path) -> None:
    llm, _ = tiny.scripted(folder, lambda request: tiny.encode("ok"))
    timings = llm.generate("ab").timings
    assert (timings.load, timings.prefill, timings.denoise, timings.commit) == (0.5, 0.25, 0.5, 0.125)
    assert timings.total == timings.tokenise + timings.decode


def test_steps_of_a_later_batch_carry_their_prompts_index(llm: LLM) -> None:
    seen: list[StepRecord] = []
    llm.generate(["one", "two", "three"], max_new_tokens=2, batch_size=1, on_step=seen.append)
    assert {record.row for record in seen} == {0, 1, 2}


def test_events_of_a_batch_carry_their_row(llm: LLM) -> None:
    events = list(llm.stream(["one", "two"], max_new_tokens=10))
    for row in (0, 1):
        check_stream([e for e in events if e.row == row])


def test_autoregressive_methods_agree(llm: LLM) -> None:
    plain = llm.generate("hello", method="ar", max_new_tokens=12)
    lookup = llm.generate("hello", method="ar_lookup", max_new_tokens=12)
    assert plain.ids == lookup.ids
    assert plain.method == "ar"


def test_the_torch_backend_gives_the_same_answers(llm: LLM, folder: Path) -> None:
    pytest.importorskip("torch")
    eager = LLM.load(str(folder), backend="eager", device="cpu")
    prompts = ["one", "three", "a longer prompt"]
    options: Any = {"max_new_tokens": 12, "policy": "fixed", "per_step": 3, "temperature": 1.0, "seed": 2}
    found = eager.generate(prompts, **options)
    assert [r.ids for r in found] == [r.ids for r in llm.generate(prompts, **options)]
    assert (found[0].backend, found[0].backend_reason) == ("eager", "asked for")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama checkpoint that knows nothing of diffusion."""
    return tiny.write_llama_folder(tmp_path_factory.mktemp("plain") / "llama")


@pytest.mark.parametrize("backend", ["numpy", "eager"])
def test_a_plain_language_model_answers_by_its_default_method(plain: Path, backend: str) -> None:
    if backend == "eager":
        pytest.importorskip("torch")
    llm = LLM.load(str(plain), backend=backend)
    result = llm.generate("the stop", max_new_tokens=12)
    assert (result.method, result.backend, len(result.ids)) == ("ar", backend, 12)
    assert result.forwards == Forwards(prefill=1, denoise=11, commit=0)
    assert result.ids == llm.generate("the stop", max_new_tokens=12, method="ar_lookup").ids
    ids = [tiny.TASK, *tiny.encode("the stop")]  # its tokenizer begins every text so
    assert result.ids == llm.generate(ids=ids, max_new_tokens=12).ids
    assert check_stream(list(llm.stream("the stop", max_new_tokens=12))).ids == result.ids


def test_asking_a_plain_language_model_for_diffusion_says_what_is_missing(plain: Path) -> None:
    with pytest.raises(RequestError, match=r'dlmrt\.json with "block_size", "noise" and "mask_token_id"'):
        LLM.load(str(plain)).generate("the", method="diffusion")
