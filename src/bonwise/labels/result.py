"""The documents of labels: a draw, designs compared, a sheet made from pools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from bonwise.estimates import EstimateRecord
from bonwise.printable import printable
from bonwise.results import Confidence, Count, Document, FrameRow, NonNegative, Record, Share
from bonwise.table import scales, writing
from bonwise.table.facts import DroppedPrompt, ValuesRead

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.labels.blind_sheet import BlindSheet, SheetFile
    from bonwise.table.label_design import LabelDesign


class PopulationSettings(ValuesRead):
    """The table, and how it was read."""

    source: str
    judge: str
    """Both: the audited judge."""
    further_judges: list[str]
    """The others, whose scores help to choose prompts."""
    shape: Literal["rectangular", "ragged"]
    labels_in_table: bool
    """Whether the table came with labels of its own."""
    label_file: str | None
    exclude: list[str]
    shape_asked: Literal["rectangular", "ragged"] | None
    columns: dict[str, str]
    judge_scale: dict[str, str]
    label_scale: str | None


_Squared = Annotated[float, Field(ge=0, le=1 + 1e-9)]
"""A squared correlation, which rounding may carry beyond 1."""

DesignName = Literal["uniform", "margin", "neyman", "stratified", "rule", "rule_further", "label_spread", "optimum"]


class ComparedShare(Record):
    """The variance of recovery under a design at one share, over that of as many labels drawn at random."""

    share: Annotated[float, Field(gt=0, lt=1)]
    """Of the prompts."""
    labels: Count
    """Prompts labelled."""
    labels_only: NonNegative
    """By the first-order formula, labels alone."""
    with_scores: NonNegative | None
    """The same where the model of an audit takes its part off; None where labels are used alone."""
    model: str
    drawn: NonNegative | None
    drawn_se: NonNegative | None
    """Both: labels alone, by repeated draws, with its Monte-Carlo standard error."""


class ComparedDesign(Record):
    """One design."""

    meaning: str
    """What its labels go to."""
    feasible: bool
    """Whether it looks only at what is known before labelling."""
    shares: list[ComparedShare]


class ComparedCounts(Record):
    """What the designs were compared on."""

    prompts: Count
    cells: Count
    unlabelled: Count
    dropped: list[DroppedPrompt]
    recovery: float
    all_tied: Count
    """Prompts whose candidates the judge ties throughout."""


class ComparisonSettings(PopulationSettings):
    """What was asked for."""

    shares: Annotated[list[float], Field(min_length=1)]
    draws: Annotated[int, Field(ge=2)]
    seed: Count
    confidence: Confidence
    version: str


class ProxyLink(Record):
    """How far one figure of a prompt tells another."""

    from_: str = Field(alias="from")
    to: str
    correlation: EstimateRecord
    """Over prompts."""
    explained: _Squared | None
    explained_low: _Squared | None
    explained_high: _Squared | None
    """All three: the squared correlation."""


class DesignComparison(Document):
    """What each label design would have cost or saved."""

    schema_: Literal["bonwise.label_designs/1"] = Field(default="bonwise.label_designs/1", alias="schema")
    settings: ComparisonSettings
    data: ComparedCounts
    designs: dict[DesignName, ComparedDesign]
    proxy_chain: list[ProxyLink]
    """What the judge's spread tells of the labels' spread and of the residuals."""
    sentences: list[str]

    frame_columns = (
        *("design", "feasible", "share", "labels", "labels_only", "with_scores", "model", "drawn", "drawn_se"),
    )

    @model_validator(mode="after")
    def _each_share_once(self) -> Self:
        if "uniform" not in self.designs:
            raise ValueError("designs hold no uniform, which the others are compared with")
        for name, design in self.designs.items():
            if [share.share for share in design.shares] != self.settings.shares:
                raise ValueError(f"{name} holds other shares than the settings")
        return self

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per design and share."""
        for name, design in self.designs.items():
            for share in design.shares:
                yield {"design": name, "feasible": design.feasible, **share.to_dict()}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per design and share: variances over that of as many labels drawn at random.

        Columns: ``design``, ``feasible`` (whether it looks only at what is known before labelling), ``share``,
        ``labels`` (prompts), ``labels_only``, ``with_scores``, ``model``, ``drawn`` and ``drawn_se``.
        """
        return super().to_frame()

    def __repr__(self) -> str:
        return f"<DesignComparison of {', '.join(self.designs)} on {printable(self.settings.source)}>"


class SheetSettings(Record):
    """What was asked for."""

    pools: str
    labels: Count | None
    """Prompts to label; None for all."""
    seed: Count
    exclude: list[str]
    """Candidates left out."""
    label_scale: str | None
    version: str
    """Of bonwise."""


class SheetCounts(Record):
    """What there is, and what is on the sheet."""

    prompts: Count
    """With two candidates or more."""
    single: Count
    """Prompts with fewer, which are not labelled."""
    prompts_to_label: Count
    responses_to_label: Count

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if not self.prompts_to_label <= self.prompts or self.responses_to_label < 2 * self.prompts_to_label:
            raise ValueError(
                f"{self.prompts_to_label} of {self.prompts} prompts with {self.responses_to_label} responses"
            )
        return self


class PoolSheet(Document):
    """What is to be labelled of pools that have no scores yet."""

    schema_: Literal["bonwise.label_sheet/1"] = Field(default="bonwise.label_sheet/1", alias="schema")
    settings: SheetSettings
    data: SheetCounts

    frame_columns = ("prompts", "single", "prompts_to_label", "responses_to_label")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield the one row of counts."""
        yield self.data.to_dict()

    @property
    def sheet(self) -> BlindSheet:
        """What to label; one that was loaded has none."""
        sheet: BlindSheet = self.source_of("sheet")
        return sheet

    @property
    def of_all(self) -> bool:
        """Whether every prompt with two candidates is on it."""
        return self.data.prompts_to_label == self.data.prompts

    def write(self, path: str | Path) -> None:
        """Write the sheet: ``.html`` a page, ``.json`` tasks for Label Studio, any other CSV.

        UsageError where a sheet with labels stands there, or the scale has labels that a page cannot offer.
        """
        from bonwise.labels.blind_sheet import SheetFile, write_sheet  # noqa: PLC0415 - a result is shown without it

        write_sheet(SheetFile(Path(path), self.sheet.text(path), self.sheet.beside(path)))


