from __future__ import annotations

import json

import pytest

from bonwise.calls.ask import Choice, Model, TokenLogprobs
from bonwise.calls.bill import Bill
from bonwise.calls.ledger.ledger import Ledger
from bonwise.errors import CallError
from bonwise.judges.judging import judge_with
from bonwise.judges.registry import judge_from_spec
from bonwise.table.verdicts import Unscored
from bonwise.testing.script import Script
from calls.engines import CLAUDE, KEY, MODEL, SCHEMA, ask_all, over, owed, question, readings, set_keys
from calls.virtual_time import run_virtual


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Set a key for each provider, and nothing else that the SDKs read."""
    set_keys(monkeypatch)


class Bodies:
    """Answers with the number of the request, and keeps the bodies."""

    def __init__(self, **settings):
        self.seen = []
        self.script = Script(self.answer, **settings)

    def answer(self, request):
        """Answer one sample."""
        if request.sample == 0:
            self.seen.append(request.body)
        return f"{request.user} {len(self.seen)}.{request.sample}"


# One question, one call.


@pytest.mark.parametrize("ledger", [True, False])
def test_the_same_question_twice_at_once_is_one_call(tmp_path, ledger):
    """Whoever asks what is being asked already waits for that call, and pays nothing for it."""
    script = Script(latency=1.0)
    found, engine = ask_all(script, [question(), question(), question()], ledger=tmp_path if ledger else None)
    assert script.counts.requests == engine.totals.bill.calls == 1
    assert len({str(readings(answers)) for answers in found}) == 1
    assert sorted(answers.bill.calls for answers in found) == [0, 0, 1]
    assert sum(answers.bill.cost for answers in found) == engine.totals.bill.cost > 0


def test_overlapping_samples_asked_at_once_are_paid_once():
    """Two at once that want 3 and 5 samples of a question share the first 3: two calls, five answers."""
    bodies = Bodies(latency=1.0)
    found, _ = ask_all(bodies.script, [question(samples=3), question(samples=5)])
    assert [body.get("n") for body in bodies.seen] == [3, 2]
    assert readings(found[0]) == readings(found[1])[:3]
    assert len(readings(found[1])) == 5


def test_identical_candidates_cost_one_call():
    """The same text twice in a pool is one question, and both candidates get its score."""
    script = Script()

    async def main():
        async with over(script) as engine:
            judge = judge_from_spec("pointwise:openai/gpt-5-mini")
            return await judge_with(engine, judge, "Why?", ["one", "two", "one", "one"])

    found = run_virtual(main())
    assert script.counts.requests == found.bill.calls == 2
    assert found.verdicts[0] == found.verdicts[2] == found.verdicts[3] != found.verdicts[1]


def test_an_answer_is_taken_from_the_ledger_by_the_next_engine(tmp_path):
    """What an engine has paid, the next one on the ledger gets for nothing, the same words, marked as stored."""
    script = Script()
    first, _ = ask_all(script, [question(0), question(1)], ledger=tmp_path)
    again, engine = ask_all(script, [question(1), question(0)], ledger=tmp_path)
    assert script.counts.requests == 2
    assert [readings(one) for one in again] == [readings(one) for one in reversed(first)]
    assert [one.raw for found in again for one in found.answers] == [
        one.raw for found in reversed(first) for one in found.answers
    ]
    assert all(answer.from_ledger for found in again for answer in found.answers)
    assert not any(answer.from_ledger for found in first for answer in found.answers)
    assert engine.totals.bill == Bill(from_ledger=2, reused_tokens=36)
    assert again[0].effective == first[0].effective


CHANGES = {
    "temperature": {"temperature": 0.6},
    "no temperature": {"temperature": None},
    "system": {"system": "Judge well."},
    "user": {"user": "Another?"},
    "model": {"model": Model("openai", "gpt-5-nano")},
    "server": {"model": Model("openai", "gpt-5-mini", "http://scripted/v1")},
    "provider": {"model": Model("anthropic", "gpt-5-mini")},
    "schema": {"schema": SCHEMA},
    "limit": {"max_tokens": 1023},
    "logprobs": {"top_logprobs": 5},
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_another_setting_is_another_question(tmp_path, changes):
    """Whatever can change the answer asks anew, and the first answer stays."""
    script = Script()
    for ask in (question(), question(**changes), question(), question(**changes)):
        ask_all(script, [ask], ledger=tmp_path)
    assert script.counts.answers == 2


def test_a_stored_answer_is_read_anew(tmp_path):
    """The reader is no part of the question: another one reads the stored words."""
    script = Script(lambda _: "seven")
    ask_all(script, [question()], ledger=tmp_path)
    (found,), _ = ask_all(script, [question(read=lambda choice: choice.text.upper())], ledger=tmp_path)
    assert readings(found) == ["SEVEN"]
    assert script.counts.requests == 1


# Several samples.


def test_samples_come_in_one_call_where_the_service_can(tmp_path):
    """OpenAI is asked for all samples at once, and later only for those that are missing."""
    bodies = Bodies()
    (three,), _ = ask_all(bodies.script, [question(samples=3)], ledger=tmp_path)
    (five,), engine = ask_all(bodies.script, [question(samples=5)], ledger=tmp_path)
    (two,), _ = ask_all(bodies.script, [question(samples=2)], ledger=tmp_path)
    assert [body.get("n") for body in bodies.seen] == [3, 2]
    assert readings(five)[:3] == readings(three)
    assert readings(two) == readings(three)[:2]
    assert len(set(readings(five))) == 5
    assert (engine.totals.bill.calls, engine.totals.bill.from_ledger) == (1, 3)


def test_samples_are_calls_of_their_own_where_the_service_knows_no_other_way(tmp_path):
    """Anthropic is asked once a sample, and later only for those that are missing."""
    bodies = Bodies()
    ask_all(bodies.script, [question(model=CLAUDE, samples=3)], ledger=tmp_path)
    (five,), engine = ask_all(bodies.script, [question(model=CLAUDE, samples=5)], ledger=tmp_path)
    assert len(bodies.seen) == 5
    assert len({json.dumps(body) for body in bodies.seen}) == 1
    assert len(set(readings(five))) == 5
    assert (engine.totals.bill.calls, engine.totals.bill.from_ledger) == (2, 3)


def test_a_server_that_ignores_n_is_topped_up_and_remembered(tmp_path):
    """The missing samples are asked one by one, it is noticed, and the next engine does not send ``n`` again."""
    bodies = Bodies(ignores={"n"})
    (found,), engine = ask_all(bodies.script, [question(samples=3)], ledger=tmp_path)
    assert len(set(readings(found))) == 3
    assert bodies.script.counts.requests == engine.totals.bill.calls == 3
    assert list(engine.totals.notices) == ["openai/gpt-5-mini does not take n: left out (sent 1 of 3 answers)"]
    sent = []
    bodies.script.on_paid = lambda request: sent.append(request.digest)
    _, engine = ask_all(bodies.script, [question(1, samples=3)], ledger=tmp_path)
    assert len(sent) == 3
    assert len(set(sent)) == 1
    (notice,) = engine.totals.notices
    assert notice.startswith("openai/gpt-5-mini sends one answer per call, whatever n asks for")
    again, engine = ask_all(bodies.script, [question(samples=3), question(1, samples=3)], ledger=tmp_path)
    assert bodies.script.counts.requests == 6
    assert engine.totals.bill == Bill(from_ledger=6, reused_tokens=72)
    assert readings(again[0]) == readings(found)


# What a server does not take, or does not do.


@pytest.mark.parametrize("concurrent", [1, 40])
def test_a_refused_parameter_is_left_out_and_remembered(tmp_path, concurrent):
    """The call is sent again without it, it is said once, the answers tell, and the next engine knows."""
    script = Script(refuses_parameters={"temperature"}, latency=1.0)
    asks = [question(number) for number in range(concurrent)]
    found, engine = ask_all(script, asks, ledger=tmp_path)
    assert not owed(found)
    assert all("temperature" not in answers.effective for answers in found)
    assert script.counts.answers == engine.totals.bill.calls == concurrent
    assert script.counts.paid_again == {}
    (notice,) = engine.totals.notices
    assert notice.startswith("openai/gpt-5-mini does not take temperature: left out (")
    refused = script.counts.requests
    again, engine = ask_all(script, asks, ledger=tmp_path)
    assert script.counts.requests == refused
    assert engine.totals.bill == Bill(from_ledger=concurrent, reused_tokens=18 * concurrent)
    assert all("temperature" not in answers.effective for answers in again)
    ask_all(script, [question(concurrent)], ledger=tmp_path)
    assert script.counts.requests == refused + 1
    with Ledger.open(tmp_path) as ledger:
        assert [(one.model, one.parameter) for one in ledger.stats().dropped] == [("gpt-5-mini", "temperature")]


def test_a_parameter_refused_at_one_model_is_sent_to_another(tmp_path):
    """What one model does not take says nothing about another one at the same server."""
    seen = []
    script = Script(refuses_parameters={"temperature"}, on_paid=lambda request: seen.append(request.body))
    ask_all(script, [question()], ledger=tmp_path)
    script.refuses_parameters = frozenset()
    (found,), _ = ask_all(script, [question(model=Model("openai", "gpt-4.1-mini"))], ledger=tmp_path)
    assert ["temperature" in body for body in seen] == [False, True]
    assert found.effective["temperature"] == 0.5


def test_a_refused_parameter_is_said_once(tmp_path):
    """Questions one after the other, in the run that learns it and in the next one, leave a single notice."""
    script = Script(refuses_parameters={"temperature"})

    async def main():
        async with over(script, ledger=tmp_path) as engine:
            for number in range(3):
                await engine.ask(question(number))
            return engine.totals.notices

    for _ in range(2):
        (notice,) = run_virtual(main())
        assert "does not take temperature: left out" in notice


def test_anthropic_gets_no_temperature_and_it_is_said():
    """A temperature that a provider cannot express is not sent, and noticed once."""
    (found, _), engine = ask_all(Script(), [question(0, model=CLAUDE), question(1, model=CLAUDE)])
    assert "temperature" not in found.effective
    assert engine.totals.notices == {"anthropic/claude-opus-5 takes no temperature: none is sent": 1}


def test_an_ignored_schema_is_noticed():
    """Prose in reply to a schema is noticed, once an answer, and read all the same."""
    script = Script(lambda _: "Seven", ignores={"schema"})
    found, engine = ask_all(script, [question(0, schema=SCHEMA), question(1, schema=SCHEMA)])
    assert [readings(answers) for answers in found] == [["Seven"], ["Seven"]]
    assert engine.totals.notices == {"openai/gpt-5-mini ignores the JSON schema that it was sent": 2}


def test_ignored_logprobs_are_noticed():
    """An answer without the log probabilities that were asked for is noticed; one with them is not."""
    token = (TokenLogprobs("7", {"7": -0.1}),)
    script = Script(lambda _: Choice("7", logprobs=token))
    _, engine = ask_all(script, [question(top_logprobs=20)])
    assert not engine.totals.notices
    script.ignores = frozenset({"logprobs"})
    _, engine = ask_all(script, [question(top_logprobs=20)])
    assert engine.totals.notices == {"openai/gpt-5-mini sends no logprobs although it was asked to": 1}


# Answers that cannot be used.


@pytest.mark.parametrize("provider", [MODEL, CLAUDE], ids=str)
@pytest.mark.parametrize("ending", ["refusal", "length"])
def test_an_unusable_answer_is_final_until_it_is_asked_again(tmp_path, provider, ending):
    """A refusal or a cut answer is stored; ``reask=1`` asks once more, and that answer is stored as well."""
    script = Script(lambda request: Choice("fine") if request.attempt else Choice("no", ending, "policy"))
    asks = [question(model=provider)]
    for expected in ("answered", "stored"):
        (found,), engine = ask_all(script, asks, ledger=tmp_path)
        (reading,) = readings(found)
        assert isinstance(reading, Unscored)
        assert not reading.owed
        assert script.counts.requests == 1, expected
        assert (engine.totals.unscored, engine.totals.bill.owed) == (1, 0)
    for calls in (1, 0):
        (found,), engine = ask_all(script, asks, ledger=tmp_path, reask=1)
        assert readings(found) == ["fine"]
        assert engine.totals.bill.calls == calls
        assert (engine.totals.answers, engine.totals.unscored) == (1, 0)
    assert script.counts.requests == 2
    (found,), _ = ask_all(script, asks, ledger=tmp_path)
    assert isinstance(readings(found)[0], Unscored)


def test_a_second_asking_is_only_for_what_cannot_be_used(tmp_path):
    """With ``reask=1`` only the unusable samples are asked again, once, however they end then."""

    def answer(request):
        return Choice("", "refusal", "no") if request.sample == 1 or request.attempt else Choice(f"{request.sample}")

    bodies = []
    script = Script(answer, on_paid=lambda request: bodies.append(request.samples))
    (found,), engine = ask_all(script, [question(samples=3)], ledger=tmp_path, reask=1)
    assert bodies == [3, 1]
    assert [isinstance(one, Unscored) for one in readings(found)] == [False, False, False]
    assert engine.totals.bill.calls == 2
    _, engine = ask_all(script, [question(samples=3)], ledger=tmp_path, reask=1)
    assert engine.totals.bill.calls == 0


def test_what_a_server_refuses_for_good_is_stored_with_its_words(tmp_path):
    """Status 400 is final: unscored, not owed, with the server's words, and asked about no more."""
    script = Script(context_length=1)
    for requests in (1, 1):
        (found,), engine = ask_all(script, [question()], ledger=tmp_path)
        (reading,) = readings(found)
        assert not reading.owed
        assert "maximum context length is exceeded" in reading.reason
        assert script.counts.requests == requests
        assert engine.totals.bill.owed == 0
    with Ledger.open(tmp_path) as ledger:
        assert ledger.stats().calls == {"rejected": 1}


