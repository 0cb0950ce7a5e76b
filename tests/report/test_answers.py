"""The state of an answer follows the interval, and each word of a verdict the figures."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.estimates import EstimateRecord
from bonwise.report.answers import StatedVerdict, of_judges, outcome_of, verdict
from bonwise.report.blocks import Part, next_of
from bonwise.report.limits import LABELS, OTHER_PROMPTS, limits
from bonwise.report.numbers import Ends
from bonwise.report.page.rendered import made_on
from bonwise.report.show import describe, markdown, page, text
from bonwise.results import Document
from docs.stock import stock
from planning.planned import made, studied, votes
from report.readers import words
from report.verdicts import changed, figure, found, limits_of
from stacks.stack_tables import judged
from studies.studied import drawn, orders, strategies
from votes.test_preferences import audited

# The state of an answer follows the interval, and each result says its limits.


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(0.1, 0.3, "above"), (-0.3, -0.1, "below"), (-0.1, 0.1, "open"), (0.0, 0.2, "open"), (None, None, "open")],
)
def test_an_outcome_follows_the_interval(low, high, outcome):
    """Only an interval that excludes the value decides."""
    assert outcome_of(Ends(0.1, low, high)) == outcome


def test_judges_that_differ_leave_the_state_open():
    """A verdict on several judges is green or red only where all agree."""
    good, bad = StatedVerdict("helps", "good", "It helps."), StatedVerdict("hurts", "bad", "It hurts.")
    both = verdict(of_judges({"a": good, "b": bad}))
    alike = verdict(of_judges({"a": good, "b": good}))
    assert (both.state, alike.state, alike.title) == ("open", "good", "helps")
    assert of_judges({}) is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with scores, picks, labels and verdicts."""
    place = tmp_path_factory.mktemp("answers")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        stock()
    return place


MAKERS = {
    "compare": lambda: bw.compare("winners.jsonl", "others.jsonl", labels="labels.csv"),
    "plan": lambda: bw.plan(question="recovery>0", candidates=4, within_r=0.3),
    "route": lambda: bw.route("scores.csv"),
    "requirements": lambda: bw.study_requirements("scores.csv"),
    "label-strategy": lambda: bw.study_label_strategy("scores.csv", verdicts="pairs.csv"),
    "calibration": lambda: bw.study_calibration("scores.csv"),
    "candidates": lambda: bw.study_candidates("scores.csv"),
    "transfer": lambda: bw.study_transfer("scores.csv", to="scores.csv"),
    "mix": lambda: bw.study_mix("scores.csv", control="c3"),
    "strategies": lambda: bw.study_strategies("scores.csv", seeds=1),
    "discretisation": lambda: bw.study_discretisation("scores.csv", draws=5),
}


def made_of_answer(kind):
    """Return a result as its document."""
    result = MAKERS[kind]()
    return result if isinstance(result, Document) else result.document()


@pytest.mark.parametrize("kind", MAKERS)
def test_an_answer_comes_first(kind, folder, monkeypatch):
    """Terminals begin with the word and one sentence with a figure; pages say the limits, terminals do not."""
    monkeypatch.chdir(folder)
    document = made_of_answer(kind)
    first, second, *_ = text(document).splitlines()
    assert first.startswith("Verdict: ")
    assert re.search(r"\d", second)
    verdicts = [one for one in describe(document).blocks if isinstance(one, Part) and one.role == "verdict"]
    assert len(verdicts) == 1
    assert first == f"Verdict: {verdicts[0].title}"
    titles = [one.title for one in describe(document).blocks if isinstance(one, Part)]
    assert titles.count("What this does not establish") == 1
    assert "What this does not establish" not in text(document)


def test_a_watch_says_its_limits_on_its_page_alone(folder, monkeypatch):
    """An alarm says that a signal moved, not why."""
    monkeypatch.chdir(folder)
    document = bw.watch("picks/*.jsonl", labels="picks_labels.csv")
    titles = [one.title for one in describe(document).blocks if isinstance(one, Part)]
    assert titles[-1] == "What this does not establish"
    assert "does not establish" not in text(document)


def test_routing_is_green_where_its_interval_excludes_nothing_gained(folder, monkeypatch):
    """The state of a route is that of the part of the lift that it captures."""
    monkeypatch.chdir(folder)
    document = bw.route("scores.csv")
    captured = document.judges["judge"].recommendation.captured
    (verdict,) = [one for one in describe(document).blocks if isinstance(one, Part) and one.role == "verdict"]
    assert isinstance(captured, EstimateRecord)
    assert (verdict.state == "good") == (captured.low > 0)


