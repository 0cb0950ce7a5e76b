"""Verdicts on pairs read from replies, and every reply of the corpus."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.calls.ask import Choice
from bonwise.judges.parse.readers import ReadChoice, interval, pick, probability, score
from bonwise.judges.parse.slots import plain
from bonwise.table.verdicts import Unscored
from judges.reply_corpus.fuzzed import ANYTHING, fuzzed
from judges.reply_corpus.make import FOLDER, PER_KIND, answered, unanswered

PICKS = {
    '{"choice": "A", "confidence": 4}': ("A", 4),
    '{"confidence": 1, "choice": "TIE", "reason": "B is no better"}': ("TIE", 1),
    '{"choice": "tie", "confidence": "5"}': ("TIE", 5),
    '{"choice": "B"}': ("B", None),
    '```\n{"choice": "B", "confidence": 2}\n```': ("B", 2),
    'A says {"choice": "A", "confidence": 5}.\nI say\n{"choice": "B", "confidence": 3}': ("B", 3),
    "A": ("A", None),
    "B.": ("B", None),
    "**TIE**": ("TIE", None),
    "Tie": ("TIE", None),
    "[[A]]": ("A", None),
    "[B]": ("B", None),
    "Choice: A": ("A", None),
    "**Final verdict:** [[B]]": ("B", None),
    "Winner: TIE": ("TIE", None),
    "Choice: A\nCONFIDENCE: 4": ("A", 4),
    "Confidence: 4\nChoice: A": ("A", 4),
    "A\n\nConfidence: 4/5": ("A", 4),
    "A, confidence: 4": ("A", 4),
    "Choice: A; Confidence: 4": ("A", 4),
    "Choice: A\nReason: it is shorter\nConfidence: 4": ("A", 4),
    "Choice: A\nB repeats itself.": ("A", None),
    '{"choice": "a"}': ("A", None),
    '{"choice": "A", "confidence": "high"}': ("A", None),
    '{"choice": "A", "confidence": 3.5}': ("A", None),
    '{"choice": "A", "confidence": true}': ("A", None),
    "**A**\nis short.\n**B**\nis long.\nChoice: A": ("A", None),
    "Choice: A\n**A**\nis short.\n**B**\nis long.": ("A", None),
    '{"choice": "A"}\nConfidence: 2': ("A", 2),
    "A or A": ("A", None),
    "<think>B? [[B]]</think>A": ("A", None),
    "[[A]] is my verdict.": ("A", None),
    '[{"model": "B", "rank": 1}, {"model": "A", "rank": 2}]': ("B", None),
    '```json\n[{"model": "B", "rank": 2}, {"model": "A", "rank": 1}]\n```': ("A", None),
    **{
        f"CHOICE: {choice}\nCONFIDENCE: {sure}": (choice.strip("[]"), int(sure.strip("[]")))
        for choice in ("A", "B", "TIE", "[A]", "[B]", "[TIE]")
        for sure in ("1", "5", "[4]")
    },
}

NO_PICKS = {
    '{"choice": "C", "confidence": 4}': 'none of A, B, TIE: "C"',
    '{"choice": 1}': "none of A, B, TIE: 1",
    "CHOICE: A or B\nCONFIDENCE: 4": "two answers: A or B",
    "CHOICE: [A/B/TIE]\nCONFIDENCE: [1-5]": "none of A, B, TIE",
    "CHOICE: A\nCONFIDENCE: 6": "off the scale 1 to 5: 6",
    "CHOICE: [A]\nCONFIDENCE: [6]": "off the scale 1 to 5: 6",
    '[{"model": "A", "rank": 1}, {"model": "B", "rank": 1}]': "no choice in the reply",
    '[{"model": "A", "rank": 1}, {"model": "A", "rank": 2}]': "no choice in the reply",
    '[{"model": "m", "rank": 1}, {"model": "M", "rank": 2}]': "no choice in the reply",
    '[{"model": "A", "rank": 1}]': "no choice in the reply",
    '[{"model": "A", "rank": 1}, {"model": "B", "rank": 3}]': "no choice in the reply",
    'It says [{"model": "A", "rank": 1}, {"model": "B", "rank": 2}]': "no choice in the reply",
    '{"choice": null}': "cannot judge: no reason given",
    "A\nB repeats itself.": "the choice stands without its label beside other words",
    '{"choice": ["A"]}': "a list",
    '{"choice": "A or B"}': "none of",
    '{"choice": "A", "confidence": 6}': "confidence: off the scale 1 to 5: 6",
    '{"choice": "A", "confidence": 0}': "off the scale 1 to 5: 0",
    '{"choice": "A", "choice": "B"}': "two answers",
    '{"choice": "A"} {"choice": "B"}': "two answers: A and B",
    '{"confidence": 4}': "no choice in the reply",
    "A or B": "two answers: A or B",
    "A/B": "two answers",
    "[[A]] [[B]]": "two answers",
    "A\nB": "two answers: A and B",
    "Choice: A\nChoice: TIE": "two answers",
    "Choice: A\nConfidence: 4\nConfidence: 5": "two answers: 4 and 5",
    "Choice: both": "none of A, B, TIE: both",
    "Choice: A\nNo:\nChoice: neither": "none of A, B, TIE: neither",
    "[[C]]": "no choice in the reply",
    "a": "no choice in the reply",
    "Α": "no choice in the reply",  # noqa: RUF001 - a Greek capital
    "A is better": "no choice in the reply",
    "Response A": "no choice in the reply",
    "Confidence: 4": "no choice in the reply",
    "": "empty reply",
}

PROBABILITIES = {
    '{"probability": 0.73}': 0.73,
    '{"probability": 1}': 1.0,
    '{"probability": 0}': 0.0,
    '{"probability": 1.0}': 1.0,
    '{"probability": 1e-05}': 1e-05,
    '{"probability": "0.73"}': 0.73,
    "0.73": 0.73,
    "0.73.": 0.73,
    ".73": 0.73,
    "Probability: .73": 0.73,
    "<probability>.73</probability>": 0.73,
    "73%": 0.73,
    "73.5 %": 0.735,
    "100%": 1.0,
    "Probability: 0.73": 0.73,
    "P(A) = 0.73": 0.73,
    "**Probability:** 73%": 0.73,
    "I first thought\n0.6\nbut then\nProbability: 0.73": 0.73,
    '{"probability": "73%"}': 0.73,
}

NO_PROBABILITIES = {
    '{"probability": 73}': "off the scale 0 to 1: 73",
    '{"probability": 1.01}': "off the scale",
    '{"probability": -0.1}': "off the scale",
    '{"probability": NaN}': "off the scale",
    '{"probability": 1e999}': "off the scale",
    '{"probability": false}': "no number: false",
    '{"probability": 0.2, "probability": 0.3}': "two answers",
    "73": "off the scale 0 to 1: 73",
    "101%": "off the scale 0 to 1: 101%",
    "-5%": "off the scale 0 to 1: -5%",
    "0.2 or 0.3": "two answers",
    "0.2\n0.3": "two answers",
    "0,73": "two answers",
    "3/4": "no plain number",
    "Probability: about 0.7": "no plain number",
    "-.73": "no plain number",
    "1.73": "off the scale 0 to 1",
    ".7.3": "no plain number",
    '{"probability": .73}': "a broken JSON object",
    "likely": "no probability in the reply",
}

INTERVALS = {
    '{"score": 70, "low": 60, "high": 85}': (70, 60, 85),
    '{"score": 70, "low": 70, "high": 70, "why": null}': (70, 70, 70),
    '{"score": 70.5, "low": 60.25, "high": 80}': (70.5, 60.25, 80),
    "Score: 70\nLow: 60\nHigh: 85": (70, 60, 85),
    "Score: 70, Low: 60, High: 85": (70, 60, 85),
    "**Lower bound:** 60\n**Upper bound:** 85\n**Score:** 70/100": (70, 60, 85),
    "70 [60, 85]": (70, 60, 85),
    "70.5, [60.25, 85]": (70.5, 60.25, 85),
    "Score: 70 [60, 85]": (70, 60, 85),
    "Score: 70\n95% CI: [60, 85]": (70, 60, 85),
    "Score: 70, 95% CI: [60,85]": (70, 60, 85),
    "It is sound.\n\n**Score:** 70\n- **95% CI:** [60, 85]": (70, 60, 85),
    '{"score": 70, "ci_lower": 60, "ci_upper": 85}': (70, 60, 85),
    "score: 70\nci_lower: 60\nci_upper: 85": (70, 60, 85),
    "SCORE: [70]\nLOW: [60]\nHIGH: [85]": (70, 60, 85),
    'It says {"score": 99, "low": 98, "high": 100}\nI say\n{"score": 9, "low": 8, "high": 20}': (9, 8, 20),
}

NO_INTERVALS = {
    '{"score": 70, "low": 75, "high": 85}': "the score 70 lies outside its interval, 75 to 85",
    '{"score": 90, "low": 75, "high": 85}': "outside",
    '{"score": 70, "low": 85, "high": 60}': "outside",
    '{"score": 70, "low": 60}': "no high in the reply",
    '{"score": 70}': "no low in the reply",
    '{"low": 60, "high": 80}': "no score in the reply",
    '{"score": 70, "low": 60, "high": 101}': "high: off the scale 0 to 100: 101",
    '{"score": 70, "low": -1, "high": 80}': "low: off the scale",
    '{"score": 70, "low": null, "high": 80}': "low: no number: null",
    '{"score": 70, "low": 60, "high": 80, "low": 61}': "two answers",
    "Score: 70\nLow: 60\nand I forgot the rest": "no high in the reply",
    '{"score": 70, "low": 60, "high": 80}\nNo:\n{"score": 70}': "no low in the reply",
    "70 [60, 80]\nbecause it is short": "no score in the reply",
    "[60, 80]": "no score in the reply",
    "95% CI: [60, 80]": "no score in the reply",
    "70 (60, 80)": "no score in the reply",
    "70 [60, 80, 90]": "no score in the reply",
    "Score: 70\n90% CI: [60, 80]": "no low in the reply",
    "Score: 70\n[60, 80]": "no low in the reply",
    "Score: 70\n95% CI: [75, 80]": "the score 70 lies outside its interval",
    "Score: 70\n95% CI: [60, 80]\nScore: 70 [65, 80]": "two answers: 60 and 65",
    "70 [60, 800]": "high: off the scale",
    "70": "no score in the reply",
}


def brief(value):
    """Return a short name of a case."""
    return value.__name__ if callable(value) else repr(value)[:60]


@pytest.mark.parametrize("text", PICKS, ids=brief)
def test_a_plain_choice_is_read(text):
    """A, B or TIE in JSON or on a line of its own is a choice; a confidence may stand beside it."""
    assert pick(Choice(text)) == ReadChoice(*PICKS[text])


@pytest.mark.parametrize("text", PROBABILITIES, ids=brief)
def test_a_plain_probability_is_read(text):
    """A number from 0 to 1, or per cent, is a probability."""
    assert probability(Choice(text)) == PROBABILITIES[text]


@pytest.mark.parametrize("text", INTERVALS, ids=brief)
def test_a_plain_interval_is_read(text):
    """A score with both ends is an interval."""
    assert interval(Choice(text)) == INTERVALS[text]


@pytest.mark.parametrize(
    ("reader", "text", "reason"),
    [(reader, *one) for reader, table in ((pick, NO_PICKS), (probability, NO_PROBABILITIES), (interval, NO_INTERVALS))
     for one in table.items()],
    ids=brief,
)  # fmt: skip
def test_anything_else_is_unscored(reader, text, reason):
    """What is off its scale, contradicts itself or lacks a part is unscored, with the reply."""
    found = reader(Choice(text))
    assert isinstance(found, Unscored)
    assert reason in found.reason
    assert found.raw == text


@pytest.mark.parametrize("reader", [pick, probability, interval])
@pytest.mark.parametrize("finish", ["length", "refusal", "filter"])
def test_a_reply_that_did_not_end_by_itself_is_unscored(reader, finish):
    """A cut or refused reply is not read by any reader."""
    text = '{"choice": "A", "probability": 0.5, "score": 5, "low": 5, "high": 5}'
    assert isinstance(reader(Choice(text)), Unscored) is False
    assert isinstance(reader(Choice(text, finish)), Unscored)


PIECES = st.sampled_from(
    [
        '{"choice": ',
        '{"probability": ',
        '{"score": ',
        '"low": ',
        '"high": ',
        '"confidence": ',
        '"A"',
        "A",
        "B",
        "TIE",
        "}",
        '"',
        "Choice: ",
        "Probability: ",
        "Score: ",
        "Low: ",
        "High: ",
        "Confidence: ",
        "95% CI: ",
        "[60, 85]",
        "4",
        "0.73",
        "73%",
        "85",
        " or ",
        "\n",
        "\n\n",
        " ",
        ", ",
        "[[",
        "]]",
        "-",
        ".",
        "NaN",
        "<think>",
        "</think>",
        "```",
        "because",
        "é",
        "\uff18",
    ]
)
REPLIES = st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join))


NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def holds(text):
    """Check what holds of every reply."""
    for reader in (pick, probability, interval):
        found = reader(Choice(text))
        if isinstance(found, Unscored):
            assert found.reason
            assert found.raw == text
        elif reader is pick:
            assert found.choice.lower() in plain(text).lower() or (found.choice == "TIE" and "=" in plain(text))
            assert found.confidence is None or str(found.confidence) in plain(text)
        elif reader is interval:
            assert 0 <= found.low <= found.score <= found.high <= 100
            assert all(one in map(float, NUMBER.findall(plain(text))) for one in found)
        else:
            numbers = NUMBER.findall(plain(text))
            assert any(pytest.approx(found) in (float(one), float(one) / 100) for one in numbers)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(REPLIES)
def test_an_answer_is_never_invented(text):
    """Whatever a model replies, nothing is raised, an answer that is returned is in the reply, or it is kept."""
    holds(text)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, derandomize=True)
@given(REPLIES)
def test_an_answer_is_never_invented_in_many_replies(text):
    """The same, for many more replies."""
    holds(text)


def stored(name):
    """Return the replies of a file of the corpus."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(("name", "made"), [("unanswered.jsonl", unanswered), ("answered.jsonl", answered)])
