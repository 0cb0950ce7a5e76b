"""Doubles: judges that replay or follow a script, and scripts in the place of Azure, Bedrock and Vertex."""

from __future__ import annotations

import asyncio
import json
import math
import threading

import pytest

import bonwise as bw
from bonwise.calls.ask import Choice
from bonwise.calls.engine import Engine
from bonwise.calls.providers.anthropic import Anthropic
from bonwise.calls.providers.protocol import Connection, Response
from bonwise.errors import JudgeError
from bonwise.judges.judging import judge_with
from bonwise.judges.protocol import Judge
from bonwise.judges.registry import judge_from_spec
from bonwise.table.verdicts import Score, Unscored
from bonwise.testing import Faults, ReplayJudge, ScriptedJudge
from bonwise.testing import Script as ScriptOfClouds
from bonwise.testing.script import RequestTarget, Script, endpoint_of
from bonwise.testing.scripted_judge import Asked
from bonwise.testing.stand_in import stand_in
from bonwise.testing.transport import FakeTransport
from testing.asking import chat_body, message_body

TEXTS = ["one", "two", "three", " "]
SPECS = [
    "pointwise:openai/gpt-5-mini",
    "interval:anthropic/claude-opus-5",
    "pairwise:openai/gpt-5-mini",
    "probability,orders=1:anthropic/claude-opus-5",
    "logprob:openai/gpt-4.1-mini",
    "logprob,pairs=true:openai/gpt-4.1-mini",
    "resampled,draws=3,of=pointwise:openai/gpt-5-mini",
    "quantized,bins=5,of=resampled,draws=2,of=pairwise:anthropic/claude-opus-5",
]


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Return a function that judges with a key and keeps the answers; afterwards there is no key."""
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def record(spec, script, texts=TEXTS, reask=0):
        async def main():
            connection = Connection(transport=FakeTransport(script))
            async with Engine(tmp_path, connection=connection, reask=reask) as engine:
                return await judge_with(engine, judge_from_spec(spec), "Why?", texts)

        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            monkeypatch.setenv(name, "sk-1")
        found = asyncio.run(main())
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            monkeypatch.delenv(name)
        return found

    return record


@pytest.mark.parametrize("spec", SPECS)
def test_a_run_is_replayed_offline(tmp_path, recorded, spec):
    """The verdicts and comparisons of a run come again from its ledger: no key, no call, nothing owed."""
    first = recorded(spec, Script())
    with ReplayJudge(judge_from_spec(spec), tmp_path) as judge:
        again = judge.replay("Why?", TEXTS)
        assert judge.judge("Why?", TEXTS) == first.verdicts
    assert (again.verdicts, again.preferences) == (first.verdicts, first.preferences)
    assert (again.bill.calls, again.bill.owed, again.bill.cost) == (0, 0, 0.0)
    assert again.bill.from_ledger > 0


def test_what_was_refused_is_replayed_as_refused(tmp_path, recorded):
    """An answer that could not be used is replayed with its reason, and is not owed."""

    def answer(request):
        return Choice("", "refusal", "policy") if "two" in request.user else stand_in(request)

    first = recorded(SPECS[0], Script(answer))
    with ReplayJudge(judge_from_spec(SPECS[0]), tmp_path) as judge:
        again = judge.judge("Why?", TEXTS)
    assert again == first.verdicts
    assert isinstance(again[1], Unscored)
    assert not again[1].owed


def test_a_run_that_asked_again_is_replayed_with_what_it_got(tmp_path, recorded):
    """The second answer counts, with the same reask as the run and without one; with 0 the first."""

    def answer(request):
        return Choice("no idea") if "two" in request.user and not request.attempt else stand_in(request)

    first = recorded(SPECS[0], Script(answer), reask=1)
    assert isinstance(first.verdicts[1], Score)
    for reask in (1, None):
        with ReplayJudge(judge_from_spec(SPECS[0]), tmp_path, reask=reask) as judge:
            assert judge.judge("Why?", TEXTS) == first.verdicts
    with ReplayJudge(judge_from_spec(SPECS[0]), tmp_path, reask=0) as judge:
        plain = judge.judge("Why?", TEXTS)
    assert isinstance(plain[1], Unscored)
    assert not plain[1].owed
    assert (plain[0], plain[2]) == (first.verdicts[0], first.verdicts[2])


def test_what_the_ledger_does_not_hold_is_owed(tmp_path, recorded):
    """A candidate that was not judged is unscored and owed; the others have their scores."""
    first = recorded(SPECS[0], Script(), ["one", "two"])
    with ReplayJudge(judge_from_spec(SPECS[0]), tmp_path) as judge:
        again = judge.judge("Why?", ["new", "two", "one"])
        assert judge.judge("Another?", ["one"]) == (Unscored("owed: not in the ledger", owed=True),)
    assert again == (Unscored("owed: not in the ledger", owed=True), first.verdicts[1], first.verdicts[0])


def test_another_setting_is_not_replayed(tmp_path, recorded):
    """A judge with another temperature, prompt or model asks other questions: their answers are owed."""
    recorded(SPECS[0], Script())
    for spec in (
        "pointwise,temperature=0.5:openai/gpt-5-mini",
        "pointwise,prompt=pointwise-reason:openai/gpt-5-mini",
        "pointwise:openai/gpt-5-nano",
    ):
        with ReplayJudge(judge_from_spec(spec), tmp_path) as judge:
            assert all(one.owed for one in judge.judge("Why?", TEXTS[:3]))


def test_a_parameter_that_was_refused_is_replayed_without_it(tmp_path, recorded):
    """Where the run had to leave a parameter out, so does the replay."""
    first = recorded(SPECS[0], Script(refuses_parameters={"temperature"}))
    with ReplayJudge(judge_from_spec(SPECS[0]), tmp_path) as judge:
        again = judge.replay("Why?", TEXTS)
    assert again.verdicts == first.verdicts
    assert again.effective == first.effective
    assert "temperature" not in again.effective


def test_a_replay_stands_for_its_judge(tmp_path, recorded):
    """It has the name and version of the judge it stands for, and selects the same candidate."""
    first = recorded(SPECS[0], Script())
    of = judge_from_spec(SPECS[0])
    with ReplayJudge(of, tmp_path) as judge:
        assert isinstance(judge, Judge)
        assert (judge.name, judge.version) == (of.name, of.version)
        best = bw.select("Why?", TEXTS[:3], judge=judge).best
    values = [one.value for one in first.verdicts[:3]]
    assert best == TEXTS[values.index(max(values))]


def test_a_replay_works_inside_a_running_loop(tmp_path, recorded):
    """It can be asked from code that a running loop called."""
    first = recorded(SPECS[0], Script())

    async def main(judge):
        return judge.judge("Why?", TEXTS)

    with ReplayJudge(judge_from_spec(SPECS[0]), tmp_path) as judge:
        assert asyncio.run(main(judge)) == first.verdicts


def test_a_replay_leaves_nothing_behind(tmp_path, recorded):
    """Closing ends its thread and closes the ledger, also twice, and also where nothing was asked."""
    recorded(SPECS[0], Script())
    before = set(threading.enumerate())
    judge = ReplayJudge(judge_from_spec(SPECS[0]), tmp_path)
    judge.judge("Why?", TEXTS)
    judge.close()
    judge.close()
    ReplayJudge(judge_from_spec(SPECS[0]), tmp_path).close()
    assert set(threading.enumerate()) <= before


def test_it_is_a_judge_and_selects():
    """A scripted judge decides a selection like any other."""
    judge = ScriptedJudge({"a": 1, "b": 3, "c": None})
    assert isinstance(judge, bw.Judge)
    assert bw.select("?", ["a", "b", "c"], judge=judge).best == "b"
    assert judge.calls == [Asked("?", ("a", "b", "c"))]


def test_a_list_is_said_in_order():
    """A list is consumed candidate by candidate, over several calls."""
    judge = ScriptedJudge([1, None, "refused", 4.5], name="strict", version="7")
    found = [*judge.judge("p", ["a", "b"]), *judge.judge("q", ["c", "d"])]
    assert found == [bw.Score(1), bw.Unscored("no verdict was prepared"), bw.Unscored("refused"), bw.Score(4.5)]
    assert (judge.name, judge.version, [asked.prompt for asked in judge.calls]) == ("strict", "7", ["p", "q"])


def test_a_list_comes_to_its_end():
    """A judge with nothing left to say names what it was asked about, and keeps saying so."""
    judge = ScriptedJudge([1, 2])
    for candidates in (["a", "c", "b"], ["b"]):
        with pytest.raises(JudgeError, match=r"has said all of its 2 verdicts and was asked about 'b'"):
            judge.judge("p", candidates)


def test_a_mapping_may_tell_prompts_apart():
    """The pair of prompt and text goes before the text alone; what is missing is named."""
    judge = ScriptedJudge({("p", "a"): 1, "a": 2})
    assert judge.judge("p", ["a"]) == [bw.Score(1)]
    assert judge.judge("q", ["a"]) == [bw.Score(2)]
    with pytest.raises(JudgeError, match="no verdict for 'b'"):
        judge.judge("q", ["b"])


def test_a_function_sees_prompt_and_text():
    """A function is asked once a candidate, and verdicts pass through it as they are."""
    whole = bw.Unscored("cut", "raw", owed=True)
    judge = ScriptedJudge(lambda prompt, text: whole if text == "x" else len(prompt + text))
    assert judge.judge("pp", ["abc", "x"]) == [bw.Score(5), whole]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, True, [1]])
def test_what_is_no_verdict_is_refused(wrong):
    """A value that is neither a finite number, nor None, nor a reason is not a verdict."""
    with pytest.raises(JudgeError, match="was told to say"):
        ScriptedJudge([wrong]).judge("p", ["a"])


@pytest.mark.parametrize("wrong", ["abc", 3, None])
def test_what_holds_no_verdicts_is_refused(wrong):
    """A script is a mapping, a function or a list."""
    with pytest.raises(JudgeError, match="holds no verdicts"):
        ScriptedJudge(wrong)


# A script in the place of Azure, Bedrock or Vertex takes and says what they take and say.


VERTEX = "/v1/projects/a-project/locations/europe-west1/publishers/anthropic/models"
BEDROCK_PATH = "/model/eu.anthropic.claude-opus-5-v1%3A0/invoke"
VERTEX_PATH = f"{VERTEX}/claude-opus-5@20261001:rawPredict"
AZURE_PATH = "/openai/deployments/our-deployment/chat/completions"


def sent(script, path, body, **headers):
    """Return the response to one request."""
    return script.receive("POST", path, headers, json.dumps(body).encode(), now=0.0).response


def cloud_body(**changed):
    """Return a body as it goes to Bedrock and Vertex."""
    body = {name: value for name, value in message_body().items() if name != "model"}
    return {**body, "anthropic_version": "bedrock-2023-05-31", **changed}


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/v1/chat/completions", RequestTarget("openai")),
        (AZURE_PATH, RequestTarget("openai", "azure")),
        ("/v1/messages", RequestTarget("anthropic")),
        (BEDROCK_PATH, RequestTarget("anthropic", "bedrock", "eu.anthropic.claude-opus-5-v1:0")),
        (VERTEX_PATH, RequestTarget("anthropic", "vertex", "claude-opus-5@20261001")),
        (f"{VERTEX}/org/model:rawPredict", RequestTarget("anthropic", "vertex", "org/model")),
        ("/model/m/converse", None),
        ("/invoke", None),
        (f"{VERTEX}/m:streamRawPredict", None),
        ("/v1/embeddings", None),
    ],
)
def test_a_path_says_whose_endpoint_it_is(path, endpoint):
    """Service, cloud and the model that the path names."""
    assert endpoint_of(path) == endpoint
    assert sent(ScriptOfClouds(), path, {}).status == (404 if endpoint is None else 400)


@pytest.mark.parametrize("path", [BEDROCK_PATH, VERTEX_PATH])
def test_the_model_of_a_path_is_the_one_that_is_asked(path):
    """What answers sees the model, and two models that are asked the same count apart."""
    seen = []
    script = ScriptOfClouds(lambda request: seen.append(request.model) or "fine")
    other = path.replace("opus", "haiku")
    for one in (path, other):
        answered = sent(script, one, cloud_body())
        assert answered.status == 200
        assert json.loads(answered.content)["model"] == seen[-1]
    assert seen == [endpoint_of(path).model, endpoint_of(other).model]
    assert len(script.counts.paid) == 2


@pytest.mark.parametrize("path", [BEDROCK_PATH, VERTEX_PATH])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (cloud_body(model="m"), "model: Extra inputs are not permitted"),
        ({**cloud_body(), "anthropic_version": ""}, "anthropic_version: Field required"),
    ],
)
def test_a_body_for_the_service_itself_is_refused(path, body, said):
    """A client that did not rewrite its request would be refused by the cloud, and is refused here."""
    refused = sent(ScriptOfClouds(), path, body)
    assert refused.status == 400
    assert Anthropic().problem(Response(400, {}, refused.content), 0.0).message.endswith(said)


@pytest.mark.parametrize(
    ("path", "headers", "taken"),
    [
        (AZURE_PATH, {"api-key": "right"}, True),
        (AZURE_PATH, {"authorization": "Bearer right"}, True),
        (AZURE_PATH, {"x-api-key": "right"}, False),
        (VERTEX_PATH, {"authorization": "Bearer right"}, True),
        (VERTEX_PATH, {"x-api-key": "right"}, False),
        (BEDROCK_PATH, {"authorization": "Bearer right"}, True),
        (BEDROCK_PATH, {"authorization": "AWS4-HMAC-SHA256 Credential=right/20261122/eu-west-1/bedrock/x"}, True),
        (BEDROCK_PATH, {"authorization": "AWS4-HMAC-SHA256 Credential=wrong/20261122/eu-west-1/bedrock/x"}, False),
    ],
)
def test_keys_are_looked_for_where_each_cloud_has_them(path, headers, taken):
    """A header of its own at Azure, a token at Vertex, a signature or a token at Bedrock."""
    body = chat_body() if path == AZURE_PATH else cloud_body()
    status = sent(ScriptOfClouds(keys={"right"}), path, body, **headers).status
    assert (status == 200) is taken
    assert taken or status == (403 if path == BEDROCK_PATH else 401)


@pytest.mark.parametrize(
    ("fault", "path", "status", "kind"),
    [
        ("throttled", BEDROCK_PATH, 429, "throttled"),
        ("overloaded", BEDROCK_PATH, 503, "overloaded"),
        ("server_error", BEDROCK_PATH, 500, "overloaded"),
        ("throttled", VERTEX_PATH, 429, "throttled"),
        ("overloaded", VERTEX_PATH, 503, "overloaded"),
        ("server_error", VERTEX_PATH, 500, "overloaded"),
    ],
)
def test_errors_are_in_the_cloud_s_own_words(fault, path, status, kind):
    """Bedrock says a message and names the error in a header, Vertex says it as Google does; both are understood."""
    said = sent(ScriptOfClouds(faults=Faults(**{fault: 1.0})), path, cloud_body())
    body = json.loads(said.content)
    assert said.status == status
    if path == BEDROCK_PATH:
        assert set(body) == {"message"}
        assert said.headers["x-amzn-errortype"].endswith("Exception")
        assert "x-amzn-requestid" in said.headers
        assert "retry-after" not in said.headers
    else:
        assert body["error"]["code"] == status
        assert body["error"]["status"] in {"RESOURCE_EXHAUSTED", "UNAVAILABLE", "INTERNAL"}
    problem = Anthropic().problem(Response(said.status, said.headers, said.content), 0.0)
    assert problem.kind == kind
    assert problem.message.startswith(f"the server answered HTTP {status}: ")
