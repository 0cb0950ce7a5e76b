"""Clients of both SDKs as users make them, with credentials that are nobody's."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import anthropic
import openai

SECRETS = {
    "api_key": "canary-key-5d1f03aa97",
    "secret": "canary-secret-0b6e42cd11",
    "session": "canary-session-77aa10fe42",
    "token": "canary-token-c0ffee8812",
}
API_VERSION = "2024-10-21"
REGION = "eu-west-1"

SIGNS = find_spec("boto3") is not None
"""Whether requests to Bedrock can be signed here; without boto3 its client takes a key."""

_AWS = {"api_key": SECRETS["api_key"]}
if SIGNS:
    _AWS = {
        "aws_access_key": SECRETS["api_key"],
        "aws_secret_key": SECRETS["secret"],
        "aws_session_token": SECRETS["session"],
    }
_SETTINGS = {
    "OpenAI": lambda url: {"api_key": SECRETS["api_key"], "base_url": f"{url}/v1"},
    "AzureOpenAI": lambda url: {"api_key": SECRETS["api_key"], "azure_endpoint": url, "api_version": API_VERSION},
    "Anthropic": lambda url: {"api_key": SECRETS["api_key"], "base_url": url},
    "AnthropicBedrock": lambda url: {**_AWS, "aws_region": REGION, "base_url": url},
    "AnthropicVertex": lambda url: {
        "access_token": SECRETS["token"],
        "region": REGION,
        "project_id": "a-project",
        "base_url": f"{url}/v1",
    },
}
SYNC = list(_SETTINGS)
ASYNC = [f"Async{name}" for name in SYNC]
KINDS = SYNC + ASYNC


@dataclass(frozen=True)
class Maker:
    """Makes clients of one class, in front of one address."""

    kind: str

    @property
    def asynchronous(self):
        """Whether its clients are asynchronous."""
        return self.kind.startswith("Async")

    @property
    def service(self):
        """The SDK, which is the provider of the model as well."""
        return "openai" if "OpenAI" in self.kind else "anthropic"

    @property
    def model(self):
        """A model that the service has."""
        return {"openai": "openai/gpt-5-mini", "anthropic": "anthropic/claude-opus-5"}[self.service]

    @property
    def cloud(self):
        """Whose cloud it is, empty where it is the service's own."""
        return {"AzureOpenAI": "azure", "AnthropicBedrock": "bedrock", "AnthropicVertex": "vertex"}.get(
            self.kind.removeprefix("Async"), ""
        )

    @property
    def secrets(self):
        """What a client of the class is given that nobody else may see."""
        return [one for one in _SETTINGS[self.kind.removeprefix("Async")]("").values() if one in SECRETS.values()]

    def __call__(self, url, **settings):
        """Make one; its own retries are many, for none of them is to happen."""
        sdk = openai if self.service == "openai" else anthropic
        given = _SETTINGS[self.kind.removeprefix("Async")](url)
        return getattr(sdk, self.kind)(**{**given, "max_retries": 5, **settings})
