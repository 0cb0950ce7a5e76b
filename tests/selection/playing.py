"""Contests played in plain Python: what is asked is answered by a function."""

from __future__ import annotations

from bonwise.selection.entrants import ranked
from bonwise.selection.protocol import Draw, Entrants
from bonwise.table.verdicts import Preference, Score, Unscored

REFUSED = Unscored("refused")
LOST = Unscored("owed: the server failed", owed=True)


def entrants(count, order=None, **settings):
    """Return entrants in a stated seeded order, by default that of their positions."""
    return Entrants(count, tuple(range(count)) if order is None else tuple(order), **settings)


def said(value):
    """Return a verdict: a number is a score, None is unscored."""
    if value is None:
        return REFUSED
    return value if isinstance(value, Score | Unscored) else Score(value)


def rounds(contest, answer):
    """ContestRun a contest to its end and return the questions of each round."""
    asked = []
    while questions := contest.next():
        asked.append(tuple(questions))
        for question in questions:
            contest.hear(question, answer(question))
    return asked


def drawing(draws):
    """Answer a draw from a table, one row of scores per candidate."""
    return lambda question: said(draws[question.candidate][question.number])


def comparing(earned):
    """Answer a match by what the smaller position earned in each order: a number, or two."""

    def answer(question):
        sides = earned(question.a, question.b)
        first, second = sides if isinstance(sides, tuple) else (sides, sides)
        return Preference(question.a, question.b, *(REFUSED if side is None else side for side in (first, second)))

    return answer


def by_kind(draws, earned):
    """Answer draws from a table and matches by a function."""
    draw, match = drawing(draws), comparing(earned)
    return lambda question: draw(question) if isinstance(question, Draw) else match(question)


def values(verdicts):
    """Return the scores, None where unscored."""
    return [one.value if isinstance(one, Score) else None for one in verdicts]


def order_of(standing, field):
    """Return the candidates from best to worst, as a selection ranks them."""
    return ranked(values(standing.verdicts), field.order, standing.second)


def played(strategy, field, answer):
    """ContestRun to the end and return the ranking, the standing, and the number of questions."""
    contest = strategy.contest(field)
    asked = rounds(contest, answer)
    standing = contest.standing()
    assert standing.stopped
    return order_of(standing, field), standing, sum(map(len, asked))
