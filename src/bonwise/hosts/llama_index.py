"""LlamaIndex: a node postprocessor that reorders nodes by a judge."""

from __future__ import annotations

from typing import Any, Unpack

from pydantic import PrivateAttr

from bonwise.hosts import HOSTS
from bonwise.hosts.adapters import place_of
from bonwise.hosts.reranking import DocumentRanker
from bonwise.selection.ranked_candidates import RankedCandidates
from bonwise.selection.settings import SelectorSettings

HOSTS["llama_index"].require("bonwise.hosts.llama_index")

from llama_index.core.postprocessor.types import BaseNodePostprocessor  # noqa: E402
from llama_index.core.schema import NodeWithScore, QueryBundle  # noqa: E402

__all__ = ["JudgePostprocessor"]


_KEY = "bonwise"


class JudgePostprocessor(BaseNodePostprocessor):
    """Reorders nodes by a judge.

    Nodes are copied; ``bonwise`` in the metadata holds rank and score, and neither the model nor an embedding gets to
    see it. Filters of LlamaIndex fail on a score that is None, so nodes without a score are left out:
    `ranker.unscored` lists them with their reasons. Where the judge fails and `on_failure` is ``random`` or
    ``first``, all nodes come back as they were, with the scores that they had.

    Parameters
    ----------
    judge : Judge, callable, str or Selector
        A judge, a function ``(query, text) -> number``, a text as of ``--judge`` on a command line, or a selector
        with all its settings.
    top_n : int, optional
        How many nodes to return, at least 1; all unless given. All are judged.
    **settings
        Of `bonwise.Selector`.
    """

    _ranker: DocumentRanker = PrivateAttr()

    def __init__(self, judge: Any, *, top_n: int | None = None, **settings: Unpack[SelectorSettings]) -> None:
        super().__init__()
        self._ranker = DocumentRanker(judge, top_k=top_n, **settings)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex lists it."""
        return "BonwiseJudgePostprocessor"

    @property
    def ranker(self) -> DocumentRanker:
        """The judge with its settings, the last ranking, counts, and what judging has cost."""
        return self._ranker

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return _kept(self._ranker.rank(_query(query_bundle), nodes))

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return _kept(await self._ranker.arank(_query(query_bundle), nodes))


def _query(bundle: QueryBundle | None) -> str | None:
    return None if bundle is None else bundle.query_str


def _kept(ranked: RankedCandidates) -> list[NodeWithScore]:
    if ranked.selection is None:
        return []
    unjudged = all(one.rank is None for one in ranked) and ranked.selection.index is not None
    found = []
    for one in ranked:
        if one.score is None and not unjudged:
            continue
        node = one.candidate.node.model_copy(deep=True)
        node.metadata[_KEY] = place_of(one, ranked.selection)
        for hidden in (node.excluded_llm_metadata_keys, node.excluded_embed_metadata_keys):
            hidden.append(_KEY)
        found.append(NodeWithScore(node=node, score=one.candidate.score if unjudged else one.score))
    return found
