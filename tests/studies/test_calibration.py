"""The study of calibration: figures, words, tables, drawings, and the command."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import typer
from scipy import stats

from auditing.tables import cohort, heavy_labels, lossy, table, two_judges
from bonwise.auditing.front import audit
from bonwise.cli.shared_flags import command_of
from bonwise.errors import ColumnError, InputError, UsageError
from bonwise.estimates import EstimateRecord
from bonwise.extras import TREES
from bonwise.report.blocks import Part, Table, drawings_of
from bonwise.report.numbers import count, with_interval
from bonwise.report.numbers import estimate as estimate_of_studies
from bonwise.report.show import describe, drawings, markdown, notebook, page, text
from bonwise.results import Document
from bonwise.studies.calibration.front import study_calibration
from bonwise.studies.calibration.judge_calibration import _recovery, cross_fitted, exchange_training_means
from bonwise.studies.calibration.result import CalibrationStudy
from bonwise.studies.calibration.view import _title as described_title
from bonwise.studies.registration import study_of
from cli.commands import strict
from report.readers import HOSTILE, harmless, lost, words
from results.round_trips import read_back, refusal

SEED = 20261121
WITH_COVARIATES = ["isotonic", "two_stage", "two_stage_covariates", "gradient_boosting"]


def with_hint(n, seed=SEED):
    """Return a simulated table with a column that knows something of the label."""
    frame = cohort(n, seed)
    return frame.assign(hint=frame["oracle_label"] + 0.3 * np.random.default_rng(seed).standard_normal(len(frame)))


@pytest.fixture(scope="module")
def hinted():
    """Study a simulated table with a covariate."""
    return study_calibration(with_hint(400), covariates="hint")


@pytest.mark.shared
@pytest.mark.parametrize("seed", [0, 1])
def test_monotone_calibration_changes_no_pick_of_5000(shared, seed):
    """Isotonic replaces 0 of 5,000 picks; the maps of the two stages rise here too, so theirs are 0 as well."""
    found = study_calibration(shared / "data" / "simulated" / "arena_like_5000.csv.gz", seed=seed)["judge"]
    for method in ("isotonic", "two_stage"):
        one = found.methods[method]
        assert one.rising_folds == 5
        picks = one.picks.all
        assert (picks.prompts, picks.picks_changed, picks.ties_broken) == (5000, picks.picks_newly_tied, 0)
        assert one.picks.without_ties.picks_changed == picks.picks_newly_tied < 20
        assert abs(one.changes["recovery"].estimate) < 0.001
        assert one.changes["global_r"].estimate > 0


@pytest.mark.shared
def test_the_arena_sample_is_calibrated_with_the_length_of_the_answers(shared):
    """Monotone maps cost .3 points of recovery by new ties, as in the paper's Table 29; the length breaks ties."""
    folder = shared / "data" / "arena100"
    found = study_calibration(folder / "scores.csv", exclude="unhelpful", pools=folder / "candidates.jsonl")["judge"]
    assert found.covariates == ["length"]
    assert found.data["prompts"] == 99
    assert found.methods["isotonic"].changes["recovery"].estimate == pytest.approx(-0.003, abs=0.001)
    # One unique pick comes to share the top; none is replaced.
    picks = found.methods["isotonic"].picks.all
    assert (picks.picks_changed, picks.picks_newly_tied) == (1, 1)
    lengths = found.methods["two_stage_covariates"]
    assert lengths.changes["top1_tie_rate"].estimate < -0.1
    assert lengths.changes["recovery"].estimate > 0.03


def test_raw_metrics_are_those_of_the_audit(hinted):
    """The raw figures are the audit's own, interval included."""
    audited = audit(with_hint(400))
    for metric, found in hinted["judge"].raw.metrics.items():
        figure = audited[metric].to_dict()
        figure.pop("effective_n", None)
        assert found.to_dict() == figure, metric


def test_changes_are_calibrated_minus_raw(hinted):
    """Every change is the difference of its two metrics, and the relative one their ratio less 1."""
    judge = hinted["judge"]
    for one in judge.methods.values():
        for metric, change in one.changes.items():
            if change.estimate is not None:
                apart = one.metrics[metric].estimate - judge.raw.metrics[metric].estimate
                assert change.estimate == pytest.approx(apart, abs=1e-9)
        for metric, relative in one.relative.items():
            ratio = one.metrics[metric].estimate / judge.raw.metrics[metric].estimate
            assert relative.estimate == pytest.approx(ratio - 1)