def test_the_corpus_is_what_its_script_makes(name, made):
    """Five hundred different replies, in six languages alike."""
    replies = stored(name)
    assert replies == made()
    assert len({reply["text"] for reply in replies}) == PER_KIND
    assert set(Counter(reply["language"] for reply in replies).values()) <= {83, 84}


@pytest.mark.parametrize("reply", stored("answered.jsonl"), ids=lambda reply: repr(reply["text"])[:60])
def test_a_reply_with_a_reason_and_a_score_has_that_score(reply):
    """Reasons that speak of refusals, apologies or instructions do not cost a judge its score."""
    assert score(Choice(reply["text"])) == reply["score"]


@pytest.mark.parametrize("reply", stored("unanswered.jsonl"), ids=lambda reply: repr(reply["text"])[:60])
def test_a_refusal_or_a_quotation_has_no_score(reply):
    """A number beside a refusal, or in a line that somebody else wrote, is no judgment; the reply is kept."""
    found = score(Choice(reply["text"]))
    assert isinstance(found, Unscored)
    assert found.raw == reply["text"]
    assert not found.owed


def test_other_words_than_those_of_the_corpus():
    """Replies written after the reader: it knows lists of words and may miss a refusal, but loses no answer."""
    missed = Counter()
    for reply in stored("other_words.jsonl"):
        found = score(Choice(reply["text"]))
        missed[reply["kind"]] += (None if isinstance(found, Unscored) else found) != reply["score"]
    # A line with a label that stands amid a paragraph is a part of what is said there.
    assert missed["answer"] <= 2
    assert missed["quotation"] == 0
    assert missed["refusal"] <= 1


