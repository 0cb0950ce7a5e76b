"""How good a judge has to be: the study, its words, the command, and what few prompts can say."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pandas as pd
import pytest

from auditing.tables import cohort, heavy_labels, lossy, table
from bonwise.auditing.front import audit
from bonwise.auditing.settings import Settings
from bonwise.errors import InputError, UsageError
from bonwise.report.blocks import Part
from bonwise.report.numbers import estimate, with_interval
from bonwise.report.show import describe, text
from bonwise.stats.laws import Exact, Student, student_quantile
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.studies.requirements import engine as requirements
from bonwise.studies.requirements.engine import BeyondChance, Few, MoverDifference, few_picks, gaussian_gap
from bonwise.studies.requirements.front import study_requirements
from bonwise.studies.requirements.noisy_oracle import Afforded, affordable
from bonwise.studies.requirements.result import RequirementsStudy
from bonwise.testing import simulate
from cli.commands import strict, typed
from studies.studied import result

REPEATED = {0.25: (0.20, 0.55), 0.50: (0.45, 0.615), 0.75: (0.75, 0.70), 0.90: (0.93, 0.80)}


@pytest.fixture(scope="module")
def drawn():
    """Simulate a table."""
    return simulate("arena", n=300, seed=5).frame()


@pytest.fixture(scope="module")
def two_judges(drawn):
    """Let a second, better judge score the same prompts, and a third one against the labels."""
    noise = np.random.default_rng(1).normal(size=len(drawn))
    better = drawn.assign(judge="better", judge_score=drawn["oracle_label"] + 0.1 * noise)
    return pd.concat(
        [drawn.assign(judge="plain"), better, drawn.assign(judge="contrary", judge_score=-drawn["oracle_label"])]
    )


@pytest.mark.shared
def test_a_large_arena_needs_what_was_found_before(shared):
    """On the simulated arena 25, 50, 75 and 90 % take the within_r and effective agreement of the prototype."""
    found = study_requirements(shared / "data" / "simulated" / "arena_like_5000.csv.gz").judges["judge"]
    for one in found["targets"]:
        within_r, agreement = REPEATED[one["target"]]
        assert one["within_r"]["estimate"] == pytest.approx(within_r, abs=0.03)
        assert one["effective_agreement"]["estimate"] == pytest.approx(agreement, abs=0.03)
    assert found["judge"]["difference"]["high"] < 0


@pytest.mark.shared
@pytest.mark.parametrize(
    ("table", "asked", "within_r", "recovery"),
    [
        ("simulated/arena_like_5000.csv.gz", {}, 0.2702, 0.2168),
        ("arena100/scores.csv", {"exclude": "unhelpful"}, 0.278, 0.2126),
    ],
)
def test_recovery_lies_below_within_r_on_the_arena(shared, table, asked, within_r, recovery):
    """By .0534 on the large one, where the interval shows it: the law of plain noise does not hold for the judge."""
    own = study_requirements(shared / "data" / table, **asked).judges["judge"].judge
    assert (own.within_r.estimate, own.recovery.estimate) == pytest.approx((within_r, recovery), abs=5e-4)
    assert own.gaussian_gap.estimate == pytest.approx(recovery - within_r, abs=5e-4)
    assert (own.gaussian_gap.high < 0) is (within_r < 0.275)


def test_the_gap_is_a_paired_jackknife():
    """Leaving out one prompt after the other by hand gives its standard error."""
    frame = simulate("arena", n=40, seed=5).frame()
    gap = study_requirements(frame).judges["judge"].judge.gaussian_gap

    def of(some):
        e = some[["judge_score", "oracle_label"]] - some.groupby("prompt_id")[
            ["judge_score", "oracle_label"]
        ].transform("mean")
        products = [(e[a] * e[b]).sum() for a, b in product(("judge_score", "oracle_label"), repeat=2)]
        gain = possible = 0.0
        for _, one in some.groupby("prompt_id", observed=True):
            top = one.loc[one["judge_score"] == one["judge_score"].max(), "oracle_label"].mean()
            gain += top - one["oracle_label"].mean()
            possible += one["oracle_label"].max() - one["oracle_label"].mean()
        return gain / possible - products[1] / np.sqrt(products[0] * products[3])

    left = np.array([of(frame[frame["prompt_id"] != prompt]) for prompt in frame["prompt_id"].unique()])
    assert gap.estimate == pytest.approx(of(frame))
    assert gap.se == pytest.approx(np.sqrt((len(left) - 1) * left.var()))


def test_the_gap_is_0_for_normal_scores_and_labels():
    """Recovery equals within_r there, and the interval of the gap holds 0 in about 95 % of samples."""
    rng, held = np.random.default_rng(7), 0
    for _ in range(60):
        labels = rng.normal(size=(150, 4))
        scores = 0.5 * labels + rng.normal(size=labels.shape)
        sums = prompt_sums(scores.ravel(), labels.ravel(), np.full(150, 4))
        gap = gaussian_gap(sums, Settings().rule(labels.ravel()))
        held += gap.low <= 0 <= gap.high
    assert held / 60 >= 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / 60)


def test_a_judge_on_heavy_labels_has_a_correlation_without_interval():
    """As in the audit; the sentences then state the estimate alone."""
    frame = heavy_labels(60)
    found = study_requirements(frame)
    own = found.judges["judge"]["judge"]["within_r"]
    assert (own["low"], own["reason"]) == (None, audit(frame)["within_r"].reason)
    assert own["estimate"] is not None
    assert text(found)


def test_the_judges_own_figures_are_the_audits(drawn):
    """within_r, effective agreement and recovery are those of the audit, with its intervals."""
    own, audited = study_requirements(drawn).judges["judge"]["judge"], audit(drawn)
    for metric in ("within_r", "effective_agreement", "recovery"):
        figure = audited[metric].to_dict()
        figure.pop("effective_n", None)
        assert own[metric].to_dict() == figure
    apart = own["recovery"]["estimate"] - own["expected_recovery"]["estimate"]
    assert own["difference"]["estimate"] == pytest.approx(apart)


def test_judges_of_the_same_prompts_share_a_curve(two_judges):
    """The curve and the targets depend on the labels alone; a judge's own figures do not."""
    found = study_requirements(two_judges, within_r=[0.31]).judges
    for part in ("curve", "targets", "inverse"):
        assert found["plain"][part] == found["better"][part] == found["contrary"][part]
    assert found["plain"]["judge"] != found["better"]["judge"]
    assert found["contrary"]["judge"]["difference"]["estimate"] is None
    assert found["contrary"]["sentences"][0].startswith("No figure for a judge of plain noise")


