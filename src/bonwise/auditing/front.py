"""The audit: a table of scores and labels in, figures with intervals and a verdict out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from bonwise.flags import NO_FLAG, Command, Flag, judge_families, shares
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import NO_PROPENSITY, ReadingKeywords, ReadingOptions, opens_a_table

if TYPE_CHECKING:
    from bonwise.auditing.readiness import Readiness
    from bonwise.auditing.result import Audit, GateRule, IntervalKind
    from bonwise.auditing.result_labels import GainOfLabel
    from bonwise.auditing.result_verdict import Target
    from bonwise.table.label_design import LabelDesign
    from bonwise.table.opening import ScoreSource


@opens_a_table
def audit(  # noqa: PLR0913 - the one front door of the audit; all but the source are named
    source: Annotated[
        ScoreSource,
        Flag(
            "Scores (CSV, JSONL, Parquet, a TREC run, a folder), or picks of bonwise select; one or more.",
            "FILE",
            Path,
        ),
    ],
    *,
    control: Annotated[
        str | Sequence[str],
        Flag("An easy or outstanding candidate: report with and without (repeatable).", kind=list[str]),
    ] = (),
    keep_easy: Annotated[
        str | Sequence[str],
        Flag("An easy or outstanding candidate that counts like any other (repeatable).", kind=list[str], rare=True),
    ] = (),
    target: Annotated[Target, Flag("The decision: best-of-n or system.", kind=str, rare=True)] = "best-of-n",
    stratum: Annotated[
        str | Sequence[str],
        Flag(
            "Name the worst and best prompts by this column; by default by all (repeatable).",
            kind=list[str],
            rare=True,
        ),
    ] = (),
    weight_col: Annotated[str | None, Flag("Column of what each prompt weighs in every figure.", rare=True)] = None,
    design: Annotated[
        str | Path | LabelDesign | None,
        Flag(
            "How labels were drawn: uniform (prompts), cells or cells-by-score (candidates), or the file of bonwise "
            "labels draw.",
            kind=str,
        ),
    ] = None,
    interval: Annotated[
        IntervalKind, Flag("default (jackknife, Fieller) or bootstrap.", kind=str, rare=True)
    ] = "default",
    gate: Annotated[
        GateRule,
        Flag("How gates are decided: default, or bounded, which needs labels of a known range.", kind=str, rare=True),
    ] = "default",
    confidence: float = CONFIDENCE,
    resamples: Annotated[int, Flag("Of the bootstrap.", rare=True)] = 1000,
    seed: int = SEED,
    thresholds: Annotated[
        Mapping[str, float] | None,
        Flag("Replace a threshold of the verdict, NAME=VALUE.", "--threshold", list[str], shares, rare=True),
    ] = None,
    as_picked: Annotated[bool, Flag("Of logged picks: what the seed drew, not its expectation.", rare=True)] = False,
    pools: Annotated[
        str | Path | None,
        Flag("Pools (JSONL, or a folder of BEIR) with the texts of candidates: lengths, and words for --html."),
    ] = None,
    judge_family: Annotated[
        str | Mapping[str, str] | None,
        Flag(
            "Model family of the judge, NAME or JUDGE=NAME (repeatable), for its own against others.",
            kind=list[str],
            read=judge_families,
            rare=True,
        ),
    ] = None,
    top: Annotated[
        int | None,
        Flag("Best k of n: what the k highest scored are worth, with nDCG and recall.", kind=int, rare=True),
    ] = None,
    gain: Annotated[GainOfLabel, Flag("Of nDCG: linear, or exp for 2^label - 1.", kind=str, rare=True)] = "linear",
    in_passes: Annotated[
        bool,
        Flag(
            "Pass over the file instead of holding it in memory; a large file, a folder or a pattern always is.",
            rare=True,
        ),
    ] = False,
    stats_out: Annotated[
        str | Path | None,
        Flag("Write what the passes added up here, to be merged: bonwise audit *.stats.", kind=Path, rare=True),
    ] = None,
    like: Annotated[
        str | Path | None,
        Flag("Of --stats-out: the stats file of another part, to merge with.", kind=Path, rare=True),
    ] = None,
    outcome_model: Annotated[Any, NO_FLAG] = None,
    **reading: Unpack[ReadingKeywords],
) -> Audit:
    """Audit one or several judges, or the picks that were made with one, against oracle labels.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Long table ``prompt_id, candidate, judge_score, oracle_label`` and optional columns; or a file of logged
        picks, as ``bonwise select`` writes it, with `labels`.
    control : str or sequence of str
        Named easy or outstanding candidates: left out of the figures, and every metric reported with them as well.
    keep_easy : str or sequence of str
        Candidates that count like any other although they hold an end of the labels. An easy candidate that is
        named neither here nor in `control` leaves the verdict and every gate open, and outstanding ones those that
        pass with them and not without; see `docs/verdict.md`.
    target : {"best-of-n", "system"}
        The decision the verdict is about.
    stratum : str or sequence of str
        Columns with one value per prompt, such as a topic: the verdict names the worst and the best subset of the
        prompts by them. Where none is named, by all such columns; see `docs/subsets.md`.
    weight_col : str, optional
        Column of what each prompt weighs in every figure, such as its share of traffic; see `docs/intervals.md`.
    design : str, pathlib.Path or LabelDesign, optional
        How the labelled prompts were drawn from all of them: ``"uniform"`` for a simple random sample, or the file
        that ``bonwise labels draw`` wrote. Where candidates were labelled one by one: ``"cells"`` for a random sample
        of all candidates, ``"cells-by-score"`` for chances that depend on scores and names alone. Figures then are
        estimates for all prompts; see `docs/partial_labels.md`.
    interval : {"default", "bootstrap"}
        Jackknife and Fieller, or the percentile cluster bootstrap.
    gate : {"default", "bounded"}
        How gates of figures of picks are decided: by one-sided bounds of their intervals, or by bets that hold for
        every law of labels with a known range, and pass good judges less often; see `docs/intervals.md`.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    resamples, seed : int
        Of the bootstrap, 2 and 0 or more; the seed is also that of the folds of level_bias, and of the draws behind
        `Audit.choice`.
    thresholds : mapping of str to float, optional
        Replaces gates of the verdict, such as ``{"within_r_useful": 0.5}``.
    as_picked : bool
        Of logged picks: take what the seed drew among equals, not its expectation.
    pools : str or pathlib.Path, optional
        Pools with the texts of the candidates, of which the lengths are taken; otherwise those of a column ``text``
        or ``response``. See `docs/length_order_family.md`.
    judge_family : str or mapping of str to str, optional
        The model family that the judge is of, to tell whether it prefers candidates of its own; a mapping gives that
        of each judge by name.
    top : int, optional
        Audit the best k of each prompt too, as a reranker keeps them: `top_value` and `top_recovery`, and over all
        documents with a label `ndcg` and `recall`; see `docs/estimands/top_k.md`.
    gain : {"linear", "exp"}
        What nDCG gives for a label: the label, or 2 to its power less 1.
    in_passes : bool
        Pass over the table instead of holding it in memory. Always so for a folder of Parquet or CSV, a pattern such
        as ``parts/*.parquet``, an address such as ``s3://...``, stats files, and a file of more than 5 million rows;
        see `docs/scale.md`.
    stats_out, like : str or pathlib.Path, optional
        Write what the passes added up as a stats file, with the scales that another one fixed: a list of stats files
        is one table.
    outcome_model : object, optional
        Regressor in the manner of scikit-learn that takes the place of the ridge where labels are a sample; it is
        copied, and always cross-fitted.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    Audit

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> found = audit(simulate("arena", n=500, seed=1).frame())
    >>> found["recovery"].n
    500
    """
    from bonwise.auditing.engine import audited

    return audited(
        source,
        ReadingOptions.of(audit, reading),
        control=control,
        keep_easy=keep_easy,
        target=target,
        stratum=stratum,
        weight_col=weight_col,
        interval=interval,
        gate=gate,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        thresholds=thresholds,
        as_picked=as_picked,
        design=design,
        outcome_model=outcome_model,
        pools=pools,
        judge_family=judge_family,
        top=top,
        gain=gain,
        in_passes=in_passes,
        stats_out=stats_out,
        like=like,
    )


@opens_a_table
def study_readiness(
    source: Annotated[ScoreSource, Flag("Scores and labels: CSV, JSONL, Parquet or a folder.", "FILE", Path)],
    *,
    target: Annotated[Target, Flag("The decision: best-of-n or system.", kind=str)] = "best-of-n",
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **reading: Unpack[ReadingKeywords],
) -> Readiness:
    """Go through six points before a judge chooses for users (Landesberg 2026, section 7.5).

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
    target : {"best-of-n", "system"}
        The decision the verdict is about.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        As of `audit` and `route`.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> points = study_readiness(simulate("arena", n=200, seed=1).frame()).judges["judge"]
    >>> points["target"].state, points["pairwise"].state
    ('fails', 'cannot be said')
    """
    from bonwise.auditing.readiness import readiness

    return readiness(audit(source, target=target, confidence=confidence, seed=seed, **reading), seed)


READINESS = Command(
    study_readiness,
    """Go through six points before a judge chooses for users.

    Each point has figures with intervals, or says what the table lacks, and a command that says more.
    """,
    without=NO_PROPENSITY,
)
