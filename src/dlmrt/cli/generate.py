"""``dlmrt generate``: answer a prompt, or every line of a file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlmrt.cli.common import EXIT_INTERRUPTED, answer, note
from dlmrt.cli.files import OutputFile
from dlmrt.cli.groups import grouped
from dlmrt.cli.options import Decoding
from dlmrt.cli.prompts import Prompts, read_text, split_prompts
from dlmrt.errors import PromptError, RequestError

if TYPE_CHECKING:
    from dlmrt.engine.llm import LLM, Prepared
    from dlmrt.engine.request import BlockEvent, Result
    from dlmrt.engine.trace import TraceRecorder
    from dlmrt.rows import StepHook

HELP = """Answer TEXT, a file, or stdin.

The answer goes to stdout, everything else to stderr. Ctrl-C keeps the text committed so far.

Examples:

\b
  dlmrt generate "this option controls wether the Output is writen to the screen .."
  dlmrt generate --lines < draft.txt > repaired.txt
  dlmrt generate "teh end ." --trace steps.html --stats
  dlmrt generate "teh end ." --policy fixed --per-step 4 --json
"""

Text = Annotated[str | None, typer.Argument(metavar="TEXT", help="The prompt; - or none = stdin.")]
File = Annotated[Path | None, typer.Option("--file", "-f", help="Read the prompt from this file.")]
Sentences = Annotated[
    bool, typer.Option("--sentences", help="Every sentence is a prompt; the answers of a line are joined.")
]
Lines = Annotated[bool, typer.Option("--lines", help="Every line is a prompt; one answer a line, in order.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the answer here, not to stdout.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object a prompt, on one line each.")]
Stats = Annotated[bool, typer.Option("--stats", help="Print counts and speed on stderr.")]
Stream = Annotated[bool, typer.Option("--stream", help="Print every block as soon as it is committed.")]
ShowSteps = Annotated[bool, typer.Option("--show-steps", help="Show the denoising on stderr as it happens.")]
Trace = Annotated[
    Path | None, typer.Option("--trace", help="Write a page (HTML) here that replays the denoising.")
]
BatchSize = Annotated[int | None, typer.Option("--batch-size", help="Prompts decoded together (--lines).")]


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("generate", help=HELP)(generate)


@grouped
def generate(
    *,
    text: Text = None,
    file: File = None,
    lines: Lines = False,
    sentences: Sentences = False,
    output: Output = None,
    decoding: Decoding,
    stream: Stream = False,
    as_json: Json = False,
    stats: Stats = False,
    show_steps: ShowSteps = False,
    trace: Trace = None,
    batch_size: BatchSize = None,
) -> None:
    """Check everything that can be checked without a model, load it, answer."""
    lines = lines or sentences
    wanted = Wanted(lines, stream, as_json, stats, show_steps, trace, output)
    wanted.check()
    if decoding.method is not None:  # told before a model is loaded, where that can be
        wanted.check_steps(decoding.method)
    if batch_size is not None and not lines:
        raise RequestError("--batch-size is for several prompts; add --lines or --sentences, or drop it")
    options = decoding.given()
    with ExitStack() as files:
        target = files.enter_context(OutputFile(output, "--output")) if output else None
        page = files.enter_context(OutputFile(trace, "--trace")) if trace else None
        prompts = split_prompts(read_text(text, file), lines=lines, sentences=sentences)
        llm = decoding.load()
        wanted.check_steps(decoding.method or llm.folder.methods[0])
        code = Run(llm, prompts, _prepare(llm, prompts, options, lines), wanted).go(target, page, batch_size)
    if code:
        raise typer.Exit(code)


@dataclass(frozen=True)
class Wanted:
    """What to show besides the answer, and how."""

    lines: bool
    stream: bool
    as_json: bool
    stats: bool
    show_steps: bool
    trace: Path | None
    output: Path | None

    def check(self) -> None:
        """Refuse what can't go together; raises RequestError."""
        clashes = [
            (
                self.stream and self.as_json,
                "--stream and --json",
                "JSON comes at the end",
            ),
            (self.stream and self.lines, "--stream and --lines or --sentences", "a stream shows one answer"),
            (self.stream and self.output is not None, "--stream and --output", "a stream goes to stdout"),
            (self.stream and self.show_steps, "--stream and --show-steps", "they would mix on the terminal"),
            (
                self.trace is not None and self.output is not None and _same(self.trace, self.output),
                "--trace and --output",
                "they name the same file",
            ),
        ]
        for clash, pair, why in clashes:
            if clash:
                raise RequestError(f"{pair} can't be used together: {why}; drop one")

    def check_steps(self, method: str) -> None:
        """Refuse to show denoising steps where there are none; raises RequestError."""
        for option, used in (("--show-steps", self.show_steps), ("--trace", self.trace is not None)):
            if used and method != "diffusion":
                raise RequestError(f"{option} shows denoising steps, and method '{method}' has none; drop it")


