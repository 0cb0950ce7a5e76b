from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from bonwise.errors import InputError, UsageError
from bonwise.planning.plans.pilot import PilotSource, gain_pilot, rival_pilot
from bonwise.planning.plans.plan import plan
from bonwise.stats.power.best_of_n_gain import complete_contrast, two_label_contrast
from bonwise.stats.power.pilot_effect import shift, standardised, wilson


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
    """A pilot of 20,000 normal prompts plans what the effect itself plans, within its interval."""
    frame = table(*normal(20_000, 4, 0.3, 1))
    for design in ("two_label", "complete"):
        found = plan(question="recovery>0", pilot=frame, design=design)
        known = plan(question="recovery>0", candidates=4, within_r=0.3, design=design)
        assert found.labels == pytest.approx(known.labels, rel=0.15)
        assert found.interval[0] <= known.labels <= found.interval[1]
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
    assert m1 == pytest.approx(np.array(means), abs=1e-12)
    assert m2 == pytest.approx(np.array(squares), abs=1e-12)
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
    pilot = rival_pilot(PilotSource(frame, ("a", "b")))
    m1, m2 = pilot._moments()
    for x, (y, s, t) in enumerate(zip(labels, first, second, strict=True)):
        picks = list(itertools.product(np.flatnonzero(s == s.max()), np.flatnonzero(t == t.max())))
        d = np.array([y[i] - y[j] for i, j in picks])
        assert pilot.apart[x] == pytest.approx(np.mean([i != j for i, j in picks]))
        assert pilot.wins[x] == pytest.approx(np.mean(d > 0))
        assert pilot.losses[x] == pytest.approx(np.mean(d < 0))
        assert (m1[x], m2[x]) == pytest.approx((d.mean(), np.mean(d**2)))


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
    assert found.interval == (79, None)
    assert found.labels == 749
    assert any("to no end" in one for one in found.sentences)
    sure = plan(question="margin", pilot="80/100")
    low, high = sorted(plan(question="margin", effect=end - 0.5).labels for end in wilson(80, 100, 0.95))
    assert sure.interval == (low, high)


def test_a_pilot_with_a_worse_judge_is_infeasible():
    """Where the picks are worth less than random ones no number is planned for a gain."""
    labels, scores = normal(200, 4, -0.5, 7)
    found = plan(question="recovery>0", pilot=table(labels, scores))
    assert (found.verdict, found.labels, found.interval) == ("infeasible", None, None)
    assert any("shows no effect" in one for one in found.sentences)
    even = plan(question="margin", pilot="25/50")
    assert (even.verdict, even.labels) == ("infeasible", None)
    assert even.interval[1] is None


def test_votes_are_read_from_a_file(tmp_path):
    """Words for either side and ties; the ties raise the votes to collect, and the source is named."""
    path = tmp_path / "votes.csv"
    rows = ["model_a"] * 31 + ["model_b"] * 19 + ["tie"] * 10
    path.write_text("id,winner\n" + "".join(f"{at},{word}\n" for at, word in enumerate(rows)), encoding="utf-8")
    found = plan(question="margin", pilot=path)
    assert found.settings["tie_rate"] == pytest.approx(1 / 6)
    assert (found.pilot["wins"], found.pilot["votes"], found.pilot["ties"]) == (31, 50, 10)
    assert found.labels == pytest.approx(plan(question="margin", pilot="31/50").labels * 1.2, abs=1)
    assert (
        plan(question="margin", pilot=str(path), tie_rate=0.0).labels == plan(question="margin", pilot="31/50").labels
    )


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
        ({"question": "a-vs-b", "pilot": frame_of()}, "where two are compared"),
        ({"question": "recovery", "pilot": frame_of(oracle_label=1.0), "half_width": 0.1}, "do not differ"),
        ({"question": "recovery", "pilot": frame_of()}, "needs half_width"),
        ({"question": "within_r>=0.1", "pilot": frame_of(judge_score=1.0)}, "no within-prompt correlation"),
        ({"question": "margin", "pilot": frame_of()}, "no column that holds votes"),
        ({"question": "margin", "pilot": frame_of(), "verdict_col": "winner"}, "no column named 'winner'"),
        ({"question": "margin", "pilot": pd.DataFrame({"winner": ["a", "x"]})}, "no verdict"),
        ({"question": "margin", "pilot": pd.DataFrame({"winner": ["tie", "tie"]})}, "every vote is a tie"),
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
    with pytest.raises(UsageError, match="2 judges and none is named"):
        plan(question="recovery>0", pilot=frame)
    assert plan(question="recovery>0", pilot=frame, judge="a").pilot["judges"] == ["a"]
