from __future__ import annotations

import asyncio
import json
import math
from dataclasses import dataclass, field, replace
from functools import partial

import pytest

import bonwise as bw
from bonwise.calls.bill import Bill
from bonwise.calls.engine import Engine
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import CallError, JudgeError
from bonwise.judges.calling import as_judge
from bonwise.judges.registry import judge_from_spec
from bonwise.routing.control import Route
from bonwise.selection.choosing import choose
from bonwise.selection.entrants import distinct_texts
from bonwise.selection.judge_runner import ThreadJudgeRunner
from bonwise.selection.pools import Job
from bonwise.selection.result import RoutedRecord
from bonwise.selection.selector import Selector
from bonwise.selection.settings import settings_of
from bonwise.selection.strategies.matches import Knockout, RoundRobin, TieBreak
from bonwise.selection.strategies.scores import Adaptive, Resample
from bonwise.table.pools import Candidate
from bonwise.table.verdicts import Score, Unscored
from bonwise.testing import FakeTransport
from bonwise.testing.scripted_judge import ScriptedJudge
from selection.services import ADDRESS, JUDGE, POOL, asking, by_worth, worth

STRONG = bw.Pointwise("openai/strong", base_url=ADDRESS)
PAIRS = bw.Pairwise("openai/m", base_url=ADDRESS)


def chosen(script, pool, judge=JUDGE, prompt="p", **settings):
    """Select once from a script."""
    with asking(script, judge, **settings) as selector:
        return selector.select(prompt, pool)


@dataclass
class Fixed:
    """A router that always says the same, and keeps what it was shown."""

    route: Route
    strong: object = STRONG
    second: object = None
    shown: list = field(default_factory=list)

    def consider(self, first_pass, key=""):
        """Answer what it was made with."""
        self.shown.append((first_pass, key))
        return self.route


TO_STRONG = Route(strong=True, signal=0.4, reason="above the threshold")
STAYS = Route(strong=False, signal=0.1, reason="below the threshold")


def against(request):
    """Let the strong model turn the order round."""
    said = int(worth(request))
    return str(100 - said if request.model == "strong" else said)


def test_one_text_is_asked_about_once():
    """Candidates of one text cost one call, share its score, and the seed decides between them."""
    script = by_worth()
    found = chosen(script, ["worth 80", "worth 10", "worth 80", "worth 10"])
    assert script.counts.requests == found.calls == 2
    assert found.scores == (0.8, 0.1, 0.8, 0.1)
    assert (set(found.tied), set(found.level), found.decided_by) == ({"c0", "c2"}, {"c0", "c2"}, "tie-break")
    assert found.draws == (1, 1, 1, 1)
    winners = {chosen(by_worth(), ["worth 80", "worth 10", "worth 80"], seed=seed).best_id for seed in range(12)}
    assert winners == {"c0", "c2"}


@pytest.mark.parametrize(
    ("pool", "decided_by", "winners"),
    [
        (["worth 1"], "only candidate", {"c0"}),
        ([""], "only candidate", {"c0"}),
        (["same"] * 4, "same text", {"c0", "c1", "c2", "c3"}),
        (["", "worth 1", " \n"], "only candidate", {"c1"}),
        (["", "same", "same"], "same text", {"c1", "c2"}),
        (["", " "], "nothing scored", {None}),
    ],
    ids=["one", "one blank", "alike", "one with words", "alike and blank", "all blank"],
)
def test_nothing_is_asked_where_nothing_can_be_learnt(pool, decided_by, winners):
    """One candidate, one text, or one candidate with words: no call, and no candidate without words wins."""
    script = by_worth()
    with asking(script, on_failure="owe") as selector:
        found = [selector.select(f"p{at}", pool) for at in range(40)]
    assert script.counts.requests == 0
    assert {one.decided_by for one in found} == {decided_by}
    assert {one.best_id for one in found} == winners
    assert {one.stopped for one in found} == {"no question was needed"}


def test_texts_without_words_do_not_meet_the_model():
    """A blank candidate is unscored, is not asked about, and cannot win however low the others score."""
    script = by_worth()
    found = chosen(script, ["  ", "worth 0", "worth 0 too"])
    assert script.counts.requests == 2
    assert found.unscored == {"c0": "empty answer"}
    assert found.best_id in {"c1", "c2"}


