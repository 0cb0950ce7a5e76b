"""What of a reply may hold an answer: not a cut reply, not a refusal, not the model's thinking."""

from __future__ import annotations

import re

from bonwise.calls.reply import Choice
from bonwise.data.verdicts import Unscored, kept
from bonwise.judges.words import has_words
from bonwise.printable import printable

__all__ = ["VERSION", "after_thinking", "stopped_early", "unread"]

VERSION = 2
"""Of all readers together: it rises whenever the same reply may be read in another way."""

_OPENING = re.compile(r"<think(?:ing)?>", re.IGNORECASE | re.ASCII)
_CLOSING = re.compile(r"</think(?:ing)?>", re.IGNORECASE | re.ASCII)


def unread(reason: str, choice: Choice) -> Unscored:
    """Return the reason why a reply gives no answer, together with the reply.

    Examples
    --------
    >>> unread("empty reply", Choice("")).reason
    'empty reply'
    """
    return Unscored(printable(reason, longest=200), kept(choice.text))


def stopped_early(choice: Choice, *, cut_is_fine: bool = False) -> Unscored | None:
    """Return why a reply cannot be read at all, None where it can.

    Parameters
    ----------
    choice : Choice
    cut_is_fine : bool
        Whether a reply that was cut by its limit may be read: its first token is as it would have been.

    Examples
    --------
    >>> stopped_early(Choice("I cannot", "refusal", "policy")).reason
    'refused: policy'
    >>> stopped_early(Choice("85")) is None
    True
    """
    if choice.finish == "length" and not cut_is_fine:
        return unread("truncated: the reply reached its limit of tokens", choice)
    if choice.finish in ("refusal", "filter"):
        return unread(f"refused: {choice.detail or choice.finish}", choice)
    if not has_words(choice.text):
        return unread("empty reply", choice)
    return None


def after_thinking(text: str) -> str | None:
    """Return what follows the last block of thinking; None where nothing does, or where it is not closed.

    A block may lack its opening tag, which some servers write into the prompt.

    Examples
    --------
    >>> after_thinking("<think>70? No, more.</think> 85")
    ' 85'
    >>> after_thinking("<think>70? No") is None
    True
    """
    end = 0
    for closing in _CLOSING.finditer(text):
        end = closing.end()
    rest = text[end:]
    if _OPENING.search(rest) or (end and not rest.strip()):
        return None
    return rest