def test_the_document_tells_how_intervals_were_made(hinted):
    """Maps are learned again but for the trees and the level; so say document, frame and degrees of freedom."""
    judge = hinted.to_dict()["judges"]["judge"]
    assert judge["groups"] == 20
    said = {name: one["intervals"] for name, one in judge["methods"].items()}
    refitted = dict.fromkeys(WITH_COVARIATES[:3], "refitted")
    assert said == {**refitted, "gradient_boosting": "maps taken as fixed"}
    assert {one["level"]["intervals"] for one in judge["methods"].values()} == {"maps taken as fixed"}
    frame = hinted.to_frame().query("calibration == 'isotonic'").set_index(["kind", "metric"])["intervals"]
    assert frame["change", "recovery"] == "refitted"
    assert frame["change", "level"] == "maps taken as fixed"
    changes = hinted["judge"].methods["two_stage_covariates"].changes
    for name in ("recovery", "within_r", "global_r"):
        change = changes[name]
        assert (change.high - change.low) / (2 * change.se) == pytest.approx(stats.t.ppf(0.975, 19))


def test_what_labels_alone_decide_is_the_same_after_as_before(hinted):
    """Metrics of the labels keep the raw estimate, interval included."""
    judge = hinted["judge"]
    for name in ("value_random", "value_oracle", "oracle_tie_rate", "oracle_between_share"):
        assert judge.methods["isotonic"].metrics[name] == judge.raw.metrics[name]


def test_ten_prompts_are_left_out_by_twos():
    """With fewer than 40 prompts there are half as many groups; every missing end has its reason."""
    found = study_calibration(cohort(10).assign(hint=range(40)), covariates="hint")
    json.dumps(found.to_dict(), allow_nan=False)
    assert found["judge"].groups == 5
    for one in found["judge"].methods.values():
        for estimate in (*one.metrics.values(), *one.changes.values(), *one.relative.values(), one.tie_breaks):
            assert estimate.reason is not None or estimate.low <= estimate.estimate <= estimate.high


def test_the_level_after_isotonic_is_the_level_bias_of_the_audit(hinted):
    """The audit's level_bias is that of a cross-fitted isotonic map on the same folds."""
    expected, found = audit(with_hint(400))["level_bias"], hinted["judge"].methods["isotonic"].level.bias
    assert (found.estimate, found.low, found.high) == pytest.approx((expected.estimate, expected.low, expected.high))


def test_a_covariate_that_knows_the_label_breaks_ties_the_right_way(hinted):
    """Recovery rises, ties fall, and the ties are broken better than by guessing."""
    one = hinted["judge"].methods["two_stage_covariates"]
    assert one.changes["recovery"].low > 0
    assert one.changes["top1_tie_rate"].high < 0
    assert one.tie_breaks.low > 0.5


def test_a_covariate_that_knows_nothing_breaks_ties_by_guessing():
    """Of the ties that noise breaks, half go the right way, and recovery is not seen to rise."""
    frame = cohort(600).assign(noise=np.random.default_rng(1).standard_normal(2400))
    one = study_calibration(frame, covariates="noise")["judge"].methods["two_stage_covariates"]
    assert one.tie_breaks.low < 0.5 < one.tie_breaks.high
    assert one.changes["recovery"].low < 0


def test_a_two_stage_map_need_not_rise_with_the_score():
    """Where labels fall and rise again with the score the index follows; isotonic replaces no pick, and ties some."""
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 21, (200, 4)) / 20
    labels = np.clip(4 * (scores - 0.6) ** 2 + 0.02 * rng.standard_normal(scores.shape), 0, 1)
    found = study_calibration(table(list(zip(scores.tolist(), labels.tolist(), strict=True))))["judge"]
    assert found.methods["two_stage"].rising_folds == 0
    untied = found.methods["two_stage"].picks.without_ties
    assert untied.picks_changed > untied.picks_newly_tied
    assert found.methods["two_stage"].changes["recovery"].low > 0
    every = found.methods["isotonic"].picks.all
    assert every.picks_changed == every.picks_newly_tied > 0


