from __future__ import annotations

import json
from collections import Counter

import pytest

from bonwise.calls.reply import Choice
from bonwise.judges.parse.readers import score
from judges.reply_corpus.fuzzed import fuzzed
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


def test_the_same_seed_makes_the_same_replies():
    """Fuzzed replies can be made again."""
    assert [*fuzzed(50)] == [*fuzzed(50)]
