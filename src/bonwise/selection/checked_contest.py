"""Hold strategies and routers to their contracts: what a plug-in does wrong becomes one error, in one line."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Protocol

from bonwise.errors import BonwiseError, JudgeError
from bonwise.judges import calling, protocol
from bonwise.printable import printable
from bonwise.routing.control import FirstPass, Route
from bonwise.selection.protocol import Contest, Draw, Entrants, Heard, Match, Question, Standing, Strategy
from bonwise.table.verdicts import Score, Unscored, plain_number

__all__ = ["CheckedContest", "Considering", "consulted", "most_calls_of"]

MOST_QUESTIONS = 10_000
"""About each candidate, where a strategy does not say how many calls of a model it takes at most."""


class Considering(Protocol):
    """What is asked of a router here."""

    def consider(self, first_pass: FirstPass, key: str = "") -> Route:
        """Say whether the stronger judge decides."""
        ...


class CheckedContest:
    """The contest of one pool, whose every word is checked.

    Its questions are about entrants that there are, and none is asked for ever: about n entrants n (1 + m) questions,
    m the strategy's `most_calls`, or 10,000 about each where that is 0. Its standing has one verdict an entrant and
    finite numbers. The first use opens the contest of the strategy; `judge` answers what names no other judge.

    Examples
    --------
    >>> from bonwise.judges.calling import as_judge
    >>> from bonwise.selection.strategies.scores import Greedy
    >>> contest = CheckedContest(Greedy(), Entrants(2, order=(1, 0)), as_judge(lambda prompt, text: 1))
    >>> [question.candidate for question in contest.next()]
    [0, 1]
    """

    def __init__(self, strategy: Strategy, entrants: Entrants, judge: protocol.Judge) -> None:
        self._strategy, self._entrants, self._judge = strategy, entrants, judge
        self._contest: Contest | None = None
        self._asked: set[Hashable] = set()
        self._count = 0
        self._most: int | None = None

    def next(self) -> tuple[Question, ...]:
        """Return the questions to ask now, each once, none when enough is known; `JudgeError` for anything else."""
        contest, most = self._opened(), self._bound()
        with _faults_of(self._strategy, "next"):
            found: object = contest.next()
            if not isinstance(found, Iterable):
                raise _broken(self._strategy, f"next() returned {type(found).__name__}", "return Draw and Match")
            # One that yields questions for ever is cut off as well.
            questions = list(islice(found, most + 1))
        asked = {self._key(one): one for one in questions}
        self._count += len(asked)
        if self._count > most:
            raise _broken(
                self._strategy,
                f"asks more than {most:,} questions about {self._entrants.count} candidates",
                "let next() come to an end, and most_calls() say how many calls it takes at most",
            )
        if asked and self._asked.issuperset(asked):
            raise _broken(self._strategy, "asks again what it was answered", "let hear() keep what it hears")
        self._asked.update(asked)
        return tuple(asked.values())

    def hear(self, question: Question, answer: Heard) -> None:
        """Hand on the answer to one of the questions; a contest that fails raises `JudgeError`."""
        contest = self._opened()
        with _faults_of(self._strategy, "hear"):
            contest.hear(question, answer)

    def standing(self) -> Standing:
        """Return how the entrants stand, in plain numbers; a `JudgeError` where it fails or is no standing."""
        contest = self._opened()
        with _faults_of(self._strategy, "standing"):
            found: object = contest.standing()
            if not isinstance(found, Standing):
                raise _broken(self._strategy, f"standing() returned {type(found).__name__}", "return a Standing")
            return self._checked(found)

    def _opened(self) -> Contest:
        if self._contest is None:
            with _faults_of(self._strategy, "contest"):
                self._contest = self._strategy.contest(self._entrants)
        return self._contest

    def _bound(self) -> int:
        if self._most is None:
            calls = most_calls_of(self._strategy, self._judge, self._entrants.count)
            # One call may answer a question about each; the first ones may go to a judge that asks no model.
            self._most = self._entrants.count * (1 + calls if calls else MOST_QUESTIONS)
        return self._most

    def _key(self, question: object) -> Hashable:
        """Return what makes a question this one, provided that it is one about these entrants."""
        count = self._entrants.count
        if isinstance(question, Draw) and _whole(question.candidate, count) and _whole(question.number):
            at = question.temperature
            if at is None or (plain_number(at) is not None and at >= 0):
                return question.candidate, question.number, at
        if isinstance(question, Match) and _whole(question.a, count) and _whole(question.b, count):
            by = question.judge
            if question.a < question.b and (by is None or isinstance(by, protocol.Judge)):
                return question.a, question.b, "by", None if by is None else id(by)
        raise _broken(
            self._strategy,
            f"asks {printable(repr(question), longest=80)} about {count} candidates",
            "ask by Draw(candidate, number) and Match(a, b) with positions from 0, a below b",
        )

    def _checked(self, standing: Standing) -> Standing:
        verdicts = tuple(standing.verdicts)
        if len(verdicts) != self._entrants.count or not all(isinstance(one, Score | Unscored) for one in verdicts):
            raise _broken(
                self._strategy,
                f"standing() has no verdict for each of {self._entrants.count} candidates",
                "return one Score or Unscored a candidate, in order",
            )
        (regret,) = self._numbers("expected_regret", (standing.expected_regret,), 1)
        count = self._entrants.count
        return Standing(
            verdicts,
            standard_errors=self._numbers("standard_errors", standing.standard_errors, count),
            p_best=self._numbers("p_best", standing.p_best, count),
            expected_regret=regret,
            p_best_reason=str(standing.p_best_reason),
            second=self._numbers("second", standing.second, count),
            lost_may_decide=None if standing.lost_may_decide is None else bool(standing.lost_may_decide),
            stopped=str(standing.stopped),
        )

    def _numbers(self, name: str, values: Sequence[float | None], count: int) -> tuple[float | None, ...]:
        given = tuple(values)
        found = tuple(None if one is None else plain_number(one) for one in given)
        lost = [one for one, plain in zip(given, found, strict=True) if plain is None and one is not None]
        if lost or len(given) not in {0, count}:
            what = f"holds {printable(repr(lost[0]), longest=40)}" if lost else f"has {len(given)} entries"
            raise _broken(
                self._strategy,
                f"standing().{name} {what} for {self._entrants.count} candidates",
                "give a finite number or None for each, or leave it empty",
            )
        return found


def most_calls_of(strategy: Strategy, judge: protocol.Judge, candidates: int) -> int:
    """Return the most answers of models that a strategy takes; one that does not say a number is a `JudgeError`.

    Examples
    --------
    >>> from bonwise.judges.calling import as_judge
    >>> from bonwise.selection.strategies.scores import Greedy
    >>> most_calls_of(Greedy(), as_judge(lambda prompt, text: 1), 8)
    0
    """
    with _faults_of(strategy, "most_calls"):
        found = strategy.most_calls(judge, candidates)
        if not _whole(found):
            what = printable(repr(found), longest=40)
            raise _broken(strategy, f"most_calls() returned {what}", "return a whole number of 0 or more")
        return int(found)


def consulted(router: Considering, first_pass: FirstPass, key: str) -> Route:
    """Return what a router makes of a pool; one that fails, or answers what is no route, sends nothing.

    Examples
    --------
    >>> class Broken:
    ...     def consider(self, first_pass, key=""):
    ...         return 1 / 0
    >>> consulted(Broken(), FirstPass([Score(1.0), Score(0.5)]), "p").reason
    'the router failed: ZeroDivisionError: division by zero'
    """
    try:
        route: object = router.consider(first_pass, key=key)
    except Exception as error:  # noqa: BLE001 - a router may be anybody's; the first judge decides without it
        why = printable(f"{type(error).__name__}: {error}", longest=200)
        return Route(strong=False, signal=None, reason=f"the router failed: {why}")
    if not isinstance(route, Route):
        return Route(strong=False, signal=None, reason=f"the router failed: it returned {type(route).__name__}")
    signal, reason = plain_number(route.signal), str(route.reason)
    count, some = len(first_pass.verdicts), tuple(route.contenders)
    if some and (len(set(some)) != len(some) or len(some) < 2 or not all(_whole(one, count) for one in some)):
        what = f"{printable(repr(some), longest=40)} are not two or more of {count} candidates"
        return Route(strong=False, signal=signal, reason=f"the router failed: the contenders {what}")
    return Route(bool(route.strong), signal, reason, some)


@contextmanager
def _faults_of(strategy: Strategy, method: str) -> Iterator[None]:
    """Name the strategy whose code fails."""
    try:
        yield
    except BonwiseError:
        raise
    except Exception as error:
        hint = "mend the strategy, or take another one"
        raise calling.fault(error, f"strategy {strategy.name}", method, hint) from error


def _broken(strategy: Strategy, what: str, hint: str) -> JudgeError:
    return JudgeError(f"strategy {strategy.name}: {what}", hint=hint)


def _whole(value: object, below: int | None = None) -> bool:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return False
    number = value.__index__()
    return number >= 0 and (below is None or number < below)
