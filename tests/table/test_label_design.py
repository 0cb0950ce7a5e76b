"""Designs of draws and their records, also those that somebody has tampered with."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bonwise.errors import ColumnError, InputError, RowError
from bonwise.studies.label_strategy.judged_pairs import PairRecord
from bonwise.table.label_design import LabelDesign
from cli.commands import typed

IDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12)
ROWS = {
    "prompt_id": ["p", "q"],
    "phase": [1, 0],
    "propensity": [0.5, 0.5],
    "stratum": [0, 0],
    "seed": [7, 7],
    "rule": ["rule", "rule"],
    "judge": ["j", "j"],
}


def written(tmp_path, **columns):
    """Write a design of two prompts, some columns changed, or left out where None."""
    frame = pd.DataFrame({name: cells for name, cells in (ROWS | columns).items() if cells is not None})
    frame.to_csv(tmp_path / "todo.csv", index=False)
    return tmp_path / "todo.csv"


def test_a_design_is_read(tmp_path):
    """Every field stands as it was written."""
    found = LabelDesign.read(written(tmp_path))
    assert found.prompt_ids.tolist() == ["p", "q"]
    assert (found.rule, found.seed, found.judge, found.by_candidate) == ("rule", 7, "j", False)
    assert found.drawn.tolist() == [True, False]
    assert found.propensity.tolist() == [0.5, 0.5]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    names=st.lists(IDS.filter(lambda name: name.strip() == name), min_size=2, max_size=5, unique=True), data=st.data()
)
def test_a_design_survives_the_round_trip(tmp_path, names, data):
    """Whatever the ids are, what was written is read."""
    blank = {"", "nan", "none", "null", "na", "n/a", "<na>"}
    names = [name for name in names if name.strip().lower() not in blank and not name.endswith(".0")]
    names = [name for name in names if name.splitlines() == [name]] or ["p"]
    phase = np.array([data.draw(st.integers(0, 2)) for _ in names])
    phase = np.where(np.arange(len(names)) == 0, 1, phase)
    stratum = np.arange(len(names)) // 2
    propensity = (np.bincount(stratum, phase > 0) / np.bincount(stratum))[stratum]
    both = names, [f"{name}!" for name in names]
    picks, others = ([name * int(drawn) for name, drawn in zip(one, phase > 0, strict=True)] for one in both)
    last = int(phase.max()) + 1
    seeds = np.where(phase == 1, 2, last)
    design = LabelDesign(pd.Index(names), phase, propensity, stratum, "pair", last, "j", picks, others, seeds=seeds)
    design.write(tmp_path / "todo.csv")
    read = LabelDesign.read(tmp_path / "todo.csv")
    at = read.prompt_ids.get_indexer(design.prompt_ids)
    assert (at >= 0).all()
    assert read.phase[at].tolist() == phase.tolist()
    assert read.propensity[at].tolist() == propensity.tolist()
    assert [read.picks[x] for x in at] == picks
    assert read.stratum[at].tolist() == stratum.tolist()


def test_drawn_prompts_stand_first(tmp_path):
    """The file begins with what is to be labelled."""
    LabelDesign.read(written(tmp_path, phase=[0, 1])).write(tmp_path / "again.csv")
    assert pd.read_csv(tmp_path / "again.csv")["prompt_id"].tolist() == ["q", "p"]


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ({"propensity": [0, 0.5]}, RowError, "row 2: a propensity of 0"),
        ({"propensity": [0.5, 1.5]}, RowError, "row 3: a propensity of 1.5"),
        ({"propensity": [-0.1, 0.5]}, RowError, "row 2: a propensity of -0.1"),
        ({"propensity": [None, 0.5]}, RowError, "row 2: a propensity of nan"),
        ({"propensity": ["half", 0.5]}, RowError, "which is not a number"),
        ({"rule": ["best", "best"]}, InputError, "unknown rule 'best'"),
        ({"rule": ["rule", "uniform"]}, InputError, "rule holds 'rule' and 'uniform'"),
        ({"judge": ["j", "k"]}, InputError, "judge holds 'j' and 'k'"),
        ({"prompt_id": ["p", "p"]}, RowError, "row 3: 'p' is in the design twice"),
        ({"phase": [1, -1]}, RowError, "row 3: phase is"),
        ({"phase": [1, 0.5]}, RowError, "row 3: phase is"),
        ({"seed": [None, 7]}, RowError, "row 2: seed is"),
        ({"rule": ["pick", "pick"]}, ColumnError, "no column named 'pick'"),
        *(({name: None}, ColumnError, f"no column named '{name}'") for name in ROWS),
    ],
)
def test_what_is_no_design_is_refused(tmp_path, columns, error, words):
    """One line says which row or column, and what is wrong with it."""
    with pytest.raises(error, match=words):
        LabelDesign.read(written(tmp_path, **columns))


def test_a_prompt_that_no_draw_could_take_has_propensity_0(tmp_path):
    """0 stands for a prompt that was not drawn, and for such a one alone."""
    path = written(tmp_path, propensity=[1, 0], stratum=[0, 1])
    assert LabelDesign.read(path).propensity.tolist() == [1, 0]


def order_of(design):
    """Return the names in the order of labelling."""
    return design.frame()["prompt_id"].tolist()


def drawn_alike(names, phase=None, seed=5, seeds=()):
    """Return a design that drew all of the prompts."""
    n = len(names)
    phases = np.ones(n, dtype=np.int64) if phase is None else np.asarray(phase)
    given = {"seeds": np.asarray(seeds)} if len(seeds) else {}
    zeros = np.zeros(n, dtype=np.int64)
    return LabelDesign(pd.Index(names, dtype=object), phases, np.ones(n), zeros, "rule", seed, "j", **given)


def test_drawn_prompts_are_labelled_in_a_random_order():
    """Every prompt comes first for about as many seeds: 4 prompts, 400 seeds, within four standard errors."""
    firsts = [order_of(drawn_alike(list("abcd"), seed=seed))[0] for seed in range(400)]
    for name in "abcd":
        assert abs(firsts.count(name) / 400 - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 400)


def test_the_order_of_labelling_does_not_depend_on_the_order_of_the_prompts():
    """A design read back, or of a shuffled table, is labelled in the same order."""
    names = [f"p{x}" for x in range(30)]
    assert order_of(drawn_alike(names)) == order_of(drawn_alike(names[::-1]))


def test_a_later_phase_leaves_the_order_of_the_first():
    """Prompts of the first phase stand as they stood before, whatever the seed of the second."""
    names = [f"p{x:02d}" for x in range(30)]
    phase = np.repeat([1, 2], [12, 18])
    before = order_of(drawn_alike(names, np.where(phase == 1, 1, 0), seed=5))
    after = order_of(drawn_alike(names, phase, seed=9, seeds=np.where(phase == 1, 5, 9)))
    assert after[:12] == before[:12]
    assert after[12:] != sorted(after[12:])


def test_each_row_has_the_seed_of_its_phase(tmp_path):
    """The file is read back as it was written, and the seed of the design is that of the last phase."""
    read = LabelDesign.read(written(tmp_path, phase=[1, 2], seed=[7, 3], propensity=[1, 1]))
    assert read.seed == 3
    assert read.seeds.tolist() == [7, 3]
    assert sorted(read.frame()["seed"]) == [3, 7]


def test_a_phase_with_two_seeds_is_refused(tmp_path):
    """A phase is one draw."""
    with pytest.raises(InputError, match="phase 1 has the seeds 3 and 7"):
        LabelDesign.read(written(tmp_path, phase=[1, 1], seed=[7, 3]))


# Records of draws that somebody has tampered with.


KEPT = Path(__file__).parent / "kept"
DESIGNS = ("neyman.csv", "stratified.csv", "pair.csv")
PAIRS = "todo.drawn.csv"


def rows_of(name):
    """Return the cells of a kept record, its header first."""
    return list(csv.reader((KEPT / name).read_text(encoding="utf-8").splitlines()))


def written_of_records(rows, path):
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
    refused(LabelDesign.read, written_of_records(change(rows_of(kept)), tmp_path / "todo.csv"))


@pytest.mark.parametrize("name", REFUSED_PAIRS)
def test_a_tampered_record_of_pairs_is_refused(name, tmp_path):
    """What makes no sense is refused in one line."""
    refused(PairRecord.read, written_of_records(REFUSED_PAIRS[name](rows_of(PAIRS)), tmp_path / "drawn.csv"))


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
    mine = LabelDesign.read(written_of_records(change(rows_of(kept)), tmp_path / "todo.csv")).frame()
    known = LabelDesign.read(KEPT / kept).frame()
    assert mine.drop(columns="propensity").equals(known.drop(columns="propensity"))
    assert (mine["propensity"] - known["propensity"]).abs().max() < 1e-8


def test_minimal_pairs_are_read(tmp_path):
    """A record of other origin needs ids, candidates and weights."""
    rows = without("gap_of")(without("gap")(without("stratum")(without("seed")(rows_of(PAIRS)))))
    assert len(PairRecord.read(written_of_records(rows, tmp_path / "drawn.csv")).frame) == 20


@pytest.mark.parametrize(
    "name", ["another chance in one row", "no judge", "phase is '1e400'", "no pick", "lists within lists"]
)
def test_a_command_says_so_in_one_line(name, tmp_path, capsys):
    """The exit code is 2, and nobody sees a traceback."""
    kept, change = REFUSED[name]
    path = written_of_records(change(rows_of(kept)), tmp_path / "todo.csv")
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
