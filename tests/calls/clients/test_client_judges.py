"""A judge that holds a client: which clients fit, and how it is named, compared, copied and refused a pickle."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import inspect
import pickle
import types

import httpx
import openai
import pytest

import bonwise as bw
from bonwise.calls.ask import Model, model_from_spec
from bonwise.calls.providers import supplied_sending
from bonwise.calls.providers.clients import LARGEST
from bonwise.calls.providers.protocol import Connection, http_library
from bonwise.calls.providers.supplied import supplied_model
from bonwise.errors import UsageError
from bonwise.judges.registry import judge_from_spec, kinds
from bonwise.testing import FakeTransport, Script, ScriptedServer
from bonwise.testing.script import Delivery
from bonwise.testing.wire import WireResponse
from calls.clients.makers import KINDS, SECRETS, Maker
from calls.clients.recorder import recording

POOL = ("Name a colour", ["red", "a long answer that names none"])
JUDGES = [bw.Pointwise, bw.Pairwise, bw.Probability, bw.Interval, bw.Logprob]
URL = "http://127.0.0.1:9"


@pytest.fixture
def client():
    """Return a client that is closed in the end."""
    with Maker("AzureOpenAI")(URL) as made:
        yield made


def close(maker, client):
    """Close a client."""
    asyncio.run(client.close()) if maker.asynchronous else client.close()


def test_a_client_must_fit_the_provider(maker):
    """A client of the other SDK, and one beside a base URL, are one clear error each."""
    made, judge = maker(URL), bw.Pointwise
    other = {"openai": "anthropic", "anthropic": "openai"}[maker.service]
    said = f"client= is {maker.kind} of the {maker.service} SDK, and the model is '{other}/m'"
    with pytest.raises(UsageError, match=said) as caught:
        judge(f"{other}/m", client=made)
    assert caught.value.hint.startswith(f"write {maker.service}/MODEL")
    with pytest.raises(UsageError, match="and the model is 'mine/m'"):
        judge("mine/m", client=made)
    with pytest.raises(UsageError, match="base_url= and client= were both given"):
        judge(maker.model, client=made, base_url=URL)
    assert judge(maker.model, client=made).client is made
    close(maker, made)


@pytest.mark.parametrize(
    "thing",
    ["https://my-resource.openai.azure.com", httpx.Client, object(), openai, {"api_key": "canary"}, openai.OpenAI],
    ids=["address", "HTTP client", "object", "module", "mapping", "class"],
)
def test_what_is_no_client_is_refused(thing):
    """A word, an HTTP client, a module and a class are no clients, and the error shows nothing of them."""
    with pytest.raises(UsageError, match=r"client= is (the class )?[A-Za-z]+, no client") as caught:
        bw.Pointwise("openai/gpt-5-mini", client=thing)
    assert "pass one, such as openai.AzureOpenAI(...)" in caught.value.hint
    assert "canary" not in str(caught.value)


def test_an_object_that_only_looks_like_a_client_is_refused():
    """Attributes of the right names make no client."""
    fake = types.SimpleNamespace(base_url=URL, post=print, copy=print, default_headers={}, default_query={})
    with pytest.raises(UsageError, match="client= is SimpleNamespace, no client"):
        bw.Pointwise("openai/gpt-5-mini", client=fake)


@pytest.mark.parametrize("judge", JUDGES)
def test_name_version_and_repr_do_not_show_it(client, judge):
    """A table, a report or a log names the judge as ever: by kind and model."""
    with_client, without = judge("openai/gpt-5-mini", client=client), judge("openai/gpt-5-mini")
    assert (with_client.name, with_client.version) == (without.name, without.version)
    assert (repr(with_client), str(with_client)) == (repr(without), str(without))
    assert "client" not in repr(bw.Resampled(with_client)) + bw.Resampled(with_client).name
    shown = repr(with_client.asks(*POOL)[0]) + repr(with_client.asked.client)
    assert not any(secret in shown for secret in SECRETS.values())


def test_judges_are_compared_by_the_client_itself(client):
    """Equal where they hold the same object, and not where another one looks the same."""
    with Maker("AzureOpenAI")(URL) as other:
        first, again = (bw.Pointwise("openai/gpt-5-mini", client=client) for _ in range(2))
        different = bw.Pointwise("openai/gpt-5-mini", client=other)
        assert first == again
        assert (first.asked, hash(first.asked)) == (again.asked, hash(again.asked))
        assert hash(first) == hash(again)
        assert first not in {different, bw.Pointwise("openai/gpt-5-mini")}
        assert first.asked not in {different.asked, Model("openai", "gpt-5-mini")}
        assert len({first, again, different}) == 2


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, dataclasses.replace])
def test_a_copy_keeps_the_client(client, copied):
    """A copy of a judge, alone or inside of others, sends by the same client."""
    judge = bw.Logprob
    made = judge("openai/gpt-5-mini", client=client, max_tokens=99)
    found = copied(made)
    assert found == made
    assert found is not made
    assert found.client is client
    assert found.asked.client.client is client
    wrapped = copied(bw.Quantized(bw.Resampled(made)))
    assert wrapped.of.of.client is client
    assert copied(judge("openai/gpt-5-mini")) == judge("openai/gpt-5-mini")


def test_a_judge_with_a_client_refuses_pickling(maker):
    """One sentence names the setting; without a client a judge is pickled as ever."""
    made, judge = maker(URL), bw.Pairwise
    held = judge(maker.model, client=made)
    said = rf"client= cannot be pickled: {maker.kind} holds connections and secrets \(make the client, and the judge"
    for one in (held, bw.Resampled(held), held.asks(*POOL)[0].model, held.asked.client):
        with pytest.raises(UsageError, match=said):
            pickle.dumps(one)
    assert pickle.loads(pickle.dumps(judge(maker.model))) == judge(maker.model)  # noqa: S301 - our own bytes
    close(maker, made)


def test_a_selector_with_a_client_refuses_pickling(client):
    """Wherever it holds the client: in its judge, its router or its strategy."""
    judge, plain = bw.Pointwise("openai/gpt-5-mini", client=client), bw.Pointwise("openai/gpt-5-mini")
    held = [
        bw.Selector(judge),
        bw.Selector(plain, router=bw.Router(strong=judge, signal="margin", share=0.5)),
        bw.Selector(plain, strategy=bw.TieBreak(bw.Pairwise("openai/gpt-5-mini", client=client))),
    ]
    for selector in held:
        with pytest.raises(UsageError, match="client= cannot be pickled"):
            pickle.dumps(selector)


def test_the_command_line_has_no_such_setting():
    """A text cannot stand for a client: it is no option, and none is listed."""
    with pytest.raises(UsageError, match="pointwise has no option 'client'"):
        judge_from_spec("pointwise,client=azure:openai/gpt-5-mini")
    assert all("client" not in kind.options for kind in kinds())
    assert any("temperature" in kind.options for kind in kinds())


@pytest.mark.parametrize("judge", JUDGES)
def test_the_setting_is_explained_by_every_judge(judge):
    """Each public judge says what it is, in the same words."""
    assert "client : object, optional\n" in inspect.getdoc(judge)
    assert "it sends the requests, and is neither changed nor closed." in inspect.getdoc(judge)
    assert inspect.signature(judge).parameters["client"].kind is inspect.Parameter.KEYWORD_ONLY


def test_a_transport_of_the_run_s_is_refused_beside_it(client):
    """A test that hands the selector a transport would reach the network by the client all the same."""
    connection = Connection(transport=FakeTransport(Script()))
    selector = bw.Selector(bw.Pointwise("openai/gpt-5-mini", client=client), connection=connection)
    with selector, pytest.raises(UsageError, match="a transport was given, and client= sends by its own"):
        selector.select(*POOL)


@pytest.mark.parametrize("kind", ["OpenAI", "AsyncOpenAI"])
def test_a_response_that_is_too_large_is_no_answer(kind):
    """The cap holds for a user's client too, once the response has been read."""
    maker = Maker(kind)

    class Large(Script):
        """Answers more than anyone reads."""

        def receive(self, *arguments):
            """Put blanks behind the answer."""
            delivery = super().receive(*arguments)
            response = delivery.response
            content = response.content + b" " * (LARGEST + 1 - len(response.content))
            return Delivery(WireResponse(200, response.headers, content))

    async def main(url):
        made = maker(url)
        judge = bw.Pointwise("openai/gpt-5-mini", client=made)
        pick = await bw.aselect("Name a colour", ["red", "blue"], judge=judge, on_failure="owe")
        await made.close() if maker.asynchronous else made.close()
        return pick

    with recording(Large()) as recorder:
        pick = asyncio.run(main(recorder.url))
    assert pick.best is None
    assert len(pick.unscored) == 2
    assert all("is larger than 32 MiB" in reason for reason in pick.unscored.values())
    assert len(recorder.arrived) == 2


