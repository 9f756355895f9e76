"""The supervised training loop: one straight step, and around it logging, evaluation, checkpoints.

Everything random in step ``n`` comes from generators seeded by (seed, n), and the data order from
(seed, epoch): a run resumed from a checkpoint repeats an uninterrupted one bit for bit on a CPU
(with a schedule by steps; one by minutes depends on the clock).
"""

from __future__ import annotations

import functools
import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import numpy as np
import torch

from dlmrt.config import from_mapping, to_mapping
from dlmrt.errors import ConfigError, DataError, DlmrtError
from dlmrt.train import checkpoint as ckpt
from dlmrt.train.config import TrainConfig, differences, dump_config
from dlmrt.train.data import BatchStream, PackedSet
from dlmrt.train.metrics import MetricsLog, Reporter, SilentReporter, Window
from dlmrt.train.objective import LossOutput, PackedBatch, compute_loss
from dlmrt.train.optim import (
    MovingAverage,
    build_optimizer,
    clip_gradients,
    learning_rate,
    set_learning_rate,
)
from dlmrt.train.prefetch import Prefetched
from dlmrt.train.prepare import Prepared, build_model, compile_layers, prepare, provenance
from dlmrt.train.run_folder import claim_out, locked, refuse_past_end

Outcome = Literal["finished", "time", "SIGINT", "SIGTERM"]
_MOST_SKIPPED = 20  # steps in a row with a non-finite gradient before the run gives up
_TRAIN, _DEV = 0, 1  # streams of random numbers