DrawRule = Literal["rule", "uniform", "stratified", "neyman", "pick", "pair", "whole-and-pair"]
"""By what prompts are chosen."""

_ROUNDING = 1e-9


class DrawnStratum(Record):
    """Prompts that were drawn alike."""

    stratum: Count
    prompts: Annotated[int, Field(ge=1)]
    drawn_before: Count
    drawn_now: Count
    propensity: Share
    """Probability of being drawn, over all phases."""
    mean_size: NonNegative | None
    """What the rule takes the spread of the outcome to be in proportion to; None where it looks at no size."""
    whole_pools: Count | None = None
    pairs: Count | None = None
    """Both: of a draw by cell for recovery: prompts drawn with all candidates, and as a pair, over all phases."""
    unit: Literal["cluster"] | None = None
    """Where clusters are drawn whole, `prompts`, `drawn_before` and `drawn_now` count clusters."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        drawn = self.drawn_before + self.drawn_now
        if drawn > self.prompts:
            raise ValueError(f"{drawn} of {self.prompts} prompts were drawn")
        if not isclose(self.propensity, drawn / self.prompts, rel_tol=_ROUNDING):
            raise ValueError(
                f"{drawn} of {self.prompts} prompts were drawn, a propensity other than {self.propensity}"
            )
        return self


class DrawnClusters(Record):
    """Clusters of prompts, each drawn whole or not at all: of the table, over all phases, and in this one."""

    clusters: Count
    drawn: Count
    drawn_now: Count


class DrawCounts(Record):
    """Prompts of the table, and those drawn."""

    prompts: Count
    cells: Count
    """Both: prompts that could be drawn, and their candidates."""
    dropped: list[DroppedPrompt]
    drawn: Count
    drawn_now: Count
    """Both: over all phases, and in this one."""
    candidate_labels_now: Count
    labelled_already: Count | None = None
    """Of a draw by cell: candidates drawn now that have a label, and need none."""
    clusters: DrawnClusters | None = None
    """Where the table names clusters: they are drawn whole."""


class DrawSettings(PopulationSettings):
    """What was asked for."""

    design: DrawRule
    labels: Annotated[int, Field(ge=2)]
    seed: Count
    phase: Annotated[int, Field(ge=1)]
    texts: bool
    after: str | None
    version: str
    drawn_for: Literal["recovery", "gain"] | None = None
    """What the labels are for; of a draw by cell alone."""
    pools: str | None = None
    """Where the words of the sheet come from; the sheet then shows no names."""


class WidthRatio(Record):
    """Width of the interval to expect, over that of as many labels drawn at random."""

    estimate: NonNegative | None
    explained: Share | None
    """Share of the outcome's variance that scores are taken to explain."""
    assumption: str | None = None
    """What the estimate rests on."""
    reason: str | None = None
    """Why there is none."""

    @model_validator(mode="after")
    def _says_why(self) -> Self:
        if (self.estimate is None) != (self.reason is not None) or (self.estimate is None) != (
            self.assumption is None
        ):
            raise ValueError("an estimate has an assumption, and no estimate a reason")
        return self


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """What a draw holds by prompt and candidate."""

    design: LabelDesign
    sheet: pd.DataFrame


