from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from auditing.tables import cohort, two_judges
from bonwise.auditing.front import audit
from bonwise.auditing.settings import Settings
from bonwise.errors import InputError, UsageError
from bonwise.stats.catalog import ESTIMANDS
from bonwise.studies.labelled_panels import open_judged
from bonwise.studies.mix.engine import mix_of
from bonwise.studies.mix.front import study_mix
from bonwise.studies.mix.mixture import OF_PAIRS

NAMES = [e.name for e in ESTIMANDS]


def with_control(frame, name="bad", share=1.0, seed=3):
    """Add a candidate that everyone can tell apart to a share of the prompts."""
    rng = np.random.default_rng(seed)
    one = frame[frame["candidate"] == "c0"].copy()
    one = one[rng.random(len(one)) < share] if share < 1 else one
    one["candidate"] = name
    one["judge_score"] = (0.1 * rng.random(len(one))).round(2)
    prompts, names = pd.factorize(one["prompt_id"])
    one["oracle_label"] = (0.1 * rng.random(len(names))).round(2)[prompts]
    return pd.concat([frame, one], ignore_index=True)


def ends_of(study, judge="judge"):
    """Return the metrics without the control, and with it in every pool."""
    points = study.judges[judge].points
    return points[0].metrics, points[10].metrics


def assert_alike(found, expected):
    """Compare metrics with their intervals."""
    for name in NAMES:
        one, other = found[name], expected[name]
        assert (one.n, one.interval, one.method) == (other.n, other.interval, other.method), name
        for key in ("estimate", "low", "high", "se"):
            left, right = getattr(one, key), getattr(other, key)
            assert left == (None if right is None else pytest.approx(right, abs=1e-9)), (name, key)


@pytest.mark.shared
def test_arena_rises_from_the_audit_without_its_control_to_the_audit_with_it(shared):
    """On the arena sample recovery goes from .213 to .656 and global_r from .652 to .869, every step upwards."""
    scores = shared / "data" / "arena100" / "scores.csv"
    study, audited = study_mix(scores, control="unhelpful"), audit(scores, control="unhelpful").judges["judge"]
    first, last = ends_of(study)
    assert_alike(first, audited.metrics)
    assert_alike(last, audited.with_control)
    expected = {"recovery": (0.213, 0.656), "global_r": (0.652, 0.869)}
    for name, ends in expected.items():
        assert (first[name].estimate, last[name].estimate) == pytest.approx(ends, abs=5e-4)
        curve = [p.metrics[name].estimate for p in study.judges["judge"].points if name in p.metrics]
        assert (np.diff(curve) > 0).all()
    # The paper's Figure 3 runs up to .89; here the easy pairs alone give .906.
    assert study.judges["judge"].points[-1].metrics["global_r"].estimate == pytest.approx(0.906, abs=5e-4)
    change = study.judges["judge"].change
    assert change["recovery"].estimate == pytest.approx(0.444, abs=5e-4)
    assert change["value_judge"].low < 0 < change["value_judge"].high
    assert "recovery rises from 21% to 66% (change +44 points [" in study.judges["judge"].sentences[0]


def test_the_ends_are_the_audits_of_several_judges_and_of_several_controls():
    """Whoever judges and however many controls there are, the ends are the audits without and with them."""
    frame = with_control(with_control(two_judges(80), "bad"), "worse", seed=4)
    controls = ("bad", "worse")
    study, audited = study_mix(frame, control=controls), audit(frame, control=controls)
    for name, judge in audited.judges.items():
        first, last = ends_of(study, name)
        assert_alike(first, judge.metrics)
        assert_alike(last, judge.with_control)
        # Of 6 candidates 2 are controls: 8 of 15 pairs hold one of them and one of the others.
        assert study.judges[name].points[10].easy_pairs == pytest.approx(8 / 15)
    assert study.not_studied == {}


