"""What comes over the wire: JSON, what a server complains of in it, and what an unsuccessful response means."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bonwise.calls import ask, bill, rate_limits
from bonwise.calls.providers import protocol, secrets

EXTRA_FIELD = "extra_forbidden"
"""What validators call a field that they do not know."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """The content of an unsuccessful response."""

    message: str = ""
    """The server's words, not yet fit to be shown."""
    codes: frozenset[str] = frozenset()
    """Its codes and types of error."""
    parameter: str = ""
    """The field of the request that it names."""

    @property
    def is_stated(self) -> bool:
        """Whether it is an error as services write one; a firewall's or a proxy's page is none."""
        return bool(self.message or self.codes)


def read_complaint(content: bytes) -> Complaint:
    """Read the content of an unsuccessful response; a page for people says nothing."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return Complaint()
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return Complaint()
    error = body.get("error", body)
    if not isinstance(error, dict):
        return Complaint(error if isinstance(error, str) else "", _codes(body))
    parameter = error.get("param")
    if parameter is None and (extra := _extra_field(error.get("detail"))):
        return Complaint(_message(error), _codes(error) | {EXTRA_FIELD}, extra)
    return Complaint(_message(error), _codes(error), parameter if isinstance(parameter, str) else "")


def _message(error: Mapping[str, Any]) -> str:
    for name in ("message", "detail"):
        words = error.get(name)
        if isinstance(words, str):
            return words
        if isinstance(words, list):
            return "; ".join(_validation_errors(words))
    return ""


def _validation_errors(items: list[Any]) -> Iterator[str]:
    # These quote the request beside the message, so only place and message are taken.
    for item in items:
        if isinstance(item, dict) and isinstance(item.get("msg"), str):
            place = item.get("loc")
            parts = [str(part) for part in place if part != "body"] if isinstance(place, list) else []
            yield f"'{'.'.join(parts)}': {item['msg']}" if parts else item["msg"]


def _extra_field(items: object) -> str:
    for item in items if isinstance(items, list) else ():
        place = item.get("loc") if isinstance(item, dict) and item.get("type") == EXTRA_FIELD else None
        if isinstance(place, list):
            return ".".join(str(part) for part in place if part != "body")
    return ""


def _codes(error: Mapping[str, Any]) -> frozenset[str]:
    details = error.get("details")
    inner = details if isinstance(details, dict) else {}
    named = (error.get("code"), error.get("type"), error.get("status"), inner.get("error_code"))
    return frozenset(code for code in named if isinstance(code, str))


_MOST = 2**53
_STREAM = re.compile(rb"\s*(?:event|data|id|retry)?:")


class StreamedError(ValueError):
    """A stream of events in the place of an answer, and no error in it."""


def loaded(content: bytes) -> dict[str, Any]:
    """Read the JSON object of a successful response; a `ValueError` where there is none, or it reports an error."""
    body = _json(content)
    if not isinstance(body, dict):
        _refuse_stream(content)
        # Raised outside any handler: a decoder's error carries the whole body.
        raise ValueError("the answer is cut short, or no JSON object")  # noqa: TRY004 - the contract of readers
    if body.get("error"):
        raise ValueError(f"an error instead of an answer: {_words(read_complaint(content))}")
    return body


def loaded_line(line: bytes) -> dict[str, Any]:
    """Read a line of the results of a batch; what is no JSON object is a broken answer."""
    body = _json(line)
    if not isinstance(body, dict):
        raise ask.AttemptError(ask.Problem("broken", "the results of a batch are cut short, or no JSON lines"))
    return body


def _refuse_stream(content: bytes) -> None:
    """Refuse a stream of server-sent events by the error that it ended in, or else as a whole."""
    if not _STREAM.match(content):
        return
    for line in content.splitlines():
        data = line.removeprefix(b"data:")
        event = _json(data) if data != line else None
        if isinstance(event, dict) and event.get("error"):
            raise ValueError(f"a stream that ended in an error: {_words(read_complaint(data))}")
    raise StreamedError("a stream of events, which was not asked for: turn streaming off at the server or gateway")


def _words(complaint: Complaint) -> str:
    """Return what a server says, or else its codes, in one line."""
    return secrets.one_line(complaint.message or ", ".join(sorted(complaint.codes)))


def most_told(fields: Mapping[str, Any], *names: str) -> int | None:
    """Return the largest count among fields that mean the same, None where none of them can be read."""
    return max((read for name in names if (read := count_of(fields.get(name))) is not None), default=None)


def counts(*values: object) -> tuple[int, ...]:
    """Return numbers of tokens; whatever is no such number counts as none."""
    return tuple(count_of(value) or 0 for value in values)


def count_of(value: object) -> int | None:
    """Return a number of tokens, None for whatever is no such number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value <= _MOST else None


