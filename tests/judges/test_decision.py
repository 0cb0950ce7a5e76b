"""The judge by the endpoint for decisions: body, distributions, what is declined, and what cannot be asked."""

from __future__ import annotations

import asyncio
import json
import math
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.calls.ask import Choice
from bonwise.calls.engine import Engine
from bonwise.calls.estimate import estimate_asks
from bonwise.calls.providers.openai import chat_reply
from bonwise.errors import RowError, UsageError
from bonwise.judges.comparing import Decision
from bonwise.judges.judging import judge_with
from bonwise.judges.parse.readers import mean_level
from bonwise.judges.prompt_loading import load
from bonwise.table.verdicts import Score, Unscored

URL = "https://api.openai.com/v1/decisions"
MODEL = "openai/gpt-6-luna"
LEVELS = ("of no use", "poor", "half done", "good", "flawless")
USAGE = {
    "input_tokens": 900,
    "input_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 50},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 900,
}
GOLDEN = json.loads((Path(__file__).parent / "golden" / "decisions.json").read_text("utf-8"))


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "canary-openai-8f2a6b")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary-anthropic-91cc04")


def placed(shares):
    """Return the answer that gives each level its share."""
    listed = [{"label": label, "value": at, "probability": p} for at, (label, p) in enumerate(shares.items())]
    return {"type": "score", "name": "quality", "score": 9.9, "confidence": 0.5, "probabilities": listed}


def chosen(a, b, tie):
    """Return the answer that gives A, B and a tie their probabilities."""
    listed = [{"value": name, "probability": p} for name, p in (("TIE", tie), ("A", a), ("B", b))]
    return {"type": "choice", "name": "better", "choice": "A", "confidence": 0.5, "probabilities": listed}


REFUSED = {"type": "refusal", "name": "quality"}


def judged(routes, judge, texts, answer):
    """Judge texts where each request gets the answer that a function makes of its body; return bodies too."""
    bodies = []

    def respond(request):
        bodies.append(json.loads(request.content))
        content = {"answers": [answer(bodies[-1])], "model": "gpt-6-luna-1", "usage": USAGE}
        return httpx.Response(200, json=content)

    routes.post(URL).mock(side_effect=respond)

    async def run():
        async with Engine(reask=0) as engine:
            return await judge_with(engine, judge, "Say hi", texts), engine.totals

    return *asyncio.run(run()), bodies


def test_a_candidate_is_the_mean_of_its_levels_with_their_spread(routes):
    """By hand: half on the fourth of five levels and half on the last are .875, with a spread of .125."""
    shares = {"good": 0.5, "flawless": 0.5}
    judgment, totals, bodies = judged(routes, Decision(MODEL), ["hi", " "], lambda _: placed(shares))
    score, blank = judgment.verdicts
    assert (score.value, score.low, score.high) == pytest.approx((0.875, 0.75, 1.0))
    assert json.loads(score.raw)["probabilities"][0]["probability"] == 0.5
    assert isinstance(blank, Unscored)
    assert (len(bodies), totals.bill.input_tokens, totals.bill.output_tokens) == (1, 900, 0)
    assert judgment.effective == ({},)


def test_pairs_earn_the_probability_that_they_are_better_and_half_of_a_tie(routes):
    """By hand, with the same answer in both orders: .6 + .1 for the first shown, so position decides all of it."""
    judgment, _, bodies = judged(routes, Decision(MODEL, pairs=True), ["x", "y"], lambda _: chosen(0.6, 0.2, 0.2))
    (pair,) = judgment.preferences
    assert (pair.shown_first, pair.shown_second) == pytest.approx((0.7, 0.3))
    assert [verdict.value for verdict in judgment.verdicts] == pytest.approx([0.5, 0.5])
    assert len(bodies) == 2


