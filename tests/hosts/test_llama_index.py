from __future__ import annotations

import asyncio
import copy

import pytest

from bonwise.errors import UsageError
from hosts.reranker_rules import RERANKER_RULES, Reranked, broken, by_length, does_not_block

pytest.importorskip("llama_index.core")

from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.schema import ImageNode, MetadataMode, NodeWithScore, QueryBundle, TextNode

from bonwise.hosts.llama_index import JudgePostprocessor


def nodes(texts):
    """Make nodes."""
    return [NodeWithScore(node=TextNode(text=text, id_=f"n{at}"), score=0.5) for at, text in enumerate(texts)]


def outcome(post, given, found):
    """Return what the rules look at."""
    unjudged = bool(found) and post.ranker.last.selection.decided_by == "random"
    return Reranked(
        [one.node.get_content() for one in found],
        [None if unjudged else one.score for one in found],
        [one.node.metadata["bonwise"] for one in found],
        post.ranker,
        unchanged=all(one.score == 0.5 and one.node.metadata == {} for one in given),
        leaves_out=True,
    )


def processed(judge, query, texts, top=None, **settings):
    """Rerank in the calling thread."""
    post, given = JudgePostprocessor(judge, top_n=top, **settings), nodes(texts)
    return outcome(post, given, post.postprocess_nodes(given, query_str=query))


async def aprocessed(judge, query, texts, top=None, **settings):
    """Rerank in a loop."""
    post, given = JudgePostprocessor(judge, top_n=top, **settings), nodes(texts)
    return outcome(post, given, await post.apostprocess_nodes(given, query_bundle=QueryBundle(query)))


@pytest.mark.parametrize("rule", RERANKER_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize(
    "drive",
    [processed, lambda *given, **settings: asyncio.run(aprocessed(*given, **settings))],
    ids=["sync", "async"],
)
def test_rules_of_rerankers(rule, drive):
    """Each rule holds for the postprocessor."""
    rule(drive)


def test_it_works_in_the_callers_loop():
    """It blocks no loop, and ends with its caller."""
    asyncio.run(does_not_block(aprocessed))


def test_without_a_query_bundle_nodes_are_an_error_and_no_nodes_are_none():
    """LlamaIndex may pass no query at all."""
    post = JudgePostprocessor(by_length)
    assert post.postprocess_nodes([]) == []
    with pytest.raises(UsageError, match="no query to rank 1 documents by"):
        post.postprocess_nodes(nodes(["red"]))


def test_the_filter_that_follows_gets_no_score_of_none():
    """With one node that has no score, a filter by similarity still returns the others."""
    post = JudgePostprocessor(by_length)
    found = post.postprocess_nodes(nodes(["what?", "red", "blue"]), query_str="colours")
    kept = SimilarityPostprocessor(similarity_cutoff=3.5).postprocess_nodes(found)
    assert [one.node.get_content() for one in kept] == ["blue"]
    assert [one.index for one in post.ranker.unscored] == [0]


def test_a_failing_judge_leaves_the_scores_of_the_retriever():
    """Where the judge fails and the host goes on, nodes keep the scores that they had."""
    post = JudgePostprocessor(broken, on_failure="random")
    found = post.postprocess_nodes(nodes(["red", "blue"]), query_str="colours")
    assert [(one.node.get_content(), one.score) for one in found] == [("red", 0.5), ("blue", 0.5)]


def test_neither_a_model_nor_an_embedding_sees_the_metadata():
    """What the judge said does not get into the prompt of the answer."""
    (found,) = JudgePostprocessor(by_length).postprocess_nodes(nodes(["red"]), query_str="colours")
    assert "bonwise" in found.node.metadata
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert found.node.get_content(mode) == "red"


def test_a_node_without_text_has_no_score():
    """A model is not asked about an image without words."""
    post = JudgePostprocessor(lambda query, text: None if not text else len(text))
    given = [*nodes(["red"]), NodeWithScore(node=ImageNode(image_url="http://127.0.0.1/x.png"), score=0.9)]
    assert [one.node.get_content() for one in post.postprocess_nodes(given, query_str="q")] == ["red"]
    assert len(post.ranker.unscored) == 1


def test_it_can_be_copied_and_described():
    """Hosts copy what they are given, and list it by name."""
    post = copy.deepcopy(JudgePostprocessor(by_length, top_n=1))
    assert [one.score for one in post.postprocess_nodes(nodes(["red", "blue"]), query_str="q")] == [4.0]
    assert post.class_name() == "BonwiseJudgePostprocessor"
    assert "class_name" in post.to_dict()
