"""Which pairs need votes next: e-values by hand and by loops, errors with known truth, allocation, refusals."""

from __future__ import annotations

import math
from statistics import fmean

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from bonwise.errors import UsageError
from bonwise.votes.front import study_preferences
from bonwise.votes.next_votes import _BETS, allocated, log_evidence, standing
from cli.commands import strict, typed

FEW = {"resamples": 50, "permutations": 19, "repetitions": 20}
ANY = float("inf")


def votes(counts):
    """Return a row per vote of ``{(winner, loser): votes}``, each on a prompt that is new to its pair."""
    rows, used = [], {}
    for (winner, loser), count in counts.items():
        key = frozenset((winner, loser))
        for _ in range(count):
            rows.append((winner, loser, used.get(key, 0), "model_a"))
            used[key] = used.get(key, 0) + 1
    return pd.DataFrame(rows, columns=["model_a", "model_b", "question_id", "winner"])


# E-values.


def test_evidence_by_hand():
    """Against "at most 1/2" a bet of b makes 1 + b of a win and 1 - b of a loss; the stakes are equal."""
    won = log_evidence(np.array([1.0]), 0.5)
    assert won == pytest.approx(math.log(fmean(1 + bet for bet in _BETS)))
    assert log_evidence(np.array([1.0, 0.0]), 0.5) == pytest.approx(math.log(fmean(1 - bet**2 for bet in _BETS)))
    assert log_evidence(np.empty(0), 0.5) == pytest.approx(0)
    assert log_evidence(np.full(9, 0.5), 0.5) == pytest.approx(0)
    # Against "at most .4" a win makes 1 + b .6 / .4.
    assert log_evidence(np.array([1.0]), 0.4) == pytest.approx(math.log(fmean(1 + 1.5 * bet for bet in _BETS)))


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=15), st.sampled_from([0.4, 0.5, 0.45]))
def test_evidence_is_that_of_plain_loops(values, than):
    """The mean wealth of gamblers who bet one part each, round after round."""
    wealth = []
    for bet in _BETS:
        have = 1.0
        for value in values:
            have *= 1 + bet * (value - than) / than
        wealth.append(have)
    assert log_evidence(np.array(values), than) == pytest.approx(math.log(fmean(wealth)), abs=1e-9)


@pytest.mark.parametrize("than", [0.4, 0.5])
def test_wealth_exceeds_a_bound_as_seldom_as_it_may(than):
    """At the border of what it tests, looked at after every vote, wealth reaches 20 in at most 5 % of the streams."""
    draw = np.random.default_rng(1)
    values = (draw.random((1000, 200)) < than).astype(float)
    wealth = np.exp(np.log1p(_BETS[:, None, None] / than * (values - than)).cumsum(axis=2)).mean(axis=0)
    assert wealth[:, -1].mean() == pytest.approx(1, abs=0.6)
    assert (wealth.max(axis=1) >= 20).mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)


# What is shown, and what is not settled.


def units(shares, count):
    """Return values of pairs with an exact share for the second model."""
    return {key: (np.arange(count) < round(share * count)).astype(float) for key, share in shares.items()}


def wins(pairs, models):
    """Return the votes of row over column."""
    won = np.zeros((models, models))
    for (a, b), values in pairs.items():
        won[b, a], won[a, b] = values.sum(), len(values) - values.sum()
    return won


def test_a_clear_order_is_settled():
    """0 beats 1 beats 2 by 4 to 1 each: shown, and nothing to ask."""
    pairs = units({(0, 1): 0.2, (0, 2): 0.1, (1, 2): 0.2}, 100)
    found = standing(pairs, wins(pairs, 3), 2, 0.05, 0.1)
    assert (found.order, found.settled, found.expected) == ([0, 1, 2], 2, {})
    assert set(found.states.values()) == {"first"}


def test_level_models_are_settled_as_level():
    """Two models with equal votes on 2,000 prompts lie within .1, and the third is behind both."""
    pairs = units({(0, 1): 0.5, (0, 2): 0.1, (1, 2): 0.1}, 2000)
    found = standing(pairs, wins(pairs, 3), 1, 0.05, 0.1)
    assert found.states == {(0, 1): "level", (0, 2): "first", (1, 2): "first"}
    assert found.settled == 1


def test_what_contradicts_the_order_is_not_settled():
    """Three models that beat each other in a circle have no first place, whatever the votes."""
    pairs = units({(0, 1): 0.2, (1, 2): 0.2, (0, 2): 0.8}, 400)
    found = standing(pairs, wins(pairs, 3), 1, 0.05, 0.1)
    assert found.settled == 0
    assert "open" not in found.states.values()


