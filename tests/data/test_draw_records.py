"""Records of draws that somebody has tampered with."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from bonwise.errors import InputError
from bonwise.studies.label_strategy.judged_pairs import PairRecord
from bonwise.table.label_design import LabelDesign
from cli.commands import typed

KEPT = Path(__file__).parent / "kept"
DESIGNS = ("neyman.csv", "stratified.csv", "pair.csv")
PAIRS = "todo.drawn.csv"


def rows_of(name):
    """Return the cells of a kept record, its header first."""
    return list(csv.reader((KEPT / name).read_text(encoding="utf-8").splitlines()))


def written(rows, path):
    """Write cells as CSV and return the file."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    path.write_text(stream.getvalue(), encoding="utf-8")
    return path


def cell(column, value, at=1):
    """Return what sets one cell; `at` counts the rows below the header from 1, and from the end below 0."""

    def change(rows):
        rows[at][rows[0].index(column)] = value
        return rows

    return change


def every(column, value):
    """Return what sets every cell of a column."""

    def change(rows):
        x = rows[0].index(column)
        return [rows[0], *([*row[:x], value, *row[x + 1 :]] for row in rows[1:])]

    return change


def without(column):
    """Return what drops a column."""

    def change(rows):
        x = rows[0].index(column)
        return [[*row[:x], *row[x + 1 :]] for row in rows]

    return change


def beside(column, values):
    """Return what adds a column."""
    return lambda rows: [[*rows[0], column], *([*row, values(at)] for at, row in enumerate(rows[1:]))]


def deep(rows):
    """Put lists within lists into a cell."""
    return cell("propensity", "[" * 500 + "1" + "]" * 500)(rows)


REFUSED = {
    **{f"no {column}": (DESIGNS[2], without(column)) for column in rows_of("pair.csv")[0]},
    **{
        f"{column} is {value!r}": (DESIGNS[0], cell(column, value))
        for column in ("phase", "propensity", "stratum", "seed")
        for value in ("", "nan", "inf", "-1", "True", "false", "one", "1e400", "1e30", "[1]", "{}")
    },
    "half a phase": (DESIGNS[0], cell("phase", "1.5")),
    "half a stratum": (DESIGNS[0], cell("stratum", "0.5")),
    "half a seed": (DESIGNS[0], cell("seed", "0.5")),
    "nothing drawn": (DESIGNS[0], every("phase", "0")),
    "no first phase": (DESIGNS[0], lambda rows: [row if row[1] != "1" else [row[0], "2", *row[2:]] for row in rows]),
    "a phase drawn by another seed": (DESIGNS[0], cell("seed", "9")),
    "a prompt that was not drawn with another seed": (DESIGNS[0], cell("seed", "9", -1)),
    "a prompt drawn beside the others": (DESIGNS[0], cell("phase", "1", -1)),
    "a drawn prompt taken back": (DESIGNS[0], cell("phase", "0")),
    "no chance left in one row": (DESIGNS[1], cell("propensity", "0", -1)),
    "no chance, and drawn": (DESIGNS[0], cell("propensity", "0")),
    "a chance above 1": (DESIGNS[0], cell("propensity", "1.0001")),
    "another chance in one row": (DESIGNS[1], cell("propensity", "0.5")),
    "another chance in every row": (DESIGNS[0], every("propensity", "0.5")),
    "a prompt in another stratum": (DESIGNS[1], cell("stratum", "0")),
    "a stratum of its own": (DESIGNS[1], cell("stratum", "4")),
    "strata with a gap": (DESIGNS[0], every("stratum", "7")),
    "a prompt left out": (DESIGNS[0], lambda rows: rows[:-1]),
    "a prompt twice": (DESIGNS[0], lambda rows: [*rows, rows[-1]]),
    "a prompt without a name": (DESIGNS[0], cell("prompt_id", "")),
    "another rule": (DESIGNS[0], every("rule", "best")),
    "a rule of candidates": (DESIGNS[0], every("rule", "pick")),
    "a rule of pools": (DESIGNS[2], every("rule", "uniform")),
    "picks alone": (DESIGNS[2], every("rule", "pick")),
    "two rules": (DESIGNS[0], cell("rule", "uniform")),
    "no rule": (DESIGNS[0], every("rule", "")),
    "two judges": (DESIGNS[0], cell("judge", "other")),
    "no judge": (DESIGNS[0], every("judge", "")),
    "no pick": (DESIGNS[2], cell("pick", "")),
    "no other": (DESIGNS[2], cell("other", "")),
    "a pick that was not drawn": (DESIGNS[2], cell("pick", "c0", -1)),
    "a pick against itself": (DESIGNS[2], lambda rows: cell("other", rows[1][rows[0].index("pick")])(rows)),
    "picks in a draw of pools": (DESIGNS[0], beside("pick", lambda _: "c0")),
    "a column twice": (DESIGNS[0], beside("propensity", lambda _: "0.5")),
    "a line too short": (DESIGNS[0], lambda rows: [*rows[:-1], rows[-1][:-1]]),
    "a line too long": (DESIGNS[0], lambda rows: [*rows[:-1], [*rows[-1], "1"]]),
    "no prompt": (DESIGNS[0], lambda rows: rows[:1]),
    "no header": (DESIGNS[0], lambda rows: rows[1:]),
    "thousands of columns": (DESIGNS[0], lambda rows: [[*row, *(f"{x}" for x in range(3000))] for row in rows]),
    "lists within lists": (DESIGNS[0], deep),
}

