"""The tasks of the demo with the checkers that label them, and its two judges."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise
from bonwise.demo import tasks as tasks_module
from bonwise.demo.run import BETWEEN_SHARE, GLOBAL_R, two_judges
from bonwise.demo.tasks import CHECKERS, Check, label, load_tasks
from bonwise.errors import InputError, UsageError

TASKS = {task.pool.prompt_id: task for task in load_tasks()}

# kind, parameters, a text that passes, a text that fails
EXAMPLES = [
    ("max_words", {"n": 3}, "- one well-being 3", "one two three four"),
    ("max_words", {"n": 1}, "1. one", "one -- 2"),
    ("min_words", {"n": 2}, "one two", "one \u2014 !"),
    ("exact_words", {"n": 2}, "# Two words", "Three little words"),
    ("max_line_words", {"n": 2}, "one two\n\n3. three four", "one\ntwo three four"),
    ("max_sentences", {"n": 1}, "It costs 3.50 and no more", "One. Two"),
    ("max_sentences", {"n": 2}, "1. One.\n2. Two.", "One? Two! Three."),
    ("exact_sentences", {"n": 2}, 'He said "no." She left', "One. Two. Three."),
    ("exact_lines", {"n": 2}, "one\n\n\ntwo\n", "one"),
    ("exact_paragraphs", {"n": 2}, "one\nstill one\n \n\n\ntwo", "one\ntwo"),
    ("bullets", {"n": 2}, "Buy:\n- milk\n  - eggs", "* milk\n- eggs"),
    ("numbered", {"n": 2}, "First:\n1. one\n\n2. two", "1. one\n3. two"),
    ("numbered", {"n": 2}, "1. one\nand more\n2. two", "1. one\n2. two\n3. three"),
    ("alphabetical", {}, "- Ant\n- bee", "- bee\n- ant"),
    ("alphabetical", {}, "Mine:\n1. ant\n2. bee", "- ant"),
    ("includes", {"words": ["moon", "ice cream"]}, "Moon-lit ICE CREAM", "moonlight and ice cream"),
    ("excludes", {"words": ["not"]}, "a knot, nothing else", "It is Not."),
    ("mentions", {"word": "moon", "n": 2}, "Moon, moon, moons", "moon"),
    ("without", {"marks": "!,"}, "plain.", "plain, really"),
    ("no_digits", {}, "three", "3"),
    ("number", {"value": 2121.8}, "It is 2,121.80.", "It is 2,121.81."),
    ("number", {"value": 7}, "7, or seven", "17, 70, 7.5 and v7"),
    ("number", {"value": 7.2}, "$7.20", "7 . 2"),
    ("iso_date", {"date": "2025-03-07"}, "on 2025-03-07.", "on 2025-03-071"),
    ("lower_case", {}, "all small, 3", "One capital"),
    ("lower_case", {}, "\u00e9t\u00e9", "123"),
    ("starts_with", {"phrase": "Dear"}, "\nDear you", "dear you"),
    ("ends_with", {"phrase": "Bye."}, "So. Bye.\n", "Bye. So."),
    ("title", {"n": 3}, "A short title\n\nText.", "A title.\n\nText."),
    ("title", {"n": 3}, "Title\n \nText.", "Title\nText."),
    ("title", {"n": 3}, "Title\n\nText.", "Title"),
    ("acrostic", {"word": "ab"}, "Ask\n\nbee", "bee\nask"),
    ("json_keys", {"words": ["a", "b"]}, '{"b": 1, "a": [2]}', '{"a": 1, "b": 2, "c": 3}'),
    ("json_keys", {"words": ["a"]}, ' {"a": 1}\n', '```json\n{"a": 1}\n```'),
    ("json_keys", {"words": ["a"]}, '{"a": null}', '["a"]'),
    ("csv_header", {"header": "a,b"}, "a,b\n1,2", "a, b\n1,2"),
    ("csv_rows", {"n": 1}, 'a,b\n1,"2,3"', "a,b\n1,2,3"),
    ("csv_rows", {"n": 2}, "a,b\n1,2\n3,4", "a,b\n1,2"),
]

# one set of parameters a kind
SAMPLE = {kind: parameters for kind, parameters, _, _ in EXAMPLES}


@pytest.mark.parametrize(("kind", "parameters", "good", "bad"), EXAMPLES)
def test_a_checker_decides(kind, parameters, good, bad):
    """Each kind of check passes what keeps the constraint and fails what does not."""
    assert Check(kind, parameters).passes(good)
    assert not Check(kind, parameters).passes(bad)


def test_every_kind_has_examples_and_a_use():
    """No kind of check goes untested or unused."""
    used = {check.kind for task in TASKS.values() for check in task.checks}
    assert set(SAMPLE) == used == set(CHECKERS)


@pytest.mark.parametrize("kind", CHECKERS)
@given(text=st.text())
def test_a_checker_reads_any_text(kind, text):
    """Whatever the text, the answer is yes or no."""
    assert Check(kind, SAMPLE[kind]).passes(text) in (True, False)


@pytest.mark.parametrize(
    "hostile", ["[" * 100_000, '{"a":' * 100_000, '"' * 200_000, "1" * 10_000, "", "\x00", "\ud800"]
)
@pytest.mark.parametrize("kind", CHECKERS)
def test_a_checker_survives_hostile_text(kind, hostile):
    """Deep nesting, endless fields and broken characters are a no or a yes, never an error."""
    assert Check(kind, SAMPLE[kind]).passes(hostile) in (True, False)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"kind": "rhymes"}, "no check of kind 'rhymes'"),
        ({"kind": "max_words"}, r"max_words takes \['n'\], not \[\]"),
        ({"kind": "max_words", "n": 3, "m": 4}, r"max_words takes \['n'\], not \['m', 'n'\]"),
        ({"kind": "max_words", "n": "3"}, "max_words: n cannot be '3'"),
        ({"kind": "max_words", "n": True}, "max_words: n cannot be True"),
        ({"kind": "max_words", "n": 0}, "max_words: n cannot be 0"),
        ({"kind": "includes", "words": []}, r"includes: words cannot be \[\]"),
        ({"kind": "includes", "words": "moon"}, "includes: words cannot be 'moon'"),
        ({"kind": "number", "value": None}, "number: value cannot be None"),
        ({"kind": "ends_with", "phrase": ""}, "ends_with: phrase cannot be ''"),
    ],
)
def test_a_bad_check_names_its_prompt(entry, message):
    """A check that cannot be run is refused on loading, and the message says in which task it stands."""
    with pytest.raises(InputError, match=f"task 'p9': {message}"):
        tasks_module._check(entry, "p9")


def test_an_unknown_kind_lists_the_known_ones():
    """The hint for an unknown kind of check names every kind."""
    with pytest.raises(UsageError) as caught:
        Check("rhymes", {})
    assert all(kind in caught.value.hint for kind in CHECKERS)


def test_the_tasks_have_the_stated_shape():
    """There are 48 prompts of four different answers named c0 to c3, with three to six checks each."""
    assert len(TASKS) == len(load_tasks()) == 48
    for task in TASKS.values():
        assert [candidate.id for candidate in task.pool.candidates] == ["c0", "c1", "c2", "c3"]
        assert len({candidate.text for candidate in task.pool.candidates}) == 4
        assert 3 <= len(task.checks) <= 6


@pytest.mark.parametrize("prompt_id", TASKS)
def test_each_check_can_be_passed(prompt_id):
    """Every constraint of a task is kept by at least one of its answers."""
    task = TASKS[prompt_id]
    for check in task.checks:
        assert any(check.passes(candidate.text) for candidate in task.pool.candidates), check


def test_most_checks_tell_answers_apart():
    """Four constraints in five are broken by at least one answer."""
    verdicts = [
        all(check.passes(candidate.text) for candidate in task.pool.candidates)
        for task in TASKS.values()
        for check in task.checks
    ]
    assert sum(verdicts) < len(verdicts) / 5


def test_labels_vary_between_and_within_prompts():
    """Ties occur and do not dominate, no prompt is all tied, and prompts differ in difficulty."""
    rows = [[label(task, candidate) for candidate in task.pool.candidates] for task in TASKS.values()]
    pairs = [first == second for row in rows for first, second in itertools.combinations(row, 2)]
    assert 0.10 < sum(pairs) / len(pairs) < 0.25
    assert all(max(row) > min(row) for row in rows)
    means = [sum(row) / 4 for row in rows]
    assert min(means) <= 0.5
    assert max(means) >= 0.9
    assert sum(max(row) < 1 for row in rows) >= 5


@pytest.mark.parametrize(
    ("prompt_id", "expected"),
    [
        # Exactly three sentences; no "!"; 48213; neither "inconvenience" nor "regret".
        # c0: four sentences and no number. c1: all kept. c2: none kept. c3: says "regret".
        ("apology-late", [2 / 4, 4 / 4, 0 / 4, 3 / 4]),
        # Three lines; lower case; no comma; "steam" once.
        # c0: five lines, capitals, commas, twice. c1: no steam. c2: capital A, twice. c3: capitals, commas.
        ("haiku-kettle", [0 / 4, 3 / 4, 2 / 4, 2 / 4]),
        # 90; 81; 32.5; at most four sentences; at least 30 words.
        # c0: 78 instead. c1: no 32.5, five sentences. c2: all kept. c3: 14 words.
        ("discount-jacket", [2 / 5, 3 / 5, 5 / 5, 4 / 5]),
    ],
)
def test_labels_agree_with_a_reader(prompt_id, expected):
    """Labels equal the shares counted by reading the answers."""
    task = TASKS[prompt_id]
    assert [label(task, candidate) for candidate in task.pool.candidates] == expected


def test_tasks_load_from_an_archive(tmp_path):
    """The tasks come with the package, also where it is no folder."""
    root = Path(bonwise.__file__).parent
    archive = tmp_path / "bonwise.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        for path in (*root.rglob("*.py"), *root.rglob("*.json")):
            bundle.write(path, Path("bonwise") / path.relative_to(root))
    code = "import bonwise.demo.tasks as t; print(t.__file__, len(t.load_tasks()))"
    printed = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(archive)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed.startswith(str(archive))
    assert printed.split()[-1] == "48"


def global_r(scores, oracle):
    """Correlate over all rows."""
    return np.corrcoef(scores.ravel(), oracle.ravel())[0, 1]


def within_r(scores, oracle):
    """Correlate what is left when each prompt's mean is taken off."""
    return global_r(scores - scores.mean(1, keepdims=True), oracle - oracle.mean(1, keepdims=True))


