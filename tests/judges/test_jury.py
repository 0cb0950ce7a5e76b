"""Several judges as one without labels: the rules, who is missing, and how members stand in a table."""

from __future__ import annotations

import statistics
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import UsageError
from bonwise.judges.jury import Jury
from bonwise.judges.registry import judge_from_spec
from bonwise.table.verdicts import Score, Unscored, rounded
from bonwise.testing import ScriptedJudge
from cli.commands import pool_file, rows_of, strict, typed
from cli.served import served

LETTERS = ["a", "b", "c", "d"]


def member(name, scores):
    """Return a judge that gives the letters these scores, None being no score."""
    return ScriptedJudge(dict(zip(LETTERS, scores, strict=True)), name=name)


FIRST, SECOND, THIRD = (
    member("first", [0.9, 0.1, 0.5, 0.5]),
    member("second", [30, 20, 50, 10]),
    member("third", [2, None, 2, 1]),
)
BY_HAND = {
    # Shares of the others below: first 1, 0, .5, .5; second 2/3, 1/3, 1, 0; third .75, -, .75, 0.
    "mean": [(1 + 2 / 3 + 0.75) / 3, (0 + 1 / 3) / 2, (0.5 + 1 + 0.75) / 3, 0.5 / 3],
    "median": [0.75, 1 / 6, 0.75, 0.0],
    "borda": [(1 + 2 / 3 + 0.75) / 3, (0 + 1 / 3) / 2, (0.5 + 1 + 0.75) / 3, 0.5 / 3],
    "majority": [(1 + 0 + 0.5) / 3, 0.0, (0 + 1 + 0.5) / 3, 0.0],
}


@pytest.mark.parametrize("rule", BY_HAND)
def test_rules_join_ranks(rule):
    """By hand, over judges of three scales of which one has no score of a candidate."""
    verdicts = Jury([FIRST, SECOND, THIRD], rule=rule).judge("p", LETTERS)
    assert [verdict.value for verdict in verdicts] == pytest.approx(BY_HAND[rule], abs=1e-12)
    assert [verdict.filled for verdict in verdicts] == [(), ("third",), (), ()]
    assert verdicts[0].raw == "first: 0.9\nsecond: 30\nthird: 2"
    assert verdicts[1].raw == "first: 0.1\nsecond: 20\nthird: no score: no verdict was prepared"
    width = None if rule == "majority" else pytest.approx(1 / 3)
    assert verdicts[0].width == width


def test_scores_on_one_scale_are_joined_themselves():
    """Mean and median of scores; Borda's count and votes stay those of ranks."""
    judges = [member("x", [0.1, 0.2, 0.3, 0.4]), member("y", [0.4, 0.2, 0.9, 0.0]), member("z", [0.1, 0.2, 0.9, 0.2])]
    values = {
        rule: [verdict.value for verdict in Jury(judges, rule=rule, same_scale=True).judge("p", LETTERS)]
        for rule in BY_HAND
    }
    assert values["mean"] == pytest.approx([0.2, 0.2, 0.7, 0.2])
    assert values["median"] == pytest.approx([0.1, 0.2, 0.9, 0.2])
    assert values["borda"] == [verdict.value for verdict in Jury(judges).judge("p", LETTERS)]
    assert values["majority"] == pytest.approx([0, 0, 2 / 3, 1 / 3])


