"""A judge made of several: their scores, weighed as they were fitted to labels."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import math
import statistics
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bonwise.calls.answer import Answers
from bonwise.calls.ask import Ask
from bonwise.data.feature_scaling import StackFeature
from bonwise.data.judge_stack import JudgeStack
from bonwise.data.verdicts import Score, Unscored, Verdict, kept
from bonwise.data.wording import listed, quoted
from bonwise.errors import BonwiseError, UsageError
from bonwise.judges.asking import ask_now, most_common, owed_among
from bonwise.judges.calling import as_judge, asked, checked, concluded
from bonwise.judges.protocol import Conclusion, Judge, is_asking
from bonwise.judges.registry import judge_from_spec
from bonwise.judges.spec import Spec
from bonwise.judges.words import EMPTY, has_words
from bonwise.judges.wrapping import calls_of

__all__ = ["Stack"]

VERSION = 1

_ASYNCHRONOUS = (
    "is asynchronous, and other judges of the stack ask a model",
    "make it an ordinary function, or a judge that asks a model",
)


@dataclass(frozen=True)
class Stack:
    """Several judges as one, weighed by a stack that was fitted to labels.

    All its judges are asked, each by its own questions, so that a run that holds their answers pays nothing again.
    The score of a candidate is its utility, on the scale of a logit: a difference of 1 between two candidates of a
    prompt means that the better one has odds of e to 1. Utilities of different prompts cannot be compared. What a
    judge does not score is filled by what the others let expect of it, and `Score.raw` says so; a candidate that no
    judge scores is unscored. `Score.p_best` and `Score.expected_regret` are those of the stack.

    Parameters
    ----------
    stack : str, pathlib.Path, StackFit, StackDocument or JudgeStack
        The file that ``bonwise stack fit --out`` wrote, or what holds a stack.
    judges : mapping of str to Judge, str or callable, optional
        The judges by their names in the stack; of a name that is not given here, the text that the file states for
        it, or the name itself, makes the judge.
    base_url, seed
        Of judges that are made of texts; see `judge_from_spec`.

    Raises
    ------
    bonwise.errors.UsageError
        A name that makes no judge, or a judge that the stack does not take.
    bonwise.errors.FileError
        The file cannot be read, or was changed after it was written.

    Examples
    --------
    >>> from bonwise.data.feature_scaling import FeatureScaling
    >>> features = StackFeature("longer", "score"), StackFeature("local:length", "score")
    >>> judge = Stack(
    ...     JudgeStack(FeatureScaling(features, np.ones(2), np.eye(2)), np.array([1.0, 0.0]), np.zeros((2, 2))),
    ...     judges={"longer": lambda prompt, text: len(text)})
    >>> [round(one.value, 3) for one in judge.judge("Say hi", ["hi", "hello"])]
    [-1.5, 1.5]
    """

    stack: Any
    judges: Mapping[str, Any] | None = None
    base_url: str | None = field(default=None, repr=False)
    seed: int = 0
    weights: JudgeStack = field(init=False, repr=False, compare=False)
    of_all: tuple[Judge, ...] = field(init=False, repr=False, compare=False)

    kind: ClassVar[str] = "stack"
    listwise: ClassVar[bool] = True
    not_in_texts: ClassVar[frozenset[str]] = frozenset({"judges"})
    """Settings that no text can state."""

    def __post_init__(self) -> None:
        weights, specs = _opened(self.stack)
        object.__setattr__(self, "weights", weights)
        given = dict(self.judges or {})
        strange = [name for name in given if name not in weights.judges]
        if strange:
            raise UsageError(
                f"{quoted(strange[0])} is not a judge of the stack", hint=f"it takes {listed(weights.judges)}"
            )
        made = tuple(self._made(name, given.get(name, specs.get(name, name))) for name in weights.judges)
        object.__setattr__(self, "of_all", made)
        if self.asking:
            for name, one in zip(weights.judges, made, strict=True):
                if not is_asking(one) and inspect.iscoroutinefunction(_call_of(one)):
                    raise UsageError(f"{quoted(name)} {_ASYNCHRONOUS[0]}", hint=_ASYNCHRONOUS[1])

    def _made(self, name: str, made: Any) -> Judge:
        if not isinstance(made, str):
            return as_judge(made)
        try:
            return judge_from_spec(made, base_url=self.base_url, seed=self.seed)
        except UsageError as error:
            raise UsageError(
                f"the stack takes the judge {quoted(name)}, which cannot be made of {quoted(made)}: {error.message}",
                hint="give it in Python, judges={name: judge}, or name the text that makes it: stack fit --spec "
                "NAME=SPEC",
            ) from None

    @cached_property
    def name(self) -> str:
        """What makes this judge on a command line; ``stack`` where it was made of no file."""
        return str(Spec(self.kind, rest=str(self.stack) if isinstance(self.stack, str | Path) else ""))

    @cached_property
    def version(self) -> str:
        """The weights, and the versions of all judges."""
        stack = self.weights
        said = hashlib.blake2b(digest_size=8)
        for values in (stack.coefficients, stack.scaling.scales, stack.scaling.covariance, stack.covariance):
            said.update(np.ascontiguousarray(values, dtype=np.float64).tobytes())
        said.update(repr((stack.features, stack.temperature, stack.unit, stack.seed)).encode())
        return f"stack{VERSION} {said.hexdigest()} " + " ".join(one.version for one in self.of_all)

    @property
    def asking(self) -> bool:
        """Whether one of its judges asks a model."""
        return any(is_asking(one) for one in self.of_all)

    def asks(self, prompt: str, candidates: Sequence[str]) -> Sequence[Ask]:
        """Return the questions of all judges, one judge after the other; none of a judge that fails to say them."""
        return [ask for one in self.of_all for ask in _asks(one, prompt, candidates)]

    def calls(self, candidates: int) -> int:
        """Return the calls of all judges together."""
        return sum(calls_of(one, candidates) for one in self.of_all)

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Deal the answers back to the judges, let each conclude, and weigh what they say.

        A judge that asks no model is called here.
        """
        found, at = [], 0
        for one in self.of_all:
            count = len(_asks(one, prompt, candidates))
            found.append(_verdicts(one, prompt, candidates, answers[at : at + count]))
            at += count
        return Conclusion(self._weighed(candidates, found))

    def judge(self, prompt: str, candidates: Sequence[str]) -> Sequence[Verdict] | Awaitable[Sequence[Verdict]]:
        """Ask all judges and wait, or call judges that ask no model."""
        if self.asking:
            return ask_now(self, prompt, candidates)
        answers = [_called(one, prompt, candidates) for one in self.of_all]
        if any(inspect.isawaitable(one) for one in answers):
            return self._awaited(answers, candidates)
        found = [_held(one, answer, candidates) for one, answer in zip(self.of_all, answers, strict=True)]
        return self._weighed(candidates, found)

    async def _awaited(self, answers: Sequence[Any], candidates: Sequence[str]) -> Sequence[Verdict]:
        async def one(judge: Judge, answer: Any) -> tuple[Verdict, ...]:
            try:
                return _held(judge, await answer if inspect.isawaitable(answer) else answer, candidates)
            except Exception as error:  # noqa: BLE001 - a judge may fail in any way
                return _without(error, candidates)

        every = [one(judge, answer) for judge, answer in zip(self.of_all, answers, strict=True)]
        return self._weighed(candidates, await asyncio.gather(*every))

    def _weighed(self, candidates: Sequence[str], found: Sequence[Sequence[Verdict]]) -> tuple[Verdict, ...]:
        with_words = [at for at, text in enumerate(candidates) if has_words(text)]
        values = np.full((len(candidates), len(self.weights.features)), np.nan)
        by_judge = dict(zip(self.weights.judges, found, strict=True))
        for column, feature in enumerate(self.weights.features):
            for at in with_words:
                values[at, column] = _value(feature, by_judge.get(feature.judge), candidates[at], at)
        of_words = values[with_words]
        if not len(of_words):
            return (EMPTY,) * len(candidates)
        utilities, chances, regrets = self.weights.judged(of_words)
        out: list[Verdict] = [EMPTY] * len(candidates)
        for place, at in enumerate(with_words):
            said = [by_judge[name][at] for name in self.weights.judges]
            if math.isnan(utilities[place]):
                out[at] = _nothing(said)
                continue
            out[at] = Score(
                float(utilities[place]),
                raw=_lacking(self.weights.judges, said),
                p_best=float(chances[place]),
                expected_regret=float(regrets[place]),
            )
        return tuple(out)


