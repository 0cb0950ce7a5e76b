"""From a contest's questions to uses of a judge, and to what these ask of models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bonwise.calls.ask import Ask
from bonwise.judges.calling import FunctionJudge, asked
from bonwise.judges.judging import redrawn
from bonwise.judges.protocol import Judge, is_asking, is_listwise
from bonwise.selection.judge_runner import Call
from bonwise.selection.protocol import Draw, Match, Question

__all__ = ["asks_of", "calls_for"]


def calls_for(
    questions: Iterable[Question], judge: Judge, prompt: str, texts: Sequence[str], pool: Sequence[str] = ()
) -> list[tuple[Call, tuple[Question, ...]]]:
    """Return each use of a judge with the questions that its judgment answers.

    Parameters
    ----------
    questions : iterable of Draw or Match
    judge : Judge
        Answers what names no other judge.
    prompt : str
    texts : sequence of str
        One an entrant.
    pool : sequence of str, optional
        The texts of all candidates. A judge that asks no model and sees them together sees them all at first: what
        it makes of one may rest on how many others say the same. Redraws show it only those to be drawn again, unless
        it is listwise.

    Examples
    --------
    >>> from bonwise.judges.pointwise import Pointwise
    >>> found = calls_for([Draw(0), Draw(1)], Pointwise("openai/gpt-5-mini"), "Say hi", ["hi", "hello"])
    >>> [(call.texts, len(answered)) for call, answered in found]
    [(('hi',), 1), (('hello',), 1)]
    """
    texts = tuple(texts)
    everything = tuple(pool) if pool and _sees_the_pool(judge) else texts
    together: dict[tuple[int, float | None], list[Draw]] = {}
    alone = _judges_alone(judge)
    found: list[tuple[Call, tuple[Question, ...]]] = []
    for one in questions:
        if isinstance(one, Match):
            found.append((Call(one.judge or judge, prompt, (texts[one.a], texts[one.b])), (one,)))
        elif alone:
            found.append((Call(judge, prompt, (texts[one.candidate],), one.number, one.temperature), (one,)))
        else:
            together.setdefault((one.number, one.temperature), []).append(one)
    for (number, temperature), draws in together.items():
        redrawn_alone = number and not (is_asking(judge) or is_listwise(judge))
        shown = tuple(texts[one.candidate] for one in draws) if redrawn_alone else everything
        found.append((Call(judge, prompt, shown, number, temperature), tuple(draws)))
    return found


def asks_of(call: Call) -> Iterator[Ask]:
    """Yield what a use of a judge asks of models; nothing where the judge asks none.

    Raises
    ------
    bonwise.errors.JudgeError
        A judge that does not keep its contract.
    """
    if not is_asking(call.judge):
        return
    for ask in asked(call.judge, call.prompt, call.texts):
        yield redrawn(ask, call.draw, call.temperature)


def _judges_alone(judge: Judge) -> bool:
    """Tell whether a judge judges each candidate by itself, so that one can be asked about without the others."""
    if is_asking(judge):
        return not is_listwise(judge) and judge.calls(1) > 0 and judge.calls(2) == 2 * judge.calls(1)
    # Each answer of a function counts as soon as it is there, and where it fails, it fails for one candidate.
    return isinstance(judge, FunctionJudge)


def _sees_the_pool(judge: Judge) -> bool:
    return not is_asking(judge) and not isinstance(judge, FunctionJudge)
