from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from auditing.tables import cohort, two_judges
from bonwise.auditing.result import Audit
from bonwise.errors import UsageError
from bonwise.loading import load
from documents.round_trips import read_back, refusal


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
