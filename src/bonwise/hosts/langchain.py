"""LangChain: a document compressor, a runnable that chooses, and a chat model that answers with the best of n."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, Unpack

from pydantic import ConfigDict, Field, PrivateAttr

from bonwise.errors import UsageError
from bonwise.hosts import HOSTS
from bonwise.hosts.adapters import added_usage, place_of
from bonwise.hosts.generation import BestOfN, Chosen
from bonwise.hosts.reranking import DocumentRanker
from bonwise.printable import listed
from bonwise.selection.ranked_candidates import RankedCandidates
from bonwise.selection.settings import SelectorSettings

HOSTS["langchain"].require("bonwise.hosts.langchain")

from langchain_core.callbacks import AsyncCallbackManager, CallbackManager  # noqa: E402
from langchain_core.documents import BaseDocumentCompressor, Document  # noqa: E402
from langchain_core.language_models import BaseChatModel  # noqa: E402
from langchain_core.messages import AIMessage, BaseMessage  # noqa: E402
from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: E402
from langchain_core.runnables import Runnable, RunnableLambda  # noqa: E402

__all__ = ["BestOfNChatModel", "JudgeCompressor", "best_message", "choosing_runnable"]


class JudgeCompressor(BaseDocumentCompressor):
    """Reorders retrieved documents by a judge.

    Each document is a copy: ``relevance_score`` in its metadata is there only where it was scored, and ``bonwise``
    holds rank, score and the reason where there is none. Documents without a score come last.

    Parameters
    ----------
    judge : Judge, callable, str or Selector
        A judge, a function ``(query, text) -> number``, a text such as ``pointwise:openai/gpt-5-mini``, or a selector
        with all its settings.
    ranker : DocumentRanker
        In place of a judge; the last ranking, counts and cost are there to be read.
    top_n : int, optional
        How many documents to return; as many as the ranker says unless given.
    **settings
        Of `bonwise.Selector`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    ranker: DocumentRanker
    top_n: int | None = Field(default=None, ge=1)

    def __init__(
        self,
        judge: Any = None,
        *,
        top_n: int | None = None,
        ranker: DocumentRanker | None = None,
        **settings: Unpack[SelectorSettings],
    ) -> None:
        if (judge is None) == (ranker is None):
            raise UsageError("JudgeCompressor takes a judge, or a ranker made of one", hint="such as judge=my_judge")
        if ranker is not None and settings:
            raise UsageError("a ranker has its settings already", hint=f"give {listed(settings)} to the ranker")
        super().__init__(ranker=ranker or DocumentRanker(judge, **settings), top_n=top_n)

    @classmethod
    def of(cls, judge: Any, *, top_n: int | None = None, **settings: Unpack[SelectorSettings]) -> Self:
        """Return the compressor of a judge: a judge, a function, a text such as ``pointwise:openai/gpt-5-mini``."""
        return cls(judge, top_n=top_n, **settings)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """Return the documents from best to worst."""
        del callbacks  # a judge is no model of LangChain's: there is no run to report to them
        return _reordered(self.ranker.rank(query, documents, self.top_n))

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """Do the same in the running event loop."""
        del callbacks
        return _reordered(await self.ranker.arank(query, documents, self.top_n))


