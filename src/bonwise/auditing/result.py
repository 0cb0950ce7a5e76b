"""The result of an audit: figures with intervals and a verdict a judge, gates, tables, the page and the document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonwise.auditing.choice import BestChoice
from bonwise.auditing.comparison import PairedDifferences
from bonwise.auditing.gates import open_gate
from bonwise.auditing.judge_audit import JudgeAudit
from bonwise.auditing.logged import picks_made
from bonwise.auditing.per_prompt import per_prompt
from bonwise.auditing.settings import Settings
from bonwise.data.picks import Picks
from bonwise.data.table import ScoreTable
from bonwise.documented import DocumentedResult
from bonwise.documents.audit import AuditDocument
from bonwise.documents.audited.annotators import Annotators
from bonwise.documents.audited.data import AuditData
from bonwise.documents.audited.gate import Gate
from bonwise.documents.audited.settings import AuditSettings, ThresholdValues
from bonwise.documents.audited.verdict import Verdict
from bonwise.documents.labels_left_out import labels_left_out
from bonwise.documents.picks_made import PicksMade
from bonwise.documents.record import given
from bonwise.errors import UsageError
from bonwise.release import release
from bonwise.stats.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.report.blocks import Drawing, FigureData

__all__ = ["Audit"]


@dataclass(frozen=True, eq=False)
class Audit(DocumentedResult):
    """The result of an audit.

    With one judge, ``audit["recovery"]``, `metrics` and `verdict` are that judge's; with several,
    take ``audit.judges["name"]``.
    """

    judges: Mapping[str, JudgeAudit]
    """The judges that could be audited."""
    comparisons: tuple[PairedDifferences, ...]
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
    choice: Mapping[str, BestChoice] = field(default_factory=dict, repr=False)
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
        also: Sequence[DocumentedResult] = (),
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
        from bonwise.auditing.exhibits.page import write_page  # noqa: PLC0415 - drawing loads matplotlib

        write_page(self, path, pools=pools, gates=gates, also=also)

    @property
    def drawings(self) -> list[Drawing[FigureData]]:
        """The drawings of the page; each has ``plot(ax=)`` and ``to_frame()``."""
        from bonwise.auditing.exhibits.page import page_drawings  # noqa: PLC0415 - loaded only to be shown

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
            comparisons=[comparison.record() for comparison in self.comparisons],
            not_audited=self.not_audited,
            covariates=self.covariates,
            gates=gates,
            choice={metric: one.record() for metric, one in self.choice.items()},
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
