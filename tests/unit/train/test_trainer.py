"""The loop: accumulation, evaluation, stopping, resuming, and what a run leaves behind."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from dlmrt.engine.text import TextCodec  # noqa: E402
from dlmrt.errors import ConfigError, DataError, DlmrtError  # noqa: E402
from dlmrt.models.folder import open_folder  # noqa: E402
from dlmrt.models.weights import read_weights  # noqa: E402
from dlmrt.train import objective, trainer  # noqa: E402
from dlmrt.train.config import TrainConfig  # noqa: E402
from dlmrt.train.export import export_model, find_model  # noqa: E402
from dlmrt.train.metrics import SilentReporter, read_metrics  # noqa: E402
from dlmrt.train.prepare import build_model, prepare, summary  # noqa: E402
from dlmrt.train.run_folder import locked  # noqa: E402
from dlmrt.train.trainer import Trainer, train  # noqa: E402

Make = Callable[..., TrainConfig]
New = Callable[[TrainConfig], Trainer]
TIMES = ("tokens_per_second", "elapsed", "seconds")


@pytest.fixture
def new_trainer() -> Iterator[Callable[[TrainConfig], Trainer]]:
    """Build trainers whose files are closed after the test."""
    made: list[Trainer] = []

    def build(config: TrainConfig) -> Trainer:
        made.append(Trainer(prepare(config, SilentReporter())))
        return made[-1]

    yield build
    for one in made:
        one.log.close()


def numbers(out: str) -> list[dict[str, Any]]:
    records = read_metrics(Path(out) / "metrics.jsonl")
    return [{k: v for k, v in r.items() if k not in TIMES} for r in records]


class Stop(SilentReporter):
    """Does something once a given step is done."""

    def __init__(self, step: int, action: Callable[[], None]) -> None:
        self.step, self.action = step, action

    def progress(self, step: int, share: float, values: dict[str, float]) -> None:
        if step == self.step:
            self.action()


def test_a_run_learns_and_leaves_a_model_folder(make_config: Make) -> None:
    config = make_config(max_steps=40, optim={"lr": 0.02, "warmup": 0.1}, eval_every=0, save_every=0)
    assert train(config) == "finished"
    log = numbers(config.out)
    losses = [r["diffusion"] for r in log if r["kind"] == "train"]
    assert losses[-1] < 0.75 * losses[0] and log[-1]["kind"] == "dev"
    assert {"accuracy", "ar", "grad_norm", "grad_norm_residual", "lr", "padding", "filler", "epoch"} <= set(
        log[0]
    )
    folder = open_folder(Path(config.out) / "final")
    assert folder.generation.prompt == config.prompt and folder.generation.decoder == config.decoder
    assert folder.config.residual is not None and (folder.path / "tokenizer.json").is_file()
    assert [p.name for p in (Path(config.out) / "checkpoints").iterdir()] == ["step-00000040"]


@pytest.mark.parametrize("options", [{}, {"ema": 0.8, "accumulate": 2, "optim": {"kind": "muon"}}])
def test_a_stopped_and_resumed_run_equals_an_uninterrupted_one(
    make_config: Make, options: dict[str, Any]
) -> None:
    whole = make_config(max_steps=7, **options)
    assert train(whole) == "finished"
    parts = make_config(max_steps=7, out=whole.out + "-parts", **options)
    interrupt = Stop(3, lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert train(parts, interrupt) == "SIGTERM"
    assert train(parts, resume=True) == "finished"
    assert numbers(parts.out) == numbers(whole.out)
    for name in ("final/model.safetensors", "checkpoints/step-00000007/trainer.safetensors"):
        assert (Path(parts.out) / name).read_bytes() == (Path(whole.out) / name).read_bytes()


def test_resuming_a_finished_run_changes_nothing(make_config: Make) -> None:
    config = make_config()
    train(config)
    before = (Path(config.out) / "metrics.jsonl").read_bytes()
    assert train(config, resume=True) == "finished"
    assert (Path(config.out) / "metrics.jsonl").read_bytes() == before


def test_steps_of_a_killed_session_are_logged_once(make_config: Make) -> None:
    config = make_config(max_steps=6, save_every=4, log_every=1)

    def crash() -> None:
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        train(config, Stop(5, crash))
    train(config, resume=True)
    assert [r["step"] for r in numbers(config.out) if r["kind"] == "train"] == [1, 2, 3, 4, 5, 6]


def test_sigint_is_an_outcome_and_handlers_come_back(make_config: Make) -> None:
    before = signal.getsignal(signal.SIGINT)
    assert train(make_config(), Stop(2, lambda: os.kill(os.getpid(), signal.SIGINT))) == "SIGINT"
    assert signal.getsignal(signal.SIGINT) is before


def test_accumulated_micro_batches_equal_one_batch_of_their_rows(
    make_config: Make, new_trainer: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every answer position is noised, so that noise does not depend on how rows are grouped."""
    full = {
        "copies": 1,
        "complementary": False,
        "full_noise": 1.0,
        "ar_weight": 0.0,
        "residual_probability": 0.0,
    }
    wide = new_trainer(make_config(batch_rows=4, objective=full))
    narrow = new_trainer(make_config(batch_rows=2, accumulate=2, objective=full, out=wide.config.out + "2"))
    batch = wide.stream.next()
    halves = [type(batch)(*(x[i : i + 2] for x in batch)) for i in (0, 2)]
    assert halves[0].answer_BL.sum() != halves[1].answer_BL.sum()  # plain averaging would be wrong
    monkeypatch.setattr(wide.stream, "next", lambda: batch)
    monkeypatch.setattr(narrow.stream, "next", iter(halves).__next__)
    gradients = []
    for t in (wide, narrow):
        monkeypatch.setattr(t.optimizer, "zero_grad", lambda **kw: None)
        t.train_step()
        gradients.append({n: p.grad for n, p in t.model.named_parameters() if p.grad is not None})
    assert gradients[0].keys() == gradients[1].keys() and len(gradients[0]) > 5
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], msg=name)


