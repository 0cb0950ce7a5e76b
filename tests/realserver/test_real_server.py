"""A server that nobody here wrote, with a model that says nothing sensible: see the README beside this file."""

from __future__ import annotations

import asyncio
import json
import os
import re
import urllib.error
import urllib.request
from dataclasses import replace

import pytest

from bonwise.calls.engine import Engine
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.providers.openai import OpenAI
from bonwise.calls.providers.protocol import Connection
from bonwise.judges.comparing import Logprob
from bonwise.judges.judging import judge_with
from bonwise.judges.pointwise import Pointwise
from bonwise.judges.wrappers import Resampled
from bonwise.table.verdicts import Score, Unscored
from cli.commands import pool_file, rows_of, typed

pytestmark = pytest.mark.realserver

POOLS = {f"p{x}": [f"answer {i} to question {x}" for i in range(4)] for x in range(3)}
CANDIDATES = sum(map(len, POOLS.values()))
DRAWS = 3
SCHEMA = {
    "type": "object",
    "properties": {"zebra": {"type": "integer"}},
    "required": ["zebra"],
    "additionalProperties": False,
}
UNASKED = {
    "n": {"n": DRAWS},
    "logprobs": {"logprobs": True, "top_logprobs": 2},
    "response_format": {
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": SCHEMA}}
    },
}
"""What a server may ignore, and a request that finds out."""


@pytest.fixture(scope="module")
def base_url():
    """Return the address of the server; without one skip."""
    return os.environ.get("BONWISE_REALSERVER") or pytest.skip("no real server: set BONWISE_REALSERVER")


@pytest.fixture(scope="module")
def model(base_url):
    """Return the name of its model."""
    return os.environ.get("BONWISE_REALSERVER_MODEL") or pytest.skip("set BONWISE_REALSERVER_MODEL")


@pytest.fixture(scope="module")
def ignored(base_url, model):
    """Return what the server ignores, found without any code of ours."""
    said = {name: _said(base_url, model, **fields) for name, fields in UNASKED.items()}
    found = {"n"} if len(said["n"]["choices"]) < DRAWS else set()
    found |= set() if said["logprobs"]["choices"][0].get("logprobs") else {"logprobs"}
    found |= set() if "zebra" in said["response_format"]["choices"][0]["message"]["content"] else {"response_format"}
    return found


@pytest.fixture
def settings(base_url, model):
    """Return the settings of a judge that asks the server, briefly."""
    return {"model": f"openai/{model}", "base_url": base_url, "temperature": 1.0, "max_tokens": 24}


@pytest.fixture
def judge(capsys, tmp_path, base_url, model):
    """Run ``bonwise judge`` on the pools with a ledger of this test; return what it left and its rows."""
    pools = pool_file(tmp_path / "pools.jsonl", POOLS)
    scores = tmp_path / "scores.csv"

    def command(spec, reask=0):
        flags = ("--base-url", base_url, "--run", tmp_path / "run", "--out", scores, "--allow-unscored")
        done = typed(capsys, "judge", pools, "--judge", f"{spec}:openai/{model}", *flags, "--reask", reask)
        assert done.code == 0, done.err
        return done, rows_of(scores)

    return command


