"""Texts of unknown authors, enclosed between two lines that none of them could have written.

The lines carry a boundary computed from the texts themselves: whoever wants to write it into a text changes it
by writing, and the same call always has the same bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["LONGEST", "Enclosed", "all_enclosed", "boundary", "enclosed"]

LONGEST = 60_000
"""Characters of one text beyond which its middle is left out."""

_HEX = 32
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


@dataclass(frozen=True, slots=True)
class Enclosed:
    """One text as it is sent."""

    text: str
    """The opening line, the text, the closing line."""
    shortened: bool
    """Whether its middle was left out."""
    replaced: int
    """Lone surrogates, which no UTF-8 can hold, that became U+FFFD."""


def boundary(identity: str, texts: Sequence[str]) -> str:
    """Return 32 hexadecimal digits that depend on every text of a call and occur in none of them.

    Parameters
    ----------
    identity : str
        Of the prompt file.
    texts : sequence of str
        All texts of the call, in a fixed order.

    Examples
    --------
    >>> len(boundary("p@1", ["a", "b"])), boundary("p@1", ["a", "b"]) == boundary("p@1", ["ab", ""])
    (32, False)
    """
    whole = hashlib.sha256()
    for part in (identity, *texts):
        # Each part after its length: no other list of parts gives the same bytes.
        data = part.encode("utf-8", "surrogatepass")
        whole.update(b"%d:" % len(data))
        whole.update(data)
    return _absent(whole.hexdigest()[:_HEX], texts)


def all_enclosed(identity: str, texts: Mapping[str, str], *, longest: int = LONGEST) -> dict[str, Enclosed]:
    """Put all texts of a call between their lines, which carry the same boundary.

    Parameters
    ----------
    identity : str
        Of the prompt file.
    texts : mapping of str to str
        By variable, in a fixed order.
    longest : int
        The most characters of each text that are kept.

    Examples
    --------
    >>> print(all_enclosed("p@1", {"candidate_a": "hi"})["candidate_a"].text)
    --- BEGIN CANDIDATE A da2601a404363658a51b028a070159dd ---
    hi
    --- END CANDIDATE A da2601a404363658a51b028a070159dd ---
    """
    mark = boundary(identity, tuple(texts.values()))
    return {
        variable: enclosed(variable.upper().replace("_", " "), text, mark, longest=longest)
        for variable, text in texts.items()
    }


def enclosed(label: str, text: str, mark: str, *, longest: int = LONGEST) -> Enclosed:
    """Put a text between its two lines; a longer one keeps its head and its tail, with a note between.

    Parameters
    ----------
    label : str
        What the text is, for the lines.
    text : str
        Sent as it is, control characters included, but for lone surrogates.
    mark : str
        The `boundary` of the call.
    longest : int
        The most characters of the text that are kept.

    Examples
    --------
    >>> print(enclosed("PROMPT", "Say hi", "0f").text)
    --- BEGIN PROMPT 0f ---
    Say hi
    --- END PROMPT 0f ---
    """
    left_out = len(text) - longest
    kept = text
    if left_out > 0:
        head, tail = (longest + 1) // 2, longest // 2
        note = f"--- CUT {label} {mark}: {left_out} characters left out here ---"
        kept = f"{text[:head]}\n{note}\n{text[len(text) - tail :]}"
    sent, replaced = _LONE_SURROGATE.subn(_REPLACEMENT, kept)
    whole = f"--- BEGIN {label} {mark} ---\n{sent}\n--- END {label} {mark} ---"
    return Enclosed(whole, shortened=left_out > 0, replaced=replaced)


def _absent(mark: str, texts: Sequence[str]) -> str:
    """Hash on until the mark occurs in no text: it never should, and this makes it a law."""
    while any(mark in text for text in texts):
        mark = hashlib.sha256(mark.encode()).hexdigest()[:_HEX]
    return mark
