"""Tables of scores, and the panels that statistics are computed from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import InputError, RowError, UsageError
from bonwise.table.panel import PromptLeftOut, lay_out
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.scales import Scale
from bonwise.table.score_table import ScoreTable

FRAME = pd.DataFrame(
    {
        "prompt_id": list("qqpp"),
        "candidate": list("baba"),
        "judge_score": [1, 2, 3, 4],
        "oracle_label": [None, 1, 0, None],
    }
)
TWO = pd.concat([FRAME.assign(judge="x"), FRAME.assign(judge="y", judge_score=[0.5, 0.25, 0.0, 1.0])])


def test_a_table_says_what_it_holds():
    """Prompts, candidates and judges are sorted; rows keep their order and their numbers."""
    table = ScoreTable.from_frame(FRAME.set_axis(list("wxyz")))
    assert (list(table.prompts), list(table.candidates), table.judges) == (["p", "q"], ["a", "b"], ("judge",))
    assert table.frame.index.tolist() == [0, 1, 2, 3]
    assert table.has_labels
    assert repr(table) == "<ScoreTable: 4 rows, 2 prompts, 1 judges, 2 labelled>"


def test_rows_of_a_frame_are_counted_from_0():
    """Whatever index a frame carries and whatever it is called, its rows count from 0; it is left as it was."""
    frame = FRAME.set_axis([2, 3, 5, 6])
    before = frame.copy()
    for source in ("table", "s.csv"):
        assert ScoreTable.from_frame(frame, source=source).frame.index.tolist() == [0, 1, 2, 3]
    pd.testing.assert_frame_equal(frame, before)


def test_tables_and_audits_can_be_compared_and_kept_in_sets():
    """What holds arrays is itself alone, and never raises when it is compared."""
    one, two = ScoreTable.from_frame(FRAME), ScoreTable.from_frame(FRAME)
    assert one != two
    assert len({one, two}) == 2


@given(st.lists(st.tuples(st.sampled_from("pqr"), st.sampled_from("abc")), min_size=1, max_size=9))
def test_cell_keys_tell_cells_apart(pairs):
    """Two rows have one key exactly where prompt and candidate are the same."""
    frame = pd.DataFrame(pairs, columns=["prompt_id", "candidate"]).assign(judge_score=1, draw=range(len(pairs)))
    keys = ScoreTable.from_frame(frame).cell_keys().tolist()
    assert [a == b for a in keys for b in keys] == [a == b for a in pairs for b in pairs]


@given(st.lists(st.tuples(*map(st.sampled_from, ("pq", "ab", "xy", "12"))), min_size=1, max_size=8))
def test_exactly_the_repeated_rows_are_refused(rows):
    """A table is refused exactly when one judge scores one candidate twice in one draw, and names both rows."""
    frame = pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge", "draw"]).assign(judge_score=1)
    again = [at for at, row in enumerate(rows) if row in rows[:at]]
    if not again:
        assert len(ScoreTable.from_frame(frame).frame) == len(rows)
        return
    with pytest.raises(RowError) as caught:
        ScoreTable.from_frame(frame)
    first = max(at for at in range(again[0]) if rows[at] == rows[again[0]])
    assert f"row {again[0]}: " in str(caught.value)
    assert f"(first in row {first})" in str(caught.value)


def test_draws_count_the_most_scores_of_a_cell():
    """Draws count how often one judge scored one candidate at most, not how many names draws have."""
    assert ScoreTable.from_frame(FRAME).draws == 1
    frame = pd.concat([FRAME.assign(draw=f"run {i}", judge=judge) for i, judge in enumerate("xxy")])
    assert ScoreTable.from_frame(frame).draws == 2


def test_scales_map_scores_to_the_unit():
    """Declared scales map scores, intervals and labels to [0, 1]; a judge without one keeps its scores."""
    frame = TWO.assign(low=0, high=1).astype({"judge_score": float})
    frame.loc[frame["judge"] == "x", "high"] = 4
    table = ScoreTable.from_frame(frame, judge_scale={"x": Scale(0, 4)}, label_scale=Scale(0, 2))
    assert table.frame["judge_score"].tolist() == [0.25, 0.5, 0.75, 1, 0.5, 0.25, 0, 1]
    assert table.frame["high"].tolist() == [1] * 8
    np.testing.assert_array_equal(table.frame["oracle_label"][:4], [np.nan, 0.5, 0, np.nan])


def test_one_scale_serves_every_judge_not_named():
    """The scale of no name holds for each judge without one of its own."""
    scales = {"": Scale(0, 1), "x": Scale(0, 8)}
    table = ScoreTable.from_frame(TWO, judge_scale=scales)
    assert table.frame["judge_score"].tolist() == [0.125, 0.25, 0.375, 0.5, 0.5, 0.25, 0.0, 1.0]
    both = ScoreTable.from_frame(TWO, judge_scale=Scale(0, 4))
    assert both.frame["judge_score"].max() == 1


def test_a_judge_can_be_the_reference():
    """The reference's scores are the labels of the others, averaged over its draws, whatever labels there were."""
    frame = pd.concat(
        [TWO.assign(draw=1), TWO[TWO["judge"] == "y"].assign(draw=2, judge_score=[1.0, 0.25, 0.5, None])]
    )
    table = ScoreTable.from_frame(frame).with_reference("y")
    assert (table.judges, table.reference) == (("x",), "y")
    assert table.frame["oracle_label"].tolist() == [0.75, 0.25, 0.25, 1.0]
    assert table.frame["judge_score"].tolist() == [1, 2, 3, 4]


