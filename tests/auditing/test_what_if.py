"""What a page of an audit computes before anyone asks what if."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from auditing.tables import cohort, parts
from bonwise.auditing.exhibits import exhibits
from bonwise.auditing.view import describe_with
from bonwise.auditing.what_if import label_counts, what_if
from bonwise.report.blocks import Part, Said, Stepped
from bonwise.report.markdown import rendered
from bonwise.report.page.rendered import fragment, whole_page
from routing.tables import weak_judge

GATES = [step / 20 for step in range(21)]


def of(audit, also=()):
    """Return what would change the verdict of an audit."""
    settings, rests_on = audit.settings, parts(audit)
    return what_if(
        rests_on.judges, rests_on.settings, source=settings.source, reference=settings.reference, also=also
    )


def easy(n):
    """Return a table whose fourth candidate is worst everywhere."""
    frame = cohort(n)
    frame.loc[frame["candidate"] == "c3", ["oracle_label", "judge_score"]] = 0.0
    return frame


def sampled(n):
    """Return a table of which the first half is labelled, as a stated random sample."""
    return cohort(n, unlabelled=n // 2)


def picks():
    """Return logged picks with the labels of all candidates."""
    frame = cohort(60)
    best = frame.groupby("prompt_id")["judge_score"].transform("max")
    return frame.assign(judge_score=(frame["judge_score"] == best).astype(float))


AUDITS = {
    "complete": (lambda: cohort(60), {}),
    "few": (lambda: cohort(12), {}),
    "easy": (lambda: easy(50), {}),
    "bootstrap": (lambda: cohort(60), {"interval": "bootstrap", "resamples": 200}),
    "labelled only": (lambda: cohort(80, unlabelled=40), {}),
    "sample": (lambda: sampled(80), {"design": "uniform"}),
    "confidence": (lambda: cohort(60), {"confidence": 0.8}),
    "clusters": (lambda: cohort(60).assign(cluster=lambda f: f["prompt_id"].str[-1]), {}),
    "own gate": (lambda: cohort(60), {"thresholds": {"recovery_useful": 0.33}}),
}


@pytest.mark.parametrize("kind", AUDITS)
def test_each_gate_has_the_verdict_of_an_audit_with_that_threshold(kind):
    """Word, first sentence, interval and outcome of --fail-under are those of bw.audit run again."""
    make, settings = AUDITS[kind]
    frame = make()
    steps = of(bw.audit(frame, **settings)).gate.steps
    assert len(steps) >= 21
    for step in steps:
        again = bw.audit(frame, **{**settings, "thresholds": {"recovery_useful": step.gate}})
        (gate,) = again.check({"recovery": step.gate}).gates
        assert (step.level, step.sentence) == (again.verdict.level, again.verdict.sentences[0])
        assert (step.state, step.gate_sentence) == (gate.state, gate.sentence)
        found = next(iter(parts(again).judges.values())).metrics["recovery"]
        assert (step.recovery, step.low, step.high) == (found.estimate, found.low, found.high)
        assert (step.lower, step.upper) == pytest.approx(found.bounds(0.9), abs=1e-12)


@pytest.mark.parametrize("kind", AUDITS)
def test_the_step_of_the_audit_is_the_audit(kind):
    """At its own gate and with its own labels each slider says what the audit says."""
    make, settings = AUDITS[kind]
    audit = bw.audit(make(), **settings)
    found = of(audit)
    gate, labels = found.gate.steps[found.gate.current], found.labels.steps[found.labels.current]
    assert gate.gate == audit.settings.thresholds.recovery_useful
    assert gate.level == labels.level == audit.verdict.level
    assert (labels.low, labels.high) == (audit["recovery"].low, audit["recovery"].high)
    assert labels.prompts == audit.data.labelled_prompts
    assert len(found.labels.steps) >= 21
    assert [one.prompts for one in found.labels.steps] == label_counts(labels.prompts)


def test_gates_are_those_of_the_slider():
    """From 0 to 1 by 0.05, with the gate of the audit among them, also where it lies elsewhere."""
    assert [one.gate for one in of(bw.audit(cohort(40))).gate.steps] == GATES
    odd = of(bw.audit(cohort(40), thresholds={"recovery_useful": -0.2})).gate
    assert [one.gate for one in odd.steps] == [-0.2, *GATES]
    assert odd.current == 0


def test_intervals_shrink_with_labels_and_chances_grow():
    """More labels, a shorter interval; the chance rises to 1 and is 90 % at the number that is named."""
    found = of(bw.audit(cohort(60))).labels
    widths = [one.high - one.low for one in found.steps if one.low is not None]
    assert widths == sorted(widths, reverse=True)
    chances = [one.chance for one in found.steps]
    assert chances == sorted(chances)
    below = [one for one in found.steps if one.prompts <= found.needed.prompts]
    above = [one for one in found.steps if one.prompts >= found.needed.prompts]
    assert all(one.chance <= 0.9 + 1e-9 for one in below)
    assert all(one.chance >= 0.9 - 1e-9 for one in above)
    assert found.needed.low < found.needed.prompts


def test_an_easy_candidate_is_not_settled_by_labels():
    """However many labels: a verdict that would be useful stays open, without a chance and without a number."""
    found = of(bw.audit(easy(60), thresholds={"recovery_useful": 0.05})).labels
    assert {one.level for one in found.steps} == {"inconclusive"}
    assert {one.chance for one in found.steps} == {None}
    assert found.needed is None
    assert "More labels alone do not settle it: candidate 'c3'" in found.steps[-1].sentence


def test_few_prompts_settle_nothing_and_20_may():
    """Below 20 labelled prompts a verdict that would be useful is open."""
    found = of(bw.audit(cohort(15), thresholds={"recovery_useful": -5.0})).labels
    few, enough = [one for one in found.steps if one.prompts < 20], [one for one in found.steps if one.prompts >= 20]
    assert few
    assert {one.level for one in few} <= {"inconclusive", "harmful"}
    assert all("a verdict needs 20" in one.sentence for one in few)
    assert enough[-1].level in {"useful", "harmful"}


def test_a_sample_has_chances_but_no_number():
    """Of a sample of labels the number of prompts has no interval, so none is named."""
    found = of(bw.audit(sampled(80), design="uniform")).labels
    assert found.sampled
    assert not of(bw.audit(cohort(40))).labels.sampled
    assert found.needed is None
    assert all(one.chance is not None for one in found.steps)
    assert [one.labels for one in found.steps] == [4 * one.prompts for one in found.steps]


def test_clusters_widen_what_is_needed():
    """Prompts that come in clusters of like ones take more of them."""
    rng = np.random.default_rng(3)
    alone = cohort(40)
    copies = pd.concat([alone.assign(prompt_id=alone["prompt_id"] + f"-{k}") for k in range(3)], ignore_index=True)
    copies["cluster"] = copies["prompt_id"].str.split("-").str[0]
    copies["judge_score"] = (copies["judge_score"] + rng.normal(0, 0.001, len(copies))).clip(0, 1)
    together = of(bw.audit(copies)).labels.needed.prompts
    apart = of(bw.audit(copies.drop(columns="cluster"))).labels.needed.prompts
    assert together > 1.3 * apart


def test_without_a_recovery_there_is_no_slider():
    """Whole systems, a judge that ties everything, labels that do not differ, a single prompt: no slider."""
    assert of(bw.audit(cohort(40), target="system")) is None
    assert of(bw.audit(cohort(40).assign(judge_score=0.5))) is None
    assert of(bw.audit(cohort(40).assign(oracle_label=0.5))) is None
    assert of(bw.audit(cohort(1))) is None


def test_of_several_judges_the_one_that_leads():
    """The judge with the largest recovery, whichever stands first."""
    frame = cohort(40)
    better = (0.5 * frame["judge_score"] + 0.5 * frame["oracle_label"]).round(2)
    both = pd.concat([frame.assign(judge="a"), frame.assign(judge="b", judge_score=better)], ignore_index=True)
    assert of(bw.audit(both)).judge == "b"


def test_shares_are_those_of_the_study_of_routing():
    """Recovery, interval and word at each share; without routing on the same candidates there is no slider."""
    frame = weak_judge(120, seed=4)
    audit, routed = bw.audit(frame), bw.route(frame)
    found = of(audit, [routed]).share
    told = routed.recovery_by_share()["weak"]
    assert len(found.steps) == 21
    assert found.signal == told.signal == routed["weak"].recommendation.signal
    for step, one in zip(found.steps, told.recoveries, strict=True):
        assert (step.recovery, step.low, step.high) == (one.estimate, one.low, one.high)
        gate = audit.settings.thresholds.recovery_useful
        assert step.level == ("useful" if one.low > gate else "weak" if one.high < gate else "inconclusive")
    assert found.steps[0].recovery == pytest.approx(audit["recovery"].estimate)
    assert math.isclose(found.steps[-1].recovery, 1.0)
    assert of(audit).share is None
    assert of(audit, [bw.route(frame, exclude=["c0"])]).share is None
    assert of(audit, [bw.plan(question="recovery>0", candidates=4, within_r=0.3)]).share is None


def test_logged_picks_have_their_own_words(tmp_path, monkeypatch):
    """Of picks the sentence is about what picked."""
    from docs.stock import stock  # noqa: PLC0415 - writes files where it is run

    monkeypatch.chdir(tmp_path)
    stock()
    audit = bw.audit("winners.jsonl", labels="labels.csv")
    found = of(audit)
    step = found.gate.steps[found.gate.current]
    assert (step.level, step.sentence) == (audit.verdict.level, audit.verdict.sentences[0])
    assert "what picked" in step.sentence.lower()


def described(frame, routed=None, **settings):
    """Return the description of a page of an audit."""
    audit = bw.audit(frame, **settings)
    also = [] if routed is None else [routed]
    settings, rests_on = audit.settings, audit.source_of("this")
    found = what_if(
        rests_on.judges, rests_on.settings, source=settings.source, reference=settings.reference, also=also
    )
    shown = exhibits(tuple(rests_on.judges.values()), audit.table, None, seed=0, what_if=found)
    return describe_with(audit, shown)


def section(whole):
    """Return the section of the sliders; None without one."""
    return next((one for one in whole.blocks if isinstance(one, Part) and one.anchor == "what-if"), None)


def sliders(whole):
    """Return the sliders by key."""
    parts = [one for one in section(whole).blocks if isinstance(one, Part)]
    return {block.key: block for part in parts for block in part.blocks if isinstance(block, Stepped)}


def test_each_step_has_a_word_its_figures_and_a_sentence():
    """Figures are as many as their names; the state follows from the word."""
    frame = weak_judge(60, seed=4)
    found = sliders(described(frame, bw.route(frame)))
    assert list(found) == ["gate-slider", "share-slider", "labels-slider"]
    states = {"useful": "good", "weak": "bad", "harmful": "bad", "inconclusive": "open"}
    for slider in found.values():
        assert len(slider.steps) >= 21
        for step in slider.steps:
            assert len(step.figures) == len(slider.figures)
            assert step.state == states[step.word]
            assert step.says.endswith(".")
    gate = found["gate-slider"]
    assert gate.start.value == "50%"
    assert gate.steps[0].figures[0] in {"met", "not met", "inconclusive"}


def test_a_reason_is_said_once():
    """Where the verdict says already why the gate is open, the outcome of the gate does not repeat it."""
    frame = cohort(40)
    frame.loc[frame["candidate"] == "c3", ["oracle_label", "judge_score"]] = 0.0
    says = sliders(described(frame, thresholds={"recovery_useful": 0.05}))["gate-slider"].start.says
    assert says.count("has the lowest label") == 1
    assert says.endswith("Gate recovery > 5%: inconclusive, for the same reason.")


def test_a_gigantic_name_is_said_in_short():
    """A sentence with the name of a candidate stands at every step, and does not make the page large."""
    frame = cohort(40)
    frame.loc[frame["candidate"] == "c3", ["oracle_label", "judge_score"]] = 0.0
    frame["candidate"] = frame["candidate"].replace("c3", "x y" * 10_000)
    for slider in sliders(described(frame, thresholds={"recovery_useful": 0.05})).values():
        assert all(len(step.says) < 1_500 for step in slider.steps)


def test_notes_say_what_is_assumed():
    """The labels are called a projection, with the number that it takes and its interval."""
    told = [
        one.text
        for part in section(described(cohort(60))).blocks
        if isinstance(part, Part)
        for one in part.blocks
        if isinstance(one, Said)
    ]
    assert any(one.startswith("A projection: it assumes") for one in told)
    assert any("with a chance of 90%" in one and "95% interval" in one for one in told)


@pytest.mark.parametrize("of_words", [cohort(60)])
def test_only_a_page_has_sliders(of_words):
    """Markdown, the terminal and a notebook leave them out."""
    whole = described(of_words)
    assert 'type="range"' in whole_page(whole)
    assert "What would change the verdict" not in rendered(whole)
    alone = Part("Title", [Part("What", [Said("finding", "yes"), *sliders(whole).values()])])
    assert 'type="range"' not in fragment(alone)
    assert "yes" in fragment(alone)


def test_of_several_judges_one_section():
    """Sixty judges add one section, of the judge that leads, which is named."""
    import pandas as pd  # noqa: PLC0415 - this test alone

    frame = cohort(25)
    many = pd.concat([frame.assign(judge=f"<b>j{at}") for at in range(12)], ignore_index=True)
    whole = described(many)
    assert sum(isinstance(one, Part) and one.anchor == "what-if" for one in whole.blocks) == 1
    first = section(whole).blocks[0]
    assert first.text == "This is about <b>j0, the judge with the largest recovery."
    assert "<b>j0" not in whole_page(whole)


def test_the_section_is_small():
    """All three sliders take less than 60 kB of a page."""
    frame = weak_judge(60, seed=4)
    whole = described(frame, bw.route(frame))
    without = [one for one in whole.blocks if not (isinstance(one, Part) and one.anchor == "what-if")]
    alone = Part(whole.title, without)
    assert len(whole_page(whole).encode()) - len(whole_page(alone).encode()) < 60_000


def test_without_a_recovery_no_section():
    """A judge that ties everything has none."""
    assert section(described(cohort(30).assign(judge_score=0.5))) is None