def recovery(scores, oracle):
    """Return the share of the attainable gain over a random pick that the judge's pick brings."""
    picked = oracle[np.arange(len(oracle)), scores.argmax(1)].mean()
    return (picked - oracle.mean()) / (oracle.max(1).mean() - oracle.mean())


@pytest.fixture(scope="module")
def large():
    """Return a draw large enough to see the population in."""
    return two_judges(prompts=100_000, seed=5)


def test_the_algebra_gives_both_judges_the_same_r():
    """The two pairs of prompt and deviation correlations lie on one line of equal global r."""
    flat = BETWEEN_SHARE * 0.9 + (1 - BETWEEN_SHARE) * 0
    sharp = BETWEEN_SHARE * 0.642857142857 + (1 - BETWEEN_SHARE) * 0.6
    assert (flat, sharp) == pytest.approx((GLOBAL_R, GLOBAL_R))


def test_from_afar_the_judges_look_the_same(large):
    """Both judges have global correlation 0.63 with the oracle."""
    assert global_r(large.flat, large.oracle) == pytest.approx(GLOBAL_R, abs=0.01)
    assert global_r(large.sharp, large.oracle) == pytest.approx(GLOBAL_R, abs=0.01)


def test_only_one_of_them_can_choose(large):
    """Recovery is the within-prompt correlation: none for the flat judge, 0.6 for the sharp one."""
    for scores, expected in ((large.flat, 0.0), (large.sharp, 0.6)):
        assert within_r(scores, large.oracle) == pytest.approx(expected, abs=0.01)
        assert recovery(scores, large.oracle) == pytest.approx(expected, abs=0.015)


