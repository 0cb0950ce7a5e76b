"""How good a judge is at picking the best candidate: ``bonwise.audit/1``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from bonwise.auditing.result_exhibits import ColumnLeftOut, Stratum
from bonwise.auditing.result_labels import Annotators, AuditData, LabelledCells, Sampling
from bonwise.auditing.result_verdict import DECIDES, AuditSuspicion, Gate, Subsets, Target, Verdict
from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.flags import takes_numbers
from bonwise.results import Confidence, Count, Document, Ends, FrameRow, Number, Record, Share, given
from bonwise.table.checks import check_seed
from bonwise.table.facts import LabelsLeftOut, PicksMade, UnlabelledCandidates, UnusedLabels, ValuesRead

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.auditing.examples import Examples
    from bonwise.auditing.judge_record import AuditParts
    from bonwise.report.blocks import Drawing, FigureData
    from bonwise.table.score_table import ScoreTable


class CandidateGroup(Record):
    """How often picks fall on a group of candidates, in prompts that hold the group and others."""

    group: str
    """Such as the longest of its prompt, a family, or the first place."""
    candidates: Count
    prompts: Count
    """Both: the candidates of the group in these prompts, and the prompts."""
    chance: Share
    """Share of random picks that fall on the group."""
    picked: EstimateRecord
    best: EstimateRecord
    """Both: share of the judge's picks, and of the best labels; ties share a pick."""
    difference: EstimateRecord
    """The first minus the second."""


class CandidateEffect(Record):
    """What a judge's scores and picks owe to one attribute of candidates at equal label."""

    attribute: Literal["length", "family", "position"]
    """What is known of a candidate."""
    source: str
    """The column that says it; ``text`` where the length is that of the candidate's text, in characters."""
    contrast: str
    """What the effect compares, such as ``per doubling of length``."""
    prompts: Count
    candidates: Count
    """Both: prompts whose candidates differ in the attribute, and their candidates."""
    prompts_left_out: Count
    """Labelled prompts with a candidate of which the attribute is not known."""
    adjusted_for: Literal["levels", "pieces"] | None = None
    """The label has an indicator for each level, or is joined by straight pieces with knots at its quintiles."""
    score: EstimateRecord | None = None
    """Effect on the score at equal label within prompts, in standard deviations of the scores within prompts."""
    score_unadjusted: EstimateRecord | None = None
    """The same without the label."""
    score_jointly: EstimateRecord | None = None
    """The same with the other attributes adjusted for too."""
    recovery_cost: EstimateRecord | None = None
    """Recovery of the scores with the effect taken out, minus recovery as it is: what the preference costs."""
    regret_cost: EstimateRecord | None = None
    """The same in label points per pick."""
    picks_changed: Count | None = None
    """Prompts where other candidates are picked with the effect taken out."""
    groups: list[CandidateGroup]
    """Picks by group of candidates."""
    reason: str | None = None
    """Why there is no effect."""
    sentences: list[str]
    """What was found, in words."""


class CandidateEffects(Record):
    """What a judge prefers at equal label."""

    effects: list[CandidateEffect]
    """By attribute, of those that the table tells."""
    notes: list[str]
    """How to read them."""


class JudgesCompared(Record):
    """Metric differences, first judge minus second, paired by prompt."""

    first: str
    second: str
    """Both: the judges."""
    prompts: Count
    """Prompts that both judges scored completely and that are labelled."""
    differences: dict[str, EstimateRecord]
    """By metric; empty without a common prompt."""


class Balance(Record):
    """One feature of the judge's scores on prompts with and without labels."""

    feature: str
    """Of the scores of a prompt."""
    labelled: Number
    unlabelled: Number
    difference: Number
    """All three: means over prompts, and the first minus the second."""
    low: Number | None
    high: Number | None
    """Both: ends of the interval of the difference."""


