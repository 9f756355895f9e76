"""Measuring any OpenAI-compatible server from outside, by the client's clock.

Nothing is retried: a request that fails is counted and told. Temperature 0 and a seed are sent.
"""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import math
import os
import queue
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from dlmrt.bench.exchange import Endpoint, RequestFailed, parse_url
from dlmrt.bench.openai_client import Answer, Api, Ask, ask, list_models
from dlmrt.bench.server_cells import Asked, Setting, build_cell
from dlmrt.bench.suites import Suite, SuitePrompt
from dlmrt.errors import RequestError, ServerError
from dlmrt.results.schema import BenchCell

# Called after each request with (requests done, requests in all, what is being measured).
Progress = Callable[[int, int, str], None]

DEFAULT_MAX_NEW_TOKENS = 256
MAX_CONCURRENCY = 256
MAX_TIMEOUT_SECONDS = 86_400
SHOWN_MODELS = 10


@dataclass(frozen=True)
class ServerPlan:
    """What to ask of which server. The arm of its cells is called ``server``.

    url: the API's base, with or without ``/v1``. model: as the server calls it (``None``: the only one
        that ``/v1/models`` lists). max_new_tokens: for every prompt (``None``: each prompt's own, else
        ``DEFAULT_MAX_NEW_TOKENS``). warmups: requests before each suite's measured ones, at least 1: the
        very first finds out what the server supports.
    concurrency: requests in flight. timeout: seconds for one whole request.
    api_key: the key itself (see :func:`api_key_from`); sent as a bearer token, never shown.
    """

    url: str
    suites: tuple[Suite, ...]
    model: str | None = None
    max_new_tokens: int | None = None
    repeats: int = 3
    warmups: int = 1
    concurrency: int = 1
    api: Api = "chat"
    stream: bool = True
    timeout: float = 120.0
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class ServerFacts:
    """What is known of the server, for the result file.

    url: without query. model: its name without the machine's folders (also the cells' ``model``).
    software: the HTTP ``Server`` header. settings: plain data for the result's ``settings``. failed:
    measured requests that failed, by reason. skipped: suites of which every request failed, with the
    first reason. interrupted: Ctrl-C came; what had been answered by then is kept.
    """

    url: str
    model: str
    software: str | None
    settings: dict[str, Any]
    failed: dict[str, int]
    skipped: dict[str, str]
    interrupted: bool = False


def api_key_from(variable: str) -> str:
    """The API key in an environment variable; raises RequestError if it is not set or empty."""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise RequestError(
            f"the environment variable '{variable}' is not set or empty; it must hold the server's API key "
            f"(export {variable}=...), and its name is given, not the key"
        )
    return key


def check_plan(plan: ServerPlan) -> Endpoint:
    """Refuse what is wrong with a plan before anything is sent; raises RequestError."""
    for name, low, high in (("repeats", 1, None), ("warmups", 1, None), ("concurrency", 1, MAX_CONCURRENCY)):
        value = getattr(plan, name)
        if value < low or (high is not None and value > high):
            allowed = f">= {low}" if high is None else f"from {low} to {high}"
            raise RequestError(f"{name} is {value}; with a server it must be {allowed}")
    if plan.max_new_tokens is not None and plan.max_new_tokens < 1:
        raise RequestError(f"max_new_tokens is {plan.max_new_tokens}; it must be >= 1")
    if not (math.isfinite(plan.timeout) and 0 < plan.timeout <= MAX_TIMEOUT_SECONDS):
        raise RequestError(f"timeout is {plan.timeout}; it must be seconds in (0, {MAX_TIMEOUT_SECONDS}]")
    if plan.api not in get_args(Api):
        raise RequestError(f"api is {plan.api!r}; it must be one of {', '.join(get_args(Api))}")
    if plan.model is not None and not plan.model.strip():
        raise RequestError("the model's name is empty; give the name the server uses, or leave it out")
    key = plan.api_key
    if key is not None and not (key and key.isascii() and key.isprintable() and " " not in key):
        raise RequestError("the API key holds characters that no HTTP header takes; check the variable")
    if not plan.suites or not all(suite.prompts for suite in plan.suites):
        raise RequestError("there is no suite, or one without prompts; give suites that hold some")
    return parse_url(plan.url, key)


