"""What words say of a pair: the first side is preferred, the second, neither, or nothing can be told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, get_args

from bonwise.errors import UsageError
from bonwise.printable import quoted

Side = Literal["first", "second", "tie", "none"]
"""What a verdict says; none: that there is no verdict."""

SIDES: tuple[Side, ...] = get_args(Side)

WORTH: Mapping[Side, float] = MappingProxyType({"first": 1.0, "second": 0.0, "tie": 0.5, "none": float("nan")})
"""What a verdict counts for the first side."""

OPPOSITES = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("one", "two"), ("0", "1"))
"""Words that tell the two sides of a pair apart, in the names of columns; cells have no 0."""

NOUNS = frozenset(
    {
        *("model", "response", "assistant", "answer", "output", "candidate", "completion", "option", "system"),
        *("text", "generation", "generator", "side", "chatbot", "choice", "version", "policy", "method", "name"),
    }
)
"""What a side may be called, as in ``model_a`` or ``Response 2``."""

_FIRST = frozenset({"a", "1", "left", "first", "one", "1st"})
_SECOND = frozenset({"b", "2", "right", "second", "two", "2nd"})
_BETTER = frozenset({"better", "best", "win", "wins", "won", "winner", "winning", "prefer", "prefers", "preferred"})
_HOW_MUCH = frozenset({"much", "slightly", "significantly", "strongly", "clearly", "somewhat", "far"})
_FILLING = _BETTER | _HOW_MUCH | {"is", "was", "the"}
_TIES = frozenset(
    {
        *("tie", "tied", "ties", "draw", "equal", "equally", "even", "same", "both", "neither", "a tie"),
        *("both bad", "bothbad", "both good", "bothgood", "both are bad", "both are good", "tie bothbad"),
        *("tie both bad", "tie inconsistent", "tie both good", "equally good", "equally bad", "no preference"),
        *("about the same", "the same", "both equally good", "both are equally good", "neither is better"),
        *("no difference", "no winner", "tie bothgood", "it s a tie", "its a tie"),
    }
)
_NOTHING = frozenset({"error", "invalid", "no verdict"})

_TIE_IN_BRACKETS = "[[c]]"
"""The tie of MT-Bench's judge; without brackets a C may be a third side."""

_LONGEST = 80
_AROUND = " \t\r\n[](){}\"'`*.!"
_NOT_WORDS = re.compile(r"[\W_]+")
_COMPARED = re.compile(r"([^<>=≫≪]+?)\s*(<{1,3}|>{1,3}|={1,2}|≫|≪|≈|~)\s*([^<>=].*)")
_GLUED = re.compile(rf"(?:{'|'.join(sorted(NOUNS))})(a|b|1|2)")


@lru_cache(maxsize=4096)
def side_of(word: str) -> Side | None:
    """Return what a word, the text of a cell, says of a pair; None where it is not a verdict."""
    if len(word) > _LONGEST or "?" in word:
        return None
    if word.strip().casefold() == _TIE_IN_BRACKETS:
        return "tie"
    text = plain_word(word).strip(_AROUND)
    compared = _COMPARED.fullmatch(text)
    if compared is not None:
        return _of_comparison(compared[1], compared[2], compared[3])
    phrase = " ".join(words_of(text))
    if phrase in _TIES:
        return "tie"
    return "none" if phrase in _NOTHING else _alone(text)


def _of_comparison(left: str, sign: str, right: str) -> Side | None:
    sides = _alone(left), _alone(right)
    if set(sides) != {"first", "second"}:
        return None
    if sign[0] in "<≪":
        return sides[1]
    return sides[0] if sign[0] in ">≫" else "tie"


def _alone(text: str) -> Side | None:
    """Return the one side that a text names; None where it names none, both, or says more than that one is better."""
    if text.startswith("-"):
        return None
    telling = [word for word in words_of(text) if word not in _FILLING and word not in NOUNS]
    if len(telling) != 1:
        return None
    return "first" if telling[0] in _FIRST else "second" if telling[0] in _SECOND else None


def words_of(text: str) -> list[str]:
    """Return the words of a text or of a column's name, the side apart from what it is a side of."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text[:_LONGEST])
    words = [word for word in _NOT_WORDS.split(spaced.casefold()) if word]
    return [part for word in words for part in ((word[:-1], word[-1]) if _GLUED.fullmatch(word) else (word,))]


def plain_word(cell: object) -> str:
    """Return the text of a cell as verdicts are compared: without blanks around it, in lower case, 1.0 as 1."""
    text = str(cell)[: _LONGEST + 1].strip().casefold()
    try:
        return f"{float(text):g}" if text.isascii() and "_" not in text else text
    except ValueError:
        return text


def parse_verdict_map(text: str) -> dict[str, Side]:
    """Read what verdicts say, such as ``1=first,0=second``; any other part is a UsageError."""
    sides: dict[str, Side] = {}
    for part in text.split(","):
        word, _, side_named = part.rpartition("=")
        side = next((known_side for known_side in SIDES if known_side == side_named.strip().casefold()), None)
        if not word.strip() or side is None:
            raise UsageError(
                f"not a verdict and what it says: {quoted(part)}",
                hint="such as 1=first,0=second; what it says is first, second, tie or none",
            )
        sides[plain_word(word)] = side
    return sides
