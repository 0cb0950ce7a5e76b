from __future__ import annotations

import math

import numpy as np
import pytest

from bonwise.stats.laws import Exact, Student
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.studies.requirements.requirement import Few, MoverDifference, few_picks

# Poisson counts by hand, 2.5 % on each side. None was seen: e^-m = .025. One was seen: at least m with
# 1 - e^-m = .025, at most m with e^-m (1 + m) = .025: e^-5.571643 = .0038042, times 6.571643 is .025.
MOST_OF_NONE = -math.log(0.025)
FEWEST_OF_ONE = -math.log(0.975)
MOST_OF_ONE = 5.571643


def law_of(picked, se, labels=(1.0, 0.0)):
    """Return the law of a judge by the place, in the labels of each prompt, of the candidate that it picks."""
    pools = np.tile(labels, (len(picked), 1))
    scores = (np.arange(len(labels)) == np.asarray(picked)[:, None]).astype(float)
    sums = Sums(*prompt_sums(scores.ravel(), pools.ravel(), np.full(len(pools), len(labels))))
    return few_picks(sums, np.full(len(pools), max(labels) - min(labels)), se)


def test_one_loss_is_worked_by_hand():
    """Of 50 picks between 1 and 0 one is wrong: what is lost is a Poisson count of one, in units of 1/25."""
    # Possible: 50 x .5 = 25. Brought: 49 x .5 - .5 = 24, hence .96; lost 1 of 25 = .04.
    law = law_of([1] + [0] * 49, se=0.002)
    assert (law.estimate, law.amount, law.unit, law.losses, law.df) == pytest.approx((0.96, 0.04, 0.04, True, 49))
    # Lost at most .04 x 5.5716 = .2229 and at least .04 x .0253 = .0010.
    assert law.at(0.95) == pytest.approx((1 - 0.04 * MOST_OF_ONE, 1 - 0.04 * FEWEST_OF_ONE), abs=1e-7)
    assert law.at(0.95) == pytest.approx((0.7771, 0.9990), abs=1e-4)


def test_one_win_is_worked_by_hand():
    """Of 50 picks between 1 and 0 one is right: the ends lie from the least as those of a loss from the most."""
    # Brought: .5 - 49 x .5 = -24 of 25; the least is -1, and .04 is won above it.
    law = law_of([0] + [1] * 49, se=0.002)
    assert (law.estimate, law.amount, law.unit, law.losses, law.df) == pytest.approx((-0.96, 0.04, 0.04, False, 49))
    assert law.at(0.95) == pytest.approx((-1 + 0.04 * FEWEST_OF_ONE, -1 + 0.04 * MOST_OF_ONE), abs=1e-7)
    assert law.at(0.95) == pytest.approx((-0.9990, -0.7771), abs=1e-4)


def test_confidence_is_shared_by_both_ends():
    """At 80 % each end leaves 10 %: of one loss at least -ln .9 and at most 3.8897 units."""
    # e^-3.889720 x 4.889720 = .1
    law = law_of([1] + [0] * 49, se=0.002)
    assert law.at(0.8) == pytest.approx((1 - 0.04 * 3.889720, 1 + 0.04 * math.log(0.9)), abs=1e-7)


def test_unequal_losses_count_by_their_weight():
    """Losses of 1 and .5 are 1.8 picks of a unit of their own: 1.5^2 / 1.25, and 1.25 / 1.5 of the possible gain."""
    # Labels 1, .5 and 0: possible 10 x .5 = 5, lost 1.5 of 5.
    law = law_of([2, 1, *[0] * 8], se=0.1, labels=(1.0, 0.5, 0.0))
    assert law.count == pytest.approx(1.8)
    assert law.unit == pytest.approx(1.25 / 1.5 / 5)
    assert law.amount == pytest.approx(0.3)
    assert law.estimate == pytest.approx(0.7)


