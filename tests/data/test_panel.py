from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import InputError, RowError, UsageError
from bonwise.table.panel import PromptLeftOut, lay_out
from bonwise.table.score_table import ScoreTable


def table(pools, judge=None, **columns):
    """Return a table of pools, a mapping of prompt to candidate names; scores count up."""
    rows = [(prompt, name) for prompt, names in pools.items() for name in names]
    frame = pd.DataFrame(rows, columns=["prompt_id", "candidate"])
    frame["judge_score"] = np.arange(len(frame)) / 8
    frame["oracle_label"] = np.arange(len(frame))[::-1] / 4
    return ScoreTable.from_frame(frame.assign(**columns))


def hundred(common, odd, count):
    """Return a hundred pools of one set of names, but for a few odd ones."""
    return {f"p{i:03}": (odd if i < count else common) for i in range(100)}


@pytest.mark.parametrize(("odd", "shape"), [(0, "rectangular"), (10, "rectangular"), (11, "ragged")])
def test_a_table_is_rectangular_from_nine_tenths(odd, shape):
    """From 90 % of prompts with the same names on, a prompt with others is an accident; below, a pool."""
    (panel,) = lay_out(table(hundred("abc", "ab", odd)))
    assert panel.shape == shape
    assert len(panel.prompt_ids) == (100 - odd if shape == "rectangular" else 100)
    assert len(panel.prompt_ids) + len(panel.dropped) == 100


@pytest.mark.parametrize(
    ("common", "odd", "reason"),
    [
        ("abc", "ab", "lacks c"),
        ("abc", "c", "lacks a, b"),
        ("ab", "a", "lacks b"),
        ("abc", "abcx", "has extra x"),
        ("abc", "abx", "lacks c"),
        ("ab", "bayx", "has extra x, y"),
    ],
)
def test_a_rectangular_table_says_what_a_prompt_lacks(common, odd, reason):
    """In a rectangular table the reason names what is lacking, or else what is extra."""
    (panel,) = lay_out(table(hundred(common, odd, 2)))
    assert panel.dropped == (PromptLeftOut("p000", reason), PromptLeftOut("p001", reason))


def test_a_long_reason_counts_its_names():
    """A prompt that lacks hundreds of candidates names the first few and counts the others."""
    names = [f"c{i:03}" for i in range(1000)]
    (panel,) = lay_out(table({**{f"p{i}": names for i in range(10)}, "q": names[:2]}))
    assert panel.dropped[0].reason == "lacks c002, c003, c004, c005, c006, c007, c008, c009 and 990 more"


def test_a_single_candidate_is_no_pool():
    """In a ragged table a prompt with one candidate is dropped: there is nothing to choose."""
    (panel,) = lay_out(table({"p": "ab", "q": "a", "r": "xyz"}))
    assert (panel.shape, panel.dropped) == ("ragged", (PromptLeftOut("q", "one candidate"),))
    assert panel.sizes.tolist() == [2, 3]


def test_single_candidates_never_make_the_shape():
    """However many prompts have the same one candidate, the prompts with a choice are kept."""
    (panel,) = lay_out(table(hundred("a", "ab", 5)))
    assert (panel.shape, len(panel.prompt_ids), len(panel.dropped)) == ("ragged", 5, 95)
    (panel,) = lay_out(table(hundred("a", "ab", 5)), shape="rectangular")
    assert (len(panel.prompt_ids), {d.reason for d in panel.dropped}) == (5, {"lacks b"})


@pytest.mark.parametrize("pools", [{"p": "a", "q": "a"}, {"p": "a", "q": "b"}])
@pytest.mark.parametrize("shape", [None, "rectangular", "ragged"])
def test_a_table_without_a_choice_is_refused(pools, shape):
    """A table where no prompt has two candidates is refused, whatever shape is forced."""
    with pytest.raises(InputError, match="table: no prompt has two candidates"):
        lay_out(table(pools), shape=shape)


def test_a_shape_can_be_forced():
    """A forced shape is taken against the nine tenths."""
    mixed = table({"p": "abc", "q": "ab", "r": "ab"})
    (panel,) = lay_out(mixed, shape="rectangular")
    assert (panel.shape, panel.dropped) == ("rectangular", (PromptLeftOut("p", "has extra c"),))
    (panel,) = lay_out(table(hundred("abc", "ab", 1)), shape="ragged")
    assert (panel.shape, len(panel.prompt_ids), panel.dropped) == ("ragged", 100, ())


