"""How many candidates are worth asking for, and what an audit says of others: the study ``candidates``, two kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from bonwise.estimates import EstimateRecord
from bonwise.results import Count, FrameRow, NonNegative, Record, Share
from bonwise.studies.result import StudyDocument, StudyJudge
from bonwise.table.facts import JudgeCounts, StudySettings


class CandidatesJudge(StudyJudge):
    """What was found of one judge."""

    data: JudgeCounts
    figures: dict[str, dict[str, EstimateRecord]]
    """By number of candidates, or of ``audit`` and ``target``; and by name."""
    sentences: list[str]


class CandidatesStudy(StudyDocument):
    """Candidates that an audit did not have: more of them, or others; a subclass narrows `kind` to its own."""

    study: Literal["candidates"] = "candidates"
    kind: Literal["count", "transfer"]
    settings: StudySettings
    judges: Mapping[str, CandidatesJudge]

    constants = ("schema_", "study", "kind")

    about = (
        "Find how many candidates are worth asking for.\n\n"
        "Values the judge's pick from m candidates, for every m that your labelled pools hold."
        "\n\n"
        "With --value and costs: the number at which a further candidate no longer pays."
    )
    place = 3

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {', '.join(self.judges)} on {self.settings.source}>"

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge, number of candidates or table, and figure."""
        for name, judge in self.judges.items():
            for of, figures in judge.figures.items():
                for metric, figure in figures.items():
                    yield {"judge": name, "of": of, "metric": metric, **figure.to_dict()}


class CountJudge(CandidatesJudge):
    """What the picks of one judge are worth by the number of candidates.

    Notes
    -----
    `figures` holds ``value_judge``, ``value_oracle``, ``gain``, ``recovery`` and ``gain_per_call`` over all subsets
    of a size; ``step``, the value less that of one candidate fewer on the same pools; and with prices ``worth``,
    beyond one candidate without a judge, costs subtracted. Intervals of steps hold for all pairs of sizes at once.
    """

    largest_pool: Count
    """Candidates in it; the curve ends earlier where too few pools are as large."""
    best: Count | None = None
    """The size with the highest worth; None without prices."""
    may_be_best: list[Count]
    """Sizes whose worth is not shown to be below that of another one."""
    worse: Annotated[list[Count], Field(min_length=2, max_length=2)] | None = None
    worse_by: EstimateRecord | None = None
    """Both: two sizes of which the larger gives worse picks, and by how much; None where none is shown to."""
    beyond: EstimateRecord
    """The last step of the best candidate's value: if further candidates are drawn alike, no later one is larger."""
    most: Count | None = None
    """The size above which no judge could make the costs pay; None where no such size is known."""


class CountSettings(StudySettings):
    """What was asked for."""

    value: NonNegative | None = None
    """What one unit of label is worth."""
    candidate_cost: NonNegative | None = None
    judge_cost: NonNegative | None = None
    """Both: of one candidate; of one score."""


class CandidateCountStudy(CandidatesStudy):
    """How the value of the judge's pick grows with the number of candidates."""

    kind: Literal["count"] = "count"
    settings: CountSettings
    judges: dict[str, CountJudge]


class TransferStratum(Record):
    """Pairs, or pools, that look alike to the judge."""

    stratum: str
    prompts: Count
    """Labelled prompts that hold one."""
    audit: Share
    target: Share
    """Both: share of the pairs or pools of the audit, and of the target."""
    covered: bool
    """Whether enough labelled prompts hold one."""


class TransferJudge(CandidatesJudge):
    """What the audit of one judge says of the target.

    Notes
    -----
    `figures` holds ``effective_agreement`` and ``pair_loss`` (mean label that a choice loses) over pairs, ``gain``
    and ``recovery`` over pools.
    """

    target_prompts: Count
    target_dropped: dict[str, Count]
    """Prompts of the target by the reason for which they are in no figure."""
    uncovered: dict[str, Share]
    """Share of the target's ``pairs`` and ``pools`` in strata that are not covered: no figure is of these."""
    strata: dict[str, list[TransferStratum]]
    """Of ``pairs`` and of ``pools``."""


class TransferSettings(StudySettings):
    """What was asked for."""

    target: str
    """The source of the unlabelled pools."""
    gap_groups: Annotated[int, Field(ge=1)]
    similarity: str | None = None


class TransferStudy(CandidatesStudy):
    """What an audit says of other candidates, from their scores."""

    kind: Literal["transfer"] = "transfer"
    settings: TransferSettings
    judges: dict[str, TransferJudge]


MODEL = CandidatesStudy
MODELS = (CandidateCountStudy, TransferStudy)
