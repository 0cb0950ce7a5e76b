"""The audit: a table of scores and labels in, figures with intervals and a verdict out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from bonwise.auditing.candidate_effects.attributes import check_judge_family
from bonwise.auditing.comparison import choice_of_judges, compare_judges
from bonwise.auditing.further_panels import FurtherPanels
from bonwise.auditing.judge_audit import JudgeAudit, audit_judge, of_candidates
from bonwise.auditing.logged import logged_judge
from bonwise.auditing.picks_file import holds_picks, read_picks
from bonwise.auditing.result import Audit
from bonwise.auditing.settings import IntervalKind, Settings
from bonwise.auditing.stated_draw import StatedDraw, stated_draw
from bonwise.auditing.thresholds import Thresholds
from bonwise.auditing.verdict import Target
from bonwise.auditing.verdict_sentences import ORACLE
from bonwise.data.checks import CONFIDENCE, SEED, names_of
from bonwise.data.draw_beside import refuse_other_draw
from bonwise.data.label_design import LabelDesign
from bonwise.data.opening import ScoreSource, open_table
from bonwise.data.panel import Panel, lay_out
from bonwise.data.reading_options import ReadingKeywords, ReadingOptions, opens_a_table
from bonwise.data.table import ScoreTable
from bonwise.data.wording import listed, quoted
from bonwise.documents.audited.annotators import Annotators
from bonwise.errors import InputError, UsageError

if TYPE_CHECKING:
    pass

__all__ = ["audit"]


@opens_a_table
def audit(  # noqa: PLR0913 - the one front door of the audit; all but the source are named
    source: ScoreSource,
    *,
    control: str | Sequence[str] = (),
    keep_easy: str | Sequence[str] = (),
    target: Target = "best-of-n",
    interval: IntervalKind = "default",
    confidence: float = CONFIDENCE,
    resamples: int = 1000,
    seed: int = SEED,
    thresholds: Mapping[str, float] | None = None,
    as_picked: bool = False,
    design: str | Path | LabelDesign | None = None,
    outcome_model: Any = None,
    pools: str | Path | None = None,
    judge_family: str | Mapping[str, str] | None = None,
    **reading: Unpack[ReadingKeywords],
) -> Audit:
    """Audit one or several judges, or the picks that were made with one, against oracle labels.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Long table ``prompt_id, candidate, judge_score, oracle_label`` and optional columns; or a file of logged
        picks, as ``bonwise select`` writes it, with `labels`.
    control : str or sequence of str
        Named easy candidates: left out of the figures, and every metric reported with them as well.
    keep_easy : str or sequence of str
        Candidates that count like any other although they are worst almost everywhere. An easy candidate that is
        named neither here nor in `control` leaves the verdict and every gate open; see `docs/verdict.md`.
    target : {"best-of-n", "system"}
        The decision the verdict is about.
    interval : {"default", "bootstrap"}
        Jackknife and Fieller, or the percentile cluster bootstrap.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    resamples, seed : int
        Of the bootstrap, 2 and 0 or more; the seed is also that of the folds of level_bias, and of the draws behind
        `Audit.choice`.
    thresholds : mapping of str to float, optional
        Replaces gates of the verdict, such as ``{"within_r_useful": 0.5}``.
    as_picked : bool
        Of logged picks: take what the seed drew among equals, not its expectation.
    design : str, pathlib.Path or LabelDesign, optional
        How the labelled prompts were drawn from all of them: ``"uniform"`` for a simple random sample, or the file
        that ``bonwise labels draw`` wrote. Where candidates were labelled one by one: ``"cells"`` for a random sample
        of all candidates, ``"cells-by-score"`` for chances that depend on scores and names alone. Figures then are
        estimates for all prompts; see `docs/partial_labels.md`.
    outcome_model : object, optional
        Regressor in the manner of scikit-learn that takes the place of the ridge where labels are a sample; it is
        copied, and always cross-fitted.
    pools : str or pathlib.Path, optional
        Pools with the texts of the candidates, of which the lengths are taken; otherwise those of a column ``text``
        or ``response``. See `docs/length_order_family.md`.
    judge_family : str or mapping of str to str, optional
        The model family that the judge is of, to tell whether it prefers candidates of its own; a mapping gives that
        of each judge by name.
    **reading
        How the table is opened, see `bonwise.data.reading_options.ReadingOptions`.

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
    options = ReadingOptions.of(audit, reading)
    settings = Settings(
        confidence=confidence,
        interval=interval,
        resamples=resamples,
        seed=seed,
        exclude=options.exclude,
        control=names_of("control", control),
        keep_easy=names_of("keep_easy", keep_easy),
        target=target,
        shape=options.shape,
        thresholds=Thresholds().override(thresholds or {}),
        outcome_model=outcome_model,
        pools=pools,
        judge_family={"": judge_family} if isinstance(judge_family, str) else dict(judge_family or {}),
    )
    if isinstance(source, str | Path) and holds_picks(Path(source)):
        picks = read_picks(source, as_picked=as_picked)
        if options.oracle is not None or options.judge_scale or judge_family:
            raise UsageError(
                f"{picks.source}: logged picks hold no scores",
                hint="leave --oracle, --judge-scale and --judge-family out",
            )
        judge, table = logged_judge(picks, settings, options, design)
        _refuse_unknown(settings.keep_easy, table)
        return Audit(
            {judge.judge: judge},
            (),
            settings,
            table.source,
            scales=table.declared_scales,
            picks=picks,
            labels_left_out=table.labels_left_out,
            table=table,
            annotators=_annotators(table, [judge], settings),
        )
    if as_picked:
        raise UsageError("as_picked works only with logged picks", hint="leave --as-picked out")
    table = open_table(source, options)
    check_judge_family(table, settings)
    refuse_other_draw(design, source if options.labels is None else options.labels, table)
    return _audit(table, settings, stated_draw(design, table))


