"""What the figures of an audit rest on, in its document: prompts, how they were drawn, labels, annotators."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bonwise.estimates import EstimateRecord
from bonwise.results import Count, Ends, NonNegative, Number, Record
from bonwise.table.facts import DroppedPrompt

GainOfLabel = Literal["linear", "exp"]
"""What nDCG gives for a label: the label itself, or 2 to its power less 1."""


class AgainstOthers(Record):
    """Scores compared with the labels of all annotators but one, each annotator left out in turn."""

    prompts: Count
    """Prompts of which some annotator labelled every candidate, each labelled by another annotator too."""
    pools: Count
    """Those prompts, each counted once per such annotator."""
    recovery: EstimateRecord | None = None
    within_r: EstimateRecord | None = None
    top1_accuracy: EstimateRecord | None = None
    """All three: as metrics of an audit; intervals are clustered by prompt."""


class JudgeAgainstOthers(AgainstOthers):
    """A judge compared with the labels that one annotator is compared with."""

    minus_annotator: dict[str, EstimateRecord]
    """By metric: the judge minus one annotator, paired by prompt."""

    @property
    def recovery_minus_annotator(self) -> EstimateRecord | None:
        """The difference of recoveries, where there is one."""
        return self.minus_annotator.get("recovery")


class AnnotatorRecord(AgainstOthers):
    """One annotator compared with the labels of the others."""

    annotator: str
    labels: Count
    """Labels that the annotator gave."""


class Annotators(Record):
    """The labels of several annotators."""

    layout: Literal["rows", "columns"]
    """Whether annotators are in rows or in columns of their own."""
    columns: list[str]
    """The column that names annotators, or the columns of their labels."""
    annotators: Count
    """Annotators with a label of a candidate of the table."""
    labels: Count
    """Labels of all candidates but those left out by name; candidates with one or more, and with two or more."""
    labelled_candidates: Count
    """Labels of all candidates but those left out by name; candidates with one or more, and with two or more."""
    several_labels: Count
    """Labels of all candidates but those left out by name; candidates with one or more, and with two or more."""
    kind: Literal["yes or no", "ordered categories", "numbers"]
    """What the labels were taken for."""
    rule: Literal["mean", "median", "majority"]
    """How the labels of a candidate became one."""
    rule_stated: bool
    """Whether the rule was asked for."""
    split: Count
    """Candidates tied between labels, or with a median between two labels: they have the mean of these."""
    level: Literal["nominal", "ordinal", "interval"]
    """How alpha takes the difference of two labels."""
    alpha: EstimateRecord
    """Krippendorff's alpha over all candidates with two labels or more, also of prompts that cannot be audited."""
    one_annotator: AgainstOthers | None = None
    """Labels of one annotator against those of the others, over all annotators."""
    reason: str | None = None
    """Why there is no such comparison."""
    judges: dict[str, JudgeAgainstOthers] | None = None
    """Each judge on the same prompts against the same labels."""
    each: list[AnnotatorRecord]
    """The annotators with the most labels."""

    @property
    def agree(self) -> bool:
        """Whether the annotators agree beyond chance: the interval of alpha lies above 0."""
        least = self.alpha.estimate if self.alpha.low is None else self.alpha.low
        return least is None or least > 0


class CellCounts(Record):
    """What a figure rests on."""

    cells: Count
    pools: Count
    pairs: Count
    """All three: labelled candidates, prompts, and pairs of labelled candidates of a prompt."""


class LabelledShare(Record):
    """How many of a group of candidates are labelled."""

    by: Literal["name", "top", "score"]
    """What tells the group from the others: the candidate's name, whether its score is the highest of its prompt (of
    prompts that the judge does not tie entirely), or the third of the scores that its own lies in.
    """
    group: str
    cells: Count
    share: Number
    """Labelled, of the group."""
    difference: Number
    se: NonNegative
    """Both: the share minus that of the other candidates, and its standard error, clustered by prompt."""
    t: Number | None
    """The difference in standard errors; None where it is the same in every prompt."""


class PoolsByLabelsRecord(Record):
    """Prompts with a number of labels, and how many there would be at one rate."""

    candidates: Count
    labels: Count
    pools: Count
    expected: NonNegative
    """Were each candidate labelled at random and with the same chance."""


class LabelledCells(Record):
    """Every labelled candidate as part of the figures."""

    statement: Literal["at random", "propensities", "model"]
    """What is stated of who was labelled: each candidate with the same chance, each with its propensity in the table,
    or with a chance that depends on scores and names alone and is fitted.
    """
    labels: Count
    cells: Count
    """Both: labelled candidates, and all."""
    labels_of_whole_prompts: Count
    whole_prompts: Count
    """Both: labels in prompts that are labelled whole, and those prompts."""
    effective_prompts: NonNegative
    """What the prompts labelled whole are worth, in prompts drawn alike."""
    counts: dict[str, CellCounts]
    """What each metric rests on."""
    shares: list[LabelledShare]
    """How many are labelled of each group of candidates; at random these are alike."""
    pools: list[PoolsByLabelsRecord]
    """Prompts by their number of labels."""
    contradictions: list[str]
    """What the labels say against the statement; empty where they do not."""
    notes: list[str]
    """What to keep in mind."""


