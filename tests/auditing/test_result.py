"""What an audit gives back: its document, its settings, its figures for each prompt."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from auditing.tables import cohort, table, two_judges
from bonwise.auditing.front import audit
from bonwise.auditing.result import Audit
from bonwise.errors import UsageError
from bonwise.loading import load
from bonwise.table.scales import Scale
from results.round_trips import read_back, refusal
from stats.pools import pools

DEGENERATE = {
    "as drawn": lambda s, o: (s, o),
    "constant judge": lambda s, o: ([0.5] * len(s), o),
    "constant labels": lambda s, o: (s, [1.0] * len(o)),
    "all ties": lambda s, o: ([0.5] * len(s), [0.3] * len(o)),
    "perfect judge": lambda _, o: (o, o),
    "reversed judge": lambda _, o: ([1 - v for v in o], o),
    "verdicts": lambda s, o: (s, [float(v > 0.5) for v in o]),
}


def assert_complete(metrics):
    """Each metric has an estimate within its interval, or the reason why not."""
    for name, e in metrics.items():
        if None in (e["estimate"], e["low"], e["high"]):
            assert e.get("reason"), (name, e)
        if None not in (e["estimate"], e["low"], e["high"]):
            assert e["low"] <= e["estimate"] <= e["high"], (name, e)
        assert (e["interval"] is None) == (e["low"] is None), name


def document_of(prompts, **settings_):
    """Audit prompts and pass the document through strict JSON."""
    return json.loads(json.dumps(audit(table(prompts), shape="ragged", **settings_).to_dict(), allow_nan=False))


@pytest.mark.parametrize("kind", DEGENERATE)
@given(prompts=pools(least=2, most=12))
@settings(max_examples=25)
def test_documents_are_strict_json(kind, prompts):
    """Whatever the table, its document holds no NaN, and every metric has its interval or a reason."""
    document = document_of([DEGENERATE[kind](*prompt) for prompt in prompts])
    assert document["schema"] == "bonwise.audit/1"
    assert_complete(document["metrics"])
    assert document["verdict"]["sentences"]


@pytest.mark.parametrize("kind", DEGENERATE)
@given(prompts=pools(least=10, most=14, candidates=(2, 2)), interval=st.sampled_from(["default", "bootstrap"]))
@settings(max_examples=15)
def test_documents_of_pairs_are_strict_json(kind, prompts, interval):
    """Pools of two, where every prompt is one pair, make strict documents with either kind of interval."""
    document = document_of([DEGENERATE[kind](*prompt) for prompt in prompts], interval=interval, resamples=20)
    assert_complete(document["metrics"])


@given(kind=st.sampled_from(sorted(DEGENERATE)), prompts=pools(most=1))
@settings(max_examples=30)
def test_one_prompt_makes_a_document(kind, prompts):
    """A table of a single prompt is audited: estimates where they exist, no interval, and a reason each."""
    document = document_of([DEGENERATE[kind](*prompt) for prompt in prompts])
    assert_complete(document["metrics"])
    assert {e["low"] for e in document["metrics"].values()} == {None}


def test_documents_of_several_judges_are_strict_json():
    """Comparisons and partly labelled parts are strict JSON too."""
    frame = two_judges(60)
    frame.loc[frame["prompt_id"] < "p0000020", "oracle_label"] = None
    document = json.loads(json.dumps(audit(frame).to_dict(), allow_nan=False))
    assert_complete(document["comparisons"][0]["differences"])
    for judge in document["judges"].values():
        assert_complete(judge["metrics"])
        assert judge["bounds"]


def test_metric_keys_are_those_promised():
    """The document holds exactly the metrics of schema version 1, each with the promised keys."""
    metrics = audit(cohort(50)).to_dict()["metrics"]
    promised = (
        "global_r within_r inflation attenuation judge_between_share oracle_between_share tie_rate oracle_tie_rate "
        "top1_tie_rate sign_agreement effective_agreement effective_agreement_decided kendall_tau top1_accuracy "
        "hit_rate value_random value_judge value_oracle gain recovery level_bias"
    )
    assert list(metrics) == promised.split()
    for e in metrics.values():
        assert {"estimate", "low", "high", "se", "n", "interval", "method"} <= e.keys()
        assert e["interval"] in {"jackknife", "fieller", "bootstrap", "exact", "clopper-pearson"}


def test_the_frame_has_a_row_a_judge_and_metric():
    """`to_frame` lists every metric of every judge with its keys as columns."""
    frame = audit(two_judges(40)).to_frame()
    assert len(frame) == 2 * 21
    assert {"judge", "metric", "estimate", "low", "high", "n"} <= set(frame.columns)


def test_settings_are_repeated():
    """The document repeats what was asked, so that it can be made again."""
    asked = audit(cohort(50), interval="bootstrap", resamples=50, seed=3, confidence=0.9).to_dict()["settings"]
    assert (asked["interval"], asked["resamples"], asked["seed"], asked["confidence"]) == ("bootstrap", 50, 3, 0.9)
    assert asked["shape"] == "rectangular"
    assert asked["version"]


def partly():
    """Return scores of sixty prompts of which a third has labels."""
    frame = cohort(60)
    return frame.assign(oracle_label=frame["oracle_label"].where(np.repeat(np.arange(60), 4) < 20))


AUDITS = {
    "plain": lambda: bw.audit(cohort(30)),
    "control": lambda: bw.audit(cohort(30), control="c3", exclude="c2", thresholds={"global_r": 1}),
    "bootstrap": lambda: bw.audit(cohort(30), interval="bootstrap", resamples=20, confidence=0.9),
    "labelled only": lambda: bw.audit(partly()),
    "sample": lambda: bw.audit(partly(), design="uniform"),
    "ragged": lambda: bw.audit(cohort(30).iloc[1:], shape="ragged", target="system"),
    "dropped": lambda: bw.audit(cohort(30).iloc[1:], shape="rectangular"),
    "several": lambda: bw.audit(two_judges(30)),
    "reference": lambda: bw.audit(two_judges(30).drop(columns="oracle_label"), oracle="judge:second"),
    "one of two": lambda: bw.audit(pd.concat([two_judges(30), cohort(3).assign(judge="third", oracle_label=np.nan)])),
}


def one():
    """Return the document of an audit of one judge with a gate."""
    found = bw.audit(cohort(30))
    return found.check({"recovery": 0.1})


@pytest.mark.parametrize("name", AUDITS)
def test_what_is_written_is_read_back(tmp_path, name):
    """Every kind of audit is read back with the same bytes, the same frame and the same parts as the result."""
    found = AUDITS[name]()
    loaded = read_back(found.check({"recovery": 0.1, "tie_rate": 0.9}), tmp_path)
    pd.testing.assert_frame_equal(loaded.to_frame(), found.to_frame())
    assert list(loaded.judges) == list(found.judges)
    for judge, its in found.judges.items():
        assert loaded.judges[judge].verdict == its.verdict
        assert loaded.judges[judge].metrics["recovery"].estimate == its.metrics["recovery"].estimate


def test_a_loaded_audit_is_asked_like_the_result(tmp_path):
    """A metric, the metrics, the verdict and the counts of the only judge are there by the names of the result."""
    found = bw.audit(cohort(30))
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(found.to_dict()), "utf-8")
    loaded = load(path)
    assert loaded["recovery"].estimate == found["recovery"].estimate
    assert loaded.metrics["recovery"] == loaded["metrics"]["recovery"]
    assert loaded.verdict == found.verdict
    assert loaded.data == found.data
    assert (loaded["judge"], loaded["settings"]) == ("judge", loaded.settings)
    with pytest.raises(KeyError):
        loaded["no metric"]


def test_of_several_judges_none_is_the_only_one():
    """What is asked of the only judge is refused."""
    found = bw.audit(two_judges(30))
    for ask in (lambda of: of.metrics, lambda of: of.verdict, lambda of: of.data, lambda of: of["recovery"]):
        with pytest.raises(UsageError, match="this audit holds 2 judges"):
            ask(found)
    assert [pair.prompts for pair in found.comparisons] == [30]


def test_what_a_loaded_audit_lacks_is_said(tmp_path):
    """Its table, its prompts and gates are made from what no JSON holds; its page shows what the JSON holds."""
    loaded = read_back(bw.audit(two_judges(30)), tmp_path)
    page = tmp_path / "page.html"
    for ask in (
        lambda of: of.table,
        lambda of: of.per_prompt(),
        lambda of: of.check({"recovery": 0.1}),
        lambda of: of.to_html(page, gates={"recovery": 0.1}),
        lambda of: of.to_html(page, pools="pools.jsonl"),
    ):
        with pytest.raises(UsageError, match="which its JSON does not hold"):
            ask(loaded)
    loaded.to_html(page)
    assert "Audit of" in page.read_text("utf-8")
    assert loaded.figure_names


def test_keys_that_say_nothing_are_absent():
    """One judge and several have the keys of theirs; what was not asked for has no key."""
    assert list(bw.audit(cohort(30)).to_dict()) == ["schema", "judge", "data", "metrics", "verdict", "settings"]
    several = ["schema", "judges", "comparisons", "not_audited", "settings", "choice"]
    assert list(bw.audit(two_judges(30)).to_dict()) == several
    assert list(one().to_dict())[-1] == "gates"
    settings = bw.audit(cohort(30)).to_dict()["settings"]
    assert not {"resamples", "outcome_model", "reference", "picks", "labels_left_out"} & set(settings)
    assert "bounds" in bw.audit(partly()).to_dict()


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ("data.prompts", "30"),
        ("data.rows", -1),
        ("data.dropped", [{"prompt_id": "p", "why": "lost"}]),
        ("metrics.recovery.estimate", "0.5"),
        ("metrics.recovery.se", -1.0),
        ("verdict.level", "splendid"),
        ("verdict.checks", {"manners": "pass"}),
        ("verdict.sentences", []),
        ("settings.confidence", 95.0),
        ("settings.interval", "guessed"),
        ("settings.thresholds.global_r", ...),
        ("settings.shape", "round"),
        ("settings.more", 1),
        ("gates.0.state", "perhaps"),
        ("gates", []),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, value):
    """A value of another kind, a missing key and an unknown one are refused by their name."""
    assert re.sub(r"\.(\d+)", r"[\1]", keys) in refusal(one(), tmp_path, keys, value)


@pytest.mark.parametrize(
    ("keys", "value", "why"),
    [
        ("data.labelled_prompts", 31, "more prompts are labelled than there are"),
        ("data.candidates", None, "candidates is null"),
        ("data.pools", 3, "stand together"),
        ("verdict.deciding", 0, "deciding must be one of 1 to"),
        ("verdict.deciding", 9, "deciding must be one of 1 to"),
        ("gates.0.judge", "nobody", "'nobody', which is not a judge of this audit"),
        ("judges", {}, "judges"),
        ("not_audited", {}, "the keys of one judge stand beside those of several"),
        ("metrics", ..., "metrics is missing"),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path, keys, value, why):
    """Counts that cannot be, a sentence that is not there and a mixture of both forms are refused."""
    assert why in refusal(one(), tmp_path, keys, value)


def test_several_judges_need_all_their_keys(tmp_path):
    """Judges without comparisons are no document."""
    document = bw.audit(two_judges(30))
    assert "comparisons is missing" in refusal(document, tmp_path, "comparisons", ...)
    assert isinstance(document, Audit)


def test_rows_worked_by_hand():
    """Each row names pick, best, their labels, the loss, the ties and the margin; the worst comes first."""
    prompts = [
        ([0.9, 0.5], [1.0, 0.0]),  # right: loses nothing, margin .4
        ([0.1 + 0.2, 0.3, 0.1], [0.2, 0.6, 1.0]),  # c0 and c1 tied: .4 expected, c2 best: loses .6
        ([0.2, 0.8], [0.7, 0.7]),  # nothing to lose
    ]
    rows = audit(table(prompts), shape="ragged").per_prompt().to_dict("records")
    assert [row["prompt_id"] for row in rows] == ["p001", "p000", "p002"]
    worst = rows[0]
    assert (worst["pick"], worst["best"], worst["tied"], worst["margin"]) == ("c0 | c1", "c2", 2, 0.0)
    assert (worst["value_pick"], worst["value_best"], worst["gain_lost"]) == pytest.approx((0.4, 1.0, 0.6))
    assert (rows[1]["pick"], rows[1]["margin"], rows[1]["gain_lost"]) == ("c0", pytest.approx(0.4), 0.0)
    assert rows[2]["best"] == "c0 | c1"


@given(pools(least=2, most=8))
@settings(max_examples=50)
def test_losses_add_up_to_what_the_audit_says(prompts):
    """The mean loss is value_oracle - value_judge, and rows stand from the greatest loss to the least."""
    found = audit(table(prompts), shape="ragged")
    rows = found.per_prompt()
    lost = found["value_oracle"].estimate - found["value_judge"].estimate
    assert rows["gain_lost"].mean() == pytest.approx(lost, abs=1e-12)
    assert (rows["gain_lost"].diff().dropna() <= 0).all()
    assert (rows["gain_lost"] >= -1e-12).all()
    assert (rows["tied"] > 1).mean() == pytest.approx(found["top1_tie_rate"].estimate)


def test_unlabelled_prompts_come_last_without_values():
    """A prompt without labels keeps its pick and margin, has no values, and stands at the end."""
    rows = audit(cohort(50, unlabelled=10)).per_prompt()
    assert rows["gain_lost"].isna().tolist() == [False] * 40 + [True] * 10
    assert rows["value_pick"].isna().sum() == 10
    assert (rows["pick"] != "").all()
    assert np.isfinite(rows["margin"]).all()


def test_every_judge_has_its_rows():
    """With two judges each prompt has a row of each."""
    rows = audit(two_judges(30)).per_prompt()
    assert rows.groupby("judge").size().to_dict() == {"first": 30, "second": 30}


def test_declared_scales_are_repeated():
    """The document says which scales were declared, and the figures are those of the values mapped to [0, 1]."""
    frame = cohort(60)
    plain = audit(frame)
    stretched = frame.assign(judge_score=frame["judge_score"] * 100, oracle_label=1 + 4 * frame["oracle_label"])
    found = audit(stretched, judge_scale=Scale(0, 100), label_scale=Scale(1, 5))
    settings = found.to_dict()["settings"]
    assert settings["judge_scale"] == {"every judge": "0:100"}
    assert settings["label_scale"] == "1:5"
    for name, e in plain.metrics.items():
        assert found[name].estimate == pytest.approx(e.estimate, abs=1e-9), name
    assert "judge_scale" not in plain.to_dict()["settings"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"confidence": 0.3},
        {"confidence": 1.0},
        {"interval": "bca"},
        {"resamples": 1},
        {"seed": -1},
        {"shape": "square"},
        {"target": "leaderboard"},
        {"thresholds": {"within_r_useful": float("nan")}},
        {"thresholds": {"nonsense": 0.5}},
        {"oracle": "human"},
    ],
    ids=json.dumps,
)
def test_wrong_settings_are_refused(wrong):
    """A setting that means nothing is one clear error with a way out."""
    with pytest.raises(UsageError) as refused:
        audit(cohort(20), **wrong)
    assert refused.value.hint


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_gate_is_a_number(value):
    """A gate at no number is refused."""
    with pytest.raises(UsageError, match="finite"):
        audit(cohort(20)).check({"recovery": value})


def test_one_name_need_not_be_a_list():
    """A single candidate name is a name, not a list of letters."""
    frame = cohort(40)
    assert audit(frame, exclude="c3").metrics == audit(frame, exclude=["c3"]).metrics
    assert audit(frame, control="c3").to_dict()["settings"]["control"] == ["c3"]
