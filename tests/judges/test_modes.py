from __future__ import annotations

import asyncio
import json
import math
import os
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256

import httpx
import pytest

from bonwise.calls.ask import Choice, TokenLogprobs
from bonwise.calls.engine import Engine
from bonwise.errors import UsageError
from bonwise.judges.judging import judge_with
from bonwise.judges.prompt_loading import prompts_folder
from bonwise.judges.registry import judge_from_spec
from bonwise.table.verdicts import Preference, Score, Unscored
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer

PROMPT = "Name a letter."
TEXTS = ("alpha", "beta", "gamma")
MODELS = {"openai": "openai/gpt-4.1-mini", "anthropic": "anthropic/claude-opus-5"}
URLS = {"openai": "https://api.openai.com/v1/chat/completions", "anthropic": "https://api.anthropic.com/v1/messages"}
LIMIT = {"openai": "max_completion_tokens", "anthropic": "max_tokens"}
REFUSED = Unscored("refused")
BLANK = Unscored("empty answer")
HALF_OF_THREE = 4.302652729696142 * 0.1 / math.sqrt(3)
"""Student's t at 97.5 % with 2 degrees of freedom, and draws whose standard deviation is 0.1."""
HALF_OF_TWO = 12.706204736432095 * 0.1
"""The same with 1 degree of freedom, and draws 0.2 apart."""


@dataclass(frozen=True)
class Mode:
    """A judge, what the model says to it, and what is to come of it.

    ``says`` maps what is shown, in that order, to one answer per draw: a JSON object, plain words, a word with the
    probabilities of its first token, or REFUSED. Draws that come one a call may come in any order.
    """

    spec: str
    file: str
    schema: dict | None
    says: dict
    verdicts: tuple
    preferences: tuple = ()
    draws: int = 1
    temperature: float = 0.0
    max_tokens: int = 1024


WHOLE, LETTER = {"type": "integer"}, {"type": "string", "enum": ["A", "B", "TIE"]}
SCORE = {"score": WHOLE}
PICK = {"choice": LETTER, "confidence": {"type": "integer", "enum": [1, 2, 3, 4, 5]}}


def pick(choice, confidence):
    """Return a choice between two as it is to be stated."""
    return {"choice": choice, "confidence": confidence}


