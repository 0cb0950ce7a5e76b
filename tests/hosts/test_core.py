"""The rules that all adapters share, without any host."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import subprocess
import sys
import time
from itertools import count

import pytest

import bonwise as bw
from bonwise.errors import UsageError
from bonwise.hosts import HOSTS
from bonwise.hosts.adapters import place_of
from bonwise.hosts.cross_encoder import JudgeCrossEncoder
from bonwise.hosts.generation import BestOfN
from bonwise.hosts.reranking import DocumentRanker
from cli.served import served
from hosts.generation_rules import GENERATION_RULES, Generated
from hosts.reranker_rules import RERANKER_RULES, Reranked, by_length, does_not_block


def reranked(ranker, found, selection=None):
    """Return what a ranking is to the rules."""
    chosen = [place_of(one, ranker.last.selection) for one in found]
    return Reranked([one.candidate for one in found], [one.score for one in found], chosen, ranker)


def by_ranker(judge, query, texts, top=None, **settings):
    """Rank in the calling thread."""
    ranker = DocumentRanker(judge, **settings)
    return reranked(ranker, ranker.rank(query, texts, top))


async def by_ranker_in_a_loop(judge, query, texts, top=None, **settings):
    """Rank in the running loop."""
    ranker = DocumentRanker(judge, **settings)
    return reranked(ranker, await ranker.arank(query, texts, top))


def by_encoder(judge, query, texts, top=None, **settings):
    """Rank in the shape of a CrossEncoder."""
    encoder = JudgeCrossEncoder(judge, **settings)
    found = encoder.rank(query, texts, top, return_documents=True, batch_size=8)
    return of_entries(encoder, texts, found)


async def by_encoder_in_a_loop(judge, query, texts, top=None, **settings):
    """Do the same in the running loop."""
    encoder = JudgeCrossEncoder(judge, **settings)
    return of_entries(encoder, texts, await encoder.arank(query, texts, top, return_documents=True))


def of_entries(encoder, texts, found):
    """Return what the mappings of a CrossEncoder are to the rules."""
    assert [one["text"] for one in found] == [texts[one["corpus_id"]] for one in found]
    places = [{"rank": at, **one} for at, one in enumerate(found, start=1)]
    return Reranked([one["text"] for one in found], [one["score"] for one in found], places, encoder.ranker)


def awaited(drive):
    """Run a driver that is asynchronous."""
    return lambda *args, **kwargs: asyncio.run(drive(*args, **kwargs))


RANKERS = {
    "ranker": by_ranker,
    "ranker in a loop": awaited(by_ranker_in_a_loop),
    "encoder": by_encoder,
    "encoder in a loop": awaited(by_encoder_in_a_loop),
}


@pytest.mark.parametrize("rule", RERANKER_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("drive", RANKERS.values(), ids=RANKERS)
def test_rules_of_rerankers(rule, drive):
    """Each rule holds for the ranker itself and for the shape of a CrossEncoder."""
    rule(drive)


@pytest.mark.parametrize("rerank", [by_ranker_in_a_loop, by_encoder_in_a_loop])
def test_asynchronous_rerankers_do_not_block(rerank):
    """They work in the caller's loop."""
    asyncio.run(does_not_block(rerank))


def test_an_encoder_refuses_what_would_change_scores():
    """An argument of a CrossEncoder that a judge has no counterpart of is an error."""
    with pytest.raises(UsageError, match="apply_softmax: a judge has no such setting"):
        JudgeCrossEncoder(by_length).rank("colours", ["red"], apply_softmax=True)


def drawn(judge, answers, **settings):
    """Draw answers by a function."""
    best_of, numbers = BestOfN(judge, len(answers), **settings), count()

    def draw(at):
        next(numbers)
        if isinstance(answers[at], Exception):
            raise answers[at]
        return answers[at]

    chosen = best_of.choose("Name a colour", draw)
    return Generated(chosen.best, chosen.trail(), None, best_of, next(numbers))


def drawn_in_a_loop(judge, answers, **settings):
    """Draw answers by an asynchronous function."""
    best_of, numbers = BestOfN(judge, len(answers), **settings), count()

    async def draw(at):
        next(numbers)
        await asyncio.sleep(0.001 * (len(answers) - at))
        if isinstance(answers[at], Exception):
            raise answers[at]
        return answers[at]

    chosen = asyncio.run(best_of.achoose("Name a colour", draw))
    return Generated(chosen.best, chosen.trail(), None, best_of, next(numbers))


