from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from dataclasses import dataclass
from itertools import permutations
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bonwise as bw
from bonwise.calls.engine import Engine
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import JudgeError, UsageError
from bonwise.selection.entrants import ranked, seeded_order
from bonwise.selection.pools import Job
from bonwise.selection.settings import settings_of
from bonwise.table.verdicts import Score, Unscored
from bonwise.testing import Script, simulate
from bonwise.testing.transport import FakeTransport


@dataclass
class Fixed:
    """A judge that answers what it was made with."""

    answer: object
    name: str = "fixed"
    version: str = "7"
    asked: int = 0

    def judge(self, _prompt, _candidates):
        """Return the same, whatever is asked."""
        self.asked += 1
        return self.answer


def by(scores):
    """Make a judge that gives these scores in candidate order; None is unscored."""
    return Fixed([Unscored("no idea") if value is None else Score(value) for value in scores])


def named(texts):
    """Make candidates with ids from a mapping."""
    return [{"id": name, "text": text} for name, text in texts.items()]


def length(prompt, text):
    """Score by length."""
    return len(text)


@dataclass
class Answer:
    """A caller's own object."""

    words: str
    cost: float = 0.0


@pytest.mark.parametrize(
    ("candidates", "best_id", "text"),
    [
        (["a", "bbb", "cc"], "c1", None),
        (("a", "bbb", "cc"), "c1", None),
        ([{"text": "a"}, {"text": "bbb", "more": 1}], "c1", None),
        (named({"x": "a", "y": "bbb"}), "y", None),
        ([bw.Candidate("x", "a"), bw.Candidate("y", "bbb")], "y", None),
        ([Answer("a"), Answer("bbb")], "c1", lambda answer: answer.words),
        ([{"id": 4, "words": "a"}, {"id": 5, "words": "bbb"}], "5", lambda answer: answer["words"]),
        (["a", {"id": "y", "text": "bbb"}, bw.Candidate("z", "cc")], "y", None),
        ([3, 100], "c1", str),
    ],
    ids=["strings", "tuple", "mappings", "ids", "Candidate", "objects", "mapping with text=", "mixed", "numbers"],
)
def test_the_best_is_the_very_object_passed_in(candidates, best_id, text):
    """Whatever holds the answers, the best is the object itself, under its id, with the text the judge saw."""
    found = bw.select("Say it", candidates, judge=length, text=text)
    assert found.best is candidates[1]
    assert (found.best_id, found.index, found.decided_by) == (best_id, 1, "score")
    assert found.text in {"bbb", "100"}
    assert found.ranking[0] == best_id
    assert sorted(found.ranking) == sorted(found.ids)


def test_scores_stand_in_candidate_order():
    """Scores are in the order of the candidates, the ranking in that of the scores; unscored is None."""
    found = bw.select("p", ["a", "b", "c", "d"], judge=by([0.2, None, 0.9, 0.5]))
    assert found.scores == (0.2, None, 0.9, 0.5)
    assert found.ranking == ("c2", "c3", "c0")
    assert found.unscored == {"c1": "no idea"}
    assert found.tied == ()


def test_a_single_candidate_needs_no_judging():
    """One candidate is the pick without a call, and has no score."""
    judge = by([])
    found = bw.select("p", ["only"], judge=judge)
    assert judge.asked == 0
    assert (found.best, found.index, found.decided_by, found.scores) == ("only", 0, "only candidate", (None,))
    assert found.ranking == ("c0",)


@pytest.mark.parametrize(
    "candidates",
    [
        [],
        (),
        "text",
        b"text",
        {"a": "b"},
        None,
        3,
        ["a", 3],
        [{"id": "x"}],
        ["a", {"text": b"bytes"}],
        [bw.Candidate("x", None)],
        [bw.Candidate("x", "a"), bw.Candidate("x", "b")],
        named({"x": "a"}) * 2,
        [{"id": "c1", "text": "a"}, "b"],
    ],
    ids=repr,
)
def test_what_is_no_pool_is_refused(candidates):
    """No candidates, no text, or two with one id are usage errors of one line, before the judge is asked."""
    judge = by([1, 2])
    with pytest.raises(UsageError) as caught:
        bw.select("p", candidates, judge=judge)
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    assert judge.asked == 0