def test_methods_with_covariates_are_left_out_without_any():
    """The document says which methods are left out, and why."""
    document = study_calibration(cohort(60)).to_dict()["judges"]["judge"]
    assert list(document["methods"]) == ["isotonic", "two_stage"]
    assert list(document["left_out"]) == ["two_stage_covariates", "gradient_boosting"]
    assert all("covariate" in why for why in document["left_out"].values())


def test_without_their_extra_trees_are_left_out_with_the_line_to_type(monkeypatch):
    """The other three ways are the same figures, and a sentence says what to install."""
    frame = with_hint(60)
    whole = study_calibration(frame, covariates="hint").to_dict()["judges"]["judge"]
    monkeypatch.setattr(type(TREES), "missing", lambda feature: feature.modules if feature is TREES else ())
    found = study_calibration(frame, covariates="hint").to_dict()["judges"]["judge"]
    assert list(found["methods"]) == WITH_COVARIATES[:3]
    assert found["left_out"] == {"gradient_boosting": "it needs bonwise[trees] (pip install 'bonwise[trees]')"}
    assert found["methods"] == {name: whole["methods"][name] for name in WITH_COVARIATES[:3]}
    left = "Gradient boosting is left out: it needs bonwise[trees] (pip install 'bonwise[trees]')."
    assert left in found["sentences"]


def test_the_document_is_strict_json(hinted):
    """It holds no NaN, and each estimate its count and its method."""
    document = json.loads(json.dumps(hinted.to_dict(), allow_nan=False))
    assert (document["schema"], document["study"]) == ("bonwise.study/1", "calibration")
    judge = document["judges"]["judge"]
    assert list(judge["methods"]) == WITH_COVARIATES
    assert judge["methods"]["isotonic"]["changes"]["recovery"].keys() >= {"estimate", "low", "high", "n", "method"}
    assert document["settings"]["folds"] == 5
    assert judge["sentences"]


def test_the_frame_holds_one_row_an_estimate(hinted):
    """Judge, calibration, kind and metric name each row."""
    frame = hinted.to_frame()
    assert not frame.duplicated(["judge", "calibration", "kind", "metric"]).any()
    assert set(frame["calibration"]) == {"raw", *WITH_COVARIATES}
    assert repr(hinted) == "<CalibrationStudy of judge on table>"


def test_the_length_is_that_of_the_texts_of_the_table_or_of_the_pools(tmp_path):
    """A column of texts and a file of pools give the same study."""
    frame = cohort(60)
    texts = ["x" * int(1 + 50 * label) for label in frame["oracle_label"]]
    pools = tmp_path / "pools.jsonl"
    rows = frame.assign(text=texts).groupby("prompt_id", sort=False)
    lines = [
        {
            "prompt_id": name,
            "prompt": "?",
            "candidates": [{"id": i, "text": t} for i, t in zip(g["candidate"], g["text"], strict=True)],
        }
        for name, g in rows
    ]
    pools.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    column = study_calibration(frame.assign(text=texts)).to_dict()
    joined = study_calibration(frame, pools=pools).to_dict()
    named = study_calibration(frame.assign(length=[len(text) for text in texts]), covariates=["length"]).to_dict()
    assert column["judges"] == joined["judges"] == named["judges"]
    assert column["settings"]["covariates"] == ["length"]


def test_prompts_that_lack_a_covariate_are_dropped_and_counted():
    """A blank covariate drops its prompt with the reason; the raw figures are those of the rest."""
    frame = with_hint(60)
    frame.loc[[0, 5, 6], "hint"] = np.nan
    found = study_calibration(frame, covariates="hint")["judge"]
    assert found.data["dropped"] == {"no hint of a candidate": 2}
    assert (found.data["prompts"], found.data["unlabelled_prompts"]) == (58, 0)


def test_partial_labels_are_said_to_be_partial():
    """With many prompts unlabelled every figure is one of the labelled prompts alone."""
    found = study_calibration(cohort(100, unlabelled=40))["judge"]
    assert (found.data["prompts"], found.data["unlabelled_prompts"]) == (60, 40)
    assert {one.method for one in found.methods["isotonic"].changes.values()} == {"labelled_only"}
    said = "Figures describe 60 of 100 prompts, those that are labelled completely, not all prompts."
    assert said in found.sentences
    complete = study_calibration(cohort(100))["judge"].sentences
    assert not any("describe" in sentence for sentence in complete)


