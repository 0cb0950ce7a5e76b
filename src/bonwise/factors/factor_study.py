"""What a study of label budgets and judges found, and its document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.data.ratings import RatingTable
from bonwise.documented import DocumentedResult
from bonwise.documents.factor_study import (
    FactorStudyDocument,
    FactorStudySettings,
    StudiedBaseline,
    StudiedData,
    StudiedShareRecord,
)
from bonwise.factors.checks import FEWEST_HUMAN
from bonwise.factors.factor_fit import HeldOut
from bonwise.factors.stage_one import UsedBackend
from bonwise.release import release
from bonwise.stats.sums import Floats

__all__ = ["BudgetStudySettings", "FactorStudy", "StudiedShare"]


@dataclass(frozen=True, slots=True)
class BudgetStudySettings:
    """What was asked for."""

    budgets: tuple[float, ...]
    """Shares of the human ratings that are fitted, smallest first."""
    rater_shares: tuple[float, ...]
    """Shares of the judges, smallest first."""
    rater_budget: float
    """The budget at which shares of judges are compared."""
    splits: int
    rank: int | None
    """None where cross-validation chooses."""
    prior: float | None
    """None where cross-validation chooses."""
    restarts: int
    confidence: float
    seed: int
    backend: UsedBackend


@dataclass(eq=False)
class StudiedShare:
    """Losses of one share, split by split."""

    share: float
    """Of the human ratings, or of the judges."""
    judges: int
    """That were fitted."""
    splits: int
    fitted: list[int] = field(default_factory=list, repr=False)
    own: list[Floats] = field(default_factory=list, repr=False)
    baselines: list[Mapping[str, Floats]] = field(default_factory=list, repr=False)
    prompts: list[npt.NDArray[np.int64]] = field(default_factory=list, repr=False)
    ranks: list[int] = field(default_factory=list, repr=False)

    def add(
        self, losses: tuple[Floats, Mapping[str, Floats], int], fitted: int, prompts: npt.NDArray[np.int64]
    ) -> None:
        """Add what a split found: losses of the model and of the baselines per rating, and the rank."""
        own, baselines, rank = losses
        self.own.append(own)
        self.baselines.append(baselines)
        self.ranks.append(rank)
        self.fitted.append(fitted)
        self.prompts.append(prompts)

    def held_out(self) -> HeldOut:
        """Return the losses of all splits together; a prompt is one cluster over all of them."""
        baselines = {name: np.concatenate([one[name] for one in self.baselines]) for name in self.baselines[0]}
        return HeldOut(np.concatenate(self.own), baselines, np.concatenate(self.prompts))

    def record(self, largest: StudiedShare, confidence: float) -> StudiedShareRecord:
        """Return the record; the model is compared with itself at the largest share."""
        held, most = self.held_out(), largest.held_out()
        return StudiedShareRecord(
            share=self.share,
            judges=self.judges,
            fitted=float(np.mean(self.fitted)),
            cross_entropy=held.mean(held.own, confidence),
            between_splits=_between([one.mean() for one in self.own]),
            more_than_largest=held.mean(held.own - most.own, confidence),
            baselines={
                name: StudiedBaseline(
                    cross_entropy=held.mean(losses, confidence),
                    between_splits=_between([one[name].mean() for one in self.baselines]),
                    difference=held.mean(losses - held.own, confidence),
                )
                for name, losses in held.baselines.items()
            },
            splits=[float(one.mean()) for one in self.own],
            ranks=list(self.ranks),
        )


@dataclass(frozen=True, eq=False)
class FactorStudy(DocumentedResult):
    """Held-out cross-entropy by the share of human ratings, and by the share of judges."""

    table: RatingTable = field(repr=False)
    settings: BudgetStudySettings = field(repr=False)
    by_labels: Sequence[StudiedShare] = field(repr=False)
    by_judges: Sequence[StudiedShare] = field(repr=False)
    held_out: Sequence[int] = field(repr=False)
    """Ratings that each split predicts."""
    left_out: Sequence[float] = field(repr=False)
    """Usual budgets with too few ratings."""

    def __repr__(self) -> str:
        splits = self.settings.splits
        return (
            f"<FactorStudy of {len(self.table.raters)} raters: {len(self.by_labels)} budgets, "
            f"{len(self.by_judges)} shares of judges, {splits} split{'s' if splits != 1 else ''}>"
        )

    def document(self) -> FactorStudyDocument:
        """Return the document of schema ``bonwise.factor_study/1``."""
        asked, table = self.settings, self.table
        return FactorStudyDocument(
            data=StudiedData(
                prompts=len(table.prompts),
                models=len(table.models),
                ratings=len(table.rating),
                human_ratings=int(table.by_human.sum()),
                judges=sum(one.size > 1 for one in table.raters) - 1,
                dropped=dict(table.left_out),
                held_out=list(self.held_out),
            ),
            settings=FactorStudySettings(
                human=table.human_scale.rater,
                budgets=list(asked.budgets),
                rater_shares=list(asked.rater_shares),
                rater_budget=asked.rater_budget,
                splits=asked.splits,
                rank=asked.rank,
                prior=asked.prior,
                restarts=asked.restarts,
                confidence=asked.confidence,
                seed=asked.seed,
                backend=asked.backend,
                source=table.source,
                version=release(),
            ),
            by_labels=[one.record(self.by_labels[-1], asked.confidence) for one in self.by_labels],
            by_judges=[one.record(self.by_judges[-1], asked.confidence) for one in self.by_judges],
            notes=list(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        if self.left_out:
            shares = ", ".join(f"{one:.0%}" for one in self.left_out)
            yield f"Not studied: {shares} of the human ratings, which is fewer than {FEWEST_HUMAN}."
        counts = [one.judges for one in self.by_judges]
        if len(set(counts)) < len(counts):
            yield "Some shares of the judges are the same number of judges."
        yield "The best baseline is chosen on the held-out ratings, which favours it."
        yield (
            "Intervals are clustered by prompt. They do not count which ratings and judges were drawn: the spread "
            "between splits shows that."
        )


def _between(means: Sequence[float]) -> float | None:
    return float(np.std(means, ddof=1)) if len(means) > 1 else None
