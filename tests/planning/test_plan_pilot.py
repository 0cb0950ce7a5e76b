"""Plans from a pilot, and the effect that a pilot has shown."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bonwise.errors import InputError, UsageError
from bonwise.planning.front import plan
from bonwise.planning.normal_picks import complete_contrast, two_label_contrast
from bonwise.planning.pilot import gain_pilot, rival_pilot
from bonwise.planning.request import PilotSource
from bonwise.stats.clusters import design_effect
from bonwise.stats.pilot_effect import log_fewest, log_residual, shift, standardised, wilson, within_z


def table(labels, scores, judge="j"):
    """Make a long table of pools given as arrays (prompts, candidates)."""
    prompts, n = labels.shape
    return pd.DataFrame(
        {
            "prompt_id": np.repeat([f"p{x:05d}" for x in range(prompts)], n),
            "candidate": [f"c{i}" for i in range(n)] * prompts,
            "judge": judge,
            "judge_score": scores.ravel(),
            "oracle_label": labels.ravel(),
        }
    )


def normal(prompts, n, r, seed):
    """Draw labels and scores, jointly normal within prompts."""
    chance = np.random.default_rng(seed)
    labels = chance.standard_normal((prompts, n))
    return labels, r * labels + np.sqrt(1 - r * r) * chance.standard_normal((prompts, n))


def coarse(prompts, n, seed):
    """Draw pools whose scores and labels tie."""
    chance = np.random.default_rng(seed)
    labels = chance.integers(0, 4, (prompts, n)).astype(float)
    return labels, np.clip(labels + chance.integers(-2, 3, (prompts, n)), 1, 3)


def test_a_pilot_of_normal_pools_gives_the_number_of_their_correlation():
    """A pilot of 20,000 normal prompts plans what the effect itself plans, within its interval and that of draws."""
    frame = table(*normal(20_000, 4, 0.3, 1))
    for design in ("two_label", "complete"):
        found = plan(question="recovery>0", pilot=frame, design=design)
        known = plan(question="recovery>0", candidates=4, within_r=0.3, design=design)
        assert found.labels == pytest.approx(known.labels, rel=0.15)
        assert 0.96 * found.interval[0] <= known.labels <= 1.04 * found.interval[1]
    width = plan(question="recovery", pilot=frame, half_width=0.1)
    assert width.labels == pytest.approx(
        plan(question="recovery", candidates=4, within_r=0.3, half_width=0.1).labels, rel=0.06
    )
    above = plan(question="within_r>=0.2", pilot=frame)
    assert above.labels == pytest.approx(plan(question="within_r>=0.2", candidates=4, within_r=0.3).labels, rel=0.15)


def test_two_labels_have_the_moments_of_all_they_may_fall_on():
    """Mean and mean square of the contrast equal the sums over every pair that may be drawn; ties share."""
    labels, scores = coarse(40, 4, 2)
    pilot = gain_pilot(PilotSource(table(labels, scores)))
    means, squares, labelled = [], [], []
    for y, s in zip(labels, scores, strict=True):
        top = np.flatnonzero(s == s.max())
        rest = np.flatnonzero(s < s.max())
        labelled.append(len(rest) > 0)
        d = [len(rest) / len(y) * (y[i] - y[j]) for i, j in itertools.product(top, rest)] or [0.0]
        means.append(np.mean(d))
        squares.append(np.mean(np.square(d)))
    m1, m2 = pilot._moments("two_label")
    assert m1 * pilot.unit == pytest.approx(np.array(means), abs=1e-12)
    assert m2 * pilot.unit**2 == pytest.approx(np.array(squares), abs=1e-12)
    assert pilot.share("two_label") == np.mean(labelled)


def test_two_labels_without_ties_are_the_contrast_with_a_random_other():
    """But for the factor (n - 1) / n, which changes no power."""
    labels, scores = normal(30_000, 4, 0.4, 3)
    pilot = gain_pilot(PilotSource(table(labels, scores)))
    assert pilot.standardised("two_label").estimate == pytest.approx(
        two_label_contrast(4, 0.4).standardised, abs=0.02
    )


def test_two_judges_have_the_moments_of_all_picks_they_may_make():
    """Disagreement, wins, losses and squares equal the sums over every pair of tied leaders."""
    labels, first = coarse(40, 3, 4)
    second = coarse(40, 3, 5)[1]
    frame = pd.concat([table(labels, first, "a"), table(labels, second, "b")])
    pilot = rival_pilot(PilotSource(frame), ("a", "b"))
    m1, m2 = pilot._moments()
    for x, (y, s, t) in enumerate(zip(labels, first, second, strict=True)):
        picks = list(itertools.product(np.flatnonzero(s == s.max()), np.flatnonzero(t == t.max())))
        d = np.array([y[i] - y[j] for i, j in picks])
        assert pilot.apart[x] == pytest.approx(np.mean([i != j for i, j in picks]))
        assert pilot.wins[x] == pytest.approx(np.mean(d > 0))
        assert pilot.losses[x] == pytest.approx(np.mean(d < 0))
        unit = pilot.first.unit
        assert (m1[x] * unit, m2[x] * unit**2) == pytest.approx((d.mean(), np.mean(d**2)))


def test_two_judges_are_planned_from_a_table_with_both():
    """The same study as from the correlations that drew it; A is the judge named first."""
    chance = np.random.default_rng(6)
    labels = chance.standard_normal((6_000, 4))
    first, second = (r * labels + np.sqrt(1 - r * r) * chance.standard_normal(labels.shape) for r in (0.6, 0.3))
    frame = pd.concat([table(labels, first, "a"), table(labels, second, "b")])
    for design in ("discordant", "discordant_preference"):
        known = plan(question="a-vs-b", candidates=4, within_r=0.6, rival_r=0.3, error_correlation=0.0, design=design)
        found = plan(question="a-vs-b", pilot=frame, judge=["b", "a"], design=design)
        assert found.labels == pytest.approx(known.labels, rel=0.2)
        assert found.interval[0] <= found.labels <= found.interval[1]
        assert found.effect["difference" if design == "discordant" else "margin"] < 0


def test_a_pilot_that_shows_nothing_has_no_upper_end():
    """An interval over 0 leaves the number without an end, in words too; the JSON holds null."""
    found = plan(question="margin", pilot="28/50")
    assert found.interval == [79, None]
    assert found.labels == 749
    assert any("to no end" in one for one in found.sentences)
    sure = plan(question="margin", pilot="80/100")
    low, high = sorted(plan(question="margin", effect=end - 0.5).labels for end in wilson(80, 100, 0.95))
    assert sure.interval == [low, high]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-150, 1e-100, 1e99])
@pytest.mark.parametrize(
    "asked",
    [
        {"question": "recovery>0", "design": "complete"},
        {"question": "recovery>0", "design": "two_label"},
        {"question": "recovery", "half_width": 0.2},
        {"question": "within_r>=0.2"},
        {"question": "a-vs-b", "judge": ["good", "fair"]},
    ],
)
def test_labels_and_scores_of_any_size_have_the_same_plan(asked, size):
    """Powers of labels may leave the range of doubles, plans may not; a gain is in their unit."""
    labels, scores = normal(60, 4, 0.6, 8)
    frame = pd.concat([table(labels, scores, "good"), table(labels, scores + 2 * scores[::-1], "fair")])
    frame = frame if asked["question"] == "a-vs-b" else frame[frame["judge"] == "good"]
    usual = plan(pilot=frame, **asked)
    for unit, column in ((size, "oracle_label"), (1.0, "judge_score")):
        sized = plan(pilot=frame.assign(**{column: frame[column] * size}), **asked)
        assert (sized.labels, sized.interval, sized.verdict) == (usual.labels, usual.interval, usual.verdict)
        in_unit = {name: unit if name in ("gain", "difference") else 1.0 for name in usual.effect}
        expected = {name: value * in_unit[name] for name, value in usual.effect.items()}
        assert sized.effect == pytest.approx(expected, rel=1e-7)
        own = unit if "unit of the labels" in usual.mde_of else 1.0
        assert sized.mde == pytest.approx(usual.mde * own, rel=1e-7)


@pytest.mark.parametrize("design", ["two_label", "complete"])
@pytest.mark.parametrize("law", [np.copy, np.sinh])
def test_a_pilot_finds_no_smaller_gain_than_its_own_with_fewer_prompts(law, design):
    """Where floors decide, no gain is found with fewer prompts; the interval on the number may be one number."""
    labels, scores = normal(200, 4, 0.98, 5)
    frame = table(law(2 * labels), scores)
    whole = plan(question="recovery>0", pilot=frame, design=design)
    for prompts in (whole.prompts - 1, whole.prompts * 2 // 3):
        few = plan(question="recovery>0", pilot=frame, design=design, prompts=prompts)
        assert few.verdict == "underpowered"
        assert few.mde is None or few.mde > few.effect["gain"]
    low, high = whole.interval
    words = f"Both ends of the pilot's interval at 95% are {low} labels." if low == high else f"from {low} to {high}"
    assert any(words in sentence for sentence in whole.sentences)


def test_a_pilot_with_a_worse_judge_is_infeasible():
    """Where the picks are worth less than random ones no number is planned for a gain."""
    labels, scores = normal(200, 4, -0.5, 7)
    found = plan(question="recovery>0", pilot=table(labels, scores))
    assert (found.verdict, found.labels, found.interval) == ("infeasible", None, None)
    assert any("shows no effect" in one for one in found.sentences)
    even = plan(question="margin", pilot="25/50")
    assert (even.verdict, even.labels) == ("infeasible", None)
    assert even.interval[1] is None


def voted(path, rows):
    """Write votes, one a row."""
    path.write_text("id,winner\n" + "".join(f"{at},{word}\n" for at, word in enumerate(rows)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("ties", "wins", "votes", "tie_rate"),
    [("drop", 31, 50, 1 / 6), ("half", 36, 60, 0.0), ("pessimistic", 31, 60, 0)],
)
def test_votes_are_read_from_a_file_with_ties_as_was_said(tmp_path, ties, wins, votes, tie_rate):
    """Left out they raise the votes to collect; half or against the first side they count; blanks are no votes."""
    path = voted(tmp_path / "votes.csv", ["model_a"] * 31 + ["model_b"] * 19 + ["tie"] * 10 + [""] * 3)
    found = plan(question="margin", pilot=str(path), ties=ties)
    assert (found.pilot["wins"], found.pilot["votes"], found.pilot["ties"]) == (wins, votes, 10)
    assert found.settings["tie_rate"] == pytest.approx(tie_rate)
    assert dict(found.settings).items() >= {"pilot": str(path), "ties": ties}.items()
    alone = plan(question="margin", pilot=f"{wins}/{votes}")
    assert found.labels == pytest.approx(alone.labels / (1 - tie_rate), abs=1)
    assert f"--ties {ties}" in found.commands[0]


def test_a_tie_rate_means_nothing_where_ties_count(tmp_path):
    """They decide half a vote, or one: only ties left out raise the votes to collect, by the rate that is said."""
    path = voted(tmp_path / "votes.csv", ["a"] * 31 + ["b"] * 19 + ["tie"] * 10)
    with pytest.raises(UsageError, match="tie_rate has no meaning where ties count"):
        plan(question="margin", pilot=path, ties="half", tie_rate=0.1)
    fewer = plan(question="margin", pilot=path, ties="drop", tie_rate=0.0)
    assert fewer.labels == plan(question="margin", pilot="31/50").labels


def test_votes_are_those_of_one_pair_whichever_side_it_stood_on():
    """The alphabetically first model is the first side, under any column names; several pairs are refused."""
    rows = [("x", "y", "a")] * 20 + [("y", "x", "b")] * 11 + [("x", "y", "b")] * 9 + [("y", "x", "a")] * 10
    frame = pd.DataFrame(rows, columns=["model_a", "model_b", "winner"])
    found = plan(question="margin", pilot=frame)
    assert (found.pilot["wins"], found.pilot["votes"]) == (31, 50)
    named = frame.rename(columns={"model_a": "left", "model_b": "right"})
    again = plan(question="margin", pilot=named, pair_col=["left", "right"])
    assert again.labels == found.labels
    assert again.settings["pair_col"] == ["left", "right"]
    assert "--pair-col left,right" in again.commands[0]
    more = pd.concat([frame, pd.DataFrame([("x", "z", "a")], columns=frame.columns)])
    several = plan(question="margin", pilot=more)
    assert several.labels == found.labels  # of the closer pair: all votes of the other go one way
    assert [(pair.first, pair.second, pair.votes) for pair in several.pairs] == [("x", "y", 50), ("x", "z", 1)]


@pytest.mark.shared
def test_human_votes_on_fifteen_pairs_are_not_pooled(shared):
    """The MT-Bench votes are planned pair by pair, as each is alone, and the closest pair is the plan."""
    votes = pd.read_csv(shared / "data" / "mt_bench_human.csv")
    found = plan(question="margin", pilot=votes, ties="drop")
    assert len(found.pairs) == 15
    for row in found.pairs:
        both = [row.first, row.second]
        alone = plan(
            question="margin", pilot=votes[votes["model_a"].isin(both) & votes["model_b"].isin(both)], ties="drop"
        )
        assert (alone.labels, alone.pilot.votes, alone.pairs) == (row.labels, row.votes, None)
        assert (alone.pilot.estimate, alone.pilot.low, alone.pilot.high) == (row.margin, row.low, row.high)
    assert found.labels == max(row.labels for row in found.pairs) == 11_989
    total = sum(row.labels for row in found.pairs)
    assert any(f"the pairs take {total:,} votes in all" in sentence for sentence in found.sentences)
    assert "Pairs of the pilot" in found.to_text(full=True)


def test_pairs_without_a_number_are_counted():
    """A pair that is exactly level takes no number of votes, one of ties alone is left out."""
    rows = [("x", "y", "a")] * 20 + [("x", "y", "b")] * 10 + [("x", "z", word) for word in "ab"] * 5
    frame = pd.DataFrame([*rows, *[("v", "w", "tie")] * 5], columns=["model_a", "model_b", "winner"])
    found = plan(question="margin", pilot=frame, ties="drop")
    assert [(pair.second, pair.labels) for pair in found.pairs] == [("y", found.labels), ("z", None)]
    assert any("for 1 of them no number is enough" in sentence for sentence in found.sentences)
    with pytest.raises(InputError, match="every vote is a tie"):
        plan(question="margin", pilot=frame[frame["winner"] == "tie"], ties="drop")


def test_what_reads_a_pilot_of_scores_stands_in_the_settings():
    """Judge, columns and a candidate left out, by one name or a list of them."""
    frame = frame_of().rename(columns={"judge_score": "points"})
    asked = {"question": "recovery>0", "pilot": frame, "judge": "j", "columns": {"judge_score": "points"}}
    found = plan(**asked, exclude="c2")
    assert found.pilot["prompts"] == 20
    told = {"pilot": "table", "judge": ["j"], "exclude": ["c2"], "columns": {"judge_score": "points"}}
    assert found.to_dict()["settings"].items() >= told.items()
    assert found.to_dict() == plan(**asked, exclude=["c2"]).to_dict()
    assert found.labels != plan(**asked).labels


def test_hints_of_a_pilot_name_only_what_a_plan_takes():
    """No flag of another command: labels are the pilot's own."""
    with pytest.raises(InputError) as refused:
        plan(question="recovery>0", pilot=frame_of(oracle_label=np.nan))
    assert "--label-col" in refused.value.hint
    assert "--labels" not in refused.value.hint
    assert "--oracle" not in refused.value.hint


