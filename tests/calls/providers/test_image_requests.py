"""Requests with images: the body that is sent, the body that is kept and hashed, and images that are gone."""

from __future__ import annotations

import base64
import json
import re
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest
from anthropic.types import ContentBlockParam
from openai.types.chat import ChatCompletionContentPartParam
from pydantic import TypeAdapter

from bonwise.calls.ask import AttemptError
from bonwise.calls.providers.openai import OpenAI
from bonwise.calls.tokens import MOST_OF_AN_IMAGE, image_tokens, input_tokens
from bonwise.table.images import ImageReader
from calls.providers.conftest import MODELS
from pictures import part, png

GOLDEN = Path(__file__).parent / "golden" / "images"
ADDRESS = "https://example.com/b.png"
LINES = ("--- IMAGE 1 ---", "--- IMAGE 2 ---")
USER = f"before\n{LINES[0]}\nbetween\n{LINES[1]}\nafter"
QUESTION = {"type": "choice", "choices": [{"value": "A"}, {"value": "B"}]}


@pytest.fixture
def images(tmp_path):
    """Return a file and an address as the images of a question."""
    (tmp_path / "a.png").write_bytes(png(640, 480))
    reader = ImageReader(tmp_path)
    return tuple(zip(LINES, (reader.image(part(url)) for url in ("a.png", ADDRESS)), strict=True))


def golden(name, images):
    """Read the bodies that were written by hand, with digests and bytes in their places."""
    text = (GOLDEN / f"{name}.json").read_text("utf-8")
    for mark, (_, image) in zip(("<png>", "<url>"), images, strict=True):
        text = text.replace(mark, image.reference)
    return json.loads(text.replace("<base64>", base64.b64encode(png(640, 480)).decode()))


@pytest.mark.parametrize("name", ["openai", "anthropic", "decisions"])
def test_what_is_kept_has_digests_and_what_is_sent_has_images(ask, images, name):
    """Each body is the golden one, to the byte; with the same digests it has the same key."""
    from bonwise.calls.providers.protocol import provider  # noqa: PLC0415 - loaded where it is used

    service = "openai" if name == "decisions" else name
    question = {"question": QUESTION} if name == "decisions" else {}
    request = provider(service).request(ask(MODELS[service], user=USER, images=images, **question), 1, frozenset())
    bodies = golden(name, images)
    assert request.body == bodies["kept"]
    assert request.sent_body() == bodies["sent"]
    assert json.loads(request.sent_content()) == bodies["sent"]
    assert b"base64," not in request.content
    assert ADDRESS.encode() not in request.content
    assert base64.b64encode(png(640, 480))[:40] not in request.canonical()


@pytest.mark.parametrize(
    ("name", "kind"), [("openai", ChatCompletionContentPartParam), ("anthropic", ContentBlockParam)]
)
def test_a_sent_part_fits_the_types_of_the_sdk(images, name, kind):
    """Each part is one that the SDK knows, with no field beside."""
    for piece in golden(name, images)["sent"]["messages"][-1]["content"]:
        assert TypeAdapter(kind).validate_python(piece) == piece


@pytest.mark.skipif(find_spec("openai.types.decision_create_params") is None, reason="an SDK without decisions")
def test_a_decision_about_images_fits_the_types_of_the_sdk(images):
    """The endpoint has parts of its own."""
    from openai.types import decision_input_part_union_param as params  # noqa: PLC0415 - newer SDKs have it

    for piece in golden("decisions", images)["sent"]["input"][0]["content"]:
        assert TypeAdapter(params.DecisionInputPartUnionParam).validate_python(piece) == piece


def test_the_wire_carries_the_golden_body(route, provider, images, send):
    """By either SDK and every transport; a second and a third request as well, which the SDK does not make."""
    for _ in range(3):
        send(user=USER, images=images)
        assert json.loads(route.calls.last.request.content) == golden(provider.name, images)["sent"]
        content = route.calls.last.request.content
        assert route.calls.last.request.headers["content-length"] == str(len(content))


def test_a_key_follows_the_image(provider, model, ask, tmp_path, images):
    """Other bytes are another question; another name of the same bytes is not: the body has no name."""

    def key(some):
        return provider.request(ask(model, user=USER, images=some), 1, frozenset()).keys([0])[0]

    (tmp_path / "c.png").write_bytes(png(640, 480))
    (tmp_path / "d.png").write_bytes(png(640, 480, color=1))
    reader = ImageReader(tmp_path)
    same, other = ((LINES[0], reader.image(part(name))) for name in ("c.png", "d.png"))
    assert key(images) == key((same, images[1]))
    assert len({key(images), key((other, images[1])), key((images[1], images[0])), key(())}) == 4


def test_no_text_becomes_an_image(provider, model, ask, images):
    """A text that is, or holds, the reference of an image is sent as it is."""
    reference = images[0][1].reference
    user = f"{LINES[0]}{reference}{LINES[1]}"
    request = provider.request(ask(model, user=user, system=reference, images=images), 1, frozenset())
    body = json.dumps(request.sent_body())
    assert body.count(reference) == 2
    assert body.count(base64.b64encode(png(640, 480)).decode()) == 1


def test_an_image_that_is_gone_is_an_attempt_that_failed(failure, tmp_path, images):
    """Nothing is sent; the error names the image, and may pass when it is put back."""
    (tmp_path / "a.png").unlink()
    error = failure(user=USER, images=images)
    assert isinstance(error, AttemptError)
    assert error.problem.transient
    assert not error.problem.sent
    assert re.match(r"a\.png: ", error.problem.message)


def test_the_users_own_client_sends_images_too(routes, monkeypatch, images, ask):
    """An Azure client puts the model into the path, and the images stay in the body."""
    import asyncio  # noqa: PLC0415 - of this test alone

    import openai  # noqa: PLC0415 - as above

    from bonwise.calls.providers.protocol import Connection  # noqa: PLC0415 - as above
    from bonwise.calls.providers.supplied import supplied_model  # noqa: PLC0415 - as above

    monkeypatch.delenv("OPENAI_API_KEY")
    route = routes.post(path__regex="/deployments/gpt-5-mini/").mock(return_value=httpx.Response(200, json={}))
    azure = openai.AsyncAzureOpenAI(api_key="a-key-of-azure", api_version="1", azure_endpoint="https://a.example.com")
    model = supplied_model("openai/gpt-5-mini", azure)

    async def run():
        client = OpenAI().client(model, Connection())
        await client.send(OpenAI().request(ask(model, user=USER, images=images), 1, frozenset()))

    asyncio.run(run())
    sent = json.loads(route.calls.last.request.content)
    assert sent["messages"] == golden("openai", images)["sent"]["messages"]


def test_tokens_of_images_by_hand(provider, model, ask, images):
    """640 x 480: 20 x 15 squares of 1.2 tokens are 360; 307,200 pixels over 750 are 410; an address counts 1,000."""
    asked = ask(model, user=USER, images=images)
    expected, most = image_tokens(asked)
    by_name = {"openai": (1_360, 2 * MOST_OF_AN_IMAGE), "anthropic": (1_410, 10_000)}
    assert (expected, most) == by_name[provider.name]
    without = input_tokens(ask(model, user=USER), provider.request(ask(model, user=USER), 1, frozenset()))
    with_images = input_tokens(asked, provider.request(asked, 1, frozenset()))
    assert with_images[0] - without[0] == expected
    assert with_images[1] > without[1] + most
