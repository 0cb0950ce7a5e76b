"""Forms of replies that users report, replies changed at random, and how often refusals are taken for scores."""

from __future__ import annotations

import importlib.util
import random
import re
from pathlib import Path

import pytest

from bonwise.calls.ask import Choice
from bonwise.judges.parse.readers import interval, pick, probability, score
from bonwise.judges.prompt_loading import load
from bonwise.table.verdicts import Unscored
from judges.reply_corpus.reported import INTERVALS, PICKS, PROBABILITIES, SCORES
from judges.reply_corpus.twin import KEPT, mutated, readings, twin

TABLES = {score: SCORES, pick: PICKS, probability: PROBABILITIES, interval: INTERVALS}
CASES = [
    (reader, reply, meant)
    for reader, groups in TABLES.items()
    for replies in groups.values()
    for reply, meant in replies.items()
]
REPLIES = {reply: meant for replies in SCORES.values() for reply, meant in replies.items()}


def brief(value):
    """Return a short name of a case."""
    return value.__name__ if callable(value) else repr(value)[:60]


def test_the_tables_are_large():
    """At least 300 different replies, each under who reports its form."""
    assert len({(reader, reply) for reader, reply, _ in CASES}) == len(CASES) >= 300
    assert all(len(who.split()) >= 4 for groups in TABLES.values() for who in groups)


@pytest.mark.parametrize(("reader", "reply", "meant"), CASES, ids=brief)
def test_a_reported_form_is_read_as_it_is_meant(reader, reply, meant):
    """What a reply says is read in whatever form it says it; what it does not say is unscored, with the reply."""
    found = reader(Choice(reply))
    if meant is None:
        assert isinstance(found, Unscored)
        assert (found.raw, found.owed) == (reply, False)
    else:
        assert (found.choice if reader is pick else found) == meant


UNSURE = [reply for replies in PICKS.values() for reply in replies if "onfidence" in reply]


@pytest.mark.parametrize("reply", UNSURE, ids=brief)
def test_a_confidence_in_words_is_missing(reply):
    """The choice stays where there is one; a confidence is a number from 1 to 5 or none."""
    found = pick(Choice(reply))
    assert isinstance(found, Unscored) or found.confidence == {"3": 3, "1": 1}.get(re.sub(r"[^0-9.]", "", reply))


@pytest.mark.parametrize("reply", REPLIES, ids=brief)
def test_the_twin_reads_what_the_tables_mean(reply):
    """The plain reader that replies are compared with gives every score of the tables."""
    if REPLIES[reply] is not None:
        assert twin(reply) == REPLIES[reply]


def check_mutations(count, seed):
    """Read so many changed replies: no score that the twin does not give; looks alone change nothing."""
    drawn = random.Random(seed)  # noqa: S311 - text for tests
    others, lost, read = list(REPLIES), 0, 0
    for turn in range(count):
        base = drawn.choice(others)
        if turn % 2:
            text = drawn.choice(KEPT)(drawn, base)
            found = score(Choice(text))
            lost += isinstance(found, Unscored) and REPLIES[base] is not None
            assert isinstance(found, Unscored) or found == REPLIES[base], text
        else:
            text = mutated(drawn, base, others)
            found = score(Choice(text))
            assert isinstance(found, Unscored) or found in readings(text), text
        read += not isinstance(found, Unscored)
    assert lost <= count // 100
    assert read >= count // 4


def test_changed_replies_are_read_as_by_a_plain_twin(record_property):
    """Two thousand replies of the tables, changed at random."""
    record_property("attacks", 2_000)
    check_mutations(2_000, seed=34)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_changed_replies_are_read_as_by_a_plain_twin(seed, record_property):
    """Twenty thousand of them in all."""
    record_property("attacks", 5_000)
    check_mutations(5_000, seed=1_000 + seed)


