"""Types of prompts: two-stage screening with its null, its replay on a pilot, and where an allocation is weakest."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from itertools import permutations
from statistics import fmean

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, hypergeom

import bonwise as bw
from bonwise.errors import ColumnError, InputError, RowError, UsageError
from bonwise.planning import types_question
from bonwise.planning.front import plan
from bonwise.planning.request import PlanRequest
from bonwise.stats.sample_size import votes_power
from bonwise.table.reading_options import ReadingOptions
from cli.commands import strict, typed
from golden_tables import golden

MARGINS = {"concentrated": [0.15] * 8 + [0.0] * 32, "diffuse": [0.04] * 40, "mixed": [0.12, -0.12] * 20}


def types(margins, **columns):
    """Return a frame of types of equal weight."""
    return pd.DataFrame({"type": [f"t{at}" for at in range(len(margins))], "weight": 1, "margin": margins, **columns})


@pytest.fixture(scope="module")
def screened():
    """Plan screening of 2,000 votes at the margins of the golden table."""
    asked = {"question": "screening", "labels": 2000, "first_stage": 15}
    return {name: plan(allocation=types(margins), **asked) for name, margins in MARGINS.items()}


@pytest.mark.parametrize("row", golden("plan_screening"), ids=lambda row: f"{row['margins']}-{row['way']}")
def test_screening_by_simulation(screened, row):
    """Powers, overlap and mass are those of the prototype, and where a closed form is known those of it."""
    found = screened[row["margins"]].screening.here.simulated[row["way"]]
    if row["exact"]:
        exact = float(row["exact"])
        assert found == pytest.approx(exact, abs=3.5 * math.sqrt(exact * (1 - exact) / 1500))
    if row["prototype"]:
        told = float(row["prototype"])
        assert found == pytest.approx(told, abs=3 * math.sqrt(told * (1 - told) / 300))


def test_the_exact_figures_of_the_golden_table():
    """The closed forms, from the exact binomial test and the hypergeometric law."""
    exact = {(row["margins"], row["way"]): float(row["exact"]) for row in golden("plan_screening") if row["exact"]}
    for name, margins in MARGINS.items():
        assert exact[name, "proportional"] == pytest.approx(float(votes_power(fmean(margins), 2000, 0.95)), abs=1e-4)
    assert exact["diffuse", "two_stage"] == pytest.approx(float(votes_power(0.04, 1400, 0.95)), abs=1e-4)
    kept = np.arange(9)
    power = votes_power(0.12 * np.abs(2 * kept - 8) / 8, 1400, 0.95)
    assert exact["mixed", "two_stage"] == pytest.approx(float(hypergeom(40, 20, 8).pmf(kept) @ power), abs=1e-4)


def test_the_null_is_said_with_its_error(screened):
    """With a mean of 0 votes in proportion reject in 5 %, and screening far more often: the plan prints both."""
    null = screened["concentrated"].screening.null
    assert null.proportional == pytest.approx(0.05, abs=0.02)
    assert null.two_stage > 0.3
    assert screened["mixed"].screening.null == screened["mixed"].screening.here.simulated
    (told,) = (sentence for sentence in screened["concentrated"].sentences if "never" in sentence)
    assert f"rejects {null.two_stage:.0%}" in told
    # All alike and moved to 0 there is no preference of any type, and both keep their level.
    assert screened["diffuse"].screening.null.two_stage == pytest.approx(0.05, abs=0.02)


def test_the_curve_and_the_first_stage(screened):
    """Powers rise with the votes; the usual first stage is 10 ln 40 = 37 votes, and has to leave some votes."""
    curve = screened["concentrated"].screening.curve
    assert [row.plan.votes for row in curve] == [1000, 1500, 2000, 3000, 4000]
    assert [row.simulated.proportional for row in curve] == sorted(row.simulated.proportional for row in curve)
    usual = plan(question="screening", allocation=types(MARGINS["diffuse"]), labels=4000)
    assert (usual.screening.here.plan.each, usual.screening.here.plan.kept) == (math.ceil(10 * math.log(40)), 8)
    assert [row.plan.votes for row in usual.screening.curve] == [2000, 3000, 4000, 6000, 8000]
    with pytest.raises(UsageError, match="leaves none"):
        plan(question="screening", allocation=types(MARGINS["diffuse"]), labels=1000)


def test_weights_make_the_mean():
    """A type of weight 3 counts three times in the mean margin that votes in proportion see."""
    frame = types([0.1, 0.0]).assign(weight=[3, 1])
    found = plan(question="screening", allocation=frame, labels=900, first_stage=10, kept_share=0.5)
    assert found.effect["margin"] == pytest.approx(0.075)
    assert found.screening.here.simulated.proportional == pytest.approx(
        float(votes_power(0.075, 900, 0.95)), abs=0.04
    )


# The replay.


def _request(**asked):
    """Return what a replay is asked for."""
    names = ("ties", "pilot", "judge", "pair_col", "verdict_col")
    given_ = {
        **dict.fromkeys(names),
        "judge": (),
        "pair_col": (),
        "method": "exact",
        "raters": 1,
        "one_cluster": False,
    }
    return PlanRequest.of("screening", ("votes",), {**given_, **asked}, ReadingOptions())


@lru_cache
def rejects(won, votes):
    """Tell whether the binomial test does at .05."""
    return votes > 0 and binomtest(won, votes).pvalue <= 0.05


def every_replay(values, prompts, votes, each):
    """Return both powers over every order of the votes, one prompt kept; prompts that tie count evenly."""
    shown = [[], []]
    for order in permutations(range(len(values))):
        first = [values[at] for at in order[:votes]]
        shown[0].append(float(rejects(sum(first), len(first))))
        early = [at for prompt in {*prompts} for at in [one for one in order if prompts[one] == prompt][:each]]
        sizes = {
            prompt: round((fmean(values[at] for at in early if prompts[at] == prompt) - 0.5) ** 2, 12)
            for prompt in {*prompts}
        }
        top = [prompt for prompt in sizes if sizes[prompt] == max(sizes.values())]
        tests = []
        for kept in top:
            late = [values[at] for at in order if at not in early and prompts[at] == kept][
                : max(votes - len(early), 0)
            ]
            tests.append(rejects(sum(late), len(late)))
        shown[1].append(fmean(map(float, tests)))
    return fmean(shown[0]), fmean(shown[1])


def test_the_replay_is_that_of_every_order():
    """Eight votes on two prompts: 300 draws lie within four standard errors of all 40,320 orders."""
    values, prompts = [1, 1, 1, 1, 1, 1, 1, 0], [0] * 7 + [1]
    exact = every_replay(values, prompts, 8, 1)
    found = types_question.replayed(
        np.array(values, dtype=float), np.array(prompts), _request(labels=8, first_stage=1, kept_share=0.5)
    )
    for share, expected in zip(found, exact, strict=True):
        assert share == pytest.approx(expected, abs=4 * math.sqrt(max(expected * (1 - expected), 1e-9) / 300))


def test_the_replay_keeps_its_level_and_sees_what_is_there():
    """Pools without a preference show one in about 5 %; two strong prompts of twenty are found in two stages."""
    draw, shown = np.random.default_rng(3), []
    prompts = np.repeat(np.arange(10), 30)
    for _ in range(20):
        values = (draw.random(300) < 0.5).astype(float)
        shown.append(types_question.replayed(values, prompts, _request(labels=150, first_stage=5)))
    assert np.mean(shown, axis=0).max() <= 0.12
    # Of twenty prompts two lean by .43, and the others are split evenly.
    pool, more = np.tile([1.0, 0.0], 300), np.repeat(np.arange(20), 30)
    pool[:60] = 1.0
    pool[[0, 1, 30, 31]] = 0.0
    proportional, two_stage = types_question.replayed(pool, more, _request(labels=240, first_stage=8, kept_share=0.1))
    assert two_stage > proportional + 0.3


@pytest.mark.shared
def test_the_published_rule_cannot_be_replayed_on_human_votes(shared):
    """10 ln 68 = 43 votes a prompt, and a pair of MT-Bench has 2.5: the plan says so and replays one vote each."""
    found = plan(question="screening", pilot=shared / "data" / "mt_bench_human.csv", ties="drop", labels=60)
    assert len(found.pairs) == 15
    assert all(pair.proportional is not None for pair in found.pairs)
    (told,) = (sentence for sentence in found.sentences if sentence.startswith("Replayed"))
    assert "10 ln 68 = 43 votes per prompt, and a pair has about 2.5" in told
    mean = fmean(pair.two_stage for pair in found.pairs)
    assert f"{mean:.1%} in two stages" in told
    assert found.screening is None  # 60 votes leave none for a second stage
    more = plan(question="screening", pilot=shared / "data" / "mt_bench_human.csv", ties="drop", labels=4000)
    assert more.screening.here.plan.types == 41


def test_a_pilot_of_whole_votes_is_needed():
    """Counts have no prompts, and half votes no test."""
    with pytest.raises(UsageError, match="whole votes with their prompts"):
        plan(question="screening", pilot="28/50")
    frame = pd.DataFrame(
        {"model_a": "x", "model_b": "y", "question_id": range(20), "winner": ["a", "b", "tie", "a"] * 5}
    )
    with pytest.raises(UsageError, match="whole votes"):
        plan(question="screening", pilot=frame, ties="half")


# Allocations.


def test_an_allocation_by_hand():
    """300, 150 and 50 votes at weights .5, .3, .2: least ratio 50 / .2 = 250; a fifth of 500 is 100, so 50 more."""
    frame = pd.DataFrame({"type": ["chat", "code", "maths"], "weight": [5, 3, 2], "votes": [300, 150, 50]})
    found = plan(allocation=frame)
    assert found.allocation.to_dict() == {
        "votes": 500,
        "bottleneck": pytest.approx(250),
        "worst": "maths",
        "more": {"chat": 0, "code": 0, "maths": 50},
    }
    assert (found.question, found.verdict, found.labels) == ("allocation", "underpowered", 50)
    assert "as much as 250 in proportion" in found.sentences[0]
    even = plan(allocation=frame.assign(votes=[250, 150, 100]))
    assert (even.verdict, even.labels, even.allocation.bottleneck) == ("feasible", 0, pytest.approx(500))


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 40)), min_size=2, max_size=6))
def test_an_allocation_is_that_of_plain_loops(rows):
    """The least ratio, and after the further votes none is below the number of votes that there were."""
    whole, total = sum(weight for weight, _ in rows), sum(votes for _, votes in rows)
    frame = pd.DataFrame(rows, columns=["weight", "votes"]).assign(type=[f"t{at}" for at in range(len(rows))])
    found = types_question.allocation(frame)
    assert found.bottleneck == pytest.approx(min(votes * whole / weight for weight, votes in rows))
    for (weight, votes), more in zip(rows, found.more.values(), strict=True):
        assert (votes + more) * whole >= total * weight - 1e-6
        assert more == 0 or (votes + more - 1) * whole < total * weight


def test_the_worst_case_is_what_the_bottleneck_says():
    """A signal that lies on one type alone shows as often as with Lambda votes in proportion, or more often."""
    weights, votes, margin = np.array([0.5, 0.3, 0.2]), np.array([300, 150, 50]), 0.25
    frame = pd.DataFrame({"type": list("abc"), "weight": weights, "votes": votes})
    bottleneck = types_question.allocation(frame).bottleneck
    draw = np.random.default_rng(4)
    shown = []
    for at in range(3):
        rates = 0.5 + margin * (np.arange(3) == at)
        # Votes on the type that holds the signal tell, whatever the others hold.
        won = draw.binomial(votes[at], rates[at], 4000)
        shown.append(np.mean([binomtest(int(one), int(votes[at])).pvalue <= 0.05 for one in won[:400]]))
    in_proportion = [float(votes_power(margin, round(bottleneck * weight), 0.95)) for weight in weights]
    assert all(seen >= expected - 0.07 for seen, expected in zip(shown, in_proportion, strict=True))
    assert shown[2] == pytest.approx(in_proportion[2], abs=0.07)


@pytest.mark.parametrize(
    ("frame", "error", "words"),
    [
        (types([0.1, 0.1]), ColumnError, "no column votes"),
        (types([0.1, 0.1], votes=[1, None]), RowError, "type 't1' cannot be used"),
        (types([0.1, 0.1], votes=[1, -1]), RowError, "votes from 0"),
        (types([0.1, 0.1], votes=[1, 2]).assign(weight=[1, 0]), RowError, "a weight above 0"),
        (types([0.1, 0.1], votes=[1, 2]).assign(type="a"), RowError, "each type has one row"),
        (types([0.1, 0.1], votes=[1, -2]), RowError, "a weight above 0 and votes from 0 to"),
        (types([0.1], votes=[1]), RowError, "two types or more"),
        (types([0.1, 0.1], votes=[1, "many"]), RowError, "not a number"),
    ],
)
def test_types_that_cannot_be_used_are_refused(frame, error, words):
    """One sentence names the column or the row."""
    with pytest.raises(error, match=words):
        plan(allocation=frame)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"power": 0.8}, "power has no meaning"),
        ({"labels": 10}, "labels has no meaning"),
        ({"question": "margin", "effect": 0.1}, "allocation has no meaning for the question margin"),
        ({"question": "screening", "labels": 500, "kept_share": 1.0}, "kept_share is 1.0"),
        ({"question": "screening", "labels": 500, "first_stage": 0}, "first_stage is 0"),
        ({"question": "screening"}, "needs labels"),
    ],
)
def test_arguments_without_meaning_are_refused(asked, words):
    """What an allocation or screening cannot use is refused in words."""
    with pytest.raises(UsageError, match=words):
        plan(allocation=types([0.1, 0.1], votes=[5, 5]), **asked)


def test_a_question_is_needed():
    """Without a question and without an allocation the questions are named."""
    with pytest.raises(UsageError, match=r"a plan needs a question.*screening"):
        plan()
    with pytest.raises(UsageError, match="needs allocation"):
        plan(question="screening")
    with pytest.raises(UsageError, match="needs allocation"):
        plan(question="allocation")


def test_the_commands(capsys, tmp_path):
    """Both plans are typed, written as JSON and read again; hostile names are text."""
    frame = types(MARGINS["diffuse"], votes=[3] * 39 + [0]).replace({"t39": "\x1b[31m<script>"})
    frame.to_csv(tmp_path / "types.csv", index=False)
    for flags in (
        ("--allocation", tmp_path / "types.csv"),
        ("--question", "allocation", "--allocation", tmp_path / "types.csv"),
    ):
        done = typed(capsys, "plan", *flags)
        assert (done.code, "\x1b" in done.out) == (0, False)
        assert "Verdict: 3 further votes" in done.out
    asked = (
        "plan",
        "--question",
        "screening",
        "--allocation",
        tmp_path / "types.csv",
        "--labels",
        2000,
        "--first-stage",
        15,
        "--kept-share",
        0.2,
    )
    done = typed(capsys, *asked, "--html", tmp_path / "page.html", "--json", tmp_path / "plan.json")
    assert "2,000 votes, in proportion / two stages" in done.out
    assert bw.load(tmp_path / "plan.json").screening.here.plan.votes == 2000
    strict(json.dumps(json.loads((tmp_path / "plan.json").read_text())))
    assert typed(capsys, "plan", "--allocation", tmp_path / "none.csv").code == 2
    with pytest.raises(InputError):
        plan(allocation=tmp_path / "none.csv")


def test_margins_of_types_are_no_pilot():
    """Where the types have no margin, the reason speaks of the types: there was no pilot."""
    made = plan(question="screening", allocation=types([0.0, 0.0]), labels=100)
    assert made.verdict == "infeasible"
    assert any(each.startswith("Infeasible: the margins of the types show no effect") for each in made.sentences)
