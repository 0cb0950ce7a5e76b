"""Candidates as callers give them, and as they come back ranked."""

from __future__ import annotations

import asyncio
import copy
import pickle
import random
from collections import Counter
from dataclasses import dataclass
from itertools import permutations
from types import SimpleNamespace

import pytest
from anthropic.types import Message, TextBlock, ThinkingBlock, Usage
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage
from scipy import stats

import bonwise as bw
from bonwise.errors import JudgeError, UsageError
from bonwise.routing.control import Route
from bonwise.selection.entrants import ranked, seeded_order
from bonwise.selection.pools import as_candidates
from bonwise.table.verdicts import pool_decimals, rounded
from selection.services import asking, by_worth

LONG, SHORT = "a long answer", "short"


def openai_message(text):
    """Make what the OpenAI SDK returns as a message."""
    return ChatCompletionMessage(role="assistant", content=text)


def anthropic_message(*blocks):
    """Make what the Anthropic SDK returns."""
    return Message(
        id="msg_1",
        type="message",
        role="assistant",
        model="m",
        content=list(blocks),
        usage=Usage(input_tokens=1, output_tokens=1),
    )


def anthropic_text(text):
    """Make a message of the Anthropic SDK with thoughts and words."""
    return anthropic_message(
        ThinkingBlock(type="thinking", thinking="hm", signature="s"), TextBlock(type="text", text=text)
    )


@dataclass(frozen=True)
class Draft:
    """A caller's own object."""

    body: str


FORMS = {
    "string": (str, None),
    "mapping with text": (lambda text: {"text": text}, None),
    "Candidate": (lambda text: bw.Candidate(f"id {len(text)}", text), None),
    "chat message": (lambda text: {"role": "assistant", "content": text}, None),
    "message with an id": (lambda text: {"id": "msg", "role": "assistant", "content": text}, None),
    "content parts": (lambda text: {"role": "assistant", "content": [{"type": "text", "text": text}]}, None),
    "choice with a message": (lambda text: {"index": 0, "message": {"role": "assistant", "content": text}}, None),
    "document": (lambda text: SimpleNamespace(page_content=text, metadata={}), None),
    "node": (lambda text: SimpleNamespace(get_content=lambda: text, text=None), None),
    "OpenAI message": (openai_message, None),
    "Anthropic message": (anthropic_text, None),
    "object with text": (lambda text: SimpleNamespace(text=text), None),
    "any object": (Draft, lambda draft: draft.body),
    "number": (len, lambda number: "x" * number),
}


@pytest.mark.parametrize("form", FORMS)
def test_answers_of_any_form(form):
    """Whatever holds an answer, the judge sees its words and the very object comes back."""
    make, text = FORMS[form]
    pool = [make(SHORT), make(LONG)]
    found = bw.select("p", pool, judge=lambda _, words: len(words), text=text)
    assert found.best is pool[1]
    assert (found.index, len(found.text)) == (1, len(LONG))
    assert found.scores == (float(len(SHORT)), float(len(LONG)))


def test_forms_may_be_mixed():
    """Each candidate is read for itself."""
    pool = [make("x" * at) for at, (make, text) in enumerate(FORMS.values(), 1) if text is None]
    pool = [one for one in pool if not isinstance(one, bw.Candidate)]
    found = bw.select("p", pool, judge=lambda _, words: len(words))
    assert found.best is pool[-1]
    assert found.ids == tuple(f"c{at}" for at in range(len(pool)))


def test_parts_of_a_message_are_lines():
    """Several parts with words are one text, a part a line."""
    message = anthropic_message(TextBlock(type="text", text="one"), TextBlock(type="text", text="two"))
    assert as_candidates([message], None)[0].text == "one\ntwo"