def test_what_the_reference_left_out_has_no_label():
    """A candidate the reference did not score is unlabelled; a prompt that only it scored is listed as dropped."""
    frame = TWO[~((TWO["judge"] == "y") & (TWO["candidate"] == "a"))]
    frame = pd.concat(
        [frame, pd.DataFrame({"prompt_id": ["z"], "candidate": ["a"], "judge": ["y"], "judge_score": [1]})]
    )
    table = ScoreTable.from_frame(frame).with_reference("y")
    np.testing.assert_array_equal(table.frame["oracle_label"], [0.5, np.nan, 0, np.nan])
    (panel,) = lay_out(table)
    assert [(d.prompt_id, d.reason) for d in panel.dropped] == [("z", "no candidate left")]


def test_a_reference_must_be_one_of_several_judges():
    """A reference that is not a judge, or the only one, is refused."""
    with pytest.raises(UsageError, match=r"no judge named 'z\\n' \(the judges are x, y\)"):
        ScoreTable.from_frame(TWO).with_reference("z\n")
    with pytest.raises(UsageError, match="'judge' is the only judge"):
        ScoreTable.from_frame(FRAME).with_reference("judge")


def test_scales_are_checked_judge_by_judge():
    """One judge on another scale than the labels is found behind another that is on theirs."""
    frame = TWO.assign(oracle_label=[0.5, 0.25, 0.1, 0.9] * 2, judge_score=[0, 1, 0, 1, 50, 60, 70, 80])
    with pytest.raises(RowError, match=r"row 4: scores of 'y' run to 80 but labels to 0\.9: another scale"):
        ScoreTable.from_frame(frame).check_scales()
    ScoreTable.from_frame(frame[:4]).check_scales()


def on_scales(labels, **judges):
    """Return 40 prompts of three candidates, labels and the scores of each judge on a scale of its own."""
    rng = np.random.default_rng(3)
    rows = []
    for judge, scale in judges.items():
        worth = np.random.default_rng(4).random((40, 3))
        seen = np.clip(worth + 0.3 * rng.normal(size=worth.shape), 0, 1)
        for (low, high), values in ((scale, seen), (labels, worth)):
            np.copyto(values, np.round(low + (high - low) * values, 2 if high <= 1 else 0))
        rows += [
            (f"p{at}", f"c{name}", judge, seen[at, name], worth[at, name]) for at in range(40) for name in range(3)
        ]
    return pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge", "judge_score", "oracle_label"])


