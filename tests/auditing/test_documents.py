from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditing.tables import cohort, table, two_judges
from bonwise.auditing.front import audit
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