class JudgeFound(Record):
    """What was found of one judge."""

    data: AuditData
    """Counts, and dropped prompts."""
    metrics: dict[str, EstimateRecord]
    """By name."""
    verdict: Verdict
    """What they mean."""
    sampling: Sampling | None = None
    """Where a draw of the labelled prompts was stated."""
    balance: list[Balance] | None = None
    """Where the labelled prompts stand for themselves alone."""
    bounds: dict[str, Ends] | None = None
    """Worst cases over missing labels."""
    with_control: dict[str, EstimateRecord] | None = None
    """The metrics with the easy candidates put back."""
    suspicions: list[AuditSuspicion] | None = None
    """Why the verdict is not ``useful`` and no gate is met, whatever the figures are."""
    unused_labels: UnusedLabels | None = None
    """Labels of prompts that are labelled in part, where these count as unlabelled."""
    labelled_cells: LabelledCells | None = None
    """Where candidates are labelled one by one: what each figure rests on, and what speaks against the statement."""
    candidate_effects: CandidateEffects | None = None
    """What the judge prefers at equal label, where length, family or place of candidates is known."""
    subsets: Subsets | None = None
    """The metric that decides by subset of the prompts, where a column forms some."""
    strata: list[Stratum] | None = None
    """Metrics by what columns, and the lengths of candidates, say of prompts."""
    strata_left_out: list[ColumnLeftOut] | None = None
    """Columns that form no strata, and why."""


IntervalKind = Literal["default", "bootstrap"]

GateRule = Literal["default", "bounded"]

Shape = Literal["rectangular", "ragged"]


class Thresholds(Record):
    """Where a figure starts to mean something for the verdict."""

    global_r: Number
    """From here the usual sanity check looks acceptable."""
    level_bias: Number
    """Up to here calibrated means may be off, in units of the label scale: of its declared width, or else of the
    range of the labels.
    """
    within_r_weak: Number
    """Below, signal within prompts is weak."""
    within_r_useful: Number
    """From here best of 4 becomes useful."""
    recovery_useful: Number
    """Recovery that goes with `within_r_useful`."""

    @classmethod
    def usual(cls) -> Thresholds:
        """Return those of an audit that names none (Landesberg 2026, section 5.6 and table 6)."""
        return cls(global_r=0.40, level_bias=0.05, within_r_weak=0.25, within_r_useful=0.40, recovery_useful=0.50)

    def deciding(self, target: Target) -> tuple[str, float]:
        """Return the metric that decides for a target, and the gate of the verdict on it."""
        return DECIDES[target], self.recovery_useful if target == "best-of-n" else self.global_r

    def override(self, values: Mapping[str, float]) -> Thresholds:
        """Return thresholds with some replaced; `bonwise.errors.UsageError` for a name that is no threshold."""
        known = list(Thresholds.model_fields)
        for name in values:
            if name not in known:
                raise UsageError(f"no threshold named {name!r}", hint=f"choose of {', '.join(known)}")
            if not isfinite(values[name]):
                raise UsageError(f"threshold {name} must be finite, not {values[name]}", hint="such as 0.4")
        return Thresholds(**{**self.given_values(), **values})


class AuditSettings(ValuesRead):
    """What was asked for, and what the table was taken for."""

    confidence: Confidence
    """Of the two-sided intervals."""
    interval: IntervalKind
    """Jackknife and Fieller, or the percentile cluster bootstrap."""
    exclude: list[str]
    control: list[str]
    """Both: candidate names left out; easy candidates, reported with and without."""
    target: Target
    """The decision that the verdict is about."""
    seed: Count
    """Of the bootstrap, of the folds of level_bias and of the draws behind `choice`."""
    thresholds: Thresholds
    """Of the verdict."""
    version: str
    """Of bonwise."""
    resamples: Annotated[int, Field(ge=2)] | None = None
    """Of a bootstrap."""
    outcome_model: str | None = None
    """Class of the regressor that was given."""
    shape: Shape
    """Whether every prompt must carry all candidate names."""
    source: str
    """Where the scores came from."""
    columns: dict[str, str]
    """Role to column."""
    draws: Count
    """Most scores of one candidate by one judge that were averaged."""
    judge_scale: dict[str, str] | None = None
    """Declared scales by judge."""
    label_scale: str | None = None
    """Declared scale of the labels."""
    reference: str | None = None
    """The judge that stood in for oracle labels."""
    picks: PicksMade | None = None
    """How the logged picks were made that were audited in place of scores."""
    labels_left_out: LabelsLeftOut | None = None
    """Labels that were there and not used."""
    unlabelled: UnlabelledCandidates | None = None
    keep_easy: list[str] | None = None
    """Easy candidates that count like any other."""
    label_words: dict[str, Number] | None = None
    """What labels that are words were taken for, such as pass for 1."""
    pools: str | None = None
    """Where the texts of candidates are, of which the lengths were taken."""
    judge_family: dict[str, str] | None = None
    """The family that was given for each judge; an empty name stands for every judge not named."""
    readings: dict[str, str] | None = None
    """By role: how numbers are read that are not written plainly, such as percent."""
    weight_col: str | None = None
    """The column of what each prompt weighs in every figure."""
    stratum: list[str] | None = None
    """The columns that were named to form subsets of the prompts."""
    gate: GateRule | None = None
    """How gates are decided, where it is not by the usual bounds."""
    not_in_passes: list[str] | None = None
    """Of a table audited in passes, which is not held in memory: what was not computed, and why."""

    @property
    def deciding(self) -> tuple[str, float]:
        """The metric that decides for the target, and the gate of the verdict on it."""
        return self.thresholds.deciding(self.target)


