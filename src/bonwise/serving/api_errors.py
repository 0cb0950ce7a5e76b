"""Errors as an OpenAI client reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bonwise.calls.ask import Problem
from bonwise.printable import printable

NO_RETRY = {"x-should-retry": "false"}
"""Has the official clients ask only once."""

_REQUEST = "invalid_request_error"


class ApiError(Exception):
    """What a client is told instead of an answer.

    `code` is a word for programs, `kind` the ``type`` in OpenAI's shape, `param` the field of the request that is
    wrong, and `beside` what else stands in the body, such as the usage of candidates that are paid.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: str,
        *,
        kind: str = _REQUEST,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
        beside: Mapping[str, Any] | None = None,
    ) -> None:
        self.status, self.code, self.kind, self.param = status, code, kind, param
        self.message = printable(message, longest=600)
        self.headers, self.beside = dict(headers or {}), dict(beside or {})
        super().__init__(self.message)

    def body(self) -> dict[str, Any]:
        """Return the JSON body."""
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return {"error": error, **self.beside}


def bad_request(message: str, param: str | None = None, code: str = "invalid_value") -> ApiError:
    """Return the error of a request that will never be answered as it is."""
    return ApiError(400, message, code, param=param)


def upstream_error(problem: Problem, beside: Mapping[str, Any], *, by_client_key: bool = False) -> ApiError:
    """Return what a client is told where no candidate could be drawn.

    What is wrong with the request keeps the upstream's status. A refused key or an exhausted account is the server's
    affair, never a 401, unless the client's own key was forwarded.
    """
    message = f"the upstream gave no candidate: {problem.message}"
    if by_client_key and problem.kind == "denied" and problem.status in {401, 403}:
        message = f"the upstream refuses the key that was sent: {problem.message}"
        return ApiError(problem.status or 401, message, "invalid_api_key", beside=beside)
    match problem.kind:
        case "rejected" | "unsupported":
            status = problem.status if problem.status in {400, 413, 422} else 400
            return ApiError(
                status or 400, message, "upstream_rejected", param=problem.parameter or None, beside=beside
            )
        case "throttled":
            after = {} if problem.retry_after is None else {"retry-after": f"{problem.retry_after:.0f}"}
            words = {"kind": "rate_limit_error", "headers": after, "beside": beside}
            return ApiError(429, message, "upstream_rate_limit", **words)  # type: ignore[arg-type]
        case "denied" | "quota" | "oversized":
            return ApiError(
                502, message, f"upstream_{problem.kind}", kind="server_error", headers=NO_RETRY, beside=beside
            )
    status = 504 if problem.kind == "timeout" else 502
    return ApiError(status, message, f"upstream_{problem.kind}", kind="server_error", beside=beside)
