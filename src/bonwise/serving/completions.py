"""The answer to a client: the upstream's own object with the winner in it, whole or as a stream."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from bonwise.calls.request import encoded
from bonwise.hosts.generation import Chosen
from bonwise.hosts.trail import added_usage
from bonwise.serving.upstream import DrawnChoices

__all__ = ["completion", "headers_of", "ranked_draws", "stream_of", "trail_of_request", "written"]

LONGEST_HEADER = 4096
"""Bytes of the header with the trail; proxies refuse larger ones."""

_TEXTS = ("unscored", "failure", "failed_draws")
"""Parts of a trail that may be long."""


def ranked_draws(chosen: Chosen[Any], count: int) -> list[int]:
    """Return the draws that a client gets, best first; those that could not be scored come last.

    Examples
    --------
    >>> from bonwise.hosts.generation import BestOfN
    >>> chosen = BestOfN(lambda prompt, text: len(text), n=3).pick("Name a colour", ["red", "scarlet", "blue"])
    >>> ranked_draws(chosen, 2)
    [1, 2]
    """
    selection = chosen.selection
    place = {name: at for at, name in enumerate(selection.ids)}
    order = [selection.index, *(place[one] for one in selection.ranking), *range(len(chosen.drawn))]
    return list(dict.fromkeys(at for at in order if at is not None))[:count]


def trail_of_request(chosen: Chosen[Any], drawn: DrawnChoices, ranking: Sequence[int]) -> dict[str, Any]:
    """Return how the answer came about: the trail of the choice, and what the upstream was asked."""
    upstream: dict[str, Any] = {"calls": drawn.calls, "cost": drawn.cost}
    if drawn.unknown:
        upstream["unknown"] = drawn.unknown
    lacking = sum(one is None for one in drawn.usages)
    if lacking:
        upstream["answers_without_usage"] = lacking
    return {**chosen.trail(), "candidates": len(drawn.choices), "choices": list(ranking), "upstream": upstream}


def completion(drawn: DrawnChoices, ranking: Sequence[int], trail: dict[str, Any]) -> dict[str, Any]:
    """Return the object of the upstream that holds the best choice, with the usage of all candidates."""
    choices = [{**drawn.choices[at], "index": place} for place, at in enumerate(ranking)]
    usage = added_usage(drawn.usages)
    found = {**drawn.answers[ranking[0]], "choices": choices, "bonwise": trail}
    if usage:
        found["usage"] = usage
    return found


def headers_of(trail: dict[str, Any]) -> dict[str, str]:
    """Return the trail as a header, without its texts where it would be too long; and whether no judge had a say."""
    # In ASCII: headers know nothing else.
    said = json.dumps(trail, allow_nan=False, separators=(",", ":"))
    if len(said) > LONGEST_HEADER:
        said = json.dumps({name: value for name, value in trail.items() if name not in _TEXTS}, separators=(",", ":"))
    found = {"x-bonwise-trail": said if len(said) <= LONGEST_HEADER else '{"too_long":true}'}
    return found | ({"x-bonwise-unjudged": "true"} if trail["unjudged"] else {})


def stream_of(answer: dict[str, Any], *, usage_chunk: bool) -> Iterator[bytes]:
    """Return an answer as server-sent events: one chunk per choice, one for its end, perhaps one of usage.

    The trail stands in the chunk that ends the best choice.
    """
    head = {name: value for name, value in answer.items() if name not in {"choices", "usage", "bonwise", "object"}}
    head["object"] = "chat.completion.chunk"
    plain = {"usage": None} if usage_chunk else {}
    for choice in answer["choices"]:
        rest = {name: value for name, value in choice.items() if name not in {"message", "finish_reason", "index"}}
        opened = {"index": choice["index"], "delta": _delta(choice["message"]), "finish_reason": None, **rest}
        yield _event({**head, "choices": [opened], **plain})
        closed = {"index": choice["index"], "delta": {}, "finish_reason": choice.get("finish_reason")}
        trail = {"bonwise": answer["bonwise"]} if choice["index"] == 0 else {}
        yield _event({**head, "choices": [closed], **plain, **trail})
    if usage_chunk:
        yield _event({**head, "choices": [], "usage": answer.get("usage")})
    yield b"data: [DONE]\n\n"


def _delta(message: dict[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    numbered = [{"index": at, **one} if isinstance(one, dict) else one for at, one in enumerate(calls)]
    return {**message, "tool_calls": numbered}


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + written(chunk) + b"\n\n"


def written(body: dict[str, Any]) -> bytes:
    """Return JSON; a number of the upstream's that JSON does not know, such as NaN, becomes null."""
    try:
        return encoded(body)
    except ValueError:
        return encoded(_finite(body))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