def test_ragged_pools_are_audited_as_they_are():
    """Where only some pools hold the control the ends are still the audits, and a sentence counts the pools."""
    frame = with_control(cohort(100), share=0.5)
    study, audited = study_mix(frame, control="bad"), audit(frame, control="bad").judges["judge"]
    first, last = ends_of(study)
    assert_alike(first, audited.metrics)
    assert_alike(last, audited.with_control)
    data = study.judges["judge"].data
    assert data["prompts_with_control"] < data["mixed_prompts"] == 100
    words = " ".join(study.judges["judge"].sentences)
    assert f"{data['prompts_with_control']} of 100 prompts hold bad" in words
    assert "With it in half of the prompts that hold it " in words
    assert "of the pools that hold a control" in " ".join(str(study).split())


def test_several_controls_are_them():
    """Two controls are spoken of in the plural."""
    frame = with_control(with_control(cohort(80), "bad"), "worse", seed=4)
    sentences = study_mix(frame, control=("bad", "worse")).judges["judge"].sentences
    assert any(one.startswith("With them in half of the prompts that hold them ") for one in sentences)


def test_one_prompt_has_no_confidence_to_speak_of():
    """Of one prompt the change is given without an interval, and no confidence is claimed."""
    frame = with_control(cohort(20))
    study = study_mix(frame[frame["prompt_id"] == frame["prompt_id"].iloc[0]], control="bad")
    words = " ".join(study.judges["judge"].sentences)
    assert "no interval" in words
    assert "confidence" not in words
    assert "-0.000" not in words
    assert "1 prompts" not in str(study)


def test_the_curve_is_what_a_benchmark_with_so_many_controls_would_show():
    """A benchmark that draws which prompts show the control has, over many draws, the metrics of the curve."""
    whole = with_control(cohort(200))
    curve = study_mix(whole, control="bad").judges["judge"].points[3].metrics
    control = whole["candidate"] == "bad"
    rng, found = np.random.default_rng(8), []
    for _ in range(30):
        shows = rng.random(len(whole)) < 0.3
        found.append(audit(whole[~control | shows], shape="ragged").metrics)
    for name in ("recovery", "global_r", "within_r", "tie_rate", "value_random"):
        drawn = [metrics[name].estimate for metrics in found]
        assert np.mean(drawn) == pytest.approx(curve[name].estimate, abs=0.02), name


def test_partly_labelled_tables_say_what_they_describe():
    """With labels missing beyond the limit figures are of the labelled prompts, in every estimate and a sentence."""
    study = study_mix(with_control(cohort(60, unlabelled=20)), control="bad")
    judge = study.judges["judge"]
    assert {found.method for point in judge.points for found in point.metrics.values()} == {"labelled_only"}
    assert {found.method for found in judge.change.values()} == {"labelled_only"}
    assert judge.data["mixed_prompts"] == 40
    assert "40 prompts whose candidates all have labels" in judge.sentences[-1]
    assert "* from the completely labelled prompts alone" in str(study)


def test_prompts_are_counted_out_with_the_reason():
    """Prompts whose control lacks a label, and pools that are no choice without it, are left out and counted."""
    frame = with_control(cohort(80))
    bad = frame.index[frame["candidate"] == "bad"]
    frame.loc[bad[:3], "oracle_label"] = np.nan
    alone = frame["prompt_id"].isin(frame["prompt_id"].unique()[-2:]) & ~frame["candidate"].isin(["c0", "bad"])
    study = study_mix(frame[~alone], control="bad", shape="ragged")
    data = study.judges["judge"].data
    assert (data["mixed_prompts"], data["left_out"], data["only_with_control"]) == (75, 3, 2)
    assert any("3 prompts are left out: bad is not there, or lacks" in one for one in study.judges["judge"].sentences)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"control": ()}, "without a control there is nothing to mix in"),
        ({"control": "bad", "exclude": "bad"}, "without a control there is nothing to mix in"),
        ({"control": "nobody"}, "no candidate named 'nobody'"),
    ],
)
def test_nothing_to_mix_in_is_refused(options, said):
    """Without a control that is in the table the study is refused in one line, with a way out."""
    with pytest.raises(UsageError, match=said) as raised:
        study_mix(with_control(cohort(20)), **options)
    assert raised.value.hint


