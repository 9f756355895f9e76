"""Run one program under limits. Started by ``execution.py`` as a script, never imported.

Only the standard library is used. stdin holds the job as JSON and is replaced by an empty file; what
happened is written as JSON lines to the file descriptor that the first argument names.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import types
from typing import Any, NoReturn

CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG = 1
REASON_CHARS = 160
# Audit events of what an answer has no business with.
REFUSED = frozenset(
    "os.fork os.forkpty os.posix_spawn os.spawn os.exec os.system os.kill os.killpg subprocess.Popen "
    "pty.spawn socket.connect socket.bind socket.sendto socket.sendmsg socket.getaddrinfo "
    "socket.gethostbyname gc.get_objects gc.get_referrers sys._current_frames".split()
)
# Audit events that change files; every text among their arguments is a path.
CHANGING = frozenset(
    "os.remove os.rmdir os.mkdir os.rename os.link os.symlink os.truncate os.chmod os.chown os.utime "
    "os.setxattr os.removexattr shutil.rmtree shutil.move".split()
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> NoReturn:
    """Isolate this process as far as the system allows, then run the job."""
    channel = int(sys.argv[1])
    os.set_inheritable(channel, False)
    job = json.loads(sys.stdin.buffer.read())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # Should whoever started us be gone, this process (and with it the rest) doesn't stay.
    signal.alarm(job["alarm_seconds"])
    isolated = job["isolate"] and _own_namespaces()
    if isolated:
        _become_grandchild(channel)
    _limit(job)
    _say(channel, {"started": True, "isolated": isolated})
    _guard(os.getcwd())
    _run(job, channel, os.getpid())


def _own_namespaces() -> bool:
    """Leave the network and the other processes behind, where Linux lets ordinary users do so."""
    if sys.platform != "linux":
        return False
    flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
    try:
        import ctypes

        return bool(ctypes.CDLL(None).unshare(flags) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _become_grandchild(channel: int) -> None:
    """Return in the third of three processes; the second is the namespace's first, so its end ends all."""
    child = os.fork()
    if child:
        os.close(channel)
        _exit_like(child)
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    child = os.fork()
    if child:
        os.close(channel)
        _exit_like(child)
    os.setsid()


def _exit_like(child: int) -> NoReturn:
    """Wait for ``child`` and end with its exit code, or 128 + the signal that ended it."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def _limit(job: dict[str, Any]) -> None:
    """Set resource limits; one that this system doesn't have, or won't lower, is passed over."""
    import resource

    cpu = job["processor_seconds"]
    for name, soft, hard in (
        ("RLIMIT_CORE", 0, 0),
        ("RLIMIT_CPU", cpu, cpu + 1),
        ("RLIMIT_AS", job["memory_bytes"], job["memory_bytes"]),
        ("RLIMIT_FSIZE", job["file_bytes"], job["file_bytes"]),
        ("RLIMIT_NOFILE", job["open_files"], job["open_files"]),
    ):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (soft, hard))


def _guard(folder: str) -> None:
    """Refuse new processes, signals, network, and changes of files outside ``folder``.

    An audit hook: it can't be taken off again, and stops accidents, not attacks.
    """
    realpath, fspath, is_text = os.path.realpath, os.fsdecode, (str, bytes, os.PathLike)
    inside, free = realpath(folder), {os.devnull}

    def check(event: str, path: Any) -> None:
        place = realpath(fspath(path))
        if place != inside and not place.startswith(inside + os.sep) and place not in free:
            raise PermissionError(f"{event} outside the temporary folder is refused")

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in REFUSED:
            raise PermissionError(f"{event} is refused")
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, is_text) and flags & WRITING:
                check(event, path)
        elif event in CHANGING:
            for path in arguments:
                if isinstance(path, is_text):
                    check(event, path)

    sys.addaudithook(hook)


def _run(job: dict[str, Any], channel: int, pid: int) -> NoReturn:
    module = types.ModuleType("answer")
    sys.modules["answer"] = module  # dataclasses and typing look their module up
    parts = [("the answer", job["code"]), ("the set-up", job["setup"])]
    parts += [(f"test {n} of {len(job['tests'])}", test) for n, test in enumerate(job["tests"], 1)]
    report = {"status": "passed", "reason": "", "token": job["token"]}
    for number, (name, source) in enumerate(parts):
        try:
            exec(compile(source, f"<{name}>", "exec", dont_inherit=True), module.__dict__)
        except BaseException as error:
            failed = number >= 2 and isinstance(error, AssertionError)
            report = {"status": "failed" if failed else "error", "reason": f"{name}: {_describe(error)}"}
            break
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
    if os.getpid() == pid:
        _say(channel, report)
    os._exit(0)  # threads that were left running end here


def _describe(error: BaseException) -> str:
    text = type(error).__name__
    with contextlib.suppress(BaseException):
        if isinstance(error, SyntaxError):
            text += f": {error.msg} (line {error.lineno})"
        elif str(error):
            text += f": {error}"
    return " ".join(text.split())[:REASON_CHARS]


def _say(channel: int, message: dict[str, Any]) -> None:
    os.write(channel, json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main()
