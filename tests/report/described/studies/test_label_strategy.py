"""The study of ways of asking in words, tables and drawings: every kind, names from files kept harmless."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from auditing.studies.pairwise_judges import verdicts
from bonwise.report.blocks import Part, Table
from bonwise.report.numbers import estimate, interval
from bonwise.report.show import describe, drawings, markdown, notebook, page, text
from bonwise.studies.label_strategy.front import study_label_strategy, study_verdicts
from bonwise.studies.label_strategy.pair_draw import draw_pairs
from bonwise.testing import simulate
from documents.round_trips import read_back, refusal
from report.described.readers import HOSTILE, harmless, lost, words

SIMULATION = simulate("arena", n=60, seed=2)
ORDERS = {"verdicts": ["one", "two"], "oracle": "gold", "prompt": ["q"], "judge": ["who"]}


def tables(block):
    """Return the tables of a description and of the parts inside it, by title."""
    found = {}
    for one in block.blocks:
        if isinstance(one, Part):
            found |= tables(one)
        elif isinstance(one, Table) and one.role == "table":
            found[one.title] = one
    return found


def column(table, title):
    """Return the cells of a column under the first column's."""
    at = [one.title for one in table.columns].index(title)
    return {row.cells[0]: row.cells[at] for row in table.rows}


def judges(number, prompts=45):
    """Return verdicts of judges in two orders, each right on more prompts than the one before."""
    return pd.DataFrame(
        [
            {"q": q, "who": f"j{at}", "one": 1 + (q < at), "two": 1, "gold": 1}
            for at in range(number)
            for q in range(prompts)
        ]
    )


def drawn(frame, folder, **settings):
    """Draw pairs of a table whose pools are written to a folder."""
    path = folder / "pools.jsonl"
    pools = [
        {"prompt_id": name, "prompt": "Q", "candidates": [{"id": one, "text": one} for one in some["candidate"]]}
        for name, some in frame.groupby("prompt_id")
    ]
    path.write_text("".join(f"{json.dumps(one)}\n" for one in pools), encoding="utf-8")
    return draw_pairs(frame, pools=path, **settings)


@pytest.fixture(scope="module")
def study():
    """Study a judge on its document."""
    return study_label_strategy(SIMULATION.frame(), verdicts=verdicts(SIMULATION))


@pytest.fixture
def documents(study, tmp_path):
    """Return a document of each kind."""
    return {
        "strategies": study,
        "verdicts": study_verdicts(judges(5), **ORDERS),
        "one order": study_verdicts(judges(2), **{**ORDERS, "verdicts": ["one"]}),
        "draw": drawn(SIMULATION.frame(), tmp_path, pairs=20),
    }


@pytest.mark.parametrize("kind", ["strategies", "verdicts", "one order", "draw"])
def test_the_page_holds_what_the_text_holds(documents, kind, tmp_path):
    """Every word of the text is on the page; Markdown and the notebook are made; a loaded document says the same."""
    document = documents[kind]
    assert not lost(document)
    assert markdown(document).startswith("## ")
    assert "<script" not in notebook(document)
    assert text(read_back(document, tmp_path)) == text(document)


def test_tables_hold_the_figures(study):
    """A row per way, with its recovery, its interval and the difference; a column of dashes is left out."""
    judge = study.judges["judge"]
    ways = judge.strategies["every_pair"].strategies
    table = tables(describe(study))["Best of n on 60 prompts with a verdict on every pair"]
    assert len(table.rows) == len(ways)
    assert column(table, "recovery")["every pair"] == estimate(ways["pairwise"].metrics["recovery"], "share")
    assert column(table, "minus scores")["every pair"] == estimate(
        ways["pairwise"].less["recovery"], "points", sign=True
    )
    assert column(table, "interval")["every pair"] == interval(ways["pairwise"].metrics["recovery"], "share")
    assert column(table, "minus scores")["scores"] == ""
    assert "tokens" not in [one.title for one in table.columns]
    assert "bonwise judge --tokens" in " ".join(text(study).split())


def test_recovery_and_accuracy_by_gap_are_drawn(study):
    """One drawing shows recovery, scores apart from the others; the other the accuracy where scores tie."""
    ways, gaps = drawings(study)
    assert (ways.title, gaps.title) == ("Recovery by the way of asking", "Accuracy where scores tie, by oracle gap")
    found = study.judges["judge"].strategies["every_pair"].strategies
    assert f"scores recover {estimate(found['pointwise'].metrics['recovery'], 'share')}, the highest is" in ways.says
    assert ways.says.endswith("(every pair).")
    assert len(ways.to_frame()) == len(found)
    assert len(gaps.to_frame()) == len(study.judges["judge"].matched_pairs.where_pointwise_tied.by_gap)


