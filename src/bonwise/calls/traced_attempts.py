"""The span and the log line of one attempt at a call; the span is a client's of the GenAI conventions."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bonwise.calls.failure import AttemptError, Problem
from bonwise.printable import printable
from bonwise.tracing import UNTRACED, Untraced, logger, span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bonwise.calls.endpoint import Endpoint
    from bonwise.calls.exchange import Exchange
    from bonwise.calls.request import Request

__all__ = ["attempt_span"]

_LOG = logger("calls")

_OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""What services call the most tokens of an answer."""


def attempt_span(
    endpoint: Endpoint, request: Request, number: int, exchange: Exchange
) -> AbstractContextManager[object]:
    """Return the span of an attempt, to be entered around it; what comes of the attempt is logged too.

    An attempt that fails is logged as information, because another one follows; one that is answered, for debugging.

    Parameters
    ----------
    endpoint : Endpoint
    request : Request
    number : int
        1 for the first attempt at the call.
    exchange : Exchange
        What is known of the attempt when the span ends.
    """
    current = span(f"chat {request.model}", "LLM")
    if current is UNTRACED and not _LOG.isEnabledFor(logging.INFO):
        return UNTRACED
    return _told(current, endpoint, request, number, exchange)


@contextmanager
def _told(current: Untraced, endpoint: Endpoint, request: Request, number: int, exchange: Exchange) -> Iterator[None]:
    failed: Problem | None = None
    with current:
        try:
            yield
        except AttemptError as error:
            failed = error.problem
            raise
        finally:
            problem = failed or exchange.problem  # the latter where the server will never answer this request
            if problem is not None:
                current.fail(_error_type(problem))
                _LOG.info(
                    "attempt %d at a call of %s failed: %s", number, printable(request.model), _error_type(problem)
                )
            else:
                _LOG.debug("attempt %d at a call of %s was answered", number, printable(request.model))
            if current.recording:
                current.note({**_asked(endpoint, request, number), **_answered(exchange)})


def _asked(endpoint: Endpoint, request: Request, number: int) -> Mapping[str, Any]:
    server, body = urlsplit(request.base_url), request.body  # of the address only what names no user
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": endpoint.model.provider,
        "gen_ai.request.model": request.model,
        "gen_ai.request.max_tokens": next((body[name] for name in _OUTPUT_LIMITS if name in body), None),
        "gen_ai.request.temperature": body.get("temperature"),
        "gen_ai.request.choice.count": body.get("n"),
        "server.address": server.hostname,
        "server.port": server.port,
        "bonwise.attempt": number,
    }


def _answered(exchange: Exchange) -> Mapping[str, Any]:
    reply = exchange.reply
    if reply is None:
        return {}
    told = reply.told
    return {
        "gen_ai.response.model": reply.model or None,
        "gen_ai.response.finish_reasons": [one.finish for one in reply.choices],
        "gen_ai.usage.input_tokens": None if told is None else told.input,
        "gen_ai.usage.output_tokens": None if told is None else told.output,
        "bonwise.cost": exchange.cost,
    }


def _error_type(problem: Problem) -> str:
    return problem.kind if problem.status is None else str(problem.status)