def test_the_document_is_strict_json(two_judges):
    """Nothing in the document is NaN, and it says what was asked."""
    study = study_requirements(two_judges, targets=[0.5, 0.5, 1.0], within_r=[0.3, 0.0])
    document = json.loads(json.dumps(study.to_dict(), allow_nan=False))
    assert (document["schema"], document["study"]) == ("bonwise.study/1", "requirements")
    assert document["settings"]["targets"] == [0.5, 1.0]
    judge = document["judges"]["plain"]
    assert judge["data"]["studied_prompts"] == judge["data"]["prompts"] == 300
    assert judge["targets"][1]["within_r"]["reason"].startswith("not reachable")
    assert judge["inverse"][1]["recovery"]["reason"].startswith("not on the curve")
    assert 16 <= len(judge["curve"]) <= 24
    assert repr(study) == "<RequirementsStudy of 3 judges, 2 targets>"


def test_a_row_an_estimate(drawn):
    """The frame holds two rows a target, one a given within_r and six of the judge."""
    frame = study_requirements(drawn, targets=[0.5], within_r=[0.3, 0.4]).to_frame()
    assert list(frame.columns[:5]) == ["judge", "part", "at", "metric", "estimate"]
    assert frame.groupby("part").size().to_dict() == {"inverse": 2, "judge": 6, "targets": 2}


