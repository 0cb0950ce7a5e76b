from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import UsageError
from bonwise.judges.calling import FunctionJudge
from bonwise.judges.comparing import Pairwise
from bonwise.judges.local import Length
from bonwise.judges.pointwise import Pointwise
from bonwise.judges.wrappers import Resampled
from bonwise.selection.draws import Draws
from bonwise.selection.protocol import Contest, Draw, Match, Strategy
from bonwise.selection.strategies.scores import Adaptive, Greedy, Resample
from bonwise.table.verdicts import Preference, Score, Unscored
from bonwise.testing import simulate
from selection.playing import LOST, REFUSED, drawing, entrants, order_of, played, rounds, said, values

POINTWISE = Pointwise("openai/m")
LEVELS = st.sampled_from([None, 0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 1.0])


@st.composite
def pools(draw, most=5, scores=9):
    """Draw a table of scores and a seeded order."""
    count = draw(st.integers(2, most))
    table = draw(st.lists(st.lists(LEVELS, min_size=scores, max_size=scores), min_size=count, max_size=count))
    return table, draw(st.permutations(range(count)))


def mean_of(scores):
    """Return the mean of what is scored, rounded as scores are compared."""
    known = [one for one in scores if one is not None]
    return round(statistics.fmean(known), 9) if known else None


def paper_rule(table, order, margin, most, *, repick):
    """Return the counts and means of the rule of appendix C.5, written once more in plain loops."""
    asked = [1] * len(table)
    running = [one for one in order if table[one][0] is not None]

    def two_best(means):
        return sorted(running, key=lambda one: -means[one])[:2]  # a stable sort: ties are in the seeded order

    def means():
        return [mean_of(table[one][: asked[one]]) for one in range(len(table))]

    pair = two_best(means())
    for _ in range(most - 1 if len(running) >= 2 else 0):
        if repick:
            pair = two_best(means())
        one, other = (means()[place] for place in pair)
        if round(abs(one - other), 6) >= margin:
            break
        for place in pair:
            asked[place] += 1
    return asked, means()


@given(pools(), st.sampled_from([0.0, 0.05, 0.1, 0.2, 2.0]), st.integers(1, 4), st.booleans())
def test_the_papers_rule_is_that_of_plain_loops(pool, margin, most, repick):
    """Counts of draws, means and the pick are those of the plain loop, with and without picking the pair anew."""
    table, order = pool
    field = entrants(len(table), order)
    found, standing, asked = played(Adaptive(margin, most, repick=repick), field, drawing(table))
    counts, means = paper_rule(table, order, margin, most, repick=repick)
    assert asked == sum(counts)
    assert values(standing.verdicts) == pytest.approx(
        [mean if table[one][0] is not None else None for one, mean in enumerate(means)]
    )
    best = [one for one in order if means[one] is not None and table[one][0] is not None]
    assert found.order == tuple(sorted(best, key=lambda one: -means[one]))


@given(pools())
def test_where_a_candidate_stands_says_nothing(pool):
    """Candidates in another order, with the same seeded order among them, give the same pick and counts."""
    table, order = pool
    turned = list(range(len(table)))[::-1]
    for rule in (Greedy(), Resample(3), Adaptive(), Adaptive(repick=False)):
        found, standing, asked = played(rule, entrants(len(table), order), drawing(table))
        field = entrants(len(table), [turned[one] for one in order])
        again, other, as_many = played(rule, field, drawing([table[one] for one in turned]))
        assert tuple(turned[one] for one in again.order) == found.order
        assert (as_many, other.verdicts) == (asked, tuple(standing.verdicts[one] for one in turned))


@given(pools(), st.randoms())
def test_the_order_of_answers_says_nothing(pool, random):
    """Answers of a round that come in another order give the same questions and the same standing."""
    table, order = pool
    for rule in (Resample(3), Adaptive()):
        contests = [rule.contest(entrants(len(table), order)) for _ in range(2)]
        while questions := contests[0].next():
            assert contests[1].next() == questions
            shuffled = random.sample(questions, len(questions))
            for contest, asked in zip(contests, (questions, shuffled), strict=True):
                for question in asked:
                    contest.hear(question, drawing(table)(question))
        assert contests[0].standing() == contests[1].standing()