def test_an_http_client_of_the_other_library_works_where_the_sdk_takes_it():
    """What openai 3 takes of an older program, a client of httpx, sends as well, and its errors are understood."""
    if http_library(openai) is httpx:
        pytest.skip("httpx is this SDK's own library")
    script = Script()

    async def main(url):
        async with httpx.AsyncClient() as http:
            made = Maker("AsyncOpenAI")(url, http_client=http)
            judge = bw.Pointwise("openai/gpt-5-mini", client=made)
            pick = await bw.aselect(*POOL, judge=judge)
            nowhere = Maker("AsyncOpenAI")(URL, http_client=http)
            judge = bw.Pointwise("openai/gpt-5-mini", client=nowhere)
            owed = await bw.aselect(*POOL, judge=judge, deadline=0.3, on_failure="owe")
            return pick, owed

    with ScriptedServer(script).in_thread() as server:
        pick, owed = asyncio.run(main(server.url))
    assert (pick.calls, script.counts.answers) == (2, 2)
    assert owed.best is None


def test_time_outs_are_shortened_and_never_lengthened():
    """A limit below the usual one holds for each part of a request; the client's own shorter ones stay."""
    http = http_library(openai)
    own = http.Timeout(100.0, connect=2.0)
    assert supplied_sending._shortened(http, own, 8.0).as_dict() == {
        "connect": 2.0,
        "read": 8.0,
        "write": 8.0,
        "pool": 8.0,
    }
    assert supplied_sending._shortened(http, None, 8.0) == http.Timeout(8.0)
    assert supplied_sending._shortened(http, 3, 8.0) == http.Timeout(3.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_has_one_description_of_a_client(kind):
    """The description names the class and the server, and nothing else of it."""
    maker = Maker(kind)
    made = maker("http://me:canary-password-ab@127.0.0.1:9")
    model = supplied_model(maker.model, made)
    assert repr(model.client) == f"SuppliedClient({kind}, 'http://127.0.0.1:9')"
    assert repr(model) == repr(model_from_spec(maker.model))
    close(maker, made)
