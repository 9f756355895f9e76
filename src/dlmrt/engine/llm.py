"""The public API: load a model once, then ask it for whole answers or for a stream of blocks."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, Unpack, cast, overload

from dlmrt.engine.backends import Choice, choose_for, open_backend
from dlmrt.engine.request import (
    BlockEvent,
    Forwards,
    Message,
    Options,
    Request,
    Result,
    Timings,
    answer_limit,
    check_options,
)
from dlmrt.engine.stops import RowText
from dlmrt.engine.streaming import stream_events
from dlmrt.engine.text import TextCodec
from dlmrt.errors import PromptError, RequestError
from dlmrt.models.folder import ModelFolder, open_folder
from dlmrt.models.registry import resolve
from dlmrt.rows import Backend, RowOutput, RowRequest, StepHook, StepRecord
from dlmrt.validate import validate_row

# Rows that one call of a batching backend decodes together.
BATCH_SIZE = 32

# Called for each committed block; returning True cancels that row.
EventHook = Callable[[BlockEvent], bool | None]
PromptList = list[str] | tuple[str, ...]  # not Sequence: a str is one too
Prompt = str | PromptList | None
Ids = Sequence[int] | Sequence[Sequence[int]] | None


@dataclass(frozen=True)
class Prepared:
    """A request that was checked and tokenised: every backend can decode it."""

    row: RowRequest
    stop: tuple[str, ...]
    tokenise_seconds: float


class LLM:
    """A loaded diffusion language model.

    >>> llm = LLM.load()
    >>> llm.generate("this option controls wether the Output is writen to the screen ..").text

    A prompt gives a :class:`Result`, a list of prompts a list in the same order. Everything that can
    be wrong with a request is found before any of it is decoded.
    """

    def __init__(
        self,
        backend: Backend,
        codec: TextCodec,
        folder: ModelFolder,
        choice: Choice,
        *,
        load_seconds: float = 0.0,
    ) -> None:
        self.backend = backend
        self.codec = codec
        self.folder = folder
        self.choice = choice
        self.load_seconds = load_seconds

    @classmethod
    def load(
        cls,
        model: str | None = None,
        backend: str = "auto",
        device: str | None = None,
        dtype: str | None = None,
    ) -> LLM:
        """Open a model by name or folder (``None``: the embedded one).

        backend: ``auto``, ``numpy`` or ``eager`` (torch). device: ``cpu``, ``cuda``, ``cuda:1``.
        dtype: ``float32``, ``bfloat16`` or ``float16`` (eager only).
        Raises ModelNotFoundError, ConfigError, WeightsError: the model. RequestError,
        MissingExtraError: the backend.
        """
        start = time.perf_counter()
        folder = open_folder(resolve(model))
        choice = choose_for(folder, backend, device, dtype)
        codec = TextCodec(folder)
        opened = open_backend(folder, choice)
        return cls(opened, codec, folder, choice, load_seconds=time.perf_counter() - start)

    @overload
    def generate(
        self,
        prompt: str,
        *,
        on_block: EventHook | None = ...,
        on_step: StepHook | None = ...,
        batch_size: int | None = ...,
        **options: Unpack[Options],
    ) -> Result: ...
    @overload
    def generate(
        self,
        prompt: PromptList,
        *,
        on_block: EventHook | None = ...,
        on_step: StepHook | None = ...,
        batch_size: int | None = ...,
        **options: Unpack[Options],
    ) -> list[Result]: ...
    @overload
    def generate(
        self,
        prompt: None = ...,
        *,
        ids: Ids = ...,
        messages: Sequence[Message] | None = ...,
        on_block: EventHook | None = ...,
        on_step: StepHook | None = ...,
        batch_size: int | None = ...,
        **options: Unpack[Options],
    ) -> Result | list[Result]: ...

    def generate(
        self,
        prompt: Prompt = None,
        *,
        ids: Ids = None,
        messages: Sequence[Message] | None = None,
        on_block: EventHook | None = None,
        on_step: StepHook | None = None,
        batch_size: int | None = None,
        **options: Unpack[Options],
    ) -> Result | list[Result]:
        """Answer one prompt, or a list of them together.

        ids: prompt ids in place of text (a list of lists: a batch); messages: one conversation.
        on_block: hears of every committed block; returning True cancels that row after it, raising
            ends the whole call. on_step: hears of every denoising step (diffusion only).
        options: see :class:`~dlmrt.engine.request.Options`.
        Raises RequestError: an option. PromptError: a prompt (of a batch: which one).
        """
        requests, many = _requests(prompt, ids, messages, options)
        results = self.decode(self._prepare_all(requests), on_block, on_step, batch_size)
        return results if many else results[0]

    def stream(
        self,
        prompt: Prompt = None,
        *,
        ids: Ids = None,
        messages: Sequence[Message] | None = None,
        on_step: StepHook | None = None,
        batch_size: int | None = None,
        **options: Unpack[Options],
    ) -> Generator[BlockEvent, None, None]:
        """Answer like :meth:`generate`, block by block; each row's last event carries its result.

        Requests are checked at once, not at the first event. Decoding runs in a thread of its own and
        doesn't wait for the consumer; closing the generator ends it for all prompts at the next block
        that any of them finishes. ``on_step`` is called in that thread.
        """
        requests, _ = _requests(prompt, ids, messages, options)
        self._batch_size(batch_size)
        prepared = self._prepare_all(requests)
        return stream_events(lambda put: self.decode(prepared, put, on_step, batch_size))

    def prepare(self, request: Request) -> Prepared:
        """Check and tokenise one request; raises RequestError or PromptError."""
        defaults, config = self.folder.generation, self.folder.config
        settings = check_options(request.options, defaults)
        start = time.perf_counter()
        ids = self._encode(request)
        seconds = time.perf_counter() - start
        limit = answer_limit(settings.max_new_tokens, len(ids), defaults.max_new_tokens, config.max_positions)
        row = RowRequest(tuple(ids), limit, settings.decoder, settings.method)
        validate_row(row, config, defaults.diffusion)
        return Prepared(row, settings.stop, seconds)

    def decode(
        self,
        prepared: Sequence[Prepared],
        on_block: EventHook | None = None,
        on_step: StepHook | None = None,
        batch_size: int | None = None,
    ) -> list[Result]:
        """Decode prepared requests, each with its own settings; results in the same order.

        batch_size: rows decoded together (``None``: chosen for the backend); it changes no answer.
        """
        size = self._batch_size(batch_size)
        results: list[Result] = []
        called = time.perf_counter()
        for first in range(0, len(prepared), size):
            queue_seconds = time.perf_counter() - called
            batch = prepared[first : first + size]
            results += self._decode_batch(batch, first, queue_seconds, on_block, on_step)
        return results

    def _prepare_all(self, requests: Sequence[Request]) -> list[Prepared]:
        if requests:  # they share their options: what is wrong with those is no prompt's fault
            check_options(requests[0].options, self.folder.generation)
        prepared = []
        for at, request in enumerate(requests):
            try:
                prepared.append(self.prepare(request))
            except (PromptError, RequestError) as error:
                if len(requests) == 1:
                    raise
                raise type(error)(f"prompt {at + 1} of {len(requests)}: {error}") from None
        return prepared

    def _encode(self, request: Request) -> list[int]:
        given = [x is not None for x in (request.prompt, request.ids, request.messages)]
        if sum(given) != 1:
            raise RequestError(f"{sum(given)} of prompt, ids and messages were given; give exactly one")
        if request.prompt is not None:
            return self.codec.encode_prompt(request.prompt)
        if request.messages is not None:
            return self.codec.encode_messages(request.messages)
        return self.codec.check_ids(request.ids or ())

    def _batch_size(self, asked: int | None) -> int:
        if asked is not None and asked < 1:
            raise RequestError(f"batch_size is {asked}; it must be >= 1")
        # NumPy decodes rows one after another anyway; one row a call keeps each row's clock its own.
        return asked or (1 if self.choice.name == "numpy" else BATCH_SIZE)

    def _decode_batch(
        self,
        batch: Sequence[Prepared],
        first: int,
        queue_seconds: float,
        on_block: EventHook | None,
        on_step: StepHook | None,
    ) -> list[Result]:
        rows = [_Progress(first + i, RowText(self.codec.incremental(), p.stop)) for i, p in enumerate(batch)]
        start = time.perf_counter()

        def block_done(row: int, ids: tuple[int, ...]) -> bool:
            event = rows[row].block(ids, time.perf_counter() - start)
            cancelled = on_block is not None and bool(on_block(event))
            return cancelled or rows[row].text.stopped

        def step_done(record: StepRecord) -> None:
            if on_step is not None:
                on_step(dataclasses.replace(record, row=first + record.row))

        outputs = self.backend.generate(
            [p.row for p in batch],
            on_step=None if on_step is None else step_done,
            on_block=block_done,
        )
        end = time.perf_counter() - start
        results = []
        for row, asked, output in zip(rows, batch, outputs, strict=True):
            text, ids = row.finish(output)
            result = self._result(row, asked, output, end, queue_seconds)
            if on_block is not None:
                on_block(BlockEvent(row.index, max(0, row.blocks - 1), text, ids, end, result))
            results.append(result)
        return results

    def _result(
        self, row: _Progress, asked: Prepared, output: RowOutput, end: float, queue_seconds: float
    ) -> Result:
        stopped = row.text.stopped
        return Result(
            text=row.text.text,
            ids=row.text.ids,
            prompt_tokens=len(asked.row.prompt_ids),
            finish_reason="stop" if stopped else output.finish_reason,
            ended_by_eos=output.ended_by_eos and not stopped,
            timings=self._timings(row, asked, output, end, queue_seconds),
            forwards=Forwards(output.prefill_forwards, output.denoise_forwards, output.commit_forwards),
            steps_per_block=output.steps_per_block,
            method=asked.row.method,
            backend=self.choice.name,
            backend_reason=self.choice.reason,
            seed=asked.row.decoder.seed,
            proposed_tokens=output.proposed_tokens,
            accepted_tokens=output.accepted_tokens,
        )

    def _timings(
        self, row: _Progress, asked: Prepared, output: RowOutput, end: float, queue_seconds: float
    ) -> Timings:
        parts = output.seconds
        return Timings(
            load=self.load_seconds,
            tokenise=asked.tokenise_seconds,
            first_block=end if row.first_seconds is None else row.first_seconds,
            decode=end if row.last_seconds is None else row.last_seconds,
            prefill=None if parts is None else parts.prefill,
            denoise=None if parts is None else parts.denoise,
            commit=None if parts is None else parts.commit,
            detokenise=row.text_seconds,
            queue=queue_seconds,
        )


@dataclass
class _Progress:
    """One row while it is decoded: its text so far and when its blocks came."""

    index: int
    text: RowText
    blocks: int = 0
    first_seconds: float | None = None
    last_seconds: float | None = None
    text_seconds: float = 0.0

    def block(self, ids: Iterable[int], seconds: float) -> BlockEvent:
        if self.first_seconds is None:
            self.first_seconds = seconds
        self.last_seconds = seconds
        text, shown = self._timed(lambda: self.text.feed(ids))
        self.blocks += 1
        return BlockEvent(self.index, self.blocks - 1, text, shown, seconds)

    def finish(self, output: RowOutput) -> tuple[str, tuple[int, ...]]:
        """Take ids that came without a block, and return what was held back."""
        text, ids = self._timed(lambda: self.text.feed(output.ids[self.text.fed :]))
        rest, more = self._timed(self.text.finish)
        return text + rest, ids + more

    def _timed(self, work: Callable[[], tuple[str, tuple[int, ...]]]) -> tuple[str, tuple[int, ...]]:
        start = time.perf_counter()
        done = work()
        self.text_seconds += time.perf_counter() - start
        return done


def _requests(
    prompt: Prompt, ids: Ids, messages: Sequence[Message] | None, options: Options
) -> tuple[list[Request], bool]:
    """Spread what was passed over requests that share their options; also: was it a batch."""
    given: dict[str, Any] = dict(options)
    if ids is None and messages is None and _is_list(prompt):
        return [Request(prompt=text, options=given) for text in prompt], True
    if prompt is None and messages is None and _is_batch(ids):
        return [Request(ids=tuple(row), options=given) for row in ids], True
    request = Request(
        prompt=cast("str | None", prompt),
        ids=None if ids is None else tuple(cast(Sequence[int], ids)),
        messages=None if messages is None else tuple(messages),
        options=given,
    )
    return [request], False


def _is_list(prompt: Prompt) -> TypeGuard[PromptList]:
    return isinstance(prompt, list | tuple)


def _is_batch(ids: Ids) -> TypeGuard[Sequence[Sequence[int]]]:
    return ids is not None and len(ids) > 0 and isinstance(ids[0], Sequence)
