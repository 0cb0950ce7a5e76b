"""Every candidate with its score, from best to worst; and the score of one answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.selection.pools import Job
from bonwise.selection.selection import Selection, T
from bonwise.selection.settings import SelectionSettings, compares
from bonwise.table import chat, checks, verdicts


@dataclass(frozen=True, slots=True)
class RankedCandidate(Generic[T]):
    """A candidate with its place.

    Parameters
    ----------
    candidate : object
        As it was passed in.
    id : str
    index : int
        Its position among the candidates, from 0.
    score : float or None
        What it is ranked by: the judge's score, or of comparisons the win rate. None where it could not be scored.
    rank : int or None
        1 is the best; equal scores have different ranks, by the seeded order. None without a score.
    reason : str
        One line, in plain words. Why there is no score; empty where there is one.
    """

    candidate: T
    id: str
    index: int
    score: float | None
    rank: int | None
    reason: str = ""


class RankedCandidates(list[RankedCandidate[T]]):
    """The candidates from best to worst, those without a score last.

    Attributes
    ----------
    selection : Selection or None
        What the ranking rests on: verdicts, calls, cost, settings. None where there were no candidates.
    """

    selection: Selection[T] | None = None


@takes_numbers
class RanksCandidates(ABC):
    """What a selector does beside picking: it ranks all candidates, and scores one."""

    _settings: SelectionSettings
    _text: Callable[[Any], str] | None

    async def arank(
        self, prompt: Any, candidates: Sequence[T], top_k: int | None = None, *, prompt_id: str | None = None
    ) -> RankedCandidates[T]:
        """Score every candidate and return them from best to worst, those without a score last.

        A single candidate is judged too. Candidates with one and the same text share one judgment and each have its
        score. A strategy that compares ranks by win rates; one text alone has none then. Strategies that ask again
        where the best is in doubt (`bonwise.Adaptive`, `bonwise.ValueOfInformation`) and knockouts aim at the best
        candidate, not at the best k: the places below the first are less certain than so many calls could make them.
        Where a router sends the pool to the stronger judge, that judge ranks all candidates.

        Parameters
        ----------
        prompt : str or chat messages
        candidates : sequence
            As of `select`; of none the result is ``[]``.
        top_k : int, optional
            How many to return, at least 1; all unless given. All are judged.
        prompt_id : str, optional
            Repeated in the result's `selection`.

        Raises
        ------
        bonwise.errors.UsageError
            One that is no answer, or two with one id; `top_k` below 1; or the selector is closed.
        bonwise.errors.JudgeError
            A judge that fails or does not keep its contract.
        bonwise.errors.CallError
            A model that was asked did not answer.
        """
        job = self._ranking_job(prompt, candidates, top_k, prompt_id)
        return RankedCandidates() if job is None else _ranked(await self._awaited(job), job, top_k)

    def rank(
        self, prompt: Any, candidates: Sequence[T], top_k: int | None = None, *, prompt_id: str | None = None
    ) -> RankedCandidates[T]:
        """Do what `arank` does, and wait for it; also inside a running event loop and a notebook."""
        job = self._ranking_job(prompt, candidates, top_k, prompt_id)
        return RankedCandidates() if job is None else _ranked(self._picked(job), job, top_k)

    async def ascore(self, prompt: Any, candidate: Any) -> verdicts.Score | verdicts.Unscored:
        """Ask the judge once about one answer, and return what it says; neither strategy nor router plays a part.

        Parameters
        ----------
        prompt : str or chat messages
        candidate : object
            As of `select`.

        Returns
        -------
        Score or Unscored
            Where the judge fails and `on_failure` is not ``raise``, an `Unscored` with the reason.

        Raises
        ------
        bonwise.errors.UsageError
            A judge or a strategy that compares: one answer alone has no score; what is no answer; or the selector is
            closed.
        bonwise.errors.JudgeError
            A judge that fails or does not keep its contract.
        bonwise.errors.CallError
            A model that was asked did not answer.
        """
        return _verdict(await self._awaited(self._scoring_job(prompt, candidate)))

    def score(self, prompt: Any, candidate: Any) -> verdicts.Score | verdicts.Unscored:
        """Do what `ascore` does, and wait for it; also inside a running event loop and a notebook."""
        return _verdict(self._picked(self._scoring_job(prompt, candidate)))

    @abstractmethod
    async def _awaited(self, job: Job) -> Selection: ...

    @abstractmethod
    def _picked(self, job: Job) -> Selection: ...

    @abstractmethod
    def _check_open(self) -> None: ...

    def _ranking_job(
        self, prompt: Any, candidates: Sequence[Any], top_k: int | None, prompt_id: str | None
    ) -> Job | None:
        if top_k is not None:
            checks.check_whole("top_k", top_k, least=1)
        if isinstance(candidates, list | tuple) and not candidates:
            chat.prompt_text(prompt)
            self._check_open()
            return None
        return replace(Job.of(prompt, candidates, self._text, prompt_id), judge_all=True)

    def _scoring_job(self, prompt: Any, candidate: Any) -> Job:
        settings = self._settings
        if settings.strategy.compares or compares(settings.judge):
            raise UsageError(
                f"{settings.judge.name} by {settings.strategy.name} compares candidates: one alone has no score",
                hint="use rank() with two candidates or more, or a judge that scores each alone, such as pointwise",
            )
        return replace(Job.of(prompt, [candidate], self._text), judge_all=True)


def _ranked(selection: Selection, job: Job, top_k: int | None) -> RankedCandidates[Any]:
    """Put the candidates of a selection in their order."""
    places = {name: place for place, name in enumerate(selection.ranking, start=1)}
    candidates = [
        RankedCandidate(original, name, at, selection.scores[at], places[name])
        if name in places
        else RankedCandidate(original, name, at, None, None, selection.unscored.get(name) or selection.failure)
        for at, (original, name) in enumerate(zip(job.originals, selection.ids, strict=True))
    ]
    candidates.sort(key=lambda candidate: (candidate.rank is None, candidate.rank or candidate.index))
    made: RankedCandidates[Any] = RankedCandidates(candidates[:top_k])
    made.selection = selection
    return made


def _verdict(selection: Selection) -> verdicts.Score | verdicts.Unscored:
    (verdict,) = selection.verdicts
    if verdict is None:
        raise RuntimeError("a candidate that was to be judged was not")
    return verdict