def test_the_sentences_say_what_errors_of_another_kind_cost(drawn):
    """The first sentences set the judge beside plain noise, with the figures of the document."""
    found = study_requirements(drawn, within_r=[0.31]).judges["judge"]
    own = found["judge"]
    first = found["sentences"][0]
    assert f"At within_r {estimate(own['within_r'])} a judge" in first
    assert f"recovers {with_interval(own['expected_recovery'], 'share')} of" in first
    assert f"this judge recovers {with_interval(own['recovery'], 'share')}." in first
    assert any(line.startswith("A judge at within_r 0.31 recovers about") for line in found["sentences"])


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        (lambda labels, noise: np.round(4 * (labels + 0.1 * noise)) / 4, "less than"),
        (lambda labels, noise: labels + 0.2 * noise, "cannot be told"),
        # Large errors only where labels are equal do no harm to the picks.
        (lambda labels, noise: labels + 3 * noise * (labels.reshape(-1, 2)[:, :1] == 0.5).repeat(2), "more than"),
    ],
    ids=["a loss", "unknown", "a gain"],
)
def test_a_loss_a_gain_and_an_unknown_are_told_apart(scores, says):
    """What the interval of the difference leaves open is not called a loss or a gain."""
    draw = np.random.default_rng(4)
    labels = np.where(draw.random((3000, 1)) < 0.5, 0.5, draw.random((3000, 2)))
    given = scores(labels.ravel(), draw.normal(size=labels.size).clip(-3, 3)).reshape(labels.shape)
    given = (given - given.min()) / (given.max() - given.min())
    sentences = study_requirements(table(zip(given.tolist(), labels.tolist(), strict=True))).judges["judge"][
        "sentences"
    ]
    assert says in sentences[1]


def test_ragged_pools_and_partial_labels_are_studied(drawn):
    """Pools of several sizes, and labels for some prompts alone: the figures say what they describe."""
    ragged = drawn[(drawn.index % 4 != 3) | (drawn.index % 8 == 3)].copy()
    ragged.loc[ragged["prompt_id"] < "p0000100", "oracle_label"] = np.nan
    found = study_requirements(ragged).judges["judge"]
    assert found["data"]["method"] == "labelled_only"
    assert found["data"]["unlabelled_prompts"] == 100
    assert {one["within_r"]["method"] for one in found["targets"]} == {"labelled_only"}
    assert all(one["within_r"]["low"] is not None for one in found["targets"])
    assert "The figures describe 200 of 300 prompts: those whose candidates all have labels." in found["sentences"]


def test_no_cause_is_named_that_the_figures_cannot_show():
    """A judge without ties, sharp on wide prompts and noise on narrow ones, loses; the sentence leaves open why."""
    draw = np.random.default_rng(4)
    wide = np.arange(600)[:, None] % 10 == 0
    labels = np.where(wide, 1.0, 0.3) * draw.random((600, 4))
    scores = np.where(wide, labels, 0.3 * draw.random(labels.shape))
    rows = list(zip(scores.tolist(), labels.tolist(), strict=True))
    sentence = study_requirements(table(rows)).judges["judge"]["sentences"][1]
    assert "less than a judge of plain noise" in sentence
    assert "this study does not tell which" in sentence


def test_a_pool_too_large_is_counted_and_said(drawn, monkeypatch):
    """Prompts set aside are counted in the document and in a sentence; where all others are used nothing is drawn."""
    monkeypatch.setattr(requirements, "affordable", lambda sizes, _: Afforded(np.arange(len(sizes)) > 0, 1))
    found = study_requirements(drawn).judges["judge"]
    assert (found["data"]["studied_prompts"], found["data"]["too_large_prompts"]) == (299, 1)
    assert found["sentences"][-1].startswith("1 prompt with more candidates than can be computed with is set aside")