@pytest.mark.parametrize(("others", "left"), [(["c0", "c1", "c2"], "only 'c3'"), (["c0", "c1", "c2", "c3"], "no")])
def test_a_control_beside_which_nothing_is_left_to_choose_is_refused(others, left):
    """The hint is about the controls, not about columns; what is excluded is not left either."""
    frame = with_control(cohort(20))
    for options in ({"control": ["bad", *others]}, {"control": "bad", "exclude": others}):
        with pytest.raises(UsageError, match=f"{left}.* left beside the control") as refused:
            study_mix(frame, **options)
        assert "--control" in refused.value.hint


def test_the_text_is_no_wider_than_a_page_and_has_the_ends_of_the_curve():
    """Every second point of the first leg stands there, all pools among them; the document has each."""
    study = study_mix(with_control(cohort(60)), control="bad")
    lines = [line.rstrip() for line in str(study).splitlines()]
    assert max(map(len, lines)) <= 118
    shown = [line.split()[0] for line in lines if re.match(r"\d+% +[\d.]+%", line)]
    assert shown == ["0%", "20%", "40%", "60%", "80%", "100%"]
    assert len([line for line in lines if line.startswith("all + ")]) == 9
    assert any(line.startswith("easy alone") for line in lines)
    assert "every second point of the curve" in " ".join(lines)


def test_a_control_without_scores_or_labels_is_refused():
    """Where no pool holds the control with a label the study says so."""
    frame = with_control(cohort(20))
    frame.loc[frame["candidate"] == "bad", "oracle_label"] = np.nan
    with pytest.raises(InputError, match="no labelled prompt holds the control 'bad'"):
        study_mix(frame, control="bad")


def test_a_judge_that_never_scored_the_control_is_named():
    """Of several judges the one that scored no control is not studied, and the document says why."""
    frame = with_control(two_judges(40))
    frame.loc[(frame["judge"] == "second") & (frame["candidate"] == "bad"), "judge_score"] = np.nan
    study = study_mix(frame, control="bad")
    assert list(study.judges) == ["first"]
    assert study.not_studied == {"second": "no labelled prompt holds a control"}
    assert "second: no labelled prompt holds a control" in str(study)


def test_the_document_is_strict_and_the_frame_tidy():
    """The document is JSON without NaN; the frame holds a row a judge, point and metric; the repr is short."""
    study = study_mix(with_control(cohort(30)), control="bad")
    document = json.loads(json.dumps(study.to_dict(), allow_nan=False))
    assert (document["schema"], document["study"], document["settings"]["control"]) == (
        "bonwise.study/1",
        "mix",
        ["bad"],
    )
    frame = study.to_frame()
    assert len(frame) == 11 * len(NAMES) + 10 * len(OF_PAIRS)
    assert set(frame["metric"]) == set(NAMES)
    assert repr(study) == "<MixStudy of judge on table>"


def test_the_inner_function_takes_the_panels_it_is_given():
    """On an open table the study is that of the front door, whatever interval the audit was asked for."""
    frame, settings = with_control(cohort(30)), Settings(control=("bad",), interval="bootstrap", resamples=50)
    inner = mix_of(open_judged(frame, settings)).to_dict()["judges"]
    assert inner == study_mix(frame, control="bad").to_dict()["judges"]


def test_a_judge_that_ties_everything_has_reasons_for_figures():
    """Where metrics are undefined the study still speaks, with null and the reason."""
    frame = with_control(cohort(30)).assign(judge_score=0.5)
    study = study_mix(frame, control="bad")
    assert study.judges["judge"].change["global_r"].reason == "undefined: needs scores and labels that vary"
    assert "The change of global_r has no figure" in str(study)
    json.dumps(study.to_dict(), allow_nan=False)


def test_a_control_like_the_others_moves_nothing():
    """Where the control is no easier than the others the sentences claim no rise."""
    sentences = study_mix(cohort(120), control="c0").judges["judge"].sentences
    assert "global_r goes from" in sentences[0]
    assert not any("half of the prompts" in sentence for sentence in sentences)
