from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from dlmrt.bench.server import measure_server
from tests.bench_server import (
    Answerer,
    BenchServer,
    Exchange,
    after_warmup,
    fails,
    for_prompt,
    good_answer,
    has_note,
    measure,
    plan,
    suite,
    usage,
)


def test_characters_split_across_reads_keep_alives_and_a_missing_done() -> None:
    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        data = json.dumps(exchange.delta("naïve 🙂 text"), ensure_ascii=False).encode()
        cut = data.index("🙂".encode()) + 2
        exchange.write(b": keep-alive\r\n\r\ndata: " + data[:cut])
        exchange.write(data[cut:] + b"\r\n\r\n:\r\n")
        exchange.event({**exchange.last_delta(), **usage(6)})
        exchange.end_stream()

    cell, facts = measure(answer)
    assert facts.failed == {} and cell.prompts[0].tokens == 6


def test_a_huge_chunk() -> None:
    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.event(exchange.delta("long " * 300_000))
        exchange.event({**exchange.last_delta(), **usage(300_000)})
        exchange.event("[DONE]")
        exchange.end_stream()

    cell, _ = measure(answer, max_new_tokens=400_000, suites=(suite("only"),))
    assert cell.prompts[0].tokens == 300_000


def error_in_stream(exchange: Exchange) -> None:
    exchange.start_stream()
    exchange.event(exchange.delta("so far "))
    exchange.event({"error": {"message": "out of\nmemory", "code": 500}})
    exchange.end_stream()


def named_error_event(exchange: Exchange) -> None:
    exchange.start_stream()
    exchange.write(b"event: error\ndata: worker died\n\n")
    exchange.end_stream()


def cut_stream(exchange: Exchange) -> None:
    exchange.start_stream()
    exchange.event(exchange.delta("so far "))
    exchange.end_stream()


def cut_connection(exchange: Exchange) -> None:
    exchange.start_stream()
    exchange.event(exchange.delta("so far "))  # and no last chunk


def not_an_object(exchange: Exchange) -> None:
    exchange.start_stream()
    exchange.event("[1, 2")
    exchange.end_stream()


def server_error(exchange: Exchange) -> None:
    exchange.json({"error": {"message": "CUDA error: " + "x" * 1000}}, 503)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (error_in_stream, "out of memory"),
        (named_error_event, "worker died"),
        (cut_stream, "without a finish reason"),
        (cut_connection, "before its answer was whole"),
        (not_an_object, "no JSON object: [1, 2"),
        (server_error, "HTTP 503: CUDA error: xxx"),
    ],
)
def test_one_bad_answer_is_counted_and_the_run_goes_on(answer: Answerer, words: str) -> None:
    cell, facts = measure(for_prompt("bad", answer), suites=(suite("ok", "bad", "fine"),), repeats=2)
    assert [p.prompt for p in cell.prompts] == ["p0", "p2"]
    ((reason, count),) = facts.failed.items()
    assert count == 2 and words in reason and len(reason) < 500
    assert has_note(cell, "2 of 6 requests failed", "1 of 3 prompts", words)
    assert words in fails(answer)  # ... and as the first warm-up it ends the run


def test_a_failed_repeat_leaves_the_others() -> None:
    calls = iter(range(100))

    def answer(exchange: Exchange) -> None:
        (server_error if next(calls) == 1 else good_answer)(exchange)

    cell, facts = measure(answer, repeats=2, stream=False)
    assert len(cell.prompts) == 2 and sum(facts.failed.values()) == 1
    assert has_note(cell, "1 of 4 requests failed") and not has_note(cell, "of 2 prompts;")


def test_a_stall_ends_at_the_timeout() -> None:
    def stall(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.event(exchange.delta("so far "))
        exchange.server.closing.wait(10)

    assert "did not finish within 0.2 s" in fails(stall, timeout=0.2)


def test_keep_alives_do_not_put_off_the_timeout() -> None:
    def drip(exchange: Exchange) -> None:
        exchange.start_stream()
        while not exchange.server.closing.wait(0.02):
            exchange.write(b": keep-alive\n\n")

    assert "did not finish within 0.2 s" in fails(drip, timeout=0.2)


def test_a_suite_that_always_fails_is_skipped_and_not_asked_again() -> None:
    with BenchServer(for_prompt("too long", server_error)) as server:
        calls: list[tuple[int, int]] = []
        bad = suite("too long", name="long")
        cells, facts = measure_server(
            plan(server, suites=(suite(), bad), repeats=3, stream=False),
            lambda done, total, _: calls.append((done, total)),
        )
        asked = [r for r in server.requests if r.body and r.body["messages"][0]["content"] == "too long"]
    assert [cell.suite for cell in cells] == ["mine"]
    assert "HTTP 503" in facts.skipped["long"]
    assert len(asked) == 2  # its warm-up and one repeat
    assert calls[-1] == (11, 11)


def test_when_everything_after_the_warm_up_fails_the_run_does() -> None:
    assert "no measured request succeeded" in fails(after_warmup(server_error))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda e: e.reply(b"<html><body>Welcome</body></html>", content_type="text/html"), "an HTML page"),
        (lambda e: e.reply(b"pong", content_type="text/plain"), "no JSON"),
        (lambda e: e.json({"hello": 1}), "without 'choices'"),
        (lambda e: e.json({"error": "overloaded"}), "an error: overloaded"),
        (lambda e: e.json({"object": "error", "message": "bad model"}), "an error: bad model"),
        (lambda e: e.reply(b'{"choices": ', length=500), "too early"),
        (lambda e: (e.start_stream(), e.end_stream()), "a stream though none was asked for"),
        (lambda e: e.reply(b"", 307, headers={"Location": "https://other/v1"}), "to https://other/v1; give"),
        (lambda e: e.json({"error": {"message": "bad key"}}, 401), "HTTP 401: bad key; check the API key"),
        (lambda e: e.json({"detail": "Not Found"}, 404), "Not Found; check the URL"),
        (lambda e: e.reply(b"", 500), "no reason given"),
    ],
)
def test_answers_that_are_not_what_the_api_says(answer: Callable[[Exchange], None], words: str) -> None:
    assert words in fails(answer, stream=False)


def test_a_stream_asked_for_and_a_document_sent() -> None:
    message = fails(lambda e: e.json(e.whole("hi", **usage())))
    assert "one JSON document; ask without streaming" in message


def test_a_stream_that_is_not_utf8_is_an_error_of_the_server() -> None:
    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.write(b"data: \xff\xfe\n\n")
        exchange.end_stream()

    cell, facts = measure(for_prompt("two", answer))
    assert len(cell.prompts) == 1 and "not UTF-8" in next(iter(facts.failed))


def test_what_a_server_echoes_of_the_key_and_the_query_is_not_kept() -> None:
    def echo(exchange: Exchange) -> None:
        secret = exchange.headers["Authorization"]
        exchange.json({"error": {"message": f"no: {secret} at {exchange._handler.path}"}}, status=500)

    with BenchServer(for_prompt("two", echo)) as server:
        asked = plan(server, api_key="sk-topsecret", url=f"{server.url}?api-key=QUERYSECRET&v=2025")
        (cell,), facts = measure_server(asked)
    kept = repr((cell, facts))
    assert "no: Bearer ***" in kept
    assert "topsecret" not in kept and "QUERYSECRET" not in kept