def _said(base_url, model, **fields):
    body = {"model": model, "messages": [{"role": "user", "content": "Say something."}], "max_tokens": 24, **fields}
    request = urllib.request.Request(  # noqa: S310 - the address that whoever runs this named
        f"{base_url}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310 - the same
        return json.load(response)


def _takes(base_url, model):
    try:
        _said(base_url, model)
    except urllib.error.HTTPError as error:
        error.close()
        return False
    return True


def must_ignore(ignored, name):
    """Skip where the server does what it is asked."""
    if name not in ignored:
        pytest.skip(f"this server takes {name}")


def notices(done, words):
    """Return the lines on standard error that hold some words."""
    return [line for line in done.err.splitlines() if re.search(words, line)]


def figures(done):
    """Return first attempts, answers from the ledger, and tokens of input and output, as the summary states them."""
    pattern = r"([\d,]+) calls sent, ([\d,]+) answers from the ledger .*, ([\d,]+) \+ ([\d,]+) tokens"
    calls, *others = (int(number.replace(",", "")) for number in re.search(pattern, done.err).groups())
    again = re.search(r"([\d,]+) attempts? (?:was|were) made again", done.err)
    return calls - (int(again[1].replace(",", "")) if again else 0), *others


async def asked(ledger, judge, reask=0):
    """Ask all questions of a judge about all pools at once; return answers and totals."""
    async with Engine(ledger, reask=reask) as engine:
        asks = [ask for prompt, texts in POOLS.items() for ask in judge.asks(prompt, texts)]
        answers = await asyncio.gather(*(engine.ask(ask) for ask in asks))
        return answers, engine.totals


def test_a_score_is_one_that_the_reply_holds(tmp_path, settings):
    """A candidate has a score that is in the reply, or a reason; the next run is free."""
    judge = Pointwise(**settings)
    first, paid = asyncio.run(asked(tmp_path, judge))
    again, free = asyncio.run(asked(tmp_path, judge))
    assert len(first) == CANDIDATES
    for (answer,) in (one.answers for one in first):
        if isinstance(answer.reading, Unscored):
            assert answer.reading.reason
            assert not answer.reading.owed
        else:
            assert re.search(rf"(?<!\d){answer.reading}(?!\d)", answer.raw)
            assert 0 <= answer.reading <= 100
    assert paid.bill.calls == CANDIDATES + paid.retries
    assert paid.bill.input_tokens > CANDIDATES
    assert paid.bill.output_tokens > 0
    assert not paid.owed_because
    assert (free.bill.calls, free.bill.from_ledger, free.bill.input_tokens) == (0, CANDIDATES, 0)
    assert [one.answers[0].raw for one in again] == [one.answers[0].raw for one in first]
    assert [one.answers[0].reading for one in again] == [one.answers[0].reading for one in first]


def test_a_reply_that_cannot_be_read_is_asked_for_once_more(tmp_path, settings):
    """Every second ask is counted and said, and the next run finds what it found, without the setting too."""
    judge = Pointwise(**settings)
    _, paid = asyncio.run(asked(tmp_path, judge, reask=None))
    seconds = paid.notices[f"{judge.model} was asked again where a reply could not be read"]
    assert seconds > 0
    assert paid.bill.calls - paid.retries == CANDIDATES + seconds
    for reask in (None, 0):
        _, free = asyncio.run(asked(tmp_path, judge, reask=reask))
        assert (free.bill.calls, free.bill.from_ledger) == (0, CANDIDATES)


def test_the_command_says_what_it_did_and_the_next_one_costs_nothing(judge):
    """A row a candidate, the server's own count of tokens, no line twice; again: 0 calls and the same rows."""
    done, rows = judge("pointwise,temperature=1,max_tokens=24")
    calls, from_ledger, *tokens = figures(done)
    assert (calls, from_ledger) == (CANDIDATES, 0)
    assert min(tokens) > 0
    assert len(rows) == CANDIDATES
    assert all((row["judge_score"] == "") == (row["unscored"] != "") for row in rows)
    again, same = judge("pointwise,temperature=1,max_tokens=24")
    assert figures(again) == (0, CANDIDATES, 0, 0)
    assert same == rows
    for one in (done, again):
        lines = one.err.splitlines()
        assert len(lines) == len(set(lines))


def test_ignored_draws_are_noticed_topped_up_and_remembered(judge, tmp_path, ignored, base_url, model):
    """A server that sends one answer for three is asked twice more, it is said, and never asked for three again."""
    must_ignore(ignored, "n")
    done, rows = judge(f"resampled,draws={DRAWS},of=pointwise,max_tokens=24")
    assert figures(done)[:2] == (DRAWS * CANDIDATES, 0)
    assert len(notices(done, rf"\bn\b.*1 of {DRAWS}")) == 1
    scored = [row for row in rows if row["judge_score"]]
    assert all(any(row[f"draw_{at}"] for at in range(DRAWS)) for row in scored)
    again, same = judge(f"resampled,draws={DRAWS},of=pointwise,max_tokens=24")
    assert figures(again) == (0, DRAWS * CANDIDATES, 0, 0)
    assert same == rows
    assert len(notices(again, r"\bn\b")) == 1
    judge(f"resampled,draws={DRAWS},of=pointwise,max_tokens=23")
    with Ledger.open(tmp_path / "run") as ledger:
        assert "n" in ledger.dropped(base_url, model)
        bodies = [json.loads(row.body) for row in ledger.rows()]
    assert len(bodies) == 2 * DRAWS * CANDIDATES
    assert not any("n" in body for body in bodies if body["max_completion_tokens"] == 23)


def test_every_draw_of_an_ask_arrives(tmp_path, settings):
    """Three draws are three answers, each of them paid, whether the server sends them together or one by one."""
    judge = Resampled(Pointwise(**settings), draws=DRAWS)
    answers, totals = asyncio.run(asked(tmp_path, judge))
    assert [len(one.answers) for one in answers] == [DRAWS] * CANDIDATES
    assert totals.answers == DRAWS * CANDIDATES
    assert totals.bill.calls - totals.retries in {CANDIDATES, DRAWS * CANDIDATES}
    assert not totals.bill.owed


def test_missing_log_probabilities_leave_every_candidate_unscored(judge, ignored):
    """Each candidate says why it has no score, and the summary says so once, also where replies were cut."""
    must_ignore(ignored, "logprobs")
    for done, rows in (judge("logprob,temperature=1"), judge("logprob,temperature=1,max_tokens=1")):
        reasons = {row["unscored"] for row in rows}
        assert "the server sent no logprobs" in reasons
        assert reasons <= {"the server sent no logprobs", "empty reply"}
        assert not any(row["judge_score"] for row in rows)
        assert len(notices(done, "sends no logprobs")) == 1


def test_log_probabilities_are_never_made_up(tmp_path, settings):
    """A candidate judged by log probabilities has a score from 0 to 1, or a reason."""

    async def main():
        async with Engine(tmp_path) as engine:
            texts = POOLS["p0"]
            return await judge_with(engine, Logprob(**settings), "p0", texts)

    found = asyncio.run(main())
    for verdict in found.verdicts:
        assert verdict.reason if isinstance(verdict, Unscored) else 0 <= verdict.value <= 1


@pytest.mark.parametrize("kind", ["pointwise", "pairwise", "interval", "probability"])
def test_an_ignored_schema_is_said_once(judge, ignored, kind):
    """Every kind of judge that binds its answer to a schema says so when it was ignored."""
    must_ignore(ignored, "response_format")
    done, rows = judge(f"{kind},temperature=1,max_tokens=24")
    assert len(notices(done, "ignores the JSON schema")) == 1
    assert all(row["judge_score"] or row["unscored"] for row in rows)


def test_a_refused_field_is_final_and_quotes_the_server(settings):
    """A field that the server does not know is a refusal of this request, in the server's words."""

    async def main():
        judge, provider = Pointwise(**settings), OpenAI()
        (ask,) = judge.asks("p", ["c"])
        request = provider.request(ask, 1, frozenset())
        client = provider.client(ask.model, Connection())
        try:
            return await client.send(replace(request, body={**request.body, "no_such_field": 1}))
        finally:
            await client.aclose()

    response = asyncio.run(main())
    if response.status == 200:
        pytest.skip("this server takes any field")
    problem = OpenAI().problem(response, now=0.0)
    assert problem.kind == "rejected"
    assert "no_such_field" in problem.message


def test_an_unknown_model_raises_no_traceback(capsys, tmp_path, base_url):
    """A name that the server does not know ends in its words, not in a score."""
    if _takes(base_url, "no-such-model"):
        pytest.skip("this server takes any name")
    pools = pool_file(tmp_path / "pools.jsonl", {"p": ["a", "b"]})
    flags = ("--base-url", base_url, "--run", tmp_path / "run", "--out", tmp_path / "scores.csv")
    done = typed(capsys, "judge", pools, "--judge", "pointwise,max_tokens=8:openai/no-such-model", *flags)
    assert "Traceback" not in done.err
    assert "no-such-model" in done.err
    if done.code == 0:
        assert not any(row["judge_score"] for row in rows_of(tmp_path / "scores.csv"))


class Counting:
    """A limiter, and its own lease, that lets everything start at once and knows how much was under way."""

    def __init__(self):
        self.now = self.most = 0

    async def acquire(self, _tokens, _deadline=None):
        """Let a call start."""
        self.now += 1
        self.most = max(self.most, self.now)
        return self

    def settle(self, **_how):
        """Note that it ended."""
        self.now -= 1


def test_sixteen_calls_at_once(tmp_path, settings):
    """Sixteen questions are under way together, and each gets its own answer."""
    limiter = Counting()

    async def main():
        async with Engine(tmp_path, limiter=lambda _model: limiter, max_concurrency=16, reask=0) as engine:
            judge = Pointwise(**settings)
            found = await judge_with(engine, judge, "p", [f"candidate {i}" for i in range(16)])
            return found, engine.totals

    found, totals = asyncio.run(main())
    assert limiter.most == 16
    assert limiter.now == 0
    assert len(found.verdicts) == 16
    assert all(isinstance(one, Score) or not one.owed for one in found.verdicts)
    assert (totals.bill.calls, totals.bill.owed) == (16 + totals.retries, 0)
