"""One request to an OpenAI-compatible API, and what can be told from its answer: text, counts, times."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dlmrt.bench.exchange import Endpoint, Reply, RequestFailed, error_message, exchange, json_body, shortened
from dlmrt.bench.sse import Event, EventParser

Api = Literal["chat", "completions"]
PATHS: dict[Api, str] = {"chat": "/chat/completions", "completions": "/completions"}
# Objects beside the standard fields in which servers report their engine's own times.
ENGINE_FIELDS = ("timings", "dlmrt")
# Where a delta's text may be: reasoning is counted by the server's usage, so its time counts too.
TEXT_FIELDS = ("content", "reasoning_content", "reasoning")


@dataclass(frozen=True)
class Ask:
    """What every request of a run shares. seed and temperature are sent, whether or not they are read."""

    model: str
    api: Api
    stream: bool
    stream_usage: bool = True  # ask for a usage chunk (stream_options)
    temperature: float = 0.0
    seed: int = 0

    def payload(self, prompt: str, max_tokens: int) -> dict[str, Any]:
        """The request's JSON document."""
        what: dict[str, Any] = (
            {"messages": [{"role": "user", "content": prompt}]} if self.api == "chat" else {"prompt": prompt}
        )
        options = {"stream_options": {"include_usage": True}} if self.stream and self.stream_usage else {}
        return {
            "model": self.model,
            **what,
            "max_tokens": max_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
            "stream": self.stream,
            **options,
        }


@dataclass
class Answer:
    """One answer. Times are seconds since the request was sent.

    tokens, prompt_tokens: as the server counts them (None: it doesn't say). first, last: when a stream's
    first and last text came; first_characters: how much came with the first read; first_tokens: what the
    server had counted then (servers that send usage with every chunk). engine: numbers of the server's
    own times, by dotted name.
    """

    parts: list[str] = field(default_factory=list)
    tokens: int | None = None
    prompt_tokens: int | None = None
    counted_by: str | None = None
    first_tokens: int | None = None
    first_characters: int = 0
    finish: str | None = None
    first: float | None = None
    last: float | None = None
    total: float = 0.0
    reasoning: bool = False
    engine: dict[str, float] = field(default_factory=dict)
    software: str | None = None

    @property
    def text(self) -> str:
        """All text, in order."""
        return "".join(self.parts)

    def take(self, document: Mapping[str, Any], at: float | None) -> None:
        """Add a whole answer or a stream's chunk that came ``at`` (None: not a stream)."""
        text = ""
        choices = document.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            text = self._choice(choices[0])
        usage = document.get("usage")
        counted = isinstance(usage, dict) and self._usage(usage)
        for name in ENGINE_FIELDS:
            self.engine.update(_numbers(name, document.get(name)))
        if text and at is not None:
            self.first = at if self.first is None else self.first
            if at == self.first:  # also what the same read brought
                self.first_characters += len(text)
                self.first_tokens = self.tokens if counted else None
            self.last = at

    def settle(self) -> None:
        """After the last chunk: without usage, a count among the engine's own numbers serves."""
        count = self.engine.get("timings.predicted_n")
        if self.tokens is None and count is not None and count >= 0:
            self.tokens, self.counted_by = round(count), "timings.predicted_n"

    def _choice(self, choice: Mapping[str, Any]) -> str:
        holder = choice.get("delta") or choice.get("message") or {}
        found = [(name, holder.get(name)) for name in TEXT_FIELDS] if isinstance(holder, dict) else []
        texts = {name: value for name, value in found if isinstance(value, str) and value}
        if isinstance(choice.get("text"), str):  # completions
            texts["content"] = choice["text"]
        self.reasoning = self.reasoning or bool(texts.keys() - {"content"})
        # Some servers send the reasoning under both of its names.
        text = texts.get("reasoning_content", texts.get("reasoning", "")) + texts.get("content", "")
        if text:
            self.parts.append(text)
        if isinstance(choice.get("finish_reason"), str):
            self.finish = choice["finish_reason"]
        return text

    def _usage(self, usage: Mapping[str, Any]) -> bool:
        """Take the server's counts; returns whether it counted the answer's tokens."""
        tokens, prompt = usage.get("completion_tokens"), usage.get("prompt_tokens")
        if _is_count(tokens):
            self.tokens, self.counted_by = tokens, "usage.completion_tokens"
        if _is_count(prompt):
            self.prompt_tokens = prompt
        return _is_count(tokens)


