"""The study of strategies: what each would have picked on stored scores, what it costs, and which one to use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import Flag, numbers
from bonwise.studies.registration import SOURCE, Study
from bonwise.studies.strategies.result import StrategyReplay
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import ReadingKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.table.label_design import LabelDesign
    from bonwise.table.opening import ScoreSource
    from bonwise.table.reading import RowSource


@opens_a_table
def study_strategies(  # noqa: PLR0913 - all but the source are named
    source: Annotated[ScoreSource, SOURCE],
    *,
    verdicts: Annotated[
        RowSource | None, Flag("Verdicts on every pair, of bonwise judge --pairs.", kind=Path)
    ] = None,
    prices: Annotated[
        Mapping[str, float] | None,
        Flag("Price of a call, JUDGE=PRICE, for every judge (repeatable).", "--price", list[str], numbers),
    ] = None,
    budget: Annotated[
        float | None, Flag("Most that one prompt may cost, in the prices' unit, else in calls; 2 first passes.")
    ] = None,
    strong: Annotated[str | None, Flag("Judge of the file to send a part of the prompts to.")] = None,
    judge: Annotated[str | None, Flag("Whose strategies; every judge with repeated scores if not given.")] = None,
    pairwise: Annotated[str | None, Flag("Whose verdicts, where there are several judges'.", rare=True)] = None,
    design: Annotated[
        str | Path | LabelDesign | None,
        Flag("How labels were drawn: uniform, or the file of bonwise labels draw.", kind=str, rare=True),
    ] = None,
    seeds: Annotated[int, Flag("Orders in which ties are broken, per prompt.", rare=True)] = 20,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **reading: Unpack[ReadingKeywords],
) -> StrategyReplay:
    """Play the strategies of ``bonwise select`` on stored scores, and choose one at a price.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Scores with columns ``draw_0``, ``draw_1`` ... or a column ``draw``, and labels.
    verdicts : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
        Verdicts on every pair of a prompt, for the strategies that compare; a prompt that lacks some is dropped.
    prices : mapping of str to float, optional
        Price of a call by judge, in any one currency; for all judges or for none. A call costs 1 without them.
    budget : float, optional
        The most that one prompt may cost on average. Two first passes if not given.
    strong : str, optional
        A judge of the table that decides 10, 25 or 50 % of the prompts.
    judge : str, optional
        The judge that is asked first; each one with repeated scores if not given.
    pairwise : str, optional
        Whose verdicts; needed where the file holds those of several judges.
    design : str, pathlib.Path or LabelDesign, optional
        How the labelled prompts were drawn from all of them, as for `bonwise.audit`.
    seeds : int
        Orders in which ties between candidates to ask about are broken, per prompt.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        Of these orders, of the parts of the prompts and of the draws behind the intervals.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    StrategyReplay

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend; also where there is nothing but single scores.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> study = study_strategies(simulate("one_model", n=200, seed=1, draws=3).frame(), seeds=2)
    >>> study.judges["judge"].rows[0].strategy, study.judges["judge"].choice.budget
    ('greedy', 8.0)
    """
    from bonwise.studies.strategies.engine import replayed

    return replayed(
        source,
        ReadingOptions.of(study_strategies, reading),
        verdicts=verdicts,
        prices=prices or {},
        budget=budget,
        strong=strong,
        judge=judge,
        pairwise=pairwise,
        design=design,
        seeds=seeds,
        confidence=confidence,
        seed=seed,
    )


STUDY = Study(study_strategies, StrategyReplay, without={})
