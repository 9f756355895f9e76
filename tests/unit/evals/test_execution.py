"""Running code of others: what counts as passed, and what every way of misbehaving is called."""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from dlmrt.errors import RequestError
from dlmrt.evals import execution
from dlmrt.evals.execution import Limits, Outcome, Program, run_all, run_program

TESTS = ("assert f(2) == 4", "assert f(3) == 6")
GOOD = "def f(x):\n    return 2 * x\n"
# Seconds are many where they don't matter, so that a busy machine changes no verdict.
OWN = Limits(seconds=60, memory_bytes=256 << 20, file_bytes=1 << 20, output_bytes=50_000)
PLAIN = replace(OWN, isolate=False)


def outcome(code: str, *, tests: tuple[str, ...] = TESTS, setup: str = "", limits: Limits = OWN) -> Outcome:
    return run_program(Program(code, tests, setup), limits)


@pytest.mark.parametrize("limits", [OWN, PLAIN])
@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        (GOOD, "passed", ""),
        ("def f(x):\n    return 4", "failed", "test 2 of 2: AssertionError"),
        ("def f(x):\n    return y", "error", "test 1 of 2: NameError: name 'y' is not defined"),
        ("def f(x:\n    return 1", "error", "the answer: SyntaxError: "),
        ("import sys\nsys.exit(0)", "error", "the answer: SystemExit: 0"),
        ("import os\nos._exit(0)", "error", "the code ended the process (exit code 0)"),
        ("import os\nos.abort()", "killed", "ended by SIGABRT"),
        ("assert False", "error", "the answer: AssertionError"),
        ("input()", "error", "the answer: EOFError"),
        ("import os\nwhile True:\n    os.fork()", "error", "the answer: PermissionError: os.fork is refused"),
        ("import os\nos.kill(os.getppid(), 9)", "error", "the answer: PermissionError: os.kill is refused"),
        ("f = [0] * 10**9", "error", "the answer: MemoryError"),
        ("while True:\n    print('x' * 9999)", "output", "more than 50000 bytes were printed"),
        ("print('x' * 60_000)\n" + GOOD, "output", "more than 50000 bytes were printed"),
        ("print('x' * 40_000)\n" + GOOD, "passed", ""),
    ],
)
def test_every_end_has_its_name(code: str, status: str, reason: str, limits: Limits) -> None:
    found = outcome(code, limits=limits)
    assert found.status == status
    assert found.reason.startswith(reason) and (reason != "" or found.reason == "")
    assert len(found.reason) < 300


@pytest.mark.parametrize("limits", [OWN, PLAIN])
@pytest.mark.parametrize(
    "code",
    [
        "while True:\n    pass",
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)",
        "import threading\nthreading.Event().wait()",
    ],
)
def test_code_that_does_not_end_is_killed(code: str, limits: Limits) -> None:
    found = outcome(code, limits=replace(limits, wall_seconds=0.2))
    assert found == Outcome("timeout", "not done after 0.2 s by the clock")


def test_the_clock_allows_more_than_processor_time() -> None:
    assert Limits(seconds=2).deadline == 6 and Limits(seconds=2, wall_seconds=3).deadline == 3


def test_processor_time_is_limited_too() -> None:
    code = "import resource, signal\nassert resource.getrlimit(resource.RLIMIT_CPU) == (3, 4)\n"
    code += "signal.raise_signal(signal.SIGXCPU)"  # as the system does once the time is used up
    found = outcome(code, limits=replace(OWN, seconds=2.5))
    assert found == Outcome("timeout", "not done after 3 s of processor time")


def test_threads_that_still_run_do_not_hold_a_pass_up() -> None:
    code = "import threading\nthreading.Thread(target=threading.Event().wait).start()\n" + GOOD
    assert outcome(code).status == "passed"


WRITE_EVERYWHERE = """
import os
def w(data):
    for i in range(3, 30):
        try:
            os.write(i, data)
        except OSError:
            pass
"""


@pytest.mark.parametrize("limits", [OWN, PLAIN])
def test_a_pass_can_not_be_reported_without_the_token(limits: Limits) -> None:
    code = WRITE_EVERYWHERE + 'w(b\'{"status": "passed"}\\n\')\n'
    assert outcome(code + "os._exit(0)", limits=limits).reason == "a report without the right token"
    assert outcome(code + GOOD, limits=limits).status == "error"


def test_noise_in_the_channel_is_no_message_and_is_bounded() -> None:
    assert outcome(WRITE_EVERYWHERE + "w(b'[1]\\nnot json\\n')\n" + GOOD).status == "passed"
    endless = WRITE_EVERYWHERE + "while True:\n    w(b'x' * 1000)\n"
    assert outcome(endless, limits=replace(OWN, wall_seconds=0.2)).status == "timeout"


