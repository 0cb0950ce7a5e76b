"""A contest on its way: questions become uses of a judge, answers come back, and what they cost is added up.

Strategies and routers are held to their contracts: what a plug-in does wrong becomes one error, in one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Protocol

from bonwise.calls.ask import Ask
from bonwise.calls.bill import NOTHING_PAID, Bill
from bonwise.errors import BonwiseError, CallError, JudgeError, UsageError
from bonwise.judges import calling, comparing, judging
from bonwise.judges.judging import Result
from bonwise.judges.protocol import Judge, Judgment, is_asking, is_listwise
from bonwise.printable import printable
from bonwise.routing.control import FirstPass, Route
from bonwise.selection.draws import kept_verdict
from bonwise.selection.judge_runner import Call, JudgeRunner
from bonwise.selection.protocol import Contest, Draw, Entrants, Heard, Match, Question, Standing, Strategy
from bonwise.table.verdicts import Preference, Score, Unscored, Verdict, compared, plain_number

MOST_QUESTIONS = 10_000
"""About each candidate, where a strategy does not say how many calls of a model it takes at most."""


class Considering(Protocol):
    """What is asked of a router here."""

    def consider(self, first_pass: FirstPass, key: str = "") -> Route:
        """Say whether the stronger judge decides."""
        ...


def most_calls_of(strategy: Strategy, judge: Judge, candidates: int) -> int:
    """Return the most answers of models that a strategy takes; one that does not say a number is a `JudgeError`."""
    try:
        most = strategy.most_calls(judge, candidates)
    except BonwiseError:
        raise
    except Exception as error:
        raise _fault_of(strategy, "most_calls", error) from error
    if not _whole(most):
        what = printable(repr(most), longest=40)
        raise _broken(strategy, f"most_calls() returned {what}", "return a whole number of 0 or more")
    return int(most)


def consulted(router: Considering, first_pass: FirstPass, key: str) -> Route:
    """Return what a router makes of a pool; one that fails, or answers what is no route, sends nothing."""
    try:
        route: object = router.consider(first_pass, key=key)
    except Exception as error:  # noqa: BLE001 - a router may be anybody's; the first judge decides without it
        why = printable(f"{type(error).__name__}: {error}", longest=200)
        return Route(strong=False, signal=None, reason=f"the router failed: {why}")
    if not isinstance(route, Route):
        return Route(strong=False, signal=None, reason=f"the router failed: it returned {type(route).__name__}")
    signal, reason = plain_number(route.signal), str(route.reason)
    count, some = len(first_pass.verdicts), tuple(route.contenders)
    if some and (len(set(some)) != len(some) or len(some) < 2 or not all(_whole(entrant, count) for entrant in some)):
        what = f"{printable(repr(some), longest=40)} are not two or more of {count} candidates"
        return Route(strong=False, signal=signal, reason=f"the router failed: the contenders {what}")
    return Route(bool(route.strong), signal, reason, some)


def _fault_of(strategy: Strategy, method: str, error: Exception) -> JudgeError:
    return judging.fault(error, f"strategy {strategy.name}", method, "mend the strategy, or take another one")


def _broken(strategy: Strategy, what: str, hint: str) -> JudgeError:
    return JudgeError(f"strategy {strategy.name}: {what}", hint=hint)


def _key(strategy: Strategy, question: object, count: int) -> Hashable:
    """Return what makes a question this one, provided that it is one about so many entrants."""
    if type(question) is Draw and question.temperature is None:
        candidate, number = question.candidate, question.number
        if type(candidate) is type(number) is int and 0 <= candidate < count and number >= 0:
            return candidate, number, None
    if isinstance(question, Draw) and _whole(question.candidate, count) and _whole(question.number):
        at = question.temperature
        if at is None or (plain_number(at) is not None and at >= 0):
            return question.candidate, question.number, at
    if isinstance(question, Match) and _whole(question.a, count) and _whole(question.b, count):
        by = question.judge
        if question.a < question.b and (by is None or isinstance(by, Judge)):
            return question.a, question.b, "by", None if by is None else id(by)
    raise _broken(
        strategy,
        f"asks {printable(repr(question), longest=80)} about {count} candidates",
        "ask by Draw(candidate, number) and Match(a, b) with positions from 0, a below b",
    )


def _checked(
    strategy: Strategy, standing: object, count: int, lost_may_decide: Callable[[Standing], bool]
) -> Standing:
    """Return a standing of so many entrants in plain numbers, provided that it is one."""
    if not isinstance(standing, Standing):
        raise _broken(strategy, f"standing() returned {type(standing).__name__}", "return a Standing")
    verdicts = tuple(standing.verdicts)
    if not len(verdicts) == count == len([verdict for verdict in verdicts if isinstance(verdict, Score | Unscored)]):
        raise _broken(
            strategy,
            f"standing() has no verdict for each of {count} candidates",
            "return one Score or Unscored a candidate, in order",
        )

    def numbers(name: str, values: Sequence[float | None], entries: int = count) -> tuple[float | None, ...]:
        if type(values) is tuple and not values:
            return values
        given = tuple(values)
        plain = tuple([None if value is None else plain_number(value) for value in given])
        lost = [value for value, number in zip(given, plain, strict=True) if number is None and value is not None]
        if lost or len(given) not in {0, entries}:
            what = f"holds {printable(repr(lost[0]), longest=40)}" if lost else f"has {len(given)} entries"
            raise _broken(
                strategy,
                f"standing().{name} {what} for {count} candidates",
                "give a finite number or None for each, or leave it empty",
            )
        return plain

    regret = standing.expected_regret
    return Standing(
        verdicts,
        standard_errors=numbers("standard_errors", standing.standard_errors),
        p_best=numbers("p_best", standing.p_best),
        expected_regret=None if regret is None else numbers("expected_regret", (regret,), 1)[0],
        p_best_reason=str(standing.p_best_reason),
        second=numbers("second", standing.second),
        lost_may_decide=lost_may_decide(standing),
        stopped=str(standing.stopped),
    )


def _whole(value: object, below: int | None = None) -> bool:
    if type(value) is int:
        return value >= 0 and (below is None or value < below)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return False
    number = value.__index__()
    return number >= 0 and (below is None or number < below)


def calls_for(
    questions: Iterable[Question], judge: Judge, prompt: str, texts: Sequence[str], pool: Sequence[str] = ()
) -> list[tuple[Call, tuple[Question, ...]]]:
    """Return each use of a judge with its questions; one that asks no model sees all of a `pool` at once."""
    texts = tuple(texts)
    everything = tuple(pool) if pool and _sees_the_pool(judge) else texts
    together: dict[tuple[int, float | None], list[Draw]] = {}
    alone = _judges_alone(judge)
    calls: list[tuple[Call, tuple[Question, ...]]] = []
    for question in questions:
        if isinstance(question, Match):
            calls.append((Call(question.judge or judge, prompt, (texts[question.a], texts[question.b])), (question,)))
        elif alone:
            calls.append(
                (
                    Call(judge, prompt, (texts[question.candidate],), question.number, question.temperature),
                    (question,),
                )
            )
        else:
            together.setdefault((question.number, question.temperature), []).append(question)
    for (number, temperature), draws in together.items():
        redrawn_alone = number and (_judges_alone(judge, again=True) if is_asking(judge) else not is_listwise(judge))
        shown = tuple(texts[draw.candidate] for draw in draws) if redrawn_alone else everything
        calls.append((Call(judge, prompt, shown, number, temperature), tuple(draws)))
    return calls


def asks_of(call: Call) -> Iterator[Ask]:
    """Yield what a use of a judge asks of models, perhaps nothing; a broken contract is a `JudgeError`."""
    if not is_asking(call.judge):
        return
    if not call.draw:
        yield from judging.first_asked(call.judge, call.prompt, call.texts)
    for ask in judging.asked(call.judge, call.prompt, call.texts):
        yield judging.redrawn(ask, call.draw, call.temperature)


def _judges_alone(judge: Judge, *, again: bool = False) -> bool:
    """Tell whether a judge judges each candidate by itself, so that one can be asked about without the others."""
    if is_asking(judge):
        single, pair = (calling.calls_of(judge, count, again=again) for count in (1, 2))
        return not is_listwise(judge) and 0 < 2 * single == pair
    # Each answer of a function counts as soon as it is there, and where it fails, it fails for one candidate.
    return isinstance(judge, calling.FunctionJudge) and not judge.batch


def _sees_the_pool(judge: Judge) -> bool:
    return not is_asking(judge) and not isinstance(judge, calling.FunctionJudge)


def with_stated_chances(standing: Standing, heard: Mapping[int, Verdict]) -> Standing:
    """Return a standing with the judge's own chances and regret where the strategy has none and none is pending."""
    if standing.p_best or standing.expected_regret is not None:
        return standing
    for verdict in heard.values():
        if isinstance(verdict, Score) and verdict.p_best is None:
            return standing
    verdicts = [heard.get(at) for at in range(len(standing.verdicts))]
    scored = [verdict for verdict in verdicts if isinstance(verdict, Score)]
    if not scored or any(verdict is None or (isinstance(verdict, Unscored) and verdict.owed) for verdict in verdicts):
        return standing
    values = compared([score.value for score in scored])
    top = max(value for value in values if value is not None)
    # Chance decides among those that share the top score.
    regrets = [score.expected_regret for score, value in zip(scored, values, strict=True) if value == top]
    stated = [regret for regret in regrets if regret is not None]
    return replace(
        standing,
        p_best=tuple(verdict.p_best if isinstance(verdict, Score) else None for verdict in verdicts),
        expected_regret=sum(stated) / len(stated) if stated else None,
        p_best_reason="",
    )


