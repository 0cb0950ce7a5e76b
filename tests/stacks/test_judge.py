from __future__ import annotations

import asyncio
import copy
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.calls.ask import Answer, Answers
from bonwise.calls.engine import Engine
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import CallError, JudgeError, LedgerError, UsageError
from bonwise.judges.judging import judge_with
from bonwise.judges.protocol import Conclusion, is_asking, is_listwise
from bonwise.table.verdicts import Score, Unscored
from bonwise.testing import FakeTransport, Script, ScriptedJudge
from judges.replies import answered, said
from stacks.stack_tables import stack_of

URL = "http://scripted/v1"
ONE, TWO = (bw.Pointwise(f"openai/{name}", base_url=URL) for name in ("one", "two"))
PAIR = stack_of("one", "two")
TEXTS = ["a", "bb", "ccc"]


def length(_prompt, text):
    """Score by length: a function that can be pickled."""
    return len(text) / 4


async def later(_prompt, text):
    """Score by length, in time."""
    await asyncio.sleep(0)
    return len(text) / 4


def failing(_prompt, _text):
    """Fail."""
    raise ValueError("a \x1b[31mbug")


def judged(judge, texts=TEXTS, script=None, **settings):
    """Judge by an engine of its own; return the judgment and the script."""
    script = script or Script(lambda request: str(10 * len(request.user) % 100))

    async def main():
        connection = Connection(transport=FakeTransport(script))
        async with Engine(connection=connection, **settings) as engine:
            return await judge_with(engine, judge, "Why?", list(texts))

    return asyncio.run(main()), script


def asking(**judges):
    """Return a stack of two judges that ask a model, or of others."""
    return bw.Stack(PAIR, judges={"one": ONE, "two": TWO} | judges)


# What is asked, and what it costs


def test_it_asks_what_its_judges_ask():
    """Their questions in their order, and the calls of all."""
    judge = asking()
    assert (is_asking(judge), is_listwise(judge), judge.calls(3)) == (True, True, 6)
    own = [ask for part in (ONE, TWO) for ask in part.asks("Why?", TEXTS)]
    assert [ask.user for ask in judge.asks("Why?", TEXTS)] == [ask.user for ask in own]
    assert [str(ask.model) for ask in judge.asks("Why?", TEXTS)] == ["openai/one"] * 3 + ["openai/two"] * 3


def test_answers_are_dealt_back_to_their_judges():
    """By hand: a scores .8 and .2 by its judges, b .4 and .6; in units of .25 the halves are .8 and -.8 apart."""
    found = answered(asking(), "p", ["a", "b"], [["80"], ["40"], ["20"], ["60"]]).verdicts
    assert [one.value for one in found] == pytest.approx([0.8 - 0.8, 0.8 - 0.8])
    found = answered(asking(), "p", ["a", "b"], [["80"], ["40"], ["50"], ["50"]]).verdicts
    assert [one.value for one in found] == pytest.approx([0.8, -0.8])
    assert sum(one.p_best for one in found) == pytest.approx(1.0)
    assert found[0].expected_regret < found[1].expected_regret
    assert (found[0].raw, found[0].filled) == ("one: 0.8\ntwo: 0.5", ())


def test_an_engine_and_stored_answers_give_the_same_verdicts():
    """Whoever answers."""
    judge = asking()
    live, _ = judged(judge)
    stored = judge.conclude(
        "Why?", TEXTS, [said(ask, str(10 * len(ask.user) % 100)) for ask in judge.asks("Why?", TEXTS)]
    )
    assert live.verdicts == stored.verdicts


def test_costs_are_summed():
    """The bill of a stack is that of its judges."""
    found, script = judged(asking())
    alone = [judged(one)[0].bill for one in (ONE, TWO)]
    assert script.counts.paid.total() == 6 == found.bill.calls
    assert found.bill.input_tokens == sum(one.input_tokens for one in alone)
    assert found.bill.output_tokens == sum(one.output_tokens for one in alone)
    assert len(found.effective) == 1


