"""How many labels are enough: a question, and an effect or a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import Command, Flag, comma_separated
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import NO_PROPENSITY, PilotKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.planning.result import Method, Plan
    from bonwise.table.opening import ScoreSource
    from bonwise.table.reading import RowSource
    from bonwise.table.votes import Ties


@opens_a_table
def plan(  # noqa: PLR0913 - one argument a thing that a user may know, all of them named
    *,
    question: Annotated[
        str | None, Flag("'recovery>0', recovery, 'within_r>=0.4', a-vs-b, margin, equivalence or screening.")
    ] = None,
    candidates: Annotated[int | None, Flag("Candidates per prompt.")] = None,
    within_r: Annotated[float | None, Flag("Within-prompt correlation of score and label.")] = None,
    rival_r: Annotated[float | None, Flag("The same of judge B.", rare=True)] = None,
    error_correlation: Annotated[
        float | None, Flag("Of the two judges' errors within a prompt; 0.5 where none is given.", rare=True)
    ] = None,
    effect: Annotated[
        float | None, Flag("Preference margin P(win) - 1/2, or bound of equivalence.", rare=True)
    ] = None,
    half_width: Annotated[float | None, Flag("Of the interval of the recovery.")] = None,
    r0: Annotated[float | None, Flag("Threshold of within_r>=r0.", rare=True)] = None,
    pilot: Annotated[
        ScoreSource | None,
        Flag("In place of an effect: a labelled table, a file of votes, or votes such as 28/50.", kind=str),
    ] = None,
    judge: Annotated[
        str | Sequence[str] | None,
        Flag("Which judge of the pilot; twice for a-vs-b, A first.", kind=list[str], rare=True),
    ] = None,
    design: Annotated[
        str | None, Flag("two_label or complete; discordant or discordant_preference for a-vs-b.", rare=True)
    ] = None,
    labels: Annotated[int | None, Flag("Labels that can be had; decides the verdict.")] = None,
    prompts: Annotated[int | None, Flag("Prompts that can be had; decides the verdict.")] = None,
    power: Annotated[float, Flag("Probability of finding the effect.", rare=True)] = 0.9,
    confidence: Annotated[float, Flag("Of the test or the interval.", rare=True)] = CONFIDENCE,
    method: Annotated[Method, Flag("For votes: exact, or paper (equation 8).", kind=str, rare=True)] = "exact",
    label_cost: Annotated[float | None, Flag("Price of a label.")] = None,
    judge_cost: Annotated[float | None, Flag("Price of one score of one judge.", rare=True)] = None,
    raters: Annotated[int, Flag("Raters per candidate, or votes per prompt.", rare=True)] = 1,
    icc: Annotated[float | None, Flag("Correlation of two raters' labels of one prompt.", rare=True)] = None,
    one_cluster: Annotated[bool, Flag("All labels resemble each other by --icc (equation 10).", rare=True)] = False,
    tie_rate: Annotated[float | None, Flag("Share of votes that decide nothing.", rare=True)] = None,
    verdict_col: Annotated[str | None, Flag("Column of the pilot's votes.", rare=True)] = None,
    pair_col: Annotated[
        str | Sequence[str],
        Flag(
            "Columns of the two models of a vote, a,b [model_a,model_b].", kind=str, read=comma_separated, rare=True
        ),
    ] = (),
    ties: Annotated[
        Ties | None,
        Flag("How ties of the pilot count: drop, half or pessimistic (against the first).", kind=str, rare=True),
    ] = None,
    allocation: Annotated[
        RowSource | None,
        Flag(
            "Types of prompts: type, weight, and votes spent on them; or margin, for screening.", kind=Path, rare=True
        ),
    ] = None,
    first_stage: Annotated[
        int | None, Flag("Votes on each type first; 10 ln(types) if not given.", rare=True)
    ] = None,
    kept_share: Annotated[float | None, Flag("Share of types that screening keeps; 0.2.", rare=True)] = None,
    seed: int = SEED,
    **reading: Unpack[PilotKeywords],
) -> Plan:
    """Plan how many labels answer a question.

    Parameters
    ----------
    question : str, optional
        ``recovery>0`` (is the judge better than a random pick?), ``recovery`` (to a half-width), ``within_r>=r0`` (or
        ``within_r>=0.4``), ``a-vs-b`` (whose picks are worth more?), ``margin`` (is one side preferred?),
        ``equivalence`` (are both sides as good?) or ``screening`` (do votes show more in two stages?). None with an
        `allocation`, whose weakest type is named.
    candidates : int, optional
        Candidates per prompt.
    within_r : float, optional
        Within-prompt correlation of score and label that is expected, in (0, 1); under normality it is the recovery.
    rival_r : float, optional
        The same of judge B.
    error_correlation : float, optional
        Correlation of the two judges' errors within a prompt; 0.5 where none is given.
    effect : float, optional
        Preference margin P(win) - 1/2, or the bound of an equivalence.
    half_width : float, optional
        Of the interval of the recovery.
    r0 : float, optional
        Threshold of ``within_r>=r0``.
    pilot : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings, optional
        In place of an effect: a labelled table of scores; for ``margin`` votes, such as ``28/50`` or a file; a file
        with several pairs of models is planned for the closest, with the votes of each.
    judge : str or sequence of str, optional
        Which judge of the pilot; two of them for ``a-vs-b``.
    design : str, optional
        ``two_label`` (default) or ``complete`` for ``recovery>0``; ``discordant`` (default: both picks graded) or
        ``discordant_preference`` (one preference) for ``a-vs-b``.
    labels, prompts : int, optional
        What there is; decides the verdict.
    power : float
        In (0.5, 1).
    confidence : float
        Of the test, in (0.5, 1); one-sided for ``recovery>0`` and ``within_r>=r0``.
    method : {"exact", "paper"}
        For votes: exact binomial, or equation 8.
    label_cost, judge_cost : float, optional
        Price of one label and of one score of one judge.
    raters : int
        Labels per candidate, each by another rater; their mean is what is tested.
    icc : float, optional
        Correlation of two raters' labels (of their contrasts, or votes) on one prompt; needed with several raters.
    one_cluster : bool
        All labels resemble each other by `icc` (equation 10).
    tie_rate : float, optional
        Share of votes that decide nothing; a pilot brings its own.
    verdict_col : str, optional
        Column of the pilot's votes.
    pair_col : sequence of str, optional
        The two columns that name the models. Without it those that are found by their names; the alphabetically first
        model is then the first side.
    ties : {"drop", "half", "pessimistic"}, optional
        How ties among the pilot's votes count: not, half a vote for each side, or against the first side; needed
        where there are any.
    allocation : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
        Types of prompts with columns ``type``, ``weight``, and ``votes``; for ``screening`` ``margin`` instead.
    first_stage, kept_share : int and float, optional
        Of ``screening``: votes on each type first, by default ``ceil(10 ln m)``, and the share of types that is kept.
    seed : int
        Of the samples that are drawn from a pilot of ``recovery>0``, and of ``screening``.
    **reading
        How the pilot is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    Plan

    Raises
    ------
    bonwise.errors.UsageError
        An unknown question, an argument out of range, missing, or without meaning for the question.
    bonwise.errors.InputError
        A pilot that cannot be read.

    Examples
    --------
    >>> found = plan(question="recovery>0", candidates=4, within_r=0.3)
    >>> found.design, found.prompts, found.labels, found.verdict
    ('two_label', 96, 192, 'feasible')
    """
    arguments = dict(locals())
    from bonwise.planning.questions import answer

    return answer(arguments, ReadingOptions.of(plan, arguments.pop("reading")))


COMMAND = Command(
    plan,
    """Plan how many labels answer a question.

    Takes an assumed effect or a pilot. The exit code is 0 even if the study is underpowered or infeasible.
    """,
    without=NO_PROPENSITY,
    inputs=lambda typed: [typed["pilot"], typed["allocation"]],
)
