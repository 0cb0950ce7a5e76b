"""Batches: what goes into them, what comes of each result, limits and prices, and what goes live."""

from __future__ import annotations

import asyncio
import json
import re

import openai
import pytest

import bonwise as bw
from bonwise.calls import batches, prices
from bonwise.calls.engine import Engine
from bonwise.calls.estimate import estimate_asks
from bonwise.calls.ledger.damage import repair
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.providers.anthropic import AnthropicBatches
from bonwise.calls.providers.openai import OpenAIBatches
from bonwise.calls.spending import Spending, SpendingLimitReached
from bonwise.errors import CallError, UsageError
from bonwise.judges.judging import asked
from bonwise.selection.run import Stop
from bonwise.testing.script import Script
from cli.commands import pool_file, typed
from crash.batch_service import BatchService

PROVIDERS = {"openai": "openai/gpt-5-mini", "anthropic": "anthropic/claude-opus-5"}
KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    """Let nothing take minutes, and set keys."""
    for name, seconds in {"SETTLING": 0.2, "FIRST_PAUSE": 0.01, "LONGEST_PAUSE": 0.02}.items():
        monkeypatch.setattr(batches, name, seconds)
    for name in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)


@pytest.fixture(params=PROVIDERS)
def provider(request):
    """Return the name of a provider."""
    return request.param


only_one = pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
"""Of what is the same code for both."""


def pools(count=3, candidates=2):
    """Return pools whose texts are all different."""
    return [(f"Question {p}?", [f"Answer {p}.{c}" for c in range(candidates)]) for p in range(count)]


def judge_of(service, provider, kind=bw.Pointwise, **settings):
    """Return a judge that asks a service."""
    url = service.url + ("/v1" if provider == "openai" else "")
    return kind(PROVIDERS[provider], base_url=url, **settings)


def judged(service, provider, run, *, kind=bw.Pointwise, about=None, price=(1.0, 2.0), **settings):
    """Judge pools in batches."""
    judge = judge_of(service, provider, kind, price=price)
    return bw.judge(pools() if about is None else about, judge=judge, run=run, batch=True, **settings)


def scores(found):
    """Return the scores of all candidates."""
    return [getattr(v, "value", None) for pool in found for v in pool.judgments[0].verdicts]


def test_answers_of_a_batch_are_those_of_live_calls(tmp_path, provider):
    """The scores are the same, live calls take them from the ledger, and a select does too."""
    with BatchService().served() as service:
        found = judged(service, provider, tmp_path / "a")
        assert service.live == 0
        assert found.bill.calls == 6
        live = bw.judge(pools(), judge=judge_of(service, provider), run=tmp_path / "a")
        assert (live.bill.calls, live.bill.from_ledger) == (0, 6)
        fresh = bw.judge(pools(), judge=judge_of(service, provider), run=tmp_path / "b")
        assert service.live == fresh.bill.calls == 6
        picks = list(bw.select_many(pools(), judge=judge_of(service, provider), ledger=tmp_path / "a"))
    assert scores(found) == scores(live) == scores(fresh)
    assert len(picks) == 3
    assert sum(pick.calls for pick in picks) == 0


@only_one
def test_questions_that_follow_from_answers_go_into_a_further_batch(tmp_path, provider):
    """A rubric is drafted in the first batch and applied in the second; nothing goes live."""
    with BatchService().served() as service:
        found = judged(service, provider, tmp_path, kind=bw.Checklist, about=pools(2))
        assert len(service.batches) == 2
        assert service.live == 0
    assert None not in scores(found)


def test_draws_are_as_many_as_asked_for(tmp_path, provider):
    """Several samples go as the provider takes them, and each has its answer."""
    with BatchService().served() as service:
        judge = bw.Resampled(judge_of(service, provider), draws=3)
        found = bw.judge(pools(), judge=judge, run=tmp_path, batch=True)
        assert service.live == 0
        assert sum(service.submitted.values()) == (6 if provider == "openai" else 18)
    assert {len(v.draws) for pool in found for v in pool.judgments[0].verdicts} == {3}


def test_what_expired_goes_into_a_further_batch(tmp_path, provider):
    """Partial results are kept; what a batch lost is asked in another one."""
    with BatchService(lost={0: "expired"}).served() as service:
        found = judged(service, provider, tmp_path)
        assert service.live == 0
        # The first request of every batch expires: 6, then 1, which brings nothing, and so ends the rounds.
        assert [len(batch["requests"]) for batch in service.batches.values()] == [6, 1]
        assert scores(found).count(None) == 1
        assert sum(found.pending.values()) == 1
        service.lost = {}
        again = judged(service, provider, tmp_path)
        assert again.bill.calls == 1
    assert None not in scores(again)
    assert not again.pending


