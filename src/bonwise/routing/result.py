"""Which prompts to send to a stronger judge, and what each signal is worth: ``bonwise.route/1``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from bonwise import results
from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.routing.result_router import SignalName
from bonwise.table.facts import DroppedPrompt, LabelsLeftOut, Shape, UnlabelledCandidates, ValuesRead

if TYPE_CHECKING:
    from bonwise.routing.saved import SavedRouter
    from bonwise.routing.signal_study import StudiedJudge
    from bonwise.stats.routing import RoutedRecovery


class RoutedShareRecord(results.Record):
    """Sending one share of the prompts to a judge that never errs."""

    share: results.PositiveShare
    """Part of the prompts that is sent."""
    value: results.Number | None
    value_low: results.Number | None
    value_high: results.Number | None
    value_se: results.NonNegative | None
    """All four: mean label afterwards, with its interval and standard error."""
    lift: results.Number | None
    lift_low: results.Number | None
    lift_high: results.Number | None
    lift_se: results.NonNegative | None
    """All four: that mean minus the one where as many prompts are sent at random."""
    captured: results.Number | None
    low: results.Number | None
    high: results.Number | None
    se: results.NonNegative | None
    """All four: lift as a part of the largest possible one; the largest itself has no interval."""
    n: results.Count
    """Labelled prompts."""
    reason: str | None = None
    """Why the part captured, or its interval, is missing."""

    @property
    def at_random(self) -> float | None:
        """Mean label where as many prompts are sent at random."""
        return None if self.value is None or self.lift is None else self.value - self.lift


class AcrossBins(results.Record):
    """Correlations of the signal with the means of its bins; they hide noise, and so lie far above the others."""

    bins: results.Count
    """Groups of prompts with about the same signal."""
    wrong: results.Number | None
    gap: results.Number | None
    gain: results.Number | None
    """All three: none where there are fewer than three bins."""
    reason: str | None = None
    """Why they are missing."""


class GainBin(results.Record):
    """Prompts with about the same signal."""

    prompts: results.Count
    signal: results.Number
    """Mean of the signal."""
    wrong: EstimateRecord
    """How likely the pick is not among the best candidates."""
    gap: EstimateRecord
    """What it loses where it is not."""
    gain: EstimateRecord
    """What it loses on average."""


class GainDecomposition(results.Record):
    """Mean gain, split into how likely the pick is wrong and what it loses if it is."""

    corr_wrong: EstimateRecord
    corr_gap: EstimateRecord
    corr_gain: EstimateRecord
    """All three: correlations of the signal with the two factors, and with the gain itself, over prompts."""
    corr_best: EstimateRecord | None = None
    """With the label of the best candidate."""
    across_bins: AcrossBins
    bins: list[GainBin]
    """From the lowest signal up."""


class SignalRecord(results.Record):
    """One signal at every share, or why it has no figures."""

    meaning: str
    """What the signal is."""
    learnt: bool
    """Whether it is a model of the gain, cross-fitted."""
    reason: Annotated[str, Field(min_length=1)] | None = None
    """Why there are no figures."""
    note: Annotated[str, Field(min_length=1)] | None = None
    """What the figures leave out."""
    shares: list[RoutedShareRecord]
    """In rising order of the share."""
    corr_gain: EstimateRecord | None
    """Correlation of the signal with the gain, over prompts."""
    features: list[str] | None = None
    """What the signal looks at."""
    lacking: results.Count | None = None
    """Labelled prompts without a value of the signal, which are sent last."""
    decomposition: GainDecomposition | None = None

    @model_validator(mode="after")
    def _figures_or_a_reason(self) -> Self:
        figures = {
            "shares": bool(self.shares),
            "corr_gain": self.corr_gain is not None,
            "features": self.features is not None,
            "lacking": self.lacking is not None,
            "decomposition": self.decomposition is not None,
        }
        wrong = [name for name, there in figures.items() if there != (self.reason is None)]
        if wrong:
            raise ValueError(
                f"has {'no ' if self.reason is None else ''}{wrong[0]}, with "
                f"{'no' if self.reason is None else 'a'} reason why there are no figures"
            )
        return self

    def at(self, share: float) -> RoutedShareRecord:
        """Return the figures at one of the shares."""
        return next(sent for sent in self.shares if sent.share == share)


class RoutedData(results.Record):
    """The prompts behind the figures of a judge."""

    prompts: results.Count
    """Those that the judge was asked about."""
    labelled_prompts: results.Count
    """Of these, those with labels for all candidates."""
    unscored: dict[str, results.Count] | None = None
    """Candidates that the first pass left without a score, by reason: they are picked only where none has one."""
    unscored_by_strong: results.Count | None = None
    """Labelled prompts of which the stronger judge scored nothing: they count as unlabelled."""
    prompts_under_two_scores: results.Count | None = None
    """Prompts with fewer than two first scores: they are sent first, and in no figure of a signal alone."""
    dropped: list[DroppedPrompt]
    method: Literal["complete", "labelled_only", "weighted"]
    """What the figures describe: all prompts; the labelled ones, where it is unknown why the others lack labels; or
    all prompts, through weights of 1 / propensity.
    """

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.labelled_prompts > self.prompts:
            raise ValueError("more prompts are labelled than there are")
        return self


class PredictedBound(results.Record):
    """How far the features of a prompt could carry at one share, and how far the expected gain carries."""

    share: results.Share
    bound: EstimateRecord
    """Estimate of the largest lift that a router can reach which reads no more out of the features."""
    achieved: EstimateRecord
    """Part of it that the signal ``expected_gain`` reaches."""
    gaussian: results.Number
    """Part of it that normally distributed gains allow."""


class MarginGroup(results.Record):
    """Prompts with about the same margin between the two highest scores."""

    margin: results.Number
    """Their mean margin."""
    mean: EstimateRecord
    """Of what is compared with it."""


class CalibrationCheck(results.Record):
    """Whether a figure moves with the margin as it should."""

    answer: Literal["yes", "no", "inconclusive"]
    reason: str
    """What the answer rests on."""
    correlation: EstimateRecord
    """Of the margin with the figure."""
    groups: list[MarginGroup]
    """From the smallest margin up."""


class RecommendedRoute(results.Record):
    """The signal to route by at the share that was asked for."""

    signal: SignalName
    share: results.Share
    threshold: results.Number
    """Prompts whose signal lies above it are sent; those at it, with the probability that fills the share."""
    captured: EstimateRecord
    """Part of the possible lift; of a learnt signal cross-fitted. The interval counts the choice among signals."""
    sentences: list[str]
    among: results.Count | None = None
    """Signals with figures, of which it has the largest lift."""
    confidence: results.Confidence | None = None
    """Confidence at which an interval of that signal alone counts the choice at the confidence asked for."""


class BudgetSplit(results.Record):
    """A mean number of calls for each prompt, split between a stronger judge and further draws of this one."""

    mean_calls: results.Positive
    strong_cost: results.Positive
    """Both: calls for each prompt in all, and the price of one that is sent on, in calls."""
    share: results.Share
    """Part of the prompts to send on."""
    further_calls: results.NonNegative
    """Mean calls of further draws for each of the others."""
    gain: EstimateRecord
    """Expected gain in the mean label over the first scores."""
    route_only: results.Number
    redraw_only: results.Number
    """Both: the same where all is spent on one use."""
    over_routing: EstimateRecord
    """Gain minus that of routing alone, paired by prompt."""
    sentence: str


FoundBy = Literal["named", "price", "reference"]
"""How the stronger judge was found."""

Wanted = Literal["recovery", "agreement", "cost", "calls"]
"""What a share is recommended for."""


class RoutedValue(results.Record):
    """One share sent to the stronger judge of the table; 0 is the first judge alone, 1 the stronger one alone."""

    share: results.Share
    """Part of the prompts that is sent."""
    value: EstimateRecord
    """Mean label of the picks; with a reference, how often they are those of the reference."""
    recovery: EstimateRecord | None = None
    """Part of the way from random picks to the best ones; absent with a reference."""
    over_cheap: EstimateRecord
    """Value minus that of the first judge alone, and value of the stronger one alone minus it, paired by prompt."""
    under_strong: EstimateRecord
    """Value minus that of the first judge alone, and value of the stronger one alone minus it, paired by prompt."""
    calls: results.NonNegative
    """Per 1,000 prompts, those of the first judge included."""
    tokens: results.NonNegative | None = None
    """Per 1,000 prompts, where the table says what scores took."""
    cost: results.NonNegative | None = None
    """US dollars per 1,000 prompts, where prices are known."""

    @property
    def main(self) -> EstimateRecord:
        """The figure that a target is of."""
        return self.value if self.recovery is None else self.recovery


class RouteWorth(results.Record):
    """The first judge alone, a route, and the stronger judge alone, by the labels."""

    strong: str
    """The stronger judge."""
    found_by: FoundBy
    """Whether it was named, is the most expensive, or stands for the labels."""
    frontier: Annotated[list[RoutedValue], Field(min_length=2)]
    """In rising order of the share, from 0 to 1. Between these the intervals count the choice of the signal."""
    share: results.Share | None
    """The share to send: as given, or for the target or the budget; None where no share fits."""
    shown_share: results.Share | None = None
    """Least share from which on every interval lies at or above the target."""
    reason: str | None = None
    """Why no share fits."""

    @model_validator(mode="after")
    def _goes_from_one_judge_to_the_other(self) -> Self:
        shares = [routed.share for routed in self.frontier]
        if shares != sorted(set(shares)) or shares[0] != 0 or shares[-1] != 1:
            raise ValueError("the frontier does not rise from a share of 0 to one of 1")
        if (self.share is None) != (self.reason is not None) or self.share not in (None, *shares):
            raise ValueError("the share to send is neither on the frontier nor missing for a reason")
        return self

    @property
    def routes(self) -> bool:
        """Whether a part of the prompts is sent, not none or all."""
        return self.share is not None and 0 < self.share < 1

    def at(self, share: float) -> RoutedValue:
        """Return the figures at one of the shares."""
        return next(routed for routed in self.frontier if routed.share == share)


GainGrid = Annotated[
    list[Annotated[list[EstimateRecord], Field(min_length=4, max_length=4)]], Field(min_length=4, max_length=4)
]
"""Mean gain by margin (0, to 0.05, to 0.10, above) and mean score (below 0.7, to 0.8, to 0.9, from 0.9)."""


PerfectOrder = Annotated[list[RoutedShareRecord], Field(min_length=1)]
"""Prompts in the order of their true gain, at every share."""


class JudgeRoute(results.Record):
    """What routing is worth, signal by signal."""

    data: RoutedData
    signals: dict[SignalName, SignalRecord]
    perfect: PerfectOrder
    """Prompts in the order of their true gain."""
    bound: list[PredictedBound]
    """Empty where the signal ``expected_gain`` has no figures."""
    gain_by_margin_and_level: GainGrid | None
    """Mean gain by margin (0, to 0.05, to 0.10, above) and mean score (below 0.7, to 0.8, to 0.9, from 0.9); None
    where scores leave [0, 1].
    """
    confidence_calibrated: CalibrationCheck
    """Whether a pick with a larger margin is right more often."""
    voi_calibrated: CalibrationCheck
    """Whether a larger margin means less to gain."""
    recommendation: RecommendedRoute
    budget: BudgetSplit | None = None
    """Where a joint budget was given."""
    worth: RouteWorth | None = None
    """Where the table holds the stronger judge."""

    @model_validator(mode="after")
    def _holds_all_signals_against_the_same_shares(self) -> Self:
        shares = [sent.share for sent in self.perfect]
        for name, signal in self.signals.items():
            if signal.shares and [share.share for share in signal.shares] != shares:
                raise ValueError(f"signals.{name} has other shares than perfect")
        taken = self.recommendation
        if taken.signal not in self.signals or not self.signals[taken.signal].shares:
            raise ValueError(f"recommendation names the signal {taken.signal}, which has no figures")
        if taken.share not in shares:
            raise ValueError("recommendation has a share that perfect lacks")
        return self

    @property
    def studied(self) -> dict[SignalName, SignalRecord]:
        """The signals that have figures."""
        return {name: signal for name, signal in self.signals.items() if signal.shares}

    def perfect_at(self, share: float) -> RoutedShareRecord:
        """Return the figures of the perfect order at one of the shares."""
        return next(sent for sent in self.perfect if sent.share == share)


_OF_ONE = tuple(JudgeRoute.model_fields)
_ALONE = ("judge", *(key for key in _OF_ONE if key not in ("budget", "worth")))
_TOGETHER = ("judges", "not_studied")


class RouteSettings(ValuesRead):
    """What was asked for, and what the table was taken for."""

    source: str
    columns: dict[str, str]
    """Role to column."""
    share: Annotated[float, Field(gt=0, lt=1)]
    """Part of the prompts to send, in (0, 1)."""
    confidence: results.Confidence
    """Of the two-sided intervals."""
    seed: results.Count
    exclude: list[str]
    """Candidate names left out."""
    first_pass_only: bool
    """Whether repeated scores and other judges were left out of the signals."""
    mean_calls: results.Number | None
    strong_cost: results.Number | None
    """Both: of a joint budget: calls for each prompt, and the price of one that is sent on."""
    shape: Shape
    reference: str | None
    """The judge that stood in for oracle labels."""
    version: str
    """Of bonwise."""
    labels_left_out: LabelsLeftOut | None = None
    unlabelled: UnlabelledCandidates | None = None
    strong: str | None = None
    """The stronger judge of the table; without one it is a judge that never errs."""
    prices: dict[str, results.NonNegative] | None = None
    """US dollars per call that were stated, by judge."""
    wanted: dict[Wanted, results.NonNegative] | None = None
    """Target that a share was to reach, or dollars or calls per 1,000 prompts that it may cost."""

    @model_validator(mode="after")
    def _budget_is_whole(self) -> Self:
        if (self.mean_calls is None) != (self.strong_cost is None):
            raise ValueError("mean_calls and strong_cost stand together")
        return self


class RouteStudy(results.Document):
    """What sending some prompts to a stronger judge is worth, and by which signal to choose them.

    What was found of one judge stands beside the settings; of several, in `judges`. `judges` is there for one judge
    too.
    """

    schema_: Literal["bonwise.route/1"] = Field(default="bonwise.route/1", alias="schema")
    settings: RouteSettings
    judge: str | None = None
    """Name of the only judge."""
    data: RoutedData | None = None
    """Of the only judge, see `JudgeRoute`."""
    signals: dict[SignalName, SignalRecord] | None = None
    """Of the only judge, see `JudgeRoute`."""
    perfect: PerfectOrder | None = None
    """Of the only judge, see `JudgeRoute`."""
    bound: list[PredictedBound] | None = None
    """Of the only judge, see `JudgeRoute`."""
    gain_by_margin_and_level: GainGrid | None = None
    """Of the only judge, see `JudgeRoute`."""
    confidence_calibrated: CalibrationCheck | None = None
    """Of the only judge, see `JudgeRoute`."""
    voi_calibrated: CalibrationCheck | None = None
    """Of the only judge, see `JudgeRoute`."""
    recommendation: RecommendedRoute | None = None
    """Of the only judge, see `JudgeRoute`."""
    budget: BudgetSplit | None = None
    """Of the only judge, where a joint budget was given."""
    worth: RouteWorth | None = None
    """Of the only judge, where the table holds the stronger judge."""
    several_judges: Annotated[dict[str, JudgeRoute], Field(min_length=1)] | None = Field(default=None, alias="judges")
    left_unstudied: dict[str, str] | None = Field(default=None, alias="not_studied")
    """The judges that could not be studied, and why."""

    frame_columns = (
        *("judge", "signal", "share", "value", "value_low", "value_high", "value_se"),
        *("lift", "lift_low", "lift_high", "lift_se", "captured", "low", "high", "se", "n", "recommended", "reason"),
    )

    @model_validator(mode="after")
    def _one_or_several(self) -> Self:
        alone, together = ([key for key in keys if key in self] for keys in (("judge", *_OF_ONE), _TOGETHER))
        if alone and together:
            raise ValueError(f"one judge or several: {alone[0]} stands beside {together[0]}")
        lacking = [key for key in (_TOGETHER if together else _ALONE) if key not in self]
        if lacking:
            raise ValueError(f"{lacking[0]} is missing")
        return self

    @model_validator(mode="after")
    def _is_of_the_share_asked_for(self) -> Self:
        try:
            judges = self.judges
        except ValidationError as error:  # what the parts of the only judge say together
            raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None
        for name, judge in judges.items():
            if judge.recommendation.share != self.settings.share and not self.settings.wanted:
                raise ValueError(f"the recommendation for {name!r} is of another share than settings.share")
            if judge.budget is not None and self.settings.mean_calls is None:
                raise ValueError(f"the budget of {name!r} was split, and settings.mean_calls is null")
        return self

    @classmethod
    def of(
        cls, judges: Mapping[str, JudgeRoute], settings: RouteSettings, not_studied: Mapping[str, str]
    ) -> RouteStudy:
        """Return the document of one judge or of several."""
        if len(judges) == 1 and not not_studied:
            ((name, route),) = judges.items()
            return cls(settings=settings, judge=name, **route.given_values())
        together: dict[str, Any] = {"judges": dict(judges), "not_studied": dict(not_studied)}
        return cls(settings=settings, **together)

    def __repr__(self) -> str:
        return f"<RouteStudy of {', '.join(self.judges)} on {self.settings.source}>"

    def __getitem__(self, key: str) -> Any:
        """Return what was found of a judge by its name, else a value by its JSON key."""
        if key in self.judges:
            return self.judges[key]
        if key in self:
            return super().__getitem__(key)
        raise UsageError(f"no study of a judge {key!r}", hint=f"the judges are {', '.join(self.judges)}")

    def router(self, judge: str | None = None) -> SavedRouter:
        """Return the recommended router.

        Parameters
        ----------
        judge : str, optional
            Whose first judging it will see; needed where several were studied.

        Raises
        ------
        bonwise.errors.UsageError
            No such judge, several and none named, or no share to route.
        """
        if judge is None and len(self.judges) > 1:
            raise UsageError(
                f"this study holds {len(self.judges)} judges, and a router sees the scores of one",
                hint=f"name one of {', '.join(self.judges)}",
            )
        name = judge if judge is not None else next(iter(self.judges))
        worth = self[name].worth
        if worth is not None and not worth.routes:
            alone = worth.reason or f"{worth.strong if worth.share else name} alone is enough"
            raise UsageError(f"there is no share to route for {name}: {alone}", hint="state another target or budget")
        return self._studied("router()", name).router(self[name].recommendation)

    def save(self, path: str | Path, judge: str | None = None) -> None:
        """Write the recommended router, for `bonwise.Router` and ``bonwise select --route`` to load.

        Raises
        ------
        bonwise.errors.BonwiseError
            As `router`, or the file cannot be written.
        """
        self.router(judge).save(path)

    def recovery_by_share(self) -> Mapping[str, RoutedRecovery]:
        """Return what each judge recovers when a share of its prompts goes to a judge that never errs.

        Returns
        -------
        mapping of str to RoutedRecovery
            By judge: the recommended signal, shares from 0 to 1 in steps of 0.05, and at each share the recovery with
            the interval of `bonwise.stats.routing.routed_recovery`.
        """
        return {
            name: self._studied("recovery_by_share()", name).recovery_by_share(
                judge.recommendation.signal, self.settings.confidence
            )
            for name, judge in self.judges.items()
        }

    def _studied(self, what: str, judge: str) -> StudiedJudge:
        """Return the prompts behind what was found of a judge."""
        if judge not in self.judges:
            raise UsageError(f"no study of a judge {judge!r}", hint=f"the judges are {', '.join(self.judges)}")
        studied: StudiedJudge = self.source_of(what)[judge]
        return studied

    @property
    def judges(self) -> Mapping[str, JudgeRoute]:
        """What was found of each judge, of the only one too."""
        if self.several_judges is not None:
            return self.several_judges
        if self.judge is None:
            return {}
        given = self.given_values()
        own = {key: given[key] for key in _OF_ONE if key in given}
        return {self.judge: JudgeRoute(**own)}

    @property
    def not_studied(self) -> Mapping[str, str]:
        """The judges that could not be studied, and why."""
        return self.left_unstudied or {}

    def frame_rows(self) -> Iterator[results.FrameRow]:
        """Yield one row per judge, signal and share; a signal without figures has one row that says why.

        Columns: ``judge``, ``signal``, ``share``; ``value`` and ``lift``, each with ``_low``, ``_high`` and ``_se``;
        ``captured`` with ``low``, ``high`` and ``se``; ``n`` prompts; ``recommended``: whether it is the signal to
        route by at the share asked for; and ``reason``: why something is missing.
        """
        for name, judge in self.judges.items():
            taken = judge.recommendation
            for name_of_signal, signal in judge.signals.items():
                about = {"judge": name, "signal": name_of_signal}
                for figures in signal.shares:
                    chosen = name_of_signal == taken.signal and figures.share == taken.share
                    yield {**about, **figures.to_dict(), "recommended": chosen}
                if not signal.shares:
                    yield {**about, "recommended": False, "reason": signal.reason}
