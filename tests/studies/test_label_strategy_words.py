"""The study of ways of asking in words: only what the intervals bear out; and in tables and drawings."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from bonwise.report.blocks import Part, Table
from bonwise.report.numbers import column as alike
from bonwise.report.numbers import estimate, interval
from bonwise.report.show import describe, drawings, markdown, notebook, page, text
from bonwise.stats.estimand import Estimate
from bonwise.studies.label_strategy.front import study_label_strategy, study_verdicts
from bonwise.studies.label_strategy.pair_draw import draw_pairs
from bonwise.studies.label_strategy.sentences import moved, points
from bonwise.studies.label_strategy.view import _highest
from bonwise.testing import simulate
from report.readers import HOSTILE, harmless, lost
from report.readers import words as seen
from report.readers import words as words_of_label_strategy
from results.round_trips import read_back, refusal
from studies.pairwise_judges import verdicts

# What the findings say: only what the intervals bear out, each share with the pairs that it is a share of.


SIMULATION = simulate("arena", n=60, seed=2)


def pools_of_two(scores, labels, shown):
    """Return scores of pools of two and verdicts on them; what is shown is a pair a prompt."""
    ids = [f"p{x:03d}" for x in range(len(scores))]
    table = pd.DataFrame(
        {
            "prompt_id": np.repeat(ids, 2),
            "candidate": ["a", "b"] * len(ids),
            "judge_score": np.ravel(scores),
            "oracle_label": np.ravel(labels),
        }
    )
    first, second = np.array(shown, dtype=float).T
    return table, pd.DataFrame({"prompt_id": ids, "a": "a", "b": "b", "shown_first": first, "shown_second": second})


def sentences(table, pairs, **settings):
    """Return the sentences of the only judge."""
    (judge,) = study_label_strategy(table, verdicts=pairs, **settings).to_dict()["judges"].values()
    return judge["sentences"]


def alone(one, two, gold):
    """Return the sentences on verdicts alone, a prompt a pair."""
    frame = pd.DataFrame({"item": range(len(gold)), "one": one, "two": two, "gold": gold})
    return study_verdicts(frame, verdict_col=["one", "two"], label_col="gold", prompt_col=["item"]).judges["judge"][
        "sentences"
    ]


def the(said, start):
    """Return the only sentence that starts so."""
    (found,) = (one for one in said if one.startswith(start))
    return found


def test_a_verdict_beside_a_tie_stands_and_is_not_said_to_be_alike():
    """Order one decides ten pairs, nine of them right, order two none: both together decide all ten."""
    order, agreement = alone([1] * 10, ["tie"] * 10, [1] * 9 + [2])
    assert "those that both together decide are right in 90% [" in agreement
    assert "alike" not in agreement
    assert "on 100% [" in order


def test_agreement_and_ties_each_name_their_pairs():
    """Agreement is over the three pairs that the labels decide, ties over all four."""
    _, agreement = alone([1, 1, 2, 1], [1, 2, 2, 2], [1, 1, 2, "tie"])
    assert agreement.startswith("Of the 3 pairs that the labels decide, ")
    assert "ties (50% of all 4 pairs) counting one half" in agreement


@pytest.mark.parametrize(
    ("one", "gold", "words"),
    [
        ([1, 2], ["tie", "tie"], "The labels decide none of 2 pairs: agreement is unknown."),
        (["tie", "tie"], [1, 2], "both together decide none of them."),
    ],
)
def test_where_nothing_is_decided_no_share_is_unknown(one, gold, words):
    """Labels or verdicts that decide nothing are said to, not to have an unknown share."""
    said = " ".join(alone(one, one, gold))
    assert words in said
    assert "unknown share" not in said


def test_an_oracle_that_ties_everything_and_verdicts_that_tie_everything():
    """With equal labels the oracle decides none; with tied verdicts comparisons decide none."""
    flat = sentences(*pools_of_two([[1, 1]] * 5, [[1, 1]] * 5, [[1, 1]] * 5))
    assert the(flat, "On 5 pairs").endswith("; the oracle decides none of them.")
    tied = sentences(*pools_of_two([[1, 1]] * 5, [[1, 0]] * 5, [[0.5, 0.5]] * 5))
    assert the(tied, "Of 5 pairs").endswith(" comparisons decided none.")
    assert "unknown share" not in " ".join([*flat, *tied])


def test_the_lead_of_the_first_shown_has_its_interval():
    """A lead whose interval holds 0 may be none; one that does not is stated with its ends alone."""
    rng = np.random.default_rng(0)
    even = alone(rng.choice([1, 2], 60), rng.choice([1, 2], 60), [1] * 60)[0]
    assert re.match(r"The position effect is [+-]0\.\d{2} \[-0\.\d{2}, \+0\.\d{2}\], which may be 0;", even)
    led = alone([1] * 60, [2] * 50 + [1] * 10, [1] * 60)[0]
    assert re.match(r"The position effect is \+0\.83 \[\+0\.\d{2}, \+0\.\d{2}\]; the verdict on 83% \[", led)


def gaps(right, groups):
    """Return the sentence on tied pairs of prompts whose gap and verdict are given by group."""
    labels = [[gap, 0] for gap, hits in right.items() for _ in hits]
    shown = [[hit, hit] for hits in right.values() for hit in hits]
    return the(sentences(*pools_of_two([[1, 1]] * len(labels), labels, shown), gap_groups=groups), "Of ")


def test_groups_of_gaps_that_are_not_told_apart_are_not_contrasted():
    """A third of three right at the smallest gaps, half of eight at the largest: nothing is said of a rise."""
    assert "smallest" not in gaps({0.1: [1, 0, 0], 0.9: [1, 0] * 4}, 4)
    clear = gaps({0.1: [1, 0] * 20, 0.9: [1] * 39 + [0]}, 2)
    assert re.search(r"from 50% \[.*\] at the smallest gaps to 98% \[.*\] at the largest\.$", clear)


def test_a_first_group_without_a_figure_is_not_skipped():
    """Where nothing is decided at the smallest gaps, the second group does not stand for it."""
    said = gaps({0.1: [0.5] * 40, 0.5: [1, 0] * 20, 0.9: [1] * 39 + [0]}, 3)
    assert "smallest" not in said


def test_what_a_call_brings_is_compared_with_an_interval():
    """The difference of the gains of a call stands there with the ends of the document."""
    study = study_label_strategy(SIMULATION.frame(), verdicts=verdicts(SIMULATION))
    (judge,) = study.to_dict()["judges"].values()
    less = judge["strategies"]["every_pair"]["strategies"]["pairwise"]["minus_pointwise"]["gain_per_call"]
    said = the(judge["sentences"], "A call")
    width = less["high"] - less["low"]
    written = [float(one) for one in re.findall(r"[-+]?\d+\.\d+(?:e-\d+)?", said)][2:]
    assert written == pytest.approx([less["estimate"], less["low"], less["high"]], abs=width / 20)
    assert said.endswith("which may be 0.") == (less["low"] <= 0 <= less["high"])


def test_ties_are_of_all_pairs_and_agreement_of_those_that_the_oracle_decides():
    """Ten pairs, of which the oracle decides eight: both counts are said, and the difference has an interval."""
    rng = np.random.default_rng(1)
    labels = [[1, 1]] * 2 + [[1, 0]] * 8
    said = sentences(*pools_of_two(rng.integers(0, 3, (10, 2)), labels, rng.integers(0, 2, (10, 2))))
    pairs = the(said, "On 10 pairs judged both ways scores tie ")
    assert re.search(r" of all and comparisons .*; in the 8 that the oracle decides scores agree ", pairs)
    assert " points [" in pairs


def test_weighted_shares_stand_apart_from_plain_counts():
    """Of drawn pairs both sentences say that shares are weighted and counts are not."""
    pairs = verdicts(SIMULATION).iloc[::3].reset_index(drop=True)
    record = pairs.assign(pair_id=[f"pair{at}" for at in range(len(pairs))], weight=3.0)
    said = sentences(SIMULATION.frame(), pairs.assign(prompt_id=record["pair_id"]), drawn=record)
    assert ", which were drawn (shares are weighted, counts are plain), scores tie" in the(said, "On 120 pairs")
    tied = next(one for one in said if one.startswith("Of ") and "comparisons decided" in one)
    assert "does not (the count is plain, shares are weighted), comparisons decided" in tied


def test_the_highest_of_equal_figures_does_not_depend_on_their_order():
    """Which of two ways that are worth the same is named is not a matter of which row comes first."""
    rows = [
        ("two orders", 0.5, 0.4, 0.6),
        ("one order", 0.5, 0.3, 0.7),
        ("none", None, None, None),
        ("low", 0.4, 0, 1),
    ]
    assert _highest(rows) == _highest(rows[::-1]) == "50% (two orders)"
    assert _highest(rows[2:3]) == "unknown"


def test_no_figure_is_minus_nothing():
    """A difference that rounds to 0 has no sign, nor have its ends, whatever side they come from."""
    tiny = Estimate(-1e-9, -1e-9, 1e-9, None, 9, "jackknife")
    assert points(tiny) == "0 points [0, 0], which may be 0"
    assert moved(Estimate(-1e-4, -0.02, 0.02, None, 9, "jackknife")) == ("0.000 [-0.020, +0.020], which may be 0")


def test_one_pair_that_was_drawn(tmp_path):
    """A draw of a single pair says so in the singular."""
    rows = [{"prompt_id": "p", "candidate": name, "judge_score": 0.5, "oracle_label": 1} for name in "ab"]
    pools = tmp_path / "pools.jsonl"
    pool = {"prompt_id": "p", "prompt": "?", "candidates": [{"id": name, "text": name} for name in "ab"]}
    pools.write_text(json.dumps(pool) + "\n", encoding="utf-8")
    drawn = draw_pairs(pd.DataFrame(rows), pairs=1, pools=pools)
    assert drawn.to_dict()["sentences"] == ["1 of 1 pair was drawn, of 1 prompt."]
    assert repr(drawn) == "<PairDraw of 1 pair in 1 stratum from table>"


def test_ways_that_pick_alike_are_said_to():
    """Where no score ties, breaking ties changes nothing, and no interval around 0 is made of that."""
    table, pairs = pools_of_two([[1, 0]] * 6, [[1, 0]] * 6, [[1, 1]] * 6)
    said = sentences(table, pairs)
    for start in ("On 6 prompts breaking", "On 6 prompts comparing every", "Cutting the scores into bins"):
        assert the(said, start).endswith("picks the same on all 6 prompts.")
    assert the(said, "On 6 pairs").endswith(": they pick the same on all 6 pairs.")
    assert "points" not in " ".join(said)
    study = study_label_strategy(table, verdicts=pairs)
    judge = study.judges["judge"]
    ways = judge["strategies"]["every_pair"]["strategies"], judge["matched_pairs"]["ways"]
    for less in (ways[0]["tie_break"]["minus_pointwise"], ways[1]["pairwise"]["minus_pointwise"]):
        found = less["recovery"]
        assert (found["estimate"], found["low"], found["reason"]) == (0.0, None, "both make the same picks")
    line = (
        "recovery: no interval of the difference for scores in 20 bins; every pair; every pair, one order; "
        "scores, top ties compared: both make the same picks"
    )
    text = " ".join(study.to_text(full=True).split())
    assert line in text
    assert text.count("compared: both make the same picks") == 1
    of_two = "recovery: no interval of the difference for every pair; every pair, one order: both make the same picks"
    assert of_two in text


def test_picks_worth_the_same_are_not_picks_alike():
    """Two right candidates of three: another pick is worth as much here, and might not be elsewhere."""
    rows = [(p, c, s, y) for p in "pqrstu" for c, s, y in (("a", 1, 1), ("b", 1, 1), ("c", 0, 0))]
    table = pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge_score", "oracle_label"])
    both = [(p, a, b, 1, 1) for p in "pqrstu" for a, b in (("a", "b"), ("a", "c"), ("b", "c"))]
    pairs = pd.DataFrame(both, columns=["prompt_id", "a", "b", "shown_first", "shown_second"])
    assert the(sentences(table, pairs), "On 6 prompts breaking").endswith(": no pick changes its worth.")


def test_notes_on_missing_figures_name_the_figure():
    """Labels that hardly differ leave recovery alone without a figure, and uncounted tokens theirs: told apart."""
    scores = SIMULATION.frame().assign(oracle_label=0.5)
    scores.loc[0, "oracle_label"] = 1
    study = study_label_strategy(scores, verdicts=verdicts(SIMULATION))
    lacking = "denominator not distinguishable from 0"
    whose = (
        "scores; scores in 20 bins; every pair; every pair, one order; some pairs; some pairs, one order; "
        "scores, top ties compared"
    )
    tokens = (
        "tokens; gain / 1,000 tokens: no figure for scores; scores in 20 bins; scores, top ties compared: table has "
        "no column tokens"
    )
    of_two = f"recovery: no figure for scores; every pair; every pair, one order: {lacking}"
    for words in (" ".join(study.to_text(full=True).split()), seen(page(study))):
        for line in (f"recovery: no figure for {whose}: {lacking}", of_two, tokens):
            assert words.count(line) == 1, line


# The study of ways of asking in words, tables and drawings: every kind, names from files kept harmless.


ORDERS = {"verdict_col": ["one", "two"], "label_col": "gold", "prompt_col": ["q"], "judge_col": ["who"]}


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
        "one order": study_verdicts(judges(2), **{**ORDERS, "verdict_col": ["one"]}),
        "draw": drawn(SIMULATION.frame(), tmp_path, pairs=20),
    }


@pytest.mark.parametrize("kind", ["strategies", "verdicts", "one order", "draw"])
def test_the_page_holds_what_the_text_holds(documents, kind, tmp_path):
    """Every word of the text is on the page; Markdown and the notebook are made; a loaded document says the same."""
    document = documents[kind]
    assert not lost(document)
    assert markdown(document).startswith("## ")
    assert "<script" not in notebook(document)
    assert text(read_back(document, tmp_path), full=True) == text(document, full=True)


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
    assert "bonwise judge --tokens" in " ".join(text(study, full=True).split())


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
        said = " ".join(text(document, full=True).split())
        for sentence in own:
            assert said.count(sentence) == 1, sentence
    said = " ".join(text(documents["strategies"], full=True).split())
    assert said.count("verdicts of pairwise:m in verdicts") == 1
    assert said.count("judged both ways way") == 1


def test_a_hostile_name_breaks_nothing(tmp_path):
    """Names of judges, prompts and columns with markup, escapes and a bidi control stay text, of every kind."""
    frame = SIMULATION.frame().assign(judge=HOSTILE)
    harmless(study_label_strategy(frame, verdicts=verdicts(SIMULATION).assign(judge=HOSTILE + "2")))
    named = judges(2).assign(who=lambda rows: HOSTILE + rows["who"]).rename(columns={"gold": HOSTILE})
    harmless(study_verdicts(named, **{**ORDERS, "label_col": HOSTILE}))
    found = drawn(SIMULATION.frame(), tmp_path, pairs=20)
    settings = found.settings.model_copy(update={"source": HOSTILE})
    harmless(found.model_copy(update={"settings": settings, "prompts_left_out": {HOSTILE: 1200}}))


def test_tables_of_verdicts_hold_every_figure_with_its_interval():
    """Of forty judges a table holds the figures, and another one, of pages alone, the interval of each."""
    document = study_verdicts(judges(40), **ORDERS)
    shown = tables(describe(document))
    orders, ends = shown["Each order, both together, and what the order did"], shown["The interval of each figure"]
    assert (len(orders.rows), len(ends.rows)) == (40, 40)
    every = document.judges.values()
    flips = alike([estimate(judge.order.flips, "share") for judge in every])
    decided = alike([estimate(judge.ways["both_orders"].accuracy_decided, "share") for judge in every])
    first = alike([interval(judge.order.first_shown_advantage, sign=True) for judge in every])
    at = list(document.judges).index("j7")
    assert (column(orders, "flips")["j7"], column(orders, "decided")["j7"]) == (flips[at], decided[at])
    assert column(ends, "first")["j7"] == first[at]
    assert "56.7% to 100%" in " ".join(text(document, full=True).split())


def test_one_order_says_nothing_of_orders(documents):
    """With one verdict column there is one figure per judge, and no word on two orders."""
    said = " ".join(text(documents["one order"], full=True).split())
    assert "Agreement with the labels" in said
    assert "flips" not in said
    assert "both together" not in words_of_label_strategy(page(documents["one order"]))


@pytest.mark.parametrize("drawn_pairs", [False, True])
def test_partial_labels_are_said_with_their_counts(drawn_pairs):
    """Where a third of the prompts lack labels every way has a star, whose note stands there once, and a sentence."""
    scores = SIMULATION.frame()
    scores.loc[scores["prompt_id"] > "p0000039", "oracle_label"] = np.nan
    said = verdicts(SIMULATION)
    record = said.assign(pair_id=[f"pair{at}" for at in range(len(said))], weight=1.0) if drawn_pairs else None
    said = said.assign(prompt_id=record["pair_id"]) if drawn_pairs else said
    document = study_label_strategy(scores, verdicts=said, drawn=record)
    shown = " ".join(text(document, full=True).split())
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
        for said in (text(result, full=True), repr(result)):
            assert re.search(r"\b1 (prompts|pairs|judges|calls|candidates)\b", said) is None, said
    assert "1 judge agrees with the labels in 100% of the pairs" in " ".join(text(found, full=True).split())


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
    assert "% weighted); accuracy" in " ".join(text(weighted, full=True).split())
    assert "weighted" not in text(study, full=True)


def test_judges_on_different_pairs_are_warned_of():
    """The warning stands there only where the pairs differ."""
    rows = pd.DataFrame({"q": [1, 2, 1, 3], "who": list("aabb"), "one": 1, "gold": 1})
    asked = {**ORDERS, "verdict_col": ["one"]}
    warned = "Judges were asked about 2 pairs each, not all about the same"
    assert warned in " ".join(text(study_verdicts(rows, **asked)).split())
    assert "Judges were asked" not in text(study_verdicts(rows.assign(q=[1, 2, 1, 2]), **asked), full=True)


def test_accuracy_of_decided_pairs_is_called_what_it_is():
    """A verdict beside a tie stands, so no words say that both orders say the same."""
    rows = pd.DataFrame({"q": range(20), "one": 1, "two": "tie", "gold": [1] * 18 + [2] * 2, "who": "j"})
    document = study_verdicts(rows, **ORDERS)
    for said in (" ".join(text(document).split()), words_of_label_strategy(page(document))):
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
    assert told in words_of_label_strategy(page(document))


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