def test_a_table_too_large_is_drawn_from(drawn, monkeypatch):
    """Where not all prompts can be computed from, the document and a sentence say how many were."""
    monkeypatch.setattr(
        requirements,
        "affordable",
        lambda sizes, seed: Afforded(np.random.default_rng(seed).random(len(sizes)) < 0.5, 0),
    )
    found = study_requirements(drawn, seed=2).judges["judge"]
    used = found["data"]["studied_prompts"]
    assert 100 < used < 200
    assert found["sentences"][-1] == f"All this is computed from {used} of the 300 prompts, drawn with seed 2."
    assert found["judge"]["recovery"]["n"] == used


@pytest.mark.parametrize(("asked", "word"), [({"targets": [25]}, "target"), ({"within_r": [1.5]}, "within_r")])
def test_what_is_no_share_is_refused(drawn, asked, word):
    """A percentage in place of a share, or no number at all, is refused in one line with a way out."""
    with pytest.raises(UsageError, match=f"a {word} must lie in") as refused:
        study_requirements(drawn, **asked)
    assert str(refused.value).count("such as") == 1


def test_one_judge_and_one_target_are_in_the_singular(drawn):
    """The short form counts both."""
    assert repr(study_requirements(drawn, targets=[0.5])) == "<RequirementsStudy of 1 judge, 1 target>"


def test_a_table_without_labels_is_refused(drawn):
    """Without a labelled prompt there is no study."""
    with pytest.raises(InputError, match="label"):
        study_requirements(drawn.assign(oracle_label=np.nan))


def test_labels_without_spread_are_data(drawn):
    """Labels that never differ within a prompt give a document with reasons, and text."""
    study = study_requirements(drawn.assign(oracle_label=0.5))
    found = study.judges["judge"]
    assert found["curve"] == []
    assert {one["within_r"]["reason"] for one in found["targets"]} == {
        "undefined: needs a prompt where labels differ"
    }
    assert "needs a prompt where labels differ" in str(study)


def answer(tmp_path, within_r, recovery, difference=(-0.1, -0.3, 0.1)):
    """Return word, state and sentences of the verdict on a judge with these figures."""
    several = result("requirements", tmp_path)
    plain = several.of_one_judge(next(iter(several.judges))).to_dict()
    (judge,) = plain["judges"].values()
    names = ("estimate", "low", "high")
    for key, found in (("within_r", within_r), ("recovery", recovery), ("difference", difference)):
        judge["judge"][key].update(zip(names, found, strict=True))
    judge["targets"][0]["target"] = 0.25
    judge["targets"][0]["within_r"].update(estimate=0.2, low=0.19, high=0.21)
    document = RequirementsStudy.model_validate(plain)
    (verdict,) = (one for one in describe(document).blocks if isinstance(one, Part) and one.role == "verdict")
    return verdict.title, verdict.state, verdict.blocks[0].text, " ".join(text(document).split())


LITTLE = (0.1, 0.05, 0.15)


@pytest.mark.parametrize(
    ("within_r", "said"),
    [
        ((0.1, 0.05, 0.15), "Its within_r of 0.10 [0.05, 0.15] is too low: 25% takes 0.200 [0.190, 0.210]."),
        ((0.22, 0.1, 0.34), "Its within_r is 0.22 [0.10, 0.34]; 0.200 [0.190, 0.210] is enough for 25% where "),
        (
            (0.4, 0.3, 0.5),
            "Its within_r of 0.40 [0.30, 0.50] is not what it lacks: 0.200 [0.190, 0.210] is enough for 25% where ",
        ),
    ],
)
def test_a_judge_that_falls_short_is_told_by_its_recovery(tmp_path, within_r, said):
    """The word is about recovery; whether within_r is what is missing follows from the interval of within_r."""
    word, state, says, shown = answer(tmp_path, within_r, LITTLE)
    assert (word, state) == ("recovers less than 25%", "bad")
    assert says.startswith("The judge recovers less than 25% of the possible gain: 10% [5%, 15%]. ")
    assert said in says
    assert shown.startswith("Verdict: recovers less than 25% The judge recovers")
    assert "cost more than plain noise" not in says


