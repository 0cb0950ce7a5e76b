"""An upstream, and an endpoint with several models in front of it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import openai
import pytest

from serving.upstreams import KEY, DrawingUpstream, in_thread, served

SETTINGS = """
[server]
max_requests = 300
max_body = 100000
body_timeout = 2

[models.fast]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "local:length"
n = 4
max_n = 6
attempts = 6

[models.calls]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "local:length"
n = 3
draw = "calls"
attempts = 1

[models.careful]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "pointwise:openai/judge"
judge_base_url = "{broken}/v1"
n = 2
deadline = 5
tools = "refuse"

[models.strict]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "pointwise:openai/judge"
judge_base_url = "{broken}/v1"
n = 2
on_failure = "raise"
"""


@pytest.fixture(scope="module")
def both():
    """Serve an upstream and the endpoint; yield upstream, endpoint and address."""
    patch = pytest.MonkeyPatch()
    patch.setenv("OPENAI_API_KEY", KEY)
    patch.delenv("OPENAI_BASE_URL", raising=False)
    upstream, judge = DrawingUpstream(), DrawingUpstream()
    judge.refuse = (401, {"message": "no such key", "code": "invalid_api_key"})
    with (
        TemporaryDirectory() as folder,
        in_thread(upstream.app) as url,
        in_thread(judge.app) as broken,
        served(Path(folder), SETTINGS.format(url=url, broken=broken)) as (endpoint, address),
    ):
        yield upstream, endpoint, address
    patch.undo()


@pytest.fixture
def upstream(both):
    """Return the upstream as it is at first."""
    found = both[0]
    found.honours_n, found.refuses_n, found.latency, found.faults, found.refuse = True, False, 0.0, 0.0, None
    both[1].models["fast"]._upstream._takes_n = None
    found.bodies.clear()
    found.drawn.clear()
    found.tokens.clear()
    found.authorizations.clear()
    found.calls = found.given_up = 0
    return found


@pytest.fixture
def endpoint(both):
    """Return the endpoint."""
    return both[1]


@pytest.fixture
def address(both):
    """Return its address."""
    return both[2]


@pytest.fixture
def client(address):
    """Return the official client of the endpoint."""
    with openai.OpenAI(base_url=f"{address}/v1", api_key="sk-of-the-client") as made:
        yield made