def _audit(table: ScoreTable, settings: Settings, stated: StatedDraw | None) -> Audit:
    table.check_scales(alike=False)
    panels = lay_out(table, exclude=(*settings.exclude, *settings.control), shape=settings.shape)
    _refuse_unknown(settings.keep_easy, table)
    others = FurtherPanels(table, settings)
    against = f"{table.reference}" if table.reference is not None else ORACLE
    judges, refused, covariates = [], {}, _covariates(panels, stated)
    for panel in panels:
        if panel.judge in covariates:
            continue
        try:
            judges.append(audit_judge(panel, others, settings, table=table, against=against, stated=stated))
        except InputError as error:
            if len(panels) == 1 + len(covariates):
                raise
            refused[panel.judge] = error.message
    if not judges:
        first, reason = next(iter(refused.items()))
        raise InputError(f"{table.source}: no judge can be audited; {first!r}: {reason}", hint="see bonwise doctor")
    comparisons = compare_judges(judges, settings)
    return Audit(
        {judge.judge: judge for judge in judges},
        comparisons,
        settings,
        table.source,
        table.columns,
        table.reference,
        table.draws,
        table.declared_scales,
        refused,
        labels_left_out=table.labels_left_out,
        covariates=covariates,
        table=table,
        choice=choice_of_judges(judges, comparisons, settings),
        annotators=_annotators(table, judges, settings),
    )


def _annotators(table: ScoreTable, judges: Sequence[JudgeAudit], settings: Settings) -> Annotators | None:
    if table.annotators is None:
        return None
    from bonwise.auditing.annotators import annotators_of  # noqa: PLC0415 - few tables have annotators

    return annotators_of(table, table.annotators, judges, settings)


def _refuse_unknown(keep_easy: Sequence[str], table: ScoreTable) -> None:
    unknown = [name for name in keep_easy if name not in table.candidates]
    if unknown:
        raise UsageError(
            f"{table.source}: no candidate named {quoted(unknown[0])} to keep",
            hint=f"the candidates are {listed(table.candidates)}",
        )


def _covariates(panels: Sequence[Panel], stated: StatedDraw | None) -> dict[str, str]:
    """Return the judges that a draw of single candidates was not made for: none of their picks were drawn."""
    if stated is None or stated.design is None or not stated.design.judge:
        return {}
    drawn_for = stated.design.judge
    if all(panel.judge != drawn_for for panel in panels):
        return {}
    return {
        panel.judge: f"serves as covariate: the design was drawn for {drawn_for}"
        for panel in panels
        if panel.judge != drawn_for and of_candidates(stated, panel)
    }