DECLARED = ("labels", "one", "two", "all")


def declaring(what, labels, judges):
    """Return the keywords that declare the scale of the labels, of one judge, or of all."""
    scales = {name: Scale(*scale) for name, scale in judges.items() if what in (name, "all")}
    of_labels = {"label_scale": Scale(*labels)} if what in ("labels", "all") else {}
    return {**of_labels, **({"judge_scale": scales} if scales else {})}


@pytest.mark.parametrize("declared", DECLARED)
@pytest.mark.parametrize(
    ("labels", "judges"),
    [
        ((1, 5), {"one": (1, 5), "two": (0, 100)}),
        ((1, 5), {"one": (0, 100), "two": (0, 1)}),
        ((0, 100), {"one": (0, 1), "two": (1, 10)}),
        ((0, 1), {"one": (0, 1), "two": (0, 1)}),
    ],
)
def test_one_declared_scale_leaves_a_table_readable(labels, judges, declared):
    """What an audit reads without any declared scale it reads with each: figures of picks and correlations stay."""
    frame = on_scales(labels, **judges)
    plain, found = bw.audit(frame), bw.audit(frame, **declaring(declared, labels, judges))
    assert set(found.judges) == {"one", "two"}
    for name in judges:
        for metric in ("recovery", "within_r", "hit_rate"):
            one, other = (audit.judges[name].metrics[metric].estimate for audit in (plain, found))
            assert one == pytest.approx(other, abs=1e-9)


def test_sentences_name_the_judge_and_its_likely_scale():
    """Only what is not declared is asked for; a scale for every judge that one lies off names that judge's own."""
    frame = on_scales((0, 1), one=(0, 100), two=(0, 1))
    with pytest.raises(RowError, match=r"declare both, such as --judge-scale one=0:100 --label-scale 0:1"):
        bw.audit(frame)
    with pytest.raises(RowError, match=r"--judge-scale one=0:100"):
        bw.audit(frame, judge_scale=Scale(0, 1))
    ratings = on_scales((1, 5), one=(1, 5), two=(0, 100))
    study = bw.study_calibration(ratings, judge_scale={"one": Scale(1, 5)})
    assert set(study.judges) == {"two"}
    assert "declare that one too, such as --label-scale 1:5" in study.not_studied["one"]
    with pytest.raises(RowError, match=r"declare that one too, such as --judge-scale one=1:5"):
        bw.study_calibration(ratings, label_scale=Scale(1, 5))


def test_a_table_is_its_own():
    """What is done to a frame after a table was made of it does not reach the table."""
    frame = pd.DataFrame({"prompt_id": ["p", "p"], "candidate": ["a", "b"], "judge_score": [0.5, 1.0], "x": [1, 2]})
    table = ScoreTable.from_frame(frame)
    frame.loc[0, "judge_score"] = frame.loc[0, "x"] = 9
    assert table.frame["judge_score"].tolist() == [0.5, 1.0]
    assert table.frame["x"].tolist() == [1, 2]


def test_propensities_and_bounds_may_be_blank():
    """A blank propensity or bound is none, and bounds may meet."""
    frame = FRAME.assign(propensity=[None, 1, 0.01, 1], low=[None, 1, 1, 1], high=[1, None, 1, 2])
    assert ScoreTable.from_frame(frame).frame["propensity"].isna().tolist() == [True, False, False, False]


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