def usages(
    counted: bill.Usage, *, input_told: bool, output_told: bool, total: object
) -> tuple[bill.Usage | None, bill.PartialUsage | None]:
    """Return a usage that is complete, or else one that is told in part, or else neither.

    The largest count that is told holds: reasoning beyond the output stands beside it, and what `total` has beyond
    input and output is output.
    """
    if counted.reasoning > counted.output:
        counted = replace(counted, output=counted.output + counted.reasoning)
    whole = count_of(total) or None
    if input_told and output_told:
        return replace(counted, output=max(counted.output, (whole or 0) - counted.input)), None
    if not counted.total and whole is None:
        return None, None
    return None, bill.PartialUsage(counted, input_told, output_told, whole)


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


_CODES = frozenset(
    {"unsupported_value", "unsupported_parameter", "unknown_parameter", "not_supported_error", EXTRA_FIELD}
)
_WORDS = re.compile(
    r"unsupported|(?:not|n't|no longer) (?:be )?(?:support|permitted|allowed|available|accept|implemented)"
    r"|unrecogni[sz]ed|unavailable|extra (?:inputs|fields)|deprecated"
    r"|un(?:known|expected) (?:name|field|key|parameter|argument)|must be 1\b|at most 1\b",
    re.IGNORECASE,
)
# Longer than any parameter's name, or with a blank in it: that is somebody's text.
_QUOTED_TEXT = re.compile(
    r"""(?<!\w)(?P<mark>['"`])(?![\w.\[\]-]{0,40}(?P=mark)).*?(?:(?P=mark)(?!\w)|$)""", re.DOTALL
)

_JSON_MODES = r"(?:json[ _]schema )?response format|json[ _](?:schema|mode)(?: mode)?|guided decoding"
_X = rf"""[\[{{(]?['"`]?(?P<x>structured outputs?|output format|{_JSON_MODES}|[\w.\[\]]{{1,40}})['"`]?"""
_MODEL = r"""(?:this model|(?:the |your )?(?:model )?['"`]?[\w.:/-]{1,80}['"`]?)"""
_THING = r"(?:(?:parameter|argument|field|key|name|option|value|feature|setting)(?:s|\(s\))?|property)"
_TAKEN = r"(?:supported|permitted|allowed|available|accepted|implemented|recogni[sz]ed)"
_UNKNOWN = r"(?:unsupported|unrecogni[sz]ed|unknown|unexpected)"
_NOT = rf"(?:is|are) (?:currently )?(?:(?:not|no longer) {_TAKEN}|deprecated|unavailable|{_UNKNOWN})\b"
_VALUE = r"(?:[:,]? (?:provided|of|type|value|as|is|are|may|['\"`]?json_schema['\"`]?))*"
_ONLY = rf"(?:not (?:{_TAKEN}|enabled)|{_UNKNOWN}|(?:enabled )?only\b|must be (?:one of|['\"`]))"
_TAKES_NOT = r"(?:does not|do not|doesn't|don't) (?:support|accept|allow)"
# The name of an exception or a word about the payload may stand before the sentence.
_BEFORE = r"(?:[\w.]{1,80}(?:Error|Exception)(?:: | - )){0,3}(?:invalid json payload received\. )?"
_FORMS = tuple(
    re.compile(_BEFORE + form, re.IGNORECASE)
    for form in (
        rf"{_UNKNOWN} (?:request )?{_THING}(?: supplied| in the request| provided)?:? {_X}",
        rf"{_THING} (?:is |are )?not {_TAKEN}(?: (?:on|by|with|for|in) this model)?: {_X}",
        rf"invalid {_THING}:? {_X} (?:of type ['\"`]?\w{{1,40}}['\"`]? )?{_NOT}",
        rf"(?:the |this )?(?:{_THING} )?{_X}:? (?:{_THING} |type )?{_NOT}",
        rf"(?:the |this )?(?:{_THING} )?{_X} {_TAKES_NOT}\b",
        rf"(?:invalid (?:value for )?)?{_X}{_VALUE}:? {_ONLY}",
        rf"{_UNKNOWN} {_X}(?: type| value)?\b",
        rf"(?:[\w.]{{1,80}}: )?{_MODEL} {_TAKES_NOT} (?:the |this )?(?:{_THING}:? )?{_X}",
        rf"{_X}: extra (?:inputs|fields) (?:are )?not permitted",
        rf"extra (?:inputs|fields) (?:are )?not permitted, field: {_X}",
        rf"(?:\d+ validation errors?:?\s*)?\[?\{{'type': '{EXTRA_FIELD}', 'loc': \('body', {_X}",
        rf"you are not allowed to (?:request|use|set) {_X}",
        rf"{_X} ?:? (?:number )?must be (?:1\b|at most 1\b)",
    )
)