def test_errors_that_cost_more_than_plain_noise_are_named(tmp_path):
    """They are named where the interval of the difference lies below 0, and not before."""
    says = answer(tmp_path, (0.4, 0.3, 0.5), LITTLE, (-0.2, -0.3, -0.1))[2]
    assert says.endswith("Its errors cost more than plain noise would, as ties, coarse scores and uneven errors can.")


@pytest.mark.parametrize(
    ("recovery", "word", "state", "said"),
    [
        (
            (0.2, 0.1, 0.3),
            "not settled",
            "open",
            "The judge is not shown to recover 25%: it recovers 20% [10%, 30%].",
        ),
        (
            (0.4, 0.3, 0.49),
            "reaches 25%",
            "good",
            "The judge reaches a wanted recovery of 25%: it recovers 40% [30%, 49%].",
        ),
    ],
)
def test_other_verdicts(tmp_path, recovery, word, state, said):
    """An interval around the smallest target settles nothing; one above it reaches it, and says no more."""
    found = answer(tmp_path, (0.4, 0.3, 0.5), recovery)
    assert found[:2] == (word, state)
    assert found[2].startswith(said)
    assert ("within_r" in found[2]) == (state == "open")


@pytest.fixture
def source(tmp_path):
    """Write simulated scores and labels."""
    path = tmp_path / "scores.csv"
    simulate("arena", n=120, seed=2).frame().to_csv(path, index=False)
    return path


def test_the_command_gives_the_document_of_the_call(capsys, source):
    """Strict JSON on standard output, the same as in Python, and words on standard error."""
    done = typed(
        capsys,
        "study",
        "requirements",
        source,
        "--target",
        "0.5",
        "--target",
        "0.8",
        "--within-r",
        "0.31",
        "--full",
        "--json",
        "-",
    )
    called = study_requirements(source, targets=[0.5, 0.8], within_r=[0.31]).to_dict()
    assert done.code == 0
    assert strict(done.out) == json.loads(json.dumps(called))
    assert "A judge at within_r 0.31 recovers about" in done.err


def test_the_targets_of_the_paper_are_the_default(capsys, source):
    """Without --target the four of the paper's Table 25 are answered."""
    done = typed(capsys, "study", "requirements", source)
    assert done.code == 0
    for target in ("25%", "50%", "75%", "90%"):
        assert f"\n{target} " in done.out


def test_a_percentage_is_refused(capsys, source):
    """A target beyond 1 is bad usage, in one line."""
    done = typed(capsys, "study", "requirements", source, "--target", "25")
    assert done.code == 2
    assert "a target must lie in [0, 1], not 25" in done.err


def test_a_table_within_the_limits_is_used_whole():
    """Nothing is left out of a table that can be afforded."""
    found = affordable(np.full(1000, 4), 0)
    assert found.kept.all()
    assert found.too_large == 0


@pytest.mark.parametrize("limits", [{"cells": 400}, {"pairs": 600}])
def test_a_larger_table_is_drawn_from_up_to_the_limit(limits):
    """As many prompts as the limit holds, drawn by the seed."""
    sizes = np.full(1000, 4)
    kept = affordable(sizes, 0, **limits).kept
    assert kept.sum() == 100
    assert (kept == affordable(sizes, 0, **limits).kept).all()
    assert (kept != affordable(sizes, 1, **limits).kept).any()


def test_two_prompts_are_kept_whatever_they_cost():
    """Pools beyond every limit still leave two prompts, for an interval."""
    assert affordable(np.full(10, 5000), 0).kept.sum() == 2


def test_a_pool_that_breaks_a_limit_alone_is_set_aside_and_costs_no_other():
    """Beside one pool of 2,100 all 1,499 others are used, and the one is counted."""
    sizes = np.full(1500, 4)
    sizes[700] = 2100
    found = affordable(sizes, 0)
    assert found.too_large == 1
    assert found.kept.sum() == 1499
    assert not found.kept[700]


