"""Damage to a document: every way in which one value or key of it can be changed, with a name."""

from __future__ import annotations

import json
from dataclasses import dataclass

HUGE = 10**30
RAW = {
    "<NaN>": "NaN",
    "<Infinity>": "Infinity",
    "<-Infinity>": "-Infinity",
    "<1e999>": "1e999",
    "<digits>": "9" * 5000,
}
"""What json.dumps cannot write, by what stands for it until the text is made."""


@dataclass(frozen=True)
class Mutation:
    """One change.

    Parameters
    ----------
    key : str
        Where, keys joined by dots.
    change : str
    text : str
        Of the file.
    """

    key: str
    change: str
    text: str

    @property
    def name(self):
        """Key and change in one."""
        return f"{self.key}: {self.change}"


def mutations(document):
    """Yield every change of a document, one at a time; of a list the first, and the list as a whole."""
    for path, value in places(document):
        key = ".".join(map(str, path))
        for change, other in _others(value):
            yield Mutation(key, change, text_of(changed(document, path, other)))
        if isinstance(path[-1], str):
            yield Mutation(key, "removed", text_of(changed(document, path)))
            yield Mutation(key, "renamed", text_of(renamed(document, path)))
            yield Mutation(key, "twice", doubled(document, path, value))
    yield Mutation("", "unknown key", text_of({**document, "unknown": 1}))
    yield Mutation("", "in a list", text_of([document]))
    yield Mutation(
        "", "deep", text_of({**document, "deep": None}).replace('"deep": null', f'"deep": {"[" * 99}{"]" * 99}')
    )


def places(value, path=()):
    """Yield the path of every key, and of the first value of every list."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key), one
        yield from places(one, (*path, key))


def changed(document, path, *other):
    """Return a copy with another value at a path, or without the key."""
    copy = json.loads(json.dumps(document))
    holder = copy
    for step in path[:-1]:
        holder = holder[step]
    if other:
        holder[path[-1]] = other[0]
    else:
        del holder[path[-1]]
    return copy


def renamed(document, path):
    """Return a copy in which a key has another name."""
    copy = json.loads(json.dumps(document))
    holder = copy
    for step in path[:-1]:
        holder = holder[step]
    holder[f"{path[-1]}_"] = holder.pop(path[-1])
    return copy


def doubled(document, path, value):
    """Return the text of a document in which a key occurs twice, with the same value."""
    mark = "<the second one>"
    return text_of(changed(document, path, mark)).replace(
        f'"{path[-1]}": "{mark}"', f'"{path[-1]}": {text_of(value)}, "{path[-1]}": {text_of(value)}'
    )


def text_of(value):
    """Return JSON, what json.dumps cannot write included."""
    text = json.dumps(value)
    for mark, raw in RAW.items():
        text = text.replace(json.dumps(mark), raw)
    return text


def _others(value):
    """Yield what else could stand for a value, each with a name."""
    yield from {name: name for name in RAW}.items()
    for name, other in {"null": None, "true": True, "text": "text", "list": [], "object": {}}.items():
        if type(other) is not type(value) or other != value:
            yield name, other
    for name, other in {"zero": 0, "negative": -1, "negative fraction": -0.5, "fraction": 1.5, "huge": HUGE}.items():
        if other != value:
            yield name, other
    if isinstance(value, str):
        yield from {"empty": "", "blank": " ", "digits": "1", "control": "\x1b[31m", "long": "a" * 10**5}.items()
    if isinstance(value, list) and value:
        yield "one more", [*value, value[-1]]
        yield "one less", value[:-1]
        yield "very long", value * 3000
        yield "nested", [value]
        if len(value) > 1 and value != value[::-1]:
            yield "backwards", value[::-1]
    if isinstance(value, dict) and value:
        yield "in a list", [value]
        yield "unknown key inside", {**value, "unknown": 1}