def test_candidates_without_an_id_are_named_by_their_place():
    """An id that is absent or null is the position, as in a file of pools."""
    found = bw.select("p", [{"id": None, "text": "a"}, {"id": None, "text": "bb"}, "c"], judge=length)
    assert found.ids == ("c0", "c1", "c2")


def test_the_prompt_must_be_text():
    """A prompt that is no text is refused."""
    with pytest.raises(UsageError, match="prompt"):
        bw.select({"prompt": "p"}, ["a", "b"], judge=length)


TIED = named({name: f"same {name}" for name in "edcba"})


def test_a_seed_decides_ties_for_good():
    """The same seed gives the same selection; the tied candidates are named and the deciding said."""
    found = bw.select("p", TIED, judge=length, seed=11)
    assert found == bw.select("p", TIED, judge=length, seed=11)
    assert found.decided_by == "tie-break"
    assert set(found.tied) == set("abcde")
    assert len({bw.select("p", TIED, judge=length, seed=seed).best_id for seed in range(40)}) == 5


@given(
    order=st.permutations(range(5)),
    seed=st.integers(0, 2**53),
    scores=st.lists(st.sampled_from([None, 0, 1]), min_size=5, max_size=5),
)
@settings(max_examples=80)
def test_place_never_decides(order, seed, scores):
    """However a pool is shuffled, the same candidate is picked and the ranking is the same."""
    known = dict(zip("edcba", scores, strict=True))
    plain = bw.select("p", TIED, judge=by(known.values()), seed=seed, on_failure="owe")
    pool = [TIED[at] for at in order]
    shuffled = bw.select("p", pool, judge=by([known[one["id"]] for one in pool]), seed=seed, on_failure="owe")
    assert shuffled.best_id == plain.best_id
    assert shuffled.ranking == plain.ranking
    assert set(shuffled.tied) == set(plain.tied)


@pytest.mark.parametrize("vary", ["seed", "prompt", "prompt_id"])
def test_each_tied_candidate_wins_its_share(vary):
    """Over many seeds, prompts or prompt ids each of three tied candidates wins a third of the time."""
    pool, trials = [*named({"a": "sama", "b": "samb", "c": "samc"}), {"id": "low", "text": "x"}], 1500
    wins = Counter()
    for trial in range(trials):
        asked = {"prompt": "p", vary: trial if vary == "seed" else f"p{trial}"}
        wins[bw.select(asked.pop("prompt"), pool, judge=length, **asked).best_id] += 1
    assert set(wins) == {"a", "b", "c"}
    for count in wins.values():
        assert stats.binomtest(count, trials, 1 / 3).pvalue > 1e-4


def test_ties_of_two_prompts_are_broken_apart():
    """The picks of two prompts under one seed are independent: the four outcomes are about equally common."""
    pool = named({"a": "sama", "b": "samb"})
    both = Counter(
        tuple(bw.select(prompt, pool, judge=length, seed=seed).best_id for prompt in ("p", "q"))
        for seed in range(800)
    )
    assert stats.chisquare([both[x, y] for x in "ab" for y in "ab"]).pvalue > 1e-4


def test_scores_that_differ_by_rounding_are_tied():
    """0.1 + 0.2 ties with 0.3, as in the audit; a difference of a millionth decides."""
    assert bw.select("p", ["a", "b"], judge=by([0.1 + 0.2, 0.3])).tied == ("c0", "c1")
    assert bw.select("p", ["a", "b"], judge=by([0.3, 0.3 + 1e-6])).best_id == "c1"
    winners = {bw.select("p", ["a", "b"], judge=by([0.1 + 0.2, 0.3]), seed=seed).best_id for seed in range(40)}
    assert winners == {"c0", "c1"}


@given(st.lists(st.none() | st.floats(-1e6, 1e6), min_size=2, max_size=6), st.integers(0, 99))
@settings(max_examples=80)
def test_the_unscored_never_win(scores, seed):
    """The pick has the highest score there is; without any score there is no pick, and it says so."""
    found = bw.select("p", [f"t{i}" for i in range(len(scores))], judge=by(scores), seed=seed, on_failure="owe")
    known = [value for value in scores if value is not None]
    if not known:
        assert (found.best, found.best_id, found.index, found.text) == (None, None, None, None)
        assert (found.decided_by, found.ranking) == ("nothing scored", ())
    else:
        spread = max(known) - min(known)
        assert scores[found.index] == pytest.approx(max(known), abs=1e-8 * max(1.0, spread))
        assert len(found.ranking) == len(known)
    assert set(found.unscored) == {f"c{i}" for i, value in enumerate(scores) if value is None}
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()


