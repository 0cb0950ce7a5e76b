"""A judge that is shown all candidates at once: order, reading, windows, positions, and what it costs."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import random
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.calls.ask import Choice
from bonwise.calls.engine import Engine
from bonwise.errors import UsageError
from bonwise.judges.judging import judge_with
from bonwise.judges.listwise import WINDOW, Listwise
from bonwise.judges.prompt_loading import prompts_folder
from bonwise.judges.scoring import JudgedPool, OrderEffect, order_effects
from bonwise.table.pools import Candidate, Pool
from bonwise.table.verdicts import Preference, Score, Unscored
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from cli.commands import pool_file, rows_of, typed
from cli.served import served
from judges.injections import INJECTIONS
from judges.replies import answered

MODEL = "openai/m"
TEXTS = ["alpha", "beta", "gamma"]
PROMPT = "Name a letter."
LEFT_OUT, TWICE = Unscored("the reply leaves this candidate out"), Unscored("the reply names this candidate twice")
FENCED = re.compile(r"--- BEGIN CANDIDATE \d+ (\w{32}) ---\n(.*?)\n--- END CANDIDATE \d+ \1 ---", re.DOTALL)


def shown(user):
    """Return the candidates of a question, in the order in which they are shown."""
    return [text for _, text in FENCED.findall(user)]


def scored(user, score_of):
    """Return the reply that scores each candidate of a question by its text."""
    return json.dumps(
        {"scores": [{"candidate": n, "score": score_of(text)} for n, text in enumerate(shown(user), 1)]}
    )


def ranked(user, score_of):
    """Return the reply that ranks the candidates of a question by their texts."""
    texts = shown(user)
    return json.dumps({"ranking": sorted(range(1, len(texts) + 1), key=lambda n: (-score_of(texts[n - 1]), n))})


def verdicts(judge, texts, reply):
    """Return the verdicts where every question gets the reply that a function makes of it."""
    asks = judge.asks(PROMPT, texts)
    return answered(judge, PROMPT, texts, [[reply(ask.user)] for ask in asks])


def test_all_candidates_stand_in_one_question_in_an_order_of_their_own():
    """The order depends on prompt, texts and seed, not on where the texts stand; a blank one is not shown."""
    (ask,) = Listwise(MODEL).asks(PROMPT, [*TEXTS, " "])
    assert sorted(shown(ask.user)) == TEXTS
    for texts in itertools.permutations(TEXTS):
        (other,) = Listwise(MODEL).asks(PROMPT, texts)
        assert other.user == ask.user
    orders = {tuple(shown(Listwise(MODEL, seed=seed).asks(PROMPT, TEXTS)[0].user)) for seed in range(60)}
    assert len(orders) == 6


def test_a_second_order_is_the_first_one_turned_round():
    """Every pair is then seen both ways; a third order is drawn anew."""
    first, second, third, fourth = (shown(ask.user) for ask in Listwise(MODEL, orders=4).asks(PROMPT, list("abcdef")))
    assert second == first[::-1]
    assert fourth == third[::-1]
    assert third not in (first, second)


def entries(*pairs, number="candidate", score="score"):
    """Return the reply that gives candidates these scores."""
    return json.dumps({"scores": [{number: candidate, score: given} for candidate, given in pairs]})


ALL = (1, 80), (2, 35), (3, 0)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (entries(*ALL[::-1]), (0.8, 0.35, 0.0)),
        ('{"scores": {"1": 80, "2": 35, "3": 0}, "why": null}', (0.8, 0.35, 0.0)),
        (f"```json\n{entries(*ALL, number='id', score='rating')}\n```", (0.8, 0.35, 0.0)),
        (f"Here it is: {entries(*ALL, number='Number')}", (0.8, 0.35, 0.0)),
        (entries(*ALL[:2]), (0.8, 0.35, LEFT_OUT)),
        (entries(ALL[0], *ALL[::2]), (TWICE, LEFT_OUT, 0.0)),
        (
            entries((1, 101), (2, None), (3, 0)),
            (Unscored("off the scale 0 to 100: 101"), Unscored("cannot judge"), 0.0),
        ),
        (entries((4, 80), (1, 3)), "it names candidate 4, and 3 were shown"),
        (entries((0, 80)), "it names candidate 0, and 3 were shown"),
        ('{"scores": [80, 35, 0]}', "a list without the numbers of candidates"),
        ('{"scores": []}', "a list without the numbers of candidates"),
        ('{"scores": null, "why": "No text arrived."}', "cannot judge: No text arrived."),
        ("I would give 80, 35 and 0.", "no scores in the reply"),
        (entries(*ALL)[:-2], "a broken JSON object"),
    ],
)
def test_numbers_of_candidates_are_checked(reply, expected):
    """What is left out or named twice has no score; what was not shown makes the whole reply one of no use."""
    found = answered(Listwise(MODEL), PROMPT, TEXTS, [[reply]]).verdicts
    in_order = [found[TEXTS.index(text)] for text in shown(Listwise(MODEL).asks(PROMPT, TEXTS)[0].user)]
    if isinstance(expected, str):
        assert [verdict.reason for verdict in in_order] == [expected] * 3
        return
    assert in_order == [one if isinstance(one, Unscored) else Score(one) for one in expected]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_body_of_the_question(provider):
    """As each SDK sends it: the instructions of the file, the candidates once, the schema, and no other field."""
    bodies = []

    def answer(request):
        bodies.append(request.body)
        return Choice(scored(request.user, len))

    async def run(url):
        judge = Listwise(f"{provider}/m", base_url=f"{url}/v1" if provider == "openai" else url)
        async with Engine(reask=0) as engine:
            return await judge_with(engine, judge, PROMPT, TEXTS)

    with ScriptedServer(Script(answer)).in_thread() as server:
        found = asyncio.run(run(server.url))
    assert [verdict.value for verdict in found.verdicts] == [0.05, 0.04, 0.05]
    (body,) = bodies
    question = {"role": "user", "content": body["messages"][-1]["content"]}
    assert sorted(shown(question["content"])) == TEXTS
    file = (prompts_folder() / "listwise.md").read_text("utf-8")
    system = file.partition("[system]")[2].partition("[user]")[0].strip()
    assert (system_of(body), body["model"]) == (system, "m")
    if provider == "openai":
        rest = {"temperature": 0.0, "max_completion_tokens": 1024}
        form = {"name": "answer", "strict": True, "schema": SCHEMA}
        stated = {"response_format": {"type": "json_schema", "json_schema": form}}
    else:
        rest = {"max_tokens": 1024, "system": body["system"]}
        stated = {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}
    assert body == {"model": "m", "messages": [*body["messages"][:-1], question], **rest, **stated}


def system_of(body):
    """Return the instructions of a request, wherever they stand, without blanks about them."""
    (words,) = [body["system"]] if "system" in body else [each["content"] for each in body["messages"][:-1]]
    return words.strip()


def closed(**fields):
    """Return the schema of an object of these fields alone."""
    return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}


SCHEMA = closed(
    scores={
        "type": ["array", "null"],
        "description": "The number of each candidate with its score, a whole number from 0 to 100.",
        "items": closed(candidate={"type": "integer"}, score={"type": "integer"}),
    },
    why={"type": ["null", "string"], "description": "Null beside an answer; else why none can be given."},
)


ENTRIES = st.dictionaries(
    st.sampled_from(["candidate", "score", "id", "x"]),
    st.none() | st.booleans() | st.integers(-2, 120) | st.floats() | st.text(max_size=3),
    max_size=3,
)
REPLIES = st.text() | st.builds(
    lambda before, found, after: f"{before}{json.dumps({'scores': found})}{after}",
    st.text(max_size=20),
    st.lists(ENTRIES, max_size=5) | ENTRIES,
    st.text(max_size=20),
)


@given(REPLIES)
def test_any_reply_is_read_or_unscored(reply):
    """Whatever a model says each candidate has a score on the scale, or none with a reason; nothing is raised."""
    found = answered(Listwise(MODEL), PROMPT, TEXTS, [[reply]]).verdicts
    assert len(found) == len(TEXTS)
    assert all(verdict.reason if isinstance(verdict, Unscored) else 0 <= verdict.value <= 1 for verdict in found)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"ranking": [2, 1, 3]}', (0.5, 1.0, 0.0)),
        ('{"ranking": ["Candidate 2", "[1]", "3"]}', (0.5, 1.0, 0.0)),
        ("[2] > [1] > [3]", (0.5, 1.0, 0.0)),
        ("The second is best.\n\nRanking: 2 > 1 > 3", (0.5, 1.0, 0.0)),
        ('{"ranking": [2, 1, 2, 3]}', (1.0, TWICE, 0.0)),
        ('{"ranking": [2, 1]}', (0.0, 1.0, LEFT_OUT)),
        ('{"ranking": [2]}', (LEFT_OUT, Unscored("the reply ranks no other candidate"), LEFT_OUT)),
        ('{"ranking": [2, 1, 4]}', "it names candidate 4, and 3 were shown"),
        ("2", "no ranking in the reply"),
    ],
)
def test_a_ranking_is_the_share_of_the_others_below(reply, expected):
    """Places are counted among those that are ranked once."""
    judge = Listwise(MODEL, ranking=True)
    found = answered(judge, PROMPT, TEXTS, [[reply]]).verdicts
    in_order = [found[TEXTS.index(text)] for text in shown(judge.asks(PROMPT, TEXTS)[0].user)]
    if isinstance(expected, str):
        assert [verdict.reason for verdict in in_order] == [expected] * 3
        return
    assert in_order == [one if isinstance(one, Unscored) else Score(one) for one in expected]


def test_orders_are_averaged_and_kept_apart():
    """By hand: a judge that adds 10 to what is shown first turns one pair of three with the order."""

    def reply(user):
        texts = shown(user)
        return scored(user, lambda text: {"alpha": 50, "beta": 45, "gamma": 10}[text] + 10 * (text == texts[0]))

    judge = Listwise(MODEL, orders=2)
    first, *_ = (shown(ask.user) for ask in judge.asks(PROMPT, TEXTS))
    assert first == ["beta", "gamma", "alpha"]
    found = verdicts(judge, TEXTS, reply)
    assert [verdict.value for verdict in found.verdicts] == pytest.approx([0.55, 0.5, 0.1])
    assert [verdict.draws for verdict in found.verdicts] == [(0.5, 0.6), (0.55, 0.45), (0.1, 0.1)]
    assert found.preferences == (Preference(0, 1, 1.0, 0.0), Preference(0, 2, 1.0, 1.0), Preference(1, 2, 1.0, 1.0))


def test_an_order_that_cannot_be_read_is_left_out_and_lost():
    """The other one scores; each pair has lost a side, which picks tell."""
    judge = Listwise(MODEL, orders=2)
    replies = [["no idea"], [scored(judge.asks(PROMPT, TEXTS)[1].user, {"alpha": 9, "beta": 5, "gamma": 1}.get)]]
    found = answered(judge, PROMPT, TEXTS, replies)
    assert [verdict.value for verdict in found.verdicts] == [0.09, 0.05, 0.01]
    assert [verdict.draws for verdict in found.verdicts] == [(None, 0.09), (None, 0.05), (None, 0.01)]
    assert all(pair.lost for pair in found.preferences)
    assert answered(judge, PROMPT, TEXTS, [["no idea"], ["no idea"]]).preferences == ()


@given(
    scores=st.lists(st.integers(0, 100), min_size=2, max_size=45),
    orders=st.integers(1, 3),
    ranking=st.booleans(),
    seed=st.integers(0, 9),
)
@settings(max_examples=40, deadline=None)
def test_scores_are_those_of_plain_loops(scores, orders, ranking, seed):
    """Question by question: mean over the windows of an order, then over the orders; pairs that stand together."""
    texts = [f"text {at} {score}" for at, score in enumerate(scores)]
    judge = Listwise(MODEL, orders=orders, ranking=ranking, seed=seed)
    asks = judge.asks(PROMPT, texts)
    assert len(asks) == judge.calls(len(texts))
    score_of = dict(zip(texts, scores, strict=True)).get
    replies = [[(ranked if ranking else scored)(ask.user, score_of)] for ask in asks]
    found = answered(judge, PROMPT, texts, replies)
    said = {text: [[] for _ in range(orders)] for text in texts}
    pairs = set()
    for at, ask in enumerate(asks):
        order = at // (len(asks) // orders)
        present = shown(ask.user)
        assert len(present) == len(set(present)) == min(WINDOW, len(texts))
        ahead = sorted(present, key=lambda text: -score_of(text))
        for text in present:
            place = ahead.index(text) if not ranking else ranked_place(present, text, score_of)
            said[text][order].append(1 - place / (len(present) - 1) if ranking else score_of(text) / 100)
        pairs |= {frozenset(pair) for pair in itertools.combinations(present, 2)}
    for text, verdict in zip(texts, found.verdicts, strict=True):
        assert all(said[text])
        means = [math.fsum(window) / len(window) for window in said[text]]
        assert verdict.value == pytest.approx(math.fsum(means) / orders, abs=1e-12)
    assert {frozenset((texts[pair.a], texts[pair.b])) for pair in found.preferences} == pairs


def ranked_place(present, text, score_of):
    """Return the place, from 0, that `ranked` gives a text."""
    return sorted(present, key=lambda one: (-score_of(one), present.index(one))).index(text)


def test_many_candidates_are_asked_about_in_windows_that_overlap():
    """Of 45 there are five questions of 20; each text stands in two or three of them."""
    asks = Listwise(MODEL).asks(PROMPT, [f"text {at}" for at in range(45)])
    counts = Counter(text for ask in asks for text in shown(ask.user))
    assert (len(asks), set(counts.values()), len(counts)) == (5, {2, 3}, 45)
    assert all(len(shown(ask.user)) == WINDOW for ask in asks)
    assert [len(Listwise(MODEL).asks(PROMPT, [str(at) for at in range(count)])) for count in (1, 20, 21, 100)] == [
        1,
        1,
        3,
        10,
    ]
    assert [Listwise(MODEL, ranking=True, orders=2).calls(count) for count in (0, 1, 2, 21)] == [0, 0, 2, 6]


@pytest.mark.parametrize("setting", [{"orders": 0}, {"orders": 1.5}, {"seed": -1}, {"prompt": "pairwise"}])
def test_settings_that_mean_nothing_are_refused(setting):
    """As those of any other judge."""
    with pytest.raises(UsageError):
        Listwise(MODEL, **setting)


@pytest.mark.parametrize("text", INJECTIONS[:60], ids=range(60))
def test_what_a_candidate_claims_scores_nothing(text):
    """Eight hostile candidates arrive byte for byte; a reply that quotes one of them is not answered by it."""
    pool = [text, *(f"honest {at}" for at in range(7))]
    (ask,) = Listwise(MODEL).asks(PROMPT, pool)
    sent = "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in text)
    assert len(sent) > 60_000 or not sent.strip() or f"\n{sent}\n" in ask.user
    honest = verdicts(Listwise(MODEL), pool, lambda user: scored(user, lambda _: 50)).verdicts
    assert {verdict.value for verdict in honest if isinstance(verdict, Score)} == {0.5}


@pytest.mark.parametrize("ranking", [False, True])
def test_the_best_one_is_found_as_by_pairs(ranking):
    """On models that know the better text but for noise and a liking for the first, listwise and pairs agree."""
    chance = random.Random(5)  # noqa: S311 - repeated, not secret
    quality = {f"answer {at}": at for at in range(8)}

    def of(text):
        return quality[text] * 12 + chance.gauss(0, 4)

    hits = Counter()
    for prompt in range(40):
        judge = Listwise(MODEL, ranking=ranking, seed=prompt)
        reply = ranked if ranking else lambda user, score_of: scored(user, lambda text: round(max(score_of(text), 0)))
        found = verdicts(judge, list(quality), lambda user: reply(user, of)).verdicts  # noqa: B023 - called at once
        values = [verdict.value for verdict in found]
        hits["listwise"] += values.index(max(values)) == 7
        pairs = bw.Pairwise(MODEL)
        asks = pairs.asks(f"{prompt}", list(quality))
        said = [[json.dumps({"choice": "A" if of(a) > of(b) else "B", "confidence": 3})] for a, b in map(two, asks)]
        earned = [verdict.value for verdict in answered(pairs, f"{prompt}", list(quality), said).verdicts]
        hits["pairs"] += earned.index(max(earned)) == 7
    assert hits["listwise"] >= 36
    assert abs(hits["listwise"] - hits["pairs"]) <= 4


def two(ask):
    """Return the two candidates of a question about a pair."""
    return re.findall(r"--- BEGIN CANDIDATE [AB] \w+ ---\n(.*)\n", ask.user)


def judged(preferences):
    """Return a pool with these preferences as the only judge found them."""
    judgment = bw.judges.protocol.Judgment((), preferences)
    return JudgedPool(Pool("p", "", (Candidate("a", ""), Candidate("b", ""))), (judgment,))


def test_the_position_effect_is_told_of_one_order_too():
    """By hand: shown first it earned 1, 0.5 and 0: twice the mean, less 1. Pairs in both orders go before."""
    judge = Listwise(MODEL)
    once = [Preference(0, 1, 1.0, None), Preference(0, 1, None, 0.5), Preference(0, 1, None, 1.0)]
    (effect,) = order_effects([judged(tuple(once))], [judge])
    assert effect == OrderEffect(judge.name, 3, 0.0, None)
    assert str(effect) == (
        "listwise:openai/m: position effect +0.000, over 3 pairs each shown in one order that was drawn"
    )
    (both,) = order_effects([judged((*once, Preference(0, 1, 1.0, 0.0)))], [judge])
    assert (both.pairs, both.advantage, both.differing) == (1, 1.0, 1)


def test_a_pool_of_eight_costs_one_call_and_nothing_the_second_time(tmp_path):
    """Re-asks included, where one reply in five cannot be read at first: at most 1.3 calls a pool."""
    pools = [(f"Question {at}", [f"answer {at} {n}" for n in range(8)]) for at in range(50)]
    spoilt = set()

    def answer(request):
        if len(spoilt) < 10 and request.user not in spoilt and hash_of(request.user) % 5 == 0:
            spoilt.add(request.user)
            return Choice("I cannot say which.")
        return Choice(scored(request.user, lambda text: int(text[-1]) * 10))

    async def run(url):
        judge = Listwise(MODEL, base_url=f"{url}/v1")
        async with Engine(ledger=tmp_path, reask=1) as engine:
            found = [await judge_with(engine, judge, prompt, texts) for prompt, texts in pools]
            return found, engine.totals.bill.calls

    with ScriptedServer(Script(answer)).in_thread() as server:
        found, calls = asyncio.run(run(server.url))
        again, more = asyncio.run(run(server.url))
    assert 50 < calls <= 65
    assert more == 0
    assert [one.verdicts for one in found] == [one.verdicts for one in again]
    assert all([verdict.value for verdict in one.verdicts] == [n / 10 for n in range(8)] for one in found)


def hash_of(text):
    """Return a number that depends on a text alone."""
    return sum(text.encode())


def test_the_command_scores_picks_and_tells_the_position_effect(capsys, tmp_path, monkeypatch):
    """From pools to scores and pairs with a model, one call a pool; the dry run counts the same."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", {f"p{at}": [f"a{at}", f"bb{at}", f"ccc{at}"] for at in range(4)})
    command = ("judge", "pools.jsonl", "--judge", f"listwise:{MODEL}")
    with served(monkeypatch, tmp_path) as script:
        dry = typed(capsys, *command, "--dry-run")
        done = typed(capsys, *command, "--out", "scores.csv", "--pairs", "pairs.csv")
        picked = typed(capsys, "select", "pools.jsonl", "--judge", f"listwise:{MODEL}")
    assert (dry.code, done.code, picked.code) == (0, 0, 0)
    assert "4 calls" in " ".join((dry.out + dry.err).split())
    assert script.counts.paid.total() == 4
    rows = rows_of("scores.csv")
    assert len(rows) == 12
    assert all(0 <= float(row["judge_score"]) <= 1 for row in rows)
    assert len(rows_of("pairs.csv")) == 12
    assert "position effect" in done.err
    assert len(picked.out.splitlines()) == 4
