from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bonwise.data.label_design import LabelDesign
from bonwise.errors import ColumnError, InputError, RowError

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
    propensity = np.array([data.draw(st.floats(1e-6, 1)) for _ in names])
    design = LabelDesign(pd.Index(names), phase, propensity, np.arange(len(names)), "pair", 3, "j", names, names)
    design.write(tmp_path / "todo.csv")
    read = LabelDesign.read(tmp_path / "todo.csv")
    at = read.prompt_ids.get_indexer(design.prompt_ids)
    assert (at >= 0).all()
    assert read.phase[at].tolist() == phase.tolist()
    assert read.propensity[at].tolist() == propensity.tolist()
    assert [read.picks[x] for x in at] == names
    assert read.stratum[at].tolist() == list(range(len(names)))


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
        ({"propensity": ["half", 0.5]}, RowError, "which is no number"),
        ({"rule": ["best", "best"]}, InputError, "unknown rule 'best'"),
        ({"rule": ["rule", "uniform"]}, InputError, "rule holds 'rule' and 'uniform'"),
        ({"judge": ["j", "k"]}, InputError, "judge holds 'j' and 'k'"),
        ({"prompt_id": ["p", "p"]}, RowError, "row 3: 'p' stands in the design twice"),
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
    assert LabelDesign.read(written(tmp_path, propensity=[0.5, 0])).propensity.tolist() == [0.5, 0]
