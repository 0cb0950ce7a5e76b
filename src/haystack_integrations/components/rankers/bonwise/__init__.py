"""Haystack: a ranker by a judge.

It stands in the namespace of Haystack's integrations because `Pipeline.loads` takes components from there.
"""

from dataclasses import replace
from typing import Any

from bonwise.hosts import HOSTS
from bonwise.hosts.adapters import place_of
from bonwise.hosts.reranking import DocumentRanker
from bonwise.selection.ranked_candidates import RankedCandidates

HOSTS["haystack"].require("bonwise.hosts.haystack")

from haystack import Document, component, default_to_dict  # noqa: E402

__all__ = ["JudgeRanker"]


@component
class JudgeRanker:
    """Reorders documents by a judge.

    Documents are copied: ``score`` is the judge's, or None where there is none, and ``bonwise`` in the meta holds
    rank, score and the reason. Documents without a score come last. `ranker` has the last ranking, counts and cost.

    Parameters
    ----------
    judge : Judge, callable, str or Selector
        A judge, a function ``(query, text) -> number``, a text as of ``--judge`` on a command line, or a selector
        with all its settings. In YAML a text, or the mapping of `bonwise.Selector.to_dict`.
    top_k : int, optional
        How many documents to return, at least 1; all unless given. All are judged.
    **settings
        Of `bonwise.Selector`.
    """

    def __init__(self, judge: Any, top_k: int | None = None, **settings: Any) -> None:
        self.ranker = DocumentRanker(judge, top_k=top_k, **settings)

    def to_dict(self) -> dict[str, Any]:
        """Return what Haystack writes to YAML; a judge that is a function or a client has no such form."""
        written: dict[str, Any] = default_to_dict(
            self, selector=self.ranker.selector.to_dict(), top_k=self.ranker.top_k
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "JudgeRanker":
        """Return the ranker that `to_dict` has written, or one that was written by hand with the judge as a text."""
        from bonwise.selection.selector import Selector  # noqa: PLC0415 - most rankers are not read from a file

        given = dict(data.get("init_parameters", {}))
        if "selector" in given:
            given["judge"] = Selector.from_dict(given.pop("selector"))
        return cls(**given)

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, list[Document]]:
        """Return ``documents`` from best to worst."""
        return {"documents": _reordered(self.ranker.rank(query, documents, top_k))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Do the same in the running event loop."""
        return {"documents": _reordered(await self.ranker.arank(query, documents, top_k))}


def _reordered(ranked: RankedCandidates) -> list[Document]:
    found = []
    for one in ranked:
        place = place_of(one, ranked.selection) if ranked.selection is not None else {}
        found.append(replace(one.candidate, score=one.score, meta={**one.candidate.meta, "bonwise": place}))
    return found
