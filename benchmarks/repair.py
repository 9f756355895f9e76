"""Accuracy and speed of a repair model on a held-out set, all decoders in one run.

    python benchmarks/repair.py data/repair/test.jsonl --model runs/first-light-3/final --out result.json

Every sentence is decoded by each method before the next one, so that a change of the machine's
speed meets all methods alike. The result names its command, commit, data hash and environment.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from dlmrt import LLM
from dlmrt.config import POLICIES
from dlmrt.datasets.records import iterate_records
from dlmrt.datasets.score import judge, summarise
from dlmrt.engine.request import Result
from dlmrt.environment.report import environment
from dlmrt.provenance import source_commit

METHODS = ("diffusion", "ar", "ar_lookup")


def main() -> None:
    """Parse the command line, measure, write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default=None)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--policy", nargs="+", default=[None], choices=POLICIES, help="default: the model's")
    parser.add_argument("--thresholds", nargs="+", type=float, default=[None], help="diffusion only")
    parser.add_argument("--no-residual", action="store_true", help="diffusion without the residual input")
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    if args.out is not None:
        check_writable(parser, args.out)

    llm = LLM.load(args.model, backend=args.backend)
    fields = {"prompt": str, "answer": str, "errors": list}
    items = list(itertools.islice(iterate_records(args.data, fields), args.limit))
    arms = build_arms(args)
    results: dict[str, list[Result]] = {name: [] for name in arms}
    llm.generate(items[0]["prompt"])  # warm-up
    started = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    for index, item in enumerate(items):
        for name, options in arms.items():
            results[name].append(llm.generate(item["prompt"], **options))
        if index % 50 == 49:
            print(f"{index + 1}/{len(items)}", file=sys.stderr)
    report = {
        "command": " ".join(["python", *sys.argv]),
        "commit": source_commit(Path(__file__)),
        "started": started,
        "data": {"file": str(args.data), "sha256": hashlib.sha256(args.data.read_bytes()).hexdigest()},
        "model": {"name": args.model or "embedded", "weights_sha256": weights_hash(llm.folder.path)},
        "backend": {"name": llm.choice.name, "reason": llm.choice.reason},
        "environment": without_paths(environment()),
        "arms": {name: summary(items, found) for name, found in results.items()},
    }
    text = json.dumps(report, indent=1)
    if args.out is not None:
        args.out.write_text(text + "\n", encoding="utf-8")
    for name, arm in report["arms"].items():
        print(name, json.dumps(brief(arm)))


def build_arms(args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The decoders to compare: name -> options of ``LLM.generate``."""
    arms: dict[str, dict[str, Any]] = {}
    for method in args.methods:
        if method != "diffusion":
            arms[method] = {"method": method}
            continue
        for policy, threshold in itertools.product(args.policy, args.thresholds):
            given = {
                "policy": policy,
                "threshold": threshold,
                "residual": False if args.no_residual else None,
            }
            name = policy or "diffusion"
            name += "-no-residual" if args.no_residual else ""
            name += "" if threshold is None else f"@{threshold}"
            arms[name] = {key: value for key, value in given.items() if value is not None}
    return arms


def check_writable(parser: argparse.ArgumentParser, path: Path) -> None:
    """Fail now, not after hours, when the report can't be written; a report that is there stays."""
    is_new = not path.exists()
    try:
        path.open("a", encoding="utf-8").close()
    except OSError as error:
        parser.error(f"--out {path} cannot be written: {error.strerror}")
    if is_new:
        path.unlink()


def summary(items: list[dict[str, Any]], results: list[Result]) -> dict[str, Any]:
    """Quality, tokens per forward and speed of one arm."""
    judged = [
        judge(item["answer"], item["prompt"], result.text, item["errors"])
        for item, result in zip(items, results, strict=True)
    ]
    decided = sum(r.decided_tokens for r in results)
    forwards = sum(r.forwards.denoise + r.forwards.commit for r in results)
    seconds = [r.timings.total for r in results]
    rates = [len(r.ids) / s for r, s in zip(results, seconds, strict=True) if s > 0]
    return {
        "quality": summarise(judged),
        "tokens": sum(len(r.ids) for r in results),
        "forwards": {
            "prefill": sum(r.forwards.prefill for r in results),
            "denoise": sum(r.forwards.denoise for r in results),
            "commit": sum(r.forwards.commit for r in results),
        },
        "tokens_per_forward": {
            "ratio_of_sums": decided / forwards,
            "mean_of_ratios": statistics.mean(r.tokens_per_forward for r in results),
            "ratio_of_sums_without_commits": decided / sum(r.forwards.denoise for r in results),
        },
        "seconds": {
            "sum": sum(seconds),
            "median": statistics.median(seconds),
            "quartiles": statistics.quantiles(seconds, n=4) if len(seconds) > 1 else None,
        },
        "tokens_per_second": {
            "ratio_of_sums": sum(len(r.ids) for r in results) / sum(seconds),
            "median": statistics.median(rates),
        },
        "finish": {k: sum(r.finish_reason == k for r in results) for k in ("stop", "length", "cancelled")},
    }


def brief(arm: dict[str, Any]) -> dict[str, Any]:
    """The numbers people look at first."""
    quality = arm["quality"]
    return {
        "errors_gone": round(quality["errors_gone"]["share"], 4),
        "untouched_changed": round(quality["untouched_words_changed"]["share"], 4),
        "exact": round(quality["exact_match"]["share"], 4),
        "tpf": round(arm["tokens_per_forward"]["ratio_of_sums"], 2),
        "tokens_per_second": round(arm["tokens_per_second"]["ratio_of_sums"], 1),
        "median_ms": round(1000 * arm["seconds"]["median"], 1),
    }


def without_paths(report: dict[str, Any]) -> dict[str, Any]:
    """The environment without what is only one machine's: where things lie, and its kernel build."""
    private = {"path", "executable", "kernel"}
    return {k: without_paths(v) if isinstance(v, dict) else v for k, v in report.items() if k not in private}


def weights_hash(folder: Path) -> dict[str, str]:
    """sha256 of each weight file of a model folder."""
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.glob("*.safetensors"))}


if __name__ == "__main__":
    main()
