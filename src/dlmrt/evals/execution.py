"""Run code that a model wrote, in a child process with limits. This is no security boundary.

The code gets a Python of its own (standard library only) in a session and a temporary folder of its
own, with limits on time, memory, file size, open files and output, an empty stdin and a bare
environment. On Linux, where ordinary users may, it also gets its own network and process namespaces,
so that it reaches no network and leaves no process behind. Starting processes, sending signals,
opening connections and changing files elsewhere are refused by an audit hook. All of this stops
accidents; code that wants to get out can. Run models that you do not trust in a container or a
virtual machine.

A program has passed only if it reports a random token after its last test, so one that ends early
with exit code 0 has not. The token lies in the same process: code that goes looking can find it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dlmrt.errors import RequestError

Status = Literal["passed", "failed", "error", "timeout", "killed", "output"]
CHILD = Path(__file__).with_name("child.py")
# No site packages, no user folder, nothing put before the standard library, no .pyc files written.
PYTHON_FLAGS = ("-S", "-s", "-P", "-B")
START_SECONDS = 60.0
MAX_MESSAGES_BYTES = 65_536
KEPT_OUTPUT_BYTES = 2_000


@dataclass(frozen=True)
class Limits:
    """What one program may use; a limit that the system does not have is passed over.

    seconds: processor time, rounded up to whole seconds, so that a busy machine changes no verdict.
    wall_seconds: by the clock, from the moment the code starts (None: three times ``seconds``), for code
    that only waits. memory_bytes: address space (not enforced on macOS). file_bytes: of one file.
    output_bytes: stdout and stderr together. isolate: own network and process namespaces, where the
    system lets ordinary users have them.
    """

    seconds: float = 10.0
    wall_seconds: float | None = None
    memory_bytes: int = 1 << 30
    file_bytes: int = 16 << 20
    open_files: int = 64
    output_bytes: int = 1 << 20
    isolate: bool = True

    @property
    def deadline(self) -> float:
        """Seconds by the clock."""
        return 3 * self.seconds if self.wall_seconds is None else self.wall_seconds

    @property
    def processor_seconds(self) -> int:
        """Whole seconds of processor time."""
        return max(1, math.ceil(self.seconds))


@dataclass(frozen=True)
class Program:
    """``code``, then ``setup``, then each of ``tests``, one after the other in one namespace."""

    code: str
    tests: tuple[str, ...]
    setup: str = ""


@dataclass(frozen=True)
class Outcome:
    """What came of a program.

    ``passed``: every test ran. ``failed``: an assertion of a test did not hold. ``error``: any other
    exception, a syntax error, or an exit before the end. ``timeout``, ``killed`` (by a signal) and
    ``output`` (too much printed) speak for themselves. reason: one short line, empty when passed.
    isolated: it ran in its own network and process namespaces.
    """

    status: Status
    reason: str = ""
    isolated: bool = field(default=False, compare=False)


def run_all(programs: Sequence[Program], limits: Sequence[Limits], *, jobs: int = 1) -> list[Outcome]:
    """Run programs, ``jobs`` at a time; outcomes in the same order. Raises as :func:`run_program`."""
    if jobs < 1:
        raise RequestError(f"jobs is {jobs}; it must be at least 1")
    stop = threading.Event()
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            pairs = zip(programs, limits, strict=True)
            futures = [pool.submit(run_program, program, limit, stop=stop) for program, limit in pairs]
            return [future.result() for future in futures]
        except BaseException:
            stop.set()  # Ctrl-C: what runs is killed now, what waits never starts
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run_program(
    program: Program, limits: Limits | None = None, *, stop: threading.Event | None = None
) -> Outcome:
    """Run one program and say what came of it; setting ``stop`` kills it.

    Raises RequestError: the child process could not be started, so nothing is known about the code.
    """
    limits = limits or Limits()
    token = secrets.token_hex(16)
    job = {
        "code": program.code, "setup": program.setup, "tests": list(program.tests), "token": token,
        "alarm_seconds": math.ceil(limits.deadline) + 120, "processor_seconds": limits.processor_seconds,
        "memory_bytes": limits.memory_bytes, "file_bytes": limits.file_bytes,
        "open_files": limits.open_files, "isolate": limits.isolate,
    }  # fmt: skip
    folder = tempfile.TemporaryDirectory(prefix="dlmrt-run-", ignore_cleanup_errors=True)
    with folder as place, tempfile.TemporaryFile() as stdin:
        stdin.write(json.dumps(job).encode("ascii"))
        stdin.seek(0)
        receiver, sender = os.pipe()
        try:
            process = _start(stdin.fileno(), sender, place)
        except BaseException:
            os.close(receiver)
            raise
        finally:
            os.close(sender)
        watch = _Watch(receiver, process, limits, stop)
        try:
            watch.until_done()
        finally:
            _kill(process)
            os.close(receiver)
        return _outcome(watch, process.returncode, token, limits)


def _start(stdin: int, sender: int, folder: str) -> subprocess.Popen[bytes]:
    environment = {
        "PATH": os.defpath, "HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",  # the same order of sets in every run
        "PYTHONIOENCODING": "utf-8:backslashreplace",
    }  # fmt: skip
    command = [sys.executable, *PYTHON_FLAGS, str(CHILD), str(sender)]
    try:
        return subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder,
            env=environment, pass_fds=(sender,), start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise RequestError(
            f"code can't be run: starting {sys.executable} failed ({error.strerror}); "
            "check this Python installation and the limits on processes"
        ) from None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole process group, whether or not its leader has ended, and take its exit code."""
    # The leader is not reaped before this, so its id can't belong to another group yet.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


