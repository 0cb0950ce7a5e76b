"""The bundled tasks: pools whose oracle labels a program can compute."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from bonwise.data.pool import Candidate, Pool
from bonwise.demo.checkers import Check
from bonwise.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Task", "label", "load_tasks"]


@dataclass(frozen=True, slots=True)
class Task:
    """A pool and the constraints its prompt states.

    Examples
    --------
    >>> task = load_tasks()[0]
    >>> [candidate.id for candidate in task.pool.candidates]
    ['c0', 'c1', 'c2', 'c3']
    """

    pool: Pool
    """The prompt and its candidate answers."""
    checks: tuple[Check, ...]
    """What a program can verify of an answer."""


def load_tasks() -> tuple[Task, ...]:
    """Read the bundled tasks.

    Returns
    -------
    tuple of Task
        In the order of the file.

    Raises
    ------
    InputError
        If a task names a check that does not exist or states it badly.

    Examples
    --------
    >>> len(load_tasks())
    48
    """
    text = resources.files("bonwise.demo").joinpath("tasks.json").read_text(encoding="utf-8")
    return tuple(_task(entry) for entry in json.loads(text))


def label(task: Task, candidate: Candidate) -> float:
    """Return the oracle label of a candidate: the share of the task's checks that it passes.

    Parameters
    ----------
    task : Task
        The constraints.
    candidate : Candidate
        The answer to hold against them.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> pool = Pool("p", "Two words, please.", (Candidate("c0", "Good morning!"),))
    >>> task = Task(pool, (Check("exact_words", {"n": 2}), Check("without", {"marks": "!"})))
    >>> label(task, pool.candidates[0])
    0.5
    """
    return sum(check.passes(candidate.text) for check in task.checks) / len(task.checks)


def _task(entry: Mapping[str, Any]) -> Task:
    candidates = tuple(Candidate(f"c{place}", text) for place, text in enumerate(entry["answers"]))
    pool = Pool(entry["prompt_id"], entry["prompt"], candidates)
    return Task(pool, tuple(_check(check, pool.prompt_id) for check in entry["checks"]))


def _check(entry: Mapping[str, Any], prompt_id: str) -> Check:
    parameters = {name: value for name, value in entry.items() if name != "kind"}
    try:
        return Check(entry["kind"], parameters)
    except UsageError as error:
        raise InputError(f"task {prompt_id!r}: {error.message}", hint=error.hint) from error