CHOSEN_BY = ("recovery", "gain")
"""Metrics by which a judge is chosen, the first one first."""


class DifferenceFromBest(Record):
    """How far another one lies below the best."""

    estimate: Number | None
    """The best less the other one, on the prompts that both share."""
    interval: Ends | None
    """Holds together with the intervals of all other differences."""


class ChoiceConfidences(Record):
    """Confidences at which single intervals are made, so that they hold after a choice or together."""

    after: Confidence
    """Of the lower end after the choice."""
    simultaneous: Confidence
    differences: Confidence
    """Both: of intervals that hold together."""


class ChoiceRecord(Record):
    """The one with the highest estimate of a metric, among those compared."""

    best: list[str]
    """Whose estimate is the highest: several where estimates are equal."""
    estimate: Number
    """Of the best."""
    before: Ends | None
    """Interval that would hold had nothing been chosen; null where there is none."""
    after: Ends | None
    """Interval that holds although the highest estimate was chosen."""
    simultaneous: dict[str, Ends | None]
    """Intervals of all that were compared, which hold together, whatever is chosen among them."""
    differences: dict[str, DifferenceFromBest]
    """The best less each of the others; of several best ones the first."""
    confidences: ChoiceConfidences | None = None
    """Absent where there is a reason."""
    reason: str | None = None
    """Why intervals are missing."""


_ALONE = ("judge", "data", "metrics", "verdict")
_OPTIONAL = (
    "sampling",
    "balance",
    "bounds",
    "with_control",
    "suspicions",
    "unused_labels",
    "labelled_cells",
    "candidate_effects",
    "subsets",
    "strata",
    "strata_left_out",
)
_TOGETHER = ("judges", "comparisons", "not_audited")