class BestOfNChatModel(BaseChatModel):
    """A chat model that asks another one n times and answers with the best message.

    The message is the winner's own. Its ``usage_metadata`` is the sum of all candidates; how it was chosen and what
    the judge took is in ``response_metadata["bonwise"]``. Streaming chooses first, then gives the winner as one
    chunk. Tool calls and structured output are chosen among as well: the judge reads the calls. LangChain's cache
    would make all candidates one and the same, so the model is asked past it.

    Attributes
    ----------
    model : Runnable
        A chat model, perhaps with tools bound to it.
    best_of : BestOfN
        The judge with its settings, and n.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model: Any
    best_of: BestOfN
    _asked: Any = PrivateAttr()

    @classmethod
    def of(cls, model: Any, judge: Any, n: int = 4, **settings: Unpack[SelectorSettings]) -> Self:
        """Return the best of n answers of a chat model, by a judge."""
        return cls(model=model, best_of=BestOfN(judge, n, **settings))

    def model_post_init(self, context: Any, /) -> None:
        """Set the cache aside."""
        super().model_post_init(context)
        cached = isinstance(self.model, BaseChatModel)
        self._asked = self.model.model_copy(update={"cache": False}) if cached else self.model

    @property
    def _llm_type(self) -> str:
        return "bonwise-best-of-n"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        """Return the same with tools bound to the model."""
        return type(self)(model=self._asked.bind_tools(tools, **kwargs), best_of=self.best_of)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        config = _below(run_manager, CallbackManager)
        draw: Callable[[int], Any] = lambda at: self._asked.invoke(messages, config, stop=stop, **kwargs)  # noqa: ARG005, E731
        return _result(self.best_of.choose(messages, draw))

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        config = _below(run_manager, AsyncCallbackManager)
        draw: Callable[[int], Any] = lambda at: self._asked.ainvoke(messages, config, stop=stop, **kwargs)  # noqa: ARG005, E731
        return _result(await self.best_of.achoose(messages, draw))


def choosing_runnable(judge: Any, **settings: Unpack[SelectorSettings]) -> Runnable[Any, Any]:
    """Return a runnable from ``{"prompt": ..., "candidates": [...]}`` to the `bonwise.hosts.generation.Chosen`.

    Parameters
    ----------
    judge : Judge, callable, str or Selector
        As of `bonwise.hosts.generation.BestOfN`; what it says of a failing judge holds here too.
    **settings
        Of `bonwise.Selector`.

    Examples
    --------
    >>> chosen = choosing_runnable(lambda prompt, text: -len(text)) | (lambda chosen: chosen.best)
    >>> chosen.invoke({"prompt": "Name a colour", "candidates": ["a kind of blue", "red"]})
    'red'
    """
    best_of = BestOfN(judge, **settings)
    return RunnableLambda(
        lambda given: best_of.pick(given["prompt"], given["candidates"]),
        afunc=lambda given: best_of.apick(given["prompt"], given["candidates"]),
        name="bonwise",
    )


def best_message(chosen: Chosen[Any]) -> AIMessage:
    """Return the message that was chosen, with the usage of all and the trail of the choice."""
    usage = added_usage(getattr(one, "usage_metadata", None) for one in chosen.drawn)
    more = {"response_metadata": {**chosen.best.response_metadata, "bonwise": chosen.trail()}}
    return chosen.best.model_copy(update=more | ({"usage_metadata": usage} if usage else {}))


def _below(run_manager: Any, kind: Any) -> dict[str, Any]:
    """Return the configuration by which the draws are runs below that of the best-of-n model."""
    if run_manager is None:
        return {}
    callbacks = kind(handlers=[], parent_run_id=run_manager.run_id)
    callbacks.set_handlers(run_manager.inheritable_handlers)
    callbacks.add_tags(run_manager.inheritable_tags)
    callbacks.add_metadata(run_manager.inheritable_metadata)
    return {"callbacks": callbacks}


def _result(chosen: Chosen[Any]) -> ChatResult:
    message = best_message(chosen)
    return ChatResult(generations=[ChatGeneration(message=message)], llm_output={"bonwise": chosen.trail()})


def _reordered(ranked: RankedCandidates) -> list[Document]:
    found = []
    for one in ranked:
        place = place_of(one, ranked.selection) if ranked.selection is not None else {}
        score = {} if one.score is None else {"relevance_score": one.score}
        kept = {name: value for name, value in one.candidate.metadata.items() if name != "relevance_score"}
        found.append(one.candidate.model_copy(update={"metadata": {**kept, **score, "bonwise": place}}))
    return found