def ask(endpoint: Endpoint, request: Ask, prompt: str, max_tokens: int, timeout: float) -> Answer:
    """Send one prompt and read the answer to its end; raises RequestFailed."""
    path = PATHS[request.api]
    with exchange(endpoint, path, request.payload(prompt, max_tokens), timeout) as reply:
        target = f"{endpoint.url}{path}"
        answer = _read_stream(reply, target) if request.stream else _read_whole(reply, target)
        answer.software = reply.software
    answer.settle()
    return answer


def list_models(endpoint: Endpoint, timeout: float) -> list[str]:
    """The model names that the server lists; raises RequestFailed."""
    target = f"{endpoint.url}/models"
    with exchange(endpoint, "/models", None, timeout) as reply:
        document = json_body(reply, target)
    listed = document.get("data") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise RequestFailed("not JSON", f"{target} lists no models; name one (--server-model)")
    names = [entry.get("id") for entry in listed if isinstance(entry, dict)]
    return [name for name in names if isinstance(name, str) and name]


def _read_whole(reply: Reply, target: str) -> Answer:
    if reply.content_type == "text/event-stream":
        raise RequestFailed("not JSON", f"{target} sent a stream though none was asked for")
    document = json_body(reply, target)
    total = time.perf_counter() - reply.started
    reason = error_message(document)
    if reason is not None:
        raise RequestFailed("error", f"{target} answered with an error: {shortened(reason)}")
    if not isinstance(document, dict) or not document.get("choices"):
        raise RequestFailed("not JSON", f"{target} answered JSON without 'choices'; check the URL")
    answer = Answer(total=total)
    answer.take(document, None)
    return answer


def _read_stream(reply: Reply, target: str) -> Answer:
    if reply.content_type in ("application/json", "text/html"):
        document = json_body(reply, target)
        reason = error_message(document)
        raise RequestFailed(
            "no stream",
            f"{target} was asked for a stream and sent "
            + (
                f"an error: {shortened(reason)}"
                if reason
                else "one JSON document; ask without streaming (--no-stream)"
            ),
        )
    answer = Answer()
    for event, at in _events(reply):
        if event.data.strip() == "[DONE]":
            break
        answer.take(_chunk(event, target), at)
        answer.total = at
    else:
        if answer.finish is None:
            raise RequestFailed(
                "cut short", f"{target}: the stream ended without a finish reason and without [DONE]"
            )
        return answer
    answer.total = at
    return answer


def _events(reply: Reply) -> Iterator[tuple[Event, float]]:
    """Events with the seconds after the request at which their last byte came."""
    parser, at = EventParser(), 0.0
    for data, when in reply.pieces():
        at = when - reply.started
        for event in parser.feed(data):
            yield event, at
    for event in parser.close():
        yield event, at


def _chunk(event: Event, target: str) -> dict[str, Any]:
    try:
        document = json.loads(event.data)
    except (ValueError, RecursionError):
        document = None
    reason = error_message(document)
    if event.kind == "error" or reason is not None:
        said = shortened(reason or event.data)
        raise RequestFailed("error in the stream", f"{target} reported an error in its stream: {said}")
    if not isinstance(document, dict):
        raise RequestFailed(
            "not JSON", f"{target} sent an event that is no JSON object: {shortened(event.data)}"
        )
    return document


def _numbers(name: str, value: object) -> dict[str, float]:
    """Finite numbers of a nested object, by dotted name."""
    if isinstance(value, dict):
        return {k: v for key, inner in value.items() for k, v in _numbers(f"{name}.{key}", inner).items()}
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        return {}
    return {name: float(value)} if math.isfinite(value) else {}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