def test_answers_that_a_run_holds_cost_nothing(tmp_path):
    """The keys of its judges' questions are their own, whichever of the two came first."""
    script = Script(lambda _: "50")
    for one in (ONE, TWO):
        judged(one, script=script, ledger=tmp_path / "a")
    found, _ = judged(asking(), script=script, ledger=tmp_path / "a")
    assert (script.counts.paid.total(), found.bill.calls, found.bill.from_ledger) == (6, 0, 6)
    judged(asking(), script=script, ledger=tmp_path / "b")
    for one in (ONE, TWO):
        assert judged(one, script=script, ledger=tmp_path / "b")[0].bill.calls == 0
    assert script.counts.paid.total() == 12


def test_the_same_judge_twice_is_asked_once():
    """Two names of one judge: equal questions under way share an answer."""
    found, script = judged(asking(two=ONE))
    assert script.counts.paid.total() == 3
    assert found.bill.calls == 3


# Judges that fail, or say nothing


@pytest.mark.parametrize(
    "bad", [failing, ScriptedJudge([0.5]), ScriptedJudge({})], ids=["raises", "short", "unprepared"]
)
@pytest.mark.parametrize("other", [ONE, length, later], ids=["asks", "function", "asynchronous"])
def test_a_judge_that_fails_is_filled(other, bad):
    """By what the other lets expect; the reason is said, without control characters, and its judge is named."""
    judge = bw.Stack(PAIR, judges={"one": other, "two": bad})
    found, _ = judged(judge)
    lone, _ = judged(bw.Stack(PAIR, judges={"one": other, "two": None}))
    assert [one.value for one in found.verdicts] == [one.value for one in lone.verdicts]
    assert {one.filled for one in found.verdicts} == {("two",)}
    assert "two: no score: " in found.verdicts[0].raw
    assert "\x1b" not in found.verdicts[0].raw
    assert lone.verdicts[0].raw.endswith("two: left out")


def test_a_judge_that_cancels_itself_is_filled():
    """The others are not cancelled with it."""

    async def gone(_prompt, _text):
        raise asyncio.CancelledError

    for other in (ONE, length):
        found, _ = judged(bw.Stack(PAIR, judges={"one": other, "two": gone}))
        assert {one.filled for one in found.verdicts} == {("two",)}
        assert "cancelled itself" in found.verdicts[0].raw


def test_a_judge_that_cannot_ask_is_filled():
    """Its questions fail, those of the others are asked; also where answers are concluded from apart."""

    class Mute(ScriptedJudge):
        def asks(self, _prompt, _candidates):
            raise KeyError("nothing to ask")

        def calls(self, candidates):
            return candidates

        def conclude(self, _prompt, candidates, _answers):
            return Conclusion((Score(1),) * len(candidates))

    judge = asking(one=Mute({}))
    found, script = judged(judge)
    assert script.counts.paid.total() == 3
    assert {one.filled for one in found.verdicts} == {("one",)}
    assert {one.filled for one in answered(judge, "p", ["a", "b"], [["80"], ["40"]]).verdicts} == {("one",)}


def test_a_gap_of_one_candidate_is_filled_for_it_alone():
    """By hand: of judges that correlate by .5 a gap is half of what the other says."""
    judge = bw.Stack(
        PAIR,
        judges={
            "one": ScriptedJudge({"a": 0.75, "b": 0.5, "c": 0.25}),
            "two": ScriptedJudge({"a": 0.6, "b": 0.6, "c": "refused"}),
        },
    )
    a, b, c = judge.judge("p", ["a", "b", "c"])
    assert (a.value, b.value) == (pytest.approx(1.0), 0.0)
    assert c.value == pytest.approx(-1 - 0.5, abs=0.01)
    assert (a.filled, c.filled, c.raw) == ((), ("two",), "one: 0.25\ntwo: no score: refused")


def test_a_candidate_that_nobody_scores_is_unscored():
    """With the reasons and how many judges gave each; the others are weighed without it."""
    first, second = (
        ScriptedJudge({"a": 0.9, "b": 0.1, "c": "refused"}),
        ScriptedJudge({"a": 0.9, "b": 0.1, "c": "cut off"}),
    )
    a, b, c = bw.Stack(PAIR, judges={"one": first, "two": second}).judge("p", ["a", "b", "c"])
    assert c == Unscored("no judge scored it: refused (1), cut off (1)")
    assert a.p_best + b.p_best == pytest.approx(1.0)
    same = ScriptedJudge({"a": 0.9, "b": 0.1, "c": "refused"})
    assert bw.Stack(PAIR, judges={"one": same, "two": same}).judge("p", ["a", "b", "c"])[2] == Unscored("refused")


