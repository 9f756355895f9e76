"""Let lm-evaluation-harness ask a dlmrt model: its tasks, its scoring, our decoders.

``python -m dlmrt.evals.lm_eval --model M --tasks NAME --arm diffusion:threshold=0.8`` reports tokens per
forward beside lm-eval's scores. Importing this module registers the model as ``dlmrt`` with lm-eval.
See docs/lm-eval.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from dlmrt import __version__
from dlmrt.engine.arms import Arm, Place, parse_arms
from dlmrt.engine.llm import LLM, Prepared
from dlmrt.engine.request import BlockEvent, Request
from dlmrt.errors import DlmrtError, MissingExtraError, PromptError, RequestError
from dlmrt.evals.lm_eval_tasks import load_tasks, no_likelihood, plain_scores, render, request_options
from dlmrt.results.summarise import forward_counts, tokens_per_forward
from dlmrt.stats.counting import AnswerCounts, count_answer

try:
    from lm_eval.api.model import LM
    from lm_eval.api.registry import register_model
except ModuleNotFoundError as _error:
    if (_error.name or "").partition(".")[0] != "lm_eval":
        raise
    _missing = MissingExtraError("the lm-eval adapter", "lm-eval")
    if __name__ == "__main__":
        sys.stderr.write(f"error: {_missing}\n")
        raise SystemExit(2) from None
    raise _missing from None

TEMPLATE_FILE = "chat_template.jinja"
REASONS = 5  # of refused prompts, the most common ones; each tells its own numbers


class Conversation(str):
    """A conversation in the place where lm-eval passes a prompt; its text is the messages as JSON."""

    messages: tuple[dict[str, str], ...]

    def __new__(cls, messages: Sequence[dict[str, str]]) -> Conversation:
        """Write ``messages`` down."""
        made = super().__new__(cls, json.dumps(list(messages), ensure_ascii=False))
        made.messages = tuple(messages)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Conversation, (self.messages,)


@dataclasses.dataclass
class Counts:
    """What was answered so far. capped: limits cut to what the model's context leaves."""

    answers: list[AnswerCounts] = dataclasses.field(default_factory=list)
    capped: int = 0
    refused: Counter[str] = dataclasses.field(default_factory=Counter)

    def report(self) -> dict[str, Any]:
        """Plain data for JSON."""
        per_forward = tokens_per_forward(self.answers)
        return {
            "answers": len(self.answers),
            "refused": sum(self.refused.values()),
            "refused_because": dict(self.refused.most_common(REASONS)),
            "limits_capped": self.capped,
            "tokens": sum(each.tokens for each in self.answers),
            "decided_tokens": sum(each.decided for each in self.answers),
            "forwards": dataclasses.asdict(forward_counts(self.answers)),
            "tokens_per_forward": None if per_forward is None else dataclasses.asdict(per_forward),
        }