def measure_server(plan: ServerPlan, progress: Progress | None = None) -> tuple[list[BenchCell], ServerFacts]:
    """Measure every suite; one cell each, times by the client's clock.

    Raises RequestError: the plan, or several models to choose from. ServerError: a server that can't be
    reached or refuses the first warm-up, that doesn't say how many tokens it made, or no request of
    which succeeded. KeyboardInterrupt: Ctrl-C before anything was answered; later it ends the run early.
    """
    endpoint = check_plan(plan)
    model = plan.model if plan.model is not None else _only_model(endpoint, plan.timeout)
    run = _Run(plan, endpoint, Ask(model, plan.api, plan.stream), progress)
    first = run.first_warmup(plan.suites[0].prompts[0])
    cells: list[BenchCell] = []
    skipped: dict[str, str] = {}
    for suite in plan.suites:
        asked, seconds = run.measure(suite)
        if any(each.answers for each in asked):
            cells.append(build_cell(suite.name, asked, run.setting(), seconds))
        elif not run.interrupted:
            reason = next(reason for each in asked for reason in each.failures)
            skipped[suite.name] = f"every request failed; the first: {reason}"
        if run.interrupted:
            break
    if not cells:
        if run.interrupted:
            raise KeyboardInterrupt
        raise ServerError(f"no measured request succeeded; {next(iter(skipped.values()))}")
    return cells, dataclasses.replace(_facts(run, first, skipped), interrupted=run.interrupted)


def public_name(model: str) -> str:
    """A model's name for a result file: of a path only its last part (servers may name models by path)."""
    is_path = re.match(r"[/\\~.]|[A-Za-z]:[/\\]", model) is not None
    return re.split(r"[/\\]", model.rstrip("/\\"))[-1] or model if is_path else model


def _only_model(endpoint: Endpoint, timeout: float) -> str:
    names = list_models(endpoint, timeout)
    if not names:
        raise ServerError(f"{endpoint.url}/models lists no model; load one, or name it (--server-model)")
    if len(names) > 1:
        shown = ", ".join(names[:SHOWN_MODELS])
        more = f" and {len(names) - SHOWN_MODELS} more" if len(names) > SHOWN_MODELS else ""
        raise RequestError(
            f"the server has {len(names)} models; name one of them (--server-model): {shown}{more}"
        )
    return names[0]


