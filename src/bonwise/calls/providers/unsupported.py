"""Which parameter a server does not take. What it repeats of a prompt is no word of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bonwise.calls.providers.complaint import EXTRA_FIELD, Complaint

__all__ = ["unsupported"]

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

_X = r"""[\[{(]?['"`]?(?P<x>structured outputs?|output format|[\w.\[\]]{1,40})['"`]?"""
_MODEL = r"""(?:this model|(?:the |your )?(?:model )?['"`]?[\w.:/-]{1,80}['"`]?)"""
_THING = r"(?:(?:parameter|argument|field|key|name|option|value|feature|setting)(?:s|\(s\))?|property)"
_TAKEN = r"(?:supported|permitted|allowed|available|accepted|implemented|recogni[sz]ed)"
_UNKNOWN = r"(?:unsupported|unrecogni[sz]ed|unknown|unexpected)"
_NOT = rf"(?:is|are) (?:currently )?(?:(?:not|no longer) {_TAKEN}|deprecated|unavailable|{_UNKNOWN})\b"
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

    A code or a named parameter says so, or else a sentence that servers use, at the start of the message.
    Words found anywhere else may be those of a prompt that the server repeats, and would teach us nonsense.

    Parameters
    ----------
    complaint : Complaint
    names : mapping of str to str
        The parameters a request can do without, each with a pattern of what servers call it.

    Examples
    --------
    >>> names = {"temperature": "temperature"}
    >>> unsupported(Complaint("`temperature` is deprecated for this model."), names)
    'temperature'
    >>> unsupported(Complaint("Your prompt was flagged: 'temperature is not supported'"), names)
    ''
    """
    own_words = _QUOTED_TEXT.sub("''", complaint.message)
    has_code = bool(complaint.codes & _CODES)
    if complaint.parameter:
        return _ours(complaint.parameter, names) if has_code or _WORDS.search(own_words) else ""
    for form in _FORMS:
        found = form.match(complaint.message.lstrip())
        if found and (name := _ours(found["x"], names)):
            return name
    return _first(own_words, names) if has_code else ""


def _ours(named: str, names: Mapping[str, str]) -> str:
    field = re.split(r"[.\[]", named, maxsplit=1)[0]
    return next((name for name, pattern in names.items() if re.search(pattern, f"'{field}'", re.IGNORECASE)), "")


def _first(words: str, names: Mapping[str, str]) -> str:
    found = {name: re.search(pattern, words) for name, pattern in names.items()}
    # "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead": the first is meant.
    places = [(match.start(), name) for name, match in found.items() if match]
    return min(places)[1] if places else ""
