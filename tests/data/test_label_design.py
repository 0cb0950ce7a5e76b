from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bonwise.errors import ColumnError, InputError, RowError
from bonwise.table.label_design import LabelDesign

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
    names=st.lists(IDS.filter(lambda name: name.strip() == name), min_size=2, max_size=5, unique=True),
    data=st.data(),
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