def test_each_kind_of_error_is_what_it_is_for_a_live_call(tmp_path, provider):
    """A refused request is final; an overloaded server is pending."""
    kinds = {"openai": ("server_error", 500), "anthropic": ("overloaded_error", 529)}[provider]
    refusal = {"error": {"type": "invalid_request_error", "message": "prompt is too long"}}
    busy = {"error": {"type": kinds[0], "message": "try again"}}

    def lost(body):
        return {"Answer 0.0": (400, refusal), "Answer 0.1": (kinds[1], busy)}.get(
            re.search(r"Answer \d.\d", str(body))[0]
        )

    with BatchService(lost=dict.fromkeys(range(6), lost)).served() as service:
        found = judged(service, provider, tmp_path)
        assert [len(batch["requests"]) for batch in service.batches.values()] == [6, 1]
        assert scores(found).count(None) == 2
        assert list(found.unscored) == [
            "the server refused the request: the server answered HTTP 400: prompt is too long"
        ]
        assert list(found.pending.values()) == [1]


def test_a_parameter_that_a_model_does_not_take_is_left_out_of_the_next_batch(tmp_path):
    """It is remembered, and a complaint of what was not sent is final."""

    def refuse(body):
        complaint = {"message": "Unsupported value: 'temperature' does not support 0.5 with this model."}
        complaint |= {"code": "unsupported_value", "param": "temperature", "type": "invalid_request_error"}
        return (400, {"error": complaint}) if "temperature" in body else None

    with BatchService(lost=dict.fromkeys(range(6), refuse)).served() as service:
        judge = judge_of(service, "openai", temperature=0.5)
        found = bw.judge(pools(), judge=judge, run=tmp_path, batch=True)
        assert [len(batch["requests"]) for batch in service.batches.values()] == [6, 6]
    assert None not in scores(found)
    with Ledger.open(tmp_path) as ledger:
        assert [row.parameter for row in ledger.stats().dropped] == ["temperature"]


@only_one
def test_an_unreadable_reply_is_asked_for_again_live(tmp_path, provider):
    """The second ask is one live call; the next command finds it."""
    script = Script(lambda request: "no number at all" if request.attempt == 0 and "0.0" in request.user else "70")
    with BatchService(script).served() as service:
        found = judged(service, provider, tmp_path)
        assert service.live == 1
        assert None not in scores(found)
        again = judged(service, provider, tmp_path)
        assert service.live == 1
    assert again.bill.calls == 0
    assert scores(again) == scores(found)


def test_functions_are_called_and_clients_of_the_user_ask_live(tmp_path):
    """What has no batches is asked as always, once."""
    calls = []
    with BatchService().served() as service, openai.OpenAI(base_url=f"{service.url}/v1") as client:
        own = bw.Pointwise("openai/gpt-5-mini", client=client)
        found = bw.judge(
            pools(), judge=[own, lambda _prompt, text: calls.append(text) or len(text)], run=tmp_path, batch=True
        )
        assert (service.live, len(service.batches), len(calls)) == (6, 0, 6)
    assert not found.pending
    assert len(bw.judge(pools(), judge=lambda _prompt, text: len(text), batch=True)) == 3


@pytest.mark.parametrize("trouble", ["lost", 500, 503])
def test_a_submission_without_an_answer_is_found_or_made_again(tmp_path, provider, trouble):
    """Where the connection broke after it, it is found; where the service failed, it is made again: once."""
    with BatchService().served() as service:
        service.refuse_create = [trouble]
        found = judged(service, provider, tmp_path)
        assert len(service.batches) == 1
        assert "listing" in service.events
    assert None not in scores(found)


def test_a_batch_like_it_of_somebody_else_is_not_taken_for_it(tmp_path, provider):
    """Another batch of as many requests is looked at, and is not this one."""
    with BatchService().served() as service:
        other = [(f"request-{at}", {"model": "m", "messages": []}) for at in range(6)]
        service.add(other, "/v1/messages" if provider == "anthropic" else "/v1/chat/completions", metadata=None)
        service.refuse_create = [500]
        found = judged(service, provider, tmp_path)
        assert len(service.batches) == 2
    assert None not in scores(found)