def test_no_verdict_while_an_answer_is_pending():
    """What the other judges said is no verdict: it would become another. Other candidates keep theirs."""
    lost = Unscored("owed: max_calls=1 is reached", owed=True)
    judge = asking()
    asks = judge.asks("p", ["a", "b"])
    answers = [said(ask, "50") for ask in asks]
    answers[2] = Answers((Answer(lost),))
    a, b = judge.conclude("p", ["a", "b"], answers).verdicts
    assert a == lost
    assert isinstance(b, Score)
    found, _ = judged(asking(), max_calls=5)
    assert sum(isinstance(one, Unscored) and one.owed for one in found.verdicts) == 1


def test_what_a_function_could_not_ask_is_pending():
    """As outside a stack."""

    def cut(_prompt, _text):
        raise CallError("no credit left")

    for judge in (bw.Stack(PAIR, judges={"one": length, "two": cut}), asking(two=cut)):
        found, _ = judged(judge)
        assert found.verdicts == (Unscored("owed: no credit left", owed=True),) * 3


def test_what_would_fail_for_every_judge_fails_for_the_stack():
    """A ledger that cannot be used, and settings that mean nothing, are not a judge's failure."""

    def broken(_prompt, _text):
        raise LedgerError("the ledger is gone")

    for judge in (asking(two=broken), bw.Stack(PAIR, judges={"one": later, "two": broken})):
        with pytest.raises(LedgerError, match="the ledger is gone"):
            judged(judge)


def test_scores_that_are_too_large_are_not_weighed():
    """Without a warning, and with the reason."""
    large = ScriptedJudge(lambda _prompt, text: 1.7e308 if text == "a" else -1.7e308)
    found = bw.Stack(PAIR, judges={"one": large, "two": length}).judge("p", ["a", "bb"])
    assert {one.reason for one in found} == {"the scores of the judges are too large to be weighed"}


# Candidates


def test_ties_stay_ties():
    """Candidates of which every judge says the same have the same score to the last bit."""
    judge = bw.Stack(
        stack_of("one", "two", weights=[0.1, 0.7]), judges={"one": length, "two": lambda _p, t: len(t) / 3}
    )
    found = judge.judge("p", ["aa", "bb", "c", "ddddd", "cc"])
    assert found[0].value == found[1].value == found[4].value
    assert {one.value for one in judge.judge("p", ["aa", "bb", "cc"])} == {0.0}


def test_candidates_of_one_text_are_one():
    """Their chance is that of the text, and the others' is what it is without the copy."""
    judge = bw.Stack(PAIR, judges={"one": length, "two": length})
    plain, copied = judge.judge("p", ["a", "bbb"]), judge.judge("p", ["a", "bbb", "a"])
    assert copied == (*plain, plain[0])
    pick = bw.select("p", ["a", "bbb", "a"], judge=judge)
    assert sum(pick.p_best) == pytest.approx(1.0)
    assert pick.p_best[0] == pick.p_best[2] == pytest.approx(plain[0].p_best / 2)


def test_a_blank_candidate_is_an_empty_answer_where_a_model_is_asked():
    """And the others are weighed as if it were not there; where no model is asked, its judges have the say."""
    found, script = judged(asking(two=length), [" ", "bb", "c"])
    assert found.verdicts[0] == Unscored("empty answer")
    assert found.verdicts[1:] == judged(asking(two=length), ["bb", "c"])[0].verdicts
    assert script.counts.paid.total() == 2
    blank = bw.Stack(PAIR, judges={"one": length, "two": length}).judge("p", [" ", "bb"])[0]
    assert isinstance(blank, Score)


@pytest.mark.parametrize("texts", [[], ["a"], ["", ""]])
def test_pools_of_few_candidates(texts):
    """One candidate is level with itself, and none has no verdict."""
    found = bw.Stack(PAIR, judges={"one": length, "two": length}).judge("p", texts)
    assert [one.value for one in found] == [0.0] * len(texts)


