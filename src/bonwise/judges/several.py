"""A judge made of several judges: heard at once while some of them may fail, and what each of them says."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Self

from bonwise.calls.ask import Answers, Ask
from bonwise.calls.bill import NOTHING_PAID
from bonwise.errors import BonwiseError, CallError, JudgeError
from bonwise.flags import takes_numbers
from bonwise.judges import asking, calling, judging, protocol
from bonwise.judges.protocol import AskingJudge, Conclusion, Judge, Judgment, is_asking
from bonwise.table.verdicts import Score, Unscored, Verdict, kept

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine

Verdicts = tuple[Verdict, ...]


@takes_numbers
class SeveralJudges(ABC, Judge):
    """A judge whose parts judge the whole pool, each by its own questions, and that joins what they say."""

    listwise = True

    @property
    @abstractmethod
    def parts(self) -> tuple[Judge, ...]:
        """The judges that are heard, in a fixed order."""

    @abstractmethod
    def joined(self, candidates: Sequence[str], heard: Sequence[Verdicts]) -> Verdicts:
        """Return one verdict per candidate from what each of the parts says, one verdict per candidate."""

    @property
    def variables(self) -> tuple[str, ...]:
        """What its judges need of a pool beyond prompt and candidates."""
        return protocol.variables_of(self.parts)

    @abstractmethod
    def given(self, values: protocol.Values) -> Self:
        """Return this judge of one pool."""

    @property
    def asking(self) -> bool:
        """Whether one of its judges asks a model."""
        return any(map(is_asking, self.parts))

    def asks(self, prompt: str, candidates: Sequence[str]) -> list[Ask]:
        """Return the questions of all judges, one judge after the other; none of a judge that fails to say them."""
        return [ask for part in self.parts for ask in asks_of_part(part, prompt, candidates)]

    def calls(self, candidates: int) -> int:
        """Return the calls of all judges together."""
        return sum(calling.calls_of(part, candidates) for part in self.parts)

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Deal the answers back to the judges, let each conclude, and join what they say.

        A judge that asks no model is called here; one that is asynchronous has no score.
        """
        concluded, at = [], 0
        for part in self.parts:
            count = len(asks_of_part(part, prompt, candidates))
            concluded.append(concluded_by(part, prompt, candidates, answers[at : at + count]))
            at += count
        return Conclusion(self.joined(candidates, concluded))

    async def judged_by(
        self, engine: Engine, prompt: str, candidates: Sequence[str], draw: int, temperature: float | None
    ) -> Judgment:
        """Let every judge judge as it would alone, and join what they say; costs are summed."""
        judgments = await heard(engine, self.parts, prompt, candidates, draw, temperature)
        return paid_by(judgments, self.joined(candidates, [judgment.verdicts for judgment in judgments]))

    def judge(self, prompt: str, candidates: Sequence[str]) -> Sequence[Verdict] | Awaitable[Sequence[Verdict]]:
        """Ask all judges and wait, or call judges that ask no model."""
        if self.asking:
            return asking.ask_now(self, prompt, candidates)
        answers = called_together(self.parts, prompt, candidates)
        return (
            self._awaited(answers, candidates) if inspect.isawaitable(answers) else self.joined(candidates, answers)
        )

    async def _awaited(self, coming: Awaitable[list[Verdicts]], candidates: Sequence[str]) -> Verdicts:
        return self.joined(candidates, await coming)


def paid_by(judgments: Sequence[Judgment], verdicts: Verdicts) -> Judgment:
    """Return verdicts that were made of judgments, with what all of these took."""
    sent = [parameters for its in judgments for parameters in its.effective]
    return Judgment(
        verdicts,
        bill=reduce(add, (judgment.bill for judgment in judgments), NOTHING_PAID),
        effective=tuple(parameters for at, parameters in enumerate(sent) if parameters not in sent[:at]),
    )


def words_of(name: str, verdict: Verdict) -> str:
    """Say in one line what a judge of several says of a candidate."""
    return f"{name}: {verdict.value:.6g}" if isinstance(verdict, Score) else f"{name}: no score: {verdict.reason}"