def _same(a: Path, b: Path) -> bool:
    return a.resolve() == b.resolve()


def _prepare(llm: LLM, prompts: Prompts, options: dict[str, Any], lines: bool) -> list[Prepared]:
    """Check all prompts before any is decoded, so that a bad line costs nobody's work."""
    from dlmrt.engine.request import Request, check_options

    check_options(options, llm.folder.generation)  # what is wrong here is no line's fault
    prepared = []
    for at, text in enumerate(prompts.texts):
        try:
            prepared.append(llm.prepare(Request(prompt=text, options=options)))
        except (PromptError, RequestError) as error:
            if not lines:
                hint = " (--sentences cuts it)" if "at most" in str(error) else ""
                raise type(error)(f"{error}{hint}") from None
            raise type(error)(f"line {prompts.line_of(at)}: {error}") from None
    return prepared


class Run:
    """One decoding run: gathers answers as they come and brings them out in order."""

    def __init__(self, llm: LLM, prompts: Prompts, prepared: list[Prepared], wanted: Wanted) -> None:
        self.llm, self.prompts, self.prepared, self.wanted = llm, prompts, prepared, wanted
        self.parts: list[list[str]] = [[] for _ in prepared]
        self.ids: list[list[int]] = [[] for _ in prepared]
        self.results: list[Result | None] = [None for _ in prepared]
        self.next_slot = 0
        self.lines_out: list[str] = []  # kept for --output

    def go(self, target: OutputFile | None, page: OutputFile | None, batch_size: int | None) -> int:
        """Decode, print, write; returns the exit code."""
        code, error = 0, None
        on_step, close, recorder = self._watchers()
        if self.wanted.show_steps:
            batch_size = batch_size or 1  # one canvas on the screen at a time
        start = time.perf_counter()
        try:
            self.llm.decode(self.prepared, self._on_block, on_step, batch_size)
        except KeyboardInterrupt:
            code = EXIT_INTERRUPTED
        finally:
            seconds = time.perf_counter() - start
            close()
        self._bring_out()
        if code:
            self._bring_out_partial()
        if target is not None:
            error = self._write_answer(target)
        if page is not None and recorder is not None:
            page.write(self._page(recorder))
            note(f"trace: {page.path}")
        results = [r for r in self.results if r is not None]
        if self.wanted.stats and results:
            note(_stats(results, results[0].timings.decode if len(results) == 1 else seconds, self.llm))
        if error is not None:
            raise error
        return code

    def _on_block(self, event: BlockEvent) -> None:
        self.parts[event.row].append(event.text)
        self.ids[event.row] += event.ids
        if self.wanted.stream and event.text:
            answer(event.text, end="")
        if event.result is not None:
            self.results[event.row] = event.result
            if not self.wanted.show_steps:  # the canvas has the screen until the end
                self._bring_out()

    def _bring_out(self) -> None:
        """Print the answers that are finished, as far as all before them are."""
        slots = self.prompts.slots
        while self.next_slot < len(slots):
            rows = slots[self.next_slot]
            if any(self.results[row] is None for row in rows):
                return
            self._emit(self.next_slot, rows)
            self.next_slot += 1

    def _bring_out_partial(self) -> None:
        """After Ctrl-C: what is committed of every answer that was begun."""
        for at in range(self.next_slot, len(self.prompts.slots)):
            rows = self.prompts.slots[at]
            if any(self.parts[row] for row in rows):
                self._emit(at, rows)
        note("interrupted; the text above is what was committed")

    def _emit(self, slot: int, rows: tuple[int, ...]) -> None:
        texts = ["".join(self.parts[row]) for row in rows]
        text = " ".join(texts)
        if self.wanted.as_json:
            for row, own in zip(rows, texts, strict=True):
                self._put(json.dumps(self._object(slot, row, own), ensure_ascii=False))
        elif self.wanted.stream:
            answer("")  # the text is out already
        else:
            self._put(text)

    def _put(self, line: str) -> None:
        if self.wanted.output is None:
            answer(line)
        else:
            self.lines_out.append(line + "\n")

    def _object(self, slot: int, row: int, text: str) -> dict[str, Any]:
        result = self.results[row]
        about: dict[str, Any] = {"index": row, "model": self.llm.folder.path.name}
        if self.wanted.lines:
            about["line"] = slot + 1
        if result is None:
            return about | {"text": text, "ids": self.ids[row], "finish_reason": "cancelled"}
        return about | result.to_dict()

    def _write_answer(self, target: OutputFile) -> RequestError | None:
        """Write ``--output``; if that fails now, the answer goes to stdout rather than nowhere."""
        try:
            target.write("".join(self.lines_out))
        except RequestError as error:
            answer("".join(self.lines_out), end="")
            return error
        return None

    def _watchers(self) -> tuple[StepHook | None, Callable[[], None], TraceRecorder | None]:
        """What looks at steps: (hook, what to call at the end, the recorder of a trace)."""
        hooks: list[StepHook] = []
        recorder, view = None, None
        if self.wanted.trace is not None:
            from dlmrt.engine.trace import TraceRecorder

            recorder = TraceRecorder()
            hooks.append(recorder)
        if self.wanted.show_steps:
            from dlmrt.cli.show_steps import step_view

            view = step_view(self.llm.codec, rows=len(self.prepared))
            hooks.append(view)

        def on_step(record: Any) -> None:
            for hook in hooks:
                hook(record)

        return (on_step if hooks else None), (view.close if view else lambda: None), recorder

    def _page(self, recorder: TraceRecorder) -> str:
        from dlmrt.cli.trace_page import render
        from dlmrt.config import to_mapping

        about = {
            "model": self.llm.folder.path.name,
            "backend": f"{self.llm.choice.name} ({self.llm.choice.reason})",
            "block_size": self.llm.folder.generation.diffusion.block_size,
            "decoder": to_mapping(self.prepared[0].row.decoder) if self.prepared else {},
        }
        texts = self.prompts.texts
        return render(recorder.payload(self.llm.codec, texts, self.results, about))


def _stats(results: list[Result], seconds: float, llm: LLM) -> str:
    """One line: counts, speed, forwards and where it ran."""
    tokens = sum(len(r.ids) for r in results)
    decided = sum(r.decided_tokens for r in results)
    prefill = sum(r.forwards.prefill for r in results)
    denoise = sum(r.forwards.denoise for r in results)
    commit = sum(r.forwards.commit for r in results)
    parts = [
        f"{len(results)} answers" if len(results) != 1 else f"finish {results[0].finish_reason}",
        f"{tokens} tokens in {seconds:.2f} s ({tokens / seconds if seconds else 0:.0f} tokens/s)",
        f"forwards {prefill} prefill + {denoise} denoise + {commit} commit",
        f"{decided / max(1, denoise + commit):.2f} tokens/forward "
        f"({decided / max(1, denoise):.2f} without commits)",
        f"load {llm.load_seconds:.2f} s",
        f"backend {llm.choice.name}: {llm.choice.reason}",
    ]
    return " | ".join(parts)