def test_a_pilot_of_few_prompts_and_one_without_an_effect_to_speak_of_are_told():
    """A dozen prompts are a guess; a gain of next to nothing is planned for by no number."""
    few = plan(question="recovery>0", pilot=table(*normal(12, 4, 0.6, 9)))
    assert any("A pilot of 12 prompts is a guess" in one for one in few.sentences)
    labels, _ = normal(400, 2, 0.0, 11)
    even = np.tile([[1.0, 0.0], [0.0, 1.0]], (200, 1))
    labels[1::2] = labels[::2] + 1e-9 * (even[::2] - 0.5)  # what one pick gains the next one loses, but for a hair
    found = plan(question="recovery>0", pilot=table(labels, even))
    assert (found.verdict, found.labels) == ("infeasible", None)


def test_what_prompts_of_a_pilot_are_worth_by_hand():
    """Weights 3, 1, 0, 0: 20 x 2.5 prompts; without the first or the second one 60, without another 37.5."""
    found = log_fewest(np.array([3.0, 1.0, 0.0, 0.0]), 20)
    left = np.log([60.0, 60.0, 37.5, 37.5])
    assert found.estimate == pytest.approx(np.log(50))
    assert found.se == pytest.approx(np.sqrt(3 * np.var(left)))
    assert log_fewest(np.full(9, 0.3), 20)[:2] == pytest.approx((np.log(20), 0.0), abs=1e-7)