def _facts(run: _Run, first: Answer, skipped: dict[str, str]) -> ServerFacts:
    plan, url, model = run.plan, run.endpoint.url, public_name(run.ask.model)
    settings = {
        "server": url,
        "server_on_this_machine": _is_loopback(run.endpoint.host),
        "model": model,
        "software": first.software,
        **{k: getattr(plan, k) for k in ("api", "stream", "concurrency", "repeats", "warmups")},
        "max_new_tokens": plan.max_new_tokens,
        "default_max_new_tokens": DEFAULT_MAX_NEW_TOKENS,
        "timeout_seconds": plan.timeout,
        "temperature": run.ask.temperature,
        "seed": run.ask.seed,
        "tokens_counted_by": first.counted_by,
    }
    return ServerFacts(url, model, first.software, settings, run.failed(), skipped)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Run:
    """A run against one server: how it is asked, and what failed so far."""

    def __init__(self, plan: ServerPlan, endpoint: Endpoint, request: Ask, progress: Progress | None) -> None:
        self.plan, self.endpoint, self.ask = plan, endpoint, request
        self._notes: list[str] = []
        self._reasons: dict[str, str] = {}  # kind of failure to its first message
        self._counts: Counter[str] = Counter()
        self._progress = progress
        self.interrupted = False
        self._done = 0
        self._total = sum(plan.warmups + plan.repeats * len(suite.prompts) for suite in plan.suites)

    def first_warmup(self, prompt: SuitePrompt) -> Answer:
        """Ask once and find out what the server supports; raises ServerError."""
        try:
            answer = self._one(prompt)
        except RequestFailed as refused:
            if not (self.ask.stream and refused.status in (400, 422)):
                raise
            # Perhaps it is only the usage chunk that it doesn't know.
            self.ask = dataclasses.replace(self.ask, stream_usage=False)
            try:
                answer = self._one(prompt)
            except RequestFailed as again:
                raise again if again.kind == "no usage" else refused from None
            self._notes.append("the server refuses stream_options.include_usage; it was left out")
        return answer

    def measure(self, suite: Suite) -> tuple[list[Asked], float]:
        """Warm up, then send every prompt ``repeats`` times; also: wall seconds of the measured part."""
        is_first = suite is self.plan.suites[0]
        for _ in range(self.plan.warmups - int(is_first)):
            with contextlib.suppress(ServerError):  # the measured requests will tell
                self._one(suite.prompts[0])
            self._report(suite.name)
        if is_first:
            self._report(suite.name)
        asked = [Asked(prompt, self._limit(prompt)) for prompt in suite.prompts]
        start = time.perf_counter()
        try:
            self._repeat(suite, asked)
        except KeyboardInterrupt:
            self.interrupted = True
            asked = [each for each in asked if each.answers or each.failures]
            self._notes.append(f"interrupted; {len(asked)} of {len(suite.prompts)} prompts were asked")
        return asked, time.perf_counter() - start

    def _repeat(self, suite: Suite, asked: Sequence[Asked]) -> None:
        for repeat in range(self.plan.repeats):
            if repeat and not any(each.answers for each in asked):
                self._report(suite.name, len(asked) * (self.plan.repeats - repeat))
                break  # a suite whose every prompt failed does not get better by asking again
            for each, outcome in self._all(asked):
                self._keep(each, outcome)
                self._report(suite.name)

    def setting(self) -> Setting:
        """What the cells say about this run."""
        plan = self.plan
        return Setting(
            self.ask,
            public_name(self.ask.model),
            self.endpoint.url,
            plan.max_new_tokens,
            plan.warmups,
            plan.repeats,
            plan.concurrency,
            tuple(self._notes),
        )

    def failed(self) -> dict[str, int]:
        """First message of each kind of failure, and how many there were of it."""
        return {self._reasons[kind]: count for kind, count in self._counts.items()}

    def _one(self, prompt: SuitePrompt) -> Answer:
        answer = ask(self.endpoint, self.ask, prompt.text, self._limit(prompt), self.plan.timeout)
        if answer.tokens is None:
            hint = "ask without streaming (--no-stream), where more servers tell" if self.ask.stream else ""
            raise RequestFailed(
                "no usage",
                f"{self.endpoint.url} does not say how many tokens it made (no 'usage' in its answer), and "
                "chunks are not tokens, so tokens/s can't be told; "
                + (hint or "measure a server that reports usage"),
            )
        return answer

    def _limit(self, prompt: SuitePrompt) -> int:
        return self.plan.max_new_tokens or prompt.max_new_tokens or DEFAULT_MAX_NEW_TOKENS

    def _all(self, asked: Sequence[Asked]) -> Iterator[tuple[Asked, Answer | BaseException]]:
        """Send each prompt once, ``concurrency`` at a time; yield outcomes as they come."""
        todo: queue.SimpleQueue[Asked] = queue.SimpleQueue()
        done: queue.SimpleQueue[tuple[Asked, Answer | BaseException]] = queue.SimpleQueue()
        for each in asked:
            todo.put(each)

        def work() -> None:
            while True:
                try:
                    each = todo.get_nowait()
                except queue.Empty:
                    return
                try:
                    done.put((each, self._one(each.prompt)))
                except BaseException as error:  # whatever it is belongs to the caller
                    done.put((each, error))

        # Daemons: after Ctrl-C nobody waits for an answer that is still to come.
        for _ in range(min(self.plan.concurrency, len(asked))):
            threading.Thread(target=work, name="dlmrt-client", daemon=True).start()
        try:
            for _ in asked:
                yield done.get()
        finally:
            with contextlib.suppress(queue.Empty):
                while True:
                    todo.get_nowait()

    def _keep(self, each: Asked, outcome: Answer | BaseException) -> None:
        if isinstance(outcome, Answer):
            each.answers.append(outcome)
            return
        if not isinstance(outcome, ServerError):
            raise outcome
        kind = outcome.kind if isinstance(outcome, RequestFailed) else "broken stream"
        self._reasons.setdefault(kind, str(outcome))
        self._counts[kind] += 1
        each.failures.append(str(outcome))

    def _report(self, what: str, requests: int = 1) -> None:
        self._done += requests
        if self._progress is not None:
            self._progress(self._done, self._total, what)
