"""The audit: a table of scores and labels in, figures with intervals and a verdict out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from bonwise.auditing.candidate_attributes import check_judge_family
from bonwise.auditing.comparison import JudgePairs, choice_of_judges, compare_judges
from bonwise.auditing.gates import open_gate
from bonwise.auditing.judge_audit import FurtherPanels, JudgeAudit, audit_judge, of_candidates
from bonwise.auditing.labelling import StatedDraw, stated_draw
from bonwise.auditing.logged_picks import holds_picks, logged_judge, picks_made, read_picks
from bonwise.auditing.per_prompt import per_prompt
from bonwise.auditing.result import AuditDocument, AuditSettings, ChoiceRecord, JudgesCompared, ThresholdValues
from bonwise.auditing.result_labels import Annotators, AuditData
from bonwise.auditing.result_verdict import Gate, Verdict
from bonwise.auditing.settings import IntervalKind, Settings
from bonwise.auditing.verdict import ORACLE, Target, Thresholds
from bonwise.documented import DocumentedResult
from bonwise.errors import InputError, UsageError
from bonwise.estimates import estimate_records
from bonwise.printable import listed, quoted
from bonwise.release import release
from bonwise.results import Document, given
from bonwise.stats.estimate import Estimate
from bonwise.table.checks import CONFIDENCE, SEED, names_of
from bonwise.table.facts import PicksMade, labels_left_out
from bonwise.table.label_design import LabelDesign, refuse_other_draw
from bonwise.table.opening import ScoreSource, open_table
from bonwise.table.panel import Panel, lay_out
from bonwise.table.picks import Picks
from bonwise.table.reading_options import ReadingKeywords, ReadingOptions, opens_a_table
from bonwise.table.score_table import ScoreTable

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.report.blocks import Drawing, FigureData
    from bonwise.results import Document

__all__ = ["Audit", "audit"]


@dataclass(frozen=True, eq=False)
class Audit(DocumentedResult):
    """The result of an audit.

    With one judge, ``audit["recovery"]``, `metrics` and `verdict` are that judge's; with several,
    take ``audit.judges["name"]``.
    """

    judges: Mapping[str, JudgeAudit]
    """The judges that could be audited."""
    comparisons: tuple[JudgesCompared, ...]
    """Every pair of judges, paired by prompt."""
    settings: Settings
    source: str = "table"
    """Where the scores came from."""
    columns: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the columns were taken for."""
    reference: str | None = None
    """The judge that stood in for oracle labels."""
    draws: int = 1
    """Most scores of one candidate by one judge that were averaged, 1 where none were."""
    scales: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What was declared: ``label_scale``, and ``judge_scale`` by judge."""
    not_audited: Mapping[str, str] = field(default_factory=dict)
    """The judges without a prompt to audit them on, and why."""
    picks: Picks | None = field(default=None, repr=False)
    """The logged picks that were audited, in place of a judge's scores."""
    labels_left_out: Mapping[str, int] = field(default_factory=dict)
    """Labels of prompts that were not there to audit: ``prompts`` and ``rows``; empty where there are none."""
    covariates: Mapping[str, str] = field(default_factory=dict)
    """The judges that only help to audit another one, and why; gates do not ask for them."""
    table: ScoreTable | None = field(default=None, repr=False)
    """The table that was audited."""
    choice: Mapping[str, ChoiceRecord] = field(default_factory=dict, repr=False)
    """The best by ``recovery`` and by ``gain``, with intervals that hold after the choice and intervals that hold
    together; empty where fewer than two are compared.
    """
    annotators: Annotators | None = field(default=None, repr=False)
    """Where candidates have labels of several annotators: how these became one, and how far they agree."""

    def __getitem__(self, metric: str) -> Estimate:
        return self.metrics[metric]

    def __repr__(self) -> str:
        names = ", ".join(self.judges)
        return f"<Audit of {names} on {self.source}>"

    @property
    def metrics(self) -> Mapping[str, Estimate]:
        """Metrics of the only judge."""
        return self._only.metrics

    @property
    def verdict(self) -> Verdict:
        """Verdict on the only judge."""
        return self._only.verdict

    @property
    def data(self) -> AuditData:
        """Counts and dropped prompts of the only judge."""
        return self._only.data

    @property
    def _only(self) -> JudgeAudit:
        if len(self.judges) > 1:
            raise UsageError(
                f"this audit holds {len(self.judges)} judges", hint="take audit.judges[name] of one of them"
            )
        return next(iter(self.judges.values()))

    def check(self, gates: Mapping[str, float]) -> tuple[Gate, ...]:
        """Compare metrics of every judge with values.

        Parameters
        ----------
        gates : mapping of str to float
            Metric to the value it must exceed.

        Returns
        -------
        tuple of Gate

        Raises
        ------
        bonwise.errors.UsageError
            A name that is not a metric.
        """
        audited = [judge.gate(metric, value) for judge in self.judges.values() for metric, value in gates.items()]
        # Every judge must pass, so one that could not be audited leaves its gates open.
        others = [
            open_gate(metric, value, judge=name, why=why)
            for name, why in self.not_audited.items()
            for metric, value in gates.items()
        ]
        return (*audited, *others)

    def per_prompt(self) -> pd.DataFrame:
        """Return one row per prompt and judge: pick, best, gain lost, tie, margin; the worst first."""
        return per_prompt(tuple(self.judges.values()))

    def to_frame(self) -> pd.DataFrame:
        """Return the metrics of all judges as a table, one row per judge and metric.

        Columns: ``judge``, ``metric``, ``estimate``, ``low``, ``high``, ``se``, ``n`` prompts, ``interval`` and
        ``method``; where some metric has it ``reason``: why something is missing, ``ess`` and ``labelled_only``.
        """
        return super().to_frame()

    def to_html(
        self,
        path: str | Path,
        *,
        pools: str | Path | None = None,
        gates: Mapping[str, float] | None = None,
        also: Sequence[Document | DocumentedResult] = (),
    ) -> None:
        """Write the page of the audit: one file that a browser shows without asking anyone for anything.

        Where there are more prompts than a page can hold, all of them go to a file beside it, ``NAME-prompts.csv``.

        Parameters
        ----------
        path : str or pathlib.Path
        pools : str or pathlib.Path, optional
            Pools with the words of prompts and candidates, where the table does not hold them.
        gates : mapping of str to float, optional
            Metric to the value it must exceed, shown with the outcome.
        also : sequence
            Further results that the page shows as sections, such as that of `bonwise.route`, or of a study.

        Raises
        ------
        bonwise.errors.InputError
            The pools cannot be read, or hold none of the prompts.
        bonwise.errors.FileError
            The page cannot be written, or the file beside it is there already and holds something else.
        """
        from bonwise.auditing.page import write_page

        write_page(self, path, pools=pools, gates=gates, also=also)

    @property
    def drawings(self) -> list[Drawing[FigureData]]:
        """The drawings of the page; each has ``plot(ax=)`` and ``to_frame()``."""
        from bonwise.auditing.page import page_drawings

        return page_drawings(self)

    def document(self, gates: Sequence[Gate] = ()) -> AuditDocument:
        """Return the document of schema ``bonwise.audit/1``.

        Parameters
        ----------
        gates : sequence of Gate
            As `check` gives them; the document holds them too.
        """
        return AuditDocument.of(
            {name: judge.record() for name, judge in self.judges.items()},
            self._settings_record(),
            comparisons=self.comparisons,
            not_audited=self.not_audited,
            covariates=self.covariates,
            gates=gates,
            choice=self.choice,
            annotators=self.annotators,
        )

    def _settings_record(self) -> AuditSettings:
        asked = self.settings
        return AuditSettings(
            confidence=asked.confidence,
            interval=asked.interval,
            exclude=list(asked.exclude),
            control=list(asked.control),
            target=asked.target,
            seed=asked.seed,
            thresholds=ThresholdValues(**asdict(asked.thresholds)),
            version=release(),
            shape=next(iter(self.judges.values())).labelling.panel.shape,
            source=self.source,
            columns=dict(self.columns),
            draws=self.draws,
            **self.scales,
            **given(
                resamples=asked.resamples if asked.interval == "bootstrap" else None,
                outcome_model=None if asked.outcome_model is None else type(asked.outcome_model).__name__,
                reference=self.reference,
                picks=self._picks_made(),
                labels_left_out=labels_left_out(self.labels_left_out),
                keep_easy=list(asked.keep_easy) or None,
                pools=None if asked.pools is None else str(asked.pools),
                judge_family=dict(asked.judge_family) or None,
                label_words=None if self.table is None else dict(self.table.label_words) or None,
                readings=None if self.table is None else dict(self.table.readings) or None,
            ),
        )

    def _picks_made(self) -> PicksMade | None:
        if self.picks is None:
            return None
        labelling = self._only.labelling
        return picks_made(self.picks, labelling.panel.prompt_ids[labelling.labelled])


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
    pairs = compare_judges(judges, settings)
    return Audit(
        {judge.judge: judge for judge in judges},
        _compared(pairs),
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
        choice=choice_of_judges(judges, pairs, settings),
        annotators=_annotators(table, judges, settings),
    )


def _compared(pairs: JudgePairs) -> tuple[JudgesCompared, ...]:
    return tuple(
        JudgesCompared(
            first=first, second=second, prompts=pair.prompts, differences=estimate_records(pair.differences)
        )
        for (first, second), pair in pairs.items()
    )


def _annotators(table: ScoreTable, judges: Sequence[JudgeAudit], settings: Settings) -> Annotators | None:
    if table.annotators is None:
        return None
    from bonwise.auditing.annotators import annotators_of

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