def test_greedy_asks_once_and_keeps_scores_as_they_came():
    """One draw of number 0 a candidate, all at once; intervals and draws behind a score stay with it."""
    scores = [Score(0.5, low=0.4, high=0.6, draws=(0.4, 0.6)), REFUSED, Score(0.7)]
    contest = Greedy().contest(entrants(3))
    assert not contest.standing().stopped
    assert rounds(contest, lambda question: scores[question.candidate]) == [(Draw(0), Draw(1), Draw(2))]
    standing = contest.standing()
    assert standing.verdicts == tuple(scores)
    assert standing.stopped == "every candidate was scored once"
    assert standing.standard_errors == standing.p_best == ()


def test_equal_candidates_are_left_to_the_seed():
    """Four equal candidates share the top, and over the seeded orders each is picked: never always the first."""
    for rule in (Greedy(), Resample(2), Adaptive()):
        picks = set()
        for first in range(4):
            order = (first, *(one for one in range(4) if one != first))
            found, standing, _ = played(rule, entrants(4, order), drawing([[0.8] * 9] * 4))
            assert found.tied == found.level == (0, 1, 2, 3)
            picks.add(found.order[0])
            assert standing.p_best in ((), (0.25,) * 4)
        assert picks == {0, 1, 2, 3}


def test_what_could_not_be_scored_is_neither_zero_nor_the_best():
    """A candidate without a score is in no ranking, whatever the others have, and keeps its reason."""
    for rule in (Greedy(), Resample(3), Adaptive()):
        found, standing, _ = played(rule, entrants(3), drawing([[None] * 3, [-0.5] * 3, [-0.7] * 3]))
        assert found.order == (1, 2)
        assert "refused" in standing.verdicts[0].reason


@pytest.mark.filterwarnings("ignore:judge .* returned str:UserWarning")
@pytest.mark.parametrize("rule", [Greedy(), Resample(2), Adaptive()])
@pytest.mark.parametrize("value", [math.nan, math.inf, None, "9/10"])
def test_a_reward_that_is_no_number_never_wins(rule, value):
    """What a function returns in place of a finite number is unscored, in the first place too."""
    judge = FunctionJudge(lambda _prompt, text: value if text == "a" else len(text))
    verdicts = judge.judge("p", ["a", "bb", "ccc"])
    found, standing, _ = played(rule, entrants(3), lambda question: verdicts[question.candidate])
    assert found.order == (2, 1)
    assert isinstance(standing.verdicts[0], Unscored)


def test_nothing_scored_picks_nobody():
    """A pool in which nothing could be scored has no order, and no chance is stated."""
    for rule in (Greedy(), Resample(2), Adaptive()):
        found, standing, _ = played(rule, entrants(2), drawing([[None] * 3, [None] * 3]))
        assert found.order == ()
        assert standing.p_best == ()
        assert standing.expected_regret is None


@pytest.mark.parametrize("alone", [False, True])
def test_resample_asks_every_number_of_every_candidate(alone):
    """All draws at once, or number 0 alone first; always at its own temperature."""
    contest = Resample(3, temperature=0.7).contest(entrants(2, first_pass_alone=alone))
    asked = rounds(contest, drawing([[0.1, 0.2, 0.3], [0.5, None, 0.3]]))
    whole = tuple(Draw(candidate, number, 0.7) for number in range(3) for candidate in range(2))
    assert asked == ([whole[:2], whole[2:]] if alone else [whole])
    standing = contest.standing()
    assert standing.verdicts[0].draws == (0.1, 0.2, 0.3)
    assert standing.verdicts[1].draws == (0.5, None, 0.3)
    assert values(standing.verdicts) == pytest.approx([0.2, 0.4])
    assert standing.stopped == "every candidate was scored 3 times"


def test_reasons_of_several_draws_are_counted():
    """Where no draw was scored the reason says how many there were and why."""
    _, standing, _ = played(Resample(3), entrants(2), drawing([[0.5] * 3, [None] * 3]))
    assert standing.verdicts[1].reason == "none of 3 draws was scored: refused (3)"


