"""Fields of the body that the user names, and parameters that a service refuses in whatever words."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest

import bonwise as bw
from bonwise.calls.engine import Engine
from bonwise.calls.estimate import estimate_asks
from bonwise.calls.providers.protocol import Response, provider
from bonwise.errors import UsageError
from bonwise.judges.judging import judge_with
from bonwise.judges.settings_mapping import judge_from_values, judge_values
from bonwise.table.verdicts import Score
from bonwise.testing.script import Script
from calls.scripted_runs import in_memory
from calls.virtual_time import run_virtual
from cli.commands import pool_file, typed
from cli.served import served

LOW = {"reasoning_effort": "low", "seed": 7}


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-2")


def judged(script, judge, **settings):
    """Judge a candidate with an engine of its own on virtual time; return verdict, parameters sent and engine."""

    async def main():
        async with Engine(connection=in_memory(script), **settings) as engine:
            found = await judge_with(engine, judge, "Why?", ["an answer"])
            return found.verdicts[0], found.effective, engine

    return run_virtual(main())


def recording(**settings):
    """Return a script that keeps the bodies it is sent."""
    bodies = []

    def answer(request):
        bodies.append(request.body)
        return '{"score": 70}'

    return Script(answer, **settings), bodies


@pytest.mark.parametrize("model", ["openai/m", "anthropic/m"])
@pytest.mark.parametrize("given", [LOW, json.dumps(LOW), {"reasoning_effort": "low", "extra_body": {"seed": 7}}])
def test_fields_are_sent_as_they_are(model, given):
    """Of a mapping, of its JSON text, and of what the SDKs call extra_body."""
    script, (bodies) = recording()
    verdict, effective, _ = judged(script, bw.Pointwise(model, params=given))
    assert verdict == Score(0.7)
    assert bodies[0].items() >= LOW.items()
    assert all(one.items() >= LOW.items() for one in effective)


def test_they_are_part_of_the_question(tmp_path):
    """Other values are another question; the same ones are found again; the dry run knows both."""
    script, bodies = recording()
    for params in (None, LOW, {**LOW, "seed": 8}, LOW, {}):
        judged(script, bw.Pointwise("openai/m", params=params), ledger=tmp_path)
    assert len(bodies) == 3

    def calls(params):
        judge = bw.Pointwise("openai/m", params=params)
        with_engine = Engine(tmp_path)
        try:
            return estimate_asks(with_engine, judge.asks("Why?", ["an answer"])).calls
        finally:
            with_engine.ledger.close()

    assert [calls(params) for params in (None, LOW, {"seed": 1})] == [0, 0, 1]


OWN = ["model", "messages", "max_tokens", "stream"]


@pytest.mark.parametrize(
    ("model", "name"),
    [("anthropic/m", name) for name in [*OWN, "system"]]
    + [
        ("openai/m", name)
        for name in [*OWN, "max_completion_tokens", "temperature", "n", "logprobs", "top_logprobs", "response_format"]
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_a_field_that_bonwise_sets_is_refused_by_name(model, name, inside):
    """Wherever it stands, when the judge is made."""
    params = {"extra_body": {name: 1}} if inside else {name: 1}
    with pytest.raises(UsageError, match=f"params names '{name}', which bonwise sets itself"):
        bw.Pointwise(model, params=params)


def test_a_part_of_a_field_may_be_set_beside_the_form():
    """Effort of Anthropic's models stands where the schema of the answer does."""
    script, bodies = recording()
    judged(script, bw.Pointwise("anthropic/m", params={"output_config": {"effort": "low"}}))
    assert bodies[0]["output_config"].keys() == {"effort", "format"}
    with pytest.raises(UsageError, match=r"params names 'output_config\.format'"):
        bw.Pointwise("anthropic/m", params={"output_config": {"format": {}}})


