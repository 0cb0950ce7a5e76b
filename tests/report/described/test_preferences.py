from __future__ import annotations

import pandas as pd

import bonwise as bw
from bonwise.report.numbers import estimate
from bonwise.report.show import page, text
from documents.test_preferences import audited
from report.described.readers import HOSTILE, harmless, lost, words

BETWEEN = "cov between: the share of Cov(J, O) that lies between contexts"


def test_one_row_per_judge():
    """The text names source, oracle and orders, and has a row of figures; what was left out is counted."""
    document = audited(("v", "w"))
    found = document.judges["judge"].metrics
    said = text(document)
    assert "\n\nPairwise verdicts of table, against gold\n2 contexts; both presentation orders averaged" in said
    (row,) = (line.split() for line in said.splitlines() if line.startswith("judge") and " 39 " in line)
    assert row[:4] == ["judge", "39", "39", estimate(found.agreement, "share")]
    assert estimate(found.order_agreement, "share") in row
    assert "1 row left out: no verdict in every order, or no label" in said
    assert "orders: how often" in said
    assert BETWEEN in said


def test_one_order_has_no_column_of_orders():
    """Where verdicts were asked for in one order nothing is said of their agreement."""
    said = text(audited())
    assert "one presentation order; intervals at 95%" in said
    assert "orders" not in said


def test_the_page_holds_what_the_text_holds():
    """Every word of the text is on the page, with the settings."""
    document = audited(("v", "w"))
    assert not lost(document)
    assert "95%, clustered by prompt" in words(page(document))


def test_names_stay_text():
    """Judges, columns and sources are text wherever they are shown; a long name is shortened in the table."""
    frame = pd.DataFrame({"item": range(8), HOSTILE: [1, 2] * 4, "v": [1, 2, 2, 2] * 2, "j": HOSTILE + "n" * 50})
    found = bw.audit_preferences(frame, verdicts=["v"], oracle=HOSTILE, prompt=["item"], judge=["j"])
    shown = harmless(found)
    assert "n" * 40 not in shown[0]