class LabelDraw(Document):
    """Which prompts to label now, and how they were drawn."""

    schema_: Literal["bonwise.labels/1"] = Field(default="bonwise.labels/1", alias="schema")
    settings: DrawSettings
    data: DrawCounts
    strata: list[DrawnStratum]
    ess: NonNegative
    """Effective sample size of the weights."""
    width_ratio: WidthRatio
    sentences: list[str]

    frame_columns = ("stratum", "prompts", "drawn_before", "drawn_now", "propensity", "mean_size")
    frame_of = "strata"

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        data, strata = self.data.clusters or self.data, self.strata
        units = self.data.prompts if self.data.clusters is None else self.data.clusters.clusters
        for what, stated, added in (
            (
                "prompts" if self.data.clusters is None else "clusters",
                units,
                sum(stratum.prompts for stratum in strata),
            ),
            ("drawn_now", data.drawn_now, sum(stratum.drawn_now for stratum in strata)),
            ("drawn", data.drawn, sum(stratum.drawn_before + stratum.drawn_now for stratum in strata)),
        ):
            if stated != added:
                raise ValueError(f"data say {what} {stated}, the strata {added}")
        return self

    @property
    def design(self) -> LabelDesign:
        """All phases up to this one; a draw that was loaded has none."""
        rows: DrawnRows = self.source_of("design")
        return rows.design

    @property
    def sheet(self) -> pd.DataFrame:
        """What to label now, labels blank; a draw that was loaded has none.

        Columns: ``prompt_id``, ``candidate``, ``oracle_label``. What was drawn in earlier phases stands before, with
        the labels that it has, where the table itself holds none. Words of prompts and candidates stand in further
        columns where they were asked for.
        """
        rows: DrawnRows = self.source_of("sheet")
        return rows.sheet

    def to_frame(self) -> pd.DataFrame:
        """Return the rows of the design, one a prompt, those to label first.

        Columns: ``prompt_id``, ``phase`` (0 where it was not drawn), ``propensity``, ``stratum``, ``seed``, ``rule``,
        ``judge`` and, where single candidates are drawn, ``pick`` and ``other``; by cell ``part`` (``whole`` or
        ``pair``) and the probabilities ``propensity_top`` of each top candidate, ``propensity_other`` of each other
        one and ``propensity_pair`` of two of them together. A draw that was loaded holds no prompts: one row per
        stratum.
        """
        return super().to_frame() if self._source is None else self.design.frame()

    def __repr__(self) -> str:
        prompts = self.data.prompts
        return (
            f"<LabelDraw by {self.settings.design}: {self.data.drawn_now:,} of {prompts:,} "
            f"prompt{'' if prompts == 1 else 's'}, phase {self.settings.phase}>"
        )

    def write(self, path: str | Path, *, sheet: str | Path | None = None) -> None:
        """Write the design, for ``bonwise audit --design`` to read, and the label sheet.

        Parameters
        ----------
        path : str or pathlib.Path
            Of the design.
        sheet : str or pathlib.Path, optional
            Of the sheet: ``.html`` is a page for a browser, ``.json`` holds tasks for Label Studio (the labeling
            interface is written beside it as ``.xml``), any other is CSV, whose cells no spreadsheet runs. A page,
            tasks, and a sheet of a draw with `pools` show words under keys; any other shows names.

        Raises
        ------
        bonwise.errors.UsageError
            Another design stands there, or a sheet with labels; nothing is written then.
        bonwise.errors.InputError
            A page or tasks are asked for, and the words are not known.
        """
        from bonwise.labels.blind_sheet import write_draw  # noqa: PLC0415 - a result is shown without it

        write_draw(self.design, Path(path), None if sheet is None else self._sheet_file(Path(sheet)))

    def _sheet_file(self, path: Path) -> SheetFile:
        from bonwise.labels.blind_sheet import BlindSheet, SheetFile, kind_of_sheet  # noqa: PLC0415 - as above

        if self.settings.pools is None and kind_of_sheet(path) == "csv":
            return SheetFile(path, writing.csv_frame(self.sheet))
        scale = None if self.settings.label_scale is None else scales.parse_scale(self.settings.label_scale)
        blind = BlindSheet.of_frame(self.sheet, seed=self.settings.seed, phase=self.settings.phase, scale=scale)
        return SheetFile(path, blind.text(path), blind.beside(path))