def test_prompts_that_were_not_drawn_are_not_called_too_large():
    """Of a table with one pool beyond the limit that is drawn from too, the one alone is counted as too large."""
    sizes = np.full(1000, 4)
    sizes[7] = 500
    found = affordable(sizes, 0, cells=400)
    assert found.too_large == 1
    assert found.kept.sum() == 100
    assert not found.kept[7]


def test_every_prompt_has_the_same_chance_whatever_its_size():
    """Pools of 40 among pools of 4 are drawn as often as those, and the number drawn is always the same."""
    sizes = np.where(np.arange(200) < 20, 40, 4)
    drawn = np.array([affordable(sizes, seed, cells=800).kept for seed in range(400)])
    number = int(800 / sizes.mean())
    assert set(drawn.sum(axis=1).tolist()) == {number}
    assert drawn[:, :20].mean() == pytest.approx(number / 200, abs=0.03)


LAW = Student(0.5, 0.1, 50, (-np.inf, np.inf))


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_lower_end_is_worked_by_hand(confidence):
    """Student's t with 4 degrees of freedom is 1.533 at 80 % and 2.776 at 95 %: so many times .2 below .5."""
    low, high = BeyondChance(LAW, 0.5, 0.2, 4).at(confidence)
    assert low == pytest.approx(0.5 - {0.8: 1.5332, 0.95: 2.7764}[confidence] * 0.2, abs=1e-4)
    assert high == LAW.at(confidence)[1]


def test_a_wider_law_stays_as_it_is():
    """Where the law reaches lower than chance does both of its ends stand."""
    assert BeyondChance(LAW, 0.5, 0.05, 50).at(0.95) == LAW.at(0.95)


def test_the_reach_of_chance_starts_at_the_estimate():
    """A law about another middle is moved to t standard errors below the estimate, not below its own end."""
    low, high = BeyondChance(Exact(0.5, 9, (0.4, 1.0)), 0.6, 0.3, 50).at(0.95)
    assert low == pytest.approx(0.6 - student_quantile(0.95, 50) * 0.3)
    assert high == Exact(0.5, 9, (0.4, 1.0)).at(0.95)[1]


def test_no_interval_stays_none():
    """A law without an interval has none here, and the rule keeps its name."""
    assert BeyondChance(Exact(0.5, 9, (-np.inf, 1.0)), 0.5, 0.2, 4).at(0.95) is None
    assert BeyondChance(LAW, 0.5, 0.2, 4).kind == "jackknife"
    assert BeyondChance(Exact(0.5, 9, (0.0, 1.0)), 0.5, 0.2, 4).kind == "exact"


# Poisson counts by hand, 2.5 % on each side. None was seen: e^-m = .025. One was seen: at least m with
# 1 - e^-m = .025, at most m with e^-m (1 + m) = .025: e^-5.571643 = .0038042, times 6.571643 is .025.
MOST_OF_NONE = -math.log(0.025)
FEWEST_OF_ONE = -math.log(0.975)
MOST_OF_ONE = 5.571643


def law_of(picked, se, labels=(1.0, 0.0)):
    """Return the law of a judge by the place, in the labels of each prompt, of the candidate that it picks."""
    pools = np.tile(labels, (len(picked), 1))
    scores = (np.arange(len(labels)) == np.asarray(picked)[:, None]).astype(float)
    sums = Sums(*prompt_sums(scores.ravel(), pools.ravel(), np.full(len(pools), len(labels))))
    return few_picks(sums, np.full(len(pools), max(labels) - min(labels)), se)