def test_set_up_runs_between_the_code_and_the_tests() -> None:
    found = outcome("class N:\n    pass", setup="n = N()\nn.x = 3", tests=("assert n.x == 3",))
    assert found.status == "passed"
    assert outcome(GOOD, setup="g()").reason.startswith("the set-up: NameError")


def test_an_annotated_dataclass_finds_its_module() -> None:
    code = "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: 'int' = 2\n"
    assert outcome(code, tests=("assert P().x == 2",)).status == "passed"


def test_files_are_written_in_the_temporary_folder_alone(tmp_path: Path) -> None:
    target = tmp_path / "victim"
    target.write_text("kept")
    inside = "open('a', 'w').write('1')\nimport os, tempfile\nos.rename('a', 'b')\n"
    inside += "with tempfile.TemporaryDirectory() as d:\n    open(d + '/c', 'w').close()\n"
    assert outcome(inside + GOOD).status == "passed"
    for line in (f"open({str(target)!r}, 'w')", f"import os; os.remove({str(target)!r})",
                 f"import shutil; shutil.rmtree({str(tmp_path)!r})"):  # fmt: skip
        found = outcome(line + "\n" + GOOD)
        assert found.status == "error" and "outside the temporary folder is refused" in found.reason
    assert target.read_text() == "kept"


def test_a_file_can_not_grow_without_end() -> None:
    found = outcome("with open('a', 'wb') as s:\n    s.write(b'x' * (2 << 20))\n" + GOOD)
    assert found.status == "error" and "OSError" in found.reason


def test_the_environment_is_bare_and_the_folder_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "abc")
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    code = "import os, sys\nassert not os.listdir('.')\n"
    tests = (
        "assert 'SECRET_KEY' not in os.environ",
        "assert os.environ['HOME'] == os.getcwd()",
        "assert not any('site-packages' in p or 'dlmrt' in p for p in sys.path)",
        "assert os.getcwd() != " + repr(os.getcwd()),
    )
    assert outcome(code, tests=tests) == Outcome("passed")


def test_the_order_of_sets_is_the_same_in_every_run() -> None:
    code = "import sys\nassert ''.join({'a', 'b', 'c', 'd', 'e'}) == "
    order = {
        found.reason for found in (outcome(code + "0, ''.join({'a', 'b', 'c', 'd', 'e'})") for _ in range(3))
    }
    assert len(order) == 1 and "AssertionError: " in order.pop()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these namespaces")
def test_where_it_may_the_code_leaves_network_and_processes_behind() -> None:
    code = "import os, socket\n"
    found = outcome(code, tests=("assert os.getpid() < 5", "assert len(socket.if_nameindex()) == 1"))
    if not found.isolated:
        pytest.skip("this system doesn't let ordinary users have namespaces of their own")
    assert found.status == "passed"


@pytest.mark.parametrize("limits", [OWN, PLAIN])
def test_connections_are_refused(limits: Limits) -> None:
    found = outcome("import socket\nsocket.create_connection(('127.0.0.1', 9))", limits=limits)
    assert found.status == "error" and "is refused" in found.reason


def test_many_programs_keep_their_order() -> None:
    programs = [Program(GOOD, (f"assert f({n}) == {2 * n if n % 3 else -1}",)) for n in range(7)]
    found = run_all(programs, [OWN] * 7, jobs=3)
    assert [o.status for o in found] == ["passed" if n % 3 else "failed" for n in range(7)]
    with pytest.raises(RequestError, match="jobs is 0; it must be at least 1"):
        run_all(programs, [OWN] * 7, jobs=0)


def test_stopping_kills_what_runs() -> None:
    stop = threading.Event()
    stop.set()
    found = run_program(Program("while True:\n    pass", TESTS), Limits(seconds=60), stop=stop)
    assert found == Outcome("killed", "stopped")


def test_a_child_that_can_not_start_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "CHILD", tmp_path / "missing.py")
    with pytest.raises(RequestError, match=r"code can't be run: .*exit code 2.*missing.py"):
        outcome(GOOD)
    monkeypatch.setattr(execution.sys, "executable", str(tmp_path / "python"))
    with pytest.raises(RequestError, match="starting .* failed"):
        outcome(GOOD)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution.tempfile, "tempdir", str(tmp_path))
    before = len(os.listdir("/dev/fd"))
    outcome("open('a', 'w').close()\n" + GOOD)
    outcome("while True:\n    print('x' * 9999)")
    assert len(os.listdir("/dev/fd")) == before
    assert list(tmp_path.iterdir()) == []
