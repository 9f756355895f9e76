"""lm-evaluation-harness asks a dlmrt model, without a network: local tasks, our own items."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dlmrt import LLM
from dlmrt.errors import MissingExtraError, PromptError, RequestError
from dlmrt.rows import RowRequest
from tests import tiny_folder as tiny

pytest.importorskip("lm_eval")

from dlmrt.evals import lm_eval as adapter

ITEMS = [
    {"question": "the first", "answer": "ab"},
    {"question": "the second", "answer": "the"},
    {"question": "the third", "answer": "ab"},
]
TASK = """\
task: {name}
dataset_path: json
dataset_kwargs:
  data_files: {{test: {folder}/items.jsonl}}
  cache_dir: {folder}/cache
output_type: {output_type}
test_split: {split}
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
{more}
metric_list:
  - {{metric: {metric}, aggregation: mean, higher_is_better: true}}
metadata: {{version: 1.0}}
"""


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_folder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def write_task(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a task file and its items."""

    def write(
        generation: dict[str, Any] | None = None,
        *,
        name: str = "local",
        output_type: str = "generate_until",
        metric: str = "exact_match",
        split: str = "test",
        more: str = "",
        items: list[dict[str, str]] | None = None,
    ) -> Path:
        lines = [json.dumps(item) for item in items or ITEMS]
        (tmp_path / "items.jsonl").write_text("\n".join(lines) + "\n")
        if generation is not None:
            more += f"\ngeneration_kwargs: {json.dumps(generation)}"
        path = tmp_path / f"{name}.yaml"
        text = TASK.format(
            name=name, folder=tmp_path, output_type=output_type, metric=metric, split=split, more=more
        )
        path.write_text(text)
        return path

    return write


def ask(context: str, **kwargs: Any) -> SimpleNamespace:
    """What lm-eval hands over: one object a prompt, the same one for its repeats."""
    return SimpleNamespace(args=(context, kwargs))


def always(text: str, eos: bool = True) -> Callable[[RowRequest], list[int]]:
    return lambda request: [*tiny.encode(text), *([tiny.EOS] if eos else [])]


def scripted(folder: Path, text: str, arm: str | None = None) -> tuple[adapter.DlmrtLM, tiny.ScriptedBackend]:
    llm, backend = tiny.scripted(folder, always(text))
    return adapter.DlmrtLM(arm=arm, llm=llm), backend


def test_scores_and_tokens_per_forward_of_a_local_task(folder: Path, write_task: Callable[..., Path]) -> None:
    lm, backend = scripted(folder, "ab\nthe rest")
    task = write_task({"until": ["\n"], "do_sample": False, "max_gen_toks": 12})
    report = adapter.evaluate(lm, [str(task)])
    assert report["tasks"]["local"]["items"] == 3
    scores = report["tasks"]["local"]["scores"]
    assert scores["exact_match,none"] == pytest.approx(2 / 3)
    made = report["generation"]
    # "ab" is one token; every answer ends in its first block: two denoising forwards, no commit.
    assert (made["answers"], made["tokens"], made["refused"]) == (3, 3, 0)
    assert made["forwards"] == {"prefill": 3, "denoise": 6, "commit": 0}
    assert made["tokens_per_forward"]["ratio_of_sums"] == pytest.approx(3 / 6)
    assert [(row.max_new_tokens, row.decoder.temperature) for row in backend.seen] == [(12, 0.0)] * 3
    assert report["model"] == "tiny"
    limited = adapter.evaluate(scripted(folder, "ab")[0], [str(task)], limit=1)
    assert limited["tasks"]["local"]["items"] == 1
    assert limited["tasks"]["local"]["scores"]["exact_match,none"] == 1.0


