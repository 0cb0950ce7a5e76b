"""What would change a verdict, and what to type next."""

from __future__ import annotations

import bonwise as bw
from auditing.tables import cohort, two_judges
from bonwise.auditing.view import describe, describe_with
from bonwise.report.blocks import Bar, Part, Said
from bonwise.report.markdown import rendered
from bonwise.report.show import page, text
from report.described.audits import audited, changed
from report.described.readers import words

THEN = [Said("lead", "Next"), Said("finding", "See more:"), Said("command", "bonwise route scores.csv")]


def verdict_of(described):
    """Return the part of the verdict."""
    (found,) = (part for part in described.blocks if getattr(part, "role", "") == "verdict")
    return found


def told(document):
    """Return the sentences of a verdict that are for a page alone."""
    details = [one for one in verdict_of(describe(document)).blocks if getattr(one, "role", "") == "detail"]
    return " ".join(said.text for one in details for said in one.blocks if isinstance(said, Said))


def with_recovery(estimate, low, high, level):
    """Return an audit whose recovery is this."""
    old = audited().to_dict()
    metrics = {
        **old["metrics"],
        "recovery": {**old["metrics"]["recovery"], "estimate": estimate, "low": low, "high": high},
    }
    return changed(audited(), metrics=metrics, verdict={**old["verdict"], "level": level})


def test_the_distance_from_the_gate_is_said():
    """Below the gate, above it and around it: how far, and what a judge would pass."""
    below = told(with_recovery(0.21, 0.08, 0.34, "weak"))
    assert "The interval ends 16 points below the gate of 50%" in below
    assert "This judge would pass a gate below 8%." in below
    above = told(with_recovery(0.8, 0.7, 0.9, "useful"))
    assert "The interval begins 20 points above the gate of 50%: only a gate of 70% or more" in above
    # As many decimals as the interval, and more where it would be written as 0.
    assert "The interval ends 0.3 points below the gate" in told(with_recovery(0.3, 0.1, 0.497, "weak"))
    assert "The interval begins 1 point above the gate" in told(with_recovery(0.7, 0.51, 0.9, "useful"))
    assert told(with_recovery(0.5, 0.4, 0.6, "inconclusive")).startswith("The interval spans the gate of 50%.")
    assert "would pass" not in told(with_recovery(-0.2, -0.4, 0.1, "weak"))


def test_without_a_recovery_there_is_no_line():
    """An undefined recovery is said by the verdict, and nothing is drawn."""
    document = bw.audit(cohort(40).assign(oracle_label=0.5))
    found = verdict_of(describe(document))
    assert not any(isinstance(one, Bar) for one in found.blocks)
    assert "undefined" in words(page(document))


def test_what_to_type_next_after_an_audit_is_given_for_its_page():
    """The command prints it last by itself, so neither the text of an audit nor its Markdown holds it."""
    found = describe_with(audited(), then=THEN)
    (part,) = (one for one in verdict_of(found).blocks if getattr(one, "role", "") == "next")
    assert [one.text for one in part.blocks] == ["See more:", "bonwise route scores.csv"]
    assert "bonwise route scores.csv" not in rendered(describe(audited())) + text(audited(), full=True)


def test_of_several_judges_the_best_is_on_the_line():
    """The line shows the best with the interval that holds after it was chosen."""
    document = bw.audit(two_judges(60))
    (bar,) = (one for one in verdict_of(describe(document)).blocks if isinstance(one, Bar))
    best = document.choice["recovery"]
    assert bar.rows[0].title == f"Best recovery: {best.best[0]}"
    assert [bar.rows[0].low, bar.rows[0].high] == list(best.after)
    assert bar.rows[0].ends.endswith(", after the choice")


def test_folded_parts_are_whole_in_text():
    """What a page folds a terminal prints as before."""
    document = audited()
    folded = [one for one in describe(document).blocks if isinstance(one, Part) and one.folded]
    assert [one.title for one in folded] == ["Metrics"]
    assert all(name in text(document, full=True) for name in document.metrics)