@pytest.mark.parametrize("judge", [JUDGE, PAIRS], ids=lambda judge: judge.kind)
def test_a_shuffled_pool_has_the_same_pick(judge):
    """The order in which candidates are passed decides nothing, not even a tie."""
    pool = [{"id": name, "text": f"worth {value}"} for name, value in zip("abcd", (70, 30, 70, 70), strict=True)]
    picks = set()
    for turn in range(4):
        with asking(by_worth() if judge is JUDGE else all_ties(), judge, seed=3) as selector:
            picks.add(selector.select("p", pool[turn:] + pool[:turn]).best_id)
    assert len(picks) == 1


def all_ties():
    """Return a service to which all candidates are alike."""
    script = by_worth()
    script.answer = lambda _request: "TIE"
    return script


def test_a_judge_that_compares_compares_without_being_told():
    """A pairwise judge plays all pairs; comparisons name ids, count what was earned and say the order effect."""
    script = by_worth()
    script.answer = lambda _request: "A"
    found = chosen(script, POOL, PAIRS)
    assert found.calls == 6
    assert [(one.a, one.b) for one in found.comparisons] == [("c0", "c1"), ("c0", "c2"), ("c1", "c2")]
    assert {(one.value, one.order_effect) for one in found.comparisons} == {(0.5, 1.0)}
    assert found.order_effect == 1.0
    assert found.decided_by == "tie-break"
    assert found.draws == ()


def test_a_strategy_is_asked_round_by_round():
    """Redraws are further calls at the strategy's temperature; draws, calls and what was sent are told."""
    script = by_worth()
    found = chosen(script, POOL, strategy=Resample(3))
    assert found.draws == (3, 3, 3)
    assert found.calls == script.counts.requests == 9
    assert {one.get("temperature") for one in found.settings["parameters"]} >= {1.0}
    assert found.settings["strategy"] == Resample(3).name


def test_a_comparison_decides_between_equal_scores():
    """Score first, and the comparison only inside the tied top set: it is named as what decided."""
    script = by_worth()
    script.answer = lambda request: (
        "60" if request.model == "m" else ("A" if "worth 61" in first_shown(request) else "B")
    )
    pairs = bw.Pairwise("openai/pairs", base_url=ADDRESS)
    found = chosen(script, ["worth 60", "worth 61"], strategy=TieBreak(pairs))
    assert (found.best_id, found.decided_by, found.level) == ("c1", "comparison", ())
    assert set(found.tied) == {"c0", "c1"}
    assert len(found.comparisons) == 1


def first_shown(request):
    """Return what stands before the second answer of a comparison."""
    places = sorted((request.user.find(text), text) for text in ("worth 60", "worth 61"))
    return places[0][1]


def test_the_router_sees_one_draw_a_candidate():
    """Whatever the strategy, a router is asked after one score per candidate and before any redraw."""
    script, router = by_worth(), Fixed(STAYS)
    paid = []
    router.consider = lambda *_, **__: paid.append(script.counts.requests) or STAYS
    for strategy in (None, Resample(3), Adaptive(margin=0.9)):
        script.counts.requests = 0
        found = chosen(script, POOL, router=router, strategy=strategy, prompt=f"p {strategy}")
        assert found.routed == RoutedRecord(strong=None, signal=0.1, reason="below the threshold", first_pick=None)
    assert paid == [3, 3, 3]
    assert found.calls > 3


def test_the_strong_judge_decides_among_all():
    """A routed pool is picked by the strong judge's scores, and says what the first pass would have kept."""
    script, router = by_worth(), Fixed(TO_STRONG)
    script.answer = against
    found = chosen(script, POOL, router=router, strategy=Resample(3))
    assert (found.best_id, found.scores) == ("c0", (0.8, 0.1, 0.5))
    assert found.routed == RoutedRecord(strong=STRONG.name, signal=0.4, reason="above the threshold", first_pick="c1")
    assert found.calls == 6
    assert found.bill.input_tokens > 0
    assert found.settings["strong"] == STRONG.name
    (first_pass, key) = router.shown[0]
    assert (first_pass.scores, key) == ([0.2, 0.9, 0.5], "p")