def test_the_default_draw_shows_the_point():
    """At the size the demo uses, the contrast is plain."""
    drawn = two_judges()
    assert abs(global_r(drawn.flat, drawn.oracle) - global_r(drawn.sharp, drawn.oracle)) < 0.03
    assert abs(recovery(drawn.flat, drawn.oracle)) < 0.06
    assert abs(recovery(drawn.sharp, drawn.oracle) - 0.6) < 0.06


def test_scores_are_standard_with_the_stated_share_between_prompts(large):
    """Scores have variance 1, of which 0.7 is shared by the candidates of a prompt."""
    for scores in (large.flat, large.sharp, large.oracle):
        assert scores.var() == pytest.approx(1, abs=0.02)
        # Two candidates of one prompt share the prompt effect alone.
        assert np.cov(scores[:, 0], scores[:, 1])[0, 1] == pytest.approx(BETWEEN_SHARE, abs=0.02)


def test_scores_are_continuous():
    """No two scores are equal, so that nothing depends on how ties are broken."""
    drawn = two_judges(prompts=50)
    assert np.unique([drawn.flat, drawn.sharp, drawn.oracle]).size == 3 * 50 * 4


def test_a_seed_fixes_the_draw():
    """The same seed gives the same arrays, another seed others, and the result says which it was."""
    first, again, other = (two_judges(prompts=9, candidates=3, seed=seed) for seed in (4, 4, 5))
    for name in ("flat", "sharp", "oracle"):
        assert getattr(first, name).shape == (9, 3)
        assert np.array_equal(getattr(first, name), getattr(again, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))
    assert (first.seed, repr(other)) == (4, "TwoJudges(seed=5)")


def test_the_arrays_cannot_be_changed():
    """A result is frozen, down to its arrays."""
    with pytest.raises(ValueError, match="read-only"):
        two_judges(prompts=1).oracle[0, 0] = math.pi


@pytest.mark.parametrize(("prompts", "candidates"), [(0, 4), (5, 1)])
def test_nothing_to_choose_from_is_refused(prompts, candidates):
    """A draw needs a prompt and two candidates."""
    with pytest.raises(UsageError, match=f"cannot draw {prompts} prompts of {candidates} candidates"):
        two_judges(prompts=prompts, candidates=candidates)