def test_a_blank_score_stays_as_what_cannot_be_picked():
    """A prompt with an unscored candidate stays for every judge, also where the judge has no row of the candidate."""
    frame = pd.concat([table({"p": "abc", "q": "abc"}).frame.assign(judge=judge) for judge in ("one", "two")])
    frame.loc[(frame["judge"] == "one") & (frame["prompt_id"] == "p"), "judge_score"] = [np.nan, 1, np.nan]
    frame = frame[~((frame["judge"] == "two") & (frame["prompt_id"] == "q") & (frame["candidate"] == "b"))]
    one, two = lay_out(ScoreTable.from_frame(frame))
    assert one.dropped == two.dropped == ()
    assert (one.scored_cells.tolist(), two.scored_cells.tolist()) == ([1, 3], [3, 2])
    assert one.ranked.tolist()[:3] == [-np.inf, 1, -np.inf]
    assert one.of_scored().sizes.tolist() == [3]
    assert one.all_scored().dropped == (PromptLeftOut("p", "no score for a, c"),)
    assert one.all_scored().prompt_ids.tolist() == ["q"]


def test_a_judge_that_was_not_asked_loses_the_prompt():
    """Without any row of a judge the prompt is not one of its, and says so."""
    frame = pd.concat([table({"p": "ab", "q": "ab"}).frame.assign(judge=judge) for judge in ("one", "two")])
    frame = frame[(frame["judge"] == "one") | (frame["prompt_id"] == "q")]
    one, two = lay_out(ScoreTable.from_frame(frame))
    assert one.dropped == ()
    assert two.dropped == (PromptLeftOut("p", "not judged"),)


@pytest.mark.parametrize(
    ("unpicked", "ranked", "dropped"),
    [
        ("random", [-np.inf, -np.inf, 1.0, -np.inf], ()),
        ("first", [-np.inf, 1.0, 1.0, -np.inf], ()),
        ("drop", [1.0, -np.inf], (PromptLeftOut("p", "no score for any candidate"),)),
    ],
)
def test_a_prompt_without_any_score_is_what_was_asked_for(unpicked, ranked, dropped):
    """Its pick is a random one, the candidate whose row comes first, or nothing at all."""
    frame = pd.DataFrame(
        {"prompt_id": list("ppqq"), "candidate": list("baab"), "judge_score": [None, None, 1.0, None]}
    )
    (panel,) = lay_out(ScoreTable.opened(frame, ReadingOptions(unpicked=unpicked)))
    assert panel.ranked.tolist() == ranked
    assert panel.dropped == dropped


def test_an_unknown_rule_for_unpicked_prompts_is_refused():
    """The rules there are are listed."""
    with pytest.raises(
        UsageError, match=r"no rule for unpicked prompts named 'best' \(choose random, first or drop\)"
    ):
        ReadingOptions(unpicked="best")


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
    np.testing.assert_array_equal(panel.scores, [0.5, np.nan])
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
    """For each judge every prompt is either kept or listed with a reason, once."""
    panels = panels_of(frame, exclude, shape)
    if panels is None:
        return
    for panel in panels:
        listed = [dropped.prompt_id for dropped in panel.dropped]
        assert sorted([*panel.prompt_ids, *listed]) == sorted(set(frame["prompt_id"]))
        assert all(dropped.reason for dropped in panel.dropped)
        assert (panel.sizes >= 2).all()
        assert panel.sizes.sum() == len(panel.scores) == len(panel.labels) == len(panel.names)


@given(ragged(), SHAPES)
def test_a_panel_equals_its_plain_loop(frame, shape):
    """Cell by cell a panel holds the mean of the rows of the frame and their label."""
    for panel in panels_of(frame, shape=shape) or ():
        owners = np.repeat(panel.prompt_ids.to_numpy(), panel.sizes)
        for owner, name, score, label in zip(owners, panel.names, panel.scores, panel.labels, strict=True):
            cell = frame[(frame["prompt_id"] == owner) & (frame["candidate"] == panel.candidates[name])]
            mine = cell.loc[cell["judge"] == panel.judge, "judge_score"].astype(float).dropna()
            assert score == pytest.approx(mine.mean(), rel=1e-12, nan_ok=True)
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
