"""What is shown of an audit at first: the answer, three figures, what limits them, what to type next."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import bonwise as bw
from auditing.tables import cohort, two_judges
from bonwise.auditing.view import describe, describe_with
from bonwise.metric_groups import unit_of
from bonwise.report.blocks import Bar, Part, Said
from bonwise.report.markdown import rendered
from bonwise.report.numbers import estimate, interval, setting
from bonwise.report.show import markdown, page, printed, text
from bonwise.testing import simulate
from report.audits import audited, changed, several, table
from report.readers import words

# What a terminal shows of an audit at first: the answer, three figures, what they rest on and what limits them.


MOST_LINES, WIDTH = 40, 80


def on_a_terminal(document):
    """Return the lines of the short form on 80 columns."""
    stream = io.StringIO()
    console = Console(file=stream, width=WIDTH, force_terminal=True, color_system=None)
    for part in printed(document):
        console.print(part)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def simulated(share, seed=6, prompts=120):
    """Return labels with the scores of a judge who knows a share of them."""
    frame = simulate("arena", n=prompts, seed=seed).frame()
    noise = np.random.default_rng(seed).random(len(frame))
    return frame.assign(judge_score=(share * frame["oracle_label"] + (1 - share) * noise).round(3))


def many_judges(count):
    """Return a table of judges who know less and less."""
    parts = [simulated(0.1 + 0.8 * at / count).assign(judge=f"judge {at:02}") for at in range(count)]
    return pd.concat(parts, ignore_index=True)


def partly_labelled(frame):
    """Return a table of which half the prompts have labels."""
    return frame.assign(oracle_label=frame["oracle_label"].where(frame["prompt_id"] < "p0000060"))


def documents():
    """Return audits that end in each level, of one judge and of several."""
    whole = simulated(0.5)
    half = partly_labelled(whole)
    bad = whole.groupby("prompt_id").head(1).assign(candidate="bad", judge_score=0.0, oracle_label=0.0)
    return {
        "useful": bw.audit(simulated(0.95)),
        "weak": bw.audit(simulated(0.1)),
        "harmful": bw.audit(simulated(0.95).assign(judge_score=lambda one: 1 - one["judge_score"])),
        "random": bw.audit(whole.assign(judge_score=0.5)),
        "few": bw.audit(simulated(0.95, prompts=10)),
        "partly": bw.audit(half),
        "sampled": bw.audit(half, design="uniform"),
        "easy": bw.audit(pd.concat([whole, bad], ignore_index=True)),
        "systems": bw.audit(whole, target="system"),
        "12 judges": bw.audit(many_judges(12)),
        "60 judges": bw.audit(many_judges(60)),
        "12 judges, partly": bw.audit(partly_labelled(many_judges(12))),
        "12 judges, sampled": bw.audit(partly_labelled(many_judges(12)), design="uniform"),
        "reference": bw.audit(many_judges(5), oracle="judge:judge 04"),
    }


@pytest.fixture(scope="module")
def found():
    """Return the documents, made once."""
    return documents()


def test_it_is_short_and_narrow(found):
    """No audit takes more than 40 lines of 80 columns, with a title of one line."""
    for name, document in found.items():
        lines = on_a_terminal(document)
        assert len(lines) <= MOST_LINES - 5, name  # what to do next takes at most five lines
        assert max(map(len, lines)) <= WIDTH, name


def test_the_first_three_lines_hold_the_answer(found):
    """The word of the verdict is the first line; recovery with its interval follows, or the metric that decides."""
    for name, document in found.items():
        first = on_a_terminal(document)
        if document.several:
            useful = sum(one.verdict.level == "useful" for one in document.judges.values())
            assert first[0] == f"Verdict: {useful} of {len(document.judges)} useful", name
            best = max((one.metrics["recovery"] for one in document.judges.values()), key=lambda one: one.estimate)
            assert name != "reference" or "not how good they are" in " ".join(on_a_terminal(document))
        else:
            assert first[0] == f"Verdict: {document.verdict.level}", name
            best = document.metrics["recovery"]
        said = " ".join(first[: 4 if name == "few" else 3])
        if name == "systems":
            known = [(document.metrics[metric], unit_of(metric)) for metric in ("global_r", "level_bias")]
            assert any(f"{estimate(one, unit)} {interval(one, unit)}" in said for one, unit in known)
        elif name != "random":
            assert f"{estimate(best, unit_of('recovery'))} {interval(best, unit_of('recovery'))}" in said, name


def test_three_figures_stand_with_interval_and_gate():
    """Recovery, top-1 accuracy and within_r, each as in the document; the gates are those of the verdict."""
    document = audited({"recovery": -5.0})
    lines = [line.split() for line in text(document).splitlines()]
    gates = {"recovery": setting(0.5, "share"), "top1_accuracy": None, "within_r": "0"}
    for metric, gate in gates.items():
        (row,) = (line for line in lines if line[:1] == [metric] and "met," not in line)
        one = document[metric]
        ends = interval(one, unit_of(metric)).split()
        assert row[1:4] == [estimate(one, unit_of(metric)), *ends]
        assert gate is None or row[4] == gate


def test_a_metric_that_is_undefined_leaves_its_place():
    """Recovery stays in its row, with a dash, because the verdict says why; others leave their place to the next."""
    alike = bw.audit(table(20).assign(oracle_label=1.0))
    rows = [line.split() for line in text(alike).splitlines()]
    assert alike["recovery"].estimate is None
    assert alike["within_r"].estimate is None
    assert ["recovery", "-", "-"] in [row[:3] for row in rows]
    assert "within_r" not in [row[0] for row in rows if row]
    assert "hit_rate" in [row[0] for row in rows if row]


def test_a_reason_of_60_letters_is_whole_and_a_longer_one_is_cut():
    """Names in reasons come from files: "lacks " and 54 letters stay, one more is cut to 57 and three dots."""
    for letters, told in ((54, "lacks " + "x" * 54), (55, "lacks " + "x" * 51 + "...")):
        judges = [table(12, judge=f"j{at:02}", shift=at) for at in range(5)]
        frame = pd.concat(judges, ignore_index=True).replace({"candidate": {"a": "x" * letters}})
        dropped = bw.audit(frame.drop(index=range(0, len(frame), 36)), shape="rectangular")
        assert f"in all: {told} (5)" in " ".join(text(dropped).split())


def test_counts_drops_and_warnings_stay(found):
    """What figures rest on and what limits them is in the short form too; tables and levels are not."""
    frame = pd.concat([table(12, judge=f"j{at:02}", shift=at) for at in range(5)], ignore_index=True)
    dropped = bw.audit(frame.drop(index=range(0, len(frame), 36)), shape="rectangular")
    said = " ".join(text(dropped).split())
    assert "dropped 1 prompt of 5 judges, in all: lacks a (5)" in said
    assert "each judge: 11 prompts x 3 candidates, 33 rows" in said
    partly = " ".join(text(found["partly"]).split())
    assert "why the others lack labels is unknown" in partly
    assert "120 prompts x 4 candidates, 480 rows; 60 prompts labelled, 0 in part" in partly
    assert "what it rests on" not in partly
    few = text(found["few"])
    assert "only 10 prompts are labelled completely, and a verdict needs 20" in " ".join(few.split())


def test_warnings_of_several_judges_are_told_once():
    """A warning that holds of all judges is one line that counts them; the drops of each are summed up."""
    partly = partly_labelled(many_judges(5))
    said = " ".join(text(bw.audit(partly)).split())
    assert said.count("why the others lack labels is unknown") == 1
    assert "5 judges: Figures against labels describe the 60 of 120 prompts" in said
    sampled = text(bw.audit(partly, design="uniform"))
    assert any(line.endswith("more remarks on single judges: add --full.") for line in sampled.splitlines())


def test_judges_stand_by_recovery_before_all_else(found):
    """One line per judge, the largest recovery first, in the terminal, its full form and Markdown."""
    document = found["12 judges"]
    order = sorted(document.judges, key=lambda name: -document.judges[name].metrics["recovery"].estimate)
    for shown in (text(document), text(document, full=True), markdown(document).replace("|", " ")):
        rows = [line for line in shown.splitlines() if any(line.strip().startswith(f"{one}  ") for one in order)]
        names = [" ".join(line.split()[:2]) for line in rows[: len(order)]]
        assert names == order
    lines = on_a_terminal(found["60 judges"])
    assert "48 more rows are on the page and in the JSON document." in lines


def test_everything_is_one_flag_away(found):
    """The full form has every metric of every judge, and nothing of the short form is lost in it."""
    for name in ("weak", "12 judges"):
        document = found[name]
        whole = text(document, full=True).splitlines()
        for metric in next(iter(document.judges.values())).metrics:
            assert sum(line.startswith(f"  {metric} ") for line in whole) == len(document.judges), (name, metric)
        assert "All 21 metrics: add --full, or to_text(full=True) in Python." in text(document).splitlines()
    weak = bw.audit(simulated(0.1))
    assert weak.to_text(full=True) == text(weak, full=True)
    assert weak.to_text() == str(weak)
    planned = bw.plan(question="recovery>0", candidates=4, within_r=0.3).to_text(full=True)
    assert planned.startswith("Verdict: 96 prompts are needed\n")


def test_gates_follow_the_verdict():
    """Gates that were asked for stand in the short form, each with its reason."""
    said = " ".join(text(several(["x", "y"], {"recovery": 0.9})).split())
    assert "Gates 0 of 2 gates met." in said
    assert said.index("Gates") > said.index("Verdict")


# What would change a verdict, and what to type next.


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
