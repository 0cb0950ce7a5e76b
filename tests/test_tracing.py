"""Spans of selections, judges and attempts, as a program that traces sees them; nothing where none does."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

import bonwise as bw
from bonwise.testing import Faults, Script, ScriptedServer
from docs.pages import blocks
from judges.rerank_server import reranking

trace = pytest.importorskip("opentelemetry.trace")
sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="opentelemetry-sdk is not installed")

SECRET = "sk-of-nobody"  # noqa: S105 - no key of anybody
MODEL = "openai/gpt-5-mini"


@pytest.fixture
def recorded(monkeypatch):
    """Return what was recorded, with a provider that is named for this test alone."""
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415

    exporter, provider = InMemorySpanExporter(), sdk.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    provider.shutdown()


@pytest.fixture
def served(monkeypatch):
    """Serve a scripted model over loopback."""

    @contextmanager
    def serve(script):
        with ScriptedServer(script).in_thread() as server:
            monkeypatch.setenv("OPENAI_API_KEY", SECRET)
            monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/v1")
            yield server

    return serve


def tree(exporter):
    """Return the names of spans with that of their parent, and the spans by name."""
    spans = exporter.get_finished_spans()
    names = {one.context.span_id: one.name for one in spans}
    found = [(one.name, names.get(one.parent.span_id) if one.parent else None) for one in spans]
    return sorted(found, key=str), {one.name: one for one in spans}


@contextmanager
def request():
    """Enter a span of the program's own."""
    with trace.get_tracer("program").start_as_current_span("request"):
        yield


def judge_of_length(prompt, text):
    """Score by length."""
    return len(text)


async def judge_of_length_later(prompt, text):
    """Score by length, from the event loop."""
    await asyncio.sleep(0)
    return len(text)


def by_select(judge, candidates):
    """Select at once."""
    with request():
        bw.select("p", candidates, judge=judge)


def by_selector(judge, candidates):
    """Select by a selector that is kept."""
    with bw.Selector(judge=judge) as selector, request():
        selector.select("p", candidates)


def by_aselect(judge, candidates):
    """Select in the event loop of the program."""

    async def go():
        with request():
            await bw.aselect("p", candidates, judge=judge)

    asyncio.run(go())


def by_another_thread(judge, candidates):
    """Select from a thread of the program."""
    with bw.Selector(judge=judge) as selector:

        def work():
            with request():
                selector.select("p", candidates)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


WAYS = [by_select, by_selector, by_aselect, by_another_thread]


@pytest.mark.parametrize("way", WAYS)
def test_the_spans_of_a_model_hang_together(way, recorded, served):
    """The program > select > judge > chat, whichever loop and thread the work is done in."""
    with served(Script()):
        way(bw.Pointwise(MODEL), ["short", "somewhat longer"])
    found, spans = tree(recorded)
    name = f"judge {bw.Pointwise(MODEL).name}"
    assert found == sorted(
        [("request", None), ("select", "request")] + [(name, "select"), ("chat gpt-5-mini", name)] * 2, key=str
    )
    select, chat = spans["select"].attributes, spans["chat gpt-5-mini"].attributes
    assert select["bonwise.decided_by"] == "score"
    assert select["bonwise.candidates"] == 2
    assert select["bonwise.calls"] == 2
    assert chat["gen_ai.operation.name"] == "chat"
    assert chat["gen_ai.provider.name"] == "openai"
    assert chat["gen_ai.request.model"] == "gpt-5-mini"
    assert chat["server.address"] == "127.0.0.1"
    assert chat["bonwise.attempt"] == 1
    chats = [one for one in recorded.get_finished_spans() if one.name.startswith("chat ")]
    total = sum(one.attributes["gen_ai.usage.input_tokens"] for one in chats)
    assert select["bonwise.input_tokens"] == total
    assert all(one.kind is trace.SpanKind.CLIENT for one in chats)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("judge", [judge_of_length, judge_of_length_later])
def test_the_spans_of_a_function_hang_together(way, judge, recorded):
    """A judge that asks no model has its span too, and the score of each candidate is an event."""
    way(judge, ["short", "somewhat longer"])
    found, spans = tree(recorded)
    name = f"judge {judge.__name__}"
    assert set(found) == {("request", None), ("select", "request"), (name, "select")}
    judged = [one for one in recorded.get_finished_spans() if one.name == name]
    events = [event for one in judged for event in one.events]
    assert {event.name for event in events} == {"gen_ai.evaluation.result"}
    assert sorted(event.attributes["gen_ai.evaluation.score.value"] for event in events) == [5.0, 15.0]
    assert sum(one.attributes["bonwise.candidates"] for one in judged) == 2
    assert spans["select"].attributes["bonwise.best"] == "c1"


def test_each_attempt_has_a_span_with_its_error(recorded, served):
    """Attempts that fail are errors, with the status; the call itself succeeds in the end."""
    with served(Script(faults=Faults(throttled=0.5, retry_after=0.001), seed=3)) as server:
        bw.select("p", [f"answer {at}" for at in range(6)], judge=bw.Pointwise(MODEL))
    chats = [one for one in recorded.get_finished_spans() if one.name.startswith("chat ")]
    failed = [one for one in chats if one.status.status_code is trace.StatusCode.ERROR]
    assert len(chats) == server.script.counts.requests
    assert len(chats) - len(failed) == 6
    assert failed
    assert {one.attributes["error.type"] for one in failed} == {"429"}
    assert max(one.attributes["bonwise.attempt"] for one in chats) > 1


