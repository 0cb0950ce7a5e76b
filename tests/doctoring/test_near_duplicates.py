"""Prompts with nearly the same words are found, whatever they are written like; templates alone are not enough."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.doctoring.engine import near_duplicates
from bonwise.table.score_table import ScoreTable


def table(texts):
    """Make two candidates of each prompt, which are named p0, p1, ..."""
    rows = [
        {"prompt_id": f"p{at}", "candidate": name, "judge_score": at % 3, "prompt": text}
        for at, text in enumerate(texts)
        for name in "ab"
    ]
    return ScoreTable.from_frame(pd.DataFrame(rows))


def found(*texts):
    """Return the groups as sets of numbers."""
    return {frozenset(int(name[1:]) for name in group) for group in near_duplicates(table(texts))}


def test_case_and_punctuation_do_not_count():
    """The same words are the same prompt, however few they are."""
    assert found("What is 2 + 2?", "what IS 2+2", "What is 2 + 3?") == {frozenset({0, 1})}


def test_one_word_in_nine_may_differ():
    """8 shared words of 10 in all are enough, 7 of 11 are not."""
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    assert found(" ".join(words), " ".join([*words[:8], "ten"])) == {frozenset({0, 1})}
    assert found(" ".join(words), " ".join([*words[:7], "ten", "eleven"])) == set()


def test_wordings_of_wordings_are_one_group():
    """What is alike to a third is in the group of both."""
    words = [f"w{i}" for i in range(12)]
    texts = [" ".join([*words[k:], *(f"x{i}" for i in range(k))]) for k in range(3)]
    assert found(*texts) == {frozenset({0, 1, 2})}


def test_a_template_is_not_enough():
    """60 questions in the same frame of 20 words are different; the same question twice in it is found."""
    frame = " ".join(f"frame{i}" for i in range(20))
    rng = np.random.default_rng(1)
    texts = [f"{frame} {' '.join(f'word{i}' for i in rng.integers(0, 3000, 6))}" for _ in range(60)]
    assert found(*texts, f"{texts[7]} please") == {frozenset({7, 60})}


def test_without_texts_nothing_is_found():
    """No column, blank cells and signs alone are no duplicates."""
    plain = pd.DataFrame({"prompt_id": ["p", "p", "q", "q"], "candidate": list("abab"), "judge_score": [1, 2, 3, 4]})
    assert near_duplicates(ScoreTable.from_frame(plain)) == ()
    assert found(None, None, "???", "!!!") == set()


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=8), min_size=2, max_size=8))
def test_pairs_are_those_of_a_plain_loop(texts):
    """The filter by rare words loses no pair."""
    sets = [frozenset(text) for text in texts]
    group = list(range(len(texts)))
    for one, other in combinations(range(len(texts)), 2):
        enough = min(len(sets[one]), len(sets[other])) >= 4
        alike = enough and 5 * len(sets[one] & sets[other]) >= 4 * len(sets[one] | sets[other])
        if texts[one] and (texts[one] == texts[other] or alike):
            group = [group[one] if g == group[other] else g for g in group]
    expected = {frozenset(i for i, g in enumerate(group) if g == h) for h in group}
    assert found(*(" ".join(text) for text in texts)) == {one for one in expected if len(one) > 1}


def test_doctor_notes_them_until_a_column_of_clusters_is_there():
    """The sentence names a pair and the column; with the column it is gone."""
    rows = table(["what is the capital of france", "What is the capital of France?!", "name three large rivers"])
    frame = rows.frame.reset_index(drop=True).assign(prompt=rows.words.columns["prompt"].to_numpy())
    (said,) = [one for one in bw.doctor(frame).suspicious if "nearly the same text" in one]
    assert "2 prompts" in said
    assert "'p0' and 'p1'" in said
    assert "cluster" in said
    clustered = frame.assign(cluster=np.where(frame["prompt_id"] == "p2", "b", "a"))
    assert not [one for one in bw.doctor(clustered).suspicious if "nearly" in one]


def test_hostile_texts_cost_little():
    """2,000 prompts of the same 50 words in other orders, and one of ten million characters, take no minute."""
    words = [f"w{i}" for i in range(50)]
    rng = np.random.default_rng(2)
    texts = [" ".join(rng.permutation(words)) for _ in range(2000)]
    begun = time.process_time()
    assert [len(group) for group in near_duplicates(table([*texts, "x" * 10_000_000]))] == [2000]
    assert time.process_time() - begun < 60