@given(
    scores=st.lists(
        st.lists(st.one_of(st.none(), st.sampled_from([0, 1, 1.5, 2, 7])), min_size=4, max_size=4),
        min_size=2,
        max_size=5,
    ),
    rule=st.sampled_from(list(BY_HAND)),
    quorum=st.integers(1, 2),
)
@settings(max_examples=120, deadline=None)
def test_rules_are_those_of_plain_loops(scores, rule, quorum):
    """Count wins and votes one by one."""
    judges = [member(f"j{at}", own) for at, own in enumerate(scores)]
    verdicts = Jury(judges, rule=rule, quorum=quorum).judge("p", LETTERS)
    given_by = []
    for own in scores:
        known = [score for score in own if score is not None]
        shares = []
        for score in own:
            if score is None or (rule != "majority" and len(known) < 2):
                shares.append(None)
            elif rule == "majority":
                shares.append(1 / known.count(score) if score == max(known) else 0.0)
            else:
                wins = (
                    sum(1.0 for other in known if other < score) + sum(0.5 for other in known if other == score) - 0.5
                )
                shares.append(wins / (len(known) - 1))
        given_by.append(shares)
    voters = sum(any(share is not None for share in shares) for shares in given_by)
    for at, verdict in enumerate(verdicts):
        values = [shares[at] for shares in given_by if shares[at] is not None]
        if len(values) < quorum:
            assert isinstance(verdict, Unscored)
            assert f"{len(values)} of {len(scores)} members scored it, and the quorum is {quorum}" in verdict.reason
        else:
            means = {"median": statistics.median(values), "majority": sum(values) / voters}
            assert verdict.value == pytest.approx(means.get(rule, statistics.mean(values)), abs=1e-12)


def test_a_tie_of_the_rule_is_a_tie():
    """Two members that rank two texts in opposite orders leave them level, by every rule, and the seed decides."""
    judges = [ScriptedJudge({"a": 1, "b": 2}, name="x"), ScriptedJudge({"a": 2, "b": 1}, name="y")]
    for rule in BY_HAND:
        with bw.Selector(Jury(judges, rule=rule)) as selector:
            pick = selector.select("p", ["a", "b"])
        assert (pick.tied, pick.decided_by) == (("c0", "c1"), "tie-break")


def test_scores_that_differ_by_rounding_are_level():
    """Among scores of one size what lies beyond nine digits is no difference; the ranks share it."""
    judges = [member("x", [0.1 + 0.2, 0.3, 0.1, 0.0]), member("y", [0, 0, 0, 1])]
    first, second, *_ = Jury(judges).judge("p", LETTERS)
    assert rounded(first.value) == rounded(second.value)


def test_fewer_than_the_quorum_leave_a_candidate_unscored():
    """By default more than half must have scored it; the reasons of the others are told."""
    judges = [member("x", [1, None, 2, 3]), member("y", [1, None, None, 3]), member("z", [1, 2, None, 3])]
    one, two, three, four = Jury(judges).judge("p", LETTERS)
    assert isinstance(one, Score)
    assert isinstance(four, Score)
    reason = "1 of 3 members scored it, and the quorum is 2: no verdict was prepared (2)"
    assert (two.reason, three.reason) == (reason, reason)
    assert isinstance(Jury(judges, quorum=1).judge("p", LETTERS)[2], Score)


def test_a_spare_judges_where_a_member_scores_nothing():
    """It is asked only there, one for each such member, in order; it stands in place of the member."""

    def breaks(prompt, _text):
        if prompt == "hard":
            raise RuntimeError("no")
        return 1

    good, spare, other = member("good", [4, 3, 2, 1]), member("spare", [1, 2, 3, 4]), member("other", [9, 9, 9, 9])
    jury = Jury([good, breaks, spare, other], spares=2)
    easy, hard = jury.judge("easy", LETTERS), jury.judge("hard", LETTERS)
    assert (len(good.calls), len(spare.calls), len(other.calls)) == (2, 1, 0)
    assert easy[0].raw == "good: 4\nbreaks: 1"
    assert hard[0].raw == "good: 4\nspare: 1"
    assert [verdict.value for verdict in hard] == [0.5] * 4


@pytest.mark.parametrize(
    "broken",
    [
        {"judges": ["local:length"]},
        {"judges": ["local:length", "local:length"]},
        {"judges": ["local:length", "local:format"], "rule": "mode"},
        {"judges": ["local:length", "local:format"], "quorum": 3},
        {"judges": ["local:length", "local:format"], "spares": 1},
        {"judges": "local:length+nothing:x"},
    ],
    ids=str,
)
def test_a_jury_that_means_nothing_is_refused(broken):
    """Too few members, one twice, no such rule, a quorum beyond all, no such judge."""
    judges = broken.pop("judges")
    with pytest.raises(UsageError):
        Jury(judges, **broken)


