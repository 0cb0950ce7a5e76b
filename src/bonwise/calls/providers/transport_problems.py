"""What it means that a connection brought no response, or one that is too large."""

from __future__ import annotations

from types import ModuleType

from bonwise.calls.failure import Kind, Problem
from bonwise.calls.providers.capped import LARGEST
from bonwise.calls.providers.redaction import one_line

__all__ = ["no_response", "too_large"]


def no_response(http: ModuleType, origin: str, error: BaseException | None) -> Problem:
    """Say what became of a request to which no response came.

    Parameters
    ----------
    http : module
        The HTTP library whose errors these are.
    origin : str
        The server, as messages may name it.
    error : BaseException or None
    """
    sent = not isinstance(error, (http.ConnectError, http.ConnectTimeout, http.PoolTimeout, http.ProxyError))
    if isinstance(error, http.TimeoutException):
        words = "gave no answer in time" if sent else "took no connection in time"
        return Problem("timeout", f"{origin} {words}", sent=sent)
    if isinstance(error, http.ConnectError):
        return Problem("broken", one_line(f"no connection to {origin}: {error}"), sent=False)
    reason = type(error).__name__ if error else "no reason given"
    return Problem("broken", f"the connection to {origin} broke ({reason})", sent=sent)


def too_large(origin: str, status: int) -> Problem:
    """Say what a response of more than `LARGEST` bytes means."""
    # An error page is no work that anyone is paid for, and the next one may be shorter.
    kind: Kind = "oversized" if 200 <= status < 300 else "broken"
    return Problem(kind, f"the response of {origin} is larger than {LARGEST >> 20} MiB", status, sent=True)
