"""What selects wrongly without a word elsewhere: the same input, and what is right."""

from __future__ import annotations

import asyncio
import math
import threading
from collections import Counter

import pytest
from scipy import stats

import bonwise as bw
from bonwise.errors import JudgeError
from bonwise.selection.front import aselect
from bonwise.selection.selector import Selector
from bonwise.table.verdicts import Score
from bonwise.testing import Script
from calls.virtual_time import run_virtual
from selection.services import ADDRESS, JUDGE, asking

TEXTS = ["first answer", "second answer", "third answer"]


def replying(*replies):
    """Return a service that replies to each of the texts what is given for it."""
    said = dict(zip(TEXTS, replies, strict=True))
    return Script(lambda request: next(reply for text, reply in said.items() if text in request.user))


def chosen(script, judge=JUDGE, **settings):
    """Select among the texts."""
    with asking(script, judge, **settings) as selector:
        return selector.select("p", TEXTS)


def test_an_asynchronous_reward_is_awaited():
    """A coroutine function as the reward is awaited, from synchronous and asynchronous code."""

    async def reward(_prompt, text):
        await asyncio.sleep(0)
        return float(len(text))

    assert bw.select("p", TEXTS, judge=reward).best == TEXTS[1]
    assert asyncio.run(aselect("p", TEXTS, judge=reward)).best == TEXTS[1]
    assert bw.select("p", TEXTS, judge=lambda _, text: reward("p", text)).best == TEXTS[1]


def test_a_reward_that_is_no_number_each_time():
    """NaN for every candidate picks none and says why, or picks as `on_failure` says, visibly."""
    found = bw.select("p", TEXTS, judge=lambda *_: math.nan, on_failure="owe")
    assert (found.best, found.decided_by) == (None, "nothing scored")
    assert set(found.unscored.values()) == {"the function returned nan"}
    found = bw.select("p", TEXTS, judge=lambda *_: math.nan, on_failure="first")
    assert (found.best, found.decided_by, found.failure) == (TEXTS[0], "first", "nothing could be scored")


def test_a_reward_that_is_no_number_once():
    """NaN for one candidate leaves it unscored: it neither wins nor loses against a number."""
    for odd in range(3):
        found = bw.select("p", TEXTS, judge=lambda _, text, odd=odd: math.nan if text == TEXTS[odd] else -len(text))
        assert found.index != odd
        assert found.scores[odd] is None


def test_candidates_are_judged_side_by_side():
    """Eight candidates of a judge that takes 0.2 s take 0.2 s, not 1.6 s."""

    async def judge(_prompt, text):
        await asyncio.sleep(0.2)
        return len(text)

    async def main():
        async with Selector(judge) as selector:
            return await selector.aselect("p", ["x" * at for at in range(1, 9)])

    assert run_virtual(main()).latency == pytest.approx(0.2)


def test_replies_in_several_forms():
    """Of "Score: 90", "30" and "80/100" the first wins; none is read as 0, and none is lost to its form."""
    found = chosen(replying("Score: 90", "30", "80/100"))
    assert found.scores == (0.9, 0.3, 0.8)
    assert found.best == TEXTS[0]


def test_a_reply_on_a_scale_of_its_own_never_wins_by_it():
    """Of "Score: 9", "3" and "8/10" none is read as 0; where no scale is named it is the judge's."""
    found = chosen(replying("Score: 9", "3", "8/10"))
    assert found.scores == (0.09, 0.03, None)
    assert found.unscored == {"c2": "no plain number: 8/10"}


@pytest.mark.parametrize("odd", ["nan", "NaN", "inf", "-inf", "none", "I cannot help with that.", "{}"])
def test_a_reply_without_a_number_is_never_picked(odd):
    """A reply such as "nan" or a refusal is unscored, whatever place it stands in."""
    for at in range(3):
        replies = ["70", "30"]
        replies.insert(at, odd)
        found = chosen(replying(*replies))
        assert found.scores[at] is None
        assert found.scores[found.index] == 0.7
        assert list(found.unscored) == [f"c{at}"]


def test_equal_replies_are_broken_by_the_seed():
    """8 against 8 goes to each of the two equally often, and says that the seed decided."""
    script, wins = replying("80", "80", "10"), Counter()
    with asking(script) as selector:
        for at in range(400):
            found = selector.select(f"p{at}", TEXTS)
            assert (found.decided_by, set(found.tied)) == ("tie-break", {"c0", "c1"})
            wins[found.best_id] += 1
    assert stats.binomtest(wins["c0"], 400).pvalue > 1e-4


