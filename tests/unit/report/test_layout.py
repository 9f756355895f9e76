from __future__ import annotations

import pytest

from dlmrt.report.layout import Table, columns, escape, fold, markdown_text, to_html, to_markdown

HOSTILE = "</script><b>\"'&|`[x](javascript:1)\nnew"


def table(*rows: tuple[str, ...], notes: tuple[str, ...] = ()) -> Table:
    return Table("Speed", columns("?<file", "<arm", "?seed", "tokens/s"), rows, notes)


def test_columns_read_their_marks() -> None:
    file, arm, seed, rate = table().columns
    assert (file.title, file.text, file.foldable) == ("file", True, True)
    assert (arm.title, arm.text, arm.foldable) == ("arm", True, False)
    assert (seed.title, seed.text, seed.foldable) == ("seed", False, True)
    assert (rate.title, rate.text, rate.foldable) == ("tokens/s", False, False)


def test_fold_drops_what_all_rows_share_and_says_it() -> None:
    folded = fold(table(("-", "ar", "0", "7"), ("-", "diffusion", "0", "9"), notes=("More.",)))
    assert [c.title for c in folded.columns] == ["arm", "tokens/s"]
    assert folded.rows == (("ar", "7"), ("diffusion", "9"))
    assert folded.notes == ("In every row: seed 0.", "More.")
    said = fold(Table("Pairs", columns("?<note", "p"), (("Too few.", "1"), ("Too few.", "2"))))
    assert said.notes == ("In every row: note Too few.",)


def test_fold_keeps_what_differs_and_columns_that_are_not_foldable() -> None:
    folded = fold(table(("A", "ar", "-", "7"), ("B", "ar", "-", "7")))
    assert [c.title for c in folded.columns] == ["file", "arm", "tokens/s"]
    assert folded.notes == ()
    empty = table()
    assert fold(empty) is empty


def test_a_row_of_the_wrong_length_is_a_bug() -> None:
    with pytest.raises(ValueError, match="needs 4 cells"):
        table(("ar", "7"))


def test_markdown() -> None:
    text = to_markdown(fold(table(("-", "ar", "0", "7"))))
    assert text == "### Speed\n\n| arm | tokens/s |\n|---|---:|\n| ar | 7 |\n\nIn every row: seed 0.\n"
    assert to_markdown(table(("-", "ar", "0", "7")), title=False).startswith("| file |")


def test_markdown_escapes_cells() -> None:
    text = to_markdown(table(("-", HOSTILE, "0", "7")))
    row = text.splitlines()[4]
    assert row.count(" | ") == 3
    assert "<" not in row.replace("&lt;", "")
    assert "\\|" in row and "\\`" in row and "\\[x\\]" in row
    assert markdown_text("untouched_words") == "untouched_words"


def test_html_escapes_cells_titles_and_notes() -> None:
    hostile = Table(HOSTILE, columns("<" + HOSTILE, "n"), ((HOSTILE, "7"),), (HOSTILE,))
    text = to_html(hostile)
    for piece in ("</script>", "<b>", "new\n", "\"'"):
        assert piece not in text.replace('"><table>\n', "")
    assert text.count("&lt;/script&gt;&lt;b&gt;&quot;&#x27;&amp;|") == 4


def test_percent_stays_with_its_number() -> None:
    assert escape("65.2 % (1-2)") == "65.2&nbsp;% (1-2)"