MEANINGLESS = {
    "a list": [1],
    "no JSON": "{bad",
    "no JSON, with a key": '{"api_key": "hush"',
    "a field twice, with a key": {"user": "1", "extra_body": {"user": "hush"}},
    "a word": "low",
    "a number without end": {"a": float("inf")},
    "an object": {"a": object()},
    "a name that is none": {1: 2},
    "an empty name": {"": 2},
    "no mapping inside": {"extra_body": 3},
    "a field twice": {"seed": 1, "extra_body": {"seed": 2}},
    "a key by name": {"api_key": "hush"},
    "a key within a field": {"provider": {"api-key": "hush"}},
    "a password in a list": {"servers": [{"password": "hush"}]},
    "a token by name": {"metadata": {"token": "hush"}},
    "a key by its looks": {"metadata": {"who": "sk-abcdefghijkl"}},
}


@pytest.mark.parametrize("params", MEANINGLESS.values(), ids=MEANINGLESS)
def test_what_means_nothing_is_refused(params):
    """In one line, without what may be secret."""
    with pytest.raises(UsageError) as raised:
        bw.Pointwise("openai/m", params=params)
    assert "params" in str(raised.value)
    assert "abcdefghijkl" not in str(raised.value)
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize(
    "judge",
    [
        bw.Pointwise("openai/m", params=LOW),
        bw.Pairwise("openai/m", params={"thinking": {"type": "disabled"}, "stop": ["a,b:c"]}),
        bw.Resampled(bw.Pointwise("openai/m", params=LOW), draws=2),
    ],
    ids=lambda judge: judge.kind if hasattr(judge, "kind") else "resampled",
)
def test_a_judge_is_made_again_from_its_name(judge):
    """And from a file of settings, and from a copy."""
    assert bw.judge_from_spec(judge.name) == judge
    assert judge_from_values("judge", judge_values("judge", judge)) == judge
    for other in (copy.deepcopy(judge), pickle.loads(pickle.dumps(judge))):  # noqa: S301 - our own bytes
        assert other == judge
        assert other.asks("p", ["a", "b"])[0].params == judge.asks("p", ["a", "b"])[0].params
    hash(judge)


def test_inner_judges_get_them():
    """Through a judge that is made of another, and through a strategy."""
    assert bw.judge_from_spec("resampled,of=pointwise:openai/m", params=LOW).of.params == LOW
    assert bw.strategy_from_spec("tie_break:of=pairwise:openai/m", params=LOW).pairwise.params == LOW
    assert bw.judge_from_spec("local:length", params=LOW).name == "local:length"


def test_a_field_that_a_service_does_not_know_is_left_out_once(tmp_path):
    """It is said, remembered for the model, and of no concern to a judge without it."""
    script, bodies = recording(refuses_parameters={"reasoning_effort"})
    judge = bw.Pointwise("openai/m", params=LOW)
    verdict, effective, engine = judged(script, judge, ledger=tmp_path)
    assert verdict == Score(0.7)
    assert "reasoning_effort" not in effective[0]
    assert effective[0]["seed"] == 7
    assert any("does not take reasoning_effort: left out" in notice for notice in engine.totals.notices)
    refusals = script.counts.refusals
    _, _, engine = judged(script, bw.Pointwise("openai/m", params={**LOW, "seed": 9}), ledger=tmp_path)
    assert script.counts.refusals == refusals
    assert list(engine.totals.notices) == ["openai/m does not take reasoning_effort: left out"]
    _, _, engine = judged(script, bw.Pointwise("openai/m"), ledger=tmp_path)
    assert not engine.totals.notices
    assert len(bodies) == 3