def test_the_strong_judge_decides_among_contenders():
    """Only contenders are shown to the strong judge; the others are unscored with that reason and cannot win."""
    script = by_worth()
    script.answer = against
    found = chosen(script, POOL, router=Fixed(replace(TO_STRONG, contenders=(1, 2))))
    assert (found.best_id, found.scores, found.calls) == ("c2", (None, 0.1, 0.5), 5)
    assert set(found.unscored) == {"c0"}
    assert "contender" in found.unscored["c0"]


def test_a_strong_judge_that_compares():
    """Comparisons of a stronger judge among contenders name the candidates of the whole pool."""
    script = by_worth()
    script.answer = lambda request: worth(request) if request.model == "m" else "TIE"
    strong = bw.Pairwise("openai/strong", base_url=ADDRESS)
    found = chosen(script, POOL, router=Fixed(replace(TO_STRONG, contenders=(1, 2)), strong=strong))
    assert [(one.a, one.b) for one in found.comparisons] == [("c1", "c2")]
    assert found.calls == 5
    assert found.decided_by == "tie-break"


def test_twins_go_to_the_strong_judge_once():
    """Candidates of one text are one contender."""
    script = by_worth()
    script.answer = against
    found = chosen(script, [*POOL, "worth 20"], router=Fixed(TO_STRONG))
    assert found.calls == 6
    assert found.scores == (0.8, 0.1, 0.5, 0.8)
    assert set(found.tied) == {"c0", "c3"}


def test_a_second_judge_reaches_the_router():
    """Its verdicts stand beside the first ones, it is paid, and it moves no pick."""
    script = by_worth()
    script.answer = lambda request: "10" if request.model == "other" else worth(request)
    router = Fixed(STAYS, second=bw.Pointwise("openai/other", base_url=ADDRESS))
    found = chosen(script, POOL, router=router)
    ((others,),) = [first.others for first, _ in router.shown]
    assert [one.value for one in others] == [0.1, 0.1, 0.1]
    assert (found.calls, found.best_id) == (6, "c1")
    assert found.draws == (1, 1, 1)


@pytest.mark.parametrize(
    ("strong", "why"),
    [(ScriptedJudge(lambda *_: None, name="mute"), "scored nothing"), (lambda *_: 1 / 0, "was not heard")],
    ids=["nothing scored", "raises"],
)
def test_a_strong_judge_that_fails_leaves_the_first_pass(strong, why):
    """Where the strong judge brings nothing, the first pass stands and both are said."""
    router = Fixed(TO_STRONG, strong=as_judge(strong))
    found = chosen(by_worth(), POOL, router=router, on_failure="first")
    assert (found.best_id, found.scores) == ("c1", (0.2, 0.9, 0.5))
    assert found.routed.strong is None
    assert why in found.routed.reason
    assert found.decided_by == ("score" if why == "scored nothing" else "partial")
    assert ("ZeroDivisionError" in found.failure) == (why == "was not heard")


def test_a_strong_judge_that_fails_raises_where_that_is_asked_for():
    """With `raise` the failure of the strong judge is an error, its cause chained."""
    router = Fixed(TO_STRONG, strong=as_judge(lambda *_: 1 / 0))
    with pytest.raises(JudgeError, match="ZeroDivisionError") as caught:
        chosen(by_worth(), POOL, router=router)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_no_router_is_asked_where_nothing_was_judged():
    """One candidate, or a judge that failed: the router is not asked."""
    router = Fixed(TO_STRONG)
    chosen(by_worth(), ["one"], router=router)
    chosen(by_worth(models={"none"}), POOL, router=router, on_failure="first")
    assert router.shown == []


@pytest.mark.parametrize("signal", [math.nan, math.inf, None])
def test_no_signal_of_a_router_breaks_the_document(signal):
    """A signal that is no finite number is null in the document."""
    found = chosen(by_worth(), POOL, router=Fixed(replace(STAYS, signal=signal)))
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["routed"]["signal"] is None


def test_a_bill_adds_up_over_all_judges(tmp_path):
    """Weak, second and strong judge are on one bill, and stored answers count as such with their tokens."""
    script = by_worth()
    router = Fixed(TO_STRONG, second=bw.Pointwise("openai/other", base_url=ADDRESS))

    async def main(ledger):
        async with asking(script, router=router, ledger=ledger) as selector:
            return [await selector.aselect("p", POOL) for _ in range(2)]

    first, again = asyncio.run(main(tmp_path))
    assert (first.bill.calls, first.bill.from_ledger) == (9, 0)
    assert (again.bill.calls, again.bill.from_ledger) == (0, 9)
    assert again.bill.reused_tokens == first.bill.input_tokens + first.bill.output_tokens > 0
    assert again == first
    assert again.to_dict()["answers"] == first.to_dict()["answers"] == 9


