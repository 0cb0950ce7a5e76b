import json
import re

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.report.metric_table import GROUPS
from bonwise.report.page.pages import page
from bonwise.report.page.verdict_section import verdict_of
from report.page.page_documents import audited, exhibits, several, table


def words(shown):
    """Return the text of a page without its marks, entities and drawings."""
    shown = shown.replace("<wbr>", "")
    shown = re.sub(r"<(svg|style|script).*?</\1>", " ", shown, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", shown)).replace("&#39;", "'").replace("&gt;", ">")


def test_the_verdict_comes_first_and_all_of_it_is_there():
    """The decision with its figures stands before any table, and no sentence of the verdict is lost."""
    document = audited()
    shown = words(page(document))
    for sentence in document["verdict"]["sentences"]:
        assert sentence in shown
    decision = document["verdict"]["sentences"][-1]
    assert shown.index(decision) < shown.index("global_r : correlation over all cells") < shown.index("Metrics")


def test_every_metric_has_its_row_with_figures_and_meaning():
    """The table holds all metrics by group, each with estimate, interval, prompts and what it says."""
    document = audited(control="c")
    shown = words(page(document))
    for title, rows in GROUPS:
        assert title in shown
        for name, meaning in rows:
            found, control = document["metrics"][name], document["with_control"][name]
            figures = ["-" if one["estimate"] is None else f"{one['estimate'] + 0.0:.3f}" for one in (found, control)]
            ends = "-" if found["low"] is None else f"[{found['low']:.3f}, {found['high']:.3f}]"
            row = rf"{name} {meaning}".replace("(", r"\(").replace(")", r"\)").replace("/", "/")
            assert re.search(
                rf"{row} {figures[0]} {re.escape(ends)} {figures[1]} {found['n']}".replace("-0.000", "0.000"),
                shown,
            ), name


def test_gates_drops_and_exclusions_are_told():
    """What was asked for, left out and dropped can be read with its counts."""
    frame = table()
    frame = frame.drop(index=[0, 4])
    found = bw.audit(frame, exclude="c", control=())
    document = found.to_dict()
    document["gates"] = [gate.to_dict() for gate in found.check({"recovery": -5, "tie_rate": 0.99})]
    shown = words(page(document))
    assert "1 of 2 gates met." in shown
    assert all(gate["sentence"] in shown for gate in document["gates"])
    assert "2 prompts were dropped." in shown
    assert "without c" in shown
    for drop in document["data"]["dropped"]:
        assert drop["reason"] in shown


def test_partial_labels_show_how_they_differ_and_the_worst_case():
    """With labels of a part the page holds scope, balance and bounds; with a stated design how they were drawn."""
    frame = table(60)
    frame.loc[frame.index % 180 >= 90, "oracle_label"] = np.nan
    document = bw.audit(frame).to_dict()
    shown = words(page(document))
    assert "Labelled against unlabelled prompts" in shown
    assert "Worst case over the missing labels" in shown
    assert "* from the completely labelled prompts alone" in shown
    assert document["verdict"]["sentences"][1] in shown
    drawn = bw.audit(frame, design="uniform").to_dict()
    shown = words(page(drawn))
    assert drawn["sampling"]["how"] in shown
    assert "labels alone" in shown


def test_a_reference_is_never_called_an_oracle():
    """Where a judge stands in for the oracle the page names it a reference throughout."""
    frame = table(judge="one").drop(columns="oracle_label")
    other = table(judge="two", shift=2).drop(columns="oracle_label")
    document = bw.audit(pd.concat([frame, other], ignore_index=True), oracle="judge:two").to_dict()
    shown = words(page(document, exhibits=exhibits(["one"])))
    opening = shown.index("Verdict:")
    assert opening < shown.index("Against the scores of two, which is no oracle:") < shown.index("Decision target")
    assert (
        "agreement with judge two, which is no oracle" in shown or "agreement with two, which is no oracle" in shown
    )
    assert "value_reference" in shown
    assert "oracle" not in shown.replace("which is no oracle", "").replace("judge's", "").lower()


def test_several_judges_have_a_summary_differences_and_a_part_each():
    """Every judge is in the summary, each pair in the differences, and a part of its own says the verdict."""
    document = several(["x", "y", "z"])
    shown = page(document, exhibits=exhibits(["x", "y", "z"]))
    text = words(shown)
    assert "0 of 3 judges are useful" in text or re.search(r"[123] of 3 judges (is|are) useful", text)
    for at, (name, judge) in enumerate(document["judges"].items(), start=1):
        assert f'href="#judge-{at}"' in shown
        assert f"<h2><bdi>{name}</bdi></h2>" in shown
        assert all(sentence in text for sentence in judge["verdict"]["sentences"])
    for pair in document["comparisons"]:
        recovery = pair["differences"]["recovery"]
        assert f"{recovery['estimate'] + 0.0:.3f}".replace("-0.000", "0.000") in text
    assert "Difference of recovery" in text


def test_the_prompts_open_to_all_that_is_known_of_them():
    """Each row of the drill-down holds its figures, and inside prompt, candidates, marks and the judge's words."""
    shown = page(audited(), exhibits=exhibits(["judge"]), more="rest of it.csv")
    text = words(shown)
    assert "3 of 30 prompts" in text
    assert '<a href="./rest%20of%20it.csv">' in shown
    assert '<td data-v="0.5">0.500</td>' in shown
    assert '<td data-v="">-</td>' in shown
    for told in ("picked, one of 2 tied", "best", "score 0.500 , label 1.000", "The judge's words"):
        assert told in text
    assert "12 more characters are not shown here." in text


def test_what_is_not_there_has_no_place():
    """Without exhibits, controls or gates their sections are missing, and nothing fails."""
    text = words(page(audited()))
    for title in ("Gates", "Where the judge lost most", "Strata", "Missing labels", "Not audited"):
        assert title not in text


@pytest.mark.shared
def test_arena100_with_its_control(shared):
    """The figures of the paper's data are on the page, with and without the easy candidate."""
    document = bw.audit(shared / "data" / "arena100" / "scores.csv", control="unhelpful").to_dict()
    text = words(page(json.loads(json.dumps(document))))
    assert "recovery share of the possible gain 0.213 [0.081, 0.343] 0.656 99" in text
    assert re.search(r"global_r correlation over all cells 0\.652 \[0\.556, 0\.748\] 0\.869 99", text)


@pytest.mark.parametrize("target", ["best-of-n", "system"])
def test_the_first_paragraph_of_the_verdict_carries_its_figures(target):
    """What is decided and the figures that decide it are one paragraph; the other sentences follow, each once."""
    document = audited(target=target)
    verdict = document["verdict"]
    found = verdict_of(document, document["settings"])
    assert found.lead == [f"{verdict['sentences'][0]} {verdict['sentences'][verdict['deciding']]}"]
    assert re.search(r"\[-?\d\.\d{3}, -?\d\.\d{3}\]", found.lead[0])
    assert len(found.sentences) == len(verdict["sentences"]) - 2
