"""What servers say, made fit for an error message: one line, short, and without any key."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from bonwise.calls.providers.secret_names import KEY_LIKE, SCHEME_AND_KEY, SHORTEST_SECRET, as_a_word
from bonwise.printable import printable

__all__ = ["one_line"]

_LONGEST = 300
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|_PWD|_PASS|CREDENTIALS?)$", re.IGNORECASE)
_HEADERS_NAME = "_CUSTOM_HEADERS"
# A validation error may quote the request that it complains of.
_QUOTED_REQUEST = re.compile(r"[,;]?\s*['\"]input['\"]\s*:.*", re.DOTALL)


def one_line(text: str) -> str:
    """Return text as one line of at most 300 characters, every key replaced by ``[key]``.

    Keys are the secrets among the environment variables, and whatever looks like one.

    Examples
    --------
    >>> one_line("Incorrect API key provided: sk-proj-****************abcd.")
    'Incorrect API key provided: [key]'
    """
    text = _QUOTED_REQUEST.sub("", text)
    for secret in sorted(_secrets(), key=len, reverse=True):
        text = as_a_word(secret).sub("[key]", text)
    text = SCHEME_AND_KEY.sub(r"\1 [key]", KEY_LIKE.sub("[key]", text))
    return printable(" ".join(text.split()), longest=_LONGEST)


def _secrets() -> Iterator[str]:
    for name, value in os.environ.items():
        if name.endswith(_HEADERS_NAME):
            values = [line.partition(":")[2].strip() for line in value.splitlines()]
        elif _SECRET_NAME.search(name):
            values = [value.strip()]
        else:
            continue
        yield from (value for value in values if len(value) >= SHORTEST_SECRET)
