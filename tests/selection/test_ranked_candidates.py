from __future__ import annotations

import asyncio
import copy
import pickle

import pytest

import bonwise as bw
from bonwise.errors import JudgeError, UsageError
from bonwise.routing.control import Route
from selection.services import asking, by_worth


def shorter(_, text):
    """Score a text by how short it is."""
    return -len(text)


def ranked(judge, candidates, top_k=None, **settings):
    """Rank candidates, as (index, score, rank, reason), from synchronous code and awaited: both say the same."""
    with bw.Selector(judge, **settings) as selector:
        found = selector.rank("p", candidates, top_k)

    async def awaited():
        async with bw.Selector(judge, **settings) as selector:
            return await selector.arank("p", candidates, top_k)

    assert asyncio.run(awaited()) == found
    return found, [(one.index, one.score, one.rank, one.reason) for one in found]


def test_every_candidate_is_scored_and_stands_in_its_order():
    """From best to worst; the very objects come back; what has no score comes last with its reason."""
    pool = [{"text": "aaa"}, {"id": "x", "text": "a"}, None, {"text": "aa"}]
    found, places = ranked(shorter, pool)
    assert places == [(1, -1.0, 1, ""), (3, -2.0, 2, ""), (0, -3.0, 3, ""), (2, None, None, "no text")]
    assert [one.candidate for one in found] == [pool[at] for at in (1, 3, 0, 2)]
    assert found[0].id == "x"
    assert found.selection.verdicts[0] == bw.Score(-3.0)
    assert found.selection.evaluations == 3


@pytest.mark.parametrize("deadline", [None, 60.0], ids=["here", "in a loop"])
def test_a_single_candidate_is_judged(deadline):
    """It has its score, though nothing is to be chosen; to pick it still needs no judge."""
    _, places = ranked(shorter, ["aa"], deadline=deadline)
    assert places == [(0, -2.0, 1, "")]
    assert bw.select("p", ["aa"], judge=lambda *_: 1 / 0).best == "aa"


def test_duplicates_share_one_judgment_and_each_have_the_score():
    """Two of one text beside another one, and two of one text alone."""
    seen = []

    def judge(_, text):
        seen.append(text)
        return -len(text)

    with bw.Selector(judge) as selector:
        assert {(one.index, one.score) for one in selector.rank("p", ["a", "b", "a"])} == {(0, -1), (1, -1), (2, -1)}
        assert sorted(seen) == ["a", "b"]
        seen.clear()
        assert [(one.score, one.rank) for one in selector.rank("p", ["a", "a"])] == [(-1.0, 1), (-1.0, 2)]
        assert seen == ["a"]


@pytest.mark.parametrize("none", [[], ()], ids=repr)
def test_of_no_candidates_there_is_an_empty_list(none):
    """Nothing to rank is no error; a closed selector and a bad prompt are."""
    with bw.Selector(shorter) as selector:
        found = selector.rank("p", none)
        assert (found, found.selection) == ([], None)
        with pytest.raises(UsageError, match="the prompt must be text"):
            selector.rank(3, none)
    with pytest.raises(UsageError, match="closed"):
        selector.rank("p", none)


def test_top_k_cuts_the_list_and_nothing_else():
    """All are judged; the best k come back, those without a score only where k is larger than the others."""
    assert ranked(shorter, ["aaa", "a", "aa"], 2)[1] == [(1, -1.0, 1, ""), (2, -2.0, 2, "")]
    assert len(ranked(shorter, ["a"], 5)[0]) == 1
    assert ranked(shorter, ["aaa", None], 1)[1] == [(0, -3.0, 1, "")]


@pytest.mark.parametrize("top_k", [0, -1, 1.5, True], ids=repr)
def test_a_top_k_that_means_nothing_is_refused(top_k):
    """It is a whole number of 1 or more."""
    with bw.Selector(shorter) as selector, pytest.raises(UsageError, match="top_k"):
        selector.rank("p", ["a"], top_k)


@pytest.mark.parametrize("pool", [None, "text", {"text": "a"}, [3], [{"id": "x", "text": "a"}] * 2], ids=repr)
def test_what_is_no_pool_is_refused(pool):
    """The rules of candidates are those of select."""
    with bw.Selector(shorter) as selector, pytest.raises(UsageError):
        selector.rank("p", pool)