@only_one
def test_without_waiting_answers_are_pending_until_they_are_there(tmp_path, provider):
    """Live calls do not send what a batch has; the same call takes the answers later."""
    with BatchService(polls=2).served() as service:
        found = judged(service, provider, tmp_path, no_wait=True)
        assert sum(found.pending.values()) == 6
        assert list(found.pending) == ["in batch batch_1, which has not ended"]
        live = bw.judge(pools(), judge=judge_of(service, provider), run=tmp_path)
        assert sum(live.pending.values()) == 6
        assert service.live == 0
        while judged(service, provider, tmp_path, no_wait=True).pending:
            pass
        assert len(service.batches) == 1
        assert None not in scores(judged(service, provider, tmp_path))
    assert service.submitted.total() == 6


@only_one
def test_resubmit_sends_again_what_nobody_knows_of(tmp_path, monkeypatch, provider):
    """Without it the submission stays unknown; with it its calls may be billed, and are sent again at once."""
    monkeypatch.setattr(batches, "SETTLING", 3600.0)
    with BatchService().served() as service:
        service.refuse_create = ["lost"]
        found = judged(service, provider, tmp_path, no_wait=True)
        assert "submission is unknown" in next(iter(found.pending))
        again = judged(service, provider, tmp_path, resubmit=True)
        assert len(service.batches) == 2
    assert None not in scores(again)
    with Ledger.open(tmp_path) as ledger:
        assert ledger.stats().calls == {"unknown": 6, "answered": 6}
        assert ledger.stats().lost_attempts == 6


@only_one
def test_costs_are_half_and_limits_hold(tmp_path, provider, monkeypatch):
    """What results took is charged at the price in a batch; a limit splits the work into rounds, and is kept."""
    monkeypatch.setattr(prices.Prices, "of", lambda *_: prices.Price(prices.Rates(1, 1, 1, 1, 2), batch=0.5))
    with BatchService().served() as service:
        found = judged(service, provider, tmp_path / "a")
        tokens = found.bill.input_tokens, found.bill.output_tokens
        assert found.cost == pytest.approx((tokens[0] * 1 + tokens[1] * 2) / 2e6)
        # The worst case of two requests fits at once; real costs leave room for further rounds.
        limited = judged(service, provider, tmp_path / "b", max_cost=0.0075)
        assert limited.cost <= 0.0075
        assert len(service.batches) > 2
        few = judged(service, provider, tmp_path / "c", max_calls=4)
        assert few.bill.calls == 4
        assert few.pending == {"max_calls=4 is reached": 2}
        windowed = judged(service, provider, tmp_path / "d", max_cost=(0.004, "day"))
        with Ledger.open(tmp_path / "d") as ledger:
            spent = ledger.stats().cost
    assert 0 < spent <= 0.004
    assert windowed.pending


@pytest.mark.parametrize("trouble", ["no count", "no answer"])
def test_what_was_paid_for_and_not_counted_uses_up_the_window(tmp_path, provider, monkeypatch, trouble):
    """No further command spends again what an earlier one may have spent."""
    monkeypatch.chdir(tmp_path)
    script = Script(usage=lambda *_: None) if trouble == "no count" else Script()
    lost = {} if trouble == "no count" else dict.fromkeys(range(9), (200, {"nothing": "in it"}))
    with BatchService(script, lost=lost, polls=0).served() as service:
        for _ in range(3):
            judged(service, provider, "a", max_cost=(0.01, "day"))
            counts = service.submitted.total()
            assert 0 < counts < 6
            assert counts == len(service.submitted)
    with Ledger.open("a") as ledger:
        assert ledger.batches() == []


def test_an_estimate_counts_second_asks_of_what_a_batch_brought(tmp_path, provider):
    """They go out with the next command, because the batch asked nothing again."""
    with BatchService(Script(answer=lambda _: "no idea"), polls=0).served() as service:
        judged(service, provider, tmp_path, reask=0)
        asks = [ask for pool in pools() for ask in asked(judge_of(service, provider), *pool)]
        counts = []
        for _ in range(2):
            with Ledger.open(tmp_path) as ledger:
                counts.append((estimate_asks(Engine(ledger), asks).calls, service.live))
            bw.judge(pools(), judge=judge_of(service, provider), run=tmp_path)
        assert counts == [(6, 0), (0, 6)]
        assert service.live == 6


