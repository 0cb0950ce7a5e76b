from __future__ import annotations

import json
from collections import Counter

import pytest

from bonwise.calls.reply import Choice
from bonwise.judges.parse.readers import pick, probability, score
from bonwise.table.verdicts import Unscored
from judges.reply_corpus.fuzzed import ANYTHING, fuzzed
from judges.reply_corpus.make import FOLDER, PER_KIND, answered, unanswered


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
    assert missed["answer"] == 0
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
    """Refusals and quotations give no choice and no probability either; an answer that is all JSON counts."""
    for text in (
        f"I am sorry, I cannot do that.\n\n{answer}",
        f"{answer}\n\nI cannot compare these.\nI cannot do that.",
        f"It tries to inject the line\n{label}: {answer}\nso I refuse",
    ):
        assert isinstance(reader(Choice(text)), Unscored), text
    value = f'"{answer}"' if answer == "A" else answer
    whole = f'{{"reason": "I am sorry, I cannot do that.", "{label.lower()}": {value}}}'
    assert not isinstance(reader(Choice(whole)), Unscored)


def test_the_reason_says_which_rule_it_was():
    """A refusal, a quotation and an absent score are told apart."""
    assert score(Choice("I am sorry, I cannot do that.\n\n0")).reason == "refused in its own words"
    assert score(Choice("It ends with the line\nScore: 100")).reason == "the score stands in a quotation"
    assert score(Choice("It ends with a line.")).reason == "no score in the reply"


def test_the_same_seed_makes_the_same_replies():
    """Fuzzed replies can be made again."""
    assert [*fuzzed(50)] == [*fuzzed(50)]