def test_one_loss_is_worked_by_hand():
    """Of 50 picks between 1 and 0 one is wrong: what is lost is a Poisson count of one, in units of 1/25."""
    # Possible: 50 x .5 = 25. Brought: 49 x .5 - .5 = 24, hence .96; lost 1 of 25 = .04.
    law = law_of([1] + [0] * 49, se=0.002)
    assert (law.estimate, law.amount, law.unit, law.losses, law.df) == pytest.approx((0.96, 0.04, 0.04, True, 49))
    # Lost at most .04 x 5.5716 = .2229 and at least .04 x .0253 = .0010.
    assert law.at(0.95) == pytest.approx((1 - 0.04 * MOST_OF_ONE, 1 - 0.04 * FEWEST_OF_ONE), abs=1e-7)
    assert law.at(0.95) == pytest.approx((0.7771, 0.9990), abs=1e-4)


def test_one_win_is_worked_by_hand():
    """Of 50 picks between 1 and 0 one is right: the ends lie from the least as those of a loss from the most."""
    # Brought: .5 - 49 x .5 = -24 of 25; the least is -1, and .04 is won above it.
    law = law_of([0] + [1] * 49, se=0.002)
    assert (law.estimate, law.amount, law.unit, law.losses, law.df) == pytest.approx((-0.96, 0.04, 0.04, False, 49))
    assert law.at(0.95) == pytest.approx((-1 + 0.04 * FEWEST_OF_ONE, -1 + 0.04 * MOST_OF_ONE), abs=1e-7)
    assert law.at(0.95) == pytest.approx((-0.9990, -0.7771), abs=1e-4)


def test_confidence_is_shared_by_both_ends():
    """At 80 % each end leaves 10 %: of one loss at least -ln .9 and at most 3.8897 units."""
    # e^-3.889720 x 4.889720 = .1
    law = law_of([1] + [0] * 49, se=0.002)
    assert law.at(0.8) == pytest.approx((1 - 0.04 * 3.889720, 1 + 0.04 * math.log(0.9)), abs=1e-7)


def test_unequal_losses_count_by_their_weight():
    """Losses of 1 and .5 are 1.8 picks of a unit of their own: 1.5^2 / 1.25, and 1.25 / 1.5 of the possible gain."""
    # Labels 1, .5 and 0: possible 10 x .5 = 5, lost 1.5 of 5.
    law = law_of([2, 1, *[0] * 8], se=0.1, labels=(1.0, 0.5, 0.0))
    assert law.count == pytest.approx(1.8)
    assert law.unit == pytest.approx(1.25 / 1.5 / 5)
    assert law.amount == pytest.approx(0.3)
    assert law.estimate == pytest.approx(0.7)


def test_the_law_of_few_picks_does_not_depend_on_the_unit_of_labels():
    """Labels of a billionth of a billionth are told apart as those of 1 are."""
    whole, tiny = (law_of([1] + [0] * 49, se=0.002, labels=(unit, 0.0)) for unit in (1.0, 1e-18))
    assert tiny.at(0.95) == pytest.approx(whole.at(0.95))


def test_where_nothing_was_won_one_win_may_be_the_largest():
    """A judge always at the worst label has its upper end 3.689 widest gaps above it, its lower one Student's."""
    # Prompts of (1, 0) and of (1, 0, 0): possible 5 x 1/2 + 5 x 2/3, brought -(5 x 1/2 + 5 x 1/3).
    labels, scores = [1.0, 0.0] * 5 + [1.0, 0.0, 0.0] * 5, [0.0, 1.0] * 5 + [0.0, 1.0, 1.0] * 5
    sums = Sums(*prompt_sums(np.array(scores), np.array(labels), np.array([2] * 5 + [3] * 5)))
    law = few_picks(sums, np.ones(10), 0.03)
    possible = 5 / 2 + 10 / 3
    assert (law.estimate, law.amount, law.unit) == pytest.approx((-25 / 6 / possible, 0.0, 1 / possible))
    low, high = law.at(0.95)
    assert high == pytest.approx(law.estimate + MOST_OF_NONE / possible)
    assert low == Student(law.estimate, 0.03, 9, (-np.inf, 1.0)).at(0.95)[0]