async def heard(
    engine: Engine, judges: Sequence[Judge], prompt: str, texts: Sequence[str], draw: int, temperature: float | None
) -> list[Judgment]:
    """Let judges judge at once; one that fails has no score but a reason; what also fails for others is raised."""
    works = [judging.judge_with(engine, judge, prompt, texts, draw=draw, temperature=temperature) for judge in judges]
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    judgments = []
    for judge, outcome in zip(judges, outcomes, strict=True):
        if isinstance(outcome, Judgment):
            judgments.append(outcome)
            continue
        error = judging.failed(judge, outcome) if isinstance(outcome, asyncio.CancelledError) else outcome
        if not isinstance(error, JudgeError):
            raise error
        judgments.append(Judgment(_without(error.message, texts)))
    return judgments


def called_together(
    judges: Sequence[Judge], prompt: str, texts: Sequence[str]
) -> list[Verdicts] | Awaitable[list[Verdicts]]:
    """Call judges that ask no model in turn, asynchronous ones at once; errors are raised as by `heard`."""
    answers = [_called(judge, prompt, texts) for judge in judges]
    if any(map(inspect.isawaitable, answers)):
        return _awaited(judges, answers, texts)
    return [_verdicts(judge, answer, texts) for judge, answer in zip(judges, answers, strict=True)]


def asks_of_part(judge: Judge, prompt: str, texts: Sequence[str]) -> tuple[Ask, ...]:
    """Return the questions of a judge; none where it asks no model, or fails to say them."""
    try:
        return judging.asked(judge, prompt, texts) if is_asking(judge) else ()
    except JudgeError:
        # What it fails by is said when it concludes.
        return ()


def concluded_by(judge: Judge, prompt: str, texts: Sequence[str], answers: Sequence[Answers]) -> Verdicts:
    """Return what a judge makes of the answers to its questions; one that asks no model is called."""
    if judging.blocks(judge):
        return _verdicts(judge, _called(judge, prompt, texts), texts)
    if not is_asking(judge):
        return _without(_not_awaited(judge).message, texts)
    try:
        return _concluded(judge, prompt, texts, answers)
    except JudgeError as error:
        return _without(error.message, texts)


def _concluded(judge: AskingJudge, prompt: str, texts: Sequence[str], answers: Sequence[Answers]) -> Verdicts:
    if not answers:
        judging.asked(judge, prompt, texts)  # one that fails to say its questions has no answers either
    return judging.concluded(judge, prompt, texts, answers).verdicts


def _called(judge: Judge, prompt: str, texts: Sequence[str]) -> Any:
    try:
        return judge.judge(prompt, texts)
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - it may fail in any way
        return error


async def _awaited(judges: Sequence[Judge], answers: Sequence[Any], texts: Sequence[str]) -> list[Verdicts]:
    async def one(answer: Any) -> Any:
        return await answer if inspect.isawaitable(answer) else answer

    answered = await asyncio.gather(*map(one, answers), return_exceptions=True)
    return [_verdicts(judge, answer, texts) for judge, answer in zip(judges, answered, strict=True)]


def _verdicts(judge: Judge, answer: Any, texts: Sequence[str]) -> Verdicts:
    """Hold an answer to the contract; a judge that failed, or does not keep it, has no score."""
    error = answer if isinstance(answer, BaseException) else None
    if inspect.isawaitable(answer):
        _close(answer)
        error = _not_awaited(judge)
    if error is None:
        try:
            return calling.checked(judge, answer, texts)
        except Exception as raised:  # noqa: BLE001 - what it returned may be lazy, and fail
            error = raised
    if isinstance(error, CallError):
        # As a judge outside a stack: what it asked a model may be answered in a later run.
        return (Unscored(f"owed: {error}", owed=True),) * len(texts)
    if isinstance(error, BonwiseError) and not isinstance(error, JudgeError):
        raise error
    return _without(error.message if isinstance(error, JudgeError) else judging.failed(judge, error).message, texts)


def _not_awaited(judge: Judge) -> JudgeError:
    return JudgeError(f"judge {judge.name!r} is asynchronous, and cannot be awaited here")


def _close(answer: Any) -> None:
    # Python warns of a coroutine that is never awaited.
    if inspect.iscoroutine(answer):
        answer.close()


def _without(reason: str, texts: Sequence[str]) -> Verdicts:
    return (Unscored(kept(reason)),) * len(texts)
