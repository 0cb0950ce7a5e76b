"""What an unsuccessful response means: wait, ask otherwise, give up this request, or give up all."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bonwise.calls.failure import Kind, Problem
from bonwise.calls.providers.complaint import Complaint, read_complaint
from bonwise.calls.providers.protocol import Response
from bonwise.calls.providers.redaction import one_line
from bonwise.calls.providers.unsupported import unsupported
from bonwise.calls.waiting import retry_after

__all__ = ["problem_of"]

_QUOTA_CODES = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "billing_error",
        "contract_spend_limit_reached",
        "enforced_spend_limit_reached",
        "linked_organization_spend_limit_reached",
    }
)
_QUOTA_WORDS = re.compile(
    r"credit balance is too low|insufficient (?:balance|credits|funds)"
    r"|reached your specified (?:\w+ )?usage limits|billing hard limit",
    re.IGNORECASE,
)
_DENIED_CODES = frozenset(
    {"invalid_api_key", "authentication_error", "permission_error", "model_not_found", "not_found_error"}
)
_CONTENT_WORDS = re.compile(r"flagged|moderation|content[ _](?:filter|policy)", re.IGNORECASE)

_NAMING_STATUS = frozenset({400, 403, 422, 501})
_ANYBODYS_STATUS = frozenset({400, 422})
"""What firewalls and proxies answer as well. Of 413 it does not matter who says it: the request stays as large."""
_DENIED_STATUS = frozenset({401, 403, 404, 405, 407, 410})
_OVERLOADED_STATUS = frozenset({408, 409})
_LOST_BEHIND_A_GATEWAY = frozenset({504, 524})


def problem_of(response: Response, now: float, names: Mapping[str, str]) -> Problem:
    """Say what an unsuccessful response means.

    The header ``x-should-retry: false`` changes nothing: all that is not asked again is final here, and a
    server that advises against a second try has not said that the request can never be answered. The number
    of attempts is bounded anyway.

    Parameters
    ----------
    response : Response
    now : float
        The wall clock, in seconds since 1970.
    names : mapping of str to str
        The parameters a request can do without, each with a pattern of what servers call it.
    """
    complaint = read_complaint(response.content)
    parameter = unsupported(complaint, names) if response.status in _NAMING_STATUS else ""
    kind = _kind(response.status, complaint, parameter)
    if kind == "unsupported":
        message = f"the server does not take {parameter} (HTTP {response.status})"
    else:
        words = one_line(complaint.message)
        message = f"the server answered HTTP {response.status}" + (f": {words}" if words else "")
    return Problem(
        kind,
        message,
        status=response.status,
        parameter=parameter if kind == "unsupported" else "",
        retry_after=retry_after(response.headers, now),
        # Behind a gateway that gave up waiting the answer may have been made, and billed.
        sent=kind == "broken" or response.status in _LOST_BEHIND_A_GATEWAY,
    )


def _kind(status: int, complaint: Complaint, parameter: str) -> Kind:
    if _is_quota(status, complaint):
        return "quota"
    if status == 429:
        return "throttled"
    if parameter:
        return "unsupported"
    if status in _OVERLOADED_STATUS or status >= 500:
        return "overloaded"
    return _final(status, complaint)


def _final(status: int, complaint: Complaint) -> Kind:
    if status < 300:
        return "broken"
    if status == 403 and _CONTENT_WORDS.search(complaint.message):
        # A gateway's moderation refuses one request, not the account.
        return "rejected"
    if status < 400 or status in _DENIED_STATUS or complaint.codes & _DENIED_CODES:
        return "denied"
    if status in _ANYBODYS_STATUS and not complaint.is_stated:
        return "denied"
    return "rejected"


def _is_quota(status: int, complaint: Complaint) -> bool:
    if status == 402 or complaint.codes & _QUOTA_CODES:
        return True
    return status in {400, 403, 429} and bool(_QUOTA_WORDS.search(complaint.message))
