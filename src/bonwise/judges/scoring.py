"""Score pools with judges: the rows of the long table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bonwise.data.pool import Pool
from bonwise.data.verdicts import Score
from bonwise.judges.calling import verdicts
from bonwise.judges.protocol import Judge

__all__ = ["HEADER", "score_rows"]

HEADER = ("prompt_id", "candidate", "judge", "judge_score", "unscored")

Row = tuple[str, str, str, float | str, str]


def score_rows(pools: Iterable[Pool], judges: Sequence[Judge]) -> Iterator[Row]:
    """Yield one row per prompt, candidate and judge, in input order; the columns are `HEADER`.

    An unscored candidate has a blank score, and the reason in the last column.
    """
    for pool in pools:
        texts = [candidate.text for candidate in pool.candidates]
        found = [verdicts(judge, pool.prompt, texts) for judge in judges]
        for position, candidate in enumerate(pool.candidates):
            for judge, answers in zip(judges, found, strict=True):
                verdict = answers[position]
                score, reason = (verdict.value, "") if isinstance(verdict, Score) else ("", verdict.reason)
                yield pool.prompt_id, candidate.id, judge.name, score, reason
