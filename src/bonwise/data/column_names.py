"""The names of columns: known ones by role, compared without case, blanks and punctuation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from bonwise.data.roles import ALIASES, FURTHER_ALIASES

__all__ = ["PLAIN", "by_key", "claims", "key_of", "name_tokens", "names_a_label", "score_of"]

PLAIN = 2
"""Groups of `claims` with the canonical name and the names of `ALIASES`; those after them hold further names."""

_NOT_IN_KEYS = re.compile(r"[\W_]+")
_IN_BRACKETS = re.compile(r"(?<=\S)\s*[(\[][^()\[\]]*[)\]]\s*$")

_LABEL_WORDS = frozenset({"human", "gold", "golden", "oracle", "expert", "annotator", "annotators", "groundtruth"})
_SCORE_WORDS = frozenset({"score", "rating", "grade", "reward", "verdict"})
_LONGEST = 200


def key_of(name: object) -> str:
    """Return what is left of a name without case, blanks, punctuation and a remark in brackets at its end.

    Examples
    --------
    >>> key_of("Prompt ID"), key_of("judgeScore (1-5)"), key_of("(1)")
    ('promptid', 'judgescore', '1')
    """
    text = str(name)[:_LONGEST]
    plain = _IN_BRACKETS.sub("", text)
    return _NOT_IN_KEYS.sub("", unicodedata.normalize("NFKC", plain).casefold())


def by_key(columns: Iterable[object]) -> Mapping[str, Sequence[str]]:
    """Return the columns by the key of their name."""
    found: dict[str, list[str]] = {}
    for column in columns:
        found.setdefault(key_of(column), []).append(column)  # type: ignore[arg-type]
    return found


def claims(role: str, columns: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Yield the columns whose name fits a role, group by group, the likeliest first.

    The first group holds the columns with the canonical name, the second those with the plain names of `ALIASES`.

    Parameters
    ----------
    role : str
    columns : mapping of str to sequence of str
        By key, see `by_key`.
    """
    for keys in _keys(role):
        yield [column for key in keys for column in columns.get(key, ())]
    if role in ("judge_score", "oracle_label"):
        wanted = role == "oracle_label"
        every = [column for known in columns.values() for column in known]
        yield [column for column in every if _is_score(column) and names_a_label(column) is wanted]


@cache
def _keys(role: str) -> tuple[tuple[str, ...], ...]:
    groups = ((role,), ALIASES.get(role, ()), *FURTHER_ALIASES.get(role, ()))
    return tuple(tuple(map(key_of, group)) for group in groups)


def name_tokens(name: object) -> list[str]:
    """Return the words of a name in lower case, without a remark in brackets at its end.

    Examples
    --------
    >>> name_tokens("humanLabel_1 (0-5)")
    ['human', 'label', '1']
    """
    plain = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", _IN_BRACKETS.sub("", str(name)[:_LONGEST]))
    return re.sub(r"[\W_]+", " ", plain).casefold().split()


def _is_score(name: object) -> bool:
    """Tell whether a name ends in a word for a score, such as ``gpt4_score`` or ``Human Overall Rating``."""
    tokens = name_tokens(name)
    return len(tokens) > 1 and (tokens[-1] in _SCORE_WORDS or (tokens[-1] == "label" and names_a_label(name)))


def score_of(name: object) -> tuple[str, str] | None:
    """Return whose value a column holds and what it is: ``score`` or ``label``; None where its name does not say.

    Examples
    --------
    >>> score_of("gpt4_score"), score_of("Claude Sonnet Label"), score_of("score")
    (('gpt4', 'score'), ('Claude Sonnet', 'label'), None)
    """
    plain = _IN_BRACKETS.sub("", str(name)[:_LONGEST]).strip()
    found = re.fullmatch(r"(?s)(.*[^\W_])(?:[\W_]+|(?<=[a-z0-9])(?=[A-Z]))(\w+)", plain)
    if found is None or found[2].casefold() not in {*_SCORE_WORDS, "label"}:
        return None
    return found[1], "label" if found[2].casefold() == "label" else "score"


def names_a_label(name: object) -> bool:
    """Tell whether a name is that of a value which a person gave, such as ``human_label`` or ``Gold Score``."""
    return bool(_LABEL_WORDS & {*name_tokens(name)})
