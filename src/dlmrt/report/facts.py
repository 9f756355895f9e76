"""What was measured: where, on what, with which arms, by whom, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dlmrt.report import format as fmt
from dlmrt.report.layout import Table, columns, fold
from dlmrt.report.sources import Source, described, main_model, model_name
from dlmrt.results.schema import BenchCell, EvalCell

SHORT_HASH = 16


def runs(sources: Sequence[Source]) -> Table:
    """One column a file: model, machine, commit, date, who."""
    rows = []
    per_file = [dict(_facts(source)) for source in sources]
    for name in per_file[0]:
        rows.append((name, *(facts[name] for facts in per_file)))
    heads = [source.letter if len(sources) > 1 else "" for source in sources]
    return Table("What was measured", columns("<", *(f"<{head}" for head in heads)), tuple(rows))


def _facts(source: Source) -> list[tuple[str, str]]:
    result, run = source.result, source.result.run
    return [
        ("file", source.name),
        ("kind", {"eval": "evaluation", "bench": "benchmark"}[result.kind]),
        ("model", main_model(result)),
        ("hardware", result.hardware),
        ("machine", machine(result.environment)),
        ("software", software(result.environment)),
        ("dlmrt", f"{run.version}, commit {_commit(run.commit)}"),
        ("measured", f"{run.started}, took {fmt.number(run.seconds)} s"),
        ("by", run.who),
    ]


def _commit(commit: str | None) -> str:
    if commit is None:
        return "unknown (not run from a checkout)"
    changed = " with changes that were not committed" if commit.endswith("+") else ""
    return commit.rstrip("+")[:12] + changed


def provenance(source: Source) -> str:
    """One line below a table that stands alone: what it was measured on, when, by whom, which commit."""
    result, run = source.result, source.result.run
    letter = "" if source.letter == fmt.MISSING else f"{source.letter}: "
    return (
        f"{letter}{main_model(result)} on {result.hardware}, {run.started[:10]}, "
        f"dlmrt {run.version} at {_commit(run.commit)}, by {run.who}."
    )


def machine(environment: dict[str, Any]) -> str:
    """CPU, memory and GPUs in a line; parts that the report lacks are left out."""
    cpu = _mapping(environment.get("cpu"))
    parts = [str(cpu["model"])] if cpu.get("model") else []
    if cpu.get("usable_cores") or cpu.get("cores"):
        parts.append(f"{cpu.get('usable_cores') or cpu.get('cores')} cores")
    memory = _mapping(environment.get("memory_gb")).get("total")
    if memory:
        parts.append(f"{memory} GB memory")
    gpus = _mapping(environment.get("torch")).get("gpus")
    names = [str(_mapping(gpu).get("name", "GPU")) for gpu in gpus] if isinstance(gpus, list) else []
    parts += [f"{names.count(name)} x {name}" for name in dict.fromkeys(names)]
    return ", ".join(parts) or fmt.MISSING


def software(environment: dict[str, Any]) -> str:
    """System, Python and the packages that decode."""
    system, packages = _mapping(environment.get("system")), _mapping(environment.get("packages"))
    python = _mapping(environment.get("python")).get("version")
    parts = [str(system["os"])] if system.get("os") else []
    parts += [f"Python {python}"] if python else []
    parts += [f"{name} {packages[name]}" for name in ("numpy", "torch", "triton") if packages.get(name)]
    driver = environment.get("nvidia_driver")
    parts += [f"NVIDIA driver {driver}"] if driver else []
    threads = _mapping(environment.get("threads"))
    parts += [f"{name}={value}" for name, value in threads.items()]
    return ", ".join(parts) or fmt.MISSING


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def models(sources: Sequence[Source]) -> Table:
    """The weights by hash."""
    rows = []
    for source in sources:
        for key, facts in source.result.models.items():
            hashes = facts.weights_sha256.items() or [(fmt.MISSING, fmt.MISSING)]
            shape = (
                fmt.scaled(facts.parameters, "").rstrip(),
                fmt.count(facts.block_size),
                facts.noise or "-",
            )
            rows += [(source.letter, key, described(facts), *shape, file, digest) for file, digest in hashes]
    titles = columns(
        "?<file", "<called", "<model", "parameters", "block size", "<noise", "<weights", "<sha256"
    )
    return fold(Table("Models", titles, tuple(rows)))


def data(sources: Sequence[Source]) -> Table:
    """The items by hash."""
    rows = tuple(
        (source.letter, name, facts.file, fmt.count(facts.items), facts.source, facts.sha256[:SHORT_HASH])
        for source in sources
        for name, facts in source.result.data.items()
    )
    titles = columns("?<file", "<name", "<data", "items", "<from", "<sha256, first 16 digits")
    return fold(Table("Data", titles, rows))


def arms(
    cells: Iterable[tuple[Source, EvalCell | BenchCell]],
    counts: Mapping[str, str],
    notes: tuple[str, ...] = (),
) -> Table:
    """One row an arm: model, decoder, options, backend. counts: further columns, by attribute of a cell."""
    rows = dict.fromkeys(
        (
            source.letter,
            cell.arm,
            model_name(source.result, cell.model),
            cell.method,
            fmt.settings(_options(cell.options)),
            cell.backend.name,
            cell.backend.reason,
            cell.backend.device or fmt.MISSING,
            cell.backend.dtype or fmt.MISSING,
            *(fmt.count(getattr(cell, attribute)) for attribute in counts.values()),
        )
        for source, cell in cells
    )
    titles = columns(
        "?<file", "<arm", "?<model", "<method", "<options", "?<backend", "?<chosen because", "?<device",
        "?<dtype", *(f"?{title}" for title in counts),
    )  # fmt: skip
    return fold(Table("Arms", titles, tuple(rows), notes))


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options without the method, which has a column of its own."""
    return {
        name: _options(value) if isinstance(value, Mapping) else value
        for name, value in options.items()
        if name != "method"
    }


def skipped(sources: Sequence[Source]) -> Table | None:
    """What was asked for and not run."""
    rows = tuple(
        (source.letter, what, why) for source in sources for what, why in source.result.skipped.items()
    )
    return fold(Table("Skipped", columns("?<file", "<what", "<why"), rows)) if rows else None
