"""A judge by criteria of the user's own, each scored apart and weighted into the score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

from bonwise.calls.ask import Answers, Choice
from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import asking, criteria, protocol
from bonwise.judges.protocol import EMPTY, Conclusion, candidates_with_words
from bonwise.printable import listed, quoted
from bonwise.table.verdicts import Score, Unscored, Verdict, kept


@takes_numbers
@dataclass(frozen=True)
class Rubric(asking.AskingSettings):
    """One question per candidate: a score on each criterion of a file of your own, weighted into one from 0 to 1.

    The scale of each criterion becomes 0 to 1, and the score of a candidate is their weighted mean. A candidate that
    has no score on one criterion has none at all: the mean of the others would mean something else. ``bonwise judge``
    writes each criterion as a judge of its own, and `criterion` makes that judge: it asks the same question, which is
    paid once.

    A file may use variables beyond prompt and candidate, such as ``{{reference}}``. Each pool then states them, as a
    key of its own or of each candidate; without pools, `given` binds them.

    Parameters
    ----------
    model : str
        ``provider/model``.
    prompt : str or pathlib.Path
        A file of mode ``rubric``, or the built-in one.
    **asking
        What every judge has that asks a model, see `bonwise.judges.asking.AskingSettings`.
    criterion : str
        The one criterion to score by; empty for all, weighted.

    Examples
    --------
    >>> judge = Rubric("openai/gpt-5-mini")
    >>> judge.name, judge.calls(candidates=4)
    ('rubric:openai/gpt-5-mini', 4)
    >>> [criterion.name for criterion in judge.file.criteria]
    ['follows', 'correct', 'clear', 'brief']
    """

    prompt: str | Path = "rubric"
    _: KW_ONLY
    criterion: str = ""
    values: protocol.Values | None = field(default=None, init=False, repr=False, hash=False)

    kind: ClassVar[str] = "rubric"
    takes_images: ClassVar[bool] = True

    @property
    def variables(self) -> tuple[str, ...]:
        """What pools must state beside prompt and candidates; nothing once it is given."""
        return self.file.further if self.values is None else ()

    def given(self, values: protocol.Values) -> Self:
        """Return the judge of one prompt, for which its variables have these values.

        Parameters
        ----------
        values : mapping of str to str, or to a mapping of str to str
            By variable: one text, or one for each candidate by the text of the candidate.
        """
        unknown = [name for name in values if name not in self.file.further]
        if unknown:
            hint = f"it has {listed(self.file.further)}" if self.file.further else "it has none"
            raise UsageError(f"the rubric {self.file.name} has no variable {quoted(unknown[0])}", hint=hint)
        for name, value in values.items():
            texts = value.values() if isinstance(value, Mapping) else (value,)
            if not all(isinstance(text, str) and text.strip() for text in texts):
                raise UsageError(
                    f"{name} is {quoted(value)}", hint="give a text, or one for each candidate by its text"
                )
        return protocol.changed(self, values=dict(values))

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:  # noqa: ARG002
        """Turn each answer into a score on each criterion, and into that of the candidate."""
        stated: list[list[Verdict]] = [[EMPTY] * len(self.file.criteria) for _ in candidates]
        for at, replies in zip(candidates_with_words(candidates), answers, strict=True):
            stated[at] = self._by_criterion(replies)
        columns = [tuple(column) for column in zip(*stated, strict=True)] or [()] * len(self.file.criteria)
        names = [criterion.name for criterion in self.file.criteria]
        if self.criterion:
            return Conclusion(columns[names.index(self.criterion)])
        members = tuple((judge.name, column) for judge, column in zip(self._alone, columns, strict=True))
        return Conclusion(tuple(map(self._weighted, stated)), members=members)

    def _check(self) -> None:
        names = [criterion.name for criterion in self.file.criteria]
        if self.criterion and self.criterion not in names:
            raise UsageError(
                f"the rubric {self.file.name} has no criterion {quoted(self.criterion)}",
                hint=f"it has {listed(names)}",
            )

    def _further(self, shown: Sequence[str]) -> dict[str, str]:
        return protocol.values_for(self.values or {}, shown[0])

    def _drawn(self) -> str:
        return f" criteria{criteria.VERSION}"

    @protocol.cached_property
    def _read(self) -> Callable[[Choice], Any]:
        return partial(criteria.read_criteria, criteria=self.file.criteria)

    @protocol.cached_property
    def _alone(self) -> tuple[Rubric, ...]:
        """The judges of single criteria, which name the columns."""
        return tuple(replace(self, criterion=criterion.name) for criterion in self.file.criteria)

    def _by_criterion(self, replies: Answers) -> list[Verdict]:
        outcome = asking.reading(replies)
        if isinstance(outcome, Unscored):
            return [outcome] * len(self.file.criteria)
        raw = kept(replies.answers[0].raw)
        return [
            each if isinstance(each, Unscored) else Score(criterion.share(each), raw=raw)
            for criterion, each in zip(self.file.criteria, outcome, strict=True)
        ]

    def _weighted(self, verdicts: Sequence[Verdict]) -> Verdict:
        """Return the weighted mean of a candidate's scores, provided that there is one on each criterion."""
        unscored = [verdict for verdict in verdicts if isinstance(verdict, Unscored)]
        if unscored:
            if len(unscored) == len(verdicts) and len(set(unscored)) == 1:
                return unscored[0]
            by_name = zip((criterion.name for criterion in self.file.criteria), verdicts, strict=True)
            why = "; ".join(f"{name}: {verdict.reason}" for name, verdict in by_name if isinstance(verdict, Unscored))
            return Unscored(kept(f"{len(unscored)} of {len(verdicts)} criteria unscored: {why}"), unscored[0].raw)
        weights = [criterion.weight for criterion in self.file.criteria]
        scores = [verdict for verdict in verdicts if isinstance(verdict, Score)]
        total = math.fsum(weight * score.value for weight, score in zip(weights, scores, strict=True))
        return Score(min(total / math.fsum(weights), 1.0), raw=scores[0].raw)