def benchmark():
    """Return the script that measures how often refusals are scored."""
    path = Path(__file__).parents[2] / "benchmarks" / "refusal_replies.py"
    spec = importlib.util.spec_from_file_location("refusals", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def measured(shared):
    """Return the rates of misreading on the shared refusals, by layout and judge."""
    script = benchmark()
    return script, script.misread(script.statements(shared / "data" / "refusals.txt"))


@pytest.mark.parametrize(("group", "most"), [("JSON mode", 0.02), ("plain text", 0.05)])
def test_few_refusals_are_scored(measured, group, most):
    """Statements in thirteen languages by another hand: none of these layouts makes a score of them."""
    _, rates = measured
    shares = [share for layouts in rates[group].values() for share in layouts.values()]
    assert len(shares) >= 8
    assert max(shares) <= most


def test_the_known_limit_is_measured(measured):
    """A refusal beside an answer in a declared form is mostly read as that answer: the docs say how often."""
    _, rates = measured
    limits = next(layouts for group, layouts in rates.items() if group.startswith("known limit"))
    assert all(0.5 < share <= 1 for layouts in limits.values() for share in layouts.values())


def test_few_good_answers_are_lost(measured):
    """Of 200 good answers in plain text and of 200 in JSON at most 1 % are not read as what they say."""
    script, _ = measured
    assert set(script.lost()) == {"JSON mode", "plain text"}
    assert max(script.lost().values()) <= 0.01


FILE = """+++
name = "published"
version = 1
mode = "{mode}"
variables = ["prompt", {variables}]
{keys}
+++

[system]
Judge.

[user]
{{{{prompt}}}}
{shown}
"""


def published(folder, mode, keys):
    """Return a prompt file of a mode with further keys, loaded."""
    names = ["candidate"] if mode == "pointwise" else ["candidate_a", "candidate_b"]
    path = folder / "published.md"
    quoted = ", ".join(f'"{name}"' for name in names)
    shown = "\n".join(f"{{{{{name}}}}}" for name in names)
    path.write_text(FILE.format(mode=mode, keys=keys, variables=quoted, shown=shown), encoding="utf-8")
    return load(path)


@pytest.mark.parametrize(
    ("mode", "keys", "reply", "meant"),
    [
        ("pointwise", 'form = "tag"\nscale = [1, 10]', "It is right. Rating: [[7]]", 7),
        ("pointwise", 'form = "tag"\nscale = [1, 10]', "Rating: [[11]]", None),
        ("pointwise", 'form = "tag"\nscale = [1, 10]', "Rating: [[0]]", None),
        ("pointwise", 'form = "tag"\nscale = [1, 10]', "Rating: 7/10", 7),
        ("pointwise", 'form = "tag"\nscale = [1, 5]', "Feedback: fine. [RESULT] 4", 4),
        ("pointwise", 'form = "tag"\nfield = "grade"', "Fine. <grade>80</grade>", 80),
        ("pointwise", 'form = "tag"', "Fine. <grade>80</grade>", None),
        ("pointwise", 'form = "last line"\nfield = "Total rating"\nscale = [1, 4]', "Fine.\nTotal rating: 3", 3),
        ("pointwise", 'form = "last line"\nscale = [1, 5]', "It is coherent.\n4", 4),
        ("pointwise", 'form = "last line"\nscale = [1, 5]', "4\nIt is coherent.", None),
        ("pointwise", 'form = "last line"\nscale = [1, 5]', "I am sorry, I cannot do that.\n4", None),
        ("pointwise", 'form = "number"\nscale = [1, 5]', "4", 4),
        ("pointwise", 'form = "number"\nscale = [1, 5]', "It is coherent.\n4", None),
        ("pointwise", 'form = "number"\nfield = "Coherence"', "- Coherence: 80", 80),
        ("pairwise", 'form = "tag"\ntie = "C"', "Both are fine. [[C]]", "TIE"),
        ("pairwise", 'form = "tag"\ntie = "C"', "A is right. [[A]]", "A"),
        ("pairwise", 'form = "tag"', "Both are fine. [[C]]", None),
        ("pairwise", 'form = "last line"', "A is right.\nA", "A"),
        ("pairwise", 'form = "last line"\nfield = "Better"', "A is right.\nBetter: A", "A"),
    ],
)
def test_a_prompt_file_may_declare_its_form(tmp_path, mode, keys, reply, meant):
    """Published prompts ask for ratings of other scales, in tags, on last lines or alone: the file says so."""
    prompt = published(tmp_path, mode, keys)
    assert prompt.schema is None
    found = (score if mode == "pointwise" else pick)(Choice(reply), prompt.asked)
    value = None if isinstance(found, Unscored) else found if mode == "pointwise" else found.choice
    assert value == meant


def test_the_docs_say_how_often_refusals_are_scored(measured):
    """The page on judges states the rates as they are measured today."""
    _, rates = measured
    page = (Path(__file__).parents[2] / "docs" / "judges.md").read_text(encoding="utf-8")
    stated = [int(line.split("|")[2].strip(" %")) for line in page.splitlines() if line.endswith(" % |")]
    shares = {round(100 * share) for layouts in rates.values() for row in layouts.values() for share in row.values()}
    assert len(stated) == 4
    assert set(stated) == shares
