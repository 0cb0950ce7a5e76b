from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bonwise.errors import RowError
from bonwise.table.cell_scores import candidate_propensities, differ_within_prompts, propensities
from bonwise.table.opening import join_labels
from bonwise.table.panel import lay_out
from bonwise.table.score_table import ScoreTable

CHANCES = [0.2, 0.9, 0.5, 0.5]


def frame(chances=CHANCES, judge="first"):
    """Lay two prompts of two candidates out, one label missing."""
    return pd.DataFrame(
        {
            "prompt_id": ["p", "p", "q", "q"],
            "candidate": ["b", "a", "a", "b"],
            "judge": judge,
            "judge_score": [0.1, 0.4, 0.3, 0.2],
            "oracle_label": [1.0, np.nan, 0.0, 1.0],
            "propensity": chances,
        }
    )


def of_cells(rows):
    """Return propensities by prompt and candidate, of the first judge."""
    table = ScoreTable.from_frame(rows)
    panel = lay_out(table)[0]
    found = candidate_propensities(table, panel)
    prompts = np.repeat(panel.prompt_ids, panel.sizes)
    return dict(zip(zip(prompts, panel.candidates[panel.names], strict=True), found.tolist(), strict=True))


def test_each_candidate_has_its_own():
    """Propensities find their candidates in whatever order the rows stand, and judges of one table share them."""
    expected = {("p", "b"): 0.2, ("p", "a"): 0.9, ("q", "a"): 0.5, ("q", "b"): 0.5}
    both = pd.concat([frame(), frame(judge="second")], ignore_index=True)
    for rows in (frame(), frame().iloc[[3, 1, 0, 2]], both):
        assert of_cells(rows) == expected


@pytest.mark.parametrize(("chances", "differ"), [(CHANCES, True), ([0.2, 0.2, 0.5, 0.5], False)])
def test_they_are_of_candidates_where_some_prompt_has_two(chances, differ):
    """A column that is alike in each prompt is of prompts, whatever other prompts state."""
    assert differ_within_prompts(ScoreTable.from_frame(frame(chances))) is differ
    assert not differ_within_prompts(ScoreTable.from_frame(frame().drop(columns="propensity")))


def test_a_candidate_without_one_is_refused():
    """Every candidate needs a propensity, also one without a label, and the first that lacks it is named."""
    with pytest.raises(RowError, match="'p' / 'a' has no propensity"):
        of_cells(frame([0.2, np.nan, 0.5, 0.4]))


def test_a_candidate_with_two_is_refused():
    """Rows of one candidate that state different propensities are refused, and it is named."""
    other = frame([0.2, 0.8, 0.5, 0.5], judge="second")
    with pytest.raises(RowError, match="'p' / 'a' state two propensities"):
        of_cells(pd.concat([frame(), other], ignore_index=True))


def test_propensities_of_prompts_refuse_those_of_candidates():
    """What weighs prompts cannot use them, and says who can."""
    table = ScoreTable.from_frame(frame())
    panel = lay_out(table)[0]
    with pytest.raises(RowError, match="two propensities") as refused:
        propensities(table, panel.prompt_ids, np.array([True, True]))
    assert "bonwise audit" in str(refused.value.hint)


def test_a_label_file_states_them_for_each_candidate():
    """Rows with a blank label state the propensity of candidates that were not labelled."""
    rows = frame()
    scores = rows[["prompt_id", "candidate", "judge_score"]]
    labels = rows[["prompt_id", "candidate", "oracle_label", "propensity"]]
    table = join_labels(ScoreTable.from_frame(scores), labels)
    assert differ_within_prompts(table)
    assert table.frame["propensity"].tolist() == CHANCES
    of_labelled = join_labels(ScoreTable.from_frame(scores), labels.dropna().assign(propensity=[0.2, 0.4, 0.5]))
    assert np.isnan(of_labelled.frame["propensity"].to_numpy()).tolist() == [False, True, False, False]
