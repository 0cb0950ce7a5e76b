"""A judge in the shape of a CrossEncoder of sentence-transformers, which need not be installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from bonwise.errors import UsageError
from bonwise.hosts.reranking import DocumentRanker
from bonwise.selection.ranked_candidates import RankedCandidate
from bonwise.selection.settings import SelectorSettings

__all__ = ["JudgeCrossEncoder"]

_SPEED_ONLY = frozenset({"batch_size", "show_progress_bar", "num_workers"})
"""Arguments of ``CrossEncoder.rank`` that change no score."""


class JudgeCrossEncoder:
    """Ranks documents by a judge where a CrossEncoder is expected.

    The rules are those of `bonwise.hosts.reranking.DocumentRanker`: a document without a score comes last, its
    ``score`` is None, and ``unscored`` holds the reason.

    Parameters
    ----------
    judge : Judge, callable, str or Selector
        A judge, a function ``(query, text) -> number``, a text as of ``--judge`` on a command line, or a selector
        with all its settings.
    **settings
        Of `bonwise.Selector`.

    Attributes
    ----------
    ranker : DocumentRanker
        The last ranking, counts, and what judging has cost.

    Examples
    --------
    >>> encoder = JudgeCrossEncoder(lambda query, text: None if "?" in text else len(text))
    >>> encoder.rank("colours", ["red", "what?", "blue"])
    [{'corpus_id': 2, 'score': 4.0}, {'corpus_id': 0, 'score': 3.0}, \
{'corpus_id': 1, 'score': None, 'unscored': 'the function returned nothing'}]
    """

    def __init__(self, judge: Any, **settings: Unpack[SelectorSettings]) -> None:
        self.ranker = DocumentRanker(judge, **settings)

    def rank(
        self,
        query: str,
        documents: Sequence[str],
        top_k: int | None = None,
        return_documents: bool = False,
        **more: Any,
    ) -> list[dict[str, Any]]:
        """Return one mapping per document, from best to worst: ``corpus_id``, ``score`` and perhaps ``text``.

        Parameters
        ----------
        query : str
        documents : sequence of str
        top_k : int, optional
            How many to return, at least 1; all unless given. All are judged.
        return_documents : bool
            Whether each mapping holds the document as ``text``.
        **more
            Arguments of ``CrossEncoder.rank`` that change its speed alone are ignored; others are refused.

        Raises
        ------
        bonwise.errors.UsageError
            An argument that would change scores, or documents without a query.
        bonwise.errors.JudgeError, bonwise.errors.CallError
            The judge fails, and `on_failure` is ``raise``.
        """
        _check(more)
        return [_entry(one, return_documents) for one in self.ranker.rank(query, documents, top_k)]

    async def arank(
        self,
        query: str,
        documents: Sequence[str],
        top_k: int | None = None,
        return_documents: bool = False,
        **more: Any,
    ) -> list[dict[str, Any]]:
        """Do what `rank` does in the running event loop."""
        _check(more)
        return [_entry(one, return_documents) for one in await self.ranker.arank(query, documents, top_k)]


def _check(more: dict[str, Any]) -> None:
    others = sorted(set(more) - _SPEED_ONLY)
    if others:
        raise UsageError(f"{', '.join(others)}: a judge has no such setting", hint="give them to the judge instead")


def _entry(one: RankedCandidate, return_documents: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"corpus_id": one.index, "score": one.score}
    if one.score is None:
        found["unscored"] = one.reason
    return found | ({"text": one.candidate} if return_documents else {})