def test_a_flag_names_them(capsys, tmp_path, monkeypatch):
    """JSON where it is JSON, words else; in the dry run, and refused by name."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", {"p1": ["one", "two"]})
    script_bodies = []

    def answer(request):
        script_bodies.append(request.body)
        return '{"score": 70}'

    words = ("judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--out", "s.csv", "--force")
    flags = ("--param", "reasoning_effort=low", "--param", 'thinking={"type": "disabled"}', "--param", "seed=7")
    with served(monkeypatch, tmp_path, answer=answer):
        assert typed(capsys, *words, *flags).code == 0
        assert "0 calls" in typed(capsys, *words, *flags, "--dry-run").out
        assert "2 calls" in typed(capsys, *words, "--dry-run").out
        again = typed(capsys, *words, *flags)
        refused = typed(capsys, *words, "--param", "temperature=1")
    assert len(script_bodies) == 2
    assert script_bodies[0].items() >= {**LOW, "thinking": {"type": "disabled"}}.items()
    assert "0 calls sent" in again.err
    assert refused.code == 2
    assert "params names 'temperature', which bonwise sets itself" in refused.err
    assert "reasoning_effort" in Path("s.csv").read_text("utf-8")


WORDINGS = {
    "response_format": [
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "This response_format type is unavailable now",
        "This model does not support response format `json_schema`. See supported models at https://example.org",
        "json_schema response format is not supported",
        'response_format type must be one of "text" and "json_object", but got: json_schema',
        "response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later",
        "Unrecognized request argument supplied: response_format",
        "JSON schema mode is not supported for this model",
        "json mode is not supported for this model",
        "This model doesn't support the response_format field. Remove response_format and try again.",
        "response_format json_schema unsupported for model",
        "response_format of type json_schema not supported",
        "Unsupported response_format: json_schema",
        "Unsupported response_format type: json_schema",
        "response_format is not supported by this model",
        "Model m does not support structured outputs",
        "m does not support JSON schema",
        "Structured outputs are not supported for this model",
        "Invalid response_format provided: json_schema is not supported",
        "Invalid value for 'response_format.type': 'json_schema' is not supported",
        "guided decoding is not supported by this server",
        "response_format: Extra inputs are not permitted",
        "`response_format` of type `json_schema` is not supported with this model.",
        "'response_format.type' must be 'json_object' or 'text'",
    ],
    "temperature": [
        "Unsupported value: 'temperature' does not support 0 with this model.",
        "invalid temperature: only 1 is allowed for this model",
        "`temperature` is deprecated for this model.",
        "temperature must be 1 when thinking is enabled",
        "`temperature` may only be set to 1 when thinking is enabled.",
        "temperature is not supported with reasoning models",
        "temperature: only the default value is supported",
        "The temperature parameter is not supported when thinking mode is enabled",
    ],
    "logprobs": [
        "logprobs is not supported",
        "You are not allowed to request logprobs from this model.",
        "This model does not support logprobs",
        "logprobs are not supported with reasoning models.",
        "'logprobs' is currently not supported",
        "logprobs not supported by this backend",
        "logprobs is not enabled for this model",
    ],
}


@pytest.mark.parametrize(("name", "words"), [(name, words) for name, listed in WORDINGS.items() for words in listed])
def test_a_refused_parameter_is_known_by_its_sentence(name, words):
    """Without any code, as many services and gateways write it."""
    content = json.dumps({"error": {"message": words, "type": "invalid_request_error"}}).encode()
    problem = provider("openai").problem(Response(400, {}, content), 0.0)
    assert (problem.kind, problem.parameter) == ("unsupported", name)


@pytest.mark.parametrize(
    "words",
    [
        "Your prompt was flagged: 'response_format is not supported'",
        "messages[0]: temperature not supported, says the text of the user",
        "The text 'only temperature 1 is allowed' breaks our policy",
        "Invalid 'messages': response_format: json_schema is not supported",
        "Request too large: logprobs not supported",
    ],
)
def test_words_that_may_be_those_of_a_prompt_teach_nothing(words):
    """A parameter counts only where the sentence is about it from its start."""
    content = json.dumps({"error": {"message": words, "type": "invalid_request_error"}}).encode()
    assert provider("openai").problem(Response(400, {}, content), 0.0).kind == "rejected"