@register_model("dlmrt")
class DlmrtLM(LM):  # type: ignore[misc]  # lm-eval has no types
    """A dlmrt model as lm-eval sees it: it generates; it has no likelihoods.

    arm: decoder settings as in ``dlmrt eval --arms``, e.g. ``ar`` or ``diffusion:threshold=0.8``; None: the
    model's defaults. batch_size: prompts decoded together; None or ``auto``: chosen for the backend.
    llm: a loaded model in place of the one that the other arguments name.
    Raises what :meth:`dlmrt.LLM.load` raises, and RequestError: an arm or batch size that can't be.
    """

    def __init__(
        self,
        model: str | None = None,
        arm: str | None = None,
        backend: str = "auto",
        device: str | None = None,
        dtype: str | None = None,
        batch_size: int | str | None = None,
        max_batch_size: int | None = None,
        llm: LLM | None = None,
    ) -> None:
        super().__init__()
        place = Place(model, backend, device, dtype)
        self.arm = Arm("default", {}, place) if arm is None else _one_arm(arm, place)
        self.batch_size = _batch_size(batch_size)
        if max_batch_size is not None:
            raise RequestError(f"max_batch_size is {max_batch_size}; it is not read here, use batch_size")
        place = self.arm.place
        self.llm = llm or LLM.load(place.model, place.backend, place.device, place.dtype)
        self.counts = Counts()

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        """Answer ``(context, generation kwargs)`` requests, in order.

        All are checked before the first is decoded. A prompt that the model can't take (too long, empty) is
        answered with "" and counted as refused. Raises RequestError: a generation kwarg that is unknown,
        out of range or at odds with the arm. Raises PromptError: no prompt at all could be taken.
        """
        prepared: list[Prepared | None] = []
        seen: Counter[int] = Counter()
        reasons: Counter[str] = Counter()
        for request in requests:
            context, kwargs = request.args
            options = request_options(kwargs, self.arm.options)
            limit = options.pop("max_new_tokens", None)
            if options.get("temperature", 0) > 0:  # repeats of one request are draws of their own
                seed = options.get("seed", self.llm.folder.generation.decoder.seed)
                options["seed"] = seed + seen[id(request)]
            seen[id(request)] += 1
            try:
                prepared.append(self._prepare(context, options, limit))
            except PromptError as error:
                prepared.append(None)
                reasons[str(error)] += 1
        if requests and not any(prepared):
            (reason, _), *_ = reasons.most_common(1)
            raise PromptError(f"the model can take none of the {len(requests)} prompts: {reason}")
        self.counts.refused += reasons
        answered = [i for i, each in enumerate(prepared) if each is not None]

        chosen = [each for each in prepared if each is not None]
        with _progress(len(chosen)) as advance:

            def on_block(event: BlockEvent) -> None:
                if event.result is not None:
                    asked = requests[answered[event.row]].args
                    self.cache_hook.add_partial("generate_until", asked, event.result.text)
                    advance()

            results = self.llm.decode(chosen, on_block, None, self.batch_size)
        self.counts.answers += [count_answer(result) for result in results]
        texts = dict(zip(answered, (result.text for result in results), strict=True))
        return [texts.get(i, "") for i in range(len(requests))]

    def _prepare(self, context: str, options: dict[str, Any], limit: int | None) -> Prepared:
        if isinstance(context, Conversation):
            made = self.llm.prepare(Request(messages=context.messages, options=options))
        else:
            made = self.llm.prepare(Request(prompt=context, options=options))
        if limit is None:
            return made
        room = self.llm.folder.config.max_positions - len(made.row.prompt_ids)
        self.counts.capped += limit > room
        return dataclasses.replace(made, row=dataclasses.replace(made.row, max_new_tokens=min(limit, room)))

    def loglikelihood(self, requests: Sequence[Any]) -> NoReturn:
        """Raise RequestError: a diffusion model has no exact likelihood here."""
        raise no_likelihood("loglikelihood")

    def loglikelihood_rolling(self, requests: Sequence[Any]) -> NoReturn:
        """Raise RequestError: a diffusion model has no exact likelihood here."""
        raise no_likelihood("loglikelihood_rolling")

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> Conversation:
        """Carry a conversation to :meth:`generate_until`, where the model's template is applied.

        Raises RequestError: the model has no chat template, or the task begins the answer itself.
        """
        if not self.llm.codec.has_chat_template:
            raise RequestError(
                f"{self.llm.folder.path} has no chat template; leave --apply-chat-template out"
            )
        if not add_generation_prompt:
            raise RequestError(
                "the task begins the answer itself (gen_prefix), which is not supported under a chat "
                "template; leave --apply-chat-template out"
            )
        return Conversation(chat_history)

    def chat_template(self, chat_template: bool | str = False) -> str | None:
        """Return the text of the model's template, "" without one; raises RequestError for a named one."""
        if isinstance(chat_template, str):
            raise RequestError(
                f"chat template '{chat_template}' was asked for; a folder has one, without name"
            )
        path = self.llm.folder.path / TEMPLATE_FILE
        return path.read_text(encoding="utf-8") if self.llm.codec.has_chat_template else ""

    @property
    def tokenizer_name(self) -> str:
        """What marks prompts cached by lm-eval as this model's."""
        return f"dlmrt__{self.llm.folder.path.resolve().name}"

    def get_model_info(self) -> dict[str, Any]:
        """What lm-eval's result file says of the model."""
        choice = self.llm.choice
        return {
            "model": self.llm.folder.path.resolve().name,
            "arm": {"name": self.arm.name, **self.arm.options},
            "backend": choice.name,
            "backend_reason": choice.reason,
            "dlmrt_version": __version__,
        }


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar on stderr, if that is a terminal; yields what to call after each answer."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("answers", total=total)
        yield lambda: bar.advance(task)


