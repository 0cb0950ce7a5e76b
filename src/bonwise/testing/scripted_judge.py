"""Judges for tests: one says what a test scripts, one says again what a ledger holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bonwise.calls import engine, portal
from bonwise.errors import JudgeError
from bonwise.judges.judging import judge_with
from bonwise.judges.protocol import AskingJudge, Judgment
from bonwise.table.verdicts import Score, Unscored, Verdict

__all__ = ["Asked", "ReplayJudge", "ScriptedJudge"]


class ReplayJudge:
    """Answers of a judge that asks a model, read anew from a ledger; nothing is sent and no key is needed.

    Parameters
    ----------
    of : AskingJudge
        The judge of that run, with the same settings: another prompt or temperature is another question.
    ledger : str or pathlib.Path
        The run folder, or its ``.sqlite`` file.
    reask : int, optional
        As in the run: 1 where it asked again for what was unscored. More than the run had is owed.

    Examples
    --------
    >>> import tempfile
    >>> from bonwise.judges.pointwise import Pointwise
    >>> with tempfile.TemporaryDirectory() as run, ReplayJudge(Pointwise("openai/gpt-5-mini"), run) as judge:
    ...     judge.judge("Name a colour", ["red"])
    (Unscored(reason='owed: not in the ledger', raw=''),)
    """

    def __init__(self, of: AskingJudge, ledger: str | Path, reask: int | None = None) -> None:
        self.of = of

        self._portal = portal.Portal(partial(engine.Engine, ledger, reask=reask, offline=True))

    @property
    def name(self) -> str:
        """The name of the judge it stands for."""
        return self.of.name

    @property
    def version(self) -> str:
        """The version of the judge it stands for."""
        return self.of.version

    def judge(self, prompt: str, candidates: Sequence[str]) -> tuple[Verdict, ...]:
        """Return its verdicts; what the ledger does not hold is unscored and owed."""
        return self.replay(prompt, candidates).verdicts

    def replay(self, prompt: str, candidates: Sequence[str]) -> Judgment:
        """Return verdicts, comparisons and the bill."""
        return self._portal.run(judge_with, self.of, prompt, candidates)

    def close(self) -> None:
        """Close the ledger."""
        self._portal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


Prepared = Mapping[Any, Any] | Callable[[str, str], Any] | Sequence[Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a judge was asked in one call."""

    prompt: str
    candidates: tuple[str, ...]


class ScriptedJudge:
    """A judge that says what it was told to, and remembers what it was asked.

    Parameters
    ----------
    verdicts : mapping, callable or sequence
        By ``(prompt, text)`` or by the text of the candidate; a function of the prompt and the text; or one verdict
        after the other, in the order in which candidates are shown. A number is a score, None and words (the
        reason) are no score; `Score` and `Unscored` are taken as they are.
    name, version : str, optional

    Attributes
    ----------
    calls : list of Asked
        One a call, in order.

    Raises
    ------
    bonwise.errors.JudgeError
        On judging: no verdict was prepared, or what was prepared is none.

    Examples
    --------
    >>> judge = ScriptedJudge({"hi": 0.9, "no": "refused"})
    >>> judge.judge("Say hi", ["hi", "no"])
    [Score(value=0.9), Unscored(reason='refused', raw='')]
    >>> judge.calls
    [Asked(prompt='Say hi', candidates=('hi', 'no'))]
    """

    def __init__(self, verdicts: Prepared, *, name: str = "scripted", version: str = "1") -> None:
        if isinstance(verdicts, str) or not (callable(verdicts) or isinstance(verdicts, Mapping | Sequence)):
            raise JudgeError(
                f"{type(verdicts).__name__} holds no verdicts", hint="pass a mapping, a function or a list"
            )
        self.name = name
        self.version = version
        self.calls: list[Asked] = []
        self._verdicts = verdicts
        self._left: Iterator[Any] = iter(verdicts) if isinstance(verdicts, Sequence) else iter(())

    def __repr__(self) -> str:
        return f"ScriptedJudge(name={self.name!r}, calls={len(self.calls)})"

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[Verdict]:
        """Return the prepared verdicts, one a candidate."""
        self.calls.append(Asked(prompt, tuple(candidates)))
        return [self._verdict(self._prepared(prompt, text), text) for text in candidates]

    def _prepared(self, prompt: str, text: str) -> Any:
        if isinstance(self._verdicts, Mapping):
            for key in ((prompt, text), text):
                if key in self._verdicts:
                    return self._verdicts[key]
            raise JudgeError(f"{self.name!r} has no verdict for {text[:80]!r}", hint="add it to the mapping")
        if callable(self._verdicts):
            return self._verdicts(prompt, text)
        for verdict in self._left:
            return verdict
        raise JudgeError(
            f"{self.name!r} has said all of its {len(self._verdicts)} verdicts and was asked about {text[:80]!r}",
            hint="prepare one verdict for each candidate that will be shown",
        )

    def _verdict(self, value: Any, text: str) -> Verdict:
        if isinstance(value, Score | Unscored):
            return value
        if value is None:
            return Unscored("no verdict was prepared")
        if isinstance(value, str):
            return Unscored(value)
        try:
            return Score(value)
        except ValueError as error:
            raise JudgeError(
                f"{self.name!r} was told to say {value!r} about {text[:80]!r}",
                hint="prepare a finite number, None, or the reason why there is no score",
            ) from error
