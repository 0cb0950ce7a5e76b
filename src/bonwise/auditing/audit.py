"""The audit: a table of scores and labels in, figures with intervals and a verdict out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonwise.auditing.comparison import Comparison, compare_judges
from bonwise.auditing.gates import Gate, check_gate, open_gate
from bonwise.auditing.judge_audit import JudgeAudit, audit_judge, of_candidates
from bonwise.auditing.logged import logged_judge, picks_document
from bonwise.auditing.per_prompt import per_prompt
from bonwise.auditing.settings import IntervalKind, Settings
from bonwise.auditing.stated_draw import StatedDraw, stated_draw
from bonwise.auditing.thresholds import Thresholds
from bonwise.auditing.verdict import Target, Verdict
from bonwise.data.label_design import LabelDesign
from bonwise.data.opening import open_table
from bonwise.data.panel import Panel, Shape, lay_out
from bonwise.data.picks import Picks, holds_picks, read_picks
from bonwise.data.scales import Scale
from bonwise.data.table import ScoreTable
from bonwise.errors import InputError, UsageError
from bonwise.shown import Shown
from bonwise.stats.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Audit", "audit"]


@dataclass(frozen=True, eq=False)
class Audit(Shown):
    """The result of an audit.

    With one judge, ``audit["recovery"]``, `metrics` and `verdict` are that judge's; with several,
    take ``audit.judges["name"]``.

    Parameters
    ----------
    judges : mapping of str to JudgeAudit
        The judges that could be audited.
    comparisons : tuple of Comparison
        Every pair of judges, paired by prompt.
    settings : Settings
    source : str
        Where the scores came from.
    columns : mapping of str to str
        What the columns were taken for.
    reference : str or None
        The judge that stood in for oracle labels.
    draws : int
        Most scores of one candidate by one judge that were averaged, 1 where none were.
    scales : mapping of str to str
        What was declared: ``label_scale``, and ``judge_scale`` by judge.
    not_audited : mapping of str to str
        The judges without a prompt to audit them on, and why.
    picks : Picks or None
        The logged picks that were audited, in place of a judge's scores.
    labels_left_out : mapping of str to int
        Labels of prompts that were not there to audit: ``prompts`` and ``rows``; empty where there are none.
    covariates : mapping of str to str
        The judges that only help to audit another one, and why; gates do not ask for them.
    table : ScoreTable or None
        The table that was audited.
    """

    judges: Mapping[str, JudgeAudit]
    comparisons: tuple[Comparison, ...]
    settings: Settings
    source: str = "table"
    columns: Mapping[str, str] = field(default_factory=dict, repr=False)
    reference: str | None = None
    draws: int = 1
    scales: Mapping[str, Any] = field(default_factory=dict, repr=False)
    not_audited: Mapping[str, str] = field(default_factory=dict)
    picks: Picks | None = field(default=None, repr=False)
    labels_left_out: Mapping[str, int] = field(default_factory=dict)
    covariates: Mapping[str, str] = field(default_factory=dict)
    table: ScoreTable | None = field(default=None, repr=False)

    def __getitem__(self, metric: str) -> Estimate:
        return self.metrics[metric]

    def __repr__(self) -> str:
        names = ", ".join(self.judges)
        return f"<Audit of {names} on {self.source}>"

    def __str__(self) -> str:
        from bonwise.report.audit_text import audit_text  # noqa: PLC0415 - rendering loads rich

        return audit_text(self.to_dict())

    @property
    def metrics(self) -> Mapping[str, Estimate]:
        """Metrics of the only judge."""
        return self._only.metrics

    @property
    def verdict(self) -> Verdict:
        """Verdict on the only judge."""
        return self._only.verdict

    @property
    def data(self) -> dict[str, Any]:
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
        """Hold metrics of every judge against values.

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
            A name that is no metric.
        """
        audited = [
            check_gate(
                judge.metrics,
                metric,
                value,
                judge=name,
                labelled=judge.labelled_for(metric),
                unsettled=judge.unsettled,
            )
            for name, judge in self.judges.items()
            for metric, value in gates.items()
        ]
        # Every judge must pass, so one that could not be audited leaves its gates open.
        others = [
            open_gate(metric, value, judge=name, why=why)
            for name, why in self.not_audited.items()
            for metric, value in gates.items()
        ]
        return (*audited, *others)

    def per_prompt(self) -> pd.DataFrame:
        """Return one row a prompt and judge: pick, best, gain lost, tie, margin; the worst first."""
        return per_prompt(tuple(self.judges.values()))

    def to_frame(self) -> pd.DataFrame:
        """Return the metrics of all judges as a table, one row a judge and metric."""
        import pandas as pd  # noqa: PLC0415 - loaded anyway by whoever made the audit

        rows = [
            {"judge": name, "metric": metric, **found.to_dict()}
            for name, judge in self.judges.items()
            for metric, found in judge.metrics.items()
        ]
        return pd.DataFrame(rows)

    def to_html(
        self,
        path: str | Path,
        *,
        pools: str | Path | None = None,
        gates: Mapping[str, float] | None = None,
        also: Sequence[Shown] = (),
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
            The page cannot be written.
        """
        from bonwise.auditing.exhibits.page import write_page  # noqa: PLC0415 - drawing loads matplotlib

        write_page(self, path, pools=pools, gates=gates, also=also)

    def to_dict(self) -> dict[str, Any]:
        """Return the document of schema ``bonwise.audit/1``; it holds no NaN."""
        settings = {
            **self.settings.to_dict(),
            "shape": next(iter(self.judges.values())).labelling.panel.shape,
            "source": self.source,
            "columns": dict(self.columns),
            "draws": self.draws,
            **self.scales,
        }
        if self.reference is not None:
            settings["reference"] = self.reference
        if self.picks is not None:
            labelling = self._only.labelling
            settings["picks"] = picks_document(self.picks, labelling.panel.prompt_ids[labelling.labelled])
        if self.labels_left_out:
            settings["labels_left_out"] = dict(self.labels_left_out)
        document: dict[str, Any] = {"schema": "bonwise.audit/1"}
        if len(self.judges) == 1 and not self.not_audited:
            document["judge"] = self._only.judge
            document.update(self._only.to_dict())
        else:
            document["judges"] = {name: judge.to_dict() for name, judge in self.judges.items()}
            document["comparisons"] = [comparison.to_dict() for comparison in self.comparisons]
            document["not_audited"] = dict(self.not_audited)
        if self.covariates:
            document["covariates"] = dict(self.covariates)
        document["settings"] = settings
        return document