def unsupported(complaint: Complaint, names: Mapping[str, str]) -> str:
    """Return which of our parameters a server does not take, empty where it is none of them.

    A code or a named parameter says so, or else a sentence that servers use, at the start of the message. Words found
    anywhere else may be those of a prompt that the server repeats, and would teach us nonsense. `names` are the
    parameters a request can do without, each with a pattern of what servers call it.
    """
    own_words = _QUOTED_TEXT.sub("''", complaint.message)
    has_code = bool(complaint.codes & _CODES)
    if complaint.parameter:
        return _ours(complaint.parameter, names) if has_code or _WORDS.search(own_words) else ""
    for form in _FORMS:
        match = form.match(complaint.message.lstrip())
        if match and (name := _ours(match["x"], names)):
            return name
    return _first(own_words, names) if has_code else ""


_LOGPROBS = r"""['"`]?(?:top_?)?logprobs['"`]?"""
_MOST_ALLOWED = re.compile(
    r"(?:<=|\u2264|at most|up to|less than(?: or equal to|(?P<below>))|(?:no|not be) (?:more|greater) than|exceed"
    r"|between \d+ and|max\w*(?: value| allowed| of| is)*|(?:from |[\[(])\d+(?: \(inclusive\))?(?: to|,)):? ?\(?"
    r"(?P<most>\d{1,3})\b(?P<open> \(exclusive\))?",
    re.IGNORECASE,
)
# Before the name, only words of such sentences: those of a prompt would teach us nonsense.
_OF_LOGPROBS = re.compile(
    rf"\d+ is greater than the maximum of \d+ - {_LOGPROBS}|{_BEFORE}"
    r"(?:(?:invalid|the|your?|parameter|values?|for|of|max(?:imum)?|requested|request|sample|content|input|validation"
    rf"|error|unable|to|submit|because|it|has|an?|should|\d+)[ :,]+){{0,9}}{_LOGPROBS}(?!\w).{{0,100}}",
    re.IGNORECASE,
)


def fewer_logprobs(complaint: Complaint) -> str:
    """Return what a server says that it takes of ``top_logprobs``, empty where it complains of something else."""
    words = _QUOTED_TEXT.sub("''", complaint.message.lstrip())
    line = re.search(".*", words) if re.search(_LOGPROBS + "$", complaint.parameter) else _OF_LOGPROBS.match(words)
    limit = _MOST_ALLOWED.search(line[0]) if line else None
    most = 0 if limit is None else int(limit["most"]) - (limit["below"] is not None or limit["open"] is not None)
    return ask.takes_fewer(most) if most > 0 else ""


def _ours(named: str, names: Mapping[str, str]) -> str:
    field = re.split(r"[.\[]", named, maxsplit=1)[0]
    return next((name for name, pattern in names.items() if re.search(pattern, f"'{field}'", re.IGNORECASE)), "")


def _first(words: str, names: Mapping[str, str]) -> str:
    matches = {name: re.search(pattern, words) for name, pattern in names.items()}
    # "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead": the first is meant.
    places = [(match.start(), name) for name, match in matches.items() if match]
    return min(places)[1] if places else ""


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
_OVERLOADED_CODES = frozenset({"overloaded_error", "engine_overloaded", "engine_overloaded_error"})
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


def problem_of(response: protocol.Response, now: float, names: Mapping[str, str]) -> ask.Problem:
    """Say what an unsuccessful response means at `now`, in seconds since 1970; `names` are as for `unsupported`.

    ``x-should-retry: false`` changes nothing: it does not say that the request can never be answered.
    """
    complaint = read_complaint(response.content)
    fewer = fewer_logprobs(complaint) if "top_logprobs" in names else ""
    parameter = fewer or unsupported(complaint, names) if response.status in _NAMING_STATUS else ""
    kind = _kind(response.status, complaint, parameter)
    if kind == "unsupported":
        message = f"the server {'takes' if fewer else 'does not take'} {parameter} (HTTP {response.status})"
    else:
        words = _words(complaint)
        message = f"the server answered HTTP {response.status}" + (f": {words}" if words else "")
    return ask.Problem(
        kind,
        message,
        status=response.status,
        parameter=parameter if kind == "unsupported" else "",
        retry_after=rate_limits.retry_after(response.headers, now),
        # Behind a gateway that gave up waiting the answer may have been made, and billed.
        sent=kind == "broken" or response.status in _LOST_BEHIND_A_GATEWAY,
    )