def test_prompts_without_labels_or_without_a_covariate_are_not_described():
    """With 40 unlabelled and 2 without a covariate, figures describe 58 of 100, and a sentence says which."""
    frame = cohort(100, unlabelled=40).assign(hint=range(400))
    frame.loc[[0, 5], "hint"] = np.nan
    sentences = study_calibration(frame, covariates="hint")["judge"].sentences
    said = "Figures describe 58 of 100 prompts, those that are labelled completely and have every covariate, not all"
    assert any(sentence.startswith(said) for sentence in sentences)


def test_several_judges_and_a_reference():
    """Each judge is studied; with one of them as the reference the other is."""
    frame = two_judges(60)
    assert list(study_calibration(frame).judges) == ["first", "second"]
    found = study_calibration(frame, oracle="judge:second")
    assert list(found.judges) == ["first"]
    assert found.to_dict()["settings"]["reference"] == "second"
    assert "oracle" not in found.to_text(full=True)


def test_ragged_pools_are_calibrated():
    """Pools of two and of three make one study; names that do not recur leave the level undefined."""
    rng = np.random.default_rng(5)
    rows = [
        (f"p{x:03d}", f"{x}-{i}", rng.integers(0, 5) / 4, rng.random()) for x in range(40) for i in range(2 + x % 2)
    ]
    frame = pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge_score", "oracle_label"])
    found = study_calibration(frame, shape="ragged")["judge"]
    assert found.methods["isotonic"].picks.all.prompts == 40
    assert "recur" in found.raw.level.reason
    assert any("recur" in sentence for sentence in found.sentences)


def test_constant_scores_have_nothing_to_calibrate():
    """Metrics that need scores that vary are undefined with a reason; the document is still whole."""
    found = study_calibration(cohort(40).assign(judge_score=0.5))
    json.dumps(found.to_dict(), allow_nan=False)
    one = found["judge"].methods["isotonic"]
    assert one.picks.all.top_kept == 40
    assert one.changes["within_r"].estimate is None
    assert one.metrics["global_r"].estimate is None
    said = "changes 0 of 40 picks; the raw scores of every prompt tie at the top; ties at the top broken: 0."
    assert any(sentence.endswith(said) for sentence in found["judge"].sentences)


def test_one_pick_without_a_tie_is_counted_by_itself():
    """Where one prompt of 40 has a highest score, a map that saw no such score makes it share the top."""
    frame = cohort(40).assign(judge_score=0.5)
    frame.loc[0, "judge_score"] = 0.75
    sentences = study_calibration(frame)["judge"].sentences
    said = "changes 1 of 40 picks, 1 of 1 where no tie stood at the top; of them unique picks newly tied: 1;"
    assert any(said in sentence for sentence in sentences)


def test_a_single_prompt_that_lacks_something_is_told_in_the_singular():
    """One prompt without a covariate lacks it."""
    frame = with_hint(10)
    frame.loc[0, "hint"] = np.nan
    with pytest.raises(InputError, match="it has 9; 1 lacks a covariate"):
        study_calibration(frame, covariates="hint")