def audit(  # noqa: PLR0913 - the one front door of the audit; all but the source are named
    source: str | Path | pd.DataFrame | ScoreTable,
    *,
    labels: str | Path | pd.DataFrame | None = None,
    oracle: str | None = None,
    exclude: str | Sequence[str] = (),
    control: str | Sequence[str] = (),
    target: Target = "best-of-n",
    interval: IntervalKind = "default",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    shape: Shape | None = None,
    thresholds: Mapping[str, float] | None = None,
    columns: Mapping[str, str] | None = None,
    judge_scale: Mapping[str, Scale] | Scale | None = None,
    label_scale: Scale | None = None,
    as_picked: bool = False,
    design: str | Path | LabelDesign | None = None,
    outcome_model: Any = None,
) -> Audit:
    """Audit one or several judges, or the picks that were made with one, against oracle labels.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or ScoreTable
        Long table ``prompt_id, candidate, judge_score, oracle_label`` and optional columns; or a file of logged
        picks, as ``bonwise select`` writes it, with `labels`.
    labels : str, pathlib.Path or pandas.DataFrame, optional
        Labels from elsewhere, joined on prompt and candidate.
    oracle : str, optional
        ``judge:NAME`` takes one judge of the table as the reference.
    exclude : str or sequence of str
        Candidate names to leave out.
    control : str or sequence of str
        Named easy candidates: left out of the figures, and every metric reported with them as well.
    target : {"best-of-n", "system"}
        The decision the verdict is about.
    interval : {"default", "bootstrap"}
        Jackknife and Fieller, or the percentile cluster bootstrap.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    resamples, seed : int
        Of the bootstrap, 2 and 0 or more; the seed also draws the folds of level_bias.
    shape : {"rectangular", "ragged"}, optional
        Forced; see `docs/tables.md`.
    thresholds : mapping of str to float, optional
        Replaces gates of the verdict, such as ``{"within_r_useful": 0.5}``.
    columns : mapping of str to str, optional
        Role to column name.
    judge_scale, label_scale : Scale, optional
        Declared scales; values are mapped to [0, 1]. A mapping declares the scale of each judge by name.
    as_picked : bool
        Of logged picks: take what the seed drew among equals, not its expectation.
    design : str, pathlib.Path or LabelDesign, optional
        How the labelled prompts were drawn from all of them: ``"uniform"`` for a simple random sample, or the file
        that ``bonwise labels draw`` wrote. Figures then are estimates for all prompts; see `docs/partial_labels.md`.
    outcome_model : object, optional
        Regressor in the manner of scikit-learn that takes the place of the ridge where labels are a sample; it is
        copied, and always cross-fitted.

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
    settings = Settings(
        confidence=confidence,
        interval=interval,
        resamples=resamples,
        seed=seed,
        exclude=_names(exclude),
        control=_names(control),
        target=target,
        shape=shape,
        thresholds=Thresholds().override(thresholds or {}),
        outcome_model=outcome_model,
    )
    if isinstance(source, str | Path) and holds_picks(Path(source)):
        picks = read_picks(source, as_picked=as_picked)
        if oracle is not None or judge_scale:
            raise UsageError(
                f"{picks.source}: logged picks hold no scores", hint="leave --oracle and --judge-scale out"
            )
        judge, table = logged_judge(picks, labels, settings, columns or {}, label_scale, design)
        return Audit(
            {judge.judge: judge},
            (),
            settings,
            table.source,
            scales=table.declared_scales,
            picks=picks,
            labels_left_out=table.labels_left_out,
            table=table,
        )
    if as_picked:
        raise UsageError("only of logged picks can the drawn ones be taken", hint="leave --as-picked out")
    table = open_table(
        source, labels=labels, oracle=oracle, columns=columns, judge_scale=judge_scale, label_scale=label_scale
    )
    return _audit(table, settings, stated_draw(design, table))


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _audit(table: ScoreTable, settings: Settings, stated: StatedDraw | None) -> Audit:
    table.check_scales()
    panels = lay_out(table, exclude=(*settings.exclude, *settings.control), shape=settings.shape)
    with_control: tuple[Panel | None, ...] = (
        lay_out(table, exclude=settings.exclude, shape=settings.shape) if settings.control else (None,) * len(panels)
    )
    against = f"{table.reference}" if table.reference is not None else "the oracle labels"
    judges, refused, covariates = [], {}, _covariates(panels, stated)
    for panel, easy in zip(panels, with_control, strict=True):
        if panel.judge in covariates:
            continue
        try:
            judges.append(audit_judge(panel, easy, settings, table=table, against=against, stated=stated))
        except InputError as error:
            if len(panels) == 1 + len(covariates):
                raise
            refused[panel.judge] = error.message
    if not judges:
        first, reason = next(iter(refused.items()))
        raise InputError(f"{table.source}: no judge can be audited; {first!r}: {reason}", hint="see bonwise doctor")
    return Audit(
        {judge.judge: judge for judge in judges},
        compare_judges(judges, settings),
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