def test_routers_and_local_judges_need_no_event_loop():
    """With local judges alone a routed selection is made in the caller's own thread."""
    router = Fixed(TO_STRONG, strong=ScriptedJudge(lambda _, text: -len(text), name="short"))
    found = bw.select("p", ["a", "bbb"], judge=lambda _, text: len(text), router=router)
    assert (found.best, found.routed.strong, found.routed.first_pick) == ("a", "short", "c1")
    assert found.bill == Bill()


def test_a_model_behind_a_router_alone_is_asked():
    """A local judge with a model as the stronger one is selected by both."""
    script = by_worth()
    script.answer = against
    found = chosen(script, POOL, lambda _, text: len(text), router=Fixed(TO_STRONG))
    assert (found.calls, found.best_id) == (3, "c0")


def test_the_turn_of_a_pool_is_waited_for():
    """Pools pass a router in the order in which they are let through, not in that of their answers."""
    router = Fixed(STAYS)
    plan = settings_of(JUDGE, router=router)

    async def main():
        async with Engine(connection=Connection(transport=FakeTransport(by_worth()))) as engine:
            gates = [asyncio.Event() for _ in range(3)]
            gates[2].set()

            def turn(at):
                async def waited():
                    await gates[at].wait()
                    if at:
                        gates[at - 1].set()

                return waited

            jobs = [Job.of("p", POOL, None, f"p{at}").by(engine, plan, turn(at)) for at in range(3)]
            await asyncio.gather(*jobs)

    asyncio.run(main())
    assert [key for _, key in router.shown] == ["p2", "p1", "p0"]


def test_replay_gives_the_same_selection(tmp_path):
    """From the ledger alone a selection comes out equal, whatever the strategy; without it everything is owed."""
    pairs = bw.Pairwise("openai/pairs", base_url=ADDRESS)
    for at, strategy in enumerate((None, Adaptive(margin=0.5), Resample(2), TieBreak(pairs))):
        script = by_worth()
        script.answer = lambda request: "TIE" if request.model == "pairs" else str(round(int(worth(request)), -1))
        pool = ["worth 61", "worth 58", "worth 33", ""]
        first = chosen(script, pool, strategy=strategy, ledger=tmp_path / str(at))
        spent = script.counts.requests
        again = chosen(script, pool, strategy=strategy, ledger=tmp_path / str(at), offline=True)
        assert again == first
        assert script.counts.requests == spent
        assert (again.calls, again.bill.from_ledger) == (0, first.calls)
        lost = chosen(script, pool, strategy=strategy, ledger=tmp_path / "none", offline=True, on_failure="owe")
        assert (lost.best, lost.decided_by, lost.calls) == (None, "owed", 0)
        assert "not in the ledger" in lost.failure
        assert script.counts.requests == spent


def test_missing_answers_of_a_replay_are_an_error(tmp_path):
    """Offline without a ledger, `raise` says what is missing."""
    with pytest.raises(CallError, match="not in the ledger"):
        chosen(by_worth(), POOL, ledger=tmp_path, offline=True)


@pytest.mark.parametrize("verdict", [Score(0.5), Unscored("no")], ids=str)
def test_hostile_words_make_strict_json(verdict):
    """Lone surrogates, control characters and quotes in texts, ids and reasons round trip through JSON."""
    hostile = 'a\ud800\x00\x1b[2J"\\\u2028\U0001f600'
    pool = [{"id": f"{hostile}{at}", "text": f"{hostile}{at}"} for at in range(3)]
    judge = ScriptedJudge(lambda _, text: verdict if text.endswith("0") else hostile, name=hostile)
    found = Selector(judge, on_failure="first").select(hostile, pool, prompt_id=hostile)
    document = found.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert set(document["unscored"]) <= set(document["ids"])