@pytest.mark.parametrize(
    "one",
    [
        {"content": b"bytes"},
        {"message": "no message"},
        TimeoutError("no answer came"),
        {"text": b"bytes"},
        SimpleNamespace(text=lambda: "a method"),
        object(),
        b"bytes",
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_is_no_answer_is_named_by_its_position(one):
    """What has no field in which an answer stands is refused, never taken for an answer."""
    with pytest.raises(UsageError, match="candidate 1 has no text") as caught:
        bw.select("p", ["a", one], judge=lambda *_: 1)
    assert "text=function" in caught.value.hint


def test_the_ids_of_messages_are_no_names():
    """Messages of one conversation may carry the same id; candidates are then named by their position."""
    assert [one.id for one in as_candidates([anthropic_text("a"), anthropic_text("b")], None)] == ["c0", "c1"]
    messages = [{"id": "msg", "content": "a"}, {"id": "msg", "content": "b"}]
    assert [one.id for one in as_candidates(messages, None)] == ["c0", "c1"]


@pytest.mark.parametrize(("given", "name"), [(4, "4"), (4.0, "4"), ("x", "x"), (None, "c0")])
def test_the_ids_of_mappings_are_names(given, name):
    """A mapping with a text may have an id, text or number."""
    assert as_candidates([{"id": given, "text": "a"}], None)[0].id == name


@pytest.mark.parametrize("given", [" ", [], True], ids=repr)
def test_an_id_that_is_none_is_refused(given):
    """An id that names nothing is a usage error."""
    with pytest.raises(UsageError, match="candidate 0 has an id"):
        as_candidates([{"id": given, "text": "a"}], None)


def test_a_function_of_the_caller_fails_in_its_own_words():
    """What `text=` raises comes through; what it returns must be text."""
    with pytest.raises(KeyError):
        bw.select("p", [{"a": "x"}, {"b": "y"}], judge=lambda *_: 1, text=lambda one: one["a"])
    with pytest.raises(UsageError, match="candidate 0 has no text"):
        bw.select("p", ["a", "b"], judge=lambda *_: 1, text=len)


@pytest.mark.parametrize(
    "pool", [iter(["a"]), {"a", "b"}, "ab", {"text": "a"}, 3, None], ids=lambda one: type(one).__name__
)
def test_candidates_stand_in_an_order(pool):
    """A pool is a sequence: neither a stream nor a set, a text or a mapping."""
    with pytest.raises(UsageError, match="sequence"):
        as_candidates(pool, None)


EMPTY = [
    None,
    {"id": "x", "text": None},
    {"role": "assistant", "content": None},
    {"role": "assistant", "content": []},
    {"role": "assistant"},
    openai_message(None),
    anthropic_message(),
    anthropic_message(ThinkingBlock(type="thinking", thinking="hm", signature="s")),
    SimpleNamespace(page_content=None),
]


@pytest.mark.parametrize("one", EMPTY, ids=lambda one: type(one).__name__)
def test_an_answer_without_text_cannot_win(one):
    """It is unscored with its reason, whatever the judge makes of an empty text; the others compete."""
    found = bw.select("p", ["aaa", one, "a"], judge=lambda _, text: -len(text))
    assert (found.best, found.scores) == ("a", (-3.0, None, -1.0))
    assert found.unscored == {found.ids[1]: "no text"}
    assert found.verdicts[1] == bw.Unscored("no text")


@pytest.mark.parametrize("pool", [[None], [None, {"content": None}]], ids=["alone", "all"])
def test_answers_without_text_are_no_pick(pool):
    """Where no candidate has a text nothing is picked, of one as of many."""
    found = bw.select("p", pool, judge=lambda *_: 1, on_failure="owe")
    assert (found.best_id, found.index, found.decided_by, found.ranking) == (None, None, "nothing scored", ())
    assert set(found.unscored.values()) == {"no text"}


def test_an_empty_text_is_still_for_the_judge():
    """A text of no characters is an answer: a judge that asks no model may score it."""
    assert bw.select("p", ["aa", ""], judge=lambda _, text: -len(text)).scores == (-2.0, 0.0)


def test_one_text_beside_one_without_is_the_only_candidate():
    """Nothing is asked where one candidate alone has a text."""
    found = bw.select("p", [None, "a"], judge=lambda *_: 1 / 0)
    assert (found.best, found.decided_by, found.verdicts) == ("a", "only candidate", (bw.Unscored("no text"), None))


def shorter(_, text):
    """Score a text by how short it is."""
    return -len(text)


def ranked_of_ranked_candidates(judge, candidates, top_k=None, **settings):
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
    found, places = ranked_of_ranked_candidates(shorter, pool)
    assert places == [(1, -1.0, 1, ""), (3, -2.0, 2, ""), (0, -3.0, 3, ""), (2, None, None, "no text")]
    assert [one.candidate for one in found] == [pool[at] for at in (1, 3, 0, 2)]
    assert found[0].id == "x"
    assert found.selection.verdicts[0] == bw.Score(-3.0)
    assert found.selection.evaluations == 3


@pytest.mark.parametrize("deadline", [None, 60.0], ids=["here", "in a loop"])
def test_a_single_candidate_is_judged(deadline):
    """It has its score, though nothing is to be chosen; to pick it still needs no judge."""
    _, places = ranked_of_ranked_candidates(shorter, ["aa"], deadline=deadline)
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
    assert ranked_of_ranked_candidates(shorter, ["aaa", "a", "aa"], 2)[1] == [(1, -1.0, 1, ""), (2, -2.0, 2, "")]
    assert len(ranked_of_ranked_candidates(shorter, ["a"], 5)[0]) == 1
    assert ranked_of_ranked_candidates(shorter, ["aaa", None], 1)[1] == [(0, -3.0, 1, "")]


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
    found, places = ranked_of_ranked_candidates(shorter, pool, strategy=bw.RoundRobin())
    assert {place[1:] for place in places} == {(None, None, "no other answer to compare with")}
    assert found.selection.evaluations == 0
    assert ranked_of_ranked_candidates(shorter, ["aa", "a", "aaa"], strategy=bw.RoundRobin())[1][0] == (1, 1.0, 1, "")


def test_the_stronger_judge_ranks_all():
    """A router whose contenders are some has the stronger judge see all: one judge ranks them."""

    class Sends:
        strong = bw.Quantized(lambda _, text: len(text) / 10, bins=11)
        second = None

        def consider(self, _, key=""):
            del key
            return Route(strong=True, signal=0.1, reason="close", contenders=(0, 1))

    _, places = ranked_of_ranked_candidates(shorter, ["a", "aa", "aaa"], router=Sends())
    assert [(place[0], place[1]) for place in places] == [(2, 0.3), (1, 0.2), (0, 0.1)]
    assert ranked_of_ranked_candidates(shorter, ["aa"], router=Sends())[1] == [(0, -2.0, 1, "")]


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
    found, _ = ranked_of_ranked_candidates(shorter, ["aa", "a"])
    for made in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):  # noqa: S301 - our own bytes
        assert made == found
        assert made.selection.scores == found.selection.scores


SCORES = st.none() | st.sampled_from([0.0, 0.3, 0.1 + 0.2, 0.5, -1.0]) | st.floats(-1e6, 1e6)


@st.composite
def fields(draw):
    """Draw scores, what decides between equal ones, and an order."""
    count = draw(st.integers(1, 6))
    scores = draw(st.lists(SCORES, min_size=count, max_size=count))
    second = draw(st.none() | st.lists(SCORES, min_size=count, max_size=count))
    return scores, draw(st.permutations(range(count))), second


@given(fields())
def test_a_plain_loop_ranks_the_same(field):
    """Taking the best that is left, one after the other, gives the same ranking, ties and level ones."""
    scores, order, second = field
    found = ranked(scores, order, second)
    own, others = pool_decimals(scores), pool_decimals(second or ())

    def ahead(a, b):
        if rounded(scores[a], own) != rounded(scores[b], own):
            return rounded(scores[a], own) > rounded(scores[b], own)
        if second is not None and second[a] != second[b]:
            if second[a] is None or second[b] is None:
                return second[b] is None
            if rounded(second[a], others) != rounded(second[b], others):
                return rounded(second[a], others) > rounded(second[b], others)
        return list(order).index(a) < list(order).index(b)

    left, expected = [at for at, one in enumerate(scores) if one is not None], []
    while left:
        best = next(one for one in left if all(one == other or ahead(one, other) for other in left))
        expected.append(best)
        left.remove(best)
    assert list(found.order) == expected
    tied = [at for at in sorted(expected) if rounded(scores[at], own) == rounded(scores[expected[0]], own)]
    assert list(found.tied) == (tied if len(tied) > 1 else [])
    assert set(found.level) <= set(found.tied)
    if second is None:
        assert found.level == found.tied
    if found.level:
        assert found.order[0] in found.level


def test_without_a_score_there_is_no_rank():
    """No scores, no ranking."""
    assert ranked([None, None], (0, 1)) == ((), (), ())
    assert ranked([], ()) == ((), (), ())


def test_the_order_depends_on_names_alone():
    """However the candidates are in the list, each has the same place; other seeds and salts give other orders."""
    names = ["a", "b", "c", "d"]
    for seed in range(5):
        orders = {tuple(some[at] for at in seeded_order(some, seed=seed, salt="s")) for some in permutations(names)}
        assert len(orders) == 1
    assert len({seeded_order(names, seed=seed, salt="s") for seed in range(200)}) == 24
    assert len({seeded_order(names, seed=0, salt=str(salt)) for salt in range(200)}) == 24


def test_every_order_is_equally_likely():
    """Over seeds all six orders of three names are equally common."""
    seen = Counter(seeded_order(["x", "y", "z"], seed=seed, salt="p") for seed in range(3000))
    assert len(seen) == 6
    assert stats.chisquare(list(seen.values())).pvalue > 1e-4


def test_seed_and_salt_are_not_mixed_up():
    """Seed 1 of salt "2" is not seed 12 of an empty one; a lone surrogate is a salt as any."""
    names = [str(at) for at in range(30)]
    assert seeded_order(names, seed=1, salt="2") != seeded_order(names, seed=12, salt="")
    assert sorted(seeded_order(["\ud800", "a"], seed=0, salt="\ud800")) == [0, 1]


def test_the_global_generator_is_left_alone():
    """Breaking ties draws nothing from the generator that a caller may have seeded."""
    random.seed(1)
    before = random.getstate()
    seeded_order(["a", "b", "c"], seed=3, salt="s")
    assert random.getstate() == before
