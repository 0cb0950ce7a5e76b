"""A judge behind a check: what fails it cannot be picked and is not asked about, what passes is judged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from bonwise.calls.ask import Answers, Ask
from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import asking, calling, checks, judging, registry
from bonwise.judges.comparing import ALONE
from bonwise.judges.protocol import (
    EMPTY,
    Conclusion,
    Judge,
    Judgment,
    cached_property,
    has_words,
    is_asking,
    is_listwise,
)
from bonwise.table.checks import check_number
from bonwise.table.verdicts import Score, Unscored, Verdict, kept

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine

__all__ = ["Verified"]

VERSION = 1
ONLY = Score(1.0, raw="the only answer that passes the check")
"""Of a judge that compares: there is nothing to compare it with, and it stands above all the others."""
AT_ONCE = 8
"""Answers that are checked at once."""


@takes_numbers
@dataclass(frozen=True)
class Verified:
    r"""Another judge, asked only about the answers that pass a check; one that fails cannot be picked.

    An answer that fails is unscored, ``failed the check``; one about which the check could not run is unscored too,
    for another reason: it has not failed. No call is made for either. `Unscored.raw` says what the check said. Where
    one answer passes and the inner judge compares, it scores 1. Where none passes nothing is scored, and nothing is
    picked unless ``on_failure`` says otherwise. State one check. Within a judge that rounds or repeats another one's
    answers every answer is asked about, so put this judge around that one.

    bonwise runs no code of an answer. A command that does so has the rights of who runs it, without the keys of the
    environment: put it into a container first.

    Parameters
    ----------
    of : Judge or callable
        Any judge, or a function ``(prompt, text) -> number``.
    check : callable, optional
        ``(prompt, text) -> bool``, called by several threads; it may look up a reference by the prompt.
    regex : str
        A regular expression that must match somewhere.
    schema : mapping, str or pathlib.Path, optional
        The answer must be JSON of this JSON Schema, or of that in a file (``bonwise[schema]``).
    answer : object, optional
        The final answer must be this one; of a mapping, the one of the prompt.
    extract : str
        How a final answer is read: ``whole``, ``number`` (the last one), ``boxed`` (the last ``\boxed{...}``), or a
        regular expression whose last match, or its first group, it is.
    command : str
        A program with arguments, without a shell. It gets the answer on standard input; exit code 0 passes, 1 fails,
        and with any other the check could not run.
    timeout : float
        Seconds that the command has for one answer. It may print 1 MiB.

    Raises
    ------
    bonwise.errors.UsageError
        No check or several, or one that means nothing.

    Examples
    --------
    >>> judge = Verified(lambda prompt, text: len(text), regex=r"\d")
    >>> judge.judge("How many?", ["many", "4", "about 4"])
    (Unscored(reason='failed the check', raw=''), Score(value=1.0), Score(value=7.0))
    """

    of: Judge
    check: Callable[[str, str], Any] | None = field(default=None, hash=False)
    _: KW_ONLY
    regex: str = ""
    schema: Any = field(default=None, hash=False)
    answer: Any = field(default=None, hash=False)
    extract: str = "whole"
    command: str = ""
    timeout: float = 10.0
    _checker: calling.FunctionJudge = field(init=False, repr=False, compare=False)

    kind: ClassVar[str] = "verified"
    not_in_texts: ClassVar[frozenset[str]] = frozenset({"check"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", calling.as_judge(self.of))
        check_number("timeout", self.timeout, low=0.001, high=86_400)
        makers: dict[str, Callable[[], checks.Check]] = {
            "check": partial(checks.function_check, self.check),
            "regex": partial(checks.pattern_check, str(self.regex)),
            "schema": partial(checks.schema_check, self.schema),
            "answer": partial(checks.answer_check, self.answer, str(self.extract)),
            "command": partial(checks.command_check, str(self.command), self.timeout),
        }
        stated = [name for name in makers if getattr(self, name) not in (None, "")]
        if len(stated) != 1:
            named = " and ".join(stated) or "no check"
            raise UsageError(f"a judge with {named}", hint=f"state one of {', '.join(makers)}")
        run = makers[stated[0]]()

        def check(prompt: str, text: str) -> tuple[float | None, str]:
            passes, why = run(prompt, text)
            return None if passes is None else float(passes), why

        object.__setattr__(self, "_checker", calling.FunctionJudge(check, workers=AT_ONCE))

    @cached_property
    def name(self) -> str:
        """What makes this judge on a command line, unless its check is a function or a mapping of answers."""
        stated = asking.options_text(self, never=("of", "check", "answer"))
        if self.check is not None:
            stated["check"] = getattr(self.check, "__name__", type(self.check).__name__)
        if self.answer is not None:
            stated["answer"] = "by prompt" if isinstance(self.answer, Mapping) else str(self.answer)
        return str(registry.Spec(self.kind, stated, of=self.of.name))

    @property
    def version(self) -> str:
        """The inner judge's, and this one's rule."""
        return f"{self.of.version} verified{VERSION}"

    @property
    def asking(self) -> bool:
        """Whether the inner judge asks a model."""
        return is_asking(self.of)

    @property
    def listwise(self) -> bool:
        """Whether the inner judge's score of a candidate depends on the others."""
        return is_listwise(self.of)

    def asks(self, prompt: str, candidates: Sequence[str]) -> Sequence[Ask]:
        """Return the questions about all candidates, as for an estimate: the most that are asked. No check is run."""
        return calling.as_asking(self.of).asks(prompt, candidates)

    def calls(self, candidates: int) -> int:
        """Return the calls where every candidate passes."""
        return calling.calls_of(self.of, candidates)

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Let the inner judge conclude about all candidates, and leave those without a score that do not pass."""
        conclusion = calling.as_asking(self.of).conclude(prompt, candidates, answers)
        lost = _lost(candidates, self._checker.judge(prompt, candidates))
        pairs = tuple(pair for pair in conclusion.preferences if not {pair.a, pair.b} & lost.keys())
        return Conclusion(tuple(lost.get(at, verdict) for at, verdict in enumerate(conclusion.verdicts)), pairs)

    async def judged_by(
        self, engine: Engine, prompt: str, candidates: Sequence[str], draw: int, temperature: float | None
    ) -> Judgment:
        """Check the candidates, and let the inner judge judge those that pass."""
        checked = await judging.judge_with(engine, self._checker, prompt, candidates)
        lost = _lost(candidates, checked.verdicts)
        texts = _passing(candidates, lost)
        if not texts:
            return Judgment(_placed(lost, candidates, ()))
        judgment = await judging.judge_with(engine, self.of, prompt, texts, draw=draw, temperature=temperature)
        return _placed_all(judgment, lost, candidates)

    def judge(self, prompt: str, candidates: Sequence[str]) -> Sequence[Verdict] | Awaitable[Sequence[Verdict]]:
        """Ask the model and wait, or call a judge that asks no model."""
        if self.asking:
            return asking.ask_now(self, prompt, candidates)
        lost = _lost(candidates, self._checker.judge(prompt, candidates))
        texts = _passing(candidates, lost)
        if not texts:
            return _placed(lost, candidates, ())
        return calling.called(self.of, prompt, texts, 1, lambda drawn: _placed(lost, candidates, drawn[0]))


def _lost(candidates: Sequence[str], checked: Any) -> dict[int, Unscored]:
    """Return, by position, why candidates are not judged."""
    lost = {}
    for at, (text, outcome) in enumerate(zip(candidates, checked, strict=True)):
        if not has_words(text):
            lost[at] = EMPTY
        elif isinstance(outcome, Unscored):
            lost[at] = Unscored(f"the check could not run: {outcome.raw}", outcome.raw)
        elif not outcome.value:
            lost[at] = Unscored("failed the check", kept(outcome.raw))
    return lost


def _passing(candidates: Sequence[str], lost: Mapping[int, Unscored]) -> tuple[str, ...]:
    return tuple(text for at, text in enumerate(candidates) if at not in lost)


def _placed(
    lost: Mapping[int, Unscored], candidates: Sequence[str], verdicts: Sequence[Verdict]
) -> tuple[Verdict, ...]:
    """Return one verdict for each candidate, those of the ones that pass in their places."""
    only = len(verdicts) == 1 and verdicts[0] == ALONE and len(candidates) > 1
    coming = iter((ONLY,) if only else verdicts)
    return tuple(lost[at] if at in lost else next(coming) for at in range(len(candidates)))


def _placed_all(judgment: Judgment, lost: Mapping[int, Unscored], candidates: Sequence[str]) -> Judgment:
    """Return a judgment of those that pass as one of all candidates, its pairs and its members too."""
    at = [position for position in range(len(candidates)) if position not in lost]
    return replace(
        judgment,
        verdicts=_placed(lost, candidates, judgment.verdicts),
        preferences=tuple(replace(pair, a=at[pair.a], b=at[pair.b]) for pair in judgment.preferences),
        members=tuple((name, _placed_all(member, lost, candidates)) for name, member in judgment.members),
    )