@given(st.lists(st.floats(0.1, 9), min_size=6, max_size=12), st.integers(2, 4))
def test_plain_loops_say_what_prompts_are_worth(weights, groups):
    """One cluster left out at a time; the number counts its design effect."""
    codes = [at % groups for at in range(len(weights))]

    def needed(some):
        return math.log(20 * max(len(some) * sum(w * w for w in some) / sum(some) ** 2, 1.0))

    left = [needed([w for w, c in zip(weights, codes, strict=True) if c != out]) for out in range(groups)]
    mean = sum(left) / groups
    found = log_fewest(np.array(weights), 20, np.array(codes))
    assert found.se == pytest.approx(
        math.sqrt((groups - 1) / groups * sum((one - mean) ** 2 for one in left)), abs=1e-7
    )
    effect = math.log(design_effect(np.array(weights), np.array(codes)))
    assert found.estimate == pytest.approx(needed(weights) + effect)


@pytest.mark.parametrize("prompts", [50, 250])
def test_intervals_of_the_standardised_gain_hold_that_of_the_population(prompts):
    """Of 1,000 pilots of normal pools 93 to 97 % have an interval around the truth, and so one on the number."""
    truth, held = complete_contrast(4, 0.4).standardised, 0
    labels, scores = normal(prompts * 1000, 4, 0.4, 10)
    d = labels[np.arange(len(labels)), scores.argmax(axis=1)] - labels.mean(axis=1)
    for one in d.reshape(1000, prompts):
        low, high = standardised(one, one * one).at(0.95)
        held += low <= truth <= high
    assert 930 <= held <= 970


