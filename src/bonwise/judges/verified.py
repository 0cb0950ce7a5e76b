"""A judge behind a check: what fails it cannot be picked and is not asked about, what passes is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from bonwise.calls.ask import Answers, Ask
from bonwise.calls.providers.secrets import masked
from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import asking, calling, checks, judging, registry, several, wrappers
from bonwise.judges.protocol import EMPTY, Conclusion, Judgment, cached_property, has_words
from bonwise.table.checks import check_number
from bonwise.table.verdicts import Score, Unscored

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine

_ONLY = Score(1.0, raw="the only answer that passes the check")
"""Of a judge that compares: it stands above all the others."""
_AT_ONCE = 8
"""Answers that are checked at once."""


@takes_numbers
@dataclass(frozen=True)
class Verified(wrappers.Around):
    r"""Another judge, asked only about the answers that pass a check; one that fails cannot be picked.

    One that fails is unscored, ``failed the check``; one about which the check could not run is unscored too, for
    another reason. Where one passes and the inner judge compares, it scores 1. Where none passes nothing is picked
    unless ``on_failure`` says otherwise. Put this judge around those that round or repeat: within them every answer
    is asked about. bonwise runs no code of an answer; put a command that does so into a container.

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
    answer, extract : object and str
        The final answer must be this one, of a mapping the one of the prompt. It is the ``whole`` text, the last
        ``number``, what is ``boxed``, or the last match of a regular expression.
    command, timeout : str and float
        A program that gets the answer on standard input, without a shell: exit code 0 passes, 1 fails. It has so
        many seconds for each.

    Examples
    --------
    >>> judge = Verified(lambda prompt, text: len(text), regex=r"\d")
    >>> judge.judge("How many?", ["many", "4", "about 4"])
    (Unscored(reason='failed the check', raw=''), Score(value=1.0), Score(value=7.0))
    """

    of: Any
    check: Callable[[str, str], Any] | None = field(default=None, hash=False, repr=False)
    _: KW_ONLY
    regex: str = ""
    schema: Any = field(default=None, hash=False)
    answer: Any = field(default=None, hash=False)
    extract: str = "whole"
    command: str = ""
    timeout: float = 10.0
    _checker: calling.FunctionJudge = field(init=False, repr=False, compare=False)

    kind: ClassVar[str] = "verified"
    rule = "verified1"
    not_in_texts: ClassVar[frozenset[str]] = frozenset({"check"})
    asking: ClassVar[bool] = True
    """Always: checks then run beside one another, and members of a jury are kept apart."""

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
        checker = calling.FunctionJudge(makers[stated[0]](), workers=_AT_ONCE)
        object.__setattr__(self, "_checker", checker)

    @cached_property
    def name(self) -> str:
        """What makes this judge on a command line, unless its check is a function or a mapping of answers."""
        return self._named(self.of.name)

    def _named(self, inner: str) -> str:
        """Return the name of a judge behind this check."""
        stated = asking.options_text(self, never=("of", "check", "answer"))
        if self.check is not None:
            stated["check"] = getattr(self.check, "__name__", type(self.check).__name__)
        if self.answer is not None:
            stated["answer"] = "by prompt" if isinstance(self.answer, Mapping) else str(self.answer)
        if self.command:
            stated["command"] = masked(self.command)
        return str(registry.Spec(self.kind, stated, of=inner))

    def asks(self, prompt: str, candidates: Sequence[str]) -> Sequence[Ask]:
        """Return the questions about all candidates, as for an estimate: the most that are asked. No check is run."""
        return several.asks_of_part(self.of, prompt, candidates)

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Let the inner judge conclude about all candidates, and leave those without a score that do not pass."""
        verdicts = several.concluded_by(self.of, prompt, candidates, answers)
        lost = _lost(candidates, self._checker.judge(prompt, candidates))
        return Conclusion(tuple(lost.get(at, verdict) for at, verdict in enumerate(verdicts)))

    async def judged_by(
        self, engine: Engine, prompt: str, candidates: Sequence[str], draw: int, temperature: float | None
    ) -> Judgment:
        """Check the candidates, and let the inner judge judge those that pass."""
        checked = await judging.judge_with(engine, self._checker, prompt, candidates)
        lost = _lost(candidates, checked.verdicts)
        texts = [text for at, text in enumerate(candidates) if at not in lost]
        judgment = Judgment(())
        if texts:
            judgment = await judging.judge_with(engine, self.of, prompt, texts, draw=draw, temperature=temperature)
        # A member stands in the table of scores too, under a name of its own: it was not asked about what failed.
        members = tuple((self._named(name), member) for name, member in judgment.members)
        return _placed(replace(judgment, members=members), lost, len(candidates))


def _lost(candidates: Sequence[str], checked: Any) -> dict[int, Unscored]:
    """Return, by position, why candidates are not judged."""
    lost = {}
    for at, (text, outcome) in enumerate(zip(candidates, checked, strict=True)):
        if not has_words(text):
            lost[at] = EMPTY
        elif isinstance(outcome, Unscored):
            lost[at] = Unscored(f"the check could not run: {outcome.raw}", outcome.raw)
        elif not outcome.value:
            lost[at] = Unscored("failed the check", outcome.raw)
    return lost


def _placed(judgment: Judgment, lost: Mapping[int, Unscored], count: int) -> Judgment:
    """Return a judgment of those that pass as one of all candidates, its pairs and its members too."""
    at = [position for position in range(count) if position not in lost]
    only = count > 1 and len(at) == 1 and getattr(judgment.verdicts[0], "alone", False)
    coming = iter((_ONLY,) if only else judgment.verdicts)
    return replace(
        judgment,
        verdicts=tuple(lost[position] if position in lost else next(coming) for position in range(count)),
        preferences=tuple(replace(pair, a=at[pair.a], b=at[pair.b]) for pair in judgment.preferences),
        members=tuple((name, _placed(member, lost, count)) for name, member in judgment.members),
    )
