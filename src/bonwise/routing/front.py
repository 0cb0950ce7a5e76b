"""The study of routing: a table of scores and labels in, what each signal is worth out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import POOLS, Flag, as_share, numbers, shares
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import ReadingKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.routing.result import RouteStudy
    from bonwise.table.opening import ScoreSource


def _target(text: str, flag: str) -> dict[str, float]:
    """Read ``recovery=0.6`` or ``recovery=60%``."""
    return shares([text], flag)


@opens_a_table
def route(  # noqa: PLR0913 - all but the source are named
    source: Annotated[ScoreSource, Flag("Scores and labels: CSV, JSONL, Parquet or a folder.", "FILE", Path)],
    *,
    share: Annotated[float, Flag("Part of the prompts to send on, between 0 and 1.", parse=as_share)] = 0.25,
    first_pass_only: Annotated[
        bool, Flag("Leave repeated scores and other judges out of the signals.", rare=True)
    ] = False,
    mean_calls: Annotated[
        float | None, Flag("Split so many calls per prompt between further draws and routing.", rare=True)
    ] = None,
    strong_cost: Annotated[float | None, Flag("Price of routing one prompt, in calls.", rare=True)] = None,
    strong: Annotated[
        str | None, Flag("Judge of the table that decides the prompts sent on; none for one that never errs.")
    ] = None,
    judge: Annotated[
        str | None, Flag("The first judge to study and to save the router of; all if not given.", rare=True)
    ] = None,
    target: Annotated[
        Mapping[str, float] | None,
        Flag("Recommend the share that reaches this, such as recovery=0.6.", kind=str, read=_target),
    ] = None,
    budget: Annotated[
        float | str | None,
        Flag("Recommend the share that 1,000 prompts may cost: dollars (3.50) or calls (6000calls).", kind=str),
    ] = None,
    prices: Annotated[
        Mapping[str, float] | None,
        Flag("JUDGE=DOLLARS per call (repeatable).", "--price", kind=list[str], read=numbers),
    ] = None,
    pools: Annotated[str | Path | None, replace(POOLS, rare=True)] = None,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **reading: Unpack[ReadingKeywords],
) -> RouteStudy:
    """Study which prompts to send to a stronger judge.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Long table ``prompt_id, candidate, judge_score, oracle_label``, with ``low`` and ``high`` or
        ``ci_width``, ``draw_0``, ``draw_1`` ... or ``draw``, and ``propensity`` where there are any.
    share : float
        Part of the prompts to send, in (0, 1).
    first_pass_only : bool
        Leave repeated scores and other judges out of the signals.
    mean_calls, strong_cost : float, optional
        Split a joint budget of so many calls per prompt between further draws and routing, which costs
        so many calls a routed prompt. Both or neither.
    strong : str, optional
        Judge of the table that decides the prompts sent on: the study is then of what this judge would gain, and
        compares it alone, the route and the first judge alone. If not given, the most expensive judge where the
        price of each is known, or the reference of ``oracle``; else a judge that never errs, as with ``"none"``.
    judge : str, optional
        The first judge to study; all but the stronger one if not given.
    target : mapping of str to float, optional
        ``{"recovery": 0.6}``, or ``"agreement"`` with a reference: recommend the least share that reaches it.
    budget : float or str, optional
        Dollars per 1,000 prompts, or calls such as ``"6000calls"``: recommend the largest share that it pays for.
    prices : mapping of str to float, optional
        US dollars per call, by judge.
    pools : str or pathlib.Path, optional
        Pools with the texts of the candidates, for the page; otherwise those of a column ``text`` or ``response``.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        Of the parts of the cross-fit behind the bound, and of redraws; no signal or verdict depends on it.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    RouteStudy

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> found = route(simulate("arena", n=300, seed=1).frame())
    >>> found["judge"].recommendation.share
    0.25
    """
    from bonwise.routing.engine import routed

    return routed(
        source,
        ReadingOptions.of(route, reading),
        share=share,
        first_pass_only=first_pass_only,
        mean_calls=mean_calls,
        strong_cost=strong_cost,
        strong=strong,
        judge=judge,
        target=target or {},
        budget=budget,
        prices=prices or {},
        pools=pools,
        confidence=confidence,
        seed=seed,
    )