@pytest.mark.filterwarnings("ignore:judge .* returned .*, not a number:UserWarning")
@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, True, "9/10", [1], 1j, {}], ids=repr)
def test_a_function_that_returns_no_number_scores_nothing(value):
    """What is no finite number is unscored with a reason, never 0 and never True taken for 1."""
    found = bw.select("p", ["a", "b"], judge=lambda _, text: value if text == "a" else -5)
    assert found.best_id == "c1"
    assert found.scores == (None, -5.0)
    assert found.unscored["c0"]


@pytest.mark.parametrize(
    "value", [2, 2.0, np.float64(2), np.float32(2), np.int64(2)], ids=lambda value: type(value).__name__
)
def test_any_real_number_is_a_score(value):
    """Integers and the numbers of numpy are scores, and come out as floats."""
    found = bw.select("p", ["a", "b"], judge=lambda _, text: value if text == "b" else 1)
    assert found.scores == (1.0, 2.0)
    assert {type(score) for score in found.scores} == {float}


def test_an_asynchronous_function_is_awaited():
    """A judge may be asynchronous; selecting from synchronous code waits for it."""

    async def judge(prompt, text):
        return float(text == "b")

    assert bw.select("p", ["a", "b"], judge=judge).best == "b"


@pytest.mark.parametrize(
    "answer", [[], [Score(1)], [Score(1)] * 3, [1.0, 2.0], [Score(1), None], "ab", None, 3], ids=repr
)
def test_a_judge_that_breaks_its_contract_is_named(answer):
    """Too few or too many verdicts, bare numbers or nothing at all are a judge's error that names the judge."""
    with pytest.raises(JudgeError, match="fixed"):
        bw.select("p", ["a", "b"], judge=Fixed(answer))


@pytest.mark.parametrize("judge", [None, 3, "local:length"], ids=repr)
def test_what_is_no_judge_is_refused(judge):
    """Neither a judge nor a function: an error that says what to pass."""
    with pytest.raises(JudgeError, match="not a judge"):
        bw.select("p", ["a", "b"], judge=judge)


def test_errors_of_a_judge_name_it_and_keep_their_cause():
    """What a function raises comes as the error of that judge, with what it raised as the cause."""

    def broken(prompt, text):
        raise ZeroDivisionError("mine")

    with pytest.raises(JudgeError, match="'broken' failed: ZeroDivisionError: mine") as caught:
        bw.select("p", ["a", "b"], judge=broken)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_selection_repeats_how_it_was_made():
    """Judge, version, strategy, seed and package version are in the result, and in its document."""
    found = bw.select("p", ["a", "b"], judge=by([1, 2]), seed=5, prompt_id="p7")
    assert found.settings == {
        "judge": "fixed",
        "judge_version": "7",
        "strategy": "greedy",
        "seed": 5,
        "parameters": [],
        "on_failure": "raise",
        "version": bw.__version__,
    }
    document = found.to_dict()
    assert document["prompt_id"] == "p7"
    assert list(document) == [
        *("prompt_id", "best", "index", "text", "ids", "scores", "ranking", "tied"),
        *("decided_by", "level", "standard_errors", "p_best", "expected_regret", "draws", "stopped", "comparisons"),
        *("routed", "failure", "calls", "answers", "from_ledger", "input_tokens", "output_tokens", "reused_tokens"),
        *("cost", "latency", "unscored", "settings", "low", "high", "draw_scores", "raw", "evaluations"),
    ]
    assert (document["best"], document["calls"], document["cost"]) == ("c1", 0, 0.0)


def test_a_selection_says_what_was_really_sent():
    """Every set of sampling parameters is in the settings once, also where a pool was answered with several."""
    found = by_engine(bw.Pointwise("openai/m", base_url="http://scripted/v1"), refuses_parameters={"temperature"})
    sent = found.to_dict()["settings"]["parameters"]
    assert [("temperature" in one) for one in sent] in ([False], [True, False], [False, True])
    assert bw.select("p", ["a"], judge=by([1])).settings["parameters"] == []


