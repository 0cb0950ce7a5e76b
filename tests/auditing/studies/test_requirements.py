from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from auditing.tables import table
from bonwise.auditing.front import audit
from bonwise.errors import InputError, UsageError
from bonwise.report.numbers import estimate, with_interval
from bonwise.studies.requirements import engine as requirements
from bonwise.studies.requirements.front import study_requirements
from bonwise.studies.requirements.noisy_oracle import Afforded
from bonwise.testing import simulate

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


def test_the_judges_own_figures_are_the_audits(drawn):
    """within_r, effective agreement and recovery are those of the audit, with its intervals."""
    own, audited = study_requirements(drawn).judges["judge"]["judge"], audit(drawn)
    for metric in ("within_r", "effective_agreement", "recovery"):
        assert own[metric].to_dict() == audited[metric].to_dict()
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
    """The frame holds two rows a target, one a given within_r and five of the judge."""
    frame = study_requirements(drawn, targets=[0.5], within_r=[0.3, 0.4]).to_frame()
    assert list(frame.columns[:5]) == ["judge", "part", "at", "metric", "estimate"]
    assert frame.groupby("part").size().to_dict() == {"inverse": 2, "judge": 5, "targets": 2}


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


@pytest.mark.parametrize(
    ("asked", "word"), [({"targets": [25]}, "target"), ({"within_r": [float("nan")]}, "within_r")]
)
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