@given(texts=st.lists(st.text(max_size=5), min_size=1, max_size=5), name=st.text(min_size=1, max_size=8))
def test_any_texts_and_names(texts, name):
    """Whatever stands in them, each candidate has a verdict, and the chances of different texts sum to 1."""
    judge = bw.Stack(
        stack_of(name, f"not {name}", kinds=[("", "length")]), judges={name: length, f"not {name}": failing}
    )
    found = judge.judge("p", texts)
    assert all(isinstance(one, Score) and one.filled == (f"not {name}",) for one in found)
    assert sum({text: one.p_best for text, one in zip(texts, found, strict=True)}.values()) == pytest.approx(1.0)


def test_further_features():
    """By hand: the logarithm of the length, the deviation of draws and the width of an interval, in units of .25."""
    stack = stack_of(
        "one", kinds=[("one", "spread"), ("one", "width"), ("", "length")], weights=[1.0, 10.0, 100.0, 1000.0]
    )
    scores = {
        "aa": Score(0.5, low=0.4, high=0.6, draws=(0.4, None, 0.6)),
        "bbb": Score(0.5, low=0.5, high=0.5, draws=(0.5, 0.5)),
    }
    a, b = bw.Stack(stack, judges={"one": ScriptedJudge(scores)}).judge("p", ["aa", "bbb"])
    expected = 10 * 0.02**0.5 / 0.25 + 100 * 0.2 / 0.25 + 1000 * np.log(2 / 3) / 0.25
    assert a.value - b.value == pytest.approx(expected)
    alone = bw.Stack(stack, judges={"one": ScriptedJudge({"aa": Score(0.5, draws=(0.5,)), "bbb": Score(0.5)})})
    assert all(isinstance(one, Score) for one in alone.judge("p", ["aa", "bbb"]))


# Judges of every shape


class Threaded(ScriptedJudge):
    """A judge that asks another one in its own way, in a thread of its own."""

    def judge(self, prompt, candidates):
        """Note the thread, and ask."""
        self.thread = threading.current_thread()
        return [Score(one.value / 2) for one in TWO.judge(prompt, candidates)]


def test_local_judges_beside_asking_ones_run_in_their_threads():
    """They may block and may ask other judges: their calls are counted and billed with those of the stack."""
    local = Threaded({})
    found, script = judged(asking(two=local))
    assert found.bill.calls == script.counts.paid.total() == 6
    assert local.thread is not threading.main_thread()
    assert not any(one.filled for one in found.verdicts)


def test_local_judges_of_a_stack_that_stored_answers_conclude():
    """They are called; one that would have to be awaited has no score, and leaves no coroutine behind."""
    judge = asking(two=length)
    texts = [["80"], ["40"]]
    assert not any(one.filled for one in answered(judge, "p", ["a", "b"], texts).verdicts)
    found = answered(asking(two=later), "p", ["a", "b"], texts).verdicts
    assert "asynchronous" in found[0].raw
    assert found[0].filled == ("two",)


@pytest.mark.parametrize(
    "other", [length, later, ScriptedJudge(lambda _p, text: len(text) / 4)], ids=["function", "async", "judge"]
)
def test_a_stack_of_local_judges_asks_nothing(other):
    """From synchronous code, in an event loop and by an engine."""
    judge = bw.Stack(PAIR, judges={"one": length, "two": other})
    assert (is_asking(judge), judge.calls(4)) == (False, 0)
    found, script = judged(judge)
    assert script.counts.requests == 0
    assert found.verdicts == judged(bw.Stack(PAIR, judges={"one": length, "two": length}))[0].verdicts
    assert bw.select("p", TEXTS, judge=judge).best == "ccc"

    async def main():
        return (await bw.aselect("p", TEXTS, judge=judge)).best

    assert asyncio.run(main()) == "ccc"


def test_from_synchronous_code_it_asks_and_waits(monkeypatch):
    """As any judge."""
    script = Script(lambda request: str(10 * len(request.user) % 100))
    with bw.Selector(asking(two=length), connection=Connection(transport=FakeTransport(script))) as selector:
        pick = selector.select("Why?", TEXTS)
    assert (pick.calls, pick.decided_by) == (3, "score")


