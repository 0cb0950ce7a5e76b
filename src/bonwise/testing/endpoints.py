"""Whose endpoint a path is, that of a service itself or of a cloud that serves its models.

What clouds change of responses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

from bonwise.testing.wire import Service, WireError, WireResponse, service_of

__all__ = ["Cloud", "RequestTarget", "as_cloud_error", "endpoint_of", "request_id_header"]

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
        bonwise.testing.wire.WireError
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


_OVERLOADED = 529
"""Only Anthropic itself has this status."""

_BEDROCK = {
    400: "ValidationException",
    403: "UnrecognizedClientException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
_VERTEX = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def request_id_header(service: Service, cloud: Cloud) -> str:
    """Return the header in which a server names a request."""
    if cloud == "bedrock":
        return "x-amzn-requestid"
    return "x-request-id" if service == "openai" else "request-id"


def as_cloud_error(cloud: Cloud, response: WireResponse) -> WireResponse:
    """Return a service's error as a cloud would say it.

    Examples
    --------
    >>> said = WireResponse(429, {"retry-after": "1"}, b'{"type": "error", "error": {"message": "Too fast."}}')
    >>> as_cloud_error("bedrock", said)
    WireResponse(status=429, headers={'x-amzn-errortype': 'ThrottlingException'}, content=b'{"message": "Too fast."}')
    """
    if cloud not in {"bedrock", "vertex"}:
        return response
    message = json.loads(response.content)["error"]["message"]
    status = 503 if response.status == _OVERLOADED else response.status
    if cloud == "vertex":
        error = {"code": status, "message": message, "status": _VERTEX.get(status, "UNKNOWN")}
        return WireResponse(status, response.headers, json.dumps({"error": error}).encode())
    # Bedrock does not say when to come back.
    status = 403 if status == 401 else status
    kind = _BEDROCK.get(status, "ModelErrorException")
    return WireResponse(status, {"x-amzn-errortype": kind}, json.dumps({"message": message}).encode())