@pytest.mark.parametrize("strategy", [RoundRobin(), RoundRobin("matched"), Knockout()], ids=lambda one: one.name)
def test_a_blank_takes_no_match_from_a_text_with_words(strategy):
    """Where a strategy compares, candidates without words do not play, and who is left alone is picked."""
    judge = judge_from_spec("local:length")
    for pool in (["", "real"], ["real", " ", "\u200b"], ["", "real", "a real longer one", "  "]):
        found = bw.select("p", pool, judge=judge, strategy=strategy)
        blank = {f"c{at}" for at, text in enumerate(pool) if not text.strip(" \u200b")}
        assert (found.best.startswith(("real", "a real")), set(found.unscored)) == (True, blank)
        assert found.decided_by == ("only candidate" if len(pool) - len(blank) == 1 else "score")


@pytest.mark.parametrize("strategy", [RoundRobin(), Knockout()], ids=lambda one: one.name)
def test_a_refusal_is_no_lost_match(strategy):
    """Who could not be judged has words: the match is unscored, and neither of the two has won or lost."""
    judge = ScriptedJudge({"mute": Unscored("the judge refused"), "real": 0.5, "other": 0.4})
    found = bw.select("p", ["mute", "real"], judge=judge, strategy=strategy, on_failure="owe")
    assert (found.best, found.decided_by, found.scores) == (None, "nothing scored", (None, None))
    assert (found.failure, found.lost) == ("1 of 1 comparison lost: the judge refused (1)", 1)
    found = bw.select("p", ["mute", "real", "other"], judge=judge, strategy=RoundRobin())
    # Had it not refused, mute might have won both of its matches.
    assert (found.best, found.decided_by, found.scores) == ("real", "partial", (None, 0.75, 0.25))


def test_what_chance_hangs_on_may_be_told_apart_from_the_id():
    """With the prompt as the salt a tie is decided alike wherever the pool is in a stream."""

    async def tied(salt, name):
        plan = settings_of(lambda *_: 1)
        pool = [Candidate(one, f"text {one}") for one in "abcd"]
        return (await choose(plan, ThreadJudgeRunner(), "p", pool, prompt_id=name, salt=salt)).best_id

    picks = [[asyncio.run(tied(salt, str(at))) for at in range(20)] for salt in ("p", None)]
    assert (len(set(picks[0])), len(set(picks[1]))) == (1, 4)
    pool = [{"id": one, "text": f"text {one}"} for one in "abcd"]
    assert picks[0][0] == bw.select("p", pool, judge=lambda *_: 1).best_id


class Waiting:
    """An object that can be called and awaited."""

    async def __call__(self, _prompt, text):
        """Score a text by its length, after a while."""
        await asyncio.sleep(0.05)
        return len(text)


async def waiting(prompt, text):
    """Score a text by its length, after a while."""
    return await Waiting()(prompt, text)


@pytest.mark.parametrize(
    ("judge", "asynchronous"),
    [(waiting, True), (Waiting(), True), (partial(waiting), True), (lambda *_: 1, False), (math.hypot, False)],
    ids=["function", "object", "partial", "plain", "built-in"],
)
def test_an_asynchronous_function_is_run_in_a_loop(judge, asynchronous):
    """What is to be awaited needs an event loop, in which it judges all candidates at once; else none is needed."""
    plan = settings_of(judge)
    assert (plan.needs_a_loop, plan.asks_models) == (asynchronous, False)
    if asynchronous:
        assert bw.select("p", [f"{'x' * at}y" for at in range(20)], judge=judge).index == 19


def test_some_entrants_keep_the_lot_of_their_pool():
    """Among contenders the same number is drawn as among all."""
    pool = [Candidate(one, f"text {one}") for one in "abcd"]
    its = distinct_texts(pool, as_judge(lambda *_: 1), seed=3, salt="p")
    assert its.among([0, 2]).lot == its.entrants.lot != 0.5


def test_candidates_of_one_text_share_their_chance():
    """The probabilities of being the best add up to 1 over all candidates; twins have half of their text's each."""
    noise = iter([0.4, 0.5, 0.6, 0.5, 0.3, 0.6] * 20)
    pick = bw.select("p", ["a", "b", "a"], judge=lambda _prompt, _text: next(noise), strategy=bw.Resample(draws=9))
    assert sum(pick.p_best) == pytest.approx(1.0)
    assert pick.p_best[0] == pick.p_best[2]
    assert 0 < pick.p_best[0] < 0.5
