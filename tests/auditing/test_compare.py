from __future__ import annotations

import json

import pandas as pd
import pytest

from auditing.tables import cohort, two_judges
from auditing.test_logged import OF_PICKS, greedy_lines, labels_of, logged
from bonwise.auditing.comparison import SAME_PICKS
from bonwise.auditing.front import audit
from bonwise.comparing.front import compare
from bonwise.errors import InputError

SPENT = {"answers": 4, "from_ledger": 0, "input_tokens": 380, "output_tokens": 20}

# By hand: three prompts of labels (a, b).    p: 1 0    q: .2 .8    r: .5 .1
#   first keeps a, b, b with 2, 2, 2 answers of 100 tokens; second keeps a, a, a with 4, 2, 6 answers of 100.
#   gains: first .5 .3 -.2 = .6;  second .5 -.3 .2 = .4;  room .5 .3 .2 = 1
HAND_LABELS = pd.DataFrame(
    {
        "prompt_id": list("ppqqrr"),
        "candidate": list("ababab"),
        "oracle_label": [1, 0, 0.2, 0.8, 0.5, 0.1],
    }
)
BY_HAND = {
    "gain": (0.2, 0.4 / 3),
    "recovery": (0.6, 0.4),
    "top1_accuracy": (2 / 3, 2 / 3),
    "calls_per_prompt": (2, 4),
    "tokens_per_prompt": (200, 400),
    "gain_per_call": (0.6 / 6, 0.4 / 12),
    "gain_per_1000_tokens": (0.6 / 0.6, 0.4 / 1.2),
}


def line(prompt, best, answers, **more):
    """Make a line of the table worked by hand."""
    tokens = {"input_tokens": 90 * answers, "output_tokens": 10 * answers}
    return {
        "prompt_id": prompt,
        "ids": ["a", "b"],
        "best": best,
        "answers": answers,
        "from_ledger": 0,
        **tokens,
        **more,
    }


def both(tmp_path, first, second):
    """Write two sets of picks and return their paths."""
    return logged(tmp_path / "a.jsonl", first), logged(tmp_path / "b.jsonl", second)


def judged(tmp_path, n=120):
    """Return greedy picks by two judges, their table, and the labels."""
    frame = two_judges(n)
    lines = [[one | SPENT for one in greedy_lines(frame[frame["judge"] == name])] for name in ("first", "second")]
    return both(tmp_path, *lines), frame, labels_of(frame[frame["judge"] == "first"])


def test_a_small_table_is_that_worked_by_hand(tmp_path):
    """Worth, calls, tokens and gain per unit of cost are those of the comment above."""
    paths = both(
        tmp_path,
        [line("p", "a", 2), line("q", "b", 2), line("r", "b", 2)],
        [line("p", "a", 4), line("q", "a", 2), line("r", "a", 6)],
    )
    found = compare(*paths, labels=HAND_LABELS)
    for name, (first, second) in BY_HAND.items():
        for side, value in ((found.first, first), (found.second, second)):
            e = side.metrics[name]
            assert e.estimate == (pytest.approx(value) if e.reason is None or e.estimate is not None else None), name
    assert found.differences["gain"].estimate == pytest.approx(0.2 / 3)
    assert (found.first.calls, found.first.tokens, found.second.calls, found.second.tokens) == (6, 600, 12, 1200)


def test_differences_are_those_of_the_two_score_audits(tmp_path):
    """Greedy picks by two judges differ as the judges do, paired by prompt, intervals too."""
    paths, frame, labels = judged(tmp_path)
    found, scored = compare(*paths, labels=labels), audit(frame)
    expected = scored.comparisons[0].differences
    for name in (one for one in OF_PICKS if one not in ("value_random", "value_oracle")):
        one, other = found.differences[name], expected[name]
        pairs = zip((one.estimate, one.low, one.high), (other.estimate, other.low, other.high), strict=True)
        assert all(a == pytest.approx(b, abs=1e-12) for a, b in pairs), name
        assert found.first.metrics[name].estimate == pytest.approx(scored.judges["first"].metrics[name].estimate)
    assert found.differences["calls_per_prompt"].estimate == 0


def test_the_document_is_strict_json_and_the_text_names_every_measure(tmp_path):
    """The document holds no NaN, and the page has a row for each metric."""
    paths, _, labels = judged(tmp_path)
    found = compare(*paths, labels=labels)
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["schema"] == "bonwise.compare/1"
    assert document["first"]["metrics"].keys() == document["differences"].keys()
    assert all(name in str(found) for name in document["differences"])


def test_what_the_pools_alone_decide_differs_by_nothing(tmp_path):
    """Random and perfect picks of the same pools differ by exactly 0, without an interval, and the text says why."""
    paths, _, labels = judged(tmp_path)
    found = compare(*paths, labels=labels)
    for name in ("value_random", "value_oracle"):
        e = found.differences[name]
        assert (e.estimate, e.low, e.high, e.interval, e.reason) == (0.0, None, None, None, "the same pools")
        assert e.n == found.prompts
    assert "value_random, value_oracle: no interval of the difference: the same pools" in str(found)