@pytest.mark.parametrize("rule", GENERATION_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("generate", [drawn, drawn_in_a_loop])
def test_rules_of_generation(rule, generate):
    """Each rule holds for draws in threads and in a loop."""
    rule(generate)


def test_draws_run_side_by_side():
    """Draws that block run in threads of their own."""
    begun = time.perf_counter()
    BestOfN(by_length, 4).choose("p", lambda at: time.sleep(0.2) or "x" * at)
    assert time.perf_counter() - begun < 0.7


def test_cancelling_ends_the_draws():
    """A caller that gives up ends every draw, before it gets its own error."""
    ended = []

    async def draw(at):
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(at)

    async def impatient():
        async with asyncio.timeout(0.05):
            await BestOfN(by_length, 3).achoose("p", draw)

    with pytest.raises(TimeoutError):
        asyncio.run(impatient())
    assert sorted(ended) == [0, 1, 2]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_error_by_which_a_host_steers_is_passed_on_at_once(asynchronous):
    """It is neither listed nor waited for."""

    class SteerError(Exception):
        pass

    best_of = BestOfN(by_length, 3, pass_on=(SteerError,))

    def draw(at):
        if at == 1:
            raise SteerError
        return "red"

    async def adraw(at):
        if at == 1:
            raise SteerError
        await asyncio.sleep(60 if at == 2 else 0)
        return "red"

    with pytest.raises(SteerError):
        asyncio.run(best_of.achoose("p", adraw)) if asynchronous else best_of.choose("p", draw)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_prompt_that_no_judge_reads_is_refused_before_anything_is_paid(asynchronous):
    """A host that gets this error has lost no candidate."""
    asked, best_of = [], BestOfN(by_length, 3)

    async def draw(at):
        asked.append(at)

    with pytest.raises(UsageError, match="the prompt must be text or chat messages, not int"):
        asyncio.run(best_of.achoose(7, draw)) if asynchronous else best_of.choose(7, asked.append)
    assert asked == []


def test_a_pick_without_a_judge_is_no_blank():
    """Where the judge fails the seed draws among the candidates that have words."""

    def broken(prompt, texts):
        raise RuntimeError("out of order")

    for seed in range(12):
        best_of = BestOfN(bw.Pairwise("openai/none", base_url="http://127.0.0.1:9"), 4, seed=seed, deadline=0.5)
        chosen = best_of.choose("Name a colour", lambda at: ["", "red", " ", "blue"][at])
        assert chosen.best in {"red", "blue"}
        assert chosen.unjudged


def test_what_judging_takes_stands_apart(tmp_path):
    """Tokens and cost of the judge are in the trail, and the totals are their sums."""
    with pytest.MonkeyPatch.context() as patch, served(patch, tmp_path):
        best_of = BestOfN("pointwise:openai/m", 3)
        trails = [best_of.choose(f"Name colour {x}", lambda at: f"colour {at}").trail() for x in range(3)]
        best_of.selector.close()
    assert [one["judge_usage"]["calls"] for one in trails] == [3, 3, 3]
    assert all(one["judge_usage"]["cost"] > 0 for one in trails)
    bill = best_of.totals.counts.bill
    assert bill.cost == pytest.approx(sum(one["judge_usage"]["cost"] for one in trails))
    assert bill.input_tokens == sum(one["judge_usage"]["input_tokens"] for one in trails)


def test_what_a_model_says_besides_a_score_is_no_score(tmp_path):
    """Refusals, words without a number and NaN leave no document first, and no document is lost."""
    said = {"red": "I cannot rate this.", "blue": "NaN", "tan": '{"score": 40}', "teal": "no idea", "pink": "40"}

    def answer(request):
        return next(words for text, words in said.items() if f"\n{text}\n" in request.user)

    with pytest.MonkeyPatch.context() as patch, served(patch, tmp_path, answer=answer):
        ranker = DocumentRanker("pointwise:openai/m")
        found = ranker.rank("Name a colour", list(said))
        ranker.selector.close()
    assert {one.candidate for one in found} == set(said)
    assert {one.candidate for one in found[:2]} == {"tan", "pink"}
    assert {one.candidate for one in ranker.unscored} == {"red", "blue", "teal"}
    assert all(one.reason for one in ranker.unscored)


def test_a_ledger_answers_no_other_question(tmp_path):
    """The same candidates under another prompt, or other candidates under the same, are asked of the model again."""
    with pytest.MonkeyPatch.context() as patch, served(patch, tmp_path):
        ranker = DocumentRanker("pointwise:openai/m", ledger=str(tmp_path / "run"))
        calls = []
        for prompt, texts in (("a", "xy"), ("b", "xy"), ("a", "xz"), ("a", "xy")):
            before = ranker.totals.counts.bill.calls
            ranker.rank(prompt, list(texts))
            calls.append(ranker.totals.counts.bill.calls - before)
        ranker.selector.close()
    assert calls == [2, 2, 1, 0]


# A loop that ends leaves the connections that were made in it to the collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_limits_of_spending_hold_from_loop_to_loop(tmp_path):
    """Trainers and evaluations call an adapter from event loops of their own, one after the other."""
    with pytest.MonkeyPatch.context() as patch, served(patch, tmp_path):
        ranker = DocumentRanker("pointwise:openai/m", max_calls=3)
        assert asyncio.run(ranker.ascore("a", "x")).score is not None
        assert asyncio.run(ranker.ascore("a", "y")).score is not None
        assert ranker.score("a", "z").score is not None
        with pytest.raises(bw.BonwiseError, match="max_calls"):
            asyncio.run(ranker.ascore("a", "w"))
        ranker.selector.close()
        del ranker
        gc.collect()


def test_a_ranker_can_be_copied_and_pickled():
    """Copies count together, what is unpickled counts on its own."""
    ranker = DocumentRanker("local:length")
    copied, pickled = copy.deepcopy(ranker), pickle.loads(pickle.dumps(ranker))  # noqa: S301 - its own
    copied.rank("q", ["red"])
    pickled.rank("q", ["red"])
    assert ranker.totals.counts.selections == copied.totals.counts.selections == 1
    assert pickled.totals.counts.selections == 1


def test_a_selector_brings_its_own_settings():
    """Settings beside a selector are refused: they would be ignored."""
    selector = bw.Selector(by_length)
    assert DocumentRanker(selector).selector is selector
    assert BestOfN(selector).selector.settings.on_failure == "raise"
    with pytest.raises(UsageError, match="a selector brings its own settings, and deadline is given beside it"):
        BestOfN(selector, deadline=1.0)


def test_importing_the_room_loads_no_host():
    """The package and its rooms of rules load no framework."""
    code = (
        "import sys, bonwise, bonwise.hosts, bonwise.hosts.reranking, bonwise.hosts.generation\n"
        "import bonwise.hosts.cross_encoder, bonwise.hosts.trl\n"
        f"hosts = {{'sentence_transformers', 'starlette', 'torch', 'trl', *{ABSENT}}}\n"
        "print(hosts & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


MISSING = {
    "dspy": ("bonwise.hosts.dspy", "dspy"),
    "haystack": ("bonwise.hosts.haystack", "haystack"),
    "inspect_ai": ("bonwise.hosts.inspect_ai", "inspect-ai"),
    "langchain": ("bonwise.hosts.langchain", "langchain"),
    "langchain_agents": ("bonwise.hosts.langchain_agents", "langchain"),
    "litellm": ("bonwise.hosts.litellm", "litellm"),
    "llama_index": ("bonwise.hosts.llama_index", "llama-index"),
    "mcp_server": ("bonwise.hosts.mcp_server", "mcp"),
    "openai_agents": ("bonwise.hosts.openai_agents", "openai-agents"),
    "pydantic_ai": ("bonwise.hosts.pydantic_ai", "pydantic-ai"),
    "pydantic_evals": ("bonwise.hosts.pydantic_evals", "pydantic-evals"),
}

ABSENT = sorted({module.partition(".")[0] for feature in HOSTS.values() for module in feature.modules})


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_host_is_one_line_to_type(name):
    """Where the framework is not installed, importing the module says what to install."""
    module, extra = MISSING[name]
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name.partition('.')[0] in {ABSENT}:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        f"try:\n    import {module}\n"
        "except Exception as error: print(type(error).__name__, error.hint)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"MissingExtraError pip install 'bonwise[{extra}]'"