REFUSED_PAIRS = {
    **{f"no {column}": without(column) for column in ("pair_id", "prompt_id", "a", "b", "weight")},
    **{
        f"{column} is {value!r}": cell(column, value)
        for column in ("gap", "weight", "seed")
        for value in ("", "nan", "inf", "-1", "True", "one", "1e400")
    },
    "a weight below 1": every("weight", "0.5"),
    "another weight in one row": cell("weight", "30"),
    "another stratum in one row": cell("stratum", "tie"),
    "a stratum that stands for half a pair": lambda rows: [
        [*row[:7], "16.6", *row[8:]] if row[6] == "tie" else row for row in rows
    ],
    "half a seed": cell("seed", "0.5"),
    "two seeds": cell("seed", "1"),
    "gaps of nothing": every("gap_of", "nothing"),
    "gaps of two things": cell("gap_of", "score"),
    "a pair of one": lambda rows: cell("b", rows[1][2])(rows),
    "a pair twice": lambda rows: [*rows, ["pair99999", *rows[1][1:]]],
    "a pair turned round": lambda rows: [*rows, ["pair99999", rows[1][1], rows[1][3], rows[1][2], *rows[1][4:]]],
    "an id twice": lambda rows: cell("pair_id", rows[2][0])(rows),
    "no id": cell("pair_id", ""),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_a_kept_design_is_read(name, tmp_path):
    """It is written again to the same bytes."""
    LabelDesign.read(KEPT / name).write(tmp_path / name)
    assert (tmp_path / name).read_bytes() == (KEPT / name).read_bytes()


def test_kept_pairs_are_read():
    """Each pair stands there with its weight."""
    assert len(PairRecord.read(KEPT / PAIRS).frame) == len(rows_of(PAIRS)) - 1


def refused(read, path):
    """Return the one line that refuses a file, which names it."""
    with pytest.raises(InputError) as caught:
        read(path)
    said = str(caught.value)
    assert "\n" not in said
    assert path.name in said
    assert len(said) < 400
    return said


@pytest.mark.parametrize("name", REFUSED)
def test_a_tampered_design_is_refused(name, tmp_path):
    """What makes no sense is refused in one line."""
    kept, change = REFUSED[name]
    refused(LabelDesign.read, written(change(rows_of(kept)), tmp_path / "todo.csv"))


@pytest.mark.parametrize("name", REFUSED_PAIRS)
def test_a_tampered_record_of_pairs_is_refused(name, tmp_path):
    """What makes no sense is refused in one line."""
    refused(PairRecord.read, written(REFUSED_PAIRS[name](rows_of(PAIRS)), tmp_path / "drawn.csv"))


@pytest.mark.parametrize(
    ("kept", "change"),
    [
        (DESIGNS[0], beside("note", lambda at: f"row {at}")),
        (DESIGNS[0], beside("pick", lambda _: "")),
        (DESIGNS[0], lambda rows: [rows[0], *rows[:0:-1]]),
        (DESIGNS[0], lambda rows: [row[::-1] for row in rows]),
        (
            DESIGNS[1],
            lambda rows: [
                row if at == 0 else [*row[:2], f"{float(row[2]):.9f}", *row[3:]] for at, row in enumerate(rows)
            ],
        ),
    ],
    ids=["a column of notes", "an empty column", "rows in another order", "columns in another order", "nine digits"],
)
def test_what_changes_nothing_is_read(kept, change, tmp_path):
    """A note, another order and a spreadsheet's rounding leave the draw what it was."""
    mine = LabelDesign.read(written(change(rows_of(kept)), tmp_path / "todo.csv")).frame()
    known = LabelDesign.read(KEPT / kept).frame()
    assert mine.drop(columns="propensity").equals(known.drop(columns="propensity"))
    assert (mine["propensity"] - known["propensity"]).abs().max() < 1e-8


def test_minimal_pairs_are_read(tmp_path):
    """A record of other origin needs ids, candidates and weights."""
    rows = without("gap_of")(without("gap")(without("stratum")(without("seed")(rows_of(PAIRS)))))
    assert len(PairRecord.read(written(rows, tmp_path / "drawn.csv")).frame) == 20


@pytest.mark.parametrize(
    "name", ["another chance in one row", "no judge", "phase is '1e400'", "no pick", "lists within lists"]
)
def test_a_command_says_so_in_one_line(name, tmp_path, capsys):
    """The exit code is 2, and nobody sees a traceback."""
    kept, change = REFUSED[name]
    path = written(change(rows_of(kept)), tmp_path / "todo.csv")
    scores = tmp_path / "scores.csv"
    scores.write_text(
        "prompt_id,candidate,judge_score,oracle_label\n"
        + "".join(f"p{x},c{y},{(x * y) % 3},{y % 2}\n" for x in range(9) for y in range(3))
    )
    done = typed(capsys, "audit", scores, "--design", path)
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.splitlines()) <= 2
    assert "todo.csv" in done.err
    assert "Traceback" not in done.err
