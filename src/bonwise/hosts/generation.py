"""The rules of everything that draws n candidates from a model and returns one of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, Unpack

from bonwise.errors import JudgeError
from bonwise.hosts.adapters import HostTotals, is_unjudged, once_paid, selector_of, trail_of
from bonwise.selection import generating
from bonwise.selection.selection import Selection
from bonwise.selection.settings import SelectorSettings
from bonwise.table import checks

__all__ = ["BestOfN", "Chosen", "DrawnAnswer"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DrawnAnswer(Generic[T]):
    """A candidate that is the answer of a model in the host's own type."""

    answer: T
    """What the host gets back if this candidate wins."""
    message: Any
    """What the judge reads of it: text and tool calls, as of `bonwise.table.chat.answer_text`."""


@dataclass(frozen=True, slots=True)
class Chosen(Generic[T]):
    """One of several candidates, and how it was chosen."""

    best: T
    """The candidate as it was drawn."""
    selection: Selection
    drawn: tuple[T, ...]
    """All candidates, in the order of the draws."""
    failed_draws: tuple[str, ...] = ()
    """Why others are missing."""

    @property
    def unjudged(self) -> bool:
        """Whether no judge had a say, because it failed."""
        return is_unjudged(self.selection)

    def trail(self) -> dict[str, Any]:
        """Return how it was chosen, in plain values for JSON; what judging took is under ``judge_usage``."""
        return trail_of(self.selection, self.failed_draws)


class BestOfN:
    """Draws n candidates and returns the best of them.

    Once candidates are paid, a judge that fails does not cost them: unless `on_failure` says otherwise one of them is
    drawn by the seed, and marked as unjudged. A host that retries would pay for all of them again. A draw that
    fails is left out and listed; where all fail, the error of the first is raised as it is.

    Parameters
    ----------
    judge : Judge, callable, str or Selector
        A judge, a function ``(prompt, text) -> number``, a text as of ``--judge`` on a command line, or a selector
        with all its settings.
    n : int
        Candidates to draw, at least 1.
    pass_on : tuple of type
        Errors of a draw by which the host steers itself: they are raised at once.
    **settings
        Of `bonwise.Selector`: strategy, deadline (for judging), ledger, max_cost, seed, text ... ``on_failure`` says
        what follows where the judge fails: ``"random"``, the default here, ``"first"`` or ``"raise"``. A selector
        brings its own.

    Attributes
    ----------
    selector : Selector
    totals : HostTotals
        Counts, and what judging has cost.

    Examples
    --------
    >>> drafts = ["a kind of blue", "red"]
    >>> chosen = BestOfN(lambda prompt, text: -len(text), n=2).choose("Name a colour", lambda at: drafts[at])
    >>> chosen.best, chosen.trail()["scores"], chosen.unjudged
    ('red', [-14.0, -3.0], False)
    """

    def __init__(
        self,
        judge: Any,
        n: int = 4,
        *,
        pass_on: tuple[type[Exception], ...] = (),
        **settings: Unpack[SelectorSettings],
    ) -> None:
        checks.check_whole("n", n, least=1)
        self.n = n
        self.selector = selector_of(judge, once_paid(judge, settings))
        self.totals = HostTotals()
        self._pass_on = pass_on

    async def achoose(self, prompt: Any, draw: Callable[[int], Awaitable[T]]) -> Chosen[T]:
        """Draw all candidates at once, judge them and return the best.

        The caller's cancellation ends draws and judging, and waits for their end.

        Parameters
        ----------
        prompt : str or chat messages
            What the judge sees as the prompt.
        draw : callable
            From the number of a draw, from 0, to what is awaited for the candidate.

        Raises
        ------
        bonwise.errors.UsageError
            A prompt that is neither text nor messages; nothing is drawn.
        Exception
            What the first draw raised, where none gave a candidate.
        bonwise.errors.JudgeError
            No candidate could be chosen, and `on_failure` is ``raise``.
        bonwise.errors.CallError
            The judge was not answered, and `on_failure` is ``raise``.
        """
        draws = generating.AnswerDraws[T](prompt, self.n, pass_on=self._pass_on)
        with self._error_of_the_model(draws):
            selection = await self.selector.aselect_drawn(draws, draw)
        return self._chosen_from(draws, selection)

    def choose(self, prompt: Any, draw: Callable[[int], T]) -> Chosen[T]:
        """Do what `achoose` does with a draw that returns its candidate; draws run in threads, side by side."""
        draws = generating.AnswerDraws[T](prompt, self.n, pass_on=self._pass_on)
        with self._error_of_the_model(draws):
            selection = self.selector.select_drawn(draws, draw)
        return self._chosen_from(draws, selection)

    def pick(self, prompt: Any, drawn: Sequence[T], failed_draws: Sequence[str] = ()) -> Chosen[T]:
        """Do what `apick` does, and wait for it."""
        return self._chosen(self.selector.select(prompt, drawn), drawn, failed_draws)

    async def apick(self, prompt: Any, drawn: Sequence[T], failed_draws: Sequence[str] = ()) -> Chosen[T]:
        """Return the best of candidates that the host has drawn.

        Parameters
        ----------
        prompt : str or chat messages
        drawn : sequence
            At least one.
        failed_draws : sequence of str
            Why others are missing.

        Raises
        ------
        bonwise.errors.JudgeError, bonwise.errors.CallError
            As `achoose`.
        """
        return self._chosen(await self.selector.aselect(prompt, drawn), drawn, failed_draws)

    @contextmanager
    def _error_of_the_model(self, draws: generating.AnswerDraws[T]) -> Iterator[None]:
        """Raise the first error of a draw as it is where no draw has given a candidate."""
        try:
            yield
        except generating.NothingDrawnError:
            self.totals.add(None, failed_draws=self.n)
            raise draws.errors[0] from None

    def _chosen_from(self, draws: generating.AnswerDraws[T], selection: Selection) -> Chosen[T]:
        generated = selection.generated
        return self._chosen(selection, draws.answers, () if generated is None else generated.failures)

    def _chosen(self, selection: Selection, drawn: Sequence[T], failed_draws: Sequence[str]) -> Chosen[T]:
        self.totals.add(selection, failed_draws=len(failed_draws))
        if selection.index is None:
            reasons = "; ".join(sorted(set(selection.unscored.values()))) or selection.failure
            raise JudgeError(f"none of {len(drawn)} candidates could be chosen: {reasons}", hint="set on_failure")
        return Chosen(drawn[selection.index], selection, tuple(drawn), tuple(failed_draws))