@pytest.mark.parametrize("order", [["p", "q"], ["q", "p"]])
def test_of_equally_common_sets_the_largest_is_usual(order):
    """Forced to be rectangular, a table of two equally common sets keeps the larger, in any order."""
    pools = {"p": "ab", "q": "abc"}
    (panel,) = lay_out(table({name: pools[name] for name in order}), shape="rectangular")
    assert panel.dropped == (PromptLeftOut("p", "lacks c"),)


def test_excluded_names_are_left_out_first():
    """An excluded candidate is gone before shapes are taken, and a prompt of nothing else is listed."""
    pools = {"p": "abu", "q": "ab", "r": "u", "s": "au"}
    (panel,) = lay_out(table(pools), exclude=["u"], shape="ragged")
    assert panel.dropped == (PromptLeftOut("r", "no candidate left"), PromptLeftOut("s", "one candidate"))
    assert panel.scores.tolist() == [0, 1 / 8, 3 / 8, 4 / 8]


def test_an_unknown_name_to_exclude_is_refused():
    """Excluding a name nobody has is a typing error; the names are listed."""
    with pytest.raises(UsageError, match=r"no candidate named 'x' to leave out \(the candidates are a, b\)"):
        lay_out(table({"p": "ab"}), exclude=["a", "x"])


def test_excluding_everything_is_refused():
    """With every candidate excluded there is no table left."""
    with pytest.raises(InputError, match="no prompt has two candidates"):
        lay_out(table({"p": "ab"}), exclude=["a", "b"])


@pytest.mark.parametrize("size", [2, 3, 30, 1000])
def test_pools_of_any_size_are_laid_out(size):
    """Best of n works from 2 to 1,000 candidates, cells grouped by prompt and sorted by name."""
    names = [f"c{i:04}" for i in range(size)]
    (panel,) = lay_out(table({"p": names, "q": names[::-1]}))
    assert panel.sizes.tolist() == [size, size]
    assert panel.candidates[panel.names].tolist() == names * 2
    np.testing.assert_array_equal(panel.scores * 8, [*range(size), *range(2 * size - 1, size - 1, -1)])


def test_a_blank_score_drops_its_prompt_for_that_judge_alone():
    """A prompt with an unscored candidate is dropped with its name, and only where the judge left it out."""
    frame = pd.concat([table({"p": "abc", "q": "abc"}).frame.assign(judge=judge) for judge in ("one", "two")])
    frame.loc[(frame["judge"] == "one") & (frame["prompt_id"] == "p"), "judge_score"] = [np.nan, 1, np.nan]
    frame = frame[~((frame["judge"] == "two") & (frame["prompt_id"] == "q") & (frame["candidate"] == "b"))]
    one, two = lay_out(ScoreTable.from_frame(frame))
    assert one.dropped == (PromptLeftOut("p", "no score for a, c"),)
    assert two.dropped == (PromptLeftOut("q", "no score for b"),)


def test_draws_are_averaged():
    """Several scores of one candidate by one judge are averaged, blanks left out."""
    frame = pd.DataFrame(
        {
            "prompt_id": "p",
            "candidate": list("aaabbb"),
            "draw": [1, 2, 3] * 2,
            "judge_score": [0.25, 0.75, None, None, None, None],
        }
    )
    with pytest.raises(InputError):
        lay_out(ScoreTable.from_frame(frame[:3]))
    (panel,) = lay_out(ScoreTable.from_frame(frame))
    assert panel.dropped == (PromptLeftOut("p", "no score for b"),)
    frame.loc[3, "judge_score"] = 1.0
    (panel,) = lay_out(ScoreTable.from_frame(frame))
    assert panel.scores.tolist() == [0.5, 1.0]


def test_a_label_may_be_repeated_but_not_contradicted():
    """Rows of one candidate may repeat its label, or leave it blank; two labels are refused with the row."""
    frame = pd.DataFrame(
        {
            "prompt_id": "p",
            "candidate": list("abab"),
            "judge": list("xxyy"),
            "judge_score": [1, 2, 3, 4],
            "oracle_label": [1e15 + 0.1, None, 1e15 + 0.1, 0.5],
        }
    )
    for panel in lay_out(ScoreTable.from_frame(frame)):
        assert panel.labels.tolist() == [1e15 + 0.1, 0.5]
    frame.loc[2, "oracle_label"] = 7
    with pytest.raises(RowError, match=r"table, row 2: 'p' / 'a' carries two different oracle labels \(give"):
        lay_out(ScoreTable.from_frame(frame))