Asked = tuple[Call, tuple[Question, ...]]
"""A call, and the questions that its judgment answers."""


class ContestRun:
    """One contest, asked and heard, whose every word is checked.

    `judge` answers what names no other judge; `second` judges all texts too, beside the first round and unheard by
    the contest. `texts` has one text an entrant; `pool` those of all candidates, of which a judge that asks no model
    sees also those that occur twice. `until` is in seconds of the runner's clock; None for no such limit.

    Questions are about entrants that there are, and none is asked for ever: about n entrants n (1 + m) questions, m
    the strategy's `most_calls`, or 10,000 about each where that is 0. Its standing has one verdict an entrant and
    finite numbers. The first use opens the contest of the strategy.
    """

    def __init__(  # noqa: PLR0913 - all that a contest needs of the world around it
        self,
        strategy: Strategy,
        entrants: Entrants,
        judge: Judge,
        runner: JudgeRunner,
        prompt: str,
        texts: Sequence[str],
        *,
        until: float | None,
        second: Judge | None = None,
        pool: Sequence[str] = (),
    ) -> None:
        self.judge, self._asks_model = judge, is_asking(judge)
        self.bill: Bill = NOTHING_PAID
        self.effective: list[Mapping[str, Any]] = []
        self.preferences: list[Preference] = []
        self._matches: list[Preference] = []
        self._behind_scores: list[Preference] = []
        self.draws: Counter[int] = Counter()
        self.first: dict[int, Verdict] = {}
        """The first verdict on each entrant, as it came."""
        self.again: dict[int, dict[int, Verdict]] = {}
        """The further verdicts on each entrant, by the number of the draw."""
        self.members: dict[str, dict[int, list[Verdict]]] = {}
        """What each member of a jury, or criterion of a rubric, said of each entrant, one verdict per draw."""
        self.evaluations = 0
        """Candidates that judges which ask no model have judged; a redraw counts again."""
        self.others: list[Sequence[Verdict]] = []
        """What the second judge found."""
        self.owed: dict[int, Unscored] = {}
        """Why an answer about an entrant is missing, where that is known."""
        self.late = False
        """Whether the time was up before every answer was there."""
        self.error: BonwiseError | None = None
        """What went wrong first; nothing was asked after that."""
        self._runner, self._prompt, self._texts, self._until = runner, prompt, tuple(texts), until
        self._strategy, self._entrants = strategy, entrants
        self._contest: Contest | None = None
        self._deaf = False
        self._asked: set[Hashable] = set()
        self._questions = 0
        self._most: int | None = None
        self._second, self._pool = second, tuple(pool)

    @property
    def over(self) -> bool:
        """Whether something ended it before the strategy had enough."""
        return self.late or self.error is not None

    async def finish(self) -> None:
        """Ask and hear to the end."""
        while await self.round():
            pass

    async def round(self) -> bool:
        """Ask what the contest wants to know now; tell whether there may be more to ask."""
        questions = self._next()
        if not questions:
            return False
        asked: list[Asked] = calls_for(questions, self.judge, self._prompt, self._texts, self._pool)
        if self._second is not None:
            asked.append((Call(self._second, self._prompt, self._texts), ()))
            self._second = None
        results = await self._runner.judge([call for call, _ in asked], self._until)
        self.bill = self.bill.with_all([result.bill for result in results if isinstance(result, Judgment)])
        for (call, answered), result in zip(asked, results, strict=True):
            self._take(call, answered, result)
        return not self.over

    def with_what_was_said(self, standing: Standing, places: Sequence[int | None]) -> Standing:
        """Return a standing with what the judge said; `places` says which entrant each is here, None if none."""
        pairs = list(zip(places, standing.verdicts, strict=True))
        if not self.again and not [at for at, verdict in pairs if at is None or self.first.get(at) is not verdict]:
            return standing
        verdicts = tuple(verdict if at is None else kept_verdict(verdict, self._heard(at)) for at, verdict in pairs)
        return replace(standing, verdicts=verdicts)

    def _heard(self, entrant: int) -> list[Verdict]:
        """Return the verdicts on an entrant, in the order of their draws; none where it was compared only."""
        if entrant not in self.first:
            return []
        again = self.again.get(entrant, {})
        return [self.first[entrant], *(again[number] for number in sorted(again))]

    def standing(self) -> Standing:
        """Return how the entrants stand; of a contest that fails the first scores count, and nothing else."""
        if not self._deaf:
            try:
                returned = self._checked_standing(self._opened())
                # Of several scores of a candidate the judge has not said how their mean fares.
                return returned if self.again else with_stated_chances(returned, self.first)
            except UsageError:
                raise
            except BonwiseError as error:
                self.error = self.error or error
        why = "a contest failed" if self.error is None else self.error.message
        lost = Unscored(f"owed: {why}", owed=True)
        return Standing(tuple(self.first.get(at, lost) for at in range(len(self._texts))), stopped=why)

    def _checked_standing(self, contest: Contest) -> Standing:
        try:  # by hand, as in `_questions_now`
            return _checked(self._strategy, contest.standing(), self._entrants.count, self._lost_may_decide)
        except BonwiseError:
            raise
        except Exception as error:
            raise _fault_of(self._strategy, "standing", error) from error

    def _lost_may_decide(self, standing: Standing) -> bool:
        """Tell whether lost comparisons, those behind the scores of a judge among them, could change the pick."""
        of_matches = standing.lost_may_decide
        if of_matches is None:
            of_matches = any(preference.lost for preference in self._matches)
        behind = self._behind_scores
        return bool(of_matches) or (bool(behind) and comparing.lost_may_decide(len(self._texts), behind))

    def _next(self) -> Sequence[Question]:
        if self.over:
            return ()
        try:
            return self._questions_now()
        except UsageError:
            raise
        except BonwiseError as error:
            self.error = error
            return ()

    def _questions_now(self) -> tuple[Question, ...]:
        """Return what the contest asks now, each question once; `JudgeError` where it asks anything else."""
        strategy, contest, most = self._strategy, self._opened(), self._most_questions()
        try:  # by hand: this runs more often than all else that a strategy may fail in
            returned: object = contest.next()
            # One that yields questions for ever is cut off as well.
            questions = list(islice(returned, most + 1)) if isinstance(returned, Iterable) else None
        except BonwiseError:
            raise
        except Exception as error:
            raise _fault_of(strategy, "next", error) from error
        if questions is None:
            raise _broken(strategy, f"next() returned {type(returned).__name__}", "return Draw and Match")
        asked = {_key(strategy, question, self._entrants.count): question for question in questions}
        self._questions += len(asked)
        if self._questions > most:
            raise _broken(
                strategy,
                f"asks more than {most:,} questions about {self._entrants.count} candidates",
                "let next() come to an end, and most_calls() say how many calls it takes at most",
            )
        if asked and self._asked.issuperset(asked):
            raise _broken(strategy, "asks again what it was answered", "let hear() keep what it hears")
        self._asked.update(asked)
        return tuple(asked.values())

    def _opened(self) -> Contest:
        if self._contest is None:
            try:
                self._contest = self._strategy.contest(self._entrants)
            except BonwiseError:
                raise
            except Exception as error:
                raise _fault_of(self._strategy, "contest", error) from error
        return self._contest

    def _most_questions(self) -> int:
        if self._most is None:
            calls = most_calls_of(self._strategy, self.judge, self._entrants.count)
            # One call may answer a question about each; the first ones may go to a judge that asks no model.
            self._most = self._entrants.count * (1 + calls if calls else MOST_QUESTIONS)
        return self._most

    def _take(self, call: Call, asked: Sequence[Question], result: Result) -> None:
        if result is None:
            self.late = True
        elif isinstance(result, BonwiseError) and not asked:
            # The pick does not rest on the second judge; without it the router has one signal less.
            self.others.append([Unscored(f"owed: {result.message}", owed=True)] * len(self._texts))
        elif isinstance(result, BonwiseError):
            self.error = self.error or result
            self._miss(asked, Unscored(f"owed: {result.message}", owed=True))
        else:
            asks_model = self._asks_model if call.judge is self.judge else is_asking(call.judge)
            if isinstance(call.judge, calling.FunctionJudge) or not asks_model:
                self.evaluations += len(call.texts)
            if result.effective:
                self.effective += [parameters for parameters in result.effective if parameters not in self.effective]
            if not asked:
                self.others.append(result.verdicts)
            elif not isinstance(asked[0], Match):
                self.preferences += result.preferences
                self._behind_scores += result.preferences
            for question in asked:
                self._hear(call, question, result)

    def _hear(self, call: Call, question: Question, judgment: Judgment) -> None:
        answer: Heard
        if isinstance(question, Match):
            answer = _preference(question, judgment)
            self.preferences.append(answer)
            self._matches.append(answer)
        else:
            at = call.texts.index(self._texts[question.candidate])
            answer = judgment.verdicts[at]
            for name, member in judgment.members:
                self.members.setdefault(name, {}).setdefault(question.candidate, []).append(member.verdicts[at])
            if question.candidate in self.first:
                self.again.setdefault(question.candidate, {})[question.number] = answer
            else:
                self.first[question.candidate] = answer
            self.draws[question.candidate] = self.draws.get(question.candidate, 0) + 1
        owed = None if isinstance(answer, Score) else _owed(answer)
        if owed is not None:
            reason = owed.reason.removeprefix("owed: ")
            # What is known of a candidate stays known: its contest does not hear of an answer that is still to come.
            self.error = self.error or CallError(f"judge {call.judge.name!r} was not answered: {reason}")
            self._miss((question,), owed)
            return
        try:
            contest = self._opened() if self._contest is None else self._contest
            contest.hear(question, answer)
        except UsageError:
            raise
        except Exception as raised:  # noqa: BLE001 - a strategy may fail in any way
            error = raised if isinstance(raised, BonwiseError) else _fault_of(self._strategy, "hear", raised)
            if error is not raised:
                error.__cause__ = raised
            self._deaf, self.error = True, self.error or error

    def _miss(self, asked: Sequence[Question], why: Unscored) -> None:
        for question in asked:
            about = (question.a, question.b) if isinstance(question, Match) else (question.candidate,)
            self.owed |= {entrant: why for entrant in about if entrant not in self.owed}


def _preference(match: Match, judgment: Judgment) -> Preference:
    """Return how the first of two texts fared; a judge that only scores prefers the higher score."""
    if judgment.preferences:
        return replace(judgment.preferences[0], a=match.a, b=match.b)
    a, b = judgment.verdicts
    if isinstance(a, Unscored):
        return Preference(match.a, match.b, a, None)
    if isinstance(b, Unscored):
        return Preference(match.a, match.b, b, None)
    first, second = compared((a.value, b.value))
    return Preference(match.a, match.b, 0.5 if first == second else float(a.value > b.value), None)


def _owed(answer: Heard) -> Unscored | None:
    parts = (answer.shown_first, answer.shown_second) if isinstance(answer, Preference) else (answer,)
    return next((part for part in parts if isinstance(part, Unscored) and part.owed), None)
