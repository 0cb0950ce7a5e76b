"""A script in the place of Azure, Bedrock or Vertex takes and says what they take and say."""

from __future__ import annotations

import json

import pytest

from bonwise.calls.providers.anthropic import Anthropic
from bonwise.calls.providers.protocol import Response
from bonwise.testing import Faults, Script
from bonwise.testing.endpoints import RequestTarget, endpoint_of
from testing.asking import chat_body, message_body

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
    assert sent(Script(), path, {}).status == (404 if endpoint is None else 400)


@pytest.mark.parametrize("path", [BEDROCK_PATH, VERTEX_PATH])
def test_the_model_of_a_path_is_the_one_that_is_asked(path):
    """What answers sees the model, and two models that are asked the same count apart."""
    seen = []
    script = Script(lambda request: seen.append(request.model) or "fine")
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
    refused = sent(Script(), path, body)
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
    status = sent(Script(keys={"right"}), path, body, **headers).status
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
    said = sent(Script(faults=Faults(**{fault: 1.0})), path, cloud_body())
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
