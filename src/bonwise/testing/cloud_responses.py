"""What clouds that serve a model change of the service's own responses."""

from __future__ import annotations

import json

from bonwise.testing.endpoints import Cloud
from bonwise.testing.wire import Service, WireResponse

__all__ = ["as_cloud_error", "request_id_header"]

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