def test_the_step_up_of_e_values_is_that_of_plain_loops():
    """The most statements k whose least e-value is at least (tests / error) / k."""
    draw = np.random.default_rng(2)
    for _ in range(20):
        shares = {(a, b): draw.random() for a in range(4) for b in range(a + 1, 4)}
        pairs = units(shares, 60)
        found = standing(pairs, wins(pairs, 4), 3, 0.1, 0.1)
        logs = []
        for key, values in pairs.items():
            near = min(log_evidence(values, 0.4), log_evidence(1 - values, 0.4))
            second, first = log_evidence(values, 0.5), log_evidence(1 - values, 0.5)
            logs += [(second, key, "second"), (first, key, "first"), (near, key, "level")]
        logs.sort(reverse=True)
        most = max((k for k in range(1, 19) if logs[k - 1][0] >= math.log(18 / 0.1 / k)), default=0)
        shown = {(key, state) for _, key, state in logs[:most]}
        for key, state in found.states.items():
            assert (state == "open") == (not {name for pair, name in shown if pair == key})
            assert state == "open" or (key, state) in shown


# Allocation.


def test_votes_go_where_they_settle_soonest():
    """The pair that takes 10 has 10, then the one that takes 50; free prompts bound both, and the rest goes last."""
    expected = {(0, 1): 50.0, (0, 2): 9.2, (1, 2): ANY}
    assert allocated(expected, dict.fromkeys(expected, ANY), 40) == {(0, 2): 10, (0, 1): 30, (1, 2): 0}
    assert allocated(expected, {(0, 1): 20.0, (0, 2): 4.0, (1, 2): 5.0}, 40) == {(0, 2): 4, (0, 1): 20, (1, 2): 5}
    assert sum(allocated(expected, dict.fromkeys(expected, ANY), 200).values()) == 200
    assert allocated({}, {}, 10) == {}