def test_a_question_that_is_declined_leaves_its_candidate_unscored(routes):
    """Of two candidates one is refused: it has no score, with the reason, and the other keeps its own."""

    def answer(body):
        return REFUSED if "\nno\n" in body["input"] else placed({"poor": 1.0})

    judgment, _, _ = judged(routes, Decision(MODEL), ["no", "yes"], answer)
    declined, scored = judgment.verdicts
    assert declined == Unscored("refused: the model declined to answer the question")
    assert isinstance(scored, Score)
    assert scored.value == 0.25
    judgment, _, _ = judged(routes, Decision(MODEL, pairs=True), ["a", "b"], lambda _: REFUSED)
    assert judgment.preferences[0].lost


@pytest.mark.parametrize("pairs", [False, True])
def test_the_body_is_the_one_written_by_hand(routes, pairs):
    """Instructions, levels or choices as in the golden file, what is judged as input, and no other field."""
    answer = chosen(1, 0, 0) if pairs else placed({"good": 1.0})
    _, _, (body, *_) = judged(routes, Decision(MODEL, pairs=pairs), ["a", "b"], lambda _: answer)
    file = load("decision-pairwise" if pairs else "decision")
    wanted = GOLDEN["pairs" if pairs else "alone"]
    wanted["questions"][0]["instructions"] = file.system
    shown = ["a", "b"] if pairs else ["a"]
    assert body == {**wanted, "input": file.render("Say hi", shown).user}


@pytest.mark.skipif(find_spec("openai.types.decision_create_params") is None, reason="an SDK without decisions")
@pytest.mark.parametrize("name", ["alone", "pairs"])
def test_the_body_fits_the_types_of_the_sdk(name):
    """Where the SDK knows the endpoint it has no other name for a field, and no other type."""
    from openai.types.decision import Decision as Answered  # noqa: PLC0415 - newer SDKs have it
    from openai.types.decision_create_params import DecisionCreateParams  # noqa: PLC0415
    from pydantic import TypeAdapter  # noqa: PLC0415

    body = {**GOLDEN[name], "input": "x"}
    body["questions"][0]["instructions"] = "y"
    list(TypeAdapter(DecisionCreateParams).validate_python(body)["questions"])
    answers = [placed({"good": 1.0}), chosen(1, 0, 0), REFUSED]
    Answered.model_validate({"answers": answers, "model": "m", "usage": USAGE})


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        ([], "lists no probabilities"),
        ([{"label": "good", "probability": 0.5}, {"label": "good", "probability": 0.5}], "one answer twice"),
        ([{"label": "good", "probability": 1.2}], "not a number from 0 to 1"),
        ([{"label": "good", "probability": True}], "not a number from 0 to 1"),
        ([{"label": "good", "probability": "1"}], "not a number from 0 to 1"),
        ([{"label": "good", "probability": None}], "not a number from 0 to 1"),
        ([{"label": "good", "probability": 0.4}], "add up to 0.400"),
        ([{"label": "superb", "probability": 1.0}], "add up to 0.000"),
        ([{"label": "good", "probability": 0.9}, {"label": "poor", "probability": 0.9}], "add up to 1.800"),
        (["good"], "lists no probabilities"),
    ],
)
def test_what_is_no_distribution_is_unscored(listed, reason):
    """Each says what is wrong with it; nothing is made of a half of it."""
    reading = mean_level(Choice(json.dumps({"type": "score", "probabilities": listed})), LEVELS)
    assert isinstance(reading, Unscored)
    assert reason in reading.reason


@given(st.lists(st.floats(0.01, 1), min_size=5, max_size=5), st.permutations(range(5)))
@settings(max_examples=60)
def test_a_loop_finds_the_same_mean_and_spread(weights, order):
    """Whatever the order of the levels in the reply; the ends hold the mean and stay within the scale."""
    total = math.fsum(weights)
    shares = {LEVELS[at]: weights[at] / total for at in order}
    reading = mean_level(Choice(json.dumps(placed(shares))), LEVELS)
    mean = sum(shares[label] * at / 4 for at, label in enumerate(LEVELS))
    spread = sum(shares[label] * (at / 4 - mean) ** 2 for at, label in enumerate(LEVELS)) ** 0.5
    assert reading == pytest.approx((mean, max(mean - spread, 0), min(mean + spread, 1)))