@pytest.mark.parametrize("kind", ["answer", "refusal", "quotation", "judged", "soup"])
def test_ten_thousand_fuzzed_replies(kind):
    """Nothing is raised, no score is another one than was meant, and every plain answer is found."""
    lost = 0
    for this, text, meant in fuzzed():
        if this == kind:
            found = score(Choice(text))
            if meant is not ANYTHING and not isinstance(found, Unscored):
                assert found == meant, text
            lost += isinstance(found, Unscored) and meant is not ANYTHING and meant is not None
    # A judge that quotes, says that it refuses, and scores all the same contradicts itself.
    assert lost <= (150 if kind == "judged" else 0)


@pytest.mark.parametrize(
    ("reader", "answer", "label"), [(pick, "A", "Choice"), (probability, "0.7", "Probability"), (score, "7", "Score")]
)
def test_every_reader_keeps_to_the_rules(reader, answer, label):
    """Refusals and quotations give no choice and no probability either, in JSON or not."""
    for text in (
        f"I am sorry, I cannot do that.\n\n{answer}",
        f"{answer}\n\nI cannot compare these.\nI cannot do that.",
        f"It tries to inject the line\n{label}: {answer}\nso I refuse",
    ):
        assert isinstance(reader(Choice(text)), Unscored), text
    value = f'"{answer}"' if answer == "A" else answer
    refusal = f'{{"reason": "I am sorry, I cannot do that.", "{label.lower()}": {value}}}'
    assert reader(Choice(refusal)).reason == "refused in its own words"
    quoted = f'{{"reason": "It says \\"I cannot do that.\\" and stops.", "{label.lower()}": {value}}}'
    assert not isinstance(reader(Choice(quoted)), Unscored)


def test_the_reason_says_which_rule_it_was():
    """A refusal, a quotation and an absent score are told apart."""
    assert score(Choice("I am sorry, I cannot do that.\n\n0")).reason == "refused in its own words"
    assert score(Choice("It ends with the line\nScore: 100")).reason == "the score stands in a quotation"
    assert score(Choice("It ends with a line.")).reason == "no score in the reply"


def test_the_same_seed_makes_the_same_replies():
    """Fuzzed replies can be made again."""
    assert [*fuzzed(50)] == [*fuzzed(50)]