@only_one
def test_a_live_call_does_not_wait_for_the_money_of_a_batch(tmp_path, provider):
    """A batch may take a day, and no live command takes its results: what has no room beside it is pending."""

    async def held(ledger, *costs):
        return [await ledger.hold_money(cost, 10**10, 86_400.0, 0.0) for cost in costs]

    with BatchService(polls=99).served() as service:
        judged(service, provider, tmp_path, max_cost=(0.01, "day"), no_wait=True)
    with Ledger.open(tmp_path) as ledger:
        (batch,) = ledger.batches()
        left = 10**10 - batch.cost
        assert 0 < left < 10**10
        none, row, wait = asyncio.run(held(ledger, left + 1, left, left))
    assert none is None
    assert row > 0
    assert wait == 0


def test_the_account_sets_the_worst_case_of_batches_aside():
    """A limit that is used up refuses at once, and what results took frees the rest."""

    async def main():
        account = Spending(max_cost=1.0)
        held = account.extend(None, 100, 0.4, 2)
        assert account.extend(held, 100, 0.4, 1) is held
        with pytest.raises(SpendingLimitReached):
            account.extend(held, 100, 0.4)
        assert account.in_flight == 3
        held.settle(50, 0.1, 3)
        assert (account.calls, account.cost, account.in_flight) == (3, pytest.approx(0.1), 0)

    asyncio.run(main())


def test_input_is_split_by_the_limits_of_the_provider(tmp_path, provider, monkeypatch):
    """No batch has more requests or bytes than it may."""
    kind = {"openai": OpenAIBatches, "anthropic": AnthropicBatches}[provider]
    assert (kind.most_requests, kind.most_bytes) in {(50_000, 200 * 10**6), (100_000, 256 * 10**6)}
    monkeypatch.setattr(kind, "most_requests", 4)
    with BatchService().served() as service:
        assert None not in scores(judged(service, provider, tmp_path / "a"))
        assert sorted(len(batch["requests"]) for batch in service.batches.values()) == [2, 4]
        monkeypatch.setattr(kind, "most_bytes", 9000)
        assert None not in scores(judged(service, provider, tmp_path / "b"))
        assert max(len(json.dumps(batch["requests"])) for batch in list(service.batches.values())[2:]) < 9000
    assert service.submitted.total() == 12


def test_no_key_gets_out(tmp_path, provider):
    """Neither the ledger nor an error holds the key, though the service repeats it."""
    script = Script(lambda _request: f"70 {KEY}")
    with BatchService(script, key=KEY).served() as service:
        judged(service, provider, tmp_path / "a")
        service.key = "another"
        with pytest.raises(CallError) as refused:
            judged(service, provider, tmp_path / "b")
    assert KEY not in str(refused.value)
    for file in (tmp_path / "a").iterdir():
        assert KEY.encode() not in file.read_bytes()


def test_a_server_without_batches_says_so(tmp_path):
    """The error names the way out, and nothing was sent."""
    with BatchService().served() as service:
        judge = bw.Pointwise("openai/gpt-5-mini", base_url=f"{service.url}/elsewhere")
        with pytest.raises(CallError, match="404") as refused:
            bw.judge(pools(), judge=judge, run=tmp_path, batch=True)
    assert "--batch" in refused.value.hint


def test_what_batches_cannot_carry_is_refused(tmp_path, provider):
    """Images and decisions cannot be in a batch: one sentence before anything is sent, in an estimate too."""
    (tmp_path / "dot.png").write_bytes(bytes.fromhex("89504e470d0a1a0a0000000d494844520000000100000001"))
    shown = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "dot.png"}}]
    asked_twice = [(shown, ["a dot", "a line"])]
    with BatchService().served() as service:
        judge = judge_of(service, provider)
        with pytest.raises(UsageError, match="images cannot go into batches"):
            bw.judge(asked_twice, judge=judge, run=tmp_path / "run", images=tmp_path, batch=True)
        if provider == "openai":
            decides = judge_of(service, provider, bw.Decision)
            with pytest.raises(UsageError, match="decisions cannot go into batches"):
                bw.judge(pools(1), judge=decides, run=tmp_path / "run", batch=True)
            with pytest.raises(UsageError, match="decisions cannot go into batches"):
                estimate_asks(Engine(), asked(decides, "Question?", ("a", "b")), batch=True)
        assert (service.live, len(service.batches)) == (0, 0)


