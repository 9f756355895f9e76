"""The part of a result file that says how, where, from what and by whom it was measured.

Result files are published: nothing here holds a home folder, a host name, a credential or a kernel
release.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from dlmrt import __version__
from dlmrt.errors import DataError, RequestError, WeightsError
from dlmrt.provenance import source_commit
from dlmrt.results.schema import DataFacts, RunFacts

# Facts of the environment report that say something about the owner, not about the speed.
_PRIVATE = frozenset({"path", "executable", "kernel"})
_SECRET_OPTION = re.compile(r"--(?:[a-z-]+-)?(?:key|password|secret|(?:api|auth|access)-token)")
_SECRET = "***"
# What names of processors and GPUs hold beside the model's name.
_MARKS = re.compile(r"\((?:r|tm|c)\)|@.*", re.IGNORECASE)
_NOISE = re.compile(
    r"\b(?:nvidia|geforce|intel|amd|cpu|processor|\d+-core|with radeon .*)(?=\s|$)", re.IGNORECASE
)


def run_facts(started: datetime, seconds: float, who: str, argv: Sequence[str]) -> RunFacts:
    """Return how to repeat the run. started: with a time zone, or local; argv: as ``sys.argv`` gives it.

    Raises RequestError: ``who`` has no letter or digit that a file name could hold.
    """
    if not slug(who):
        raise RequestError(
            f"who is {who!r}; give a name with letters or digits, it becomes part of the file name"
        )
    return RunFacts(
        command=command_line(argv),
        commit=source_commit(),
        version=__version__,
        started=(started if started.tzinfo else started.astimezone()).isoformat(timespec="seconds"),
        seconds=seconds,
        who=who.strip(),
    )


def command_line(argv: Sequence[str], home: Path | None = None) -> str:
    """Return the command as one would type it, with home as ``~`` and credentials as ``***``.

    The program is named without its folder, and so is a file or folder of another place of the machine.
    What follows an option such as ``--api-key``, what stands before the ``@`` of an address and its query
    are replaced.
    """
    words, hide = [], False
    for i, word in enumerate(argv):
        name, equals, _ = word.partition("=")
        if hide:
            word = _SECRET
        elif equals and _SECRET_OPTION.fullmatch(name):
            word = f"{name}={_SECRET}"
        hide = not hide and not equals and _SECRET_OPTION.fullmatch(name) is not None
        word = re.sub(r"(?<=://)[^/@\s]+@", f"{_SECRET}@", word)
        word = re.sub(r"(?<=://)([^?\s]*)\?.*", rf"\1?{_SECRET}", word)
        words.append(_quote(Path(word).name if i == 0 else _public_path(shorten(word, home))))
    return " ".join(words)


def _public_path(word: str) -> str:
    """The word with an absolute path, alone or behind an equals sign or a comma, cut to its last part."""
    return re.sub(r"(?:^|(?<=[=,]))/(?:[^,:=/]+/)*([^,:=/]+)/?", r"\1", word)


def _quote(word: str) -> str:
    if word == _SECRET:
        return word
    if word.startswith("~/"):  # inside quotes the shell would not expand it
        return "~/" + (shlex.quote(word[2:]) if word[2:] else "")
    return shlex.quote(word)


def shorten(text: str, home: Path | None = None) -> str:
    """Write the home folder as ``~`` wherever it stands in ``text``."""
    folder = str(home or Path.home()).rstrip("/\\")
    if not folder:  # home is the root folder
        return text
    return re.sub(rf"(?<![\w.~/\\-]){re.escape(folder)}(?![\w.-])", "~", text)


def public_environment(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the environment report without paths, the executable and the kernel release."""
    return {str(name): _public(value) for name, value in report.items() if name not in _PRIVATE}


def _public(value: Any) -> Any:
    if isinstance(value, Mapping):
        return public_environment(value)
    if isinstance(value, list | tuple):
        return [_public(each) for each in value]
    return shorten(value) if isinstance(value, str) else value


def weights_sha256(path: Path) -> dict[str, str]:
    """Return the sha256 of every weight file (``*.safetensors``) of a model folder, by file name.

    Raises WeightsError: there is none, or one can't be read.
    """
    files = sorted(path.glob("*.safetensors"))
    if not files:
        raise WeightsError(f"'{path}' holds no *.safetensors file; there are no weights to vouch for")
    try:
        return {file.name: _sha256(file) for file in files}
    except OSError as error:
        raise WeightsError(f"cannot read '{error.filename}': {error.strerror}") from None


def data_facts(path: Path, items: int, source: str) -> DataFacts:
    """Return which file the items came from; raises DataError if it can't be read."""
    try:
        return DataFacts(path.name, _sha256(path), items, source)
    except OSError as error:
        raise DataError(f"cannot read '{path}': {error.strerror}") from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hardware_label(environment: Mapping[str, Any], device: str | None) -> str:
    """Return a short label of what decoded: ``h200``, ``rtx-5090``, ``xeon-platinum-8480-2-cores``.

    environment: the environment report. device: ``cuda``, ``cuda:1``, ``cpu``, or None for the
    processor. A GPU that the report doesn't know and a processor without a name give ``unknown``.
    """
    kind, _, index = (device or "cpu").partition(":")
    if kind == "cuda":
        gpus = (environment.get("torch") or {}).get("gpus") or []
        at = int(index) if index.isdigit() else 0
        return _model_slug(gpus[at]["name"]) if at < len(gpus) else "unknown-gpu"
    cpu = environment.get("cpu") or {}
    model = _model_slug(str(cpu.get("model") or "")) or "unknown"
    cores = cpu.get("usable_cores") or cpu.get("cores")
    return f"{model}-{cores}-core{'s' if cores != 1 else ''}" if cores else model


def _model_slug(name: str) -> str:
    return slug(_NOISE.sub(" ", _MARKS.sub(" ", name)))


def slug(text: str) -> str:
    """Return ``text`` in the characters of a result file's name, ``a-z 0-9 . -``; it may be empty."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9.]+", "-", text.lower())).strip("-.")