def test_where_nothing_was_won_one_win_may_be_the_largest():
    """A judge always at the worst label has its upper end 3.689 widest gaps above it, its lower one Student's."""
    # Prompts of (1, 0) and of (1, 0, 0): possible 5 x 1/2 + 5 x 2/3, brought -(5 x 1/2 + 5 x 1/3).
    labels, scores = [1.0, 0.0] * 5 + [1.0, 0.0, 0.0] * 5, [0.0, 1.0] * 5 + [0.0, 1.0, 1.0] * 5
    sums = Sums(*prompt_sums(np.array(scores), np.array(labels), np.array([2] * 5 + [3] * 5)))
    law = few_picks(sums, np.ones(10), 0.03)
    possible = 5 / 2 + 10 / 3
    assert (law.estimate, law.amount, law.unit) == pytest.approx((-25 / 6 / possible, 0.0, 1 / possible))
    low, high = law.at(0.95)
    assert high == pytest.approx(law.estimate + MOST_OF_NONE / possible)
    assert low == Student(law.estimate, 0.03, 9, (-np.inf, 1.0)).at(0.95)[0]


@pytest.mark.parametrize("losses", [True, False])
def test_no_end_lies_inside_students(losses):
    """Where the jackknife's interval is the wider one its ends stand, cut at all of the possible gain."""
    law = Few(0.5, 0.3, 0.1, 0.1, losses, 49)
    assert law.at(0.95) == pytest.approx(Student(0.5, 0.3, 49, (-np.inf, 1.0)).at(0.95))
    assert law.at(0.95)[1] == 1.0


@pytest.mark.parametrize("wrong", [29, 30])
@pytest.mark.parametrize("picks", [(1, 0), (0, 1)], ids=["losses", "wins"])
def test_from_thirty_picks_on_the_paired_interval_stands(wrong, picks):
    """Up to 29 losses, or wins, of one size are few, from 30 on they are many."""
    law = law_of([picks[0]] * wrong + [picks[1]] * 71, se=0.1)
    assert (law is None) is (wrong == 30)


def test_a_judge_that_is_always_right_has_the_exact_bound():
    """Nothing varies: at most a share 1 - .025^(1/50) of 50 prompts differs, each by the widest gap."""
    law = law_of([0] * 50, se=0.0)
    assert isinstance(law, Exact)
    # The widest gap, 1, is 2 times the mean gain.
    assert law.at(0.95) == pytest.approx((1 - 2 * (1 - 0.025**0.02), 1.0))


@pytest.mark.parametrize(
    ("correlation", "ends"),
    [
        # Below .03 and .08 go together: .03^2 + .08^2 - .03 x .08 = .07^2; above .07 and .15: their root is .13.
        (0.5, (0.4 - 0.07, 0.4 + 0.13)),
        (0.0, (0.4 - math.sqrt(0.0073), 0.4 + math.sqrt(0.0274))),
        (1.0, (0.4 - 0.05, 0.4 + 0.08)),
        (-1.0, (0.4 - 0.11, 0.4 + 0.22)),
    ],
)
def test_a_difference_of_two_intervals_is_worked_by_hand(correlation, ends):
    """The lower end takes the first's lower and the second's upper reach; what moves both moves it the less."""
    first, second = Student(0.6, 9.0, 9, (0.57, 0.67)), Student(0.2, 9.0, 9, (0.05, 0.28))
    assert MoverDifference(first, second, (0.6, 0.2), correlation).at(0.95) == pytest.approx(ends)


@pytest.mark.parametrize("at", [0, 1])
def test_a_difference_with_a_part_unknown_is_unknown(at):
    """Without an interval of either part there is none of their difference."""
    laws = [Student(0.6, 0.1, 9, (0, 1)), Student(0.2, 0.1, 9, (0, 1))]
    laws[at] = Exact(0.5, 9, (-np.inf, 1.0))
    assert MoverDifference(*laws, (0.6, 0.2), 0.5).at(0.95) is None