def test_a_reader_that_fails_spoils_nothing(tmp_path):
    """What a reader raises is its own: unscored, the raw answer is kept and can be read by a mended one."""

    def broken(choice):
        raise KeyError(choice.text)

    script = Script(lambda _: "seven")
    (found,), engine = ask_all(script, [question(read=broken)], ledger=tmp_path)
    assert readings(found) == [Unscored("the reader failed: KeyError", "seven")]
    assert found.answers[0].raw == "seven"
    assert (engine.totals.answers, engine.totals.unscored) == (1, 1)
    (found,), _ = ask_all(script, [question()], ledger=tmp_path)
    assert readings(found) == ["seven"]
    assert script.counts.requests == 1


# What a person has to mend.


def test_a_refused_key_closes_the_endpoint(tmp_path):
    """After 401 nothing more is sent there, all is owed, the error shows no key, and the right key pays the rest."""
    script = Script(keys={"sk-right"}, latency=1.0)
    asks = [question(number) for number in range(50)]
    found, engine = ask_all(script, asks, ledger=tmp_path, max_concurrency=8)
    assert script.counts.requests <= 8
    assert len(owed(found)) == engine.totals.bill.owed == 50
    denial = engine.denial()
    assert isinstance(denial, CallError)
    assert "openai/gpt-5-mini at https://api.openai.com/v1: " in str(denial)
    for shown in (*owed(found), str(denial), repr(denial), denial.hint):
        assert KEY not in shown
    script.keys = None
    _, engine = ask_all(script, asks, ledger=tmp_path)
    assert engine.denial() is None
    assert engine.totals.bill.calls == 50