def test_the_study_shows_itself_as_every_result_does(hinted, tmp_path):
    """Page and notebook are those of `bonwise.results.Document`."""
    assert isinstance(hinted, Document)
    assert not {"to_html", "_repr_html_"} & vars(CalibrationStudy).keys()
    hinted.to_html(tmp_path / "page.html")
    assert "Change of recovery" in (tmp_path / "page.html").read_text("utf-8")
    assert "Change of recovery" in hinted._repr_html_()


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"covariates": "oracle_label"}, "no covariate"),
        ({"covariates": "nothing"}, "hint"),
        ({"covariates": "length"}, "texts"),
        ({"covariates": "words"}, "text in row"),
        ({"folds": 1}, "folds"),
        ({"folds": 31}, "31 folds need 62"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(given, word):
    """A wrong covariate or number of folds is refused with what would do."""
    with pytest.raises(InputError, match=word) as caught:
        study_calibration(with_hint(60).assign(words="many"), **given)
    assert "\n" not in str(caught.value)


def test_an_unknown_judge_is_named(hinted):
    """Asking for a judge that was not studied names those that were."""
    with pytest.raises(UsageError, match="the judges are judge"):
        hinted["other"]


def test_the_same_input_gives_the_same_document():
    """Rows in any order and a second run give the same document."""
    frame = with_hint(80)
    documents = [
        json.dumps(study_calibration(one, covariates="hint").to_dict()["judges"])
        for one in (frame, frame, frame.sample(frac=1, random_state=1))
    ]
    assert documents[0] == documents[1] == documents[2]


# The study of calibration in words, tables and drawings.


DRAWN = ["recovery", "within_r", "global_r", "sign_agreement"]


@pytest.fixture(scope="module")
def document():
    """Study two judges, one of a hostile name, with a covariate of a hostile name."""
    frame = two_judges(40)
    frame["judge"] = frame["judge"].replace("first", HOSTILE)
    frame[HOSTILE] = range(len(frame))
    return study_calibration(frame, covariates=HOSTILE)


def of_judges(document):
    """Return the parts of the judges."""
    return [one for one in describe(document).blocks if isinstance(one, Part) and "labelled prompt" in one.title]


def shown(part, title):
    """Return the cells of a table of a part."""
    (table,) = (one for one in part.blocks if isinstance(one, Table) and one.title == title)
    return [row.cells for row in table.rows]


def test_each_judge_has_a_part_with_drawings_and_tables(document):
    """Four drawings and two tables per judge; captions, changes and picks are those of the document."""
    parts = of_judges(document)
    assert len(parts) == len(document.judges) == 2
    for part, judge in zip(parts, document.judges.values(), strict=True):
        drawn = list(drawings_of(part.blocks))
        assert [one.title for one in drawn] == [f"Change of {metric}" for metric in DRAWN]
        one = judge.methods["isotonic"]
        assert f"isotonic {with_interval(one.changes['global_r'], sign=True)}" in drawn[2].says
        rows = {cells[:2]: cells for cells in shown(part, "What calibrating changes")}
        figures = (judge.raw.metrics["recovery"], one.metrics["recovery"], one.changes["recovery"])
        for cell, figure, unit in zip(
            rows["isotonic", "recovery"][2:5], figures, ("share", "share", "points"), strict=True
        ):
            # A column has the digits of its narrowest interval: at least those that the figure has alone.
            value = cell.removesuffix("%").removesuffix(" points")
            decimals = len(value.partition(".")[2])
            assert len(cell) >= len(estimate_of_studies(figure, unit, sign=unit == "points"))
            assert float(value) == pytest.approx(100 * figure.estimate, abs=0.501 * 10**-decimals)
        picks = {cells[0]: cells[1:] for cells in shown(part, "What becomes of the picks")}
        for method, found in judge.methods.items():
            every, untied = found.picks.all, found.picks.without_ties
            changed = (every.picks_changed, untied.picks_changed)
            others = (every.picks_newly_tied, every.ties_broken, every.prompts, untied.prompts)
            assert picks[method.replace("_", " ")] == (*map(count, changed), *map(count, others))
    assert len({one.key for one in drawings(document)}) == 8


def test_the_page_holds_what_the_text_holds(document, tmp_path):
    """Every word of the text is on the page; Markdown and the notebook are made; a loaded document says the same."""
    found = study_calibration(two_judges(40))
    assert not lost(found)
    assert markdown(found).startswith("## ")
    assert "<script" not in notebook(found)
    for one in (found, document):
        assert text(read_back(one, tmp_path), full=True) == text(one, full=True)


def test_means_over_judges(document):
    """A mean is that of the judges' changes; the two percents differ and are named; the page holds them."""
    assert list(document.over_judges) == WITH_COVARIATES
    both = list(document.judges.values())
    for method, found in document.over_judges.items():
        own = [judge.methods[method] for judge in both]
        for name, mean in found.changes.items():
            values = [one.changes[name].estimate for one in own]
            if None not in values:
                assert mean.estimate == pytest.approx(np.mean(values), abs=1e-12), name
        after, before = (
            np.mean([one.metrics["global_r"].estimate for one in some]) for some in (own, [j.raw for j in both])
        )
        assert found.percent_of_mean["global_r"].estimate == pytest.approx(after / before - 1, abs=1e-12)
        percents = [one.relative["global_r"].estimate for one in own]
        assert found.mean_of_percents["global_r"].estimate == pytest.approx(np.mean(percents), abs=1e-12)
    said = text(document, full=True)
    assert "Means over 2 judges" in said
    assert "percent of the mean" in said
    assert "mean of the percents" in said
    assert document.not_over_judges is None


def test_correlations_of_heavy_labels_have_no_interval_as_in_the_audit():
    """Neither raw nor calibrated ones, their changes and percents, nor means over judges of which one is heavy."""
    frame = heavy_labels(60)
    other = frame.assign(judge="other", judge_score=-frame["judge_score"].rank())
    found, why = study_calibration(pd.concat([frame, other])), audit(frame)["within_r"].reason
    assert "a few labels lie far from the others" in why
    one = found["judge"].methods["two_stage"]
    for figures in (found["judge"].raw.metrics, one.metrics, one.changes, found.over_judges["two_stage"].changes):
        for name in ("global_r", "within_r"):
            assert (figures[name].low, figures[name].reason) == (None, why), name
    assert one.relative["within_r"].low is None
    assert one.changes["effective_agreement"].low is not None


def test_no_percent_is_told_of_a_figure_below_0():
    """From -.6 to +.6 would be a change of -200 %: the change is told, of a judge and of the mean, no percent."""
    frame = cohort(80)
    turned = pd.concat([frame.assign(judge=name, judge_score=-frame["judge_score"]) for name in ("first", "second")])
    found = study_calibration(turned)
    one, both = found["first"].methods["two_stage"], found.over_judges["two_stage"]
    assert one.changes["global_r"].low > 0
    for percent in (one.relative, both.percent_of_mean, both.mean_of_percents):
        assert percent["global_r"].reason == "the raw figure is below 0, so a percent of it would have the wrong sign"
    assert "global_r unknown (the raw figure is below 0" in " ".join(text(found, full=True).split())


def test_no_means_over_judges_of_other_prompts_or_of_one():
    """Judges on other prompts cannot be left without the same one; a single judge has no mean."""
    frame = two_judges(40)
    names = sorted(frame["judge"].unique())
    other = frame[(frame["judge"] == names[0]) | (frame["prompt_id"] > sorted(frame["prompt_id"].unique())[4])]
    found = study_calibration(other)
    assert found.over_judges is None
    assert "not calibrated on the same prompts" in found.not_over_judges
    assert "No means over judges: the judges are not calibrated on the same prompts" in " ".join(text(found).split())
    alone = study_calibration(cohort(20))
    assert (alone.over_judges, alone.not_over_judges) == (None, None)


def test_every_sentence_is_said_once():
    """The findings of the only judge are in the text, each once."""
    document = study_calibration(cohort(20))
    said = " ".join(text(document, full=True).split())
    for sentence in document.judges["judge"].sentences:
        assert said.count(sentence) == 1, sentence


def test_the_notes_say_which_intervals_take_the_maps_as_fixed(document):
    """Gradient boosting and the level are named; the other methods learn their maps again."""
    note = (
        "Intervals learn the maps again without each of 20 groups of prompts; those of the level and all of gradient "
        "boosting take the maps as fixed."
    )
    assert words(page(document)).count(note) == len(document.judges)
    assert note in " ".join(text(document, full=True).split())
    plain = " ".join(text(study_calibration(cohort(20)), full=True).split())
    assert "10 groups of prompts; those of the level take" in plain


def test_hostile_names_stay_text(document):
    """Judges and covariates are text wherever they are shown."""
    harmless(document)


def test_what_is_unknown_is_said():
    """Constant scores leave correlations unknown, which the findings say."""
    document = study_calibration(cohort(20).assign(judge_score=0.5))
    assert "within_r unknown" in " ".join(text(document, full=True).split())


def test_one_method_without_a_figure_is_said_beside_the_drawing(document):
    """Where a change of one method has no figure its row has no dot, and the caption says why."""
    judge = document.judges["second"]
    one = judge.methods["isotonic"]
    gone = one.changes["recovery"].model_copy(
        update={"estimate": None, "low": None, "high": None, "se": None, "reason": "no gain"}
    )
    method = one.model_copy(update={"changes": {**one.changes, "recovery": gone}})
    changed = judge.model_copy(update={"methods": {**judge.methods, "isotonic": method}})
    drawing = drawings(document.model_copy(update={"judges": {"second": changed}}))[0]
    assert drawing.title == "Change of recovery"
    assert "isotonic unknown, no gain" in drawing.says
    assert "A row without a dot has no figure." in drawing.says


@pytest.mark.parametrize(("name", "told"), [("j" * 60, "j" * 60), ("j" * 61, "j" * 57 + "...")])
def test_the_name_of_a_judge_has_60_letters_in_a_title(name, told):
    """A longer one is cut."""
    assert described_title(name, SimpleNamespace(data=SimpleNamespace(prompts=1, rows=4))).startswith(f"{told}: 1 ")


def test_whether_calibrating_changes_recovery_follows_from_its_intervals():
    """Above 0 it is raised, below 0 lowered; an interval that ends at 0 or holds it shows no change."""
    ends = {
        "up": (0.01, 0.05),
        "down": (-0.05, -0.01),
        "from_0": (0.0, 0.05),
        "to_0": (-0.05, 0.0),
        "both": (-0.1, 0.1),
    }
    changes = {
        name: EstimateRecord(
            estimate=(low + high) / 2, low=low, high=high, se=0.01, n=90, interval="jackknife", method="complete"
        )
        for name, (low, high) in ends.items()
    }

    def told(*names):
        methods = {name: SimpleNamespace(changes={"recovery": changes[name]}) for name in names}
        return [re.sub(r" [+-]?[\d.]+ points \[.*?\]", "", sentence) for sentence in _recovery(methods)]

    assert told(*ends) == [
        "Calibrating raises recovery with up.",
        "Calibrating lowers recovery with down.",
        "No change of recovery is detected: from 0; to 0; both.",
    ]
    assert told("both") == ["Calibration is not found to change recovery: both."]


@pytest.mark.parametrize(
    ("column", "told"),
    [({"hint": range(40)}, "the columns of numbers are hint"), ({}, "the table has no column of numbers left")],
)
def test_a_covariate_that_is_not_there_is_refused_with_those_that_are(column, told):
    """Columns of text are none of them."""
    frame = cohort(10).assign(topic="law", **column)
    with pytest.raises(ColumnError, match=f"no column named 'hnt' to serve as covariate .{told}"):
        study_calibration(frame, covariates="hnt")


def test_a_single_prompt_without_labels_lacks_them():
    """Of twelve prompts one without labels is told in the singular, and every metric has its star."""
    document = study_calibration(cohort(12, unlabelled=1))
    assert "from the labelled prompts alone; 1 lacks labels" in " ".join(text(document).split())
    (part,) = of_judges(document)
    assert all(cells[1].endswith(" *") for cells in shown(part, "What calibrating changes"))


def test_who_was_not_studied_and_what_was_dropped_is_told_once():
    """A judge with too few prompts is named with the reason, and dropped prompts are counted."""
    frame = two_judges(20)
    few = frame["prompt_id"] > "p0000004"
    document = study_calibration(frame[~((frame["judge"] == "second") & few)])
    assert list(document.judges) == ["first"]
    for said in (" ".join(text(document).split()), words(page(document))):
        assert said.count("second: 5 folds need 10 labelled prompts") == 1
    dropped = study_calibration(cohort(20).drop(index=0))
    assert sum(dropped.judges["judge"].data.dropped.values()) == 1
    assert text(dropped).count("dropped 1 prompt: ") == 1


def test_more_judges_than_are_drawn_have_tables_alone():
    """Of many judges every figure is in a table and none is drawn, which the page says."""
    frame = cohort(20)
    judged = [frame.assign(judge=f"j{at}") for at in range(12)]
    many = study_calibration(pd.concat(judged, ignore_index=True))
    assert drawings(many) == []
    assert "No judge is drawn" in words(page(many))
    assert text(many, full=True).count("What becomes of the picks") == 12


def test_counts_that_contradict_each_other_are_refused(document, tmp_path):
    """More picks cannot have changed than there are prompts, and no change is of a metric that is not there."""
    picks = "judges.second.methods.isotonic.picks.all.picks_changed"
    assert "more prompts are counted than there are" in refusal(document, tmp_path, picks, 41)
    metric = "judges.second.methods.isotonic.metrics.recovery"
    assert "recovery is not a metric" in refusal(document, tmp_path, metric, ...)


@pytest.fixture
def scores(tmp_path):
    """Write a table of two judges and return its path."""
    path = tmp_path / "scores.csv"
    two_judges(40).to_csv(path, index=False)
    return path


def run(*arguments):
    """Run the command by itself, as the command line's own application would."""
    app = typer.Typer(add_completion=False)
    app.command()(command_of(study_of("calibration").command))
    return typer.main.get_command(app).main([str(one) for one in arguments], standalone_mode=False)


def test_the_command_prints_and_writes_the_document_and_the_page(scores, tmp_path, capsys):
    """Exit 0, text with both judges, a document of the schema, and a page of its own."""
    document, page = tmp_path / "study.json", tmp_path / "study.html"
    assert run(scores, "--folds", "4", "--full", "--json", document, "--html", page) == 0
    said = capsys.readouterr().out
    assert "first: 40 labelled prompts" in said
    assert "of 40 picks" in said
    found = strict(document.read_text(encoding="utf-8"))
    assert (found["study"], found["settings"]["folds"]) == ("calibration", 4)
    assert list(found["judges"]) == ["first", "second"]
    assert "<svg" in page.read_text(encoding="utf-8")


def test_covariates_scales_and_columns_are_understood(tmp_path, capsys):
    """Flags of the audit mean the same here, and --covariate may be repeated."""
    path, frame = tmp_path / "other.csv", two_judges(30)
    frame = frame.assign(size=range(len(frame)), age=1, judge_score=100 * frame["judge_score"])
    frame.rename(columns={"judge_score": "mark"}).to_csv(path, index=False)
    flags = ["--score-col", "mark", "--judge-scale", "0:100", "--covariate", "size", "--covariate", "age"]
    assert run(path, *flags, "--json", "-") == 0
    found = strict(capsys.readouterr().out)
    assert found["settings"]["covariates"] == ["size", "age"]
    assert found["judges"]["first"]["left_out"] == {}


def test_an_output_over_an_input_is_refused(scores):
    """The page does not replace the table."""
    with pytest.raises(UsageError, match="read or written"):
        run(scores, "--html", scores)


@pytest.mark.parametrize("unpicked", ["random", "first", "drop"])
def test_unscored_candidates_stay_unscored(unpicked):
    """They teach no map and get no value; the raw metrics are the audit's, and the rest of each pick goes on."""
    frame = lossy(cohort(80), seed=2)
    found, audited = study_calibration(frame, unpicked=unpicked).judges["judge"], audit(frame, unpicked=unpicked)
    for name, metric in found.raw.metrics.items():
        assert metric.estimate == pytest.approx(audited.judges["judge"].metrics[name].estimate, abs=1e-12), name
    assert found.data.prompts == (72 if unpicked == "drop" else 80)
    assert sum(found.data.unscored.values()) == audited.judges["judge"].data.unscored.candidates
    isotonic = found.methods["isotonic"]
    assert isotonic.picks.all.prompts == found.data.prompts
    assert isotonic.metrics["value_random"].estimate == found.raw.metrics["value_random"].estimate
    assert isotonic.rising_folds == 5


def test_a_map_learns_from_scored_candidates_alone():
    """Cross-fitted values are those of the table without its unscored cells, and NaN for these."""
    rng = np.random.default_rng(3)
    rows, labels, owner = rng.random((60, 1)).round(1), rng.random(60), np.repeat(np.arange(5), 12)
    lost = rng.random(60) < 0.3
    blank = np.where(lost[:, None], np.nan, rows)
    found = cross_fitted("isotonic", blank, labels, owner, 0)
    np.testing.assert_array_equal(found[~lost], cross_fitted("isotonic", rows[~lost], labels[~lost], owner[~lost], 0))
    assert np.isnan(found[lost]).all()
    shifted = exchange_training_means(found, labels, owner)
    alone = exchange_training_means(found[~lost], labels[~lost], owner[~lost])
    np.testing.assert_array_equal(shifted[~lost], alone)