def test_every_sentence_is_said_once(documents):
    """Sentences of the document are in the text, each once; so do the verdicts that scores are compared with."""
    for kind in ("strategies", "draw"):
        document = documents[kind]
        own = document.sentences if kind == "draw" else document.judges["judge"].sentences
        said = " ".join(text(document).split())
        for sentence in own:
            assert said.count(sentence) == 1, sentence
    said = " ".join(text(documents["strategies"]).split())
    assert said.count("verdicts of pairwise:m in verdicts") == 1
    assert said.count("judged both ways way") == 1


def test_a_hostile_name_breaks_nothing(tmp_path):
    """Names of judges, prompts and columns with markup, escapes and a bidi control stay text, of every kind."""
    frame = SIMULATION.frame().assign(judge=HOSTILE)
    harmless(study_label_strategy(frame, verdicts=verdicts(SIMULATION).assign(judge=HOSTILE + "2")))
    named = judges(2).assign(who=lambda rows: HOSTILE + rows["who"]).rename(columns={"gold": HOSTILE})
    harmless(study_verdicts(named, **{**ORDERS, "oracle": HOSTILE}))
    found = drawn(SIMULATION.frame(), tmp_path, pairs=20)
    settings = found.settings.model_copy(update={"source": HOSTILE})
    harmless(found.model_copy(update={"settings": settings, "prompts_left_out": {HOSTILE: 1200}}))


def test_tables_of_verdicts_hold_every_figure_with_its_interval():
    """Of forty judges a table holds the figures, and another one, of pages alone, the interval of each."""
    document = study_verdicts(judges(40), **ORDERS)
    shown = tables(describe(document))
    orders, ends = shown["Each order, both together, and what the order did"], shown["The interval of each figure"]
    assert (len(orders.rows), len(ends.rows)) == (40, 40)
    one = document.judges["j7"]
    assert column(orders, "flips")["j7"] == estimate(one.order.flips, "share")
    assert column(orders, "decided")["j7"] == estimate(one.ways["both_orders"].accuracy_decided, "share")
    assert column(ends, "first")["j7"] == interval(one.order.first_shown_advantage, sign=True)
    assert "56.7% to 100%" in " ".join(text(document).split())


def test_one_order_says_nothing_of_orders(documents):
    """With one verdict column there is one figure per judge, and no word on two orders."""
    said = " ".join(text(documents["one order"]).split())
    assert "Agreement with the labels" in said
    assert "flips" not in said
    assert "both together" not in words(page(documents["one order"]))


@pytest.mark.parametrize("drawn_pairs", [False, True])
def test_partial_labels_are_said_with_their_counts(drawn_pairs):
    """Where a third of the prompts lack labels every way has a star, whose note stands there once, and a sentence."""
    scores = SIMULATION.frame()
    scores.loc[scores["prompt_id"] > "p0000039", "oracle_label"] = np.nan
    said = verdicts(SIMULATION)
    record = said.assign(pair_id=[f"pair{at}" for at in range(len(said))], weight=1.0) if drawn_pairs else None
    said = said.assign(prompt_id=record["pair_id"]) if drawn_pairs else said
    document = study_label_strategy(scores, verdicts=said, drawn=record)
    shown = " ".join(text(document).split())
    assert shown.count("* from 40 of 60 prompts scored completely: the others lack labels") == 1
    table = tables(describe(document))["240 pairs judged both ways"]
    assert all(row.cells[0].endswith(" *") for row in table.rows)
    assert shown.count("Only 40 of 60 completely scored prompts have all labels") == 1
    assert "Shares are weighted by how the pairs were drawn, counts are plain." in shown or not drawn_pairs


def test_one_of_each_is_in_the_singular():
    """One judge, one prompt, one pair: nothing counts them in the plural, in sentences and titles."""
    scores = pd.DataFrame({"prompt_id": "p", "candidate": list("ab"), "judge_score": [1, 0], "oracle_label": [1, 0]})
    pairs = pd.DataFrame({"prompt_id": ["p"], "a": "a", "b": "b", "shown_first": 1, "shown_second": 1})
    both = study_label_strategy(scores, verdicts=pairs)
    alone = pd.DataFrame({"q": [1], "one": [1], "two": [1], "gold": [1], "who": "j"})
    found = study_verdicts(alone, **ORDERS)
    for result in (both, found):
        for said in (text(result), repr(result)):
            assert re.search(r"\b1 (prompts|pairs|judges|calls|candidates)\b", said) is None, said
    assert "1 judge agrees with the labels in 100% of the pairs" in " ".join(text(found).split())