def test_a_failing_judge_marks_judge_and_selection(recorded):
    """Both are errors; the pick stands."""

    def broken(prompt, text):
        raise ValueError("do not tell")

    bw.select("p", ["a", "b"], judge=broken, on_failure="first")
    _, spans = tree(recorded)
    assert spans["judge broken"].attributes["error.type"] == "JudgeError"
    assert spans["select"].attributes["error.type"] == "judge"
    assert spans["select"].status.status_code is trace.StatusCode.ERROR


def test_unscored_candidates_are_events_without_a_score(recorded, served):
    """No score is no zero."""
    with served(Script(lambda _: "I would rather not say.")):
        bw.select("p", ["a", "b"], judge=bw.Pointwise(MODEL), on_failure="first")
    events = [event for one in recorded.get_finished_spans() for event in one.events]
    assert [event.attributes["error.type"] for event in events] == ["unscored"] * 2
    assert not any("gen_ai.evaluation.score.value" in event.attributes for event in events)


def test_nothing_that_was_said_is_recorded(recorded, served, caplog):
    """Neither prompts, candidates, answers nor keys stand in spans or logs."""
    caplog.set_level(logging.DEBUG, "bonwise")
    with served(Script(faults=Faults(throttled=0.3, retry_after=0.001), seed=3)):
        bw.select("the PROMPT", ["CANDIDATE one", "CANDIDATE two"], judge=bw.Pointwise(MODEL))
    told = [one.to_json() for one in recorded.get_finished_spans()] + [caplog.text]
    assert caplog.records
    assert not [one for one in told for word in ("PROMPT", "CANDIDATE", SECRET) if word in one]


def test_names_that_cannot_be_encoded(recorded, caplog):
    """A hostile name of a judge or of a prompt breaks neither an exporter nor a log."""
    caplog.set_level(logging.DEBUG, "bonwise")

    def judge(prompt, text):
        raise ValueError

    judge.__name__ = "\ud800 \x1b[31m"
    bw.select("p", ["a", "b"], judge=judge, on_failure="first")
    told = [one.to_json() for one in recorded.get_finished_spans()] + [caplog.text]
    assert len(told) == 4
    for text in told:
        text.encode("utf-8")
        assert "\x1b" not in text


def test_a_sample_of_traces(recorded, monkeypatch):
    """A span that the sampler drops is given nothing to keep."""
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF  # noqa: PLC0415

    provider = sdk.TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    assert bw.select("p", ["a", "bb"], judge=judge_of_length).best == "bb"
    assert not recorded.get_finished_spans()


def test_each_room_has_a_logger(caplog, served):
    """Failed attempts are information, a failed judge is a warning, all else is for debugging."""
    caplog.set_level(logging.DEBUG, "bonwise")
    with served(Script(faults=Faults(throttled=0.5, retry_after=0.001), seed=3)):
        bw.select("p", [f"answer {at}" for at in range(6)], judge=bw.Pointwise(MODEL))
    bw.select("p", ["a", "b"], judge=lambda *_: 1 / 0, on_failure="first")
    rows = {(one.name, one.levelname, one.getMessage()) for one in caplog.records}
    assert ("bonwise.calls", "INFO", "attempt 1 at a call of gpt-5-mini failed: 429") in rows
    assert ("bonwise.calls", "DEBUG", "attempt 2 at a call of gpt-5-mini was answered") in rows
    assert ("bonwise.selection", "WARNING", "judge <lambda> failed, and the pick was decided by first") in rows


def test_a_program_that_does_not_trace_is_left_alone():
    """OpenTelemetry is not imported, and nothing is printed."""
    code = (
        "import sys, bonwise as bw\n"
        "bw.select('p', ['a', 'b'], judge=lambda prompt, text: 1 / 0, on_failure='first')\n"
        "assert 'opentelemetry' not in sys.modules\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_the_block_of_the_page_runs():
    """In a process of its own: a provider is named once and for all."""
    (block,) = blocks("docs/tracing.md", "python")
    ran = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_a_reranker_and_a_check_have_spans_of_their_own(recorded):
    """The call is a rerank and no chat, below its judge, which is below the judge that checks, beside the check."""
    with reranking() as service:
        model = bw.Rerank("vllm/m", base_url=service.url)
        bw.select("q", ["4 a", "b", "4"], judge=bw.Verified(model, regex="4"))
    names, spans = tree(recorded)
    assert ("rerank m", "judge rerank:vllm/m") in names
    assert ("judge check", "judge verified,regex=4,of=rerank:vllm/m") in names
    assert ("judge rerank:vllm/m", "judge verified,regex=4,of=rerank:vllm/m") in names
    assert spans["rerank m"].attributes["gen_ai.operation.name"] == "rerank"
    assert spans["rerank m"].attributes["gen_ai.usage.input_tokens"] == 40