def test_the_jackknife_is_leave_one_out():
    """A plain loop gives the same standard error."""
    rows = np.random.default_rng(8).gamma(2.0, size=(2, 25))
    found = shift(rows, lambda t: t[0] / t[1])
    left = [(rows[0].sum() - a) / (rows[1].sum() - b) for a, b in rows.T]
    assert found.se == pytest.approx(np.sqrt(24 / 25 * np.sum((np.array(left) - np.mean(left)) ** 2)))


def frame_of(**changes):
    """Return a small labelled table with some columns changed."""
    return table(*normal(20, 3, 0.5, 9)).assign(**changes)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"pilot": frame_of(oracle_label=np.nan)}, "no.*label"),
        ({"pilot": frame_of().head(9)}, "are no pilot"),
        ({"pilot": frame_of(oracle_label=1.0)}, "do not scatter"),
        ({"pilot": frame_of(judge_score=1.0)}, "do not scatter"),
        ({"pilot": frame_of(), "judge": "k"}, "no judge named 'k'"),
        ({"pilot": "absent.csv"}, "no such file"),
        ({"pilot": frame_of(), "within_r": 0.3}, "both a pilot and within_r"),
        (
            {"question": "a-vs-b", "pilot": frame_of()},
            r"compares two judges, not 1 .give a pilot that two judges scored",
        ),
        ({"question": "recovery", "pilot": frame_of(oracle_label=1.0), "half_width": 0.1}, "do not differ"),
        ({"question": "recovery", "pilot": frame_of()}, "needs half_width"),
        ({"question": "within_r>=0.1", "pilot": frame_of(judge_score=1.0)}, "no within-prompt correlation"),
        ({"question": "margin", "pilot": frame_of()}, "no column holds verdicts"),
        ({"question": "margin", "pilot": frame_of(), "verdict_col": "winner"}, "no column named 'winner'"),
        ({"question": "margin", "pilot": pd.DataFrame({"winner": ["a", "x"]})}, "not a verdict"),
        (
            {"question": "margin", "pilot": pd.DataFrame({"winner": ["tie", "tie"]}), "ties": "drop"},
            "every vote is a tie",
        ),
        ({"question": "margin", "pilot": pd.DataFrame({"winner": ["a", "tie"]})}, "1 of 2 votes are ties"),
        ({"question": "margin", "pilot": pd.DataFrame({"winner": ["", None]})}, "no row holds a vote"),
        ({"question": "margin", "pilot": pd.DataFrame({"winner": ["a"]}), "pair_col": "x"}, "two columns"),
        ({"question": "margin", "pilot": 5}, "not a table"),
        ({"pilot": 5}, "not a table"),
        ({"question": "a-vs-b", "pilot": frame_of(), "judge": ["j", "j"]}, "names a judge twice"),
        ({"question": "margin", "pilot": "60/50"}, "60 of 50"),
        ({"question": "margin", "pilot": "0/0"}, "0 of 0"),
    ],
)
def test_pilots_that_cannot_be_used_are_refused(asked, words):
    """One line that says what is wrong and how to mend it."""
    with pytest.raises(InputError, match=words) as refused:
        plan(**{"question": "recovery>0", **asked})
    assert refused.value.hint