@pytest.mark.parametrize(
    "judge",
    [
        bw.Pairwise("openai/m", base_url="http://scripted/v1"),
        bw.Logprob("openai/m", base_url="http://scripted/v1", pairs=True),
        bw.Resampled(bw.Pointwise("anthropic/m", base_url="http://scripted"), draws=2),
    ],
    ids=lambda judge: judge.kind,
)
def test_nothing_is_picked_while_a_part_of_a_score_is_owed(judge):
    """With an answer to half of a comparison, or one of two draws, nothing is picked and every reason is given."""
    found = by_engine(judge, max_calls=1)
    assert found.bill.calls == 1
    assert (found.best, found.decided_by, found.scores, found.ranking) == (None, "owed", (None, None), ())
    assert found.unscored == dict.fromkeys(("c0", "c1"), "owed: max_calls=1 is reached")


def by_engine(judge, *, max_calls=None, **script):
    """Select between two candidates with an engine of its own; what is missing is owed."""
    job = Job.of("p", ["a", "b"])

    async def main():
        connection = Connection(transport=FakeTransport(Script(**script)))
        async with Engine(connection=connection, max_calls=max_calls) as engine:
            return await job.by(engine, settings_of(judge, on_failure="owe"))

    return asyncio.run(main())


def test_the_document_of_any_object_is_json():
    """The document holds ids and texts, not the caller's objects."""
    found = bw.select("p", [Answer("a"), Answer("bb")], judge=length, text=lambda answer: answer.words)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["text"] == "bb"


def test_greedy_orders_by_score_alone():
    """Without ties the order is that of the scores, whatever the seed."""
    for seed in range(5):
        order = seeded_order(["a", "b", "c"], seed=seed, salt="s")
        assert ranked([1, 3, 2], order).order == (1, 2, 0)


def test_picks_are_worth_what_the_audit_expects():
    """For a judge without ties at the top the mean label of its picks is the audit's value_judge to 1e-12."""
    drawn = simulated(400)
    audit = bw.audit(drawn)
    assert audit["top1_tie_rate"].estimate == 0
    picked = [value for value, _ in picks_of(drawn, seed=0)]
    assert fmean(picked) == pytest.approx(audit["value_judge"].estimate, abs=1e-12)


def test_tied_picks_average_to_what_the_audit_expects():
    """With ties at the top the picks of many seeds average to the audit's value_judge within their spread."""
    drawn = simulated(60, ties=True)
    value = bw.audit(drawn)["value_judge"].estimate
    means = [fmean(label for label, _ in picks_of(drawn, seed=seed)) for seed in range(30)]
    assert len(set(means)) > 10
    assert fmean(means) == pytest.approx(value, abs=5 * np.std(means) / math.sqrt(30))


def simulated(prompts, *, ties=False):
    """Simulate a table, its scores moved apart by less than their grid unless ties are wanted."""
    frame = simulate("arena", n=prompts, seed=9).frame()
    if not ties:
        frame["judge_score"] = 0.99 * frame["judge_score"] + np.random.default_rng(9).uniform(0, 0.01, len(frame))
    return frame


def picks_of(frame, seed):
    """Select in each pool of a table by its own scores, and return the label and id of each pick."""
    found = []
    for prompt_id, rows in frame.groupby("prompt_id"):
        pool = rows.to_dict("records")
        pick = bw.select(
            "p", pool, judge=by([row["judge_score"] for row in pool]), text=str, prompt_id=prompt_id, seed=seed
        )
        found.append((pick.best["oracle_label"], pick.best_id))
    return found


def test_ties_of_plain_texts_do_not_depend_on_their_order():
    """Texts without ids, tied, are broken the same way in whatever order they stand."""
    texts = ["aa", "bb", "cc", "dd"]
    for seed in range(20):
        picks = {
            bw.select("q", order, judge=lambda _, text: len(text), seed=seed).best for order in permutations(texts)
        }
        assert len(picks) == 1
    spread = {bw.select("q", texts, judge=lambda _, text: len(text), seed=seed).best for seed in range(60)}
    assert spread == set(texts)
