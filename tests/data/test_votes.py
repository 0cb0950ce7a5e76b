from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bonwise.errors import BonwiseError, ColumnError, InputError, RowError, UsageError
from bonwise.table.votes import TIES, VoteTable, tie_value


def votes(rows, **asked):
    """Read rows of two models, a verdict and a prompt."""
    frame = pd.DataFrame(rows, columns=["left", "right", "won", "q"])
    return VoteTable.read(frame, **{"verdict": "won", "pair": ["left", "right"], "prompt": ["q"], **asked})


TURNED = {
    "A>>B": "B>>A",
    "B>A": "A>B",
    "left": "right",
    "[[B]]": "[[A]]",
    "1": "2",
    "2": "1",
    "tie": "tie",
    "A=B": "B=A",
    "both bad": "both bad",
    "": "",
    "model_b": "model_a",
}
ROWS = [
    ("b", "a", "model_a", 1),
    ("a", "b", "2", 1),
    ("a", "b", "A", 2),
    ("b", "c", "tie", 2),
    ("c", "a", "second", 3),
]


def test_the_second_model_is_the_alphabetically_second_one():
    """A vote counts for the second model in alphabetical order, whichever column it stood in."""
    table = votes(ROWS)
    assert table.models == ("a", "b", "c")
    named = [(table.models[a], table.models[b]) for a, b in zip(table.first, table.second, strict=True)]
    assert named == [("a", "b"), ("a", "b"), ("a", "b"), ("b", "c"), ("a", "c")]
    assert table.preferred.tolist() == [1, 1, 0, 0.5, 0]
    assert len(set(table.prompt.tolist())) == 3


def test_turning_the_columns_round_changes_nothing():
    """Naming the columns the other way, each verdict turned with them, gives the same votes."""
    turn = {"model_a": "model_b", "2": "1", "A": "B", "tie": "tie", "second": "first"}
    turned = votes([(right, left, turn[won], q) for left, right, won, q in ROWS])
    assert turned.preferred.tolist() == votes(ROWS).preferred.tolist()
    assert turned.first.tolist() == votes(ROWS).first.tolist()


@given(
    st.lists(
        st.tuples(
            st.sampled_from([("m", "n"), ("n", "o"), ("o", "m")]), st.sampled_from(sorted(TURNED)), st.booleans()
        ),
        min_size=1,
        max_size=40,
    )
)
def test_swapping_the_sides_of_any_rows_changes_no_vote(rows):
    """Each row may name its two models the other way round, its verdict turned, in any of the spellings."""
    assume(any(word for _, word, _ in rows))
    plain = votes([(*pair, word, at) for at, (pair, word, _) in enumerate(rows)])
    some = [
        (*pair[::-1], TURNED[word], at) if swap else (*pair, word, at) for at, (pair, word, swap) in enumerate(rows)
    ]
    swapped = votes(some)
    assert swapped.preferred.tolist() == plain.preferred.tolist()
    assert (swapped.first.tolist(), swapped.second.tolist()) == (plain.first.tolist(), plain.second.tolist())
    assert (swapped.models, swapped.dropped) == (plain.models, plain.dropped)


@pytest.mark.parametrize(
    ("ties", "values"), [("drop", [1, 1, 0, 0]), ("half", None), ("pessimistic", [1, 1, 0, 1, 0])]
)
def test_ties_count_as_asked(ties, values):
    """Left out and counted, half for each side, or for the second model."""
    table = votes(ROWS).under(ties)
    assert table.preferred.tolist() == (values or [1, 1, 0, 0.5, 0])
    assert table.dropped == ({"tie": 1} if ties == "drop" else {})


def test_ties_are_never_counted_silently():
    """Votes with ties and no way to count them are refused in one line that names the three ways."""
    with pytest.raises(UsageError) as refused:
        votes(ROWS).under(None)
    assert "1 of 5 votes are ties" in str(refused.value)
    assert all(way in str(refused.value) for way in TIES)
    assert "\n" not in str(refused.value)
    clear = votes(ROWS[:3])
    assert clear.under(None) is clear
    with pytest.raises(InputError, match="every vote is a tie"):
        votes([("a", "b", "tie", 1)]).under("drop")


def test_rows_left_out_are_counted():
    """A blank verdict and a model against itself are left out, each with its reason."""
    table = votes([*ROWS, ("a", "b", "", 4), ("a", "a", "tie", 4), ("a", "a", None, 4)])
    assert table.dropped == {"no verdict": 2, "a model against itself": 1}
    assert len(table.preferred) == 5


def test_without_a_prompt_column_every_vote_is_its_own():
    """Votes without a named prompt share none."""
    table = votes(ROWS, prompt=[])
    assert not table.prompts_named
    assert table.prompt.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("rows", "asked", "kind", "word"),
    [
        (ROWS, {"pair": ["left"]}, UsageError, "two models"),
        (ROWS, {"pair": ["left", "left"]}, UsageError, "two models"),
        (ROWS, {"verdict": "nobody"}, ColumnError, "nobody"),
        ([("a", "b", "perhaps", 1)], {}, RowError, "perhaps"),
        ([("a", "", "tie", 1)], {}, RowError, "no model"),
        ([("a", "b", "", 1)], {}, InputError, "no row holds a vote"),
        ([("a", "a", "tie", 1)], {}, ColumnError, "one model alone"),
    ],
)
def test_what_is_no_vote_is_refused(rows, asked, kind, word):
    """Each misuse is refused with what is wrong and how to mend it."""
    with pytest.raises(kind, match=word) as refused:
        votes(rows, **asked)
    assert isinstance(refused.value, BonwiseError)
    assert refused.value.hint


def test_an_unknown_way_to_count_ties_is_refused():
    """A way to count ties that does not exist is refused, the three named."""
    with pytest.raises(UsageError, match="optimistic"):
        votes(ROWS).under("optimistic")


@pytest.mark.shared
def test_the_mt_bench_votes(shared):
    """3,355 votes on 15 pairs of 6 models for 80 questions, 780 of them ties."""
    table = VoteTable.read(
        shared / "data" / "mt_bench_human.csv",
        verdict="winner",
        pair=["model_a", "model_b"],
        prompt=["question_id"],
    )
    assert (len(table.preferred), int(table.ties.sum()), len(table.models)) == (3355, 780, 6)
    assert len(np.unique(table.first * 6 + table.second)) == 15
    assert len(np.unique(table.prompt)) == 80


def test_what_a_tie_counts_for_the_first():
    """Left out, half, or against the first; a way that does not exist is refused."""
    assert np.isnan(tie_value("drop"))
    assert (tie_value("half"), tie_value("pessimistic")) == (0.5, 0.0)
    with pytest.raises(UsageError, match="optimistic"):
        tie_value("optimistic")
