"""A pool: one prompt and the candidate answers to choose from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Candidate", "Pool"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate answer.

    Parameters
    ----------
    id : str
        Unique within its pool.
    text : str
        The answer, as the judge sees it.
    """

    id: str
    text: str


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
