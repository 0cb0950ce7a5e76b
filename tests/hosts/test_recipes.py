"""The recipes of docs/hosts_recipes.md, each with the real package where it is installed."""

from __future__ import annotations

import asyncio
from itertools import count
from types import SimpleNamespace

import openai
import pytest

from bonwise.testing import Script, ScriptedServer
from docs.pages import blocks
from hosts.generation_rules import broken

RERANKERS, OPTILLM, VERIFIERS = blocks("docs/hosts_recipes.md", "python")


def made(block):
    """Run a block of the page and return its names."""
    names = {}
    exec(compile(block, "docs/hosts_recipes.md", "exec"), names)  # noqa: S102 - its purpose
    return names


def test_rerankers():
    """The block checks itself; the best few, the score of one document and the event loop give the same."""
    pytest.importorskip("rerankers")
    ranker = made(RERANKERS)["ranker"]
    found = asyncio.run(ranker.rank_async("Which is blue?", ["red", "blue", "blue blue"], doc_ids=["a", "b", "c"]))
    assert [one.doc_id for one in found.top_k(2)] == ["c", "b"]
    assert found.get_score_by_docid("a") is None
    assert ranker.score("Which is blue?", "blue") == 1.0


def test_optillm():
    """Its contract is a file with SLUG and run: the longest of four answers comes back, with the tokens of all."""
    plugin, drafts = made(OPTILLM), count(1)
    with (
        ScriptedServer(Script(answer=lambda request: "blue " * next(drafts))).in_thread() as model,
        openai.OpenAI(base_url=f"{model.url}/v1", api_key="none") as client,
    ):
        text, tokens = plugin["run"](
            "Be brief.", "Name a colour.", client, "m", {"n": 3, "stream": True, "max_tokens": 99}
        )
        assert plugin["SLUG"] == "bonwise"
        assert text.strip() == "blue blue blue blue"
        assert tokens >= 1 + 2 + 3 + 4
        plugin["best_of"].__init__(broken, 2)
        assert plugin["run"]("", "Name a colour.", client, "m")[0].strip()
        assert plugin["best_of"].totals.counts.unjudged == 1


def test_verifiers(tmp_path, monkeypatch):
    """A score is a reward, and what has no score is an error of the rollout and not 0."""
    vf = pytest.importorskip("verifiers.v1")
    names = made(VERIFIERS)
    judge, task = names["BonwiseJudge"](), vf.TaskData(prompt="Name a colour.")
    assert asyncio.run(judge.score(task, SimpleNamespace(last_reply="red"))) == -3.0
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_judge.py").write_text(VERIFIERS, encoding="utf-8")
    assert type(vf.load_judge(vf.judge_config_type("my_judge")(id="my_judge"))).__name__ == "BonwiseJudge"
    names["ranker"].__init__(lambda prompt, text: None, on_failure="random")
    with pytest.raises(RuntimeError, match="the judge gave no score: the function returned nothing"):
        asyncio.run(judge.score(task, SimpleNamespace(last_reply="red")))