SCORES = {("alpha",): [{"score": 80}], ("beta",): [{"score": 35}], ("gamma",): [REFUSED]}
BIASED = {
    ("alpha", "beta"): [pick("A", 4)],
    ("beta", "alpha"): [pick("A", 2)],
    ("alpha", "gamma"): [pick("A", 5)],
    ("gamma", "alpha"): [pick("B", 5)],
    ("beta", "gamma"): [pick("TIE", 3)],
    ("gamma", "beta"): [REFUSED],
}
FAIR = {(one, other): [pick("A" if one < other else "B", 4)] for one in TEXTS for other in TEXTS if one != other}
MODES = {
    "pointwise": Mode("pointwise", "pointwise", SCORE, SCORES, (Score(0.8), Score(0.35), REFUSED)),
    "pointwise with a reason": Mode(
        "pointwise,prompt=pointwise-reason",
        "pointwise-reason",
        {"reason": {"type": "string"}, "score": WHOLE},
        {
            ("alpha",): [{"reason": "Good, 20 at least.", "score": 80}],
            ("beta",): [{"reason": "No.", "score": 0}],
            ("gamma",): [{"reason": "Off the scale.", "score": 101}],
        },
        (Score(0.8), Score(0.0), Unscored("off the scale 0 to 100: 101")),
    ),
    "interval": Mode(
        "interval",
        "interval",
        {"score": WHOLE, "low": WHOLE, "high": WHOLE},
        {
            ("alpha",): [{"score": 70, "low": 60, "high": 85}],
            ("beta",): [{"score": 0, "low": 0, "high": 100}],
            ("gamma",): [{"score": 50, "low": 60, "high": 70}],
        },
        (
            Score(0.7, low=0.6, high=0.85),
            Score(0.0, low=0.0, high=1.0),
            Unscored("the score 50 lies outside its interval, 60 to 70"),
        ),
    ),
    "pairwise": Mode(
        "pairwise",
        "pairwise",
        PICK,
        BIASED,
        (Score((0.5 + 1.0) / 2), Score((0.5 + 0.5) / 2), Score((0.0 + 0.5) / 2)),
        (
            Preference(0, 1, 1.0, 0.0, (4, 2)),
            Preference(0, 2, 1.0, 1.0, (5, 5)),
            Preference(1, 2, 0.5, REFUSED, (3, None)),
        ),
    ),
    "pairwise in one order": Mode(
        "pairwise,orders=1", "pairwise", PICK, FAIR, (Score(1.0), Score(0.5), Score(0.0)), ("once",)
    ),
    "probability": Mode(
        "probability",
        "probability",
        {"probability": {"type": "number"}},
        {
            ("alpha", "beta"): [{"probability": 0.75}],
            ("beta", "alpha"): [{"probability": 0.25}],
            ("alpha", "gamma"): [{"probability": 1}],
            ("gamma", "alpha"): [{"probability": 0.5}],
            ("beta", "gamma"): [{"probability": 0.5}],
            ("gamma", "beta"): [{"probability": 1.5}],
        },
        (Score((0.75 + 0.75) / 2), Score((0.25 + 0.5) / 2), Score((0.25 + 0.5) / 2)),
        (
            Preference(0, 1, 0.75, 0.75),
            Preference(0, 2, 1.0, 0.5),
            Preference(1, 2, 0.5, Unscored("off the scale 0 to 1: 1.5")),
        ),
    ),
    "logprob": Mode(
        "logprob",
        "logprob",
        None,
        {
            ("alpha",): [("9", {"9": 0.75, "3": 0.25})],
            ("beta",): [("5", {"5": 0.5, "4": 0.25, " 4": 0.05, "The": 0.2})],
            ("gamma",): [("7", {"7": 0.4, "I": 0.6})],
        },
        (
            Score(7.5 / 9, 7.5 / 9, 7.5 / 9),
            Score(3.7 / 7.2, 3.7 / 7.2, 3.7 / 7.2),
            Unscored("only 0.40 of the probability lies on scores"),
        ),
        max_tokens=16,
    ),
    "logprob in pairs": Mode(
        "logprob,pairs=true",
        "logprob-pairwise",
        None,
        {
            ("alpha", "beta"): [("A", {"A": 0.6, "B": 0.2, "TIE": 0.2})],
            ("beta", "alpha"): [("B", {"B": 0.9, "A": 0.1})],
            ("alpha", "gamma"): [("A", {"A": 1.0})],
            ("gamma", "alpha"): [("B", {"B": 1.0})],
            ("beta", "gamma"): [("TIE", {"TIE": 1.0})],
            ("gamma", "beta"): [("A", {"A": 0.5, "B": 0.5})],
        },
        (Score((0.8 + 1.0) / 2), Score((0.2 + 0.5) / 2), Score((0.0 + 0.5) / 2)),
        (Preference(0, 1, 0.7, 0.9), Preference(0, 2, 1.0, 1.0), Preference(1, 2, 0.5, 0.5)),
        max_tokens=16,
    ),
    "published pointwise": Mode(
        "pointwise,prompt=published-pointwise",
        "published-pointwise",
        None,
        {("alpha",): ["80"], ("beta",): ["[[35]]"], ("gamma",): ["About 50, I would say."]},
        (Score(0.8), Score(0.35), "no score in the reply"),
    ),
    "published interval": Mode(
        "interval,prompt=published-interval",
        "published-interval",
        None,
        {
            ("alpha",): ["SCORE: 70\nLOW: 60\nHIGH: 85"],
            ("beta",): ["0 [0, 100]"],
            ("gamma",): ["SCORE: 50\n95% CI: [60, 70]"],
        },
        (
            Score(0.7, low=0.6, high=0.85),
            Score(0.0, low=0.0, high=1.0),
            Unscored("the score 50 lies outside its interval, 60 to 70"),
        ),
    ),
    "published pairwise": Mode(
        "pairwise,prompt=published-pairwise",
        "published-pairwise",
        None,
        {
            ("alpha", "beta"): ["CHOICE: A\nCONFIDENCE: 4"],
            ("beta", "alpha"): ["CHOICE: [A]\nCONFIDENCE: [2]"],
            ("alpha", "gamma"): ["CHOICE: A\nCONFIDENCE: 5"],
            ("gamma", "alpha"): ["CHOICE: [B]\nCONFIDENCE: 5"],
            ("beta", "gamma"): ["CHOICE: TIE\nCONFIDENCE: 3"],
            ("gamma", "beta"): [REFUSED],
        },
        (Score((0.5 + 1.0) / 2), Score((0.5 + 0.5) / 2), Score((0.0 + 0.5) / 2)),
        (
            Preference(0, 1, 1.0, 0.0, (4, 2)),
            Preference(0, 2, 1.0, 1.0, (5, 5)),
            Preference(1, 2, 0.5, REFUSED, (3, None)),
        ),
    ),
    "published probability": Mode(
        "probability,prompt=published-probability",
        "published-probability",
        None,
        {
            ("alpha", "beta"): [".75"],
            ("beta", "alpha"): ["0.25"],
            ("alpha", "gamma"): ["1.0"],
            ("gamma", "alpha"): ["0.5"],
            ("beta", "gamma"): ["50%"],
            ("gamma", "beta"): ["1.5"],
        },
        (Score((0.75 + 0.75) / 2), Score((0.25 + 0.5) / 2), Score((0.25 + 0.5) / 2)),
        (
            Preference(0, 1, 0.75, 0.75),
            Preference(0, 2, 1.0, 0.5),
            Preference(1, 2, 0.5, Unscored("off the scale 0 to 1: 1.5")),
        ),
    ),
    "resampled": Mode(
        "resampled,draws=3,of=pointwise",
        "pointwise",
        SCORE,
        {
            ("alpha",): [{"score": 80}, {"score": 90}, {"score": 70}],
            ("beta",): [{"score": 60}, REFUSED, {"score": 40}],
            ("gamma",): [REFUSED, REFUSED, REFUSED],
        },
        (
            Score(0.8, low=0.8 - HALF_OF_THREE, high=0.8 + HALF_OF_THREE, draws=(0.8, 0.9, 0.7)),
            Score(0.5, low=0.5 - HALF_OF_TWO, high=0.5 + HALF_OF_TWO, draws=(0.6, None, 0.4)),
            "none of 3 draws was scored",
        ),
        draws=3,
        temperature=1.0,
    ),
    "resampled in pairs": Mode(
        "resampled,draws=2,temperature=0.5,of=pairwise",
        "pairwise",
        PICK,
        {
            ("alpha", "beta"): [pick("A", 4), pick("A", 4)],
            ("beta", "alpha"): [pick("A", 2), pick("B", 2)],
            ("alpha", "gamma"): [pick("A", 5), pick("A", 5)],
            ("gamma", "alpha"): [pick("B", 5), pick("B", 5)],
            ("beta", "gamma"): [pick("TIE", 3), pick("TIE", 3)],
            ("gamma", "beta"): [pick("TIE", 1), pick("TIE", 1)],
        },
        # Candidate by draw: alpha 0.75 and 1, beta 0.5 and 0.25, gamma 0.25 both times.
        (
            Score(0.875, low=0.875 - 1.25 * HALF_OF_TWO, high=0.875 + 1.25 * HALF_OF_TWO, draws=(0.75, 1.0)),
            Score(0.375, low=0.375 - 1.25 * HALF_OF_TWO, high=0.375 + 1.25 * HALF_OF_TWO, draws=(0.5, 0.25)),
            Score(0.25, low=0.25, high=0.25, draws=(0.25, 0.25)),
        ),
        (Preference(0, 1, 1.0, 0.5, (4, 2)), Preference(0, 2, 1.0, 1.0, (5, 5)), Preference(1, 2, 0.5, 0.5, (3, 1))),
        draws=2,
        temperature=0.5,
    ),
    "rubric": Mode(
        "rubric",
        "rubric",
        {
            **dict.fromkeys(("follows", "correct"), WHOLE),
            "clear": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
            "brief": {"type": "string", "enum": ["yes", "no"]},
        },
        {
            ("alpha",): [{"follows": 90, "correct": 60, "clear": 2, "brief": "yes"}],
            ("beta",): [{"follows": 90, "correct": 60, "clear": 6, "brief": "no"}],
            ("gamma",): [REFUSED],
        },
        (
            # Weights 2, 2, 1 and 1.
            Score((2 * 0.9 + 2 * 0.6 + 0.25 + 1) / 6),
            Unscored("1 of 4 criteria unscored: clear: off the scale 1 to 5: 6"),
            REFUSED,
        ),
    ),
    "quantized": Mode(
        "quantized,bins=5,of=pointwise",
        "pointwise",
        SCORE,
        {("alpha",): [{"score": 80}], ("beta",): [{"score": 35}], ("gamma",): [{"score": 62}]},
        (Score(0.75), Score(0.25), Score(0.5)),
    ),
}
CRITERIA = "3f0644cbb42b"
"""The first digits of the SHA-256 of what is added to the built-in rubric: other words raise `criteria.VERSION`."""
NEED_LOGPROBS = ("logprob", "logprob in pairs")
ASKABLE = [
    pytest.param(mode, provider, id=f"{name} {provider}")
    for name, mode in MODES.items()
    for provider in MODELS
    if not (provider == "anthropic" and name in NEED_LOGPROBS)
]


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Set a key for each provider, and nothing else that the SDKs read."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "ANTHROPIC_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-anthropic")