def test_a_refused_key_closes_no_other_endpoint():
    """A endpoint that is closed says nothing about another model's."""
    script = Script(models={"claude-opus-5"})
    found, engine = ask_all(script, [question(), question(model=CLAUDE)])
    assert len(owed(found[:1])) == 1
    assert not owed(found[1:])
    assert "gpt-5-mini" in str(engine.denial())


def test_an_exhausted_account_leaves_the_rest_owed(tmp_path):
    """When the account is empty what was paid stands, the rest is owed, and nothing more is sent."""
    script = Script(quota=3, latency=1.0)
    asks = [question(number) for number in range(10)]
    found, engine = ask_all(script, asks, ledger=tmp_path, max_concurrency=1)
    assert script.counts.requests == 4
    assert (len(owed(found)), engine.totals.bill.calls) == (7, 3)
    assert all("quota" in reason for reason in owed(found))
    script.quota = None
    _, engine = ask_all(script, asks, ledger=tmp_path)
    assert (engine.totals.bill.calls, engine.totals.bill.from_ledger) == (7, 3)


@pytest.mark.parametrize(("model", "variable"), [(MODEL, "OPENAI_API_KEY"), (CLAUDE, "ANTHROPIC_API_KEY")])
def test_a_key_is_needed_only_where_something_is_sent(tmp_path, monkeypatch, model, variable):
    """Without a key the error names its variable, and what is stored needs none."""
    script = Script()
    ask_all(script, [question(model=model)], ledger=tmp_path)
    monkeypatch.delenv(variable)
    (found,), _ = ask_all(script, [question(model=model)], ledger=tmp_path)
    assert not owed([found])
    with pytest.raises(CallError, match="no key for") as caught:
        ask_all(script, [question(1, model=model)], ledger=tmp_path)
    assert variable in caught.value.hint
    assert script.counts.requests == 1
    with Ledger.open(tmp_path) as ledger:
        assert ledger.stats().lost_attempts == 0