def refused_extra(response: protocol.Response, now: float, extra: Collection[str]) -> ask.Problem | None:
    """Say which field of those that a user named a service does not know; None where it is none, or a value."""
    if "unsupported_value" in read_complaint(response.content).codes:
        return None
    problem = problem_of(response, now, {name: rf"(?<!\w){re.escape(name)}(?!\w)" for name in extra})
    return problem if problem.kind == "unsupported" else None


def _kind(status: int, complaint: Complaint, parameter: str) -> ask.Kind:
    if _is_quota(status, complaint):
        return "quota"
    if status == 429:
        return "throttled"
    if complaint.codes & _OVERLOADED_CODES:
        return "overloaded"
    if parameter:
        return "unsupported"
    if status in _OVERLOADED_STATUS or status >= 500:
        return "overloaded"
    return _final(status, complaint)


def _final(status: int, complaint: Complaint) -> ask.Kind:
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


def answer_elsewhere(calls: Sequence[object], thinking: str, field: str) -> tuple[str, str]:
    """Return the answer of a reply without words, or else in which `field` words stand and what to set.

    It is read where its shape leaves no doubt: the one tool call there is, with the JSON object of its arguments;
    thinking that is one JSON object as a whole; or what stands after the end of the thinking.
    """
    if calls:
        answer = _json_object(calls[0]) if len(calls) == 1 else ""
        what = "a tool call" if len(calls) == 1 else f"{len(calls)} tool calls"
        return (answer, "") if answer else ("", f"it is {what}; serve the model without tools")
    if not thinking.strip():
        return "", ""
    after = thinking.rpartition("</think>")[2] if "</think>" in thinking else ""
    if answer := after.strip() or _json_object(thinking):
        return answer, ""
    return "", f"its words stand in {field}; turn thinking off for this model, or raise max_tokens"


def _json_object(value: object) -> str:
    """Return a JSON object as text, empty where it is none."""
    if isinstance(value, str):
        try:
            decoded = json.loads(value)
        except (ValueError, RecursionError):
            return ""
        return value.strip() if isinstance(decoded, dict) and decoded else ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) and value else ""


_INPUT = ("prompt_tokens", "input_tokens", "inputTokens")
_OUTPUT = ("completion_tokens", "output_tokens", "outputTokens")
_TOTAL = ("total_tokens", "totalTokens")
_HIT_OR_MISSED = ("prompt_cache_hit_tokens", "prompt_cache_miss_tokens")
_READ = (
    "prompt_cache_hit_tokens",
    "cached_tokens",
    "cache_read_input_tokens",
    "cacheReadInputTokens",
    "num_cached_tokens",
)
_WRITTEN = ("cache_creation_input_tokens", "cacheWriteInputTokens")
_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "prompt_token_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details")
"""What services and gateways call the counts of a usage; of several that mean the same the largest holds."""


def chat_usages(usage: object, *, said: bool) -> tuple[bill.Usage | None, bill.PartialUsage | None]:
    """Return the usage of a chat completion, and what is known of one that is told in part."""
    if not isinstance(usage, dict):
        return None, None
    read, written = _cached(usage)
    prompt = max(most_told(usage, *_INPUT) or 0, sum(counts(*map(usage.get, _HIT_OR_MISSED))))
    done = most_told(usage, *_OUTPUT)
    reasoning = most_told(_part(usage, *_OUTPUT_DETAILS), "reasoning_tokens") or 0
    # The prompt's tokens include those read from the cache and those written to it, as long as they can hold them.
    uncached = prompt - read - written if read + written <= prompt else prompt
    counted = bill.Usage(uncached, read, written, 0, done or 0, reasoning)
    # Every prompt has tokens, and so has every answer that says something: there, zero is no count.
    output_told = counted.output > 0 or (not said and done is not None)
    return usages(counted, input_told=prompt > 0, output_told=output_told, total=most_told(usage, *_TOTAL))


def _cached(usage: Mapping[str, Any]) -> tuple[int, int]:
    """Return the tokens read from the cache and written to it, by whichever name a service has for them."""
    details = _part(usage, *_INPUT_DETAILS)
    read = max(most_told(details, "cached_tokens") or 0, most_told(usage, *_READ) or 0)
    written = most_told(details, "cache_write_tokens", "cache_creation_tokens") or 0
    return read, max(written, most_told(usage, *_WRITTEN) or 0)


def _part(usage: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((part for name in names if isinstance(part := usage.get(name), dict)), {})
