"""Pick the best of n candidates of one prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bonwise.data.pool import Candidate
from bonwise.data.verdicts import Score, Unscored, Verdict
from bonwise.errors import UsageError
from bonwise.judges.calling import as_judge, verdicts
from bonwise.judges.protocol import Judge
from bonwise.release import release
from bonwise.selection.candidates import as_candidates
from bonwise.selection.greedy import greedy
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

    Examples
    --------
    >>> pick = select("Name a colour", ["red", "a long answer"], judge=lambda prompt, text: -len(text))
    >>> pick.best, pick.decided_by
    ('red', 'score')
    """
    if not isinstance(prompt, str):
        raise UsageError(f"the prompt must be text, not {type(prompt).__name__}", hint="pass a string")
    pool, chosen = as_candidates(candidates, text), as_judge(judge)
    settings = {
        "judge": chosen.name,
        "judge_version": chosen.version,
        "strategy": "greedy",
        "seed": seed,
        "version": release(),
    }
    if len(pool) == 1:
        return _selection(prompt_id, candidates, pool, (None,), 0, "only candidate", settings)
    found = verdicts(chosen, prompt, [candidate.text for candidate in pool])
    scores = tuple(verdict.value if isinstance(verdict, Score) else None for verdict in found)
    ids = [candidate.id for candidate in pool]
    pick = greedy(scores, ids, seed=seed, salt=prompt if prompt_id is None else prompt_id)
    how = "nothing scored" if pick.best is None else "tie-break" if pick.tied else "score"
    return _selection(prompt_id, candidates, pool, scores, pick.best, how, settings, pick.order, pick.tied, found)


def _selection(  # noqa: PLR0913, PLR0917 - one argument a field
    prompt_id: str | None,
    candidates: Sequence[Any],
    pool: tuple[Candidate, ...],
    scores: tuple[float | None, ...],
    best: int | None,
    decided_by: str,
    settings: dict[str, Any],
    order: Sequence[int] = (0,),
    tied: Sequence[int] = (),
    found: Sequence[Verdict] = (),
) -> Selection:
    return Selection(
        prompt_id=prompt_id,
        best=None if best is None else candidates[best],
        best_id=None if best is None else pool[best].id,
        index=best,
        text=None if best is None else pool[best].text,
        ids=tuple(candidate.id for candidate in pool),
        scores=scores,
        ranking=tuple(pool[position].id for position in order),
        tied=tuple(pool[position].id for position in tied),
        decided_by=decided_by,
        calls=0,
        cost=0.0,
        unscored={
            candidate.id: verdict.reason
            for candidate, verdict in zip(pool, found, strict=False)
            if isinstance(verdict, Unscored)
        },
        settings=settings,
    )
