from __future__ import annotations

import dataclasses
import itertools
import json
import threading
from types import SimpleNamespace

import pytest

from dlmrt.bench.openai_client import Answer
from dlmrt.bench.server import DEFAULT_MAX_NEW_TOKENS, measure_server
from dlmrt.bench.server_cells import decode_rate
from dlmrt.bench.suites import Suite, SuitePrompt
from tests.bench_server import (
    PARTS,
    PROMPT_TOKENS,
    TOKENS,
    BenchServer,
    Exchange,
    after_warmup,
    fails,
    good_answer,
    has_note,
    measure,
    plan,
    suite,
    usage,
)

TICK = 0.01


def ticking_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every look at the exchange's clock be one tick later, whatever time it really is."""
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: next(ticks) * TICK)
    monkeypatch.setattr("dlmrt.bench.exchange.time", clock)


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_streaming(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ticking_clock(monkeypatch)
    with BenchServer() as server:
        (cell,), facts = measure_server(plan(server, api=api, repeats=2, max_new_tokens=33))
        sent = [request.body for request in server.requests if request.body]
        paths = {request.path for request in server.requests if request.body}

    assert paths == {"/v1/chat/completions" if api == "chat" else "/v1/completions"}
    assert len(sent) == 1 + 2 * 2  # a warm-up, then every prompt twice
    prompts = [body["messages"][0]["content"] if api == "chat" else body["prompt"] for body in sent]
    assert prompts == ["one", "one", "two", "one", "two"]
    for body in sent:
        assert body["model"] == "tiny-model"
        assert (body["temperature"], body["seed"], body["max_tokens"]) == (0, 0, 33)
        assert body["stream"] is True and body["stream_options"] == {"include_usage": True}

    assert (cell.arm, cell.suite, cell.clock, cell.model) == ("server", "mine", "client", "tiny-model")
    assert (cell.batch_size, cell.warmups, cell.repeats, cell.max_new_tokens) == (1, 1, 2, 33)
    assert [p.prompt for p in cell.prompts] == ["p0", "p1"]
    for prompt in cell.prompts:
        assert (prompt.tokens, prompt.prompt_tokens, prompt.finish) == (TOKENS, PROMPT_TOKENS, "stop")
        # Two looks at the clock for the head, two a piece: three of text, finish reason, usage, [DONE].
        assert prompt.first_block_ms == pytest.approx(3e3 * TICK)
        assert prompt.total_ms == pytest.approx(13e3 * TICK)
        assert prompt.total_ms_spread == pytest.approx((13e3 * TICK, 13e3 * TICK))
        assert prompt.tokens_per_second == pytest.approx(TOKENS / (13 * TICK))
        later = TOKENS * (1 - len(PARTS[0]) / len("".join(PARTS)))
        assert prompt.tokens_per_second_decode == pytest.approx(later / (4 * TICK))
    assert has_note(cell, "usage.completion_tokens")
    assert has_note(cell, "client's estimate")
    assert facts.software == "BenchServer/1"
    assert (facts.failed, facts.skipped) == ({}, {})
    assert facts.settings["tokens_counted_by"] == "usage.completion_tokens"
    assert facts.settings["server_on_this_machine"] is True
    json.dumps(facts.settings)


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_not_streaming(api: str) -> None:
    with BenchServer() as server:
        (cell,), _ = measure_server(plan(server, api=api, stream=False))
        sent = [request.body for request in server.requests if request.body]

    assert all(body["stream"] is False and "stream_options" not in body for body in sent)
    assert all(body["max_tokens"] == DEFAULT_MAX_NEW_TOKENS for body in sent)
    for prompt in cell.prompts:
        assert prompt.tokens == TOKENS
        assert prompt.tokens_per_second == pytest.approx(1e3 * TOKENS / prompt.total_ms)
        assert prompt.first_block_ms is None and prompt.tokens_per_second_decode is None
    assert cell.first_block_ms is None and cell.tokens_per_second_decode is None
    assert not has_note(cell, "estimate")


def test_a_prompts_own_limit_yields_to_the_runs() -> None:
    long_answer = Suite("mine", (SuitePrompt("a", "x", 5),), suite().data)
    for limit, expected in ((None, 5), (9, 9)):
        with BenchServer() as server:
            measure_server(plan(server, suites=(long_answer,), max_new_tokens=limit, model="m"))
            assert {request.body["max_tokens"] for request in server.requests} == {expected}


def test_two_requests_at_once() -> None:
    # Every request after the warm-up waits for a second one: alone it would fail.
    both = threading.Barrier(2)

    def answer(exchange: Exchange) -> None:
        both.wait(5)
        good_answer(exchange)

    cell, facts = measure(after_warmup(answer), concurrency=2, suites=(suite("a", "b", "c", "d"),))
    assert len(cell.prompts) == 4 and facts.failed == {}
    assert cell.batch_size == 2
    assert has_note(cell, "up to 2 requests in flight", f"({4 * TOKENS} tokens")


def test_progress_counts_every_request() -> None:
    calls: list[tuple[int, int, str]] = []
    with BenchServer() as server:
        measure_server(
            plan(server, suites=(suite(), suite("x", name="b")), warmups=2, repeats=2, stream=False),
            lambda done, total, what: calls.append((done, total, what)),
        )
        assert len([r for r in server.requests if r.body]) == 10
    assert [done for done, _, _ in calls] == list(range(1, 11))
    assert {total for _, total, _ in calls} == {10}
    assert [what for _, _, what in calls] == ["mine"] * 6 + ["b"] * 4


def test_the_key_is_sent_and_never_shown() -> None:
    secret = "sk-very-secret"
    with BenchServer() as server:
        asked = plan(server, api_key=secret, stream=False)
        cells, facts = measure_server(asked)
        assert {r.headers["Authorization"] for r in server.requests} == {f"Bearer {secret}"}
    assert secret not in repr((asked, cells, facts))


# How tokens are counted


def test_a_stream_without_usage_is_refused_with_the_way_out() -> None:
    def answer(exchange: Exchange) -> None:
        exchange.body.pop("stream_options", None)
        good_answer(exchange)

    message = fails(answer)
    assert "usage" in message and "without streaming" in message
    assert measure(answer, stream=False)[0].prompts[0].tokens == TOKENS


def test_a_server_that_refuses_stream_options_is_asked_without() -> None:
    refused: list[Exchange] = []

    def answer(exchange: Exchange) -> None:
        if "stream_options" in exchange.body:
            refused.append(exchange)
            exchange.json({"detail": [{"msg": "extra fields not permitted", "loc": ["stream_options"]}]}, 422)
            return
        exchange.start_stream()
        exchange.event(exchange.delta("hi"))
        exchange.event({**exchange.last_delta(), **usage(3)})
        exchange.event("[DONE]")
        exchange.end_stream()

    cell, facts = measure(answer)
    assert len(refused) == 1  # found out once, by the first warm-up
    assert [p.tokens for p in cell.prompts] == [3, 3] and facts.failed == {}
    assert has_note(cell, "refuses stream_options")


def test_a_refusal_that_stream_options_did_not_cause_is_told_as_it_was() -> None:
    message = fails(lambda exchange: exchange.json({"error": {"message": "seed is not supported"}}, 400))
    assert "HTTP 400" in message and "seed is not supported" in message


def test_the_engines_own_numbers_are_kept_in_notes_and_can_count() -> None:
    def answer(exchange: Exchange) -> None:
        timings = {"predicted_n": 9, "predicted_per_second": 431.5, "note": "text", "bad": float("nan")}
        exchange.json(exchange.whole("hello", timings=timings, dlmrt={"forwards": {"denoise": 4}}))

    cell, facts = measure(answer, stream=False)
    assert cell.prompts[0].tokens == 9
    assert facts.settings["tokens_counted_by"] == "timings.predicted_n"
    assert has_note(cell, "own numbers", "timings.predicted_per_second 431.5", "dlmrt.forwards.denoise 4")
    assert not has_note(cell, "text,") and not has_note(cell, "nan")


def test_running_usage_counts_the_first_text(monkeypatch: pytest.MonkeyPatch) -> None:
    ticking_clock(monkeypatch)

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        for count, text in ((4, "a"), (7, "bcdef"), (10, "g")):
            exchange.event(exchange.delta(text, **usage(count)))
        exchange.event({**exchange.last_delta(), **usage(10)})
        exchange.event("[DONE]")
        exchange.end_stream()

    cell, _ = measure(answer)
    assert has_note(cell, "as the server had counted them")
    assert cell.prompts[0].tokens == 10
    assert cell.prompts[0].tokens_per_second_decode == pytest.approx((10 - 4) / (4 * TICK))


def test_decode_rate() -> None:
    base = Answer(parts=["abcde", "fghij"], tokens=20, first=1.0, last=1.5, first_characters=5)
    assert decode_rate(base) == pytest.approx(20 * 0.5 / 0.5)
    assert decode_rate(dataclasses.replace(base, first_tokens=16)) == pytest.approx(4 / 0.5)
    assert decode_rate(dataclasses.replace(base, last=1.004)) is None  # at once
    assert decode_rate(dataclasses.replace(base, first=None, last=None)) is None


def test_an_answer_in_one_burst_gives_no_decode_rate() -> None:
    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        events = [exchange.delta("many "), exchange.delta("words"), {**exchange.last_delta(), **usage()}]
        exchange.write(b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events))
        exchange.event("[DONE]")
        exchange.end_stream()

    cell, _ = measure(answer)
    assert [p.tokens_per_second_decode for p in cell.prompts] == [None, None]
    assert cell.tokens_per_second_decode is None and cell.prompts[0].first_block_ms is not None
    assert has_note(cell, "2 of 2 answers came at once")


def test_a_server_that_ignores_max_tokens_and_repeats_differ() -> None:
    count = iter(range(100))

    def answer(exchange: Exchange) -> None:
        exchange.json(exchange.whole(f"answer {next(count)}", **usage(50)))

    cell, _ = measure(answer, stream=False, max_new_tokens=8, repeats=2)
    assert has_note(cell, "4 answers are longer than max_tokens", "up to 50")
    assert has_note(cell, "2 of 2 prompts got different texts")
    assert has_note(cell, "prefix cache")


def test_reasoning_is_text_and_empty_answers_are_told() -> None:
    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        for text in ("hm", "so"):
            exchange.event({"choices": [{"delta": {"reasoning_content": text, "reasoning": text}}]})
        exchange.event({**exchange.last_delta("length"), **usage(0)})
        exchange.event("[DONE]")
        exchange.end_stream()

    cell, _ = measure(answer)
    assert cell.prompts[0].first_block_ms is not None and cell.prompts[0].finish == "length"
    assert has_note(cell, "reasoning text")
    assert has_note(cell, "2 of 2 answers are empty")