class Trainer:
    """One run in one process: build it, call :meth:`run`.

    Building it resumes: where ``out`` holds a checkpoint of this run, the newest one is loaded, and
    ConfigError or DataError is raised when configuration, tokenizer or training files do not fit it.
    :func:`train` is the way in that asks first (``resume``).
    """

    def __init__(
        self, prepared: Prepared, reporter: Reporter | None = None, *, session_minutes: float | None = None
    ) -> None:
        """session_minutes: stop after so many minutes of this session (None: no limit)."""
        config = prepared.config
        if config.threads is not None:
            torch.set_num_threads(config.threads)
        self.prepared, self.config = prepared, config
        self.reporter = reporter or SilentReporter()
        self.out = Path(config.out)
        self.session_seconds = math.inf if session_minutes is None else session_minutes * 60
        self.model = build_model(prepared)
        self.optimizer = build_optimizer(self.model, config.optim)
        self.ema = MovingAverage(self.model, config.ema) if config.ema > 0 else None
        self.state = ckpt.TrainerState(config=to_mapping(config), provenance=provenance(prepared))
        self._resume()
        if config.compile:
            compile_layers(self.model)
        stream = BatchStream(prepared.train, config.seed, self.state.epoch, self.state.index)
        self.stream = Prefetched(stream, pin=torch.device(config.device).type == "cuda")
        self.window = Window(self.state.window)
        self.log = MetricsLog(self.out / "metrics.jsonl", self.state.step, tensorboard=config.tensorboard)
        self._signal: Outcome | None = None
        self._skipped_in_a_row = 0
        self._started = self._rate_since = time.perf_counter()
        self._rate_tokens = 0
        self._shown: dict[str, float] = {}
        self._elapsed_before = self.state.elapsed

    # -- the step -------------------------------------------------------------------------------

    def train_step(self) -> None:
        """One optimiser step over ``accumulate`` micro-batches, normalised over all of them."""
        step, config = self.state.step, self.config
        lr = self._learning_rate()
        set_learning_rate(self.optimizer, lr)
        weight = 0.0
        for micro in range(config.accumulate):
            batch = self.stream.next()
            loss = self._loss(batch, self._generator(_TRAIN, step, micro))
            share = float(loss.weight) if config.accumulate > 1 else 1.0
            (loss.total * share).backward()  # type: ignore[no-untyped-call]
            weight += share
            self._count(batch, loss)
        if config.accumulate > 1:
            for parameter in self.model.parameters():
                if parameter.grad is not None:
                    parameter.grad.div_(weight)
        norm, residual_norm = clip_gradients(self.model, config.optim)
        if self._usable(norm, residual_norm):
            self.optimizer.step()
            if self.ema is not None:
                self.ema.update(self.model)
        self.optimizer.zero_grad(set_to_none=True)
        self.window.add({"lr": lr, "grad_norm": norm, "grad_norm_residual": residual_norm})
        self.state.step += 1

    def _loss(self, batch: PackedBatch, generator: torch.Generator) -> LossOutput:
        device = self.config.device
        batch = PackedBatch(*(x.to(device, non_blocking=True) for x in batch))
        with torch.autocast(
            torch.device(device).type, torch.bfloat16, enabled=self.config.precision == "bfloat16"
        ):
            return compute_loss(
                self.model,
                batch,
                self.config.objective,
                self.prepared.generation.diffusion,
                generator=generator,
            )

    def _generator(self, stream: int, step: int, micro: int) -> torch.Generator:
        seed = np.random.SeedSequence([self.config.seed, stream, step, micro]).generate_state(1)[0]
        return torch.Generator(self.config.device).manual_seed(int(seed))

    def _usable(self, *norms: float) -> bool:
        if all(math.isfinite(n) for n in norms):
            self._skipped_in_a_row = 0
            return True
        self.state.skipped += 1
        self._skipped_in_a_row += 1
        if self._skipped_in_a_row >= _MOST_SKIPPED:
            raise DlmrtError(
                f"gradients were not finite in {_MOST_SKIPPED} steps in a row (step {self.state.step}); "
                "lower optim.lr or use precision float32, and resume from the last checkpoint"
            )
        return False

    def _count(self, batch: PackedBatch, loss: LossOutput) -> None:
        weight = float(loss.weight)
        self.window.add({name: float(value) for name, value in loss.parts.items()}, weight)
        real, answer = int((batch.sample_BL >= 0).sum()), int(batch.answer_BL.sum())
        filler, positions = int(batch.filler_BL.sum()), batch.tokens_BL.numel()
        self.window.add({"padding": 1 - real / positions, "filler": filler / positions}, positions)
        self.state.tokens += real - filler
        self.state.answer_tokens += answer
        self._rate_tokens += real - filler

    # -- the schedule ---------------------------------------------------------------------------

    def elapsed(self) -> float:
        """Seconds of training, over all sessions of the run."""
        return self._elapsed_before + time.perf_counter() - self._started

    def progress(self) -> float:
        """Share of the run that is done, by whichever limit is nearer."""
        by_steps = self.state.step / self.config.max_steps if self.config.max_steps else 0.0
        limit = self.config.max_minutes
        by_time = self.elapsed() / (limit * 60) if limit and self._by_minutes else 0.0
        return max(by_steps, by_time)

    @property
    def _by_minutes(self) -> bool:
        return self.config.optim.by == "minutes"

    def _learning_rate(self) -> float:
        optim, steps = self.config.optim, self.config.max_steps
        if self._by_minutes or steps is None:
            return learning_rate(optim, self.progress())
        return learning_rate(optim, self.state.step / steps, 1 / steps)

    def _stop_reason(self) -> Outcome | None:
        if self.progress() >= 1:
            return "finished"
        if self._signal is not None:
            return self._signal
        limit = self.config.max_minutes
        if limit is not None and self.elapsed() >= limit * 60:
            return "time"
        return "time" if time.perf_counter() - self._started >= self.session_seconds else None

    # -- the run --------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Train to the end, to a time limit or to a signal; the last step is always checkpointed."""
        self._started = self._rate_since = time.perf_counter()
        try:
            with self._signals():
                reason = self._stop_reason()
                while reason is None:
                    self.train_step()
                    reason = self._stop_reason()
                    self._after_step(self.state.step, reason)
        finally:
            self.log.close()
            self.stream.close()
        if reason == "finished":
            self.export_final()
        return reason

    def _after_step(self, step: int, reason: Outcome | None) -> None:
        """Log, evaluate, save: in this order, so that a checkpoint covers what was logged."""
        config, last = self.config, reason == "finished"
        if last or step % config.log_every == 0:
            self._write_log()
        if last or (config.eval_every and step % config.eval_every == 0):
            self.evaluate()
        if reason is not None or (config.save_every and step % config.save_every == 0):
            self.save()
        self.reporter.progress(step, min(self.progress(), 1.0), self._shown)

    def evaluate(self) -> dict[str, float]:
        """Mean losses over the dev set, always with the same noise; empty without a dev set."""
        dev: PackedSet | None = self.prepared.dev
        if dev is None:
            return {}
        window, started = Window(), time.perf_counter()
        with torch.no_grad(), self._averaged():
            for i, (length, rows) in enumerate(dev.epoch(0, None)):
                loss = self._loss(dev.assemble(length, rows), self._generator(_DEV, i, 0))
                window.add({n: float(v) for n, v in loss.parts.items()}, float(loss.weight))
        values = window.flush()
        timing = {"seconds": round(time.perf_counter() - started, 3)}
        self.log.write("dev", self.state.step, {**values, **timing})
        self.reporter.logged("dev", self.state.step, values)
        return values

    def save(self) -> Path:
        """Write a checkpoint of the present step."""
        state = self.state
        state.epoch, state.index = self.stream.epoch, self.stream.index
        state.elapsed, state.window = self.elapsed(), self.window.sums
        state.ema_updates = self.ema.updates if self.ema is not None else 0
        state.config = to_mapping(self.config)
        root = self.out / "checkpoints"
        write = functools.partial(
            ckpt.write_model,
            model=self.model,
            generation=self.prepared.generation,
            tokenizer_json=self.prepared.tokenizer_json,
            extra_files=self.prepared.extra_files,
        )
        return ckpt.save_checkpoint(
            root, state, self.optimizer, self.model, self.ema, write, self.config.keep_last
        )

    def export_final(self) -> Path:
        """Write ``final``: the float32 weights (their moving average if there is one)."""
        final = self.out / "final"
        ckpt.remove_unfinished(self.out, "final")
        with self._averaged():
            ckpt.write_model(
                final,
                self.model,
                self.prepared.generation,
                self.prepared.tokenizer_json,
                self.prepared.extra_files,
                overwrite=True,
            )
        return final

    # -- around it ------------------------------------------------------------------------------

    def _resume(self) -> None:
        found = ckpt.list_checkpoints(self.out / "checkpoints")
        if not found:
            return
        state = ckpt.read_state(found[-1])
        try:
            saved = from_mapping(TrainConfig, state.config)
        except ConfigError as error:
            raise ConfigError(
                f"cannot resume {self.out}: another version of dlmrt wrote it ({error}); "
                "use that version or train into another out folder"
            ) from None
        changed = differences(saved, self.config)
        if changed:
            raise ConfigError(
                f"cannot resume {self.out}: {', '.join(changed)} differ from the saved run; "
                f"restore them (see {self.out / 'config.yaml'}) or train into another out folder"
            )
        tokenizer = found[-1] / "tokenizer.json"
        same_tokenizer = tokenizer.read_text(encoding="utf-8") == self.prepared.tokenizer_json
        if not same_tokenizer or state.provenance["data"] != self.state.provenance["data"]:
            what = "training files" if same_tokenizer else "tokenizer"
            raise DataError(
                f"cannot resume {self.out}: the {what} changed since the run was started; "
                "restore them or train into another out folder"
            )
        ckpt.load_tensors(found[-1], self.optimizer, self.model, self.ema)
        if self.ema is not None:
            self.ema.updates = state.ema_updates
        self.reporter.note(f"resuming from step {state.step}")
        for name, consequence in (("threads", "round"), ("torch", "round"), ("commit", "compute")):
            before, now = state.provenance.get(name), self.state.provenance[name]
            if before != now:
                self.reporter.note(
                    f"{name} was {before} and is {now}: steps may {consequence} differently from now on"
                )
        self.state = state

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """The model holds its moving average inside, if there is one."""
        if self.ema is not None:
            self.ema.swap(self.model)
        try:
            yield
        finally:
            if self.ema is not None:
                self.ema.swap(self.model)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """SIGINT and SIGTERM end the run after the step under way; a second one ends it at once."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread may handle signals
            return

        def note(number: int, frame: FrameType | None) -> None:
            self._signal = "SIGINT" if number == signal.SIGINT else "SIGTERM"
            signal.signal(number, old[number])
            self.reporter.note(f"{self._signal}: saving after this step (again: stop at once)")

        old: dict[int, Any] = {}
        for handled in (signal.SIGINT, signal.SIGTERM):
            old[handled] = signal.signal(handled, note)
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    def _write_log(self) -> None:
        now = time.perf_counter()
        values: dict[str, Any] = self.window.flush()
        values |= {"epoch": self.stream.epoch, "tokens": self.state.tokens}
        values |= {"answer_tokens": self.state.answer_tokens, "skipped": self.state.skipped}
        values["tokens_per_second"] = round(self._rate_tokens / max(now - self._rate_since, 1e-9), 1)
        values["elapsed"] = round(self.elapsed(), 2)
        self._rate_since, self._rate_tokens = now, 0
        self.log.write("train", self.state.step, values)
        self.reporter.logged("train", self.state.step, values)
        self._shown = {n: values[n] for n in ("total", "lr", "tokens_per_second") if n in values}


def train(
    config: TrainConfig,
    reporter: Reporter | None = None,
    *,
    resume: bool = False,
    session_minutes: float | None = None,
) -> Outcome:
    """Run a configuration into its ``out`` folder: prepare, train, evaluate, export."""
    reporter = reporter or SilentReporter()
    claim_out(config, resume=resume)
    with locked(Path(config.out)):
        refuse_past_end(config)
        trainer = Trainer(prepare(config, reporter), reporter, session_minutes=session_minutes)
        (trainer.out / "config.yaml").write_text(dump_config(config), encoding="utf-8")
        return trainer.run()
