"""The page of a study of ways of asking: sections of every kind, names from files kept harmless."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from auditing.studies.pairwise_judges import verdicts
from bonwise.auditing.studies.label_strategy.study import study_label_strategy
from bonwise.auditing.studies.label_strategy.verdict_study import study_verdicts
from bonwise.report.label_strategy_text import decided_words, label_strategy_text, metric_cells
from bonwise.report.page.studies.label_strategy import label_strategy_sections
from bonwise.testing import simulate

HOSTILE = "<script>alert(1)</script>{{ 7*7 }}\u202eab"
SIMULATION = simulate("arena", n=60, seed=2)


@pytest.fixture(scope="module")
def study():
    """Study a judge with a hostile name."""
    return study_label_strategy(SIMULATION.frame().assign(judge=HOSTILE), verdicts=verdicts(SIMULATION))


def test_tables_and_drawings_hold_the_figures(study):
    """The figures of the document stand in the tables, a drawing shows recovery, another accuracy by gap."""
    document = study.to_dict()
    ways, pairs = label_strategy_sections(document)
    group = document["judges"][HOSTILE]["strategies"]["every_pair"]["strategies"]
    (table,) = ways.tables
    shown = {row[0]: row[table.headers.index("recovery")] for row in table.rows}
    assert shown["every pair"] == f"{group['pairwise']['metrics']['recovery']['estimate']:.3f}"
    assert len(table.rows) == len(group)
    assert [len(section.figures) for section in (ways, pairs)] == [1, 1]
    assert list(ways.sentences) == document["judges"][HOSTILE]["sentences"]
    assert any("bonwise judge --tokens" in note for note in ways.notes)
    assert "tokens" not in table.headers  # a column of dashes says nothing


def test_a_hostile_judge_breaks_nothing(study):
    """A name with markup, template braces and a bidi control stays text."""
    page = study._repr_html_()
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "\u202e" not in label_strategy_text(study.to_dict())


def test_judges_of_verdicts_are_drawn_evenly():
    """Forty judges fill two drawings of twenty, the best first, and a table of agreement and one of orders."""
    rows = pd.DataFrame(
        [
            {"q": q, "who": f"{HOSTILE} {j}", "one": 1 + (q < j), "two": 1, "gold": 1}
            for j in range(40)
            for q in range(45)
        ]
    )
    study = study_verdicts(rows, verdicts=["one", "two"], oracle="gold", prompt=["q"], judge=["who"])
    (section,) = label_strategy_sections(study.to_dict())
    assert [figure.says.split(" of ")[1] for figure in section.figures] == ["judges 1 to 20", "judges 21 to 40"]
    assert [len(table.rows) for table in section.tables] == [40, 40]
    assert "56.7% to 100.0%" in section.sentences[0]
    assert all("<script" not in figure.svg for figure in section.figures)


@pytest.mark.parametrize("drawn", [False, True])
def test_partial_labels_are_said_with_their_counts(drawn):
    """Where a third of the prompts lack labels the mark has its note on the page and in text, and a sentence."""
    scores = SIMULATION.frame()
    scores.loc[scores["prompt_id"] > "p0000039", "oracle_label"] = np.nan
    said = verdicts(SIMULATION)
    record = said.assign(pair_id=[f"pair{at}" for at in range(len(said))], weight=1.0) if drawn else None
    said = said.assign(prompt_id=record["pair_id"]) if drawn else said
    document = study_label_strategy(scores, verdicts=said, drawn=record).to_dict()
    note = "* from 40 of 60 prompts scored completely: the others lack labels"
    ways, pairs = label_strategy_sections(document)
    assert all(note in section.notes for section in (ways, pairs))
    assert all(row[0].endswith(" *") for row in pairs.tables[0].rows)
    assert note in label_strategy_text(document)
    sentence = "Only 40 of 60 completely scored prompts have all labels: every figure is of these alone."
    assert sentence in ways.sentences
    assert sentence in document["judges"]["judge"]["sentences"]


def test_one_of_each_is_in_the_singular():
    """One judge, one prompt, one pair: no title, line or sentence counts them in the plural."""
    scores = pd.DataFrame({"prompt_id": "p", "candidate": list("ab"), "judge_score": [1, 0], "oracle_label": [1, 0]})
    pairs = pd.DataFrame({"prompt_id": ["p"], "a": "a", "b": "b", "shown_first": 1, "shown_second": 1})
    study = study_label_strategy(scores, verdicts=pairs)
    ways, best = label_strategy_sections(study.to_dict())
    words = [label_strategy_text(study.to_dict()), repr(study), *ways.sentences, ways.tables[0].title]
    for text in (*words, best.tables[0].title):
        assert re.search(r"\b1 (prompts|pairs|judges|calls|candidates)\b", text) is None, text
    alone = pd.DataFrame({"q": [1], "one": [1], "two": [1], "gold": [1]})
    found = study_verdicts(alone, verdicts=["one", "two"], oracle="gold", prompt=["q"])
    (section,) = label_strategy_sections(found.to_dict())
    assert section.sentences[0].startswith("1 judge agrees with the labels in 100.0% of the pairs")


@pytest.mark.parametrize(("scale", "decimals"), [(1, 5), (1e-4, None)])
def test_gains_have_the_same_decimals_down_their_column(scale, decimals):
    """Gains a call are plain numbers, five decimals each; labels of a ten-thousandth get more and do not vanish."""
    scores = SIMULATION.frame()
    scores["oracle_label"] *= scale
    study = study_label_strategy(scores, verdicts=verdicts(SIMULATION))
    (table,) = label_strategy_sections(study.to_dict())[0].tables
    cells = [row[table.headers.index("gain / call")] for row in table.rows]
    assert all(re.fullmatch(r"-?\d\.\d+", cell) for cell in cells), cells
    assert all(cell in str(study) for cell in cells)
    (used,) = {len(cell.split(".")[1]) for cell in cells}
    assert used == decimals or (decimals is None and used > 5)
    assert max(float(cell) for cell in cells) > 0.001 * scale
    (said,) = (one for one in study.judges["judge"]["sentences"] if one.startswith("A call"))
    assert "0.0000" not in said


def test_gains_of_next_to_nothing_keep_their_digits():
    """Where no decimals of use would do, a gain has three digits and its exponent."""
    ways = {"pairwise": {"metrics": {"gain_per_call": {"estimate": 1.234e-20}}}}
    assert metric_cells(ways, {"gain_per_call": "gain / call"}) == {"pairwise": ["1.23e-20"]}


def test_accuracy_by_gap_says_over_how_many_decided_pairs(study):
    """Beside the pairs that scores tie stand those that verdicts decide, on the page and in text."""
    document = study.to_dict()
    where = document["judges"][HOSTILE]["matched_pairs"]["where_pointwise_tied"]
    gaps = label_strategy_sections(document)[1].tables[1]
    assert [row[gaps.headers.index("decided")] for row in gaps.rows] == [
        str(row["decided_pairs"]) for row in where["by_gap"]
    ]
    words = f"decide {where['decided_pairs']} of {where['pairs']} ({100 * where['decided']['estimate']:.1f}%)"
    assert gaps.title.endswith(words)
    text = label_strategy_text(document)
    assert words in " ".join(text.split())
    assert re.search(r"oracle gap +pairs +decided +accuracy", text)
    assert "minus scores" in text


def test_a_weighted_share_is_not_shown_as_that_of_its_count(study):
    """Beside a plain count of drawn pairs the share says that it is weighted."""
    matched = study.to_dict()["judges"][HOSTILE]["matched_pairs"]
    assert decided_words({**matched, "weighted": True}).endswith("% weighted)")


def test_the_page_warns_of_judges_on_different_pairs():
    """The warning stands among the first sentences of the page, and only where the pairs differ."""
    rows = pd.DataFrame({"q": [1, 2, 1, 3], "who": list("aabb"), "one": 1, "gold": 1})
    roles = {"verdicts": ["one"], "oracle": "gold", "prompt": ["q"], "judge": ["who"]}
    (section,) = label_strategy_sections(study_verdicts(rows, **roles).to_dict())
    assert section.sentences[1].startswith("Judges were asked about 2 pairs each, not all about the same")
    (section,) = label_strategy_sections(study_verdicts(rows.assign(q=[1, 2, 1, 2]), **roles).to_dict())
    assert not any("Judges were asked" in sentence for sentence in section.sentences)


def test_accuracy_of_decided_pairs_is_called_what_it_is():
    """A verdict beside a tie stands, so no words of a page or a text say that both orders say the same."""
    rows = pd.DataFrame({"q": range(20), "one": 1, "two": "tie", "gold": [1] * 18 + [2] * 2})
    document = study_verdicts(rows, verdicts=["one", "two"], oracle="gold", prompt=["q"]).to_dict()
    (section,) = label_strategy_sections(document)
    words = " ".join([label_strategy_text(document), *section.notes, *(table.title for table in section.tables)])
    assert "both orders together decide" in " ".join(words.split())
    assert "say the same" not in words
    assert "both say" not in words


def test_a_draw_has_a_table_of_strata():
    """A draw's page lists what was drawn of each stratum."""
    strata = [{"gap_of": "oracle", "stratum": "tie", "pairs": 1200, "drawn": 10}]
    document = {"kind": "draw", "settings": {}, "judges": {}, "strata": strata, "sentences": ["said"]}
    (section,) = label_strategy_sections({**document, "prompts_left_out": {}})
    assert section.tables[0].rows == [("oracle gap", "tie", "1,200", "10")]
    (section,) = label_strategy_sections({**document, "prompts_left_out": {HOSTILE: 1200}})
    assert section.tables[1].rows[0][1] == "1,200"
    assert "\u202e" not in section.tables[1].rows[0][0]


def test_where_the_verdicts_came_from_is_said():
    """The page and the text name the verdicts' file, their judge and the record of drawn pairs."""
    said = verdicts(SIMULATION)
    record = said.assign(pair_id=[f"pair{at}" for at in range(len(said))], weight=1.0)
    mine = said.assign(prompt_id=record["pair_id"], judge=HOSTILE)
    document = study_label_strategy(SIMULATION.frame(), verdicts=mine, drawn=record).to_dict()
    document["settings"] |= {"verdicts": "won.csv", "drawn": "todo.drawn.csv"}
    ways, _ = label_strategy_sections(document)
    words = "in won.csv, on the pairs drawn in todo.drawn.csv"
    assert ways.notes[0].startswith("Held against verdicts of <script>")
    assert ways.notes[0].endswith(f"{words}.")
    assert "\u202e" not in ways.notes[0]
    assert words in " ".join(label_strategy_text(document).split())