class Audit(Document):
    """The result of an audit of one judge, or of several.

    What was found of one judge stands beside the settings; of several, in `judges` with what compares them. Read
    either way: `judges` is there for one judge too, and ``audit["recovery"]``, `metrics`, `verdict` and `data` are
    those of the only judge; with several, take ``audit.judges["name"]``.
    """

    schema_: Literal["bonwise.audit/1"] = Field(default="bonwise.audit/1", alias="schema")
    judge: str | None = None
    """Name of the only judge."""
    data_of_one: AuditData | None = Field(default=None, alias="data")
    """Of the only judge, as in `judges` of several."""
    metrics_of_one: dict[str, EstimateRecord] | None = Field(default=None, alias="metrics")
    """Of the only judge, as in `judges` of several."""
    verdict_of_one: Verdict | None = Field(default=None, alias="verdict")
    """Of the only judge, as in `judges` of several."""
    sampling: Sampling | None = None
    """Of the only judge, as in `judges` of several."""
    balance: list[Balance] | None = None
    """Of the only judge, as in `judges` of several."""
    bounds: dict[str, Ends] | None = None
    """Of the only judge, as in `judges` of several."""
    with_control: dict[str, EstimateRecord] | None = None
    """Of the only judge, as in `judges` of several."""
    several_judges: Annotated[dict[str, JudgeFound], Field(min_length=1)] | None = Field(default=None, alias="judges")
    """Several judges by name, or the one that is left of several."""
    pairs: list[JudgesCompared] | None = Field(default=None, alias="comparisons")
    """Every pair of several judges."""
    left_unaudited: dict[str, str] | None = Field(default=None, alias="not_audited")
    """Of several judges, those without a prompt to audit them on, and why."""
    covariates: dict[str, str] | None = None
    """The judges that only help to audit another one, and why."""
    settings: AuditSettings
    """What was asked for, and what the table was taken for."""
    checked: Annotated[list[Gate], Field(min_length=1)] | None = Field(default=None, alias="gates")
    """Where some were asked for."""
    suspicions: list[AuditSuspicion] | None = None
    unused_labels: UnusedLabels | None = None
    labelled_cells: LabelledCells | None = None
    """All three: of the only judge, as in `judges` of several."""
    chosen: dict[str, ChoiceRecord] | None = Field(default=None, alias="choice")
    """The best by ``recovery`` and by ``gain``, with intervals that hold after the choice and intervals that hold
    together; absent where fewer than two are compared.
    """
    candidate_effects: CandidateEffects | None = None
    subsets: Subsets | None = None
    strata: list[Stratum] | None = None
    strata_left_out: list[ColumnLeftOut] | None = None
    """All four: of the only judge, as in `judges` of several."""
    annotators: Annotators | None = None
    """Where candidates have labels of several annotators: how these became one, and how far they agree."""

    @model_validator(mode="after")
    def _one_or_several(self) -> Self:
        keys = {*self.keys()}
        together = keys & {*_TOGETHER}
        if together and keys & {*_ALONE, *_OPTIONAL}:
            raise ValueError("one judge or several: the keys of one judge stand beside those of several")
        wanted = _TOGETHER if together else _ALONE
        held = self.given_values()
        lacking = [key for key in wanted if held.get(key) is None]
        if lacking:
            raise ValueError(f"{lacking[0]} is missing")
        return self

    @model_validator(mode="after")
    def _names_known_judges(self) -> Self:
        known = {*self.judges, *self.not_audited}
        named = [gate.judge for gate in self.gates]
        named += [name for one in self.choice.values() for name in (*one.simultaneous, *one.differences)]
        named += [name for pair in self.comparisons for name in (pair.first, pair.second)]
        strange = [name for name in named if name not in known]
        if strange:
            raise ValueError(
                f"a gate, a comparison or a choice names {strange[0]!r}, which is not a judge of this audit"
            )
        return self

    @classmethod
    def of(
        cls,
        judges: Mapping[str, JudgeFound],
        settings: AuditSettings,
        *,
        comparisons: Sequence[JudgesCompared] = (),
        not_audited: Mapping[str, str] | None = None,
        covariates: Mapping[str, str] | None = None,
        choice: Mapping[str, ChoiceRecord] | None = None,
        annotators: Annotators | None = None,
    ) -> Audit:
        """Return the document of one judge or of several."""
        optional = given(covariates=dict(covariates or {}) or None, annotators=annotators)
        if len(judges) == 1 and not not_audited:
            ((name, found),) = judges.items()
            return cls(judge=name, **found.given_values(), settings=settings, **optional)
        together: dict[str, Any] = {
            "judges": dict(judges),
            "comparisons": list(comparisons),
            "not_audited": dict(not_audited or {}),
        }
        return cls(**together, settings=settings, **optional, **given(choice=dict(choice or {}) or None))

    def __repr__(self) -> str:
        told = "".join(f"; {gate.sentence}" for gate in self.gates)
        return f"<Audit of {', '.join(self.judges)} on {self.settings.source}{told}>"

    def __getitem__(self, key: str) -> Any:
        """Return a value by its JSON key, or a metric of the only judge."""
        return super().__getitem__(key) if key in self else self.metrics[key]

    @property
    def judges(self) -> Mapping[str, JudgeFound]:
        """What was found of each judge, of the only one too."""
        if self.several_judges is not None:
            return self.several_judges
        if self.judge is None:
            return {}
        given = self.given_values()
        own = {key: given[key] for key in JudgeFound.model_fields if key in given}
        # These values were checked when this document was made.
        return {self.judge: JudgeFound.model_construct(**own)}

    @property
    def comparisons(self) -> Sequence[JudgesCompared]:
        """Every pair of judges, paired by prompt; none of one judge."""
        return self.pairs or ()

    @property
    def not_audited(self) -> Mapping[str, str]:
        """The judges without a prompt to audit them on, and why."""
        return self.left_unaudited or {}

    @property
    def choice(self) -> Mapping[str, ChoiceRecord]:
        """The best by ``recovery`` and by ``gain``; empty where fewer than two are compared."""
        return self.chosen or {}

    @property
    def gates(self) -> Sequence[Gate]:
        """Those that were asked for, see `check`."""
        return self.checked or ()

    @property
    def table(self) -> ScoreTable:
        """The table that was audited."""
        return self._parts("table").table

    @property
    def several(self) -> bool:
        """Whether it is the audit of several judges, of whom one may be left."""
        return self.several_judges is not None

    @property
    def metrics(self) -> Mapping[str, EstimateRecord]:
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
    def _only(self) -> JudgeFound:
        if len(self.judges) > 1:
            raise UsageError(
                f"this audit holds {len(self.judges)} judges", hint="take audit.judges[name] of one of them"
            )
        return next(iter(self.judges.values()))

    def _parts(self, what: str) -> AuditParts:
        if self.settings.not_in_passes is not None and what != "check()":
            raise UsageError(f"{what} needs the whole table in memory, and this audit was made in passes")
        parts: AuditParts = self.source_of(what)
        return parts

    @takes_numbers
    def check(self, gates: Mapping[str, float]) -> Audit:
        """Compare metrics of every judge with values.

        Parameters
        ----------
        gates : mapping of str to float
            Metric to the value it must exceed.

        Returns
        -------
        Audit
            With the outcomes as its `gates`.

        Raises
        ------
        bonwise.errors.UsageError
            A name that is not a metric.
        """
        if not gates:
            return self
        return self.model_copy(update={"checked": self._parts("check()").check(gates, self.not_audited)})

    def per_prompt(self) -> pd.DataFrame:
        """Return one row per prompt and judge: pick, best, gain lost, tie, margin, score; the worst first."""
        from bonwise.auditing.per_prompt import per_prompt  # noqa: PLC0415 - a document is read without pandas

        return per_prompt(tuple(self._parts("per_prompt()").judges.values()))

    @takes_numbers
    def to_examples(self, path: str | Path, *, pools: str | Path | None = None, seed: int = 0) -> Examples:
        """Write examples for a rubric: prompts on which the first judge lost most, with the better response.

        Half of the prompts with all labels, drawn by the seed, are training prompts; whole clusters stay together.
        The up to five of these with the greatest loss become examples, to be put at the end of ``[system]`` of a
        rubric. The labels of the other half are written beside them, to
        ``NAME-heldout.csv``: on these prompts alone the gain of the new rubric can be measured.

        Parameters
        ----------
        path : str or pathlib.Path
            Where the examples go, such as ``examples.md``.
        pools : str or pathlib.Path, optional
            Pools with the texts, where the table of scores has none.
        seed : int
            Of the draw of training prompts.

        Returns
        -------
        bonwise.auditing.examples.Examples
            With ``judge``, ``text``, ``prompt_ids`` and ``held_out``, a DataFrame of labels.

        Raises
        ------
        bonwise.errors.InputError
            Fewer than 20 prompts with all labels, no loss, or no texts.
        """
        from bonwise.auditing import examples  # noqa: PLC0415 - a document is read without pandas

        check_seed(seed)
        return examples.write_examples(self._parts("to_examples()"), path, pools, seed)

    def to_frame(self) -> pd.DataFrame:
        """Return the metrics of all judges as a table, one row per judge and metric.

        Columns: ``judge``, ``metric``, ``estimate``, ``low``, ``high``, ``se``, ``n`` prompts, ``interval`` and
        ``method``; where some metric has it ``reason``: why something is missing, ``ess`` and ``labelled_only``.
        """
        return super().to_frame()

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge and metric."""
        for name, judge in self.judges.items():
            for metric, found in judge.metrics.items():
                yield {"judge": name, "metric": metric, **found.to_dict()}

    @takes_numbers
    def to_html(
        self,
        path: str | Path,
        *,
        pools: str | Path | None = None,
        gates: Mapping[str, float] | None = None,
        also: Sequence[Document] = (),
    ) -> None:
        """Write the page of the audit: one file that a browser shows without asking anyone for anything.

        Where there are more prompts than a page can hold, all of them go to a file beside it, ``NAME-prompts.csv``.
        The page of an audit that was loaded shows what its JSON holds, and takes no more than a path.

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
        if (self._source is None or self.settings.not_in_passes is not None) and not (pools or gates or also):
            super().to_html(path)
            return
        from bonwise.auditing.page import write_page  # noqa: PLC0415 - drawing loads matplotlib

        write_page(self.check(gates or {}), path, pools=pools, also=also)

    @property
    def drawings(self) -> list[Drawing[FigureData]]:
        """The drawings of the page; each has ``plot(ax=)`` and ``to_frame()``."""
        if self._source is None or self.settings.not_in_passes is not None:
            return super().drawings
        from bonwise.auditing.page import page_drawings  # noqa: PLC0415 - loaded only to be shown

        return page_drawings(self)