def test_accuracy_by_gap_is_that_of_the_document(study):
    """A row per group of gaps, with its accuracy."""
    where = study.judges["judge"].matched_pairs.where_pointwise_tied
    table = tables(describe(study))["Where scores tie, by oracle gap"]
    assert list(column(table, "accuracy").values()) == [estimate(row.accuracy, "share") for row in where.by_gap]


def test_a_weighted_share_is_not_shown_as_that_of_its_count(study):
    """Beside a plain count of drawn pairs the share says that it is weighted."""
    judge = study.judges["judge"]
    pairs = judge.matched_pairs.model_copy(update={"weighted": True})
    weighted = study.model_copy(update={"judges": {"judge": judge.model_copy(update={"matched_pairs": pairs})}})
    assert "% weighted); accuracy" in " ".join(text(weighted).split())
    assert "weighted" not in text(study)


def test_judges_on_different_pairs_are_warned_of():
    """The warning stands there only where the pairs differ."""
    rows = pd.DataFrame({"q": [1, 2, 1, 3], "who": list("aabb"), "one": 1, "gold": 1})
    asked = {**ORDERS, "verdicts": ["one"]}
    warned = "Judges were asked about 2 pairs each, not all about the same"
    assert warned in " ".join(text(study_verdicts(rows, **asked)).split())
    assert "Judges were asked" not in text(study_verdicts(rows.assign(q=[1, 2, 1, 2]), **asked))


def test_accuracy_of_decided_pairs_is_called_what_it_is():
    """A verdict beside a tie stands, so no words say that both orders say the same."""
    rows = pd.DataFrame({"q": range(20), "one": 1, "two": "tie", "gold": [1] * 18 + [2] * 2, "who": "j"})
    document = study_verdicts(rows, **ORDERS)
    for said in (" ".join(text(document).split()), words(page(document))):
        assert "both orders together decide" in said
        assert "say the same" not in said
        assert "both say" not in said


def test_a_draw_has_a_table_of_strata(documents):
    """A row per stratum: its pairs, those drawn, and what one of them stands for; prompts left out are counted."""
    document = documents["draw"]
    (table,) = tables(describe(document)).values()
    first = document.strata[0]
    assert table.rows[0].cells[:4] == (f"{first.gap_of} gap", first.stratum, str(first.pairs), str(first.drawn))
    assert len(table.rows) == len(document.strata)
    assert drawings(document) == []
    left = document.model_copy(update={"prompts_left_out": {"no words": 1200}})
    assert "left out 1,200 prompts: no words" in text(left)


def test_where_the_verdicts_came_from_is_said():
    """The verdicts' file, their judge and the record of drawn pairs are named, on the page and in the text."""
    said = verdicts(SIMULATION)
    record = said.assign(pair_id=[f"pair{at}" for at in range(len(said))], weight=1.0)
    mine = said.assign(prompt_id=record["pair_id"], judge="m")
    document = study_label_strategy(SIMULATION.frame(), verdicts=mine, drawn=record)
    files = document.settings.model_copy(update={"verdicts": "won.csv", "drawn": "todo.drawn.csv"})
    document = document.model_copy(update={"settings": files})
    told = "compared with verdicts of m in won.csv, on the pairs drawn in todo.drawn.csv"
    assert told in " ".join(text(document).split())
    assert told in words(page(document))


@pytest.mark.parametrize(
    ("kind", "keys", "value", "told"),
    [
        (
            "strategies",
            "judges.judge.strategies.every_pair.strategies.pairwise.metrics.recovery",
            ...,
            "metrics lack recovery",
        ),
        ("strategies", "judges.judge.matched_pairs.ways.pairwise.metrics.tie_rate", ..., "tie_rate is not a metric"),
        ("verdicts", "settings.verdict_columns", ["one"], "does not fit the number of settings.verdict_columns"),
        ("one order", "settings.verdict_columns", ["one", "two"], "judges.j0.order"),
        ("draw", "strata.0.drawn", 10**6, "drawn are more than pairs"),
    ],
)
def test_what_contradicts_itself_is_refused(documents, tmp_path, kind, keys, value, told):
    """A file that could not have been written is refused, so that no description meets it."""
    assert told in refusal(documents[kind], tmp_path, keys, value)
