"""Whose endpoint a path is: that of a service itself, or of a cloud that serves its models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

from bonwise.testing.wire import Service, service_of
from bonwise.testing.wire_errors import WireError

__all__ = ["Cloud", "RequestTarget", "endpoint_of"]

Cloud = Literal["", "azure", "bedrock", "vertex"]

_AZURE = re.compile(r"/openai/deployments/.+/chat/completions$")
_NAMING_PATHS: Mapping[Cloud, re.Pattern[str]] = {
    "bedrock": re.compile(r"/model/(?P<model>[^/]+)/invoke$"),
    # Some SDKs quote a slash in a model's name, and some do not.
    "vertex": re.compile(r"/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/(?P<model>.+):rawPredict$"),
}
"""Paths that name the model, which the body then does not."""


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """Where a request went."""

    service: Service
    """Whose language is spoken there."""
    cloud: Cloud = ""
    """Empty at the service itself."""
    model: str = ""
    """The model that the path names; empty where the body does."""

    def whole(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a body as the service itself would have got it: with the model.

        Raises
        ------
        bonwise.testing.wire_errors.WireError
            The cloud would refuse it: Bedrock and Vertex want their own version in it, and no model.
        """
        if not self.model:
            return dict(body)
        if "model" in body:
            raise WireError("invalid", "model: Extra inputs are not permitted", "model")
        if not body.get("anthropic_version"):
            raise WireError("invalid", "anthropic_version: Field required", "anthropic_version")
        return {"model": self.model, **body}

    def keys(self, headers: Mapping[str, str]) -> set[str]:
        """Return the keys that a request shows; of a signed one the id of its key."""
        names = ["authorization"]
        if self.service == "anthropic" and not self.cloud:
            # Anthropic takes either header, and its SDK has sent both.
            names = ["x-api-key", "authorization"]
        elif self.cloud == "azure":
            names = ["api-key", "authorization"]
        shown = {headers.get(name, "").removeprefix("Bearer ") for name in names}
        signed = re.search(r"Credential=([^/]+)/", headers.get("authorization", ""))
        return shown if signed is None else {signed[1]}


def endpoint_of(path: str) -> RequestTarget | None:
    """Tell whose endpoint a path is; None where it is nobody's.

    Examples
    --------
    >>> endpoint_of("/openai/deployments/gpt-5-mini/chat/completions")
    RequestTarget(service='openai', cloud='azure', model='')
    >>> endpoint_of("/model/anthropic.claude-opus-5/invoke").model
    'anthropic.claude-opus-5'
    >>> endpoint_of("/v1/embeddings") is None
    True
    """
    service = service_of(path)
    if service is None:
        return None
    if service == "openai":
        return RequestTarget(service, "azure" if _AZURE.search(path) else "")
    for cloud, pattern in _NAMING_PATHS.items():
        found = pattern.search(path)
        if found:
            return RequestTarget(service, cloud, unquote(found["model"]))
    return RequestTarget(service) if path.endswith("/v1/messages") else None