class PromptClusters(Record):
    """How many clusters the prompts come in; each is one unit of every interval."""

    clusters: Count
    largest: Count
    """Prompts of the largest cluster."""
    notes: list[str]
    """What few or uneven clusters leave uncertain."""


class UnscoredCandidates(Record):
    """The candidates without a score: none of them can be picked while another of its prompt has one."""

    candidates: Count
    prompts: Count
    """Those with such a candidate."""
    prompts_without_scores: Count
    """Those with no score at all: their pick is a random one, or the first candidate."""
    reasons: dict[str, Count]
    """Candidates by reason, as far as the table says it."""
    recovery_of_others: EstimateRecord | None = None
    """Recovery on the prompts with all scores; absent where it cannot be estimated."""


class KeptCandidates(Record):
    """What was counted of the best k of each prompt."""

    k: Annotated[int, Field(ge=1)]
    """How many are kept."""
    gain: GainOfLabel
    """What nDCG gives for a label."""
    prompts_kept_whole: Count
    """Prompts with at most k candidates: all are kept."""
    topics: Count | None = None
    """Prompts with a label, over which nDCG and recall are; in the file of labels or in the table."""
    not_retrieved: Count | None = None
    """Those of which the judge ranked nothing: their nDCG and recall are 0."""
    without_relevant: Count | None = None
    """Those without a label above 0: their nDCG and recall are 0."""
    documents_not_retrieved: Count | None = None
    """Labelled candidates that the judge did not rank: they count in the ideal of nDCG, and in recall."""


class AuditData(Record):
    """Counts, and every dropped prompt with its reason."""

    prompts: Count
    """Those that were not dropped."""
    candidates: Count | None
    """Of each prompt; None where they have different numbers of them."""
    rows: Count
    """Candidates of all these prompts."""
    labelled_prompts: Count
    partly_labelled_prompts: Count
    """Both: prompts with labels for all candidates, and for some."""
    dropped: list[DroppedPrompt]
    """The prompts that are in no figure; none is named of a table audited in passes."""
    dropped_by_reason: dict[str, Count] | None = None
    """Of a table audited in passes: how many were dropped, by reason."""
    pools: Count | None = None
    pools_without_pick: Count | None = None
    """Both: of logged picks."""
    candidates_min: Count | None = None
    candidates_max: Count | None = None
    """Both: where prompts have different numbers of candidates."""
    score_range: Ends | None = None
    label_range: Ends | None = None
    """Both: lowest and highest score and label, where the two look like different scales and none is declared."""
    scores_tied: Count | None = None
    """Scores, and labels, that tie with one of their prompt because 9 digits of the spread of all are compared."""
    labels_tied: Count | None = None
    """Scores, and labels, that tie with one of their prompt because 9 digits of the spread of all are compared."""
    clusters: PromptClusters | None = None
    """Where the table names clusters of prompts."""
    unscored: UnscoredCandidates | None = None
    """Where some candidates have no score."""
    effective_prompts: NonNegative | None = None
    """Where prompts have weights: ``(sum w)^2 / sum w^2``, the prompts of equal weight that they are worth."""

    kept: KeptCandidates | None = None
    """Where the best k of each prompt were audited."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.labelled_prompts + self.partly_labelled_prompts > self.prompts:
            raise ValueError("more prompts are labelled than there are")
        if (self.candidates is None) != (self.candidates_min is not None and self.candidates_max is not None):
            raise ValueError("candidates is null where candidates_min and candidates_max stand, and only there")
        if (self.pools is None) != (self.pools_without_pick is None):
            raise ValueError("pools and pools_without_pick stand together")
        if (self.score_range is None) != (self.label_range is None):
            raise ValueError("score_range and label_range stand together")
        return self


class OutcomeModelUsed(Record):
    """The model of the labels that narrows estimates for all prompts."""

    name: str
    """Such as ``ridge``."""
    covariates: list[str]
    """What it learns from."""
    reason: str
    """Why this one."""


class Sampling(Record):
    """How the labelled prompts were drawn, and how the estimates for all prompts were made."""

    design: str
    """Rule of the draw, ``uniform``, ``propensity``, ``cells`` or ``cells-by-score``."""
    how: str
    """In words."""
    labels_a_prompt: Literal[1, 2] | None = None
    """Where single candidates were drawn."""
    drawn_without_labels: Count | None = None
    labelled_not_drawn: Count | None = None
    """Both: prompts that were drawn and lack labels; labelled ones that were not drawn, whose labels are left out."""
    ess: NonNegative | None = None
    """Effective sample size."""
    model: OutcomeModelUsed | None = None
    """That narrows the estimates."""
    share_explained: Number | None = None
    """Of the variance of the labels, by the model."""
    tuning: Number | None = None
    """Share of the model that was used, from 0 (labels alone) to 1."""
    further_judges: list[str] | None = None
    """Judges of the table that serve as covariates."""
    narrowed: Number | None = None
    """Share by which these narrow the interval of recovery; below 0 they widen it."""
    notes: list[str] | None = None
    """What to keep in mind."""
    whole_pools: Count | None = None
    """Of a draw of both: prompts whose candidates are all labelled, and those with a labelled pair."""
    pairs: Count | None = None
    """Of a draw of both: prompts whose candidates are all labelled, and those with a labelled pair."""