@pytest.mark.parametrize("rule", [Greedy(), Resample(2), Adaptive(margin=1.0)])
def test_an_owed_draw_leaves_its_candidate_owed_and_asks_no_more(rule):
    """A draw that did not arrive makes the verdict owed: it might have turned the result."""
    contest = rule.contest(entrants(2))
    rounds(contest, lambda question: LOST if question.candidate == 1 else Score(0.5))
    standing = contest.standing()
    assert standing.verdicts[1] == LOST
    assert values(standing.verdicts)[0] == 0.5
    assert standing.stopped == "an answer is pending"


def test_an_owed_redraw_counts_too():
    """Scores that were heard before do not stand in for the draw that is owed."""
    contest = Adaptive().contest(entrants(3))
    table = [[0.8, 0.7, 0.7], [0.8, LOST, 0.7], [0.1]]
    assert sum(map(len, rounds(contest, drawing(table)))) == 5
    assert [isinstance(one, Unscored) and one.owed for one in contest.standing().verdicts] == [False, True, False]


def test_what_was_never_answered_leaves_what_is_known():
    """At a deadline the standing rests on what was heard: means of fewer draws, owed only where there is none."""
    contest = Adaptive().contest(entrants(3))
    for question in contest.next()[:2]:
        contest.hear(question, Score(0.8))
    standing = contest.standing()
    assert values(standing.verdicts) == [0.8, 0.8, None]
    assert standing.verdicts[2].owed
    assert not standing.stopped
    contest.hear(Draw(2), Score(0.1))
    first, _ = contest.next()
    contest.hear(first, Score(0.6))
    assert values(contest.standing().verdicts) == pytest.approx([0.7, 0.8, 0.1])


def test_adaptive_redraws_at_its_own_temperature_only():
    """First scores are asked for at the judge's own temperature, further ones at the stated one."""
    contest = Adaptive(temperature=0.5, max_draws=2).contest(entrants(2))
    assert rounds(contest, drawing([[0.5] * 2] * 2)) == [(Draw(0), Draw(1)), (Draw(0, 1, 0.5), Draw(1, 1, 0.5))]
    assert contest.standing().stopped == "reached the limit of 1 further round"


def test_margins_are_compared_after_rounding():
    """A difference of 0.1 in decimals reaches the margin of 0.1, though in doubles it falls short."""
    assert 0.9 - 0.8 < 0.1
    _, standing, asked = played(Adaptive(margin=0.1), entrants(2), drawing([[0.9], [0.8]]))
    assert asked == 2
    assert standing.stopped == "the two best differ by the margin of 0.1 or more"


def test_an_unscored_redraw_counts_as_asked():
    """What was refused is not asked for again and moves no mean."""
    _, standing, asked = played(Adaptive(), entrants(2), drawing([[0.5, None, None], [0.5, 0.4, 0.6]]))
    assert asked == 6
    assert values(standing.verdicts) == pytest.approx([0.5, 0.5])
    assert standing.verdicts[0].draws == (0.5, None, None)