@st.composite
def ragged(draw):
    """Draw a ragged table of several judges, with blanks, draws and labels."""
    cells = draw(
        st.lists(st.tuples(st.sampled_from("pqrstu"), st.sampled_from("abcd")), min_size=1, max_size=24, unique=True)
    )
    score = st.none() | st.sampled_from([0.1, 0.2, 0.3, 0.7, 1.0])
    rows = [
        {"prompt_id": p, "candidate": c, "judge": j, "draw": d, "judge_score": draw(score), "oracle_label": label}
        for p, c in cells
        for label in [draw(score)]
        for j in draw(st.sets(st.sampled_from("xyz"), min_size=1))
        for d in range(draw(st.integers(1, 3)))
    ]
    return pd.DataFrame(rows)


SHAPES = st.sampled_from([None, "rectangular", "ragged"])


def panels_of(frame, exclude=(), shape=None):
    """Lay out a frame; None where it holds no choice."""
    made = ScoreTable.from_frame(frame)
    if set(exclude) <= set(made.candidates):
        left = frame[~frame["candidate"].isin(exclude)]
        if (left.groupby("prompt_id")["candidate"].nunique() >= 2).any():
            return lay_out(made, exclude=exclude, shape=shape)
    with pytest.raises((InputError, UsageError)):
        lay_out(made, exclude=exclude, shape=shape)
    return None


@given(ragged(), SHAPES, st.sampled_from([(), ("a",), ("a", "b")]))
def test_no_prompt_is_dropped_in_silence(frame, shape, exclude):
    """For each judge every prompt is either kept or listed with a reason, once, and kept ones are complete."""
    panels = panels_of(frame, exclude, shape)
    if panels is None:
        return
    for panel in panels:
        listed = [dropped.prompt_id for dropped in panel.dropped]
        assert sorted([*panel.prompt_ids, *listed]) == sorted(set(frame["prompt_id"]))
        assert all(dropped.reason for dropped in panel.dropped)
        assert (panel.sizes >= 2).all()
        assert panel.sizes.sum() == len(panel.scores) == len(panel.labels) == len(panel.names)
        assert not np.isnan(panel.scores).any()


@given(ragged(), SHAPES)
def test_a_panel_equals_its_plain_loop(frame, shape):
    """Cell by cell a panel holds the mean of the rows of the frame and their label."""
    for panel in panels_of(frame, shape=shape) or ():
        owners = np.repeat(panel.prompt_ids.to_numpy(), panel.sizes)
        for owner, name, score, label in zip(owners, panel.names, panel.scores, panel.labels, strict=True):
            cell = frame[(frame["prompt_id"] == owner) & (frame["candidate"] == panel.candidates[name])]
            mine = cell.loc[cell["judge"] == panel.judge, "judge_score"].astype(float).dropna()
            assert score == pytest.approx(mine.mean(), rel=1e-12)
            assert {label} == set(cell["oracle_label"].dropna()) or np.isnan(label)


@given(ragged(), st.randoms(use_true_random=False))
def test_order_changes_nothing(frame, random):
    """Shuffled rows and columns give the same panels, to the last bit."""
    rows, columns = list(range(len(frame))), list(frame)
    random.shuffle(rows)
    random.shuffle(columns)
    first, second = panels_of(frame), panels_of(frame.iloc[rows][columns])
    assert (first is None) == (second is None)
    for one, other in zip(first or (), second or (), strict=True):
        assert (one.judge, one.shape, one.dropped) == (other.judge, other.shape, other.dropped)
        assert list(one.prompt_ids) == list(other.prompt_ids)
        for part in ("sizes", "names", "scores", "labels"):
            assert getattr(one, part).tobytes() == getattr(other, part).tobytes()


def test_kept_prompts_carry_their_cells():
    """A panel of some prompts holds their cells, and the reasons of the others behind those it had."""
    (panel,) = lay_out(table({"p": "ab", "q": "abc", "r": "ab", "s": "a"}))
    part = panel.keep(np.array([False, True, True]), [PromptLeftOut("p", "unlabelled")])
    assert part.scores.tolist() == panel.scores[2:].tolist()
    assert part.dropped == (PromptLeftOut("s", "one candidate"), PromptLeftOut("p", "unlabelled"))
    assert part.labelled_cells.tolist() == [3, 2]
    assert part.keep(np.array([False, False])).labelled_cells.tolist() == []