@pytest.mark.parametrize("pool", [["a"], ["a", "a"]], ids=["one", "one text"])
def test_one_text_alone_has_no_win_rate(pool):
    """A strategy that compares ranks by win rates; with nothing to compare there is a reason, and no score."""
    found, places = ranked(shorter, pool, strategy=bw.RoundRobin())
    assert {place[1:] for place in places} == {(None, None, "no other answer to compare with")}
    assert found.selection.evaluations == 0
    assert ranked(shorter, ["aa", "a", "aaa"], strategy=bw.RoundRobin())[1][0] == (1, 1.0, 1, "")


def test_the_stronger_judge_ranks_all():
    """A router whose contenders are some has the stronger judge see all: one judge ranks them."""

    class Sends:
        strong = bw.Quantized(lambda _, text: len(text) / 10, bins=11)
        second = None

        def consider(self, _, key=""):
            del key
            return Route(strong=True, signal=0.1, reason="close", contenders=(0, 1))

    _, places = ranked(shorter, ["a", "aa", "aaa"], router=Sends())
    assert [(place[0], place[1]) for place in places] == [(2, 0.3), (1, 0.2), (0, 0.1)]
    assert ranked(shorter, ["aa"], router=Sends())[1] == [(0, -2.0, 1, "")]


def test_a_judge_that_fails_raises_or_says_why():
    """As with select: an error, or candidates without score that name it."""

    def broken(*_):
        raise ZeroDivisionError("no")

    with bw.Selector(broken) as selector, pytest.raises(JudgeError, match="ZeroDivisionError"):
        selector.rank("p", ["a"])
    with bw.Selector(broken, on_failure="owe") as selector:
        (one,) = selector.rank("p", ["a"])
        assert (one.score, one.rank) == (None, None)
        assert "ZeroDivisionError" in one.reason
        verdict = selector.score("p", "a")
        assert "ZeroDivisionError" in verdict.reason


def test_a_model_is_asked_about_a_single_candidate_once(tmp_path):
    """One call, kept in the ledger: the second ranking costs nothing."""
    script = by_worth()
    with asking(script, ledger=tmp_path / "run") as selector:
        first = selector.rank("p", ["worth 20"])
        again = selector.rank("p", ["worth 20"])
        assert (first.selection.calls, again.selection.calls) == (1, 0)
        assert first[0].score == again[0].score == selector.score("p", "worth 20").value
        assert selector.score("p", " ") == bw.Unscored("empty answer")
        assert selector.score("p", "worth 20").raw == "20"
    assert first.selection.evaluations == 0


def test_a_score_is_what_the_judge_says():
    """Value, interval and words; strategy and router play no part, and messages are read as everywhere."""

    class Sure:
        name, version = "sure", "1"

        def judge(self, _, candidates):
            return [bw.Score(len(text) / 10, low=0.0, high=1.0, raw=text) for text in candidates]

    with bw.Selector(Sure(), strategy=bw.Resample(draws=3)) as selector:
        found = selector.score([{"role": "user", "content": "p"}], {"content": "abc"})
        assert (found.value, found.low, found.high, found.raw) == (0.3, 0.0, 1.0, "abc")
        assert selector.score("p", None) == bw.Unscored("no text")

    async def awaited():
        async with bw.Selector(Sure()) as selector:
            return await selector.ascore("p", "abc")

    assert asyncio.run(awaited()) == found


@pytest.mark.parametrize(
    "selector",
    [bw.Selector(shorter, strategy=bw.Knockout()), bw.Selector(bw.Pairwise("openai/m"))],
    ids=["strategy", "judge"],
)
def test_who_compares_scores_no_answer_alone(selector):
    """A judge or a strategy that compares is refused before anything is asked, and the hint names rank()."""
    with selector, pytest.raises(UsageError, match="one alone has no score") as caught:
        selector.score("p", "a")
    assert "rank()" in caught.value.hint


def test_a_ranking_is_copied_and_pickled_whole():
    """A copy keeps what the ranking rests on."""
    found, _ = ranked(shorter, ["aa", "a"])
    for made in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):  # noqa: S301 - our own bytes
        assert made == found
        assert made.selection.scores == found.selection.scores