def test_evaluation_repeats_exactly_and_leaves_training_alone(make_config: Make, new_trainer: New) -> None:
    t = new_trainer(make_config(ema=0.5))
    t.train_step()
    weights = {n: p.detach().clone() for n, p in t.model.named_parameters()}
    first = t.evaluate()
    assert first == t.evaluate() and first["diffusion"] > 0
    assert all(torch.equal(p, weights[n]) for n, p in t.model.named_parameters())


def test_non_finite_gradients_are_skipped_then_refused(
    make_config: Make, new_trainer: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = new_trainer(make_config())
    weights = [p.detach().clone() for p in t.model.parameters()]
    monkeypatch.setattr(trainer, "clip_gradients", lambda *_: (float("nan"), 0.0))
    t.train_step()
    assert t.state.skipped == 1 and t.state.step == 1
    assert all(torch.equal(a, b) for a, b in zip(weights, t.model.parameters(), strict=True))
    for _ in range(18):
        t.train_step()
    with pytest.raises(DlmrtError, match="20 steps in a row"):
        t.train_step()


class Clock:
    """A clock that stands still until it is moved."""

    now = 100.0

    def perf_counter(self) -> float:
        return self.now


def test_a_schedule_by_minutes_ends_on_time(
    make_config: Make, new_trainer: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(trainer, "time", clock)
    by_minutes = {"by": "minutes", "lr": 1.0, "warmup": 0.0, "decay": 0.5}
    t = new_trainer(make_config(max_steps=None, max_minutes=1.0, optim=by_minutes))
    t._elapsed_before = 12.0  # of an earlier session
    rates = []
    for now in (100, 118, 133, 147.9):
        clock.now = now
        rates.append(t._learning_rate())
    assert rates == pytest.approx([1.0, 1.0, 0.5, 0.1 / 30]) and t._stop_reason() is None
    clock.now = 148.0
    assert t._stop_reason() == "finished"


def test_max_minutes_beside_a_schedule_by_steps_only_stops(
    make_config: Make, new_trainer: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(trainer, "time", clock)
    t = new_trainer(make_config(max_minutes=1.0))
    assert t._stop_reason() is None and t.progress() == 0
    clock.now = 160.0
    assert t._stop_reason() == "time" and t.progress() == 0


def test_a_session_limit_saves_and_can_be_resumed(make_config: Make) -> None:
    config = make_config(max_steps=10_000)
    assert train(config, session_minutes=0.3 / 60) == "time"
    saved = find_model(Path(config.out))
    assert saved.name.startswith("step-") and not (Path(config.out) / "final").exists()
    assert train(config, resume=True, session_minutes=0.1 / 60) == "time"
    assert int(find_model(Path(config.out)).name[5:]) > int(saved.name[5:])


def test_a_folder_is_refused_while_another_training_writes_to_it(make_config: Make) -> None:
    config = make_config(max_steps=2)
    Path(config.out).mkdir(parents=True)
    with locked(Path(config.out)), pytest.raises(ConfigError, match="another training is writing"):
        train(config)
    assert train(config) == "finished"


def test_resuming_past_the_end_is_refused(make_config: Make) -> None:
    assert train(make_config(max_steps=4)) == "finished"
    with pytest.raises(ConfigError, match="at step 4, past max_steps=2"):
        train(make_config(max_steps=2), resume=True)


def test_a_folder_with_a_run_is_refused_without_resume(make_config: Make) -> None:
    config = make_config()
    train(config)
    with pytest.raises(ConfigError, match="already holds a run .*--resume"):
        train(config)


def test_resuming_refuses_other_options_data_or_tokenizer(make_config: Make, tmp_path: Path) -> None:
    config = make_config()
    train(config)
    with pytest.raises(ConfigError, match="batch_rows, seed differ"):
        train(make_config(batch_rows=2, seed=3), resume=True)
    tokenizer = tmp_path / "other.json"
    tokenizer.write_text((Path(config.out) / "final" / "tokenizer.json").read_text() + "\n")
    with pytest.raises(ConfigError, match=r"tokenizer\.path"):
        train(make_config(tokenizer={"path": str(tokenizer)}), resume=True)
    longer = make_config(max_steps=8)
    with open(config.data.train[0], "a") as file:
        file.write('{"prompt": "a", "answer": "b"}\n')
    with pytest.raises(DataError, match="changed since the run was started"):
        train(longer, resume=True)


def test_a_start_model_is_continued_and_may_gain_a_residual(make_config: Make) -> None:
    plain = make_config(
        model={"d_model": 16, "n_layers": 1, "n_heads": 2, "n_kv_heads": 1, "head_dim": 8, "d_ffn": 24,
               "max_positions": 64},
        max_steps=2,
    )  # fmt: skip
    train(plain)
    start = Path(plain.out) / "final"
    (start / "chat_template.jinja").write_text("{{ messages }}")
    (start / "tokenizer_config.json").write_text("{}")
    config = make_config(
        model={"start": str(start), "residual": {"top_k": 2, "d_hidden": 4}},
        tokenizer={},
        out=plain.out + "-2",
    )
    prepared = prepare(config, SilentReporter())
    model = build_model(prepared)
    weights = read_weights(open_folder(start))
    for name, parameter in model.named_parameters():
        if not name.startswith("residual."):
            assert torch.equal(parameter, torch.from_numpy(weights[name])), name
    assert model.residual is not None and not bool(model.residual.down_proj.weight.any())
    assert train(config) == "finished"
    files = {p.name for p in (Path(config.out) / "final").iterdir()}
    assert "tokenizer_config.json" in files  # and the run's own prompt format, not the old template
    assert "chat_template.jinja" not in files


def test_the_summary_counts_what_the_model_has(make_config: Make) -> None:
    prepared = prepare(make_config(accumulate=2, row_buckets=[16]), SilentReporter())
    report = summary(prepared)
    parameters = sum(p.numel() for p in build_model(prepared).parameters())
    assert report["parameters"] == parameters
    assert report["parameters_without_embeddings"] == parameters - prepared.model_config.vocab_size * 16
    assert report["positions_a_step"] == 3 * 32 * 2
    for name, count in (("train", 40), ("dev", 9)):
        kept, dropped = report[name]["samples"], report[name]["dropped_too_long"]
        assert kept + dropped == count and 0 < dropped < kept


@pytest.mark.parametrize("align", [True, False])
def test_serving_encodes_prompts_as_training_did(make_config: Make, align: bool) -> None:
    form = {"prefix": ["<|fix|>"], "suffix": ["<|sep|>"], "align": align}
    config = make_config(prompt=form, max_steps=1, row_length=64)
    train(config)
    prepared = prepare(config, SilentReporter())
    codec = TextCodec(open_folder(Path(config.out) / "final"))
    data, lines = prepared.train.data, Path(config.data.train[0]).read_text().splitlines()
    for start, length, line in zip(data.starts_N, data.prompt_N, lines, strict=True):
        ids = data.ids[start : start + length].tolist()
        assert codec.encode_prompt(json.loads(line)["prompt"]) == ids


def test_a_row_longer_than_the_model_is_refused(make_config: Make) -> None:
    with pytest.raises(ConfigError, match="at most model.max_positions"):
        prepare(make_config(row_length=72), SilentReporter())


@pytest.mark.parametrize("device", ["cuda:99", "gpu"])
def test_a_device_that_is_not_there_is_refused(make_config: Make, device: str) -> None:
    if device == "cuda:99" and torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ConfigError, match="device is"):
        prepare(make_config(device=device), SilentReporter())


@pytest.mark.parametrize("storage", ["float16", "int8"])
def test_export_changes_storage_defaults_and_card(make_config: Make, tmp_path: Path, storage: str) -> None:
    config = make_config(max_steps=2)
    train(config)
    card = tmp_path / "card.md"
    card.write_text("# A model\n")
    out = export_model(
        Path(config.out), tmp_path / "served", storage=storage, card=card, overrides=["decoder.threshold=0.7"]
    )
    folder, final = open_folder(out), open_folder(Path(config.out) / "final")
    assert folder.generation.decoder.threshold == 0.7 and folder.generation.prompt == config.prompt
    assert (out / "README.md").read_text() == "# A model\n"
    assert (out / "tokenizer.json").read_bytes() == (final.path / "tokenizer.json").read_bytes()
    for name, weight in read_weights(final).items():
        assert abs(read_weights(folder)[name] - weight).max() <= abs(weight).max() / 100, name
    with pytest.raises(ConfigError, match="properties of the weights"):
        export_model(Path(config.out), tmp_path / "x", storage=storage, overrides=["diffusion.block_size=4"])
    with pytest.raises(ConfigError, match="holds neither"):
        export_model(tmp_path / "absent", tmp_path / "x", storage=storage)


def test_bfloat16_computes_in_bfloat16_and_keeps_float32_weights(
    make_config: Make, new_trainer: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    compute = objective.compute_loss

    def spy(model: Any, *args: Any, **kwargs: Any) -> Any:
        handle = model.model.layers[0].self_attn.q_proj.register_forward_hook(
            lambda module, inputs, output: seen.append(output.dtype)
        )
        try:
            return compute(model, *args, **kwargs)
        finally:
            handle.remove()

    monkeypatch.setattr(trainer, "compute_loss", spy)
    t = new_trainer(make_config(precision="bfloat16"))
    t.train_step()
    assert set(seen) == {torch.bfloat16}
    assert {p.dtype for p in t.model.parameters()} == {torch.float32}
