"""The rules of every reranker: documents in, the same documents in a better order out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack, cast

from bonwise.errors import UsageError
from bonwise.hosts.adapters import HostTotals, is_unjudged, judge_usage, place_of, selector_of
from bonwise.selection.ranked_candidates import RankedCandidate, RankedCandidates
from bonwise.selection.selection import Selection
from bonwise.selection.settings import SelectorSettings
from bonwise.table.checks import check_whole

__all__ = ["DocumentRanker", "ScoredAnswer"]


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """One answer, judged on its own."""

    score: float | None
    """On the judge's scale."""
    reason: str
    """Why there is no score."""
    said: str
    """What the judge said, where it says something."""
    trail: dict[str, Any]
    """In plain values for JSON: ``judge``, ``score`` or ``unscored``, ``judge_usage``, ``unjudged`` and, of a judge
    that says how sure it is, ``low``, ``high`` and ``standard_error``.
    """


class DocumentRanker:
    """Ranks the documents of a host for a query.

    - Documents without a score come last, in their order, each with the reason. None is dropped without a word:
      `last` holds all of them, also those below `top_k`.
    - A single document is judged too. Documents with one and the same text share one judgment, and each has its
      score.
    - No documents give no documents, whatever the query. Documents without a query are an error.
    - Where the judge fails and `on_failure` is ``random`` or ``first``, the documents keep their order, no one has a
      score, and `totals` counts the call as unjudged.

    Parameters
    ----------
    judge : Judge, callable, str or Selector
        A judge, a function ``(query, text) -> number``, a text as of ``--judge`` on a command line, or a selector
        with all its settings.
    top_k : int, optional
        How many documents to return, at least 1; all unless given. All are judged.
    **settings
        Of `bonwise.Selector`: strategy, deadline, on_failure, ledger, max_cost ...

    Attributes
    ----------
    selector : Selector
    totals : HostTotals
        Counts, and what judging has cost.
    last : RankedCandidates or None
        All documents of the call that ended last.

    Examples
    --------
    >>> ranker = DocumentRanker(lambda query, text: None if "?" in text else len(text))
    >>> [(one.candidate, one.score, one.reason) for one in ranker.rank("colours", ["what?", "red", "blue"])]
    [('blue', 4.0, ''), ('red', 3.0, ''), ('what?', None, 'the function returned nothing')]
    """

    def __init__(self, judge: Any, *, top_k: int | None = None, **settings: Unpack[SelectorSettings]) -> None:
        if top_k is not None:
            check_whole("top_k", top_k, least=1)
        self.top_k = top_k
        self.selector = selector_of(judge, settings)
        self.totals = HostTotals()
        self.last: RankedCandidates | None = None

    def rank(self, query: Any, documents: Sequence[Any], top_k: int | None = None) -> RankedCandidates:
        """Return the documents from best to worst, and wait for it; also inside a running event loop.

        Parameters
        ----------
        query : str or chat messages
        documents : sequence
            Objects in which text is found: of LangChain, LlamaIndex, Haystack, strings, mappings with ``text``.
        top_k : int, optional
            In place of the ranker's own.

        Raises
        ------
        bonwise.errors.UsageError
            Documents without a query, one in which no text is looked for, or `top_k` below 1.
        bonwise.errors.JudgeError
            A judge that fails or does not keep its contract, and `on_failure` is ``raise``.
        bonwise.errors.CallError
            A model that was asked did not answer, and `on_failure` is ``raise``.
        """
        asked = _checked(query, documents, top_k)
        return self._noted(self.selector.rank(query, asked) if asked else RankedCandidates(), top_k)

    async def arank(self, query: Any, documents: Sequence[Any], top_k: int | None = None) -> RankedCandidates:
        """Do what `rank` does in the running event loop; the caller's cancellation ends the judging too."""
        asked = _checked(query, documents, top_k)
        return self._noted(await self.selector.arank(query, asked) if asked else RankedCandidates(), top_k)

    def score(self, prompt: Any, answer: Any) -> ScoredAnswer:
        """Return the score of a single answer, under the rules of `rank`.

        Parameters
        ----------
        prompt : str or chat messages
        answer : str, message or None
            None has no text, and no score.

        Examples
        --------
        >>> scored = DocumentRanker(lambda prompt, text: len(text)).score("Name a colour", "red")
        >>> scored.score, scored.trail["unjudged"], scored.trail["judge_usage"]["cost"]
        (3.0, False, 0.0)
        """
        return _scored(self.rank(prompt, [_document(answer)]))

    async def ascore(self, prompt: Any, answer: Any) -> ScoredAnswer:
        """Do what `score` does in the running event loop."""
        return _scored(await self.arank(prompt, [_document(answer)]))

    @property
    def unscored(self) -> list[RankedCandidate]:
        """The documents of the call that ended last that have no score, each with its reason."""
        return [one for one in self.last or () if one.score is None]

    def _noted(self, ranked: RankedCandidates, top_k: int | None) -> RankedCandidates:
        self.last = ranked
        if ranked.selection is not None:
            self.totals.add(ranked.selection)
        kept = RankedCandidates(ranked[: self.top_k if top_k is None else top_k])
        kept.selection = ranked.selection
        return kept


def _document(answer: Any) -> Any:
    return {"text": answer} if answer is None or isinstance(answer, str) else answer


def _scored(ranked: RankedCandidates) -> ScoredAnswer:
    (one,) = ranked
    selection = cast(Selection, ranked.selection)  # there is one, because there is a document
    said = getattr(selection.verdicts[one.index], "raw", "") if selection.verdicts else ""
    trail = place_of(one, selection)
    trail.pop("rank", None)  # of one there is none to say
    trail |= {"unjudged": is_unjudged(selection), "judge_usage": judge_usage(selection.bill)}
    return ScoredAnswer(None if one.score is None else float(one.score), one.reason, said or "", trail)


def _checked(query: Any, documents: Sequence[Any], top_k: int | None) -> list[Any]:
    if top_k is not None:
        check_whole("top_k", top_k, least=1)
    asked = list(documents)
    if asked and (query is None or (isinstance(query, str) and not query.strip())):
        raise UsageError(
            f"there is no query to rank {len(asked)} documents by", hint="pass the words that were asked"
        )
    return asked
