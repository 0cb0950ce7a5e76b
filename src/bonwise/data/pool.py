"""A pool: one prompt and the candidate answers to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Candidate", "Pool", "first_repeat", "identifier"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate answer.

    Parameters
    ----------
    id : str
        Unique within its pool.
    text : str
        The answer, as the judge sees it.
    missing : str
        Why there is no text to judge: the candidate is then unscored for this reason. Empty for any other one.
    """

    id: str
    text: str
    missing: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Pool:
    """One prompt and its candidate answers.

    Parameters
    ----------
    prompt_id : str
        Unique within a file.
    prompt : str
        The words of the prompt.
    candidates : tuple of Candidate
        In the order they were given.

    Examples
    --------
    >>> pool = Pool("p1", "Say hi", (Candidate("c0", "hi"), Candidate("c1", "no")))
    >>> [candidate.id for candidate in pool.candidates]
    ['c0', 'c1']
    """

    prompt_id: str
    prompt: str
    candidates: tuple[Candidate, ...]


def identifier(value: object) -> str | None:
    """Return an identifier as its text, the whole number 1.0 as ``1``; None where it is none.

    Examples
    --------
    >>> identifier(1.0), identifier("b"), identifier(" "), identifier(["b"])
    ('1', 'b', None, None)
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return value if isinstance(value, str) and value.strip() else None


def first_repeat(candidates: Sequence[Candidate]) -> tuple[int, int] | None:
    """Return the positions of the first two candidates with one id, None where all differ."""
    positions: dict[str, int] = {}
    for at, candidate in enumerate(candidates):
        first = positions.setdefault(candidate.id, at)
        if first != at:
            return first, at
    return None