def settle(seed, strengths, *, adaptive, batch=120, depth=2, tau=0.05, most=12_000):
    """Collect votes in batches until the places are settled; return the votes and the share of wrong statements."""
    draw, models = np.random.default_rng(seed), len(strengths)
    keys = [(a, b) for a in range(models) for b in range(a + 1, models)]
    truth = {(a, b): float(expit(strengths[b] - strengths[a])) for a, b in keys}
    pairs = {key: (draw.random(10) < truth[key]).astype(float) for key in keys}
    while True:
        now = standing(pairs, wins(pairs, models), depth, 0.05, tau)
        spent = sum(map(len, pairs.values()))
        if now.settled == depth or spent > most:
            break
        share = dict.fromkeys(keys, batch // len(keys))
        asks = allocated(now.expected, dict.fromkeys(now.expected, ANY), batch) if adaptive else share
        for key, count in asks.items():
            pairs[key] = np.concatenate([pairs[key], (draw.random(count) < truth[key]).astype(float)])
    is_true = {
        key: {"second": truth[key] > 0.5, "first": truth[key] < 0.5, "level": abs(truth[key] - 0.5) < tau}
        for key in keys
    }
    stated = [is_true[key][state] for key, state in now.states.items() if state != "open"]
    return spent, 1 - fmean(stated or [True])


SPREAD = np.array([1.2, 0.8, 0.3, 0.0])
LEVEL = np.array([0.6, 0.58, 0.2, -0.4])


@pytest.mark.parametrize(("strengths", "runs", "times"), [(SPREAD, 4, 1.8), (LEVEL, 2, 1.8)], ids=["spread", "level"])
def test_allocated_votes_settle_places_sooner_than_votes_for_all(strengths, runs, times):
    """With known strengths the same places take fewer votes, and hardly a statement is wrong."""
    soon = [settle(seed, strengths, adaptive=True) for seed in range(runs)]
    late = [settle(seed, strengths, adaptive=False) for seed in range(runs)]
    assert times * fmean(votes for votes, _ in soon) < fmean(votes for votes, _ in late)
    assert fmean(wrong for _, wrong in soon) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("strengths", [SPREAD, LEVEL, np.zeros(4)], ids=["spread", "level", "equal"])
def test_wrong_statements_are_as_few_as_is_said(strengths):
    """Of all statements at the time of stopping at most 5 % are wrong on average."""
    wrong = [settle(seed, strengths, adaptive=True)[1] for seed in range(100)]
    assert fmean(wrong) <= 0.05


# Of a file.


def test_the_next_votes_of_a_file(capsys, tmp_path):
    """Open pairs of the first place are asked on prompts that are new to them; --out names each."""
    counts = {("a", "b"): 30, ("b", "a"): 28, ("a", "c"): 60, ("c", "a"): 6, ("b", "c"): 55, ("c", "b"): 8}
    frame = votes(counts)
    found = study_preferences(frame, next=5, **FEW).next_votes
    assert (found.depth, found.settled, found.tests, found.error) == (1, 0, 9, 0.05)
    assert found.models[2] == "c"
    (asked,) = (pair for pair in found.pairs if pair.ask)
    assert (asked.first, asked.second, asked.state, asked.prompts, asked.ask) == ("a", "b", "open", 58, 5)
    assert {*asked.prompts_to_ask}.isdisjoint(str(at) for at in range(58))
    assert {pair.state for pair in found.pairs} == {"open", "first"}
    frame.to_csv(tmp_path / "votes.csv", index=False)
    done = typed(capsys, "preferences", tmp_path / "votes.csv", "--next", 5, "--out", tmp_path / "next.csv")
    assert "Verdict: not settled" in done.out
    assert "The first place is not settled; by all votes it is that of a. The next 5 votes go to 1 pair." in done.out
    rows = pd.read_csv(tmp_path / "next.csv").query("metric == 'ask'")
    assert sorted(rows["prompt"].astype(int).astype(str)) == sorted(asked.prompts_to_ask)
    strict(typed(capsys, "preferences", tmp_path / "votes.csv", "--next", 5, "--json", "-").out)


def test_votes_without_prompts_are_units_of_their_own():
    """Without a column of prompts any number of votes can be asked, and --out has a row per pair."""
    frame = votes({("a", "b"): 30, ("b", "a"): 28}).drop(columns="question_id")
    study = study_preferences(frame, next=500, **FEW)
    (pair,) = study.next_votes.pairs
    assert (pair.ask, pair.prompts, pair.prompts_to_ask) == (500, 58, [])
    assert study.to_frame().query("metric == 'ask'")["estimate"].tolist() == [500]


def test_several_votes_on_a_prompt_are_one_unit():
    """Votes repeated on the same prompts are no new evidence."""
    frame = votes({("a", "b"): 12, ("b", "a"): 8, ("a", "c"): 30, ("c", "a"): 30})
    alone, repeated = (study_preferences(pd.concat([frame] * n), next=9, **FEW).next_votes for n in (1, 5))
    assert [(pair.state, pair.prompts, pair.margin) for pair in alone.pairs] == [
        (pair.state, pair.prompts, pair.margin) for pair in repeated.pairs
    ]
    assert sorted(pair.prompts for pair in alone.pairs) == [20, 60]


def test_settled_places_ask_for_nothing():
    """A clear order says so."""
    study = study_preferences(votes({("a", "b"): 90, ("b", "a"): 5}), next=100, **FEW)
    assert study.next_votes.settled == 1
    assert not any(pair.ask for pair in study.next_votes.pairs)
    assert "Verdict: settled" in study.to_text()


@pytest.mark.parametrize(
    ("frame", "asked", "words"),
    [
        (votes({("a", "b"): 12, ("b", "a"): 9, ("x", "y"): 12}), {}, "no votes connect 'a' and 'x'"),
        (votes({("a", "b"): 12, ("b", "a"): 11}), {}, "no prompts are left"),
        (votes({("a", "b"): 12, ("b", "a"): 9}), {"ties": "pessimistic"}, "ranks models by their names"),
        (votes({("a", "b"): 12, ("b", "a"): 9}), {"next": 0}, "next cannot be 0"),
        (votes({("a", "b"): 12, ("b", "a"): 9}), {"depth": 0}, "depth cannot be 0"),
        (votes({("a", "b"): 12, ("b", "a"): 9}), {"next": None, "depth": 2}, "depth is for votes to allocate"),
    ],
)
def test_what_cannot_be_allocated_is_refused(frame, asked, words):
    """One sentence says why."""
    with pytest.raises(UsageError, match=words):
        study_preferences(frame, **{"next": 10, **asked}, **FEW)


@pytest.mark.shared
def test_human_votes_leave_the_first_two_places_open(shared):
    """On MT-Bench claude-v1, gpt-4 and gpt-3.5-turbo are open among each other; all others are behind."""
    found = study_preferences(shared / "data" / "mt_bench_human.csv", next=200, depth=2, **FEW).next_votes
    opened = {(pair.first, pair.second) for pair in found.pairs if pair.state == "open"}
    top = ("claude-v1", "gpt-3.5-turbo", "gpt-4")
    assert opened == {(a, b) for a in top for b in top if a < b}
    assert sum(pair.ask for pair in found.pairs) == 52  # the prompts that are left