def test_who_has_no_first_score_is_out_of_the_running():
    """Such a candidate is never asked about again, and with fewer than two in the running all is over."""
    _, standing, asked = played(Adaptive(), entrants(3), drawing([[None, 1.0], [0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]))
    assert asked == 3 + 4
    assert standing.verdicts[0] == REFUSED
    _, standing, asked = played(Adaptive(), entrants(2), drawing([[None], [0.5]]))
    assert asked == 2
    assert standing.stopped == "fewer than two candidates have a score"


def test_repicking_turns_to_whoever_is_second_now():
    """When the second one falls behind a third, the third is drawn; the paper's rule stays with its pair."""
    table = [[0.8, 0.8, 0.8], [0.75, 0.25, 0.3], [0.74, 0.8, 0.8]]
    counts = {}
    for repick in (False, True):
        contest = Adaptive(margin=0.3, repick=repick).contest(entrants(3))
        asked = [question.candidate for questions in rounds(contest, drawing(table)) for question in questions]
        counts[repick] = [asked.count(one) for one in range(3)]
    assert counts == {False: [2, 2, 1], True: [3, 2, 2]}


@given(pools(scores=9), st.sampled_from([2, 4, 9]))
def test_standard_errors_pool_the_variance_within_candidates(pool, draws):
    """The squares are those of (sum of squares / degrees of freedom) / scores, by hand."""
    table, order = pool
    _, standing, _ = played(Resample(draws), entrants(len(table), order), drawing(table))
    own = [[one for one in row[:draws] if one is not None] for row in table]
    freedom = sum(len(row) - 1 for row in own if row)
    if freedom == 0:
        assert standing.standard_errors == standing.p_best == ()
        assert standing.expected_regret is None
        return
    squares = sum((one - statistics.fmean(row)) ** 2 for row in own for one in row)
    expected = [math.sqrt(squares / freedom / len(row)) if row else None for row in own]
    assert standing.standard_errors == pytest.approx(expected, abs=1e-9)
    if freedom < 16 or min(len(row) for row in own) == 1 or squares < 1e-18:
        assert (standing.p_best, standing.expected_regret) == ((), None)
        assert standing.p_best_reason
        return
    assert standing.p_best_reason == ""
    scored = [one for one in standing.p_best if one is not None]
    assert sum(scored) == pytest.approx(1)
    assert [one is None for one in standing.p_best] == [not row for row in own]
    assert standing.expected_regret >= 0


def test_two_candidates_have_the_chance_of_the_normal_table():
    """P(best) is Phi(d / s) and the regret its formula, s from the pooled variance times df / (df - 2)."""
    book = book_of([0.6, 0.8, 0.7] * 3, [0.4, 0.6, 0.5] * 3)
    standing = book.standing("")
    # The variance is .12 / 16 on 16 degrees of freedom: a ninth of it of a mean, 16 / 14 times that for Student's.
    assert standing.standard_errors == pytest.approx((math.sqrt(0.0075 / 9),) * 2)
    s = math.sqrt(2 * 16 / 14 * 0.0075 / 9)
    z = 0.2 / s
    below = statistics.NormalDist().cdf(z)
    assert standing.p_best == pytest.approx((below, 1 - below), abs=1e-7)
    density = statistics.NormalDist().pdf(z)
    assert standing.expected_regret == pytest.approx(s * (density - z * (1 - below)), abs=1e-7)


def book_of(*rows):
    """Return a book that has heard these scores."""
    book = Draws(len(rows))
    for candidate, row in enumerate(rows):
        for number, value in enumerate(row):
            book.hear(Draw(candidate, number), said(value))
    return book


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([[0.8] * 9, [0.75] * 9], "no two scores of a candidate differ"),
        ([[0.1 + 0.2, *[0.3] * 8], [0.5] * 9], "no two scores of a candidate differ"),
        ([[0.8, 0.9, 0.7], [0.8, 0.8, 0.8], [0.75] * 3], "6 repeated scores say too little"),
        ([[0.8, 0.9], [0.7, 0.6]], "2 repeated scores say too little"),
        ([[0.8, 0.9] * 9, [0.6]], "a candidate has a single score"),
    ],
)
def test_equal_or_few_redraws_make_nobody_certain(rows, reason):
    """Where the scores do not allow a probability and a regret, neither is stated, and the reason is."""
    standing = book_of(*rows).standing("")
    assert (standing.p_best, standing.expected_regret) == ((), None)
    assert standing.p_best_reason.startswith(reason)
    assert len(standing.standard_errors) == len(rows)


def test_scores_of_different_temperatures_are_not_of_one_kind():
    """Adaptive asks first at the judge's own temperature: it states no probability unless it goes on at that one."""
    table = [[0.8, 0.7] * 9, [0.75, 0.8] * 9]
    for temperature, stated in ((1.0, False), (None, True)):
        rule = Adaptive(margin=1.0, max_draws=9, temperature=temperature)
        _, standing, _ = played(rule, entrants(2), drawing(table))
        assert bool(standing.p_best) is stated
        assert ("different temperatures" in standing.p_best_reason) is not stated


