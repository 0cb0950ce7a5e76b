"""The judges of a stack: how they are made, and how each is heard while the others may fail."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonwise.data.judge_stack import JudgeStack
from bonwise.data.verdicts import Unscored, Verdict, kept
from bonwise.data.wording import quoted
from bonwise.errors import BonwiseError, CallError, JudgeError, UsageError
from bonwise.judges.calling import as_judge, asked, checked, concluded
from bonwise.judges.judgment import Judgment
from bonwise.judges.protocol import AskingJudge, Judge, is_asking
from bonwise.judges.registry import judge_from_spec
from bonwise.judges.spec import Spec, read_spec

if TYPE_CHECKING:
    from bonwise.calls.answer import Answers
    from bonwise.calls.ask import Ask
    from bonwise.calls.engine import Engine

__all__ = [
    "Verdicts",
    "asks_of_part",
    "called_together",
    "concluded_by",
    "heard",
    "judge_of",
    "names_no_model",
    "opened",
]

Verdicts = tuple[Verdict, ...]

_DEEPEST = 8

_HINT = "give it in Python, judges={name: judge}, or name the text that makes it: bonwise stack fit --spec NAME=SPEC"


def opened(source: object) -> tuple[JudgeStack, Mapping[str, str]]:
    """Return the weights, and the texts that make its judges where the names do not.

    Raises
    ------
    bonwise.errors.FileError
        The file cannot be read, or was changed after it was written.
    bonwise.errors.UsageError
        Nothing that holds a stack.
    """
    if isinstance(source, JudgeStack):
        return source, {}
    if isinstance(source, str | Path) and str(source):
        # A stack that was made in Python needs no documents.
        from bonwise.documents.stack_model import read_stack_model  # noqa: PLC0415

        return read_stack_model(source)
    to_stack = getattr(source, "to_stack", None)
    if not callable(to_stack):
        what = "no file of a stack is named" if source == "" else f"{type(source).__name__} holds no stack"
        raise UsageError(what, hint="name the file that bonwise stack fit --out wrote: stack:stack.json")
    return to_stack(), getattr(source, "specs", None) or {}


def judge_of(name: str, made: Any, *, model: str | None, base_url: str | None, seed: int) -> Judge:
    """Make a judge of a stack.

    Parameters
    ----------
    name : str
        What the stack calls it.
    made : Judge, callable or str
        The judge, a function ``(prompt, text) -> number``, or a text as on a command line.
    model, base_url, seed
        As of `judge_from_spec`.

    Raises
    ------
    bonwise.errors.UsageError
        A text that makes no judge, that makes another stack, or that states an address.
    bonwise.errors.JudgeError
        Neither a judge nor a function.
    """
    if not isinstance(made, str):
        return as_judge(made)
    try:
        _check_spec(made)
        return judge_from_spec(made, model=model, base_url=base_url, seed=seed)
    except UsageError as error:
        said = "" if made == name else f" of {quoted(made)}"
        raise UsageError(
            f"the judge {quoted(name)} of the stack cannot be made{said}: {error.message}", hint=_HINT
        ) from None


def _check_spec(spec: str) -> None:
    for depth, one in enumerate(_nested(spec)):
        if depth == _DEEPEST:
            raise UsageError(f"it holds more than {_DEEPEST} judges, one within the other")
        if one.kind == "stack":
            raise UsageError("a stack is made of judges, not of stacks")
        if "base_url" in one.options:
            # A file from elsewhere must not say where prompts and keys are sent.
            raise UsageError("it states an address (base_url)")


def names_no_model(spec: str) -> bool:
    """Tell whether a text leaves it to its caller which model is asked.

    Examples
    --------
    >>> names_no_model("resampled,draws=3,of=pointwise"), names_no_model("pointwise:openai/m")
    (True, False)
    """
    return not list(_nested(spec))[-1].rest


def _nested(spec: str) -> Iterator[Spec]:
    read = read_spec(spec)
    yield read
    while read.of:
        read = read_spec(read.of)
        yield read


async def heard(
    engine: Engine, judges: Sequence[Judge], prompt: str, texts: Sequence[str], draw: int, temperature: float | None
) -> list[Judgment]:
    """Let judges judge at once; one that fails has no score of any candidate, and the reason.

    Raises
    ------
    bonwise.errors.BonwiseError
        Whatever would also fail for the other judges: settings that mean nothing, a ledger that cannot be used.
    """
    from bonwise.judges.judging import failed, judge_with  # noqa: PLC0415 - a stack that is only described asks nothing

    works = [judge_with(engine, one, prompt, texts, draw=draw, temperature=temperature) for one in judges]
    found = await asyncio.gather(*works, return_exceptions=True)
    judgments = []
    for one, outcome in zip(judges, found, strict=True):
        if isinstance(outcome, Judgment):
            judgments.append(outcome)
            continue
        error = failed(one, outcome) if isinstance(outcome, asyncio.CancelledError) else outcome
        if not isinstance(error, JudgeError):
            raise error
        judgments.append(Judgment(_without(error.message, texts)))
    return judgments


def called_together(
    judges: Sequence[Judge], prompt: str, texts: Sequence[str]
) -> list[Verdicts] | Awaitable[list[Verdicts]]:
    """Call judges that ask no model, one after the other; those that are asynchronous are awaited at once.

    Raises
    ------
    bonwise.errors.BonwiseError
        As `heard`.
    """
    answers = [_called(one, prompt, texts) for one in judges]
    if any(map(inspect.isawaitable, answers)):
        return _awaited(judges, answers, texts)
    return [_verdicts(one, answer, texts) for one, answer in zip(judges, answers, strict=True)]


def asks_of_part(judge: Judge, prompt: str, texts: Sequence[str]) -> tuple[Ask, ...]:
    """Return the questions of a judge; none where it asks no model, or fails to say them."""
    try:
        return asked(judge, prompt, texts) if is_asking(judge) else ()
    except JudgeError:
        # What it fails by is said when it concludes.
        return ()


def concluded_by(judge: Judge, prompt: str, texts: Sequence[str], answers: Sequence[Answers]) -> Verdicts:
    """Return what a judge makes of the answers to its questions; one that asks no model is called."""
    from bonwise.judges.judging import blocks  # noqa: PLC0415 - as above

    if blocks(judge):
        return _verdicts(judge, _called(judge, prompt, texts), texts)
    if not is_asking(judge):
        return _without(_not_awaited(judge).message, texts)
    try:
        return _concluded(judge, prompt, texts, answers)
    except JudgeError as error:
        return _without(error.message, texts)


def _concluded(judge: AskingJudge, prompt: str, texts: Sequence[str], answers: Sequence[Answers]) -> Verdicts:
    if not answers:
        asked(judge, prompt, texts)  # one that fails to say its questions has no answers either
    return concluded(judge, prompt, texts, answers).verdicts


def _called(judge: Judge, prompt: str, texts: Sequence[str]) -> Any:
    try:
        return judge.judge(prompt, texts)
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - it may fail in any way
        return error


async def _awaited(judges: Sequence[Judge], answers: Sequence[Any], texts: Sequence[str]) -> list[Verdicts]:
    async def one(answer: Any) -> Any:
        return await answer if inspect.isawaitable(answer) else answer

    found = await asyncio.gather(*map(one, answers), return_exceptions=True)
    return [_verdicts(judge, answer, texts) for judge, answer in zip(judges, found, strict=True)]


def _verdicts(judge: Judge, answer: Any, texts: Sequence[str]) -> Verdicts:
    """Hold an answer to the contract; a judge that failed, or does not keep it, has no score."""
    from bonwise.judges.judging import failed  # noqa: PLC0415 - as above

    error = answer if isinstance(answer, BaseException) else None
    if inspect.isawaitable(answer):
        _close(answer)
        error = _not_awaited(judge)
    if error is None:
        try:
            return checked(judge, answer, texts)
        except Exception as raised:  # noqa: BLE001 - what it returned may be lazy, and fail
            error = raised
    if isinstance(error, CallError):
        # As a judge outside a stack: what it asked a model may be answered in a later run.
        return (Unscored(f"owed: {error.message}", owed=True),) * len(texts)
    if isinstance(error, BonwiseError) and not isinstance(error, JudgeError):
        raise error
    return _without(error.message if isinstance(error, JudgeError) else failed(judge, error).message, texts)


def _not_awaited(judge: Judge) -> JudgeError:
    return JudgeError(f"judge {judge.name!r} is asynchronous, and cannot be awaited here")


def _close(answer: Any) -> None:
    # Python warns of a coroutine that is never awaited.
    if inspect.iscoroutine(answer):
        answer.close()


def _without(reason: str, texts: Sequence[str]) -> Verdicts:
    return (Unscored(kept(reason)),) * len(texts)