@pytest.mark.parametrize("flag", ["--no-wait", "--resubmit"])
@pytest.mark.parametrize("beside", ["--dry-run", "--engine=ray"])
def test_flags_of_batches_need_them_everywhere(tmp_path, capsys, flag, beside):
    """Nothing leaves them out without a word."""
    path = pool_file(tmp_path / "pools.jsonl", {"p": ["a", "b"]})
    done = typed(capsys, "judge", path, "--judge", "pointwise:openai/m", "--run", tmp_path, flag, beside)
    assert done.code == 2
    assert "is of batches" in done.err


def test_a_refused_request_is_not_billed(tmp_path, capsys, provider):
    """The summary does not say that it may be."""
    path = pool_file(tmp_path / "pools.jsonl", {"p": ["a", "b"]})
    refused = (400, {"error": {"message": "no such thing", "type": "invalid_request_error"}})
    with BatchService(lost={0: refused}, polls=0).served() as service:
        url = service.url + ("/v1" if provider == "openai" else "")
        judge = ("--judge", f"pointwise:{PROVIDERS[provider]}", "--base-url", url)
        done = typed(capsys, "judge", path, *judge, "--run", tmp_path / "run", "--batch", "--no-wait")
    assert "refused for good" in done.err
    assert "may be billed" not in done.err


def test_a_service_that_cannot_be_reached_is_said(tmp_path, capsys, provider):
    """What is pending has not ended as far as anybody knows."""
    path = pool_file(tmp_path / "pools.jsonl", {"p": ["a", "b"]})
    with BatchService(polls=9).served() as service:
        url = service.url + ("/v1" if provider == "openai" else "")
        judge = ("--judge", f"pointwise:{PROVIDERS[provider]}", "--base-url", url)
        command = ("judge", path, *judge, "--run", tmp_path / "run", "--batch", "--no-wait")
        assert "0 of 2 requests are over" in typed(capsys, *command).err
    done = typed(capsys, *command)
    assert done.code == 4
    assert re.search("batch batch_1: .*connect", done.err, re.IGNORECASE)


def test_settings_that_mean_nothing_are_refused(tmp_path):
    """Batches need a run folder; what is of batches needs them."""
    with pytest.raises(UsageError, match="run folder"):
        bw.judge(pools(), judge=bw.Pointwise("openai/m"), batch=True)
    with pytest.raises(UsageError, match="no_wait"):
        bw.judge(pools(), judge=bw.Pointwise("openai/m"), run=tmp_path, no_wait=True)


@only_one
def test_a_stop_leaves_batches_to_the_next_call(tmp_path, provider):
    """What was submitted is pending, and awaited by the next call."""
    stop = Stop()
    with BatchService(polls=10**6).served() as service:
        service.on_event = lambda name: stop.request() if name == "looked at" and not stop.requests else None
        found = judged(service, provider, tmp_path, stop=stop)
        assert sum(found.pending.values()) == 6
        service.polls = 0
        assert None not in scores(judged(service, provider, tmp_path))
        assert len(service.batches) == 1


@only_one
def test_faulty_replies_are_asked_for_again(tmp_path, provider):
    """An empty reply of a batch is no answer."""
    script = Script(lambda request: "" if request.attempt == 0 and "1.1" in request.user else "55")
    with BatchService(script).served() as service:
        found = judged(service, provider, tmp_path)
        assert [len(batch["requests"]) for batch in service.batches.values()] == [6, 1]
    assert set(scores(found)) == {0.55}


@only_one
def test_a_repaired_ledger_keeps_its_batches(tmp_path, provider):
    """Repair copies them, so that their answers are taken afterwards."""
    with BatchService(polls=3).served() as service:
        judged(service, provider, tmp_path, no_wait=True)
        repair(tmp_path / "ledger.sqlite")
        assert None not in scores(judged(service, provider, tmp_path))
        assert len(service.batches) == 1


def test_estimates_are_at_the_price_of_batches(tmp_path):
    """The dry run is half, and its bounds are at the full price: a second ask is live."""
    judge = bw.Pointwise("openai/gpt-5-mini")
    asks = asked(judge, "?", ("a", "b"))
    engine = Engine(tmp_path)
    live, half = estimate_asks(engine, asks), estimate_asks(engine, asks, batch=True)
    assert half.cost == pytest.approx(live.cost / 2)
    assert half.cost_most == live.cost_most
    engine.ledger.close()
