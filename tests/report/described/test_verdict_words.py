"""Verdicts of stacks, of pairwise verdicts, of votes, of stated confidence and of looks: each word by its figures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.report.show import describe, page
from documents.planned import made, studied, votes
from documents.studied import drawn, orders, strategies
from documents.test_preferences import audited
from factors.stack_tables import judged
from report.described.readers import words
from report.described.verdicts import changed, figure, found, limits_of

ABOVE, BELOW, AROUND = figure(0.2, 0.1, 0.3), figure(-0.2, -0.3, -0.1), figure(0.1, -0.1, 0.3)
MORE, LESS, HALF = figure(0.7, 0.6, 0.8), figure(0.3, 0.2, 0.4), figure(0.55, 0.45, 0.65)


@pytest.fixture(scope="module")
def stack():
    """Return the document of a stack of three judges."""
    return bw.fit_stack(judged()).document()


@pytest.mark.parametrize(
    ("difference", "word", "state", "says", "then"),
    [
        (ABOVE, "the stack is better", "good", "recovers 20 points more", "bonwise select POOLS.jsonl"),
        (BELOW, "the stack is worse", "bad", "recovers 20 points less", "Pick by the best judge alone"),
        (AROUND, "no difference shown", "open", "includes 0", "Pick by the best judge alone"),
        (figure(0.2), "no difference shown", "open", "(no interval)", "Pick by the best judge alone"),
    ],
)
def test_a_stack_is_compared_with_its_best_judge(stack, difference, word, state, says, then):
    """The interval of the difference decides, and the page says what to do."""
    document = changed(stack, lambda one: one["difference"]["recovery"].update(difference))
    told = found(document)
    assert told[:2] == (word, state)
    assert says in told[2]
    assert then in words(page(document))


def test_a_stack_that_falls_back_is_one_judge(stack):
    """Whatever the difference is; the judge is named."""

    def change(one):
        one.update(fallback="good")
        one["difference"]["recovery"].update(ABOVE)

    told = found(changed(stack, change))
    assert told[:2] == ("one judge", "open")
    assert told[2].startswith("The stack falls back to good:")


def test_a_stack_without_a_recovery_is_undefined(stack):
    """The reason is told."""
    document = changed(stack, lambda one: one["metrics"]["recovery"].update(figure(None)))
    assert found(document) == ("undefined", "open", "Nothing can be said of the stack's picks: no pairs.")
    assert "Label more prompts completely" in words(page(document))


@pytest.mark.parametrize(
    ("agreement", "phi", "word", "state"),
    [
        (MORE, ABOVE, "better than a coin", "good"),
        (MORE, AROUND, "one side may do", "open"),
        (MORE, figure(None), "one side may do", "open"),
        (HALF, ABOVE, "no agreement shown", "open"),
        (figure(0.7), ABOVE, "no agreement shown", "open"),
        (LESS, BELOW, "worse than a coin", "bad"),
        (figure(None), figure(None), "undefined", "open"),
    ],
)
def test_agreement_is_compared_with_a_coin_and_with_one_side(agreement, phi, word, state):
    """More than a coin's is enough only where verdicts follow the oracle's: a fixed side has no correlation."""

    def change(one):
        one["judges"]["judge"]["metrics"]["agreement"].update(agreement)
        one["judges"]["judge"]["metrics"]["phi"].update(phi)

    document = changed(audited(), change)
    assert found(document)[:2] == (word, state)
    advice = "bonwise audit" if state == "good" else "Do not decide by these verdicts yet"
    assert advice in words(page(document))
    assert "agreement on pairs is another figure" in " ".join(limits_of(document))


def test_a_judge_that_always_names_one_side_is_not_called_good():
    """The oracle prefers the first side in 80% of the pairs, and the judge always does: phi is undefined."""
    gold = np.where(np.arange(100) % 5 == 0, 2, 1)
    frame = pd.DataFrame({"item": range(100), "gold": gold, "v": 1})
    document = bw.audit_preferences(frame, verdicts=["v"], oracle="gold", prompt=["item"])
    assert document.judges["judge"].metrics.agreement.low > 0.5
    assert found(document)[:2] == ("one side may do", "open")


@pytest.mark.parametrize(
    ("agreement", "worth", "word", "state"),
    [
        (MORE, ABOVE, "the order matters", "bad"),
        (MORE, BELOW, "the order matters", "bad"),
        (MORE, AROUND, "no position effect shown", "open"),
        (LESS, ABOVE, "worse than a coin", "bad"),
        (HALF, AROUND, "no agreement shown", "open"),
    ],
)
def test_verdicts_in_two_orders(agreement, worth, word, state):
    """Whether they agree comes first; of those that do, whether the order moves them."""

    def change(one):
        one["judges"]["j"]["ways"]["both_orders"]["agreement"].update(agreement)
        one["judges"]["j"]["order"]["first_shown_advantage"].update(worth)

    document = changed(orders(), change)
    told = found(document)
    assert told[:2] == (word, state)
    assert "being shown first is worth" in told[2]
    assert "Ask in both orders" in words(page(document))


@pytest.mark.parametrize(
    ("agreement", "word", "state"),
    [
        (MORE, "better than a coin", "good"),
        (HALF, "no agreement shown", "open"),
        (LESS, "worse than a coin", "bad"),
        (figure(None), "undefined", "open"),
    ],
)
def test_verdicts_in_one_order(agreement, word, state):
    """Whether they agree; the page asks for the other order."""
    document = changed(
        orders(two=False),
        lambda one: one["judges"]["j"]["ways"]["first_order"]["agreement"].update(agreement),
    )
    assert found(document)[:2] == (word, state)
    assert "Ask in the other order too" in words(page(document))


@pytest.mark.parametrize(
    ("less", "word"),
    [(ABOVE, "verdicts are better"), (BELOW, "scores are better"), (AROUND, "no difference shown")],
)
@pytest.mark.parametrize("whole", [True, False])
def test_ways_of_asking(less, word, whole):
    """Ways are compared on whole prompts; where pairs were drawn alone, on the pairs judged both ways."""

    def change(one):
        (judge,) = one["judges"].values()
        if not whole:
            judge.update(strategies={}, no_strategies={"every_pair": "pairs were drawn"})
        for ways in (
            *(group["strategies"] for group in judge["strategies"].values()),
            judge["matched_pairs"]["ways"],
        ):
            for way in ways.values():
                if "minus_pointwise" in way:
                    way["minus_pointwise"]["recovery"].update(less)

    told = found(changed(strategies(), change))
    assert told[0] == word
    assert ("judged both ways" in told[2]) == (not whole)


def test_a_draw_of_pairs_decides_nothing(tmp_path):
    """Pairs that are still to be judged have no verdict."""
    assert not [one for one in describe(drawn(tmp_path)).blocks if getattr(one, "role", "") == "verdict"]


@pytest.mark.parametrize(
    ("rates", "word", "state", "says"),
    [
        ([MORE], "y is preferred", "good", "y has 70% [60%, 80%] of the votes against x"),
        ([LESS], "x is preferred", "good", "y has 30% [20%, 40%] of the votes against x"),
        ([HALF], "no preference shown", "open", "Neither model is shown to be preferred"),
        ([MORE, LESS], "every preference shown", "good", "in 2 of 2 pairs; about 0.1 would be expected"),
        ([MORE, HALF], "1 of 2 shown", "open", "in 1 of 2 pairs"),
        ([HALF, HALF], "no preference shown", "open", "in 0 of 2 pairs"),
    ],
)
def test_votes(rates, word, state, says):
    """The interval of each share of votes is compared with one half; by chance some are told apart."""
    frames = [votes(), votes("x", "z")][: len(rates)]

    def change(one):
        for pair, rate in zip(one["pairs"], rates, strict=True):
            pair["win_rate"].update(rate)
            pair["margin"] = rate["estimate"] - 0.5

    document = changed(studied(pd.concat(frames)), change)
    told = found(document)
    assert told[:2] == (word, state)
    assert says in told[2]
    assert ("Collect more votes" in words(page(document))) == (HALF in rates)
    assert "a preference is absent" in " ".join(limits_of(document))


def stated(n=200):
    """Return the document of probabilities that are stated too high."""
    chance = np.random.default_rng(3)
    probability = chance.random(n).round(2)
    outcome = (chance.random(n) < probability).astype(int)
    return bw.audit_confidence(pd.DataFrame({"prompt_id": range(n), "probability": probability, "outcome": outcome}))


@pytest.mark.parametrize(
    ("error", "word", "state", "advice"),
    [
        (figure(0.2, 0.1, 0.3), "probabilities are off", "bad", "do not read them as chances"),
        (figure(0.05, 0.0, 0.2), "no error shown", "open", "narrower"),
        (figure(0.05), "no error shown", "open", "narrower"),
    ],
)
def test_stated_probabilities(error, word, state, advice):
    """They are off where the interval of the mean error of the bins excludes 0; nothing shows that they are right."""
    document = changed(stated(), lambda one: one["judges"]["judge"]["metrics"]["mean_bin_error"].update(error))
    assert found(document)[:2] == (word, state)
    assert advice in words(page(document))
    assert "That the confidence stays right" in " ".join(limits_of(document))


def test_coverage_alone_decides_nothing():
    """No document says how often a stated interval should hold, so there is no verdict."""
    frame = pd.DataFrame({"prompt_id": [f"p{at}" for at in range(40)], "candidate": "a", "oracle_label": 0.5})
    document = bw.audit_confidence(frame.assign(judge_score=0.5, low=0.4, high=0.6))
    assert not [one for one in describe(document).blocks if getattr(one, "role", "") == "verdict"]
    assert limits_of(document)


@pytest.mark.parametrize(
    ("kind", "change", "state", "advice"),
    [
        ("precision", {}, "good", "audit the judge on these labels"),
        ("precision", {"suspicions": ["c3 is easy"]}, "open", "Name the easy candidate"),
        ("precision", {"describes": "labelled prompts"}, "open", "--design uniform"),
        ("on", {}, "open", "Label on in random order"),
    ],
)
def test_looks_at_labels(kind, change, state, advice):
    """A stop is green where it speaks of all prompts, and no easy candidate is suspected."""
    document = changed(made(kind), lambda one: one.update(change))
    assert found(document)[1] == state
    assert advice in words(page(document))
