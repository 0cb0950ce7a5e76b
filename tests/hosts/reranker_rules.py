"""What every adapter that reranks must do, asked of each through a driver.

A driver is a callable ``(judge, query, texts, top=None, **settings)`` that makes documents of the host, has them
reranked, and returns a `Reranked`. It works in the calling thread or in an event loop.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

import bonwise as bw
from bonwise.errors import JudgeError, UsageError
from bonwise.hosts.reranking import DocumentRanker
from judges.rerank_server import reranking


@dataclass
class Reranked:
    """What came out of a host."""

    texts: list[str]
    scores: list[float | None]
    places: list[dict[str, Any]]
    ranker: DocumentRanker
    unchanged: bool = True
    """Whether the documents that went in are as they were."""
    leaves_out: bool = False
    """Whether the adapter leaves out what has no score."""


NO_VERDICT = "the function returned nothing"


def by_length(_query, text):
    """Score a text by its length; one with a question mark has no score."""
    return None if "?" in text else len(text)


def broken(_query, _text):
    """Fail."""
    raise RuntimeError("out of order")


def best_first(drive):
    """The best document is first, scores are the judge's, and what went in is not changed."""
    found = drive(by_length, "colours", ["red", "scarlet", "blue"])
    assert found.texts == ["scarlet", "blue", "red"]
    assert found.scores == [7.0, 4.0, 3.0]
    assert [one["rank"] for one in found.places] == [1, 2, 3]
    assert found.unchanged


def one_document(drive):
    """A single document is judged too."""
    found = drive(by_length, "colours", ["red"])
    assert (found.texts, found.scores) == (["red"], [3.0])


def identical_documents(drive):
    """Documents of one text are all returned, each with the score of the one judgment."""
    asked = []

    def judge(query, text):
        asked.append(text)
        return by_length(query, text)

    found = drive(judge, "colours", ["red", "red", "blue", "red"])
    assert found.texts == ["blue", "red", "red", "red"]
    assert found.scores == [4.0, 3.0, 3.0, 3.0]


def only_identical_documents(drive):
    """Where all documents are one text, none is dropped."""
    found = drive(by_length, "colours", ["red", "red"])
    assert (found.texts, found.scores) == (["red", "red"], [3.0, 3.0])


def no_documents(drive):
    """No documents give no documents, with a query and without."""
    assert drive(by_length, "colours", []).texts == []
    assert drive(by_length, "", []).texts == []


def no_query(drive):
    """Documents without a query are one clear error."""
    for query in ("", "  "):
        with pytest.raises(UsageError, match="no query to rank 2 documents by"):
            drive(by_length, query, ["red", "blue"])


def unscored_last(drive):
    """What has no score is last or left out, never with a number; metadata and adapter say why."""
    found = drive(by_length, "colours", ["what?", "red", "why?", "blue"])
    rest = [] if found.leaves_out else ["what?", "why?"]
    assert found.texts == ["blue", "red", *rest]
    assert found.scores == [4.0, 3.0, *(None for _ in rest)]
    assert [(one.index, one.reason) for one in found.ranker.unscored] == [(0, NO_VERDICT), (2, NO_VERDICT)]
    assert [one.get("unscored") for one in found.places[2:]] == [NO_VERDICT for _ in rest]
    assert found.ranker.totals.counts.unscored == 2


def nothing_scored(drive):
    """Where nothing has a score there is no best one: the first document is not it."""
    found = drive(by_length, "colours", ["a?", "bb?"])
    assert found.texts == ([] if found.leaves_out else ["a?", "bb?"])
    assert all(score is None for score in found.scores)
    assert found.ranker.last.selection.index is None
    assert len(found.ranker.unscored) == 2


def failing_judge_raises(drive):
    """A judge that fails is its error."""
    with pytest.raises(JudgeError, match="out of order"):
        drive(broken, "colours", ["red", "blue"])


def failing_judge_keeps_the_order(drive):
    """Where asked to go on, all documents are returned in their order, as unjudged."""
    found = drive(broken, "colours", ["red", "scarlet", "blue"], on_failure="random")
    assert found.texts == ["red", "scarlet", "blue"]
    assert all("out of order" in one["unscored"] for one in found.places)
    assert all(one.score is None for one in found.ranker.last)
    assert "out of order" in found.ranker.last.selection.failure
    assert found.ranker.totals.counts.unjudged == 1


def the_best_few(drive):
    """Of those returned none is missing from the ranker, and a number below 1 is refused."""
    found = drive(by_length, "colours", ["red", "scarlet", "what?", "blue"], top=2)
    assert found.texts == ["scarlet", "blue"]
    assert [one.candidate is not None for one in found.ranker.last] == [True] * 4
    assert [one.index for one in found.ranker.unscored] == [2]
    with pytest.raises((UsageError, ValueError), match="top_"):
        drive(by_length, "colours", ["red"], top=0)


def settings_reach_the_selector(drive):
    """Deadline and seed are those of the selector; what it does not know is an error."""
    found = drive(by_length, "colours", ["red", "blue"], deadline=5.0, seed=7)
    assert found.ranker.last.selection.settings["deadline"] == 5.0
    assert found.ranker.last.selection.settings["seed"] == 7
    with pytest.raises((TypeError, UsageError)):
        drive(by_length, "colours", ["red", "blue"], no_such_setting=1)


def a_reranker_endpoint(drive):
    """One call of a service orders all documents of the host."""
    with reranking() as served:
        found = drive(bw.Rerank("vllm/m", base_url=served.url), "colours", ["red", "scarlet", "blue"])
    assert found.texts == ["scarlet", "blue", "red"]
    assert found.scores == [0.07, 0.04, 0.03]
    assert len(served.asked) == 1


RERANKER_RULES = (
    best_first,
    one_document,
    identical_documents,
    only_identical_documents,
    no_documents,
    no_query,
    unscored_last,
    nothing_scored,
    failing_judge_raises,
    failing_judge_keeps_the_order,
    the_best_few,
    settings_reach_the_selector,
    a_reranker_endpoint,
)


async def does_not_block(rerank):
    """Check that an asynchronous judge runs in the caller's loop, all documents at once, and ends when cancelled."""
    loops, waiting, ended = set(), [], []
    everyone = asyncio.Event()

    async def judge(_query, text):
        loops.add(asyncio.get_running_loop())
        if text == "hang":
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(text)
        if not everyone.is_set():
            waiting.append(text)
            if len(waiting) == 4:
                everyone.set()
            await everyone.wait()
        return len(text)

    async with asyncio.timeout(20):
        found = await rerank(judge, "colours", ["red", "scarlet", "blue", "green"])
    assert found.texts[0] == "scarlet"
    assert loops == {asyncio.get_running_loop()}
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await rerank(judge, "colours", ["red", "hang"])
    assert ended == ["hang"]
