"""Result files: their names, that they are never overwritten, and what is refused on reading."""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlmrt.errors import DataError
from dlmrt.results.files import is_name_of, read_result, result_name, to_json, write_result, write_result_to
from dlmrt.results.schema import ResultFile
from tests.unit.results.support import DATA, ENVIRONMENT, MODEL, RUN, bench_result, eval_result, plain, put

NAME = "first-light_epyc-2-cores_2026-11-30_a.-tester.json"


@pytest.mark.parametrize("result", [eval_result(), bench_result()], ids=["eval", "bench"])
def test_what_is_written_is_what_is_read(result: ResultFile, tmp_path: Path) -> None:
    path = write_result(result, tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / NAME
    assert read_result(path) == result
    assert path.read_text(encoding="utf-8") == to_json(result)
    assert to_json(result).endswith("}\n")


def test_two_runs_of_one_day_get_different_names_and_the_first_stays(tmp_path: Path) -> None:
    first, second = eval_result(), eval_result(settings={"limit": 6})
    paths = [write_result(each, tmp_path) for each in (first, second, first)]
    assert [path.name for path in paths] == [
        NAME,
        NAME.replace(".json", "_2.json"),
        NAME.replace(".json", "_3.json"),
    ]
    assert [read_result(path) for path in paths] == [first, second, first]
    assert all(is_name_of(path.name, first) for path in paths)


def test_a_chosen_path_is_not_overwritten_either(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text("precious")
    assert write_result_to(eval_result(), path) == tmp_path / "mine_2.json"
    assert path.read_text() == "precious"
    assert read_result(tmp_path / "mine_2.json") == eval_result()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write .*give a folder"):
        write_result(eval_result(), tmp_path / "file")


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Path.open

    def full(path: Path, *args: Any, **options: Any) -> Any:
        file = whole(path, *args, **options)

        def write(text: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        file.write = write  # type: ignore[method-assign]
        return file

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(DataError, match="No space left"):
        write_result(eval_result(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_result_that_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cells is empty"):
        write_result(eval_result(cells=()), tmp_path)
    settings = {"deep": [1.0, {"score": math.nan}]}
    with pytest.raises(DataError, match=re.escape("settings.deep[1].score is nan")):
        write_result(eval_result(settings=settings), tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- names ------------------------------------------------------------------------------------


def test_names_hold_plain_characters_only() -> None:
    run = dataclasses.replace(RUN, who="Zoë O'Neill <zoe@example.org>")
    model = "org/My Model_v2"
    result = eval_result(
        run=run,
        hardware="RTX 5090 (2x)",
        models={model: MODEL},
        cells=tuple(dataclasses.replace(cell, model=model) for cell in eval_result().cells),
    )
    assert result_name(result) == "my-model-v2_rtx-5090-2x_2026-11-30_zo-o-neill-zoe-example.org.json"


@given(st.text(), st.text(), st.text())
def test_any_text_makes_a_name_of_four_parts(model: str, hardware: str, who: str) -> None:
    cells = tuple(dataclasses.replace(cell, model=model) for cell in eval_result().cells)
    result = eval_result(
        models={model: MODEL}, hardware=hardware, run=dataclasses.replace(RUN, who=who), cells=cells
    )
    name = result_name(result)
    assert re.fullmatch(r"[a-z0-9.-]+_[a-z0-9.-]+_\d{4}-\d\d-\d\d_[a-z0-9.-]+\.json", name), name
    assert not name.startswith(".")
    assert is_name_of(name, result)


def test_several_models_are_named_by_those_that_decoded() -> None:
    cells = eval_result().cells
    models = {"first-light": MODEL, "b": MODEL, "c": MODEL, "unused": MODEL}
    two = (cells[0], dataclasses.replace(cells[1], model="b"))
    assert result_name(eval_result(models=models, cells=two)).startswith("first-light-and-b_")
    three = (*two, dataclasses.replace(cells[2], model="c"))
    assert result_name(eval_result(models=models, cells=three)).startswith("first-light-and-2-more_")
    # Of a benchmark the cells of the other kind don't count.
    assert result_name(bench_result(models=models)).startswith("first-light_")


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        (NAME, True),
        (NAME.replace(".json", "_2.json"), True),
        (NAME.replace(".json", "_17.json"), True),
        (NAME.replace(".json", "_1.json"), False),
        (NAME.replace(".json", "_02.json"), False),
        (NAME.replace(".json", "_two.json"), False),
        (NAME.replace(".json", "_²."), False),
        (NAME.replace(".json", "_.json"), False),
        (NAME.replace(".json", ".jsonl"), False),
        ("first-light-test.json", False),
        ("2.json", False),
    ],
)
def test_which_names_are_a_results_own(name: str, fits: bool) -> None:
    assert is_name_of(name, eval_result()) is fits


# --- what is refused ----------------------------------------------------------------------------


def refused(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "result.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(DataError) as error:
        read_result(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def changed(path: str, value: Any) -> str:
    data = plain(eval_result())
    put(data, path, value)
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        (to_json(eval_result())[:-40], "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"schema": 1, "settings": ' + "[" * 3000 + "]" * 3000 + "}", "nested too deeply"),
        ("[]", "holds a list; a result file is one JSON object"),
        ("{}", "has no 'schema'"),
        ('{"command": "python benchmarks/repair.py"}', "an older format"),
        ('{"schema": 1, "schema": 1}', "the key 'schema' stands twice"),
        ('{"schema": 2}', "schema is 2; this version of dlmrt reads 1: upgrade dlmrt"),
        ('{"schema": 0}', "schema is 0; this version of dlmrt reads 1: measure again"),
        ('{"schema": true}', "schema is True"),
        ('{"schema": "1"}', "schema is '1'"),
        (b"\xff{}", "not UTF-8 at byte 0"),
        ('{"schema": ' + "1" * 5000 + "}", ""),
    ],
)  # fmt: skip
def test_what_is_no_result_file(text: str | bytes, said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("cells.0.accuracyy", 1, "unknown option 'cells[0].accuracyy'; did you mean 'accuracy'?"),
        ("models.first-light.size", 1, "unknown option 'models.first-light.size'"),
        ("kind", "speed", "kind is 'speed'; it must be one of eval, bench"),
        ("cells.0.backend", None, "cells[0].backend is NoneType"),
        ("cells.0.accuracy.hits", "3", "cells[0].accuracy.hits is '3' (str); it must be of type int"),
        ("cells.0.accuracy.hits", 3.0, "cells[0].accuracy.hits is 3.0 (float)"),
        ("cells.0.steps_observed", 1, "cells[0].steps_observed is 1 (int); it must be of type bool"),
        ("cells.0.accuracy.interval_95", [0.1], "cells[0].accuracy.interval_95 has 1 values; it must have 2"),
        ("cells.0.failed", {"timeout": "two"}, "cells[0].failed.timeout is 'two'"),
        ("cells.0.calibration.basis", "luck", "cells[0].calibration.basis is 'luck'"),
        ("models.first-light.weights_sha256", {"a": 1}, "models.first-light.weights_sha256.a is 1 (int)"),
        ("cells.0.accuracy.hits", 9, "cells[0].accuracy.hits is 9 of 5"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(path: str, value: Any, said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path, changed(path, value))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_are_refused_with_their_place(value: float, tmp_path: Path) -> None:
    for path, place in (
        ("cells.1.quality", "cells[1].quality.score"),
        ("environment", "environment.score"),
        ("settings", "settings.score"),
    ):
        message = refused(tmp_path, changed(path, {"score": value}))
        assert message.startswith(f"{place} is {value}; numbers must be finite")
    assert refused(tmp_path, changed("cells.0.seconds.p90", value)).startswith("cells[0].seconds.p90 is")
    assert refused(
        tmp_path, to_json(eval_result()).replace('"seconds": 12.5', '"seconds": 1e999')
    ).startswith("run.seconds is inf")


def test_half_a_surrogate_pair_is_no_text(tmp_path: Path) -> None:
    message = refused(tmp_path, changed("run.who", "\ud83d"))
    assert message == "run.who holds half a surrogate pair, which is no text"
    assert refused(tmp_path, '"\\ud83d"') == "the document holds half a surrogate pair, which is no text"
    with pytest.raises(DataError, match="hardware holds half"):
        write_result(eval_result(hardware="a\ud83d"), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    data = plain(eval_result())
    del data["cells"][0]["accuracy"]["share"]
    assert "option 'cells[0].accuracy.share' is missing" in refused(tmp_path, json.dumps(data))


def test_an_absent_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(DataError, match="cannot read"):
            read_result(path)


def test_every_type_of_the_schema_survives_the_way_through_a_file(tmp_path: Path) -> None:
    """Nested options, tuples of two numbers, dicts of dataclasses, and an int where a float fits."""
    data = json.loads(to_json(eval_result()))
    put(data, "run.seconds", 12)
    path = tmp_path / "result.json"
    path.write_text(json.dumps(data))
    result = read_result(path)
    assert result.run.seconds == 12.0
    assert isinstance(result.run.seconds, float)
    assert isinstance(result.cells[0].accuracy.interval_95, tuple)
    assert result.models == {"first-light": MODEL}
    assert result.data == {"repair": DATA}
    assert result.environment == ENVIRONMENT
    assert result.cells[0].calibration == eval_result().cells[0].calibration


@pytest.mark.parametrize(
    "at", ["speeds.0.floor.flops", "speeds.0.peak_memory_bytes", "models.first-light.parameters"]
)
def test_a_number_that_no_float_holds_is_refused(at: str, tmp_path: Path) -> None:
    data = plain(bench_result())
    put(data, at, 10**400)
    path = tmp_path / "big.json"
    path.write_text(json.dumps(data))
    with pytest.raises(DataError, match=r"is beyond 1e\+30"):
        read_result(path)