def test_an_audit_says_its_limits_in_full(folder, monkeypatch):
    """The short form leaves the limits out, the full one has them; a reference is not called labels."""
    monkeypatch.chdir(folder)
    document = bw.audit("scores.csv")
    assert "does not establish" not in text(document)
    assert "What this does not establish" in text(document, full=True)
    words = " ".join(note.text for note in limits([OTHER_PROMPTS, LABELS], reference="another judge").blocks)
    assert "label" not in words


def test_the_date_of_a_page_can_be_set(folder, monkeypatch):
    """SOURCE_DATE_EPOCH gives the same bytes on any day."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert made_on() == "1970-01-02"
    pages = []
    for name in ("a.html", "b.html"):
        MAKERS["plan"]().to_html(name)
        pages.append(Path(name).read_bytes())
    assert pages[0] == pages[1]
    assert b"Made on 1970-01-02 by bonwise" in pages[0]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", made_on())


@pytest.mark.parametrize("kind", MAKERS)
def test_what_comes_next_is_said_last_and_once(kind, folder, monkeypatch):
    """A page says it in the verdict; a terminal and Markdown end with it."""
    monkeypatch.chdir(folder)
    document = made_of_answer(kind)
    verdicts = [one for one in describe(document).blocks if isinstance(one, Part) and one.role == "verdict"]
    (last,) = next_of(verdicts)
    assert " ".join(text(document).split()).endswith(" ".join(["Next:", *(one.text for one in last.blocks)]))
    for one in last.blocks:
        assert " ".join(text(document).split()).count(one.text) == 1
    assert markdown(document).count("\n### Next\n") == 1


# Verdicts of stacks, of pairwise verdicts, of votes, of stated confidence and of looks: each word by its figures.


ABOVE, BELOW, AROUND = figure(0.2, 0.1, 0.3), figure(-0.2, -0.3, -0.1), figure(0.1, -0.1, 0.3)
MORE, LESS, HALF = figure(0.7, 0.6, 0.8), figure(0.3, 0.2, 0.4), figure(0.55, 0.45, 0.65)


@pytest.fixture(scope="module")
def stack():
    """Return the document of a stack of three judges."""
    return bw.fit_stack(judged())


@pytest.mark.parametrize(
    ("difference", "word", "state", "says", "then"),
    [
        (ABOVE, "the stack is better", "good", "recovers 20 points more", "--judge stack:stack.json"),
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
    document = bw.audit_preferences(frame, verdict_col=["v"], label_col="gold", prompt_col=["item"])
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


@pytest.mark.parametrize(
    ("right", "advice"),
    [
        (MORE, "trust the verdicts that both orders together decide. Right: j 70% [60%, 80%]."),
        (figure(0.42, 0.35, 0.48), "Do not trust the verdicts, also not those that both orders together decide"),
        (HALF, "Do not trust the verdicts yet: not even those that both orders together decide"),
        (figure(None), "Do not trust the verdicts yet"),
    ],
)
def test_verdicts_are_trusted_where_those_that_both_orders_decide_are_right(right, advice):
    """Not where most of them are wrong, and not where they are not shown to be right."""

    def change(one):
        one["judges"]["j"]["ways"]["both_orders"]["accuracy_decided"].update(right)

    document = changed(orders(), change)
    assert advice in " ".join(step.text for step in document.answer.then)
    assert advice in words(page(document))


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
        orders(two=False), lambda one: one["judges"]["j"]["ways"]["first_order"]["agreement"].update(agreement)
    )
    assert found(document)[:2] == (word, state)
    assert "Ask in the other order too" in words(page(document))


@pytest.mark.parametrize(
    ("less", "word"), [(ABOVE, "verdicts are better"), (BELOW, "scores are better"), (AROUND, "no difference shown")]
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
        ([LESS], "x is preferred", "good", "x has 70% [60%, 80%] of the votes against y"),
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
        (figure(0.2, 0.1, 0.3), "probabilities are off", "bad", "Do not read the stated probabilities as chances"),
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
        ("precision", {"suspicions": ["c3 is easy"]}, "open", "Name the candidates"),
        ("precision", {"describes": "labelled prompts"}, "open", "--design uniform"),
        ("on", {}, "open", "Label on in random order"),
    ],
)
def test_looks_at_labels(kind, change, state, advice):
    """A stop is green where it speaks of all prompts, and no easy candidate is suspected."""
    document = changed(made(kind), lambda one: one.update(change))
    assert found(document)[1] == state
    assert advice in words(page(document))
