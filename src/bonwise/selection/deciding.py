"""From a judgment of a pool to the pick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bonwise.data.pool import Candidate
from bonwise.data.verdicts import Score, Unscored
from bonwise.judges.judgment import Judgment
from bonwise.judges.protocol import Judge
from bonwise.release import release
from bonwise.selection.greedy import Pick, greedy
from bonwise.selection.selection import Selection

__all__ = ["decide"]

NOTHING = Pick(None, (), ())


def decide(
    pool: Sequence[Candidate],
    judgment: Judgment | None,
    *,
    judge: Judge,
    seed: int,
    salt: str,
    prompt_id: str | None = None,
    originals: Sequence[Any] | None = None,
) -> Selection:
    """Pick the best candidate by its judgment.

    Parameters
    ----------
    pool : sequence of Candidate
    judgment : Judgment or None
        None where there is only one candidate, which needs none.
    judge : Judge
        Who judged.
    seed : int
        Breaks ties, together with `salt` and the candidates.
    salt : str
        What tells this pool from others.
    prompt_id : str, optional
    originals : sequence, optional
        The candidates as the caller holds them.

    Returns
    -------
    Selection
        While an answer is owed nothing is picked: it might have been the best.
    """
    ids = [candidate.id for candidate in pool]
    verdicts = () if judgment is None else judgment.verdicts
    scores = tuple(verdict.value if isinstance(verdict, Score) else None for verdict in verdicts) or (None,)
    unscored = {ids[at]: verdict for at, verdict in enumerate(verdicts) if isinstance(verdict, Unscored)}
    pick, how = _pick(pool, scores, seed, salt)
    if any(verdict.owed for verdict in unscored.values()):
        pick, how = NOTHING, "owed"
    best = pick.best
    held = pool if originals is None else originals
    return Selection(
        prompt_id=prompt_id,
        best=None if best is None else held[best],
        best_id=None if best is None else ids[best],
        index=best,
        text=None if best is None else pool[best].text,
        ids=tuple(ids),
        scores=scores,
        ranking=tuple(ids[position] for position in pick.order),
        tied=tuple(ids[position] for position in pick.tied),
        decided_by=how,
        calls=0 if judgment is None else judgment.bill.calls,
        cost=0.0 if judgment is None else judgment.bill.cost,
        unscored={name: verdict.reason for name, verdict in unscored.items()},
        settings={
            "judge": judge.name,
            "judge_version": judge.version,
            "strategy": "greedy",
            "seed": seed,
            "parameters": [] if judgment is None else [dict(one) for one in judgment.effective],
            "version": release(),
        },
    )


def _pick(pool: Sequence[Candidate], scores: Sequence[float | None], seed: int, salt: str) -> tuple[Pick, str]:
    if len(pool) == 1:
        return Pick(0, (0,), ()), "only candidate"
    # By text before id: an id that is only a position moves with the order of the list.
    pick = greedy(scores, [(candidate.text, candidate.id) for candidate in pool], seed=seed, salt=salt)
    if pick.best is None:
        return pick, "nothing scored"
    return pick, "tie-break" if pick.tied else "score"
