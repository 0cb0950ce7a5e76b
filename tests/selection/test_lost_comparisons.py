"""Comparisons of which an order could not be read: no value, a half for both, and counted wherever picks are."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import JudgeError
from bonwise.judges.comparing import Pairwise, borda, lost_may_decide, words_of_loss
from bonwise.selection.strategies.matches import Knockout, RoundRobin, TieBreak
from bonwise.selection.strategies.scores import Greedy
from bonwise.selection.totals import Totals
from bonwise.table.verdicts import Preference, Score, Unscored
from bonwise.testing import Script
from bonwise.testing.faults import drawn_share
from cli.commands import pool_file, typed
from cli.picked import picks
from cli.served import served
from selection.playing import REFUSED, by_kind, entrants, played, values
from selection.services import ADDRESS, asking

POOLS = [(f"Question {at}", [f"answer {at}{letter}" for letter in "abcd"]) for at in range(60)]
FIRST = '{"choice": "A", "confidence": 3}'
PAIRWISE = Pairwise("openai/m", base_url=ADDRESS)
STRATEGIES = {
    "round robin": (PAIRWISE, RoundRobin()),
    "some pairs": (PAIRWISE, RoundRobin("matched")),
    "knockout": (PAIRWISE, Knockout()),
    "scores of a judge that compares": (PAIRWISE, Greedy()),
    "tie break": (lambda _prompt, _text: 0.8, TieBreak(PAIRWISE)),
    "tie break by knockout": (lambda _prompt, _text: 0.8, TieBreak(PAIRWISE, knockout=True)),
}


def always_first(share):
    """Say that the first one shown is better; so many replies, drawn by their question, say nothing."""
    return Script(lambda request: "Hard to say." if drawn_share(request.user) < share else FIRST)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("share", [0, 0.05, 0.1, 0.2, 0.4])
def test_a_judge_that_always_says_a_decides_nothing(share, name):
    """Whatever part of its replies is lost, no pick is by score or comparison, and every loss is counted."""
    judge, strategy = STRATEGIES[name]
    with asking(always_first(share), judge, strategy=strategy, on_failure="owe") as selector:
        found = list(selector.select_many(POOLS))
    how, lost = Counter(pick.decided_by for pick in found), sum(pick.lost for pick in found)
    assert set(how) <= {"tie-break", "partial", "nothing scored"}
    assert (how["tie-break"] == 60) == (lost == 0) == (share == 0)
    for pick in found:
        assert (pick.decided_by == "tie-break") == (pick.lost == 0)
        assert pick.lost == sum(one.value is None for one in pick.comparisons)
        if pick.best is None:
            assert pick.lost == len(pick.comparisons)
            assert pick.scores == (None,) * 4
            assert pick.failure.startswith(f"{pick.lost} of {pick.lost} comparisons lost: no choice in the reply (")


values_of_pairs = st.sampled_from([0.0, 0.5, 1.0, None, None])


@given(st.integers(2, 4).flatmap(lambda n: st.tuples(st.just(n), st.lists(values_of_pairs, min_size=6, max_size=6))))
def test_a_lost_pair_matters_where_some_verdict_on_it_would(drawn):
    """By every verdict that the lost pairs could have had: somebody else would be level with the best, or ahead."""
    count, earned = drawn
    ends = list(itertools.combinations(range(count), 2))
    known = [(end, value) for end, value in zip(ends, earned, strict=False)]
    pairs = [Preference(*end, *((REFUSED, 1.0) if value is None else (value, value))) for end, value in known]
    scores = [one.value if isinstance(one, Score) else -1.0 for one in borda(count, pairs)]
    best = scores.index(max(scores))
    lost = [at for at, (_, value) in enumerate(known) if value is None]
    turns = False
    for verdicts in itertools.product([0.0, 0.5, 1.0], repeat=len(lost)):
        whole = [value for _, value in known]
        for at, value in zip(lost, verdicts, strict=True):
            whole[at] = value
        would = [
            one.value for one in borda(count, [Preference(*end, v, v) for end, v in zip(ends, whole, strict=False)])
        ]
        turns |= any(
            would[one] >= would[best] - 1e-9 and any({one, best} & set(ends[at]) for at in lost)
            for one in range(count)
            if one != best
        )
    assert lost_may_decide(count, pairs) == (turns and bool(lost))


def test_what_is_lost_and_cannot_turn_the_pick_leaves_it_to_the_score():
    """The best won all its comparisons; the one that was lost is between the others."""
    reply = Script(lambda request: "?" if "pale" in request.user and "dull" in request.user else better(request))
    with asking(reply, PAIRWISE) as selector:
        pick = selector.select("p", ["bright", "pale", "dull"])
    assert (pick.best, pick.decided_by, pick.scores, pick.lost) == ("bright", "score", (1.0, 0.25, 0.25), 1)
    assert pick.to_dict()["lost"] == 1
    assert pick.failure == ""
    assert "1 of 3 comparisons lost: each counts a half for both sides." in " ".join(str(pick).split())
    with asking(Script(better), PAIRWISE) as selector:
        whole = selector.select("p", ["bright", "pale", "dull"])
    assert (whole.lost, "lost" in whole.to_dict(), "lost" in str(whole)) == (0, False, False)


def better(request):
    """Prefer what is bright, wherever it is shown, and else the first one."""
    first = min(("bright", "pale", "dull"), key=lambda one: request.user.find(one) % 10**6)
    return FIRST if "bright" not in request.user or first == "bright" else FIRST.replace("A", "B")


def test_one_readable_order_of_two_is_lost_and_of_one_is_not():
    """With both orders asked nothing is known of the pair; where one is asked, it is the comparison."""
    half = Script(lambda request: FIRST if request.user.find("alpha") < request.user.find("beta") else "?")
    with asking(half, PAIRWISE, on_failure="owe") as selector:
        pick = selector.select("p", ["alpha", "beta"])
    assert (pick.best, pick.scores, pick.comparisons[0].value, pick.lost) == (None, (None, None), None, 1)
    once = Pairwise("openai/m", base_url=ADDRESS, orders=1)
    with asking(Script(lambda _request: FIRST), once) as selector:
        pick = selector.select("p", ["alpha", "beta"])
    assert (pick.decided_by, sorted(pick.scores), pick.lost) == ("score", [0.0, 1.0], 0)
    with asking(Script(lambda _request: "?"), once, on_failure="owe") as selector:
        assert selector.select("p", ["alpha", "beta"]).lost == 1


@pytest.mark.parametrize("strategy", [RoundRobin(), Knockout(), Greedy()], ids=lambda one: one.name)
def test_a_pool_without_a_comparison_fails_as_on_failure_says(strategy):
    """Its halves are no scores: an error, the first, a random one, or nothing, with the number that was lost."""
    words = r"of \d comparisons lost: no choice in the reply \(\d+\)"

    def picked(on_failure):
        script = Script(lambda _request: "?")
        with asking(script, PAIRWISE, strategy=strategy, on_failure=on_failure) as selector:
            return selector.select("p", ["a", "b", "c"])

    with pytest.raises(JudgeError, match=words):
        picked("raise")
    for on_failure, how, index in (
        ("first", "first", 0),
        ("random", "random", None),
        ("owe", "nothing scored", None),
    ):
        pick = picked(on_failure)
        assert (pick.decided_by, pick.scores, pick.ranking) == (how, (None, None, None), ())
        assert "comparisons lost: no choice in the reply" in pick.failure
        assert (pick.best is None) == (on_failure == "owe")
        assert index is None or pick.index == index
        assert pick.lost == len(pick.comparisons) > 0
        assert set(pick.unscored) == {"c0", "c1", "c2"}


def test_to_rank_is_no_pick_and_returns_each_reason():
    """Where every comparison is lost nobody has a rank, and each candidate says why."""
    with asking(Script(lambda _request: "?"), PAIRWISE) as selector:
        found = selector.rank("p", ["a", "b", "c"])
    assert [one.rank for one in found] == [None] * 3
    assert {one.reason for one in found} == {"2 of 2 comparisons lost: no choice in the reply (4)"}


def test_a_share_of_wins_is_over_the_pairs_that_were_asked():
    """What is not there yet counts as what was lost does; a candidate of which nothing is known has no score."""
    contest = RoundRobin().contest(entrants(4))
    match = contest.next()[0]
    contest.hear(match, Preference(0, 1, 1.0, 1.0))
    assert values(contest.standing().verdicts) == [pytest.approx(2 / 3), pytest.approx(1 / 3), None, None]
    assert all(one.owed for one in contest.standing().verdicts[2:])


def test_a_tie_break_by_what_was_lost_is_nobodys_loss():
    """Three share the top, two of them draw, and the comparisons of the third are lost: all three are level."""
    answer = by_kind([[0.9], [0.9], [0.9]], lambda _a, b: None if b == 2 else 0.5)
    found, standing, _ = played(TieBreak(PAIRWISE), entrants(3), answer)
    assert (standing.second, found.level, standing.lost_may_decide) == ((0.5, 0.5, 0.5), (0, 1, 2), True)
    won = by_kind([[0.9], [0.9], [0.1]], lambda _a, _b: 1.0)
    assert played(TieBreak(PAIRWISE), entrants(3), won)[1].lost_may_decide is False


def test_what_a_strategy_of_ones_own_lost_may_decide():
    """Where the strategy does not say whether a lost match matters, it is taken to."""

    class Duel:
        name, compares = "duel", True

        def contest(self, field):
            contest = RoundRobin().contest(field)
            standing = contest.standing

            def silent():
                found = standing()
                return type(found)(found.verdicts, stopped=found.stopped)

            contest.standing = silent
            return contest

        def most_calls(self, judge, candidates):
            return RoundRobin().most_calls(judge, candidates)

    reply = Script(lambda request: "?" if "pale" in request.user and "dull" in request.user else better(request))
    with asking(reply, PAIRWISE, strategy=Duel()) as selector:
        assert selector.select("p", ["bright", "pale", "dull"]).decided_by == "partial"


def test_totals_count_what_was_lost():
    """Over all pools: lost and asked; nothing is said where nothing was lost."""
    totals = Totals()
    with asking(always_first(0.2), PAIRWISE, on_failure="owe") as selector:
        found = list(selector.select_many(POOLS[:20]))
    for pick in found:
        totals.note(pick)
    order = totals.record().order
    lost = sum(pick.lost for pick in found)
    assert (order.lost, order.asked, order.pairs) == (lost, 120, 120 - lost)
    assert "lost" not in Totals().record().to_dict()["order"]


def test_the_command_counts_them_and_is_done(tmp_path, monkeypatch, capsys):
    """On stderr, in the lines that lost something, on the page; no later run would ask again: the exit code is 0."""
    monkeypatch.chdir(tmp_path)
    pools = pool_file("pools.jsonl", {f"p{at}": texts for at, (_, texts) in enumerate(POOLS[:12])})
    with served(monkeypatch, tmp_path, answer=always_first(0.1).answer):
        done = typed(capsys, "select", pools, "--judge", "pairwise:openai/m", "--html", "page.html")
        judged = typed(capsys, "judge", pools, "--judge", "pairwise:openai/m", "--out", "scores.csv")
    lines = picks(done)
    lost = sum(line.get("lost", 0) for line in lines)
    assert (done.code, 0 < lost < 72) == (0, True)
    assert all(line.get("lost") != 0 for line in lines)
    assert f"{lost} of 72 comparisons lost: an order could not be read" in done.err
    assert "lost comparisons could change them" in done.err
    assert f"pairwise:openai/m: {lost} of 72 comparisons lost" in judged.err
    assert (
        f"{lost} of 72 comparisons lost: each counts a half for both sides." in (tmp_path / "page.html").read_text()
    )


def test_reasons_count_replies():
    """The reasons count replies, the number in front comparisons."""
    pairs = [Preference(0, 1, REFUSED, Unscored("empty reply")), Preference(0, 2, REFUSED, 1.0)]
    assert words_of_loss(pairs) == "2 of 2 comparisons lost: refused (2), empty reply (1)"
