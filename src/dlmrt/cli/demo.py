"""``dlmrt demo``: what the embedded model does, shown on examples that come with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlmrt.cli.common import JsonFlag, answer, note, print_json
from dlmrt.errors import DataError, RequestError

if TYPE_CHECKING:
    from dlmrt.engine.request import Result

EXAMPLES = "demo.jsonl"  # in the model's folder: {"task": ..., "prompt": ...}

HELP = """Show what the embedded model does: one answer for each of its tasks, with what it cost.

Examples:

\b
  dlmrt demo
  dlmrt demo repair
  dlmrt demo --json
"""

Tasks = Annotated[list[str] | None, typer.Argument(metavar="[TASK]...", help="Only these tasks.")]
Model = Annotated[str | None, typer.Option("--model", "-m", help="A model that has examples.")]


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("demo", help=HELP)(demo)


def demo(tasks: Tasks = None, model: Model = None, as_json: JsonFlag = False) -> None:
    """Answer the examples one after the other, each shown as soon as it is there."""
    from dlmrt.engine.llm import LLM
    from dlmrt.models.registry import resolve

    examples = chosen(read_examples(resolve(model)), tasks or [])
    llm, rows = LLM.load(model), []
    for example in examples:
        result = llm.generate(example["prompt"])
        rows.append(row(example, result))
        if not as_json:
            answer(shown(rows[-1]))
    if as_json:
        print_json(rows)
    else:
        note('Your own: dlmrt generate "..." with a prompt like those above.')


def read_examples(folder: Path) -> list[dict[str, Any]]:
    """The examples of a model folder; raises DataError when it has none."""
    from dlmrt.datasets.records import iterate_records

    file = folder / EXAMPLES
    if not file.is_file():
        raise DataError(
            f"the model {folder.name} has no {EXAMPLES}, so there is nothing to show; use dlmrt generate"
        )
    return list(iterate_records(file, {"task": str, "prompt": str}))


def chosen(examples: list[dict[str, Any]], tasks: list[str]) -> list[dict[str, Any]]:
    """The examples of these tasks, all without any; raises RequestError: a task that there is none of."""
    known = list(dict.fromkeys(each["task"] for each in examples))
    for task in tasks:
        if task not in known:
            raise RequestError(f"no demo of task {task!r}; this model's: {', '.join(known)}")
    return [each for each in examples if not tasks or each["task"] in tasks]


def row(example: dict[str, Any], result: Result) -> dict[str, Any]:
    """What is shown of one answer."""
    return {
        "task": example["task"],
        "prompt": example["prompt"],
        "answer": result.text,
        "tokens": result.decided_tokens,
        "forwards": result.forwards.denoise + result.forwards.commit,
        "tokens_per_forward": result.tokens_per_forward,
        "seconds": result.timings.total,
    }


def shown(row: dict[str, Any]) -> str:
    """The example as text: the prompt, the answer, and the cost."""
    cost = f"{row['tokens']} tokens in {row['forwards']} forwards, {1000 * row['seconds']:.0f} ms"
    return f"--- {row['task']}: {cost}\n{row['prompt']}\n=>\n{row['answer']}\n"