def test_the_program_runs_the_embedded_model(
    tmp_path: Path, write_task: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    items = [{"question": "teh end .", "answer": "the end."}]
    write_task({"until": ["\n"], "max_gen_toks": 40}, name="repair_local", items=items)
    argv = ["--tasks", "repair_local", "--include-path", str(tmp_path), "--arm", "diffusion:threshold=0.8"]
    out = tmp_path / "report.json"
    assert adapter.main([*argv, "--output", str(out)]) == 0
    text = capsys.readouterr().out
    report = json.loads(out.read_text())
    score = report["tasks"]["repair_local"]["scores"]["exact_match,none"]
    assert f"repair_local  exact_match (none)  {score:.4f}" in text
    assert "tokens per forward" in text
    direct = LLM.load().generate(
        "teh end .", method="diffusion", threshold=0.8, max_new_tokens=40, stop=["\n"]
    )
    assert score == float(direct.text == "the end.")
    assert report["generation"]["tokens_per_forward"]["ratio_of_sums"] == direct.tokens_per_forward
    assert report["arm"] == {"name": "diffusion", "threshold": 0.8, "method": "diffusion"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"generation": {"num_beams": 4}}, "'num_beams', which is not supported"),
        ({"output_type": "loglikelihood", "metric": "acc"}, "asks for loglikelihood, and a diffusion model"),
        ({"output_type": "loglikelihood_rolling", "metric": "word_perplexity"}, "loglikelihood_rolling"),
        (
            {"output_type": "multiple_choice", "metric": "acc", "more": 'doc_to_choice: ["ab", "the"]'},
            "asks for multiple_choice",
        ),
        ({"split": "nowhere"}, "lm-eval can't load"),
    ],
)
def test_a_task_that_cannot_be_run_is_one_line(
    folder: Path,
    write_task: Callable[..., Path],
    changes: dict[str, Any],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    task = write_task(**changes)
    assert adapter.main(["--model", str(folder), "--tasks", str(task)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = [line for line in captured.err.splitlines() if line.startswith("error: ")]
    assert message in line


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--tasks", "local", "--limit", "0"], "--limit is 0"),
        (["--tasks", "local", "--limit", "x"], "--limit"),
        (["--tasks", "local", "--arm", "ar,diffusion"], "names 2 arms"),
        (["--tasks", "local", "--arm", "ar:colour=1"], "unknown key 'colour'"),
        (["--tasks", "local", "--output", "missing/report.json"], "its folder is missing"),
        (["--tasks", "local", "--include-path", "missing"], "'missing' is no folder"),
        (["--tasks", "lokal", "--include-path", "."], "no task 'lokal'; did you mean 'local'"),
        (["--limit", "1"], "--tasks"),
    ],
)
def test_bad_arguments_are_one_line(
    folder: Path,
    write_task: Callable[..., Path],
    argv: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import lm_eval.tasks

    manager = lm_eval.tasks.TaskManager

    def without_defaults(include_path: str | None = None, include_defaults: bool = True) -> Any:
        return manager(include_path=include_path, include_defaults=False)  # theirs take seconds to list

    monkeypatch.setattr(lm_eval.tasks, "TaskManager", without_defaults)
    write_task()
    assert adapter.main(["--model", str(folder), *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_generation_kwargs_reach_the_decoder(folder: Path) -> None:
    lm, backend = scripted(folder, "the ab stop the", arm="diffusion:threshold=0.5,max_new_tokens=9")
    sampled = {"do_sample": True, "temperature": 0.7, "top_p": 0.9, "max_gen_toks": 6}
    assert lm.generate_until([ask("the", until=["stop", "nothing"]), ask("ab", **sampled)])[0] == "the ab "
    first, second = backend.seen
    assert (first.max_new_tokens, first.decoder.threshold, first.decoder.temperature) == (9, 0.5, 0.0)
    assert (second.max_new_tokens, second.decoder.temperature, second.decoder.top_p) == (6, 0.7, 0.9)


def test_repeats_of_a_sampled_request_are_draws_of_their_own(folder: Path) -> None:
    lm, backend = scripted(folder, "ab", arm="diffusion:seed=5")
    sampled, greedy = ask("the", do_sample=True, temperature=0.7), ask("the", do_sample=False)
    lm.generate_until([sampled, sampled, greedy, greedy, sampled])
    assert [row.decoder.seed for row in backend.seen] == [5, 6, 5, 5, 7]


def test_prompts_that_do_not_fit_are_counted_and_limits_cut(folder: Path) -> None:
    lm, backend = scripted(folder, "ab")
    asked = [ask("the"), ask("x" * 41), ask(" "), ask("the", max_gen_toks=500)]
    assert lm.generate_until(asked) == ["ab", "", "", "ab"]
    assert (lm.counts.capped, sum(lm.counts.refused.values())) == (1, 2)
    assert backend.seen[-1].max_new_tokens == tiny.CONTEXT - len(backend.seen[-1].prompt_ids)
    with pytest.raises(PromptError, match="none of the 2 prompts: the text is 41 tokens"):
        scripted(folder, "ab")[0].generate_until([ask("x" * 41), ask("x" * 41)])


def test_every_request_is_checked_before_any_is_decoded(folder: Path) -> None:
    lm, backend = scripted(folder, "ab")
    with pytest.raises(RequestError, match="'min_p', which is not supported"):
        lm.generate_until([ask("the"), ask("the", min_p=0.1)])
    assert backend.seen == []


def test_likelihoods_are_refused_with_what_to_use(folder: Path) -> None:
    lm, _ = scripted(folder, "ab")
    for method in (lm.loglikelihood, lm.loglikelihood_rolling):
        with pytest.raises(
            RequestError, match="no exact likelihood here; use a task of output_type generate"
        ):
            method([ask("the")])


def test_the_hooks_of_chat_templates(folder: Path, tmp_path: Path, write_task: Callable[..., Path]) -> None:
    template = "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}"
    chat = tiny.write_folder(tmp_path / "chat", chat_template=template)
    lm, backend = scripted(chat, "ab")
    report = adapter.evaluate(lm, [str(write_task())], apply_chat_template=True)
    assert report["tasks"]["local"]["scores"]["exact_match,none"] == pytest.approx(2 / 3)
    assert backend.seen[0].prompt_ids == tuple(tiny.encode("user:the first;"))
    turns = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "the"}]
    made = pickle.loads(pickle.dumps(lm.apply_chat_template(turns)))
    assert json.loads(made) == turns
    lm.generate_until([ask(made)])
    assert backend.seen[-1].prompt_ids == tuple(tiny.encode("system:be brief;user:the;"))
    assert lm.chat_template(True) == template
    assert lm.tokenizer_name == "dlmrt__chat"
    plain, _ = scripted(folder, "ab")
    assert plain.chat_template(True) == ""
    with pytest.raises(RequestError, match="has no chat template"):
        plain.apply_chat_template(turns)
    with pytest.raises(RequestError, match="begins the answer itself"):
        lm.apply_chat_template(turns, add_generation_prompt=False)
    with pytest.raises(RequestError, match="chat template 'tools' was asked for"):
        lm.chat_template("tools")


def test_lm_eval_finds_the_model_by_name(folder: Path) -> None:
    from lm_eval.api.registry import get_model

    made = get_model("dlmrt").create_from_arg_obj(
        {"model": str(folder), "arm": "ar"}, {"batch_size": "2", "device": None}
    )
    assert isinstance(made, adapter.DlmrtLM)
    assert (made.arm.options, made.batch_size) == ({"method": "ar"}, 2)
    with pytest.raises(RequestError, match="batch_size is 'many'"):
        adapter.DlmrtLM(str(folder), batch_size="many")


@pytest.fixture
def without_lm_eval(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "lm_eval"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "lm_eval", None)
    monkeypatch.delitem(sys.modules, "dlmrt.evals.lm_eval")


@pytest.mark.usefixtures("without_lm_eval")
def test_without_the_package_it_says_what_to_install() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'dlmrt\[lm-eval\]'"):
        __import__("dlmrt.evals.lm_eval")
