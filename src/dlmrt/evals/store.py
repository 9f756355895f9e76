"""The run folder: answers streamed to disk, so that a killed run goes on where it was.

``plan.json``   what is decoded, by content (hashes of data and weights, arms, seeds, limits, code)
``items.jsonl`` one line an answer, flushed as soon as it is verified
``run.json``    when the run began, and seconds spent by the sessions that ended by themselves
``result.json`` the result file, once all answers are there
``lock``        held by the process that writes; the system lets go of it when the process dies
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dlmrt.errors import DataError, DlmrtError, RequestError
from dlmrt.evals.record import ItemRecord, Key, from_line, to_line

PLAN, ITEMS, RUN, RESULT, LOCK = "plan.json", "items.jsonl", "run.json", "result.json", "lock"
DIFFERENCES_SHOWN = 4


class RunFolder:
    """One run on disk, held by this process while the context lasts.

    plan: what is to be decoded, as plain data. fresh: forget what the folder holds of an earlier run.
    Raises RequestError: a path that can't be a run folder, one that another process holds, a folder of
    other files, or the folder of another plan (what differs is named). DataError: a damaged line in it.
    """

    def __init__(self, path: Path, plan: Mapping[str, Any], *, fresh: bool = False) -> None:
        self.path = path
        self.started = datetime.now(UTC).astimezone()
        self.seconds = 0.0  # of earlier sessions
        self.done: dict[Key, ItemRecord] = {}
        self._plan = json.loads(json.dumps(plan, allow_nan=False))
        self._make()
        self._lock = self._hold()
        self._items = -1
        try:
            self._open(fresh)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder."""
        for descriptor in (self._items, self._lock):
            if descriptor >= 0:
                os.close(descriptor)
        self._items = self._lock = -1

    def append(self, records: Iterable[ItemRecord]) -> None:
        """Add answers; they are in the operating system's hands when this returns.

        Raises DataError: an answer that can't be written as JSON. RequestError: a full disk and the like.
        """
        records = list(records)
        data = "".join(map(to_line, records)).encode("utf-8")
        try:
            while data:
                data = data[os.write(self._items, data) :]
        except OSError as error:
            raise self._unwritable(error) from None
        self.done |= {record.key: record for record in records}

    def save_session(self, seconds: float) -> None:
        """Note how long this session has lasted so far."""
        state = {"started": self.started.isoformat(), "seconds": self.seconds + seconds}
        self._write(RUN, json.dumps(state))

    def _make(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise RequestError(f"--out '{self.path}' is a file; give a folder")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            names = sorted(path.name for path in self.path.iterdir())
        except OSError as error:
            raise self._unwritable(error) from None
        others = [name for name in names if name != LOCK and not name.endswith(".part")]
        if others and PLAN not in others:
            raise RequestError(
                f"'{self.path}' holds other files ({', '.join(others[:3])}) and no run; give another --out"
            )

    def _hold(self) -> int:
        """Lock the folder; the descriptor isn't inherited by programs that verifiers start."""
        try:
            lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(lock, 20, 0).decode("ascii", "replace").strip()
            os.close(lock)
            raise RequestError(
                f"another process{f' ({holder})' if holder else ''} is writing to '{self.path}'; "
                "wait for it, or give another --out"
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"pid {os.getpid()}".encode(), 0)
        return lock

    def _open(self, fresh: bool) -> None:
        plan_file = self.path / PLAN
        if plan_file.exists() and not fresh:
            self._resume(plan_file)
        else:
            for name in (PLAN, ITEMS, RUN, RESULT):  # the plan first: without it nothing is resumed
                with contextlib.suppress(FileNotFoundError):
                    (self.path / name).unlink()
            self._write(PLAN, json.dumps(self._plan, indent=2, ensure_ascii=False))
            self.save_session(0.0)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        try:
            self._items = os.open(self.path / ITEMS, flags, 0o666)
        except OSError as error:
            raise self._unwritable(error) from None

    def _resume(self, plan_file: Path) -> None:
        there = _read_json(plan_file)
        differences = list(_differences(there, self._plan))
        if differences:
            shown = "; ".join(differences[:DIFFERENCES_SHOWN])
            more = len(differences) - DIFFERENCES_SHOWN
            shown += f"; and {more} more" if more > 0 else ""
            raise RequestError(
                f"'{self.path}' holds a run of another plan: {shown}; give another --out, or --fresh to "
                "replace it"
            )
        if (self.path / RUN).exists():
            state = _read_json(self.path / RUN)
            try:
                self.started = datetime.fromisoformat(state["started"])
                self.seconds = float(state["seconds"])
            except (KeyError, TypeError, ValueError) as error:
                raise _damaged(self.path / RUN, error) from None
        self._read_items()

    def _read_items(self) -> None:
        """Take over the answers that are there; a line that a kill cut short is dropped."""
        path = self.path / ITEMS
        if not path.exists():
            return
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(path, whole)
        try:
            lines = data[:whole].decode("utf-8").split("\n")[:-1]
        except UnicodeDecodeError as error:
            raise _damaged(path, error) from None
        for number, line in enumerate(lines, 1):
            record = from_line(line, f"{path}:{number}")
            self.done[record.key] = record

    def _write(self, name: str, text: str) -> None:
        """Put a file at its place whole, or leave what was there."""
        aside = self.path / f"{name}.part"
        try:
            aside.write_text(text + "\n", encoding="utf-8")
            aside.replace(self.path / name)
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> RequestError:
        return RequestError(
            f"the run folder '{self.path}' cannot be written: {error.strerror}; give another --out"
        )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from None
    if not isinstance(data, dict):
        raise _damaged(path, "no JSON object")
    return data


def _damaged(path: Path, why: object) -> DlmrtError:
    return DataError(f"'{path}' is damaged ({why}); begin again with --fresh, or give another --out")


def _differences(there: Any, now: Any, at: str = "") -> Iterable[str]:
    """One line for each value that differs, named by its path."""
    if isinstance(there, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*there, *now]):
            where = f"{at}.{key}" if at else str(key)
            if key not in there or key not in now:
                yield f"{where} is {'only there' if key in there else 'new'}"
            else:
                yield from _differences(there[key], now[key], where)
    elif there != now:
        yield f"{at} was {_short(there)} and is {_short(now)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:12]}...{text[-1:]}"