def _one_arm(spec: str, place: Place) -> Arm:
    arms = parse_arms([spec], place, {})
    if len(arms) != 1:
        raise RequestError(f"arm '{spec}' names {len(arms)} arms; lm-eval asks one at a time")
    return arms[0]


def _batch_size(value: int | str | None) -> int | None:
    if value is None or value == "auto":
        return None
    if not str(value).isdecimal() or int(value) < 1:
        raise RequestError(f"batch_size is {value!r}; it must be an integer >= 1, or auto")
    return int(value)


def evaluate(
    lm: DlmrtLM,
    tasks: Sequence[str],
    *,
    include_path: str | None = None,
    limit: int | None = None,
    num_fewshot: int | None = None,
    apply_chat_template: bool = False,
) -> dict[str, Any]:
    """Run tasks and return lm-eval's scores with our counts, as plain data for JSON.

    Raises what :func:`~dlmrt.evals.lm_eval_tasks.load_tasks` and :meth:`DlmrtLM.generate_until` raise.
    """
    from lm_eval import simple_evaluate

    items, manager = load_tasks(tasks, include_path)
    found = simple_evaluate(
        lm,
        tasks=items,
        task_manager=manager,
        limit=limit,
        num_fewshot=num_fewshot,
        apply_chat_template=apply_chat_template,
        log_samples=False,
    )
    return {
        "lm_eval_version": importlib.metadata.version("lm-eval"),
        **lm.get_model_info(),
        "limit": limit,
        "apply_chat_template": apply_chat_template,
        "tasks": {
            name: {
                "items": found["n-samples"][name]["effective"] if name in found["n-samples"] else None,
                "version": found["versions"].get(name),
                "num_fewshot": found["n-shot"].get(name),
                "scores": plain_scores(scores),
            }
            for name, scores in found["results"].items()
        },
        "generation": lm.counts.report(),
    }


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise RequestError(f"{message} (see --help)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m dlmrt.evals.lm_eval",
        description="Run lm-evaluation-harness tasks on a dlmrt model.",
        epilog="example: python -m dlmrt.evals.lm_eval --tasks my_task.yaml --arm diffusion:threshold=0.8",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--model", help="a model's name or folder; default: the embedded model")
    add("--tasks", nargs="+", required=True, metavar="TASK", help="names or YAML files")
    add("--include-path", metavar="DIR", help="a folder of further task files")
    add("--arm", help="how to decode, e.g. ar or diffusion:threshold=0.8; default: the model's way")
    add("--backend", default="auto", help="auto, numpy or eager")
    add("--device", help="cpu, cuda or cuda:<number>")
    add("--dtype", help="float32, bfloat16 or float16")
    add("--batch-size", type=int, help="prompts decoded together")
    add("--limit", type=int, help="items of each task")
    add("--num-fewshot", type=int, help="solved examples in a prompt; default: the task's")
    add("--apply-chat-template", action="store_true", help="let lm-eval make conversations")
    add("--output", type=Path, metavar="FILE", help="write the report here as JSON")
    add("--json", action="store_true", help="print the report as JSON")
    return parser


def _run(argv: Sequence[str] | None) -> int:
    args = _parser().parse_args(argv)
    for name in ("limit", "num_fewshot"):
        value = getattr(args, name)
        if value is not None and value < (1 if name == "limit" else 0):
            raise RequestError(f"--{name.replace('_', '-')} is {value}; it is too small")
    out: Path | None = args.output
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise RequestError(f"--output {out} can't be written: it is a folder, or its folder is missing")
    lm = DlmrtLM(args.model, args.arm, args.backend, args.device, args.dtype, args.batch_size)
    report = evaluate(
        lm,
        args.tasks,
        include_path=args.include_path,
        limit=args.limit,
        num_fewshot=args.num_fewshot,
        apply_chat_template=args.apply_chat_template,
    )
    document = json.dumps(report, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    sys.stdout.write(document if args.json else render(report) + "\n")
    sys.stdout.flush()
    if out is not None:
        try:
            out.write_text(document, encoding="utf-8")
        except OSError as error:
            if not args.json:
                sys.stdout.write(document)
            raise RequestError(f"cannot write --output {out}: {error.strerror}; it was printed") from None
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; an error that the caller can mend is one line on stderr and exit code 2."""
    try:
        return _run(argv)
    except DlmrtError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
