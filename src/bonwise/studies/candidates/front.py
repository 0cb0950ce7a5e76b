"""How many candidates are worth asking for, and what an audit says of other candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Unpack

from bonwise.flags import NO_FLAG, Command, Flag
from bonwise.studies.candidates.result import CandidateCountStudy, TransferStudy
from bonwise.studies.registration import SOURCE, Study
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import NO_PROPENSITY, ReadingKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource


@opens_a_table
def study_candidates(
    source: Annotated[ScoreSource, SOURCE],
    *,
    value: Annotated[float | None, Flag("What one unit of label is worth, in the currency of the costs.")] = None,
    candidate_cost: Annotated[float | None, Flag("Price of one candidate.")] = None,
    judge_cost: Annotated[float | None, Flag("Price of one score of one judge.")] = None,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **reading: Unpack[ReadingKeywords],
) -> CandidateCountStudy:
    """Find how many candidates are worth asking for.

    The value of the judge's pick from m random candidates of a pool of K, for every m, exactly over all subsets:
    ``V(m) = mean_x sum_i O_i [C(u_i, m) - C(b_i, m)] / [(u_i - b_i) C(K, m)]``, with b candidates scored below i and
    u not above it. See `docs/study_candidates.md`.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
    value : float, optional
        What one unit of label is worth, in the currency of the costs; without it nothing is said of costs.
    candidate_cost, judge_cost : float, optional
        Of one candidate, and of one score; 0 for the one that is not given. A single candidate needs no score.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        Of the draws that make intervals hold for all sizes at once.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Raises
    ------
    bonwise.errors.InputError
        Fewer than 20 labelled prompts, or effective ones, have pools of three candidates.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> frame = simulate("arena", n=2000, seed=1).frame()
    >>> study_candidates(frame, value=1, candidate_cost=0.003).judges["judge"].may_be_best
    [3, 4]
    """
    from bonwise.studies.candidates.engine import candidates_study

    costs = {"value": value, "candidate_cost": candidate_cost, "judge_cost": judge_cost}
    options = ReadingOptions.of(study_candidates, reading)
    return candidates_study(source, options, costs, confidence=confidence, seed=seed)


@opens_a_table
def study_transfer(
    source: Annotated[ScoreSource, SOURCE],
    *,
    to: Annotated[ScoreSource, Flag("Scores of your own pools, without labels.", kind=SOURCE.kind)],
    gap_groups: Annotated[int, Flag("Most groups of score gaps.")] = 4,
    similarity: Annotated[str | None, Flag("Numeric column of both files, at whose median pairs are split.")] = None,
    confidence: float = CONFIDENCE,
    seed: Annotated[int, NO_FLAG] = SEED,
    **reading: Unpack[ReadingKeywords],
) -> TransferStudy:
    """Estimate from an audit how well the judge does on other candidates, which have scores and no labels.

    Pairs are grouped by tie and score gap, pools by size, tie and margin. The mean of each group in the audit is
    weighted by the share w of that group in the target: ``sum_s w_s mean_s``. See `docs/transfer.md`.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        The labelled table.
    to : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Scores of the same judges on the target: the pools to say something of. Its labels are not read.
    gap_groups : int
        Most groups of score gaps above 0, cut at their quantiles; fewer where 20 prompts do not fill each.
    similarity : str, optional
        A numeric column of both tables; the value of a pair is the mean of its candidates'.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        Repeated in the settings; nothing is drawn.
    **reading
        How both tables are opened, see `bonwise.table.reading_options.ReadingOptions`; what is said of labels is said
        of `source` alone.

    Raises
    ------
    bonwise.errors.InputError
        No judge scored both tables.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> labelled, others = (simulate("arena", n=n, seed=n).frame() for n in (2000, 1000))
    >>> found = study_transfer(labelled, to=others.drop(columns="oracle_label")).judges["judge"]
    >>> round(found.figures["target"]["effective_agreement"].estimate, 1)
    0.6
    """
    from bonwise.studies.candidates.engine import transfer_study

    own, options = {"gap_groups": gap_groups, "similarity": similarity}, ReadingOptions.of(study_transfer, reading)
    return transfer_study(source, to, options, own, confidence=confidence, seed=seed)


STUDY = Study(study_candidates, CandidateCountStudy)

TRANSFER = Command(
    study_transfer,
    "Carry an audit over to candidates without labels.\n\n"
    "They need scores of the same judge. What too few labelled prompts resemble is left out, and counted.",
    without=NO_PROPENSITY,
)