def test_several_threads_use_one_stack():
    """At once, with the same verdicts."""
    judge = bw.Stack(PAIR, judges={"one": length, "two": length})
    expected, found = bw.Stack(PAIR, judges={"one": length, "two": length}).judge("p", TEXTS), []
    threads = [threading.Thread(target=lambda: found.append(judge.judge("p", TEXTS))) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [expected] * 8


def test_a_stack_within_other_judges():
    """Redrawn as a whole: each draw of a candidate is a utility."""
    judge = bw.Resampled(asking(), draws=2)
    assert judge.calls(2) == 8
    found = answered(judge, "p", ["a", "b"], [["80", "60"], ["40", "40"], ["50", "50"], ["50", "50"]]).verdicts
    assert found[0].draws == pytest.approx((0.8, 0.4))
    assert is_listwise(judge)


# How it is made


def test_names_that_are_texts_make_the_judges():
    """With the model, the address and the seed that are given beside them."""
    stack = stack_of("pointwise", "pairwise,orders=1:openai/m", "local:length")
    judge = bw.Stack(stack, model="anthropic/x", base_url=URL, seed=7)
    pointwise, pairwise, local = judge.parts
    assert (pointwise.name, pointwise.base_url) == ("pointwise:anthropic/x", URL)
    assert (pairwise.seed, pairwise.asked.base_url) == (7, URL)
    assert local.name == "local:length"
    assert bw.Stack(stack_of("local:length"), model="anthropic/x").model is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("GPT, mine", "the judge 'GPT, mine' of the stack cannot be made"),
        ("pointwise", "names no model"),
        ("stack:stack.json", "a stack is made of judges, not of stacks"),
        ("resampled,draws=2,of=stack:stack.json", "a stack is made of judges, not of stacks"),
        ("pointwise,base_url=http://elsewhere/v1:openai/m", "it states an address (base_url)"),
        ("quantized,bins=3,of=pointwise,base_url=http://elsewhere/v1:openai/m", "it states an address (base_url)"),
        ("<script>\x1b[2J", "cannot be made"),
        ("", "cannot be made"),
        ("../../etc/passwd", "cannot be made"),
        ("quantized,bins=3,of=" * 2000 + "local:length", "it holds more than 8 judges"),
    ],
)
def test_names_that_make_no_judge_are_refused(name, said):
    """In one sentence, with a remedy, and nothing that controls a terminal; a file cannot send keys elsewhere."""
    with pytest.raises(UsageError) as caught:
        bw.Stack(stack_of(name, "local:length"))
    assert said in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert "judges=" in caught.value.hint


@pytest.mark.parametrize(
    ("judges", "said"),
    [
        ({"three": length}, "'three' is not a judge of the stack"),
        ({"one": None, "two": None}, "every judge of the stack is left out"),
    ],
)
def test_judges_that_do_not_fit_are_refused(judges, said):
    """Before anything is asked."""
    with pytest.raises(UsageError, match=said):
        bw.Stack(PAIR, judges=judges)
    with pytest.raises(JudgeError, match="int is not a judge"):
        asking(two=3)


@pytest.mark.parametrize("source", ["", 3, None, {"model": {}}])
def test_what_holds_no_stack_is_refused(source):
    """With what to give."""
    with pytest.raises(UsageError) as caught:
        bw.Stack(source)
    assert "bonwise stack fit" in caught.value.hint


def test_its_version_changes_with_what_it_says():
    """Other weights, another judge; not with another address."""
    judge = asking()
    assert judge.version == asking().version
    assert judge.version != asking(two=bw.Interval("openai/two")).version
    other = bw.Stack(stack_of("one", "two", weights=[1.0, 2.0]), judges={"one": ONE, "two": TWO})
    assert judge.version != other.version


def test_copies_judge_alike():
    """Copied and pickled, also after use."""
    judge = bw.Stack(PAIR, judges={"one": bw.judge_from_spec("local:length"), "two": length})
    expected = judge.judge("p", TEXTS)
    for one in (copy.copy(judge), copy.deepcopy(judge), pickle.loads(pickle.dumps(judge))):  # noqa: S301 - made here
        assert one.judge("p", TEXTS) == expected
        assert (one.name, one.version) == (judge.name, judge.version)
    assert isinstance(hash(judge), int)