def test_several_judges_are_never_chosen_from_silently():
    """A table with two judges needs a name for a question about one."""
    frame = pd.concat([frame_of(judge="a"), frame_of(judge="b")])
    with pytest.raises(UsageError, match="2 judges where one is planned for"):
        plan(question="recovery>0", pilot=frame)
    assert plan(question="recovery>0", pilot=frame, judge="a").pilot["judges"] == ["a"]


VALUES = st.floats(-3, 3).map(lambda x: round(x, 2))
PROMPTS = st.lists(st.tuples(VALUES, VALUES, st.floats(0, 1).map(lambda x: round(x, 2))), min_size=4, max_size=12)


def left_out(rows, of):
    """Return the figure, and its standard error with one prompt left out at a time, by plain loops."""
    estimate = of(rows)
    without = [of(rows[:at] + rows[at + 1 :]) for at in range(len(rows))]
    if not all(math.isfinite(one) for one in (estimate, *without)):
        return estimate, math.nan
    middle = statistics.fmean(without)
    return estimate, math.sqrt((len(rows) - 1) / len(rows) * sum((one - middle) ** 2 for one in without))


def same(found, rows, of):
    """Compare a figure with its plain loop, where that is no division of rounding by rounding."""
    estimate, se = left_out(rows, of)
    assume(math.isfinite(se))
    assert found.estimate == pytest.approx(estimate, rel=1e-6, abs=1e-6)
    assert found.se == pytest.approx(se, rel=1e-4, abs=1e-6)
    assert found.units == len(rows)


