"""Pick the best of n candidates of one prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bonwise.errors import UsageError
from bonwise.judges.calling import as_judge
from bonwise.judges.judging import judge_now
from bonwise.judges.protocol import Judge
from bonwise.selection.candidates import as_candidates
from bonwise.selection.deciding import decide
from bonwise.selection.selection import Selection

__all__ = ["select"]


def select(
    prompt: str,
    candidates: Sequence[Any],
    *,
    judge: Judge | Callable[[str, str], Any],
    seed: int = 0,
    text: Callable[[Any], str] | None = None,
    prompt_id: str | None = None,
) -> Selection:
    """Judge the candidates of one prompt and pick the one with the highest score.

    Parameters
    ----------
    prompt : str
    candidates : sequence
        Strings, mappings ``{"id", "text"}``, or any objects with `text`; n of 1 needs no judging.
    judge : Judge or callable
        A judge, or a function ``(prompt, text) -> number``.
    seed : int
        Breaks ties, together with the prompt and the candidate ids.
    text : callable, optional
        Candidate to the text the judge sees.
    prompt_id : str, optional
        Repeated in the result.

    Returns
    -------
    Selection
        An unscored candidate cannot win; `best` is None when nothing could be scored.

    Raises
    ------
    bonwise.errors.UsageError
        No candidates, one without text, or two with one id.
    bonwise.errors.JudgeError
        A judge that does not keep its contract.
    bonwise.errors.CallError
        A model that was asked did not answer.

    Examples
    --------
    >>> pick = select("Name a colour", ["red", "a long answer"], judge=lambda prompt, text: -len(text))
    >>> pick.best, pick.decided_by
    ('red', 'score')
    """
    if not isinstance(prompt, str):
        raise UsageError(f"the prompt must be text, not {type(prompt).__name__}", hint="pass a string")
    pool, chosen = as_candidates(candidates, text), as_judge(judge)
    judgment = judge_now(chosen, prompt, [candidate.text for candidate in pool]) if len(pool) > 1 else None
    salt = prompt if prompt_id is None else prompt_id
    return decide(pool, judgment, judge=chosen, seed=seed, salt=salt, prompt_id=prompt_id, originals=candidates)