def shown(user):
    """Return the candidates in a message, in the order in which they stand there."""
    return tuple(sorted((text for text in TEXTS if text in user), key=user.index))


def in_words(said):
    """Return an answer as it is sent: an object as JSON, words as they are."""
    return said if isinstance(said, str) else json.dumps(said)


def chat_message(said):
    """Return a choice of a chat completion, written by hand."""
    message = {"role": "assistant", "content": None, "refusal": None, "annotations": []}
    if said is REFUSED:
        message["refusal"] = "policy"
        return {"message": message, "finish_reason": "stop", "logprobs": None}
    if isinstance(said, dict | str):
        return {"message": message | {"content": in_words(said)}, "finish_reason": "stop", "logprobs": None}
    word, table = said
    top = [
        {"token": token, "logprob": math.log(share), "bytes": list(token.encode())} for token, share in table.items()
    ]
    first = {"token": word, "logprob": math.log(table[word]), "bytes": list(word.encode()), "top_logprobs": top}
    return {
        "message": message | {"content": word},
        "finish_reason": "stop",
        "logprobs": {"content": [first], "refusal": None},
    }


def chat_completion(said):
    """Return a reply of OpenAI, written by hand."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "gpt-4.1-mini-2025-04-14",
        "choices": [{"index": at} | chat_message(one) for at, one in enumerate(said)],
        "usage": {"prompt_tokens": 900, "completion_tokens": 10 * len(said), "total_tokens": 900 + 10 * len(said)},
        "system_fingerprint": "fp_1",
    }


def anthropic_message(said):
    """Return a reply of Anthropic, written by hand."""
    (only,) = said
    refused = only is REFUSED
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [] if refused else [{"type": "text", "text": in_words(only)}],
        "stop_reason": "refusal" if refused else "end_turn",
        "stop_sequence": None,
        "stop_details": {"type": "refusal", "category": "policy"} if refused else None,
        "usage": {"input_tokens": 900, "output_tokens": 10},
    }


class Service:
    """Answers the requests of one route by hand, and keeps their bodies."""

    def __init__(self, mode, provider):
        self.mode, self.provider = mode, provider
        self.bodies = []
        self.asked = Counter()

    def __call__(self, request):
        """Answer one request."""
        body = json.loads(request.content)
        self.bodies.append(body)
        found = shown(body["messages"][-1]["content"])
        said = self.mode.says[found]
        if self.provider == "openai":
            return httpx.Response(200, json=chat_completion(said))
        draw = self.asked[found]
        self.asked[found] += 1
        return httpx.Response(200, json=anthropic_message([said[draw]]))


def close(found, expected):
    """Tell whether two numbers are the same but for rounding, None being no number."""
    return found == expected if found is None or expected is None else math.isclose(found, expected, abs_tol=1e-12)


def check_verdict(found, expected):
    """Hold a verdict to what was worked out by hand."""
    if expected is REFUSED:
        assert isinstance(found, Unscored)
        assert found.reason.startswith("refused: ")
    elif isinstance(expected, str):
        assert isinstance(found, Unscored)
        assert found.reason.startswith(expected)
    elif isinstance(expected, Unscored):
        assert found.reason == expected.reason
    else:
        assert close(found.value, expected.value), (found, expected)
        assert close(found.low, expected.low)
        assert close(found.high, expected.high)
        # Draws that are calls of their own come in any order.
        found, expected = (sorted(one.draws, key=str) for one in (found, expected))
        assert len(found) == len(expected)
        assert all(map(close, found, expected))


def check_preference(found, expected):
    """Hold a comparison to what was worked out by hand."""
    assert (found.a, found.b, found.confidence) == (expected.a, expected.b, expected.confidence)
    for one, other in ((found.shown_first, expected.shown_first), (found.shown_second, expected.shown_second)):
        if isinstance(other, float):
            assert close(one, other)
        else:
            check_verdict(one, other)


def check_judgment(found, mode):
    """Hold a judgment of the three texts and a blank one to what was worked out by hand."""
    *verdicts, blank = found.verdicts
    assert blank == BLANK
    for one, expected in zip(verdicts, mode.verdicts, strict=True):
        check_verdict(one, expected)
    if mode.preferences == ("once",):
        assert [(pair.a, pair.b, pair.value) for pair in found.preferences] == [(0, 1, 1), (0, 2, 1), (1, 2, 1)]
        assert all((pair.shown_first is None) != (pair.shown_second is None) for pair in found.preferences)
        return
    for one, expected in zip(found.preferences, mode.preferences, strict=True):
        check_preference(one, expected)


def questions(mode):
    """Return how many different questions a mode asks."""
    return 3 if mode.preferences == ("once",) else len(mode.says)


def check_instructions(system, mode):
    """The instructions are those of the prompt file, and no candidate stands among them."""
    words = (prompts_folder() / f"{mode.file}.md").read_text(encoding="utf-8")
    told = words.partition("[system]")[2].partition("[user]")[0].strip()
    if mode.file == "rubric":
        told += "\n\nThe criteria\n"
        assert sha256(system.removeprefix(told).encode()).hexdigest()[:12] == CRITERIA
        system = told
    assert system.strip() == told.strip()
    assert not shown(system)


def or_null(fragment):
    """Return the schema of a value that may be missing."""
    enum = {"enum": [*fragment["enum"], None]} if "enum" in fragment else {}
    return {"type": [fragment["type"], "null"], **enum}


def check_schema(schema, mode):
    """The schema has the fields of the mode in their order, all required and no other."""
    fields = {
        name: {key: one[key] for key in ("type", "enum") if key in one} for name, one in schema["properties"].items()
    }
    wanted = {name: one if name == "reason" else or_null(one) for name, one in mode.schema.items()}
    wanted["why"] = {"type": ["null", "string"]}
    assert list(fields.items()) == list(wanted.items())
    assert schema["required"] == list(wanted)
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)


def check_openai(body, mode):
    """Every field of a body for OpenAI is where it belongs, and there is no other."""
    system, user = body["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    check_instructions(system["content"], mode)
    expected = {"model": "gpt-4.1-mini", "temperature": mode.temperature, LIMIT["openai"]: mode.max_tokens}
    if mode.draws > 1:
        expected["n"] = mode.draws
    if "logprob" in mode.spec:
        expected |= {"logprobs": True, "top_logprobs": 20}
    assert ("response_format" in body) == (mode.schema is not None)
    if mode.schema is not None:
        stated = body["response_format"]
        assert (stated["type"], stated["json_schema"]["strict"]) == ("json_schema", True)
        check_schema(stated["json_schema"]["schema"], mode)
    assert {name: one for name, one in body.items() if name not in {"messages", "response_format"}} == expected


def check_anthropic(body, mode):
    """Every field of a body for Anthropic is where it belongs, and there is no other: no temperature."""
    (user,) = body["messages"]
    assert user["role"] == "user"
    check_instructions(body["system"], mode)
    assert ("output_config" in body) == (mode.schema is not None)
    if mode.schema is not None:
        assert body["output_config"].keys() == {"format"}
        assert body["output_config"]["format"]["type"] == "json_schema"
        check_schema(body["output_config"]["format"]["schema"], mode)
    rest = {name: one for name, one in body.items() if name not in {"messages", "system", "output_config"}}
    assert rest == {"model": "claude-opus-5", "max_tokens": mode.max_tokens}


CHECKS = {"openai": check_openai, "anthropic": check_anthropic}


async def judged(spec, *, base_url=None, **settings):
    """Judge the three texts and a blank one, each asked once; return judgment and engine."""
    judge = judge_from_spec(spec, base_url=base_url)
    async with Engine(**settings, reask=0) as engine:
        return await judge_with(engine, judge, PROMPT, [*TEXTS, " \n"]), engine


@pytest.mark.parametrize(("mode", "provider"), ASKABLE)
def test_each_mode_asks_what_it_should_and_reads_it_right(routes, mode, provider):
    """Through the real SDK the right bodies go out, once each, and handwritten replies become the right verdicts."""
    service = Service(mode, provider)
    route = routes.post(URLS[provider]).mock(side_effect=service)
    found, engine = asyncio.run(judged(f"{mode.spec}:{MODELS[provider]}"))
    check_judgment(found, mode)
    each = 1 if provider == "openai" else mode.draws
    asked = Counter(shown(body["messages"][-1]["content"]) for body in service.bodies)
    assert len(asked) == questions(mode)
    assert set(asked.values()) == {each}
    assert route.call_count == found.bill.calls == engine.totals.bill.calls == each * questions(mode)
    for body in service.bodies:
        CHECKS[provider](body, mode)
        user = body["messages"][-1]["content"]
        assert all(f"\n{text}\n" in user for text in (PROMPT, *shown(user)))
        assert user.count("--- BEGIN ") == 1 + len(shown(user))
    answers = questions(mode) * mode.draws
    assert found.bill.input_tokens == 900 * each * questions(mode)
    assert found.bill.output_tokens == 10 * answers
    (sent,) = found.effective
    assert (sent.get("temperature"), sent["max_tokens"]) == (
        mode.temperature if provider == "openai" else None,
        mode.max_tokens,
    )


def choice(said):
    """Return what was said in no service's terms."""
    if said is REFUSED:
        return Choice("", "refusal", "policy")
    if isinstance(said, dict | str):
        return Choice(in_words(said))
    word, table = said
    return Choice(word, logprobs=(TokenLogprobs(word, {one: math.log(p) for one, p in table.items()}),))