def shift_of(rows):
    """Mean over standard deviation, the spread within prompts included; NaN where nothing spreads."""
    mean = statistics.fmean(a for a, _, _ in rows)
    square = statistics.fmean(a * a + c for a, _, c in rows)
    return mean / math.sqrt(square - mean**2) if square - mean**2 > 1e-6 else math.nan


def residual_of(rows):
    """Logarithm of the variance of a prompt's influence on the ratio; NaN where there is none."""
    one, two = (statistics.fmean(row[at] for row in rows) for at in (0, 1))
    spread = statistics.fmean((a - one / two * b) ** 2 for a, b, _ in rows)
    return math.log(spread / two**2) if spread > 1e-6 else math.nan


def z_of(rows):
    """Fisher's z of pooled sums; NaN where it has none."""
    squares = [sum(a * a + c for a, _, c in rows), sum(b * b + c for _, b, c in rows)]
    products = sum(a * b for a, b, _ in rows)
    if min(squares) < 1e-3:
        return math.nan
    r = products / math.sqrt(squares[0] * squares[1])
    return math.atanh(r) if abs(r) < 0.999 else math.nan


@given(PROMPTS)
def test_a_standardised_mean_is_that_of_plain_loops(rows):
    """Estimate and leave-one-out standard error."""
    a, _, c = np.array(rows).T
    same(standardised(a, a * a + c), rows, shift_of)


@given(PROMPTS)
def test_a_residual_is_that_of_plain_loops(rows):
    """Estimate and leave-one-out standard error of its logarithm."""
    lifted = [(a, abs(b) + 0.2, c) for a, b, c in rows]  # what there is to gain is never below 0
    a, b, _ = np.array(lifted).T
    same(log_residual(a, b), lifted, residual_of)


@given(PROMPTS)
def test_a_within_prompt_correlation_is_that_of_plain_loops(rows):
    """Fisher's z of the pooled sums, one prompt left out at a time."""
    a, b, c = np.array(rows).T
    same(within_z(a * a + c, b * b + c, a * b), rows, z_of)


@given(st.integers(1, 400), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_s_ends_are_where_the_score_test_just_rejects(votes, share, confidence):
    """At either end the share lies z standard errors away, the error being that at the end."""
    wins = round(share * votes)
    z = statistics.NormalDist().inv_cdf(0.5 + confidence / 2)
    for end in wilson(wins, votes, confidence):
        gap = (wins / votes - end) ** 2
        assert gap == pytest.approx(z * z * end * (1 - end) / votes, abs=1e-9)