class _Watch:
    """Listens to a child until it reports, ends, prints too much, or runs out of time."""

    def __init__(
        self, receiver: int, process: subprocess.Popen[bytes], limits: Limits, stop: threading.Event | None
    ) -> None:
        assert process.stdout is not None
        self.process, self.receiver, self.stdout = process, receiver, process.stdout.fileno()
        self.limits, self.stop = limits, stop
        self.deadline = time.monotonic() + START_SECONDS
        self.started: dict[str, Any] | None = None
        self.report: dict[str, Any] | None = None
        self.out_of_time = self.stopped = self.ended = False
        self.printed, self.head = 0, b""
        self._messages, self._bytes = b"", 0
        os.set_blocking(receiver, False)
        os.set_blocking(self.stdout, False)

    @property
    def flooded(self) -> bool:
        return self.printed > self.limits.output_bytes

    def until_done(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self.receiver, selectors.EVENT_READ, self._hear)
            selector.register(self.stdout, selectors.EVENT_READ, self._count)
            while not (self.report or self.ended or self.flooded):
                left = self.deadline - time.monotonic()
                self.out_of_time = left <= 0
                self.stopped = self.stop is not None and self.stop.is_set()
                if self.out_of_time or self.stopped:
                    return
                for key, _ in selector.select(min(left, 0.1)):
                    if not key.data():
                        selector.unregister(key.fd)
            while self._count() and not self.flooded:  # what was printed just before the report
                pass
        if self.ended and not self.report:
            self._wait_for_exit()

    def _wait_for_exit(self) -> None:
        """Let a child that will not report end by itself, so that its exit code tells how."""
        while not _has_ended(self.process):
            self.out_of_time = time.monotonic() > self.deadline
            if self.out_of_time or (self.stop is not None and self.stop.is_set()):
                return
            time.sleep(0.002)

    def _hear(self) -> bool:
        """Read messages; False at their end."""
        data = _read(self.receiver)
        self._bytes += len(data or b"")
        if data == b"" or self._bytes > MAX_MESSAGES_BYTES:
            self.ended = True
            return False
        *lines, self._messages = (self._messages + (data or b"")).split(b"\n")
        for line in lines:
            message = _parse(line)
            if message.get("started") and self.started is None:
                self.started = message
                self.deadline = time.monotonic() + self.limits.deadline
            elif "status" in message:
                self.report = self.report or message
        return True

    def _count(self) -> bool:
        """Read and count what was printed; False when there is nothing more now."""
        data = _read(self.stdout)
        if data:
            self.printed += len(data)
            self.head = (self.head + data)[:KEPT_OUTPUT_BYTES]
        return bool(data)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    if hasattr(os, "waitid"):  # leaves the process to be reaped after its group was killed
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


def _read(descriptor: int) -> bytes | None:
    """Bytes, ``b""`` at the end, None when there are none yet."""
    try:
        return os.read(descriptor, 65_536)
    except BlockingIOError:
        return None


def _parse(line: bytes) -> dict[str, Any]:
    """A message; the code can write here too, so anything may come."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _outcome(watch: _Watch, code: int, token: str, limits: Limits) -> Outcome:
    if watch.stopped:
        return Outcome("killed", "stopped")
    if watch.started is None:
        raise RequestError(
            f"code can't be run: the child process ended or hung before the code started (exit code {code}): "
            f"{' '.join(watch.head.decode(errors='replace').split())[-200:] or 'it printed nothing'}"
        )
    isolated = bool(watch.started.get("isolated"))
    status, reason = _judge(watch, code, token, limits)
    return Outcome(status, reason, isolated)


def _judge(watch: _Watch, code: int, token: str, limits: Limits) -> tuple[Status, str]:
    if watch.flooded:
        return "output", f"more than {limits.output_bytes} bytes were printed"
    report = watch.report
    if report is not None:
        if report["status"] == "passed" and report.get("token") == token:
            return "passed", ""
        if report["status"] in ("failed", "error"):
            return report["status"], str(report.get("reason", ""))[:300]
        return "error", "a report without the right token"
    if watch.out_of_time:
        return "timeout", f"not done after {limits.deadline:g} s by the clock"
    number = -code if code < 0 else code - 128
    if number == signal.SIGXCPU:
        return "timeout", f"not done after {limits.processor_seconds} s of processor time"
    if number > 0:
        return "killed", f"ended by {_signal_name(number)}"
    return "error", f"the code ended the process (exit code {code}) before the tests were done"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"exit code {128 + number}"