@pytest.mark.parametrize("preset", ["pilot", "one_model"])
def test_regret_of_resampling_is_stated_no_smaller_than_seen(preset):
    """Over 800 simulated pools the mean stated regret is not below the mean of the true one."""
    draws = simulate(preset, n=800, seed=12, draws=65).draws
    truth, stated, seen = draws[:, :, 5:].mean(axis=2), [], []
    for pool, quality in zip(draws, truth, strict=True):
        standing = book_of(*pool[:, :5].tolist()).standing("")
        if standing.p_best:
            best = int(np.argmax(standing.p_best))
            stated.append(standing.expected_regret)
            seen.append(quality.max() - quality[best])
    assert np.mean(stated) >= np.mean(seen)


def test_scores_at_the_end_of_what_doubles_hold_are_scores():
    """The mean of huge scores is finite, and what cannot be computed of them is left out."""
    _, standing, _ = played(Resample(2), entrants(2), drawing([[1.7e308, 1.7e308], [-1.7e308, 1.7e308]]))
    assert values(standing.verdicts)[0] == pytest.approx(1.7e308)
    assert standing.standard_errors == ()


@pytest.mark.parametrize(
    ("rule", "judge", "candidates", "most"),
    [
        (Greedy(), POINTWISE, 4, 4),
        (Greedy(), Length(), 4, 0),
        (Resample(3), POINTWISE, 4, 12),
        (Adaptive(), POINTWISE, 4, 8),
        (Adaptive(repick=False), POINTWISE, 4, 8),
        (Adaptive(repick=False), Resampled(POINTWISE, draws=2), 4, 16),
        (Adaptive(max_draws=1), POINTWISE, 4, 4),
        (Adaptive(max_draws=2, repick=False), Pairwise("openai/m"), 3, 6 + 2 * 6),
    ],
)
def test_the_most_calls_are_those_of_the_closest_pool(rule, judge, candidates, most):
    """What may be asked at most counts every answer of a model, none of a judge that asks none."""
    assert rule.most_calls(judge, candidates) == most
    if judge is POINTWISE:
        _, _, asked = played(rule, entrants(candidates), drawing([[0.5] * 9] * candidates))
        assert asked <= most


@pytest.mark.parametrize("repick", [False, True])
def test_the_most_calls_are_reached(repick):
    """A pool whose candidates stay equal takes all of them."""
    rule = Adaptive(repick=repick)
    _, _, asked = played(rule, entrants(4), drawing([[0.5] * 3] * 4))
    assert asked == rule.most_calls(POINTWISE, 4) == 8


@pytest.mark.parametrize(
    ("make", "said_of"),
    [
        (lambda: Resample(0), "draws"),
        (lambda: Resample(True), "draws"),
        (lambda: Resample(temperature=3), "temperature"),
        (lambda: Adaptive(margin=-0.1), "margin"),
        (lambda: Adaptive(margin=math.nan), "margin"),
        (lambda: Adaptive(margin="wide"), "margin"),
        (lambda: Adaptive(max_draws=0), "max_draws"),
        (lambda: Adaptive(max_draws=2.5), "max_draws"),
        (lambda: Adaptive(repick=1), "repick"),
        (lambda: Adaptive(temperature="hot"), "temperature"),
    ],
)
def test_settings_that_mean_nothing_are_refused(make, said_of):
    """A setting of no meaning is a usage error that names it and says what to give."""
    with pytest.raises(UsageError, match=said_of) as caught:
        make()
    assert caught.value.hint


def test_an_answer_of_the_wrong_kind_is_refused():
    """A comparison is no answer to a draw."""
    for rule in (Greedy(), Resample(), Adaptive()):
        contest = rule.contest(entrants(2))
        with pytest.raises(TypeError, match="only scores"):
            contest.hear(Match(0, 1), Preference(0, 1, 1.0, 1.0))


def test_the_contract_is_kept():
    """Strategies are strategies, and standing before the end says that there is more to ask."""
    for rule in (Greedy(), Resample(), Adaptive()):
        strategy: Strategy = rule
        contest: Contest = strategy.contest(entrants(2))
        assert isinstance(strategy, Strategy)
        assert not strategy.compares
        assert contest.standing().stopped == ""
        assert order_of(contest.standing(), entrants(2)).order == ()
