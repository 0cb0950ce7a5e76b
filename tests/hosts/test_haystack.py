from __future__ import annotations

import asyncio

import pytest

from bonwise.errors import UsageError
from hosts.reranker_rules import RERANKER_RULES, Reranked, by_length, does_not_block

pytest.importorskip("haystack")

from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from bonwise.hosts.haystack import JudgeRanker as SameRanker
from haystack_integrations.components.rankers.bonwise import JudgeRanker


def documents(texts):
    """Make documents; a document's id is made from its content, and two of one text have one id."""
    return [Document(content=text, meta={"at": at}, score=0.5) for at, text in enumerate(texts)]


def outcome(ranker, given, found):
    """Return what the rules look at."""
    return Reranked(
        [one.content for one in found],
        [one.score for one in found],
        [one.meta["bonwise"] for one in found],
        ranker.ranker,
        unchanged=all(one.meta == {"at": at} and one.score == 0.5 for at, one in enumerate(given)),
    )


def ran(judge, query, texts, top=None, **settings):
    """Rerank in the calling thread."""
    ranker, given = JudgeRanker(judge, top_k=top, **settings), documents(texts)
    return outcome(ranker, given, ranker.run(query=query, documents=given)["documents"])


async def aran(judge, query, texts, top=None, **settings):
    """Rerank in a loop."""
    ranker, given = JudgeRanker(judge, **settings), documents(texts)
    return outcome(ranker, given, (await ranker.run_async(query=query, documents=given, top_k=top))["documents"])


@pytest.mark.parametrize("rule", RERANKER_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize(
    "drive", [ran, lambda *given, **settings: asyncio.run(aran(*given, **settings))], ids=["sync", "async"]
)
def test_rules_of_rerankers(rule, drive):
    """Each rule holds for the component."""
    rule(drive)


def test_it_works_in_the_callers_loop():
    """It blocks no loop, and ends with its caller."""
    asyncio.run(does_not_block(aran))


def test_a_document_without_text_has_no_score():
    """What holds no text, such as an image, is last and has no score."""
    given = [Document(content=None, meta={"file": "x.png"}, score=0.9), Document(content="red")]
    ranker = JudgeRanker(by_length)
    found = ranker.run(query="colours", documents=given)["documents"]
    assert [(one.content, one.score) for one in found] == [("red", 3.0), (None, None)]
    assert [one.reason for one in ranker.ranker.unscored] == ["no text"]


def pipeline(ranker):
    """Connect a retriever to a ranker."""
    store = InMemoryDocumentStore()
    store.write_documents([Document(content=f"the colour {name}") for name in ("red", "scarlet", "blue")])
    made = Pipeline()
    made.add_component("retriever", InMemoryBM25Retriever(store))
    made.add_component("ranker", ranker)
    made.connect("retriever.documents", "ranker.documents")
    return made


def test_it_runs_in_a_pipeline():
    """Documents of a retriever come out in the judge's order."""
    found = pipeline(JudgeRanker(by_length, top_k=2)).run(
        {"retriever": {"query": "colour"}, "ranker": {"query": "colour"}}
    )
    assert [one.content for one in found["ranker"]["documents"]] == ["the colour scarlet", "the colour blue"]


def test_a_pipeline_survives_yaml():
    """A pipeline is written and read again without any allowance for the module."""
    ranker = JudgeRanker("pairwise:openai/gpt-5-mini", top_k=2, deadline=3.0, on_failure="random", max_cost=1.0)
    again = Pipeline.loads(pipeline(ranker).dumps()).get_component("ranker")
    assert again.ranker.top_k == 2
    assert again.ranker.selector.to_dict() == ranker.ranker.selector.to_dict()


def test_yaml_written_by_hand_names_the_judge():
    """In a file a judge is a text, as on a command line."""
    written = """
components:
  ranker:
    type: haystack_integrations.components.rankers.bonwise.JudgeRanker
    init_parameters: {judge: "local:length", top_k: 1}
connections: []
"""
    given = {"query": "colours", "documents": documents(["red", "scarlet"])}
    found = Pipeline.loads(written).run({"ranker": given})["ranker"]["documents"]
    assert [one.content for one in found] == ["scarlet"]


def test_a_function_has_no_form_in_yaml():
    """A judge that no text names is refused, and said to be one."""
    with pytest.raises(UsageError, match="judge"):
        JudgeRanker(by_length).to_dict()


def test_both_names_are_one_class():
    """The room of hosts has it too."""
    assert SameRanker is JudgeRanker
