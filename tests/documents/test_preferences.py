from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from documents.round_trips import read_back, refusal


def audited(verdicts=("v",), **settings):
    """Return the document of an audit of forty verdicts, one of them without a label."""
    gold = np.random.default_rng(6).integers(1, 3, 40).astype(float)
    columns = {"item": range(40), "set": list("ab") * 20, "v": np.roll(gold, 1), "w": np.roll(gold, 2)}
    frame = pd.DataFrame({**columns, "gold": np.where(np.arange(40) == 3, np.nan, gold)})
    given = {"verdicts": verdicts, "oracle": "gold", "prompt": ["item"], "context": ["set"], **settings}
    return bw.audit_preferences(frame, **given)


@pytest.mark.parametrize("verdicts", [("v",), ("v", "w")], ids=len)
def test_what_is_written_is_read_back(tmp_path, verdicts):
    """A document of one order and one of two are read back; their frames are those of the results."""
    document = audited(verdicts)
    loaded = read_back(document, tmp_path)
    pd.testing.assert_frame_equal(loaded.to_frame(), document.to_frame())
    assert loaded.judges["judge"].data.dropped == {"no label": 1}


def test_a_key_that_says_nothing_is_absent():
    """Agreement of orders is a key where there are two orders, and no key where there is one."""
    assert "order_agreement" not in audited().to_dict()["judges"]["judge"]["metrics"]
    assert list(audited(("v", "w")).to_dict()["judges"]["judge"]["metrics"])[-1] == "order_agreement"


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ("judges.judge.metrics.agreement.estimate", "0.5"),
        ("judges.judge.metrics.phi", ...),
        ("judges.judge.data.pairs", -1),
        ("judges.judge.data.dropped", {"lost": 1}),
        ("judges", {}),
        ("settings.confidence", 95.0),
        ("settings.verdicts", []),
        ("settings.more", 1),
        ("data.contexts", 1.5),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, value):
    """A value of another kind, a missing key and an unknown one are refused by their name."""
    assert keys in refusal(audited(), tmp_path, keys, value)


def test_orders_that_do_not_agree_with_the_settings_are_refused(tmp_path):
    """Agreement of orders cannot stand beside one column of verdicts."""
    assert "order_agreement of 'judge'" in refusal(audited(("v", "w")), tmp_path, "settings.verdicts", ["v"])
