"""How well human ratings are predicted from fewer of them and from fewer judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bonwise.arrays import Floats
from bonwise.errors import InputError, UsageError
from bonwise.factors import engine, model_choice, rating_arrays, ratings, result, stage_one, stage_two
from bonwise.factors.baselines import HeldOut, baseline_losses
from bonwise.factors.settings import FactorKeywords
from bonwise.progress import counting
from bonwise.table import checks, reading

if TYPE_CHECKING:
    from bonwise.table.score_table import ScoreTable


class _SplitLosses(NamedTuple):
    """What one split cost."""

    held: HeldOut
    rank: int
    fitted: int
    """Human ratings."""


@dataclass(eq=False)
class _ShareLosses:
    """What one share cost, split by split."""

    share: float
    """Of the human ratings, or of the judges."""
    judges: int
    """That were fitted."""
    by_split: list[_SplitLosses] = field(default_factory=list, repr=False)

    def held_out(self) -> HeldOut:
        """Return the losses of all splits together; a prompt is one cluster over all of them."""
        parts = [split.held for split in self.by_split]
        baselines = {name: np.concatenate([part.baselines[name] for part in parts]) for name in parts[0].baselines}
        own, prompts = (np.concatenate([getattr(part, of) for part in parts]) for of in ("own", "prompt"))
        return HeldOut(own, baselines, prompts)

    def record(self, largest: _ShareLosses, confidence: float) -> result.StudiedShareRecord:
        """Return the record; the model is compared with itself at the largest share."""
        held, most = self.held_out(), largest.held_out()
        means = [split.held.own.mean() for split in self.by_split]
        return result.StudiedShareRecord(
            share=self.share,
            judges=self.judges,
            fitted=float(np.mean([split.fitted for split in self.by_split])),
            cross_entropy=held.mean(held.own, confidence),
            between_splits=_between(means),
            more_than_largest=held.mean(held.own - most.own, confidence),
            baselines={
                name: result.StudiedBaseline(
                    cross_entropy=held.mean(losses, confidence),
                    between_splits=_between([split.held.baselines[name].mean() for split in self.by_split]),
                    difference=held.mean(losses - held.own, confidence),
                )
                for name, losses in held.baselines.items()
            },
            splits=[float(mean) for mean in means],
            ranks=[split.rank for split in self.by_split],
        )


def _notes(by_judges: Sequence[_ShareLosses], left_out: Sequence[float]) -> Iterator[str]:
    if left_out:
        shares = ", ".join(f"{share:.0%}" for share in left_out)
        yield f"Not studied: {shares} of the human ratings, which is fewer than {engine.FEWEST_HUMAN}."
    counts = [losses.judges for losses in by_judges]
    if len(set(counts)) < len(counts):
        yield "Some shares of the judges are the same number of judges."
    yield "The best baseline is chosen on the held-out ratings, which favours it."
    yield (
        "Intervals are clustered by prompt. They do not count which ratings and judges were drawn: the spread "
        "between splits shows that."
    )


def _between(means: Sequence[float]) -> float | None:
    return float(np.std(means, ddof=1)) if len(means) > 1 else None


BUDGETS = (0.05, 0.1, 0.2, 0.4)

_MOST = 0.9
"""Largest share of the human ratings that is fitted: the others are predicted."""

_USUAL = 0.1
"""The shares of judges are compared at the budget nearest to this one."""


def studied_factors(
    source: reading.RowSource | ScoreTable | ratings.RatingTable,
    human: str | None,
    asked: FactorKeywords,
    *,
    budgets: Sequence[float] | None,
    rater_shares: Sequence[float],
    rater_budget: float | None,
    splits: int,
) -> result.FactorStudy:
    """Study shares of ratings and of judges, see `bonwise.factors.front.study_factors`."""
    stage_one.backend_for(asked["backend"], 0)
    for budget in budgets or ():
        checks.check_number("budgets", budget, low=0.0, high=_MOST)
    for share in rater_shares:
        checks.check_number("rater_shares", share, low=0.001, high=1.0)
    checks.check_whole("splits", splits, least=1)
    table = engine.read_ratings(source, human, asked)
    whole, confidence = rating_arrays.RatingArrays.of(table), asked["confidence"]
    engine.refuse_unfit(table, whole, asked["rank"])
    taken, left_out = _budgets(table, int(whole.human.sum()), budgets)
    settings = engine.recorded(
        result.FactorStudySettings,
        table,
        asked,
        int((~whole.human).sum()),
        budgets=list(taken),
        rater_shares=sorted(set(rater_shares)),
        rater_budget=_at_budget(taken, rater_budget),
        splits=splits,
    )
    held_out, studied = _StudiedSplits(whole, settings).studied()
    by_labels, by_judges = studied[: len(taken)], studied[len(taken) :]
    return result.FactorStudy(
        data=result.StudiedData(
            prompts=len(table.prompts),
            models=len(table.models),
            ratings=len(table.rating),
            human_ratings=int(table.by_human.sum()),
            judges=sum(scale.size > 1 for scale in table.raters) - 1,
            dropped=dict(table.left_out),
            held_out=held_out,
        ),
        settings=settings,
        by_labels=[losses.record(by_labels[-1], confidence) for losses in by_labels],
        by_judges=[losses.record(by_judges[-1], confidence) for losses in by_judges],
        notes=list(_notes(by_judges, left_out)),
    )


@dataclass(frozen=True, eq=False)
class _StudiedSplits:
    """Fits and predicts, split by split."""

    data: rating_arrays.RatingArrays
    """All ratings."""
    settings: result.FactorStudySettings

    def studied(self) -> tuple[list[int], list[_ShareLosses]]:
        """Return how many ratings each split holds out, and the losses by budget and then by share of judges."""
        asked = self.settings
        steps = [(budget, 1.0) for budget in asked.budgets]
        steps += [(asked.rater_budget, share) for share in asked.rater_shares]
        judges = self.data.raters - 1
        counts = [max(1, round(share * judges)) for _, share in steps]
        studied = [
            _ShareLosses(share if at >= len(asked.budgets) else budget, count)
            for at, ((budget, share), count) in enumerate(zip(steps, counts, strict=True))
        ]
        held_out = []
        with counting("share", asked.splits * len(steps)) as step:
            for rng in np.random.default_rng(asked.seed).spawn(asked.splits):
                ratings, places = self._in_order(rng)
                order = rng.permutation(judges) + 1
                held = ratings.only(places >= max(asked.budgets) * len(ratings))
                held_out.append(len(held))
                fits = {judges: self._all_judges}
                losses: dict[tuple[float, int], tuple[HeldOut, int]] = {}
                for (budget, _), count, into in zip(steps, counts, studied, strict=True):
                    fitted = ratings.only(places < budget * len(ratings))
                    if count not in fits:
                        fits[count] = self._stage_one(sorted(order[:count].tolist()))
                    if (budget, count) not in losses:
                        losses[budget, count] = self._losses(*fits[count], fitted, held)
                    into.by_split.append(_SplitLosses(*losses[budget, count], len(fitted)))
                    step()
        return held_out, studied

    def _in_order(self, rng: np.random.Generator) -> tuple[stage_two.HumanRatings, Floats]:
        human = self.data.only(self.data.human)
        places = stage_two.RatedCells.of(human).places(self.data.models, rng)
        return stage_two.HumanRatings.of(self.data, seed=int(rng.integers(2**31))), places

    @cached_property
    def _all_judges(self) -> tuple[list[model_choice.StageOneFit], stage_two.HumanDesign]:
        return self._stage_one(list(range(1, self.data.raters)))

    def _stage_one(self, raters: list[int]) -> tuple[list[model_choice.StageOneFit], stage_two.HumanDesign]:
        judges, asked = self.data.of_raters(raters), self.settings
        ranks = (
            [few for few in model_choice.RANKS if few <= engine.largest_rank(judges)]
            if asked.rank is None
            else [asked.rank]
        )
        priors = list(model_choice.PRIORS) if asked.prior is None else [asked.prior]
        fits = model_choice.fit_stage_one(
            judges, ranks, priors, restarts=asked.restarts, seed=asked.seed, backend=asked.backend
        )
        return fits, stage_two.HumanDesign(judges.models, stage_two.VerdictColumns.of(judges))

    def _losses(
        self,
        fits: list[model_choice.StageOneFit],
        design: stage_two.HumanDesign,
        fitted: stage_two.HumanRatings,
        held: stage_two.HumanRatings,
    ) -> tuple[HeldOut, int]:
        chosen = model_choice.choose_among(fits, design, fitted)
        baselines = baseline_losses(design, fitted, held, self.data.prompts)
        return HeldOut(-chosen.human.log_probabilities(held), baselines, held.cells.prompt), chosen.best.rank


def _budgets(
    table: ratings.RatingTable, count: int, asked: Sequence[float] | None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the budgets to study, and those that were not asked for and are too small."""
    wanted = sorted(set(BUDGETS if asked is None else asked))
    small = [share for share in wanted if share * count < engine.FEWEST_HUMAN]
    taken = [share for share in wanted if share not in small]
    least = engine.FEWEST_HUMAN / count
    if not taken or (asked is not None and small):
        raise (UsageError if taken or least <= _MOST else InputError)(
            f"{table.source}: {wanted[0]:g} of {count} human ratings is fewer than the {engine.FEWEST_HUMAN} that "
            "can be cross-validated",
            hint=f"fit shares of at least {np.ceil(100 * least) / 100:.2f}"
            if least <= _MOST
            else "add human ratings",
        )
    if (1 - taken[-1]) * count < engine.FEWEST_HUMAN:
        raise UsageError(
            f"{table.source}: a share of {taken[-1]:g} of {count} human ratings leaves fewer than "
            f"{engine.FEWEST_HUMAN} to predict",
            hint="choose smaller shares",
        )
    return tuple(taken), tuple(small)


def _at_budget(budgets: Sequence[float], asked: float | None) -> float:
    if asked is None:
        return min(budgets, key=lambda budget: abs(budget - _USUAL))
    if asked not in budgets:
        raise UsageError(
            f"judges are compared at a budget that is studied, and {asked:g} is not",
            hint=f"one of {', '.join(f'{budget:g}' for budget in budgets)}",
        )
    return asked