@pytest.mark.parametrize("vary", ["seed", "prompt"])
def test_equal_candidates_are_not_always_the_first(vary):
    """Four candidates that the judge finds equal, or that are equal, each win a quarter of the time."""
    for texts in (["same"] * 4, ["a", "b", "c", "d"]):
        wins = Counter()
        for at in range(800):
            given = {"prompt": "p", vary: at if vary == "seed" else f"p{at}"}
            wins[bw.select(given.pop("prompt"), texts, judge=lambda *_: 1.0, **given).index] += 1
        assert stats.chisquare([wins[at] for at in range(4)]).pvalue > 1e-4


@pytest.mark.parametrize("pairs", [False, True], ids=["scores", "comparisons"])
def test_refusals_of_the_judge_are_told(pairs):
    """Where the judge refuses everything nothing is picked, no candidate is lost from the result, and all is said."""
    judge = bw.Pairwise("openai/m", base_url=ADDRESS) if pairs else JUDGE
    script = Script(lambda _request: "I'm sorry, I can't compare these.")
    if pairs:
        with pytest.raises(JudgeError, match="scored no candidate"):
            chosen(script, judge)
    found = chosen(script, judge, on_failure="owe")
    assert (found.best, found.decided_by, found.ids) == (None, "nothing scored", ("c0", "c1", "c2"))
    assert set(found.unscored) == set(found.ids)
    assert all(found.unscored.values())


def test_one_refused_candidate_does_not_lose():
    """A candidate about which the judge says nothing is neither ranked last nor dropped: it is listed as unscored."""
    found = chosen(replying("40", "I cannot rate this.", "20"))
    assert found.ranking == ("c0", "c2")
    assert list(found.unscored) == ["c1"]
    assert found.ids == ("c0", "c1", "c2")


class Listwise:
    """A judge that ranks a list by itself and may name candidates that do not exist."""

    name, version = "listwise", "1"

    def __init__(self, *named):
        self.named = named

    def judge(self, _prompt, candidates):
        """Score by rank, one verdict for each that was named."""
        return [Score(float(len(candidates) - rank)) for rank, _ in enumerate(self.named)]


@pytest.mark.parametrize("named", [(9, 1), (0,), (), (0, 1, 2, 3)], ids=str)
def test_a_listwise_judge_that_miscounts_is_an_error(named):
    """Verdicts about fewer or more candidates than were shown are the judge's error, or told as a failure."""
    with pytest.raises(JudgeError, match=f"{len(named)} verdicts for 3 candidates"):
        bw.select("p", TEXTS, judge=Listwise(*named))
    found = bw.select("p", TEXTS, judge=Listwise(*named), on_failure="first")
    assert (found.index, found.decided_by) == (0, "first")
    assert f"{len(named)} verdicts for 3 candidates" in found.failure


def test_a_ledger_is_no_stale_cache(tmp_path):
    """The same ledger with another prompt, text, judge or setting asks anew; the same does not."""
    script = Script(lambda request: str(10 + len(request.user) % 80))
    asks = [
        (JUDGE, "p", TEXTS, 3),
        (JUDGE, "p", TEXTS, 0),
        (JUDGE, "another", TEXTS, 3),
        (JUDGE, "p", [*TEXTS[:2], "another answer"], 1),
        (JUDGE, "p", TEXTS[::-1], 0),
        (bw.Pointwise("openai/n", base_url=ADDRESS), "p", TEXTS, 3),
        (bw.Pointwise("openai/m", base_url=ADDRESS, prompt="pointwise-reason"), "p", TEXTS, 3),
        (bw.Pointwise("openai/m", base_url=ADDRESS, temperature=0.7), "p", TEXTS, 3),
        (bw.Pointwise("openai/m", base_url="http://elsewhere/v1"), "p", TEXTS, 3),
        (JUDGE, "p", TEXTS, 0),
    ]
    for judge, prompt, texts, calls in asks:
        before = script.counts.requests
        with asking(script, judge, ledger=tmp_path) as selector:
            found = selector.select(prompt, texts)
        assert (found.calls, script.counts.requests - before) == (calls, calls)


def test_a_plain_function_does_not_stop_the_loop():
    """A judge that blocks in asynchronous code leaves the loop running beside it."""
    begun, let_go = threading.Event(), threading.Event()

    def judge(_prompt, text):
        begun.set()
        if not let_go.wait(60):
            raise TimeoutError("the loop stands still")
        return len(text)

    async def main():
        async with Selector(judge) as selector:
            task = asyncio.create_task(selector.aselect("p", TEXTS))
            await asyncio.to_thread(begun.wait, 60)
            for _ in range(10):
                await asyncio.sleep(0.001)
            let_go.set()
            return await task

    assert asyncio.run(main()).best == TEXTS[1]