@pytest.mark.parametrize("losses", [True, False])
def test_no_end_lies_inside_students(losses):
    """Where the jackknife's interval is the wider one its ends stand, cut at all of the possible gain."""
    law = Few(0.5, 0.3, 0.1, 0.1, losses, 49)
    assert law.at(0.95) == pytest.approx(Student(0.5, 0.3, 49, (-np.inf, 1.0)).at(0.95))
    assert law.at(0.95)[1] == 1.0


@pytest.mark.parametrize("wrong", [29, 30])
@pytest.mark.parametrize("picks", [(1, 0), (0, 1)], ids=["losses", "wins"])
def test_from_thirty_picks_on_the_paired_interval_stands(wrong, picks):
    """Up to 29 losses, or wins, of one size are few, from 30 on they are many."""
    law = law_of([picks[0]] * wrong + [picks[1]] * 71, se=0.1)
    assert (law is None) is (wrong == 30)


def test_a_judge_that_is_always_right_has_the_exact_bound():
    """Nothing varies: at most a share 1 - .025^(1/50) of 50 prompts differs, each by the widest gap."""
    law = law_of([0] * 50, se=0.0)
    assert isinstance(law, Exact)
    # The widest gap, 1, is 2 times the mean gain.
    assert law.at(0.95) == pytest.approx((1 - 2 * (1 - 0.025**0.02), 1.0))


@pytest.mark.parametrize(
    ("correlation", "ends"),
    [
        # Below .03 and .08 go together: .03^2 + .08^2 - .03 x .08 = .07^2; above .07 and .15: their root is .13.
        (0.5, (0.4 - 0.07, 0.4 + 0.13)),
        (0.0, (0.4 - math.sqrt(0.0073), 0.4 + math.sqrt(0.0274))),
        (1.0, (0.4 - 0.05, 0.4 + 0.08)),
        (-1.0, (0.4 - 0.11, 0.4 + 0.22)),
    ],
)
def test_a_difference_of_two_intervals_is_worked_by_hand(correlation, ends):
    """The lower end takes the first's lower and the second's upper reach; what moves both moves it the less."""
    first, second = Student(0.6, 9.0, 9, (0.57, 0.67)), Student(0.2, 9.0, 9, (0.05, 0.28))
    assert MoverDifference(first, second, (0.6, 0.2), correlation).at(0.95) == pytest.approx(ends)


@pytest.mark.parametrize("at", [0, 1])
def test_a_difference_with_a_part_unknown_is_unknown(at):
    """Without an interval of either part there is none of their difference."""
    laws = [Student(0.6, 0.1, 9, (0, 1)), Student(0.2, 0.1, 9, (0, 1))]
    laws[at] = Exact(0.5, 9, (-np.inf, 1.0))
    assert MoverDifference(*laws, (0.6, 0.2), 0.5).at(0.95) is None


@pytest.mark.parametrize("unpicked", ["random", "first", "drop"])
def test_unscored_candidates_cannot_be_picked(unpicked):
    """The judge's own figures are those of its audit; the curve is of the labels, whatever has a score."""
    frame = lossy(cohort(80), seed=2)
    found, full = study_requirements(frame, unpicked=unpicked), study_requirements(cohort(80))
    own, audited = found.judges["judge"].judge, audit(frame, unpicked=unpicked).judges["judge"]
    for name in ("within_r", "effective_agreement", "recovery"):
        assert getattr(own, name).estimate == pytest.approx(audited.metrics[name].estimate, abs=1e-12), name
    data = found.judges["judge"].data
    assert sum(data.unscored.values()) == audited.data.unscored.candidates
    assert data.prompts_under_two_scores
    if unpicked == "drop":
        assert data.dropped == {"no score for any candidate": 8}
    else:
        assert (data.prompts, data.dropped) == (80, {})
        assert found.judges["judge"].curve == full.judges["judge"].curve
    assert own.expected_recovery.estimate > own.recovery.estimate
    told = any("candidates without a score, ties" in one for one in found.judges["judge"].sentences)
    assert told == (own.difference.high < 0)