@pytest.mark.parametrize("answer", [{"answers": [3]}, {"answers": []}, {"answers": [{"no": "type"}]}])
def test_a_reply_of_another_shape_is_no_answer(answer):
    """It is asked for again, like any answer that cannot be read as one."""
    with pytest.raises(ValueError, match=r"an answer without choices|a decision without a type"):
        chat_reply(json.dumps(answer).encode())


def test_only_a_service_with_the_endpoint_is_asked(routes):
    """Anthropic has none: one sentence before anything is sent. Draws of one distribution are refused too."""
    for judge in (Decision("anthropic/claude-opus-5"), Decision("anthropic/m", pairs=True)):
        with pytest.raises(UsageError, match="has no endpoint for decisions"):
            bw.select("Say hi", ["hi", "no"], judge=judge)
    assert not routes.calls
    with pytest.raises(UsageError, match="answers by a distribution"):
        bw.Resampled(Decision(MODEL))


def test_a_temperature_is_not_sent_and_that_is_said(routes):
    """A strategy may want one; the request has none, and a notice says so."""
    judge = Decision(MODEL, temperature=0.5)
    _, totals, (body,) = judged(routes, judge, ["hi"], lambda _: placed({"good": 1.0}))
    assert "temperature" not in body
    assert "openai/gpt-6-luna takes no temperature: none is sent" in totals.notices


def test_params_of_the_user_go_along_and_cannot_replace_the_question(routes):
    """`prompt_cache_key` is sent; `questions` and `input` are bonwise's own."""
    judge = Decision(MODEL, params={"prompt_cache_key": "a"})
    _, _, (body,) = judged(routes, judge, ["hi"], lambda _: placed({"good": 1.0}))
    assert body["prompt_cache_key"] == "a"
    for name in ("questions", "input"):
        with pytest.raises(UsageError, match="bonwise sets itself"):
            Decision(MODEL, params={name: []})


def test_the_estimate_counts_a_call_a_candidate_and_no_answer():
    """Nothing is generated, so the expected output is 0; pairs are twice the number of pairs."""

    async def rows(judge):
        async with Engine() as engine:
            return estimate_asks(engine, judge.asks("Say hi", ["a", "b", "c"]))

    alone, pairs = (asyncio.run(rows(Decision(MODEL, pairs=pairs))) for pairs in (False, True))
    assert (alone.calls, pairs.calls, alone.output_tokens_expected) == (3, 6, 0)
    assert alone.cost < 0.001


def test_a_prompt_file_states_its_levels(tmp_path):
    """Two or more different words; a file without them, or another mode with them, is refused with the line."""
    text = Path(load("decision").source).read_text("utf-8")
    path = tmp_path / "mine.md"
    path.write_text(text.replace('["of no use", "poor", "half done", "good", "flawless"]', '["no", "yes"]'))
    assert Decision(MODEL, prompt=path).file.levels == ("no", "yes")
    for levels in ('["no"]', '["no", "no"]', "3"):
        path.write_text(text.replace('["of no use", "poor", "half done", "good", "flawless"]', levels))
        with pytest.raises(RowError, match=r"line 7: levels is"):
            load(path)
    path.write_text(text.replace('levels = ["of no use", "poor", "half done", "good", "flawless"]\n', ""))
    with pytest.raises(RowError, match="mode decision needs levels"):
        load(path)
    pointwise = Path(load("pointwise").source).read_text("utf-8")
    path.write_text(pointwise.replace("\n[answer]", '\nlevels = ["no", "yes"]\n[answer]', 1))
    with pytest.raises(RowError, match="levels does not fit mode pointwise"):
        load(path)


def test_its_name_makes_it():
    """On a command line too."""
    for name in ("decision:openai/gpt-6-luna", "decision,pairs=true,orders=1:openai/gpt-6-luna"):
        assert bw.judge_from_spec(name).name == name
