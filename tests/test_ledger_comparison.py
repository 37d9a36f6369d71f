"""Comparisons as entries of the ledger, their means, their tables and their page."""

from pathlib import Path

import pytest

from stawm.errors import CheckpointError, UsageError
from stawm.ledger.comparison import path_of, read_comparison, read_comparisons, write_comparison
from stawm.ledger.comparisons import EMPTY, comparisons, text_table
from stawm.ledger.table import Mean
from tiny_grid import comparison

SIDES = {"memory.rule": ["hebb", "delta"], "pairs": ["4", "16"]}
FOUND = {
    ("hebb", "4"): [0.1, 0.2],
    ("hebb", "16"): [0.5, 0.5],
    ("delta", "4"): [0.0, 0.02],
    ("delta", "16"): [0.03],
}
AGES = {cell: [[error, 2 * error] for error in errors] for cell, errors in FOUND.items()}


def test_means_over_seeds_of_scores_and_lists():
    rows = comparison(SIDES, FOUND, lists=AGES).rows
    assert [tuple(row.values.values()) for row in rows] == list(FOUND)
    assert rows[0].scores["error"].mean == pytest.approx(0.15)
    assert rows[0].scores["error"].deviation == pytest.approx(0.1 / 2**0.5)
    assert [mean.mean for mean in rows[0].lists["error_by_age"]] == pytest.approx([0.15, 0.3])
    assert rows[3].scores["error"] == Mean(0.03, None)
    assert rows[3].seeds == (0,)


def test_the_table_tells_means_seeds_parameters_and_what_failed():
    from dataclasses import replace

    made = comparison(SIDES, FOUND)
    broken = replace(made.cells[0], state="failed", why="step 3: no", scores={})
    lines = text_table(replace(made, cells=(broken, *made.cells[1:]))).splitlines()
    assert lines[0].split() == ["memory.rule", "pairs", "error", "seeds", "parameters", "time"]
    assert lines[2].split() == ["hebb", "4", "20.00", "%", "1", "of", "2", "100", "3", "s"]
    assert lines[3].split() == ["hebb", "16", "50.00", "%", "±", "0.00", "2", "100", "3", "s"]
    assert lines[-1] == "failed: hebb-4-seed0: step 3: no"
    assert "standard deviation" in lines[-2]


def test_what_was_matched_stands_in_the_table():
    from dataclasses import replace

    made = comparison({"size": ["8"]}, {("8",): [0.1]}, matched="model.hidden", settings={"model.hidden": None})
    cells = tuple(replace(cell, settings={"model.hidden": 31}) for cell in made.cells)
    assert text_table(replace(made, cells=cells)).splitlines()[2].split()[-4:] == ["100", "31", "3", "s"]


def test_an_entry_comes_back_and_is_never_written_over(tmp_path: Path):
    made = comparison(SIDES, FOUND, lists=AGES)
    path = write_comparison(tmp_path, made)
    assert path == path_of(tmp_path, "tiny")
    assert read_comparison(path) == made
    with pytest.raises(UsageError, match="recorded already"):
        write_comparison(tmp_path, made)
    path.rename(path.with_stem("other"))
    with pytest.raises(CheckpointError, match="its own name"):
        read_comparisons(tmp_path)
    path.with_stem("other").write_text("{}")
    with pytest.raises(CheckpointError, match=r"other\.json"):
        read_comparisons(tmp_path)


@pytest.mark.parametrize("name", ["", "../x", "a b"])
def test_a_name_must_be_one(name: str, tmp_path: Path):
    with pytest.raises(UsageError, match="comparison"):
        write_comparison(tmp_path, comparison(SIDES, FOUND, name=name))


def test_the_page_has_a_table_and_the_conditions_of_each():
    told = comparisons([comparison(SIDES, FOUND, note="one night")], Path("../results"))
    assert told.startswith("## tiny\n\n`stawm compare recall`\n\n| memory.rule | pairs | error | seeds |")
    assert "| hebb | 4 | 15.00 % ± 7.07 | 2 | 100 | 3 s |" in told
    assert "20 new examples" in told
    assert (
        "A CPU, 2 cores, 1 thread a cell, torch 2.13.0. one night. [All numbers](../results/compare/tiny.json)." in told
    )
    assert comparisons([], Path("results")) == EMPTY