@pytest.mark.parametrize(("mode", "provider"), ASKABLE)
def test_each_mode_works_over_http_and_is_paid_once(tmp_path, mode, provider):
    """Against a server, whole judgments are right; judged again they come from the ledger, with no call."""
    spec = f"{mode.spec}:{MODELS[provider]}"

    def answer(request):
        return choice(mode.says[shown(request.user)][request.sample + request.attempt])

    with ScriptedServer(Script(answer)).in_thread() as server:
        url = server.url + ("/v1" if provider == "openai" else "")
        first, engine = asyncio.run(judged(spec, base_url=url, ledger=tmp_path))
        requests = server.script.counts.requests
        again, _ = asyncio.run(judged(spec, base_url=url, ledger=tmp_path))
    check_judgment(first, mode)
    answers = questions(mode) * mode.draws
    assert requests == engine.totals.bill.calls == (answers if provider == "anthropic" else questions(mode))
    assert (engine.totals.answers, engine.totals.retries) == (answers, 0)
    assert server.script.counts.requests == requests
    assert (again.verdicts, again.preferences) == (first.verdicts, first.preferences)
    assert (again.bill.calls, again.bill.from_ledger, again.bill.cost) == (0, answers, 0.0)


@pytest.mark.parametrize("name", NEED_LOGPROBS)
def test_log_probabilities_are_not_asked_of_anthropic(routes, name):
    """A judge that needs log probabilities is refused at Anthropic before anything is sent."""
    with pytest.raises(UsageError, match="anthropic sends no log probabilities"):
        asyncio.run(judged(f"{MODES[name].spec}:{MODELS['anthropic']}"))
    assert not routes.calls


@pytest.mark.parametrize("name", NEED_LOGPROBS)
def test_a_server_without_log_probabilities_scores_nothing(routes, name):
    """Where a server sends no log probabilities nothing is scored, and it is noticed; no number is made up."""

    def without(request):
        reply = chat_completion([("7", {"7": 1.0}) if name == "logprob" else ("A", {"A": 1.0})])
        reply["choices"][0]["logprobs"] = None
        return httpx.Response(200, json=reply)

    routes.post(URLS["openai"]).mock(side_effect=without)
    found, engine = asyncio.run(judged(f"{MODES[name].spec}:{MODELS['openai']}"))
    assert all("the server sent no logprobs" in one.reason for one in found.verdicts[:3])
    assert engine.totals.notices == {
        f"{MODELS['openai']} sends no logprobs although it was asked to": questions(MODES[name])
    }
