"""The answer of a model that is not there: of the asked form, and always the same to the same words."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from bonwise.calls.ask import Choice, TokenLogprobs
from bonwise.testing.wire import WireRequest, tokens

__all__ = ["stand_in"]

Schema = Mapping[str, Any]

_ENDS = (("low", "high"), ("lower", "upper"), ("lower_bound", "upper_bound"), ("minimum", "maximum"))
_MIDDLES = ("score", "value", "estimate", "best")
_LABELS = ("A", "B", "TIE")
_CHOICES = {"choice", "winner", "verdict", "label", "preference", "answer", "better"}
_REASON = "It does what was asked, with a gap or two."
_OTHERS = ("The", " I", "**", "\n", "Both", " it", "So", "1", "No", "In", "-", "Well", "We", "My", "OK", "Hm")

_NUMBERED = re.compile(r"^--- BEGIN CANDIDATE (\d+) ", re.MULTILINE)
_LABELLED = re.compile(r"^([A-Z]{3,}): (.+)$", re.MULTILINE)
_CHECKLIST = re.compile(r"--- BEGIN CHECKLIST (\w+) ---\n(.*)\n--- END CHECKLIST \1", re.DOTALL)
_RANGE = re.compile(r"(\d{1,9})\s*(?:-|\u2013|to|and|through)\s*(\d{1,9})")
_A_B_TIE = re.compile(r"\bA\b.*\bB\b.*\bTIE\b", re.DOTALL)
_A_B = re.compile(r"\bA\b.{1,9}\bB\b")
_YES_NO = re.compile(r"\b(yes)\b.{1,9}\b(no)\b", re.IGNORECASE)


def stand_in(request: WireRequest) -> Choice:
    """Answer as a judge would, from a hash of the words of the request and the index of the sample.

    A JSON schema is filled: scores 0 to 100, ordered intervals, A, B or TIE, confidence 1 to 5, probability 0 to 1.
    Without one, instructions with lines such as ``CHOICE: A, B or TIE`` get these, those that ask for a number, digit
    or label get one; anything else gets a sentence.
    """
    system = request.system
    words = f"{len(system)}:{system}{request.user}\0{request.sample}".encode("utf-8", "surrogatepass")
    source = Random(int.from_bytes(hashlib.sha256(words).digest()[:8]))  # noqa: S311 - no secret
    schema = request.schema
    if schema is not None:
        text = json.dumps(_of_shown(_filled("", schema, schema, source), schema, request.user, source))
        return Choice(text, logprobs=_spelt(text, request, (), source))
    lines = {
        label.lower(): source.choice(_options(form)) for label, form in _LABELLED.findall(system) if _options(form)
    }
    if len(lines) > 1:
        stated = _in_order({label: int(value) if value.isdigit() else value for label, value in lines.items()})
        text = "\n".join(f"{label.upper()}: {value}" for label, value in stated.items())
        return Choice(text, logprobs=_spelt(text, request, (), source))
    options = _options(system) or _options(request.user)
    text = source.choice(options) if options else _REASON
    return Choice(text, logprobs=_spelt(text, request, options, source))


def _options(asked: str) -> Sequence[str]:
    """Return the replies that instructions leave open, none where they ask for no short one."""
    # The form of the reply usually comes last.
    for least, most in reversed(_RANGE.findall(asked)):
        if int(least) < int(most) <= 1000:
            return [str(number) for number in range(int(least), int(most) + 1)]
    if re.search(r"\bdigit\b", asked, re.IGNORECASE):
        return [str(number) for number in range(10)]
    if _A_B_TIE.search(asked):
        return _LABELS
    if _A_B.search(asked):
        return _LABELS[:2]
    words = _YES_NO.search(asked)
    return words.groups() if words else ()


def _filled(name: str, schema: Schema, root: Schema, source: Random) -> Any:
    schema = _resolved(schema, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return source.choice([one for one in schema["enum"] if one is not None])
    if name == "why" and "null" in schema.get("type", ()):
        # It says why nothing can be judged, and here everything is.
        return None
    kind = _kind(schema)
    if kind == "object":
        return _in_order({key: _filled(key, one, root, source) for key, one in schema.get("properties", {}).items()})
    if kind == "array":
        items = range(max(1, int(schema.get("minItems", 1))))
        return [_filled(name, schema.get("items", {}), root, source) for _ in items]
    return _plain(name, kind, schema, source)


def _of_shown(filled: Any, schema: Schema, user: str, source: Random) -> Any:
    """Return a filled object, its lists with an entry for each candidate that is shown under a number."""
    checklist = _CHECKLIST.search(user)
    shown = checklist[2].count("\n") + 1 if checklist else len(set(_NUMBERED.findall(user)))
    for name, listed in schema.get("properties", {}).items() if shown else ():
        items = listed.get("items", {})
        if "array" not in listed.get("type", ()) or not isinstance(filled.get(name), list):
            continue
        number = "number" if checklist else "candidate"
        if number in items.get("properties", ()):
            filled[name] = [{**_filled(name, items, schema, source), number: 1 + at} for at in range(shown)]
        else:
            filled[name] = source.sample(range(1, shown + 1), shown)
    return filled


def _plain(name: str, kind: str, schema: Schema, source: Random) -> Any:
    match kind:
        case "boolean":
            return source.random() < 0.5
        case "integer" | "number":
            return _number(name, kind, schema, source)
        case "null":
            return None
    return source.choice(_LABELS) if name.lower() in _CHOICES else _REASON


def _resolved(schema: Schema, root: Schema) -> Schema:
    """Follow references, and take the first alternative that is not null."""
    while True:
        if "$ref" in schema:
            target: Any = root
            for key in str(schema["$ref"]).removeprefix("#").strip("/").split("/"):
                target = target[key] if key else target
            schema = target
        elif alternatives := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
            schema = next(
                (alternative for alternative in alternatives if alternative.get("type") != "null"), alternatives[0]
            )
        else:
            return schema


def _kind(schema: Schema) -> str:
    stated = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(stated, str):
        return stated
    return next((one for one in stated if one != "null"), "null")


def _number(name: str, kind: str, schema: Schema, source: Random) -> float:
    usual = _usual_range(name)
    least = float(schema.get("minimum", schema.get("exclusiveMinimum", usual[0])))
    most = float(schema.get("maximum", schema.get("exclusiveMaximum", max(usual[1], least))))
    if kind == "integer":
        first = math.ceil(least) + ("exclusiveMinimum" in schema)
        return source.randint(first, max(first, math.floor(most) - ("exclusiveMaximum" in schema)))
    return round(least + (0.01 + 0.98 * source.random()) * (most - least), 4)


def _usual_range(name: str) -> tuple[float, float]:
    if "prob" in name.lower():
        return 0, 1
    return (1, 5) if "confidence" in name.lower() else (0, 100)


def _in_order(found: dict[str, Any]) -> dict[str, Any]:
    """Put the ends of an interval, and the score between them, in order."""
    for ends in _ENDS:
        if not found.keys() >= set(ends):
            continue
        middle = next((name for name in _MIDDLES if name in found), None)
        names = [ends[0], *([middle] if middle else []), ends[1]]
        if all(isinstance(found[name], int | float) for name in names):
            found |= zip(names, sorted(found[name] for name in names), strict=True)
    return found


def _spelt(
    text: str, request: WireRequest, options: Sequence[str], source: Random
) -> tuple[TokenLogprobs, ...] | None:
    """Give each token its probability; where labels were asked for, the others get theirs."""
    if request.top_logprobs is None:
        return None
    pieces = [text] if options else tokens(text)
    count = max(1, request.top_logprobs)
    return tuple(TokenLogprobs(piece, _alternatives(piece, options, count, source)) for piece in pieces)


def _alternatives(piece: str, options: Sequence[str], count: int, source: Random) -> dict[str, float]:
    others = [option for option in options if option != piece]
    # A server lists as many tokens as it was asked for: labels, the same with a blank, and what nobody asked for.
    fillers = [one for one in (*(f" {label}" for label in (piece, *others)), *_OTHERS) if one not in {piece, *others}]
    named = [piece, *others, *fillers][:count]
    weights = [
        4.0 + 8.0 * source.random() if at == 0 else source.random() * (4.0 if one in others else 0.05)
        for at, one in enumerate(named)
    ]
    whole = math.fsum(weights) * 1.01
    return {one: math.log(max(weight, 1e-6) / whole) for one, weight in zip(named, weights, strict=True)}
