from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from auditing.test_picks import greedy_lines, labels_of, logged
from bonwise.testing import simulate
from docs.pages import without_a_page
from recipes.applied import HERE, ROOT, answered, copy_of_package, diffs_of, edit, ran
from report.readers import words

TOYS = {
    "shared_hit_rate": "aipw",
    "regret": "aipw",
    "loss": "aipw",
    "within_r2": "weighted",
    "oracle_decided_rate": "weighted",
    "discordance": "weighted",
    "decided_rate": "complete",
}
"""A metric of every family, two of some, and how each is estimated from a sample of labels."""

OF_PICKS = ("shared_hit_rate", "regret", "loss")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the package that has the metrics of the recipe, in a folder with files to audit."""
    folder = copy_of_package(tmp_path_factory.mktemp("metrics"))
    for diff in (*diffs_of("Add a metric"), (HERE / "metrics.diff").read_text("utf-8")):
        edit(folder, diff)
    frame = simulate("arena", n=60, seed=3).frame().round(2)
    frame["judge"] = "first"
    other = frame.assign(judge="second", judge_score=frame["judge_score"].sample(frac=1, random_state=1).to_numpy())
    both = pd.concat([frame, other])
    keep = np.random.default_rng(5).permutation(60) < 30
    labelled = both["prompt_id"].map(dict(zip(frame["prompt_id"].unique(), keep, strict=True)))
    frame.to_csv(folder / "one.csv", index=False)
    both.to_csv(folder / "two.csv", index=False)
    partial = both.assign(oracle_label=both["oracle_label"].where(labelled))
    partial.to_csv(folder / "partial_two.csv", index=False)
    partial[partial["judge"] == "first"].to_csv(folder / "partial_one.csv", index=False)
    logged(folder / "first.jsonl", greedy_lines(frame))
    logged(folder / "second.jsonl", greedy_lines(other))
    labels_of(frame).to_csv(folder / "labels.csv", index=False)
    return folder


def without_toys(found):
    """Return a document without the metrics of the recipe."""
    if isinstance(found, dict):
        return {key: without_toys(value) for key, value in found.items() if key not in TOYS}
    return [without_toys(value) for value in found] if isinstance(found, list) else found


def metrics_in(found):
    """Yield every mapping of metrics in a document."""
    if isinstance(found, dict):
        if {"recovery", "value_judge"} <= set(found) and "estimate" in found["recovery"]:
            yield found
        for value in found.values():
            yield from metrics_in(value)
    elif isinstance(found, list):
        for value in found:
            yield from metrics_in(value)


def check_values(metrics, *, of_picks=False, difference=False):
    """Compare each new metric with the old ones that it follows from."""
    found = {name: one["estimate"] for name, one in metrics.items()}
    whole, near = (0.0 if difference else 1.0), {"abs": 1e-9}
    assert found["shared_hit_rate"] == pytest.approx(found["hit_rate"] - found["top1_accuracy"], **near)
    assert found["regret"] == pytest.approx(found["value_oracle"] - found["value_judge"], **near)
    assert found["loss"] == pytest.approx(whole - found["recovery"], **near)
    if of_picks:
        return
    assert found["decided_rate"] == pytest.approx(whole - found["tie_rate"], **near)
    assert found["oracle_decided_rate"] == pytest.approx(whole - found["oracle_tie_rate"], **near)
    if not difference:
        assert found["within_r2"] == pytest.approx(found["within_r"] ** 2, **near)
        both = (found["effective_agreement"] - 0.5) / (found["sign_agreement"] - 0.5)
        assert found["discordance"] == pytest.approx(both * (1 - found["sign_agreement"]), **near)


def original(document):
    """Return the document of a result of the package as it is, as JSON brings it back."""
    return json.loads(json.dumps(document.to_dict()))


def words_of(page):
    """Return a page without the places where a browser may break a name."""
    return page.read_text("utf-8").replace("<wbr>", "")


def same_elsewhere(found, before):
    """Check that nothing but the new metrics is new."""
    left = without_toys(found)
    left.pop("gates", None)
    assert left == before


def test_complete_labels(copy):
    """The metrics are in the text, the JSON, the Markdown, the page and the gates, with the right values."""
    gates = [word for name in TOYS for word in ("--fail-under", f"{name}=-9")]
    targets = ["--json", "one.json", "--html", "one.html", "--markdown", "one.md", "--junit", "one.xml"]
    text = ran(copy, "audit", "one.csv", "--full", *targets, *gates)
    document = json.loads((copy / "one.json").read_text("utf-8"))
    check_values(document["metrics"])
    assert [gate["metric"] for gate in document["gates"]] == list(TOYS)
    assert {gate["state"] for gate in document["gates"]} == {"met"}
    page = words_of(copy / "one.html")
    markdown, junit = ((copy / f"one.{kind}").read_text("utf-8") for kind in ("md", "xml"))
    markdown = markdown.replace("\\", "")
    notebook = words(answered(copy, "import bonwise; print(bonwise.audit('one.csv')._repr_html_())"))
    for name in TOYS:
        found = document["metrics"][name]
        assert found["method"] == "complete"
        assert found["low"] <= found["estimate"] <= found["high"]
        assert f"  {name} " in text
        assert name in page
        assert f"{name} &gt; -9" in junit
        assert re.search(rf"^{name} &gt; -9\S*: met, ", markdown, re.MULTILINE)
        assert f"| {name} | " in markdown
        assert f"{name} " in notebook
    assert "the pick is one of several best ones" in text
    assert "the pick is one of several best ones" in page
    with pytest.MonkeyPatch.context() as here:
        here.chdir(copy)
        same_elsewhere(document, original(bw.audit("one.csv")))


def test_the_docs_define_the_metrics(copy):
    """The check of the docs finds the metrics of the recipe on the pages of the copy, and misses them elsewhere."""
    names = answered(copy, "from bonwise.stats.catalog import METRICS; print(*(one.name for one in METRICS))").split()
    assert set(TOYS) < set(names)
    assert without_a_page(copy / "docs", names) == []
    assert set(without_a_page(ROOT / "docs", names)) == set(TOYS)


def test_a_sample_of_labels(copy):
    """From a sample of labels each metric is estimated for all prompts, by a model where it names its outcomes."""
    text = ran(copy, "audit", "partial_one.csv", "--full", "--design", "uniform", "--json", "partial.json")
    document = json.loads((copy / "partial.json").read_text("utf-8"))
    check_values(document["metrics"])
    check_values(
        {name: one.get("labelled_only", one) for name, one in document["metrics"].items()}
        | {name: document["metrics"][name] for name in ("tie_rate", "decided_rate")}
    )
    for name, method in TOYS.items():
        found = document["metrics"][name]
        assert found["method"] == method, name
        assert found["low"] < found["estimate"] < found["high"], name
        assert f"  {name} " in text
    with pytest.MonkeyPatch.context() as here:
        here.chdir(copy)
        same_elsewhere(document, original(bw.audit("partial_one.csv", design="uniform")))


@pytest.mark.parametrize("words", [["two.csv"], ["partial_two.csv"], ["partial_two.csv", "--design", "uniform"]])
def test_two_judges(copy, words):
    """Two judges are compared by the new metrics too, on all labels, on those there are, and on a sample."""
    document = json.loads(ran(copy, "audit", *words, "--json", "-"))
    first, second, differences = metrics_in(document)
    check_values(first)
    check_values(second)
    check_values(differences, difference=True)
    with pytest.MonkeyPatch.context() as here:
        here.chdir(copy)
        design = {"design": "uniform"} if "--design" in words else {}
        same_elsewhere(document, original(bw.audit(words[0], **design)))


def test_logged_picks(copy):
    """Picks tell the new metrics of picks and of labels alone; a comparison of two files shows those of picks."""
    document = json.loads(ran(copy, "audit", "first.jsonl", "--labels", "labels.csv", "--json", "-"))
    known = {name for name in TOYS if document["metrics"][name]["estimate"] is not None}
    assert known == {*OF_PICKS, "oracle_decided_rate"}
    check_values(document["metrics"], of_picks=True)
    text = ran(
        *(copy, "compare", "first.jsonl", "second.jsonl", "--labels", "labels.csv"),
        *("--json", "compare.json", "--html", "compare.html"),
    )
    document = json.loads((copy / "compare.json").read_text("utf-8"))
    first, second, differences = metrics_in(document)
    for metrics in (first, second):
        check_values(metrics, of_picks=True)
    check_values(differences, of_picks=True, difference=True)
    page = words_of(copy / "compare.html")
    for name in OF_PICKS:
        assert f"{name} " in text
        assert name in page
    with pytest.MonkeyPatch.context() as here:
        here.chdir(copy)
        same_elsewhere(document, original(bw.compare("first.jsonl", "second.jsonl", labels="labels.csv")))
