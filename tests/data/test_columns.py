from __future__ import annotations

import itertools

import pandas as pd
import pytest

from bonwise.data.columns import resolve_columns
from bonwise.data.roles import COLUMN_FLAGS, ROLES
from bonwise.data.table import ScoreTable
from bonwise.errors import ColumnError, UsageError

ALIASES = {
    "prompt_id": ["item_id", "id", "case_id", "question_id", "original_id"],
    "candidate": ["policy", "target_policy", "model", "provider_id", "policy_id", "policy_name", "variant"],
    "judge_score": ["score", "verdict", "judge_label"],
    "oracle_label": ["gold", "human", "label", "human_label", "human_rating"],
    "draw": ["run", "sample_index"],
    "propensity": ["label_propensity"],
}
BASE = {"prompt_id": ["p", "p"], "candidate": ["a", "b"], "judge_score": [0.5, 1.0]}


def taken(columns, overrides=None, required=()):
    """Resolve the columns of a small frame."""
    return resolve_columns(pd.DataFrame(columns), overrides or {}, source="t", required=required)


@pytest.mark.parametrize(("role", "alias"), [(r, a) for r, names in ALIASES.items() for a in names])
def test_an_alias_stands_in_for_an_absent_column(role, alias):
    """Each documented alias is taken when the canonical column is absent, and only then."""
    assert taken({alias: [1, 2]}) == {role: alias}
    assert taken({alias: [1, 2], role: [3, 4]}) == {role: role}
    assert taken({alias: [1, 2], role: [None, None]}) == {role: role}


@pytest.mark.parametrize("alias", ALIASES["judge_score"] + ALIASES["oracle_label"])
def test_an_alias_of_words_is_no_number(alias):
    """A column of words does not fit a role of numbers; blanks and truth values do not spoil the fit."""
    assert taken({alias: ["good", "1"]}) == {}
    assert alias in taken({alias: ["", "1"]}).values()
    assert alias in taken({alias: [True, None]}).values()


def test_of_two_aliases_the_one_that_fits_is_taken():
    """Words in one alias leave the other as the only one that fits."""
    assert taken({"label": ["good", "bad"], "human": [1, 0]}) == {"oracle_label": "human"}


@pytest.mark.parametrize("role", ALIASES)
def test_two_columns_that_fit_are_refused(role):
    """Two aliases that fit one role are refused, both named, with the flag that settles it."""
    for first, second in itertools.pairwise(ALIASES[role]):
        with pytest.raises(ColumnError) as caught:
            taken({first: [1, 2], second: [1, 2]})
        assert f"t: {first!r} and {second!r} both fit {role}" in str(caught.value)
        assert str(COLUMN_FLAGS.get(role, "rename")) in caught.value.hint
        assert taken({first: [1], second: [1]}, {role: second}) == {role: second}


def test_the_column_named_judge_is_always_a_name():
    """Numbers in a column named judge are names of judges, never scores."""
    assert taken({"judge": [0.5, 1.0]}) == {"judge": "judge"}
    with pytest.raises(ColumnError, match="no column for judge_score"):
        ScoreTable.from_frame(pd.DataFrame({"prompt_id": ["p"], "candidate": ["a"], "judge": [1.0]}))
    table = ScoreTable.from_frame(pd.DataFrame({**BASE, "judge": [1, 2.0]}))
    assert table.judges == ("1", "2")


def test_a_named_column_plays_no_second_role():
    """A column named by a flag is that and nothing else, though its name is canonical or an alias elsewhere."""
    frame = {"prompt_id": ["p"], "candidate": ["a"], "judge": [0.5], "label": [1]}
    found = taken(frame, {"judge_score": "judge"})
    assert found == {
        "prompt_id": "prompt_id",
        "candidate": "candidate",
        "judge_score": "judge",
        "oracle_label": "label",
    }
    assert taken(frame, {"judge_score": "label"})["judge_score"] == "label"
    assert "oracle_label" not in taken(frame, {"judge_score": "label"})
    table = ScoreTable.from_frame(pd.DataFrame(frame), columns={"judge_score": "judge"})
    assert table.judges == ("judge",)


def test_a_flag_overrides_the_canonical_column():
    """A named column is taken before the canonical one, which then plays no role."""
    table = ScoreTable.from_frame(pd.DataFrame({**BASE, "other": [7, 8]}), columns={"judge_score": "other"})
    assert table.frame["judge_score"].tolist() == [7, 8]


def test_a_named_column_must_be_there():
    """A flag that names an absent column is refused with the columns there are."""
    with pytest.raises(ColumnError, match=r"t: no column named 'x\\n' for candidate \(the columns are a, b\)"):
        taken({"a": [1], "b": [1]}, {"candidate": "x\n"})


def test_one_column_for_two_roles_is_refused():
    """A column named for two roles would audit a judge against itself."""
    with pytest.raises(ColumnError, match="'score' is named for both judge_score and oracle_label"):
        taken({"score": [1]}, {"judge_score": "score", "oracle_label": "score"})


def test_a_role_that_does_not_exist_is_refused():
    """A misspelt role is an error, not a column left out in silence."""
    with pytest.raises(UsageError, match="'score', which is not a role") as caught:
        taken({"score": [1]}, {"score": "score"})
    assert all(role in caught.value.hint for role in ROLES)


def test_words_are_never_strata():
    """Columns of words are left out; any other column without a role is a stratum."""
    words = {name: ["x", "y"] for name in ("prompt", "text", "raw", "response", "unscored")}
    table = ScoreTable.from_frame(pd.DataFrame({**BASE, **words, "topic": ["t", "t"], 5: [1, 2]}))
    assert table.strata == ("topic", "5")


def test_a_word_column_may_be_named_for_a_role():
    """A flag may give even a column of words a role."""
    frame = pd.DataFrame({"prompt": ["p", "p"], "response": ["a", "b"], "judge_score": [1, 2]})
    table = ScoreTable.from_frame(frame, columns={"prompt_id": "prompt", "candidate": "response"})
    assert list(table.candidates) == ["a", "b"]


def test_many_columns_are_not_all_listed():
    """A missing column lists the first dozen columns that are there and counts the others."""
    with pytest.raises(ColumnError, match="x11 and 88 more; "[:-2]):
        taken({f"x{i}": [1] for i in range(100)}, required=("prompt_id",))


def test_pools_are_told_from_scores(tmp_path):
    """A file of pools is named as what it is, with the command that scores it."""
    path = tmp_path / "pools.jsonl"
    path.write_text('{"prompt_id": "p", "prompt": "Say hi", "candidates": ["hi", "no"]}\n', encoding="utf-8")
    with pytest.raises(ColumnError, match="pools of candidates") as refused:
        ScoreTable.read(path)
    assert "bonwise judge" in refused.value.hint