def test_a_name_makes_the_same_jury_again():
    """Options and members stand in it; what stands within a member is told from what stands between members."""
    members = "resampled,draws=2,of=pointwise:openai/a%2Bb+pairwise,orders=1:anthropic/c+local:length"
    spec = f"jury,rule=median,quorum=1:{members}"
    jury = judge_from_spec(spec)
    assert jury.name == spec
    assert [judge.name for judge in judge_from_spec(jury.name).judges] == [
        "resampled,draws=2,of=pointwise:openai/a+b",
        "pairwise,orders=1:anthropic/c",
        "local:length",
    ]
    assert jury.calls(4) == 2 * 4 + 6
    assert judge_from_spec("jury:pointwise+interval", model="openai/m").calls(2) == 4
    with pytest.raises(UsageError, match="names no model"):
        judge_from_spec("jury:pointwise+interval")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a few pools, one with a blank answer."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", {"p1": ["one", "two", "three"], "p2": ["a longer answer", "", "b"]})
    return tmp_path


SPEC = "jury:pointwise:openai/m+interval:anthropic/c+local:length"


def test_members_stand_below_their_jury_and_are_paid_once(capsys, folder, monkeypatch):
    """A table of scores has the jury and each member; a member that is named beside the jury costs nothing more."""
    with served(monkeypatch, folder) as script:
        done = typed(capsys, "judge", "pools.jsonl", "--judge", SPEC, "--out", "scores.csv", "--tokens")
        paid = script.counts.paid.total()
        more = ("--judge", "pointwise:openai/m", "--out", "again.csv")
        again = typed(capsys, "judge", "pools.jsonl", "--judge", SPEC, *more)
    assert (done.code, again.code, paid) == (0, 0, 10)
    assert script.counts.paid.total() == 10
    rows = rows_of("scores.csv")
    names = Counter(row["judge"] for row in rows)
    assert names == {SPEC: 6, "pointwise:openai/m": 6, "interval:anthropic/c": 6, "local:length": 6}
    assert Counter(row["judge"] for row in rows_of("again.csv")) == names
    assert {row["tokens"] for row in rows if row["judge"] == SPEC} == {""}
    assert all(row["tokens"] for row in rows if row["judge"] == "pointwise:openai/m")
    blank = [
        row["unscored"] for row in rows if (row["prompt_id"], row["candidate"], row["judge"]) == ("p2", "c1", SPEC)
    ]
    assert blank == ["empty answer"]
    assert "6 rows to scores.csv, 1 of them unscored, and 18 rows of the members of a jury" in " ".join(
        done.err.split()
    )


def test_a_jury_whose_answers_are_owed_goes_on_later(capsys, folder, monkeypatch):
    """While a member is not heard no verdict of the pool stands; the same command asks for what is missing alone."""
    command = ("judge", "pools.jsonl", "--judge", SPEC, "--out", "scores.csv")
    with served(monkeypatch, folder) as script:
        first = typed(capsys, *command, "--max-calls", "5")
        rows = rows_of("scores.csv")
        second = typed(capsys, *command)
    assert (first.code, second.code, script.counts.paid.total()) == (4, 0, 10)
    pending = {row["prompt_id"] for row in rows if row["judge"] != SPEC and row["unscored"].startswith("owed")}
    assert pending
    assert not any(row["judge_score"] for row in rows if row["judge"] == SPEC and row["prompt_id"] in pending)
    assert all(row["judge_score"] for row in rows_of("scores.csv") if row["candidate"] != "c1")


def test_a_jury_selects_and_its_disagreement_routes(capsys, folder, monkeypatch):
    """The width between members is the interval width, by which prompts go to a stronger judge."""
    route = ("--strong", "pairwise:anthropic/strong", "--route", "interval_width", "--share", "0.5")
    with served(monkeypatch, folder):
        done = typed(capsys, "select", "pools.jsonl", "--judge", SPEC, *route)
    assert done.code == 0
    picks = [strict(line) for line in done.out.splitlines()]
    assert all(0 <= pick["routed"]["signal"] <= 1 for pick in picks)
    assert {pick["routed"]["strong"] for pick in picks} == {None, "pairwise:anthropic/strong"}