def _opened(source: Any) -> tuple[JudgeStack, Mapping[str, str]]:
    """Return the weights, and the texts that make its judges where the names do not."""
    if isinstance(source, str | Path):
        # A stack that was made in Python needs no documents.
        from bonwise.documents.stack_model import read_stack_model  # noqa: PLC0415

        return read_stack_model(source)
    if isinstance(source, JudgeStack):
        return source, {}
    if not callable(getattr(source, "to_stack", None)):
        raise UsageError(
            f"{type(source).__name__} holds no stack", hint="give the file that bonwise stack fit --out wrote"
        )
    return source.to_stack(), getattr(source, "specs", None) or {}


def _asks(judge: Judge, prompt: str, candidates: Sequence[str]) -> tuple[Ask, ...]:
    if not is_asking(judge):
        return ()
    try:
        return asked(judge, prompt, candidates)
    except BonwiseError:
        # What it fails by is said when it concludes.
        return ()


def _verdicts(judge: Judge, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Sequence[Verdict]:
    if not is_asking(judge):
        return _held(judge, _called(judge, prompt, candidates), candidates)
    try:
        asked(judge, prompt, candidates)
        return concluded(judge, prompt, candidates, answers).verdicts
    except BonwiseError as error:
        return _without(error, candidates)


def _called(judge: Judge, prompt: str, candidates: Sequence[str]) -> Any:
    try:
        return judge.judge(prompt, candidates)
    except Exception as error:  # noqa: BLE001 - a judge may fail in any way
        return _without(error, candidates)


def _held(judge: Judge, answer: Any, candidates: Sequence[str]) -> tuple[Verdict, ...]:
    try:
        return checked(judge, answer, candidates)
    except Exception as error:  # noqa: BLE001 - what it returned may be lazy, and fail
        return _without(error, candidates)


def _without(error: Exception, candidates: Sequence[str]) -> tuple[Verdict, ...]:
    said = error.message if isinstance(error, BonwiseError) else f"failed: {type(error).__name__}: {error}"
    return (Unscored(kept(said)),) * len(candidates)


def _value(feature: StackFeature, verdicts: Sequence[Verdict] | None, text: str, at: int) -> float:
    """Return a feature of one candidate, NaN where there is none."""
    if feature.kind == "length":
        return math.log(max(len(text), 1))
    verdict = None if verdicts is None else verdicts[at]
    if not isinstance(verdict, Score):
        return math.nan
    if feature.kind == "score":
        return verdict.value
    if feature.kind == "width":
        return math.nan if verdict.width is None else verdict.width
    drawn = [one for one in verdict.draws if one is not None]
    return statistics.stdev(drawn) if len(drawn) > 1 else math.nan


def _nothing(said: Sequence[Verdict]) -> Unscored:
    """Return why no judge scored a candidate; owed where the answer to one of them is."""
    unscored = [one for one in said if isinstance(one, Unscored)]
    return owed_among(unscored) or most_common(unscored, "judges")


def _lacking(names: Sequence[str], said: Sequence[Verdict]) -> str:
    return kept("\n".join(_reasons(names, said)))


def _reasons(names: Sequence[str], said: Sequence[Verdict]) -> Iterator[str]:
    for name, one in zip(names, said, strict=True):
        if isinstance(one, Unscored):
            yield f"without {name}: {one.reason}"


def _call_of(judge: Judge) -> Any:
    return getattr(judge, "function", judge.judge)
