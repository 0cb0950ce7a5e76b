"""What each strategy is worth on stored scores, what it costs, and which one to use: the study ``strategies``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from bonwise.estimates import EstimateRecord
from bonwise.results import Count, Ends, FrameRow, NonNegative, NotBlank, Number, Positive, Record
from bonwise.studies.result import StudyDocument, StudyJudge
from bonwise.table.facts import StudyCounts, StudySettings

StrategyKind = Literal[
    "greedy", "resample", "adaptive", "value_of_information", "tie_break", "round_robin", "knockout", "jury", "route"
]
"""What decides what is asked."""


MODEL_FILE = "voi.json"
"""What a model of draws is saved as by the command that is printed."""


class StrategyRow(Record):
    """One strategy, played on all prompts."""

    strategy: NotBlank
    """As it is named after ``--strategy``; a jury by its judges, routing by its share."""
    kind: StrategyKind
    select: NotBlank
    """The flags of ``bonwise select`` that run it."""
    calls: NonNegative
    """Calls per prompt."""
    cost: NonNegative
    """Cost per prompt, in the unit of the prices; the calls where no prices were given."""
    recovery: EstimateRecord
    top1_accuracy: EstimateRecord
    hit_rate: EstimateRecord
    """All three: as an audit defines them; ties for the pick are taken in expectation."""
    over_greedy: dict[str, EstimateRecord]
    """The same three less those of greedy, paired by prompt; empty for greedy itself."""
    simultaneous: Ends | None
    """Interval of the difference of recovery; those of all strategies hold together."""
    gain_per_call: EstimateRecord | None
    """What each call beyond those of greedy adds to the mean label of the picks; null without such calls."""


class StrategyChoice(Record):
    """The strategy to use at the stated price, and what is left of its lead on prompts that did not choose it."""

    strategy: NotBlank
    """The most recovery within the budget; greedy where choosing does not pay out of fold."""
    budget: Positive
    """Most that a prompt may cost on average, in the unit of the prices, or in calls."""
    difference: EstimateRecord | None
    """Recovery less that of greedy; its interval holds although the strategy was chosen. Null where greedy is."""
    out_of_fold: EstimateRecord
    """Recovery less that of greedy where the strategy is chosen anew without the prompts that it is measured on; its
    interval, too, holds although strategies were chosen.
    """
    out_of_fold_cost: NonNegative
    """Mean cost per prompt of what was so chosen."""
    folds: dict[str, Count]
    """In how many parts of the prompts each strategy was chosen without that part."""
    best: NotBlank
    """The choice on all prompts, whether or not it pays out of fold."""


class ReplayCounts(StudyCounts):
    """Counts behind the figures of a judge."""

    prompts: Count
    labelled_prompts: Count
    """Both: prompts that were played, and those of them that are labelled."""
    rows: Count
    """Their candidates."""
    draws: Count
    """Stored scores of one candidate, the first among them."""
    dropped: dict[str, Count]
    """Prompts by the reason for which they are in no figure."""
    method: Literal["complete", "labelled_only", "aipw", "weighted"]
    """What the labels stand for, as in an audit."""


class ReplayedJudge(StudyJudge):
    """The strategies of one judge."""

    data: ReplayCounts
    rows: Annotated[list[StrategyRow], Field(min_length=2)]
    """Greedy first, then by cost."""
    choice: StrategyChoice
    absent: dict[str, str]
    """Strategies that cannot be played on this file, and why."""

    @property
    def frontier(self) -> list[StrategyRow]:
        """The strategies that no other of at most their cost surpasses in recovery, by cost."""
        best: list[StrategyRow] = []
        for row in self.rows:
            if row.recovery.estimate is not None and (
                not best or row.recovery.estimate > (best[-1].recovery.estimate or 0.0)
            ):
                best.append(row)
        return best

    def row(self, strategy: str) -> StrategyRow:
        """Return the row of a strategy by its name."""
        return next(row for row in self.rows if row.strategy == strategy)


class ReplaySettings(StudySettings):
    """What was asked for."""

    seeds: Count
    """Orders in which ties are broken, per prompt."""
    prices: dict[str, Number] | None = None
    """Price of a call, by judge."""
    verdicts: str | None = None
    """File of the verdicts on pairs."""
    strong: str | None = None
    """The judge that decides the prompts that routing sends to it."""


class StrategyReplay(StudyDocument):
    """Strategies played on stored scores and verdicts: what each recovers and costs, and which one to use."""

    study: Literal["strategies"] = "strategies"
    settings: ReplaySettings
    judges: dict[str, ReplayedJudge]

    about = (
        "Choose a strategy at your price.\n\n"
        "Needs repeated scores and labels. Every strategy of bonwise select is played on the stored scores; nothing "
        "is asked of a model."
    )
    place = 1

    def __repr__(self) -> str:
        chosen = ", ".join(judge.choice.strategy for judge in self.judges.values())
        return f"<StrategyReplay of {self.settings.source}: {chosen}>"

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge, strategy and figure."""
        for name, judge in self.judges.items():
            for row in judge.rows:
                at = {"judge": name, "strategy": row.strategy, "calls": row.calls, "cost": row.cost}
                figures = {key: getattr(row, key) for key in ("recovery", "top1_accuracy", "hit_rate")}
                figures |= {f"{key} over greedy": estimate for key, estimate in row.over_greedy.items()}
                for metric, estimate in figures.items():
                    yield {**at, "metric": metric, **estimate.to_dict()}


MODEL = StrategyReplay