def test_a_file_differs_from_itself_by_nothing(tmp_path):
    """Picks that are alike on every prompt differ by 0 in all that depends on them, and no bound is put around it."""
    (first, _), _, labels = judged(tmp_path, n=20)
    found = compare(first, first, labels=labels)
    for name in OF_PICKS:
        e = found.differences[name]
        assert (e.estimate, e.low, e.high, e.se) == (0.0, None, None, None), name
    assert found.differences["recovery"].reason == SAME_PICKS
    assert f"gain, recovery, top1_accuracy, hit_rate: no interval of the difference: {SAME_PICKS}" in " ".join(
        str(found).split()
    )


def test_other_picks_of_the_same_worth_keep_their_interval(tmp_path):
    """Two candidates labelled alike are two picks: a prompt not seen might tell them apart."""
    labels = pd.DataFrame(
        {"prompt_id": list("pppqqq"), "candidate": list("abcabc"), "oracle_label": [1, 1, 0, 1, 1, 0]}
    )
    first, second = (
        [{"prompt_id": prompt, "ids": ["a", "b", "c"], "best": best, **SPENT} for prompt in "pq"] for best in "ab"
    )
    found = compare(*both(tmp_path, first, second), labels=labels)
    e = found.differences["value_judge"]
    assert (e.estimate, e.interval) == (0.0, "exact")
    assert e.low < 0 < e.high


def test_one_prompt_is_in_the_singular(tmp_path):
    """The short form counts the prompts."""
    rows = [line("p", "a", 2)]
    assert repr(compare(*both(tmp_path, rows, rows), labels=HAND_LABELS)).endswith("on 1 prompt>")


def test_every_interval_says_whose_it_is(tmp_path):
    """The heads of the table tell the intervals of the first, of the second and of their difference apart."""
    paths, _, labels = judged(tmp_path)
    text = str(compare(*paths, labels=labels))
    heads = next(one for one in text.splitlines() if "metric" in one)
    assert heads.index("[first]") < heads.index("[second]") < heads.index("[first - second]")


def test_prompts_of_one_file_only_are_named(tmp_path):
    """Prompts that one file lacks are listed on the other's side; what cannot be compared has its reason."""
    frame = cohort(60)
    lines = greedy_lines(frame)
    prompts = [one["prompt_id"] for one in lines]
    second = [dict(one) for one in lines[1:]]
    second[0] |= {"best": None, "level": [], "decided_by": "owed"}
    found = compare(*both(tmp_path, lines[:-2], second), labels=labels_of(frame))
    assert (found.first.only_here, found.second.only_here) == ([prompts[0]], prompts[-2:])
    (dropped,) = found.dropped
    assert dropped.prompt_id == prompts[1]
    assert dropped.reason.startswith("nothing picked: owed")
    assert "b.jsonl" in dropped.reason
    assert found.prompts == 56


def test_other_candidates_are_no_pair(tmp_path):
    """A prompt whose pools differ is dropped with that reason."""
    labels = HAND_LABELS
    first = [line("p", "a", 1), line("q", "a", 1), line("r", "a", 1)]
    second = [line("p", "a", 1), line("q", "a", 1), line("r", "a", 1) | {"ids": ["a"]}]
    found = compare(*both(tmp_path, first, second), labels=labels, shape="ragged")
    assert [one.prompt_id for one in found.dropped] == ["r"]
    assert found.prompts == 2


def test_tokens_of_answers_from_a_ledger_are_unknown_unless_said(tmp_path):
    """Where a ledger answered and the line does not say its tokens, what a token brings is null with that reason."""
    first = [line("p", "a", 2), line("q", "b", 2), line("r", "b", 2, from_ledger=1)]
    second = [line("p", "a", 2), line("q", "b", 2), line("r", "b", 2, from_ledger=1, reused_tokens=100)]
    found = compare(*both(tmp_path, first, second), labels=HAND_LABELS)
    assert "ledger" in found.first.metrics["tokens_per_prompt"].reason
    assert found.first.tokens is None
    assert found.second.tokens == 700
    assert found.differences["gain_per_1000_tokens"].reason == found.first.metrics["tokens_per_prompt"].reason
    assert found.differences["calls_per_prompt"].estimate == 0


def test_files_without_a_prompt_in_common_are_refused(tmp_path):
    """Nothing to compare is an error."""
    with pytest.raises(InputError, match="no prompt with a pick in both files"):
        compare(*both(tmp_path, [line("p", "a", 1), line("q", "a", 1)], [line("r", "a", 1)]), labels=HAND_LABELS)
