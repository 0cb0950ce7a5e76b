"""What would change the verdict on the judge that leads: other gates, other numbers of labels, prompts sent on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log10
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing import gates, judge_record, result_exhibits, result_verdict, verdict
from bonwise.auditing.settings import Settings
from bonwise.auditing.suspected import Suspected, few_pools, of_outstanding, words_of_support
from bonwise.errors import UsageError
from bonwise.report.numbers import counted, percent, setting, with_interval
from bonwise.results import given
from bonwise.routing.result import RouteSettings
from bonwise.stats import clusters, estimand, estimation, jackknife, pilot_effect, routing, sample_size, sums, support
from bonwise.stats.laws import EffectiveShare, Exact, Fieller, FisherZ, Law, Percentile, RecoveryNearOne, Student

POWER = 0.9
"""With which chance a study of the size that is named settles the verdict."""


def gate_shift(gains: Floats, possible: Floats, gate: float, clusters: Ints | None = None) -> pilot_effect.Shift:
    """Estimate ``gain - gate x possible gain`` over its deviation: above 0 where recovery is above the gate."""
    over = gains - gate * possible
    return pilot_effect.standardised(over, over * over, clusters)


class Settling(NamedTuple):
    """What a study says of a gate, by its size, if the estimate is the truth."""

    z: float
    """Standard errors between the estimate and the gate on the prompts there are; its sign does not matter."""
    prompts: int
    units: int
    """Both: prompts there are, and clusters of them; the prompts once more where there are no clusters."""
    confidence: float
    """Of the two-sided interval that settles the verdict by lying on one side of the gate."""

    @property
    def _one_sided(self) -> float:
        return (1 + self.confidence) / 2

    @property
    def _each(self) -> float:
        return abs(self.z) / math.sqrt(self.units)

    def chance(self, prompts: float) -> float:
        """Return the power of a one-sided t test on the estimate's side of the gate, by Guenther's correction."""
        loss = sample_size.critical_value(self._one_sided, 1) ** 2 / 2
        units = max(prompts * self.units / self.prompts - loss, 0.0)
        return sample_size.mean_power(self._each, units, self._one_sided, 1)

    def needed(self, power: float = POWER) -> float | None:
        """Return the prompts at which that chance is `power`; None where the estimate equals the gate."""
        return self._prompts(self._each, power)

    def needed_between(self, pilot: pilot_effect.Shift, power: float = POWER) -> tuple[float | None, float | None]:
        """Return between which numbers that lies by the `pilot`; None above where the distance may be 0."""
        low, high = pilot.at(self.confidence)
        if pilot.estimate < 0:
            low, high = -high, -low
        own = abs(pilot.estimate)
        if not math.isfinite(high) or own == 0:
            return None, None
        largest = self._prompts(self._each * low / own, power) if low > 0 else None
        return self._prompts(self._each * high / own, power), largest

    def _prompts(self, each: float, power: float) -> float | None:
        if each < 1e-6:
            return None
        return pilot_effect.small_sample_units(each, power, self._one_sided) * self.prompts / self.units


def projected(found: estimand.Estimate, ratio: float, confidence: float) -> estimand.Estimate | None:
    """Return an estimate with the interval of `ratio` times as many prompts: variances shrink, df grows."""
    if found.estimate is None or found.law is None:
        return None
    n = max(round(found.n * ratio), 1)
    law = found.law if ratio == 1 else _scaled(found.law, found.estimate, ratio, n)
    if law is None:
        return None
    se = np.nan if found.se is None else found.se / np.sqrt(ratio)
    if law.at(confidence) is None:
        return estimand.Estimate.undefined(estimand.NOT_DISTINGUISHABLE, n).with_method(found.method)
    made = estimation.under(law, confidence, estimate=found.estimate, se=float(se), n=n)
    rests = None if found.support is None else found.support.times(ratio)
    return support.reaching(replace(made, method=found.method, support=rests))


def _scaled(law: Law, estimate: float, ratio: float, n: int) -> Law | None:
    """Return a law on other prompts; None for one that says nothing of how it depends on their number."""
    if isinstance(law, Fieller):
        caa, cab, cbb = (one / ratio for one in (law.caa, law.cab, law.cbb))
        return replace(law, caa=caa, cab=cab, cbb=cbb, df=_df(law.df, ratio, n))
    if isinstance(law, Student | FisherZ | EffectiveShare):
        return replace(law, se=float(law.se / np.sqrt(ratio)), df=_df(law.df, ratio, n))
    if isinstance(law, RecoveryNearOne):
        inside, lost = _scaled(law.ratio, estimate, ratio, n), _scaled(law.lost, estimate, ratio, n)
        return RecoveryNearOne(inside, lost) if inside is not None and isinstance(lost, EffectiveShare) else None
    if isinstance(law, Exact):
        return replace(law, n=max(round(law.n * ratio), 1))
    if isinstance(law, Percentile):
        return replace(law, replicates=estimate + (law.replicates - estimate) / np.sqrt(ratio))
    return None


def _df(df: float, ratio: float, n: int) -> float:
    return min(max((df + 1) * ratio - 1, jackknife.FEWEST_DF), max(n - 1.0, 1.0))


def distance(found: estimand.Estimate, value: float) -> float | None:
    """Return by how many standard errors an estimate lies above a value, a ratio by Fieller; None without one."""
    if found.estimate is None:
        return None
    law = found.law.ratio if isinstance(found.law, RecoveryNearOne) else found.law
    apart, se = found.estimate - value, found.se
    if isinstance(law, Fieller):
        apart = law.a - value * law.b
        se = float(np.sqrt(max(law.caa - 2 * value * law.cab + value**2 * law.cbb, 0.0)))
    return None if se is None or se <= 0 else float(np.round(apart / se, 12))


RECOVERY = "recovery"


@dataclass(frozen=True, slots=True)
class VerdictElsewhere:
    """What the verdict on one judge would be."""

    judge: judge_record.JudgeAudit
    settings: Settings
    against: str
    """What the judge is compared with, as a noun."""

    @property
    def gate(self) -> float:
        """The gate of the audit."""
        return self.settings.thresholds.recovery_useful

    @property
    def recovery(self) -> estimand.Estimate:
        """The recovery of the audit."""
        return self.judge.metrics[RECOVERY]

    @property
    def who(self) -> str:
        """What the verdict is on."""
        return "what picked" if self.judge.logged else "this judge"

    def answer(
        self,
        *,
        gate: float | None = None,
        recovery: estimand.Estimate | None = None,
        suspected: Sequence[Suspected] | None = None,
    ) -> tuple[result_verdict.Level, str]:
        """Return the word and the first sentence of the verdict; what is not given is that of the audit."""
        thresholds = self.settings.thresholds
        metrics = self.judge.metrics
        said = verdict.VerdictSentences(
            metrics if recovery is None else {**metrics, RECOVERY: recovery},
            thresholds if gate is None else thresholds.model_copy(update={"recovery_useful": gate}),
            self.against,
            who=self.who,
        )
        if suspected is None:
            suspected = self.judge.suspected_at(RECOVERY, self.gate if gate is None else gate)
        return verdict.best_of_n_answer(said, suspected)


def step_figures(found: estimand.Estimate) -> dict[str, Any]:
    """Return recovery, its two-sided interval and the one-sided bounds, as every step of a slider holds them."""
    lower, upper = found.bounds(2 * support.ONE_SIDED - 1) or (None, None)
    if found.interval is not None and found.law is None:  # known without error, such as where all prompts are sent
        lower, upper = found.low, found.high
    return {"recovery": found.estimate, "low": found.low, "high": found.high, "lower": lower, "upper": upper}


_BELOW, _ABOVE = 6, 15
"""Steps below and above the number there is; three of them double it."""

_FEWEST = 2

_MANY = 1e6
"""So many times the prompts leave an interval next to no width."""


def label_counts(now: int) -> list[int]:
    """Return the labelled prompts that the slider steps through: from a quarter of those there are to 32 times."""
    below = {_rounded(now * 2 ** (-step / 3)) for step in range(1, _BELOW + 1)}
    found = {one for one in below if _FEWEST <= one < now} | {now}
    step = 0
    while step < _ABOVE or len(found) < result_exhibits.FEWEST_STEPS:
        step += 1
        found.add(max(_rounded(now * 2 ** (step / 3)), now))
    return sorted(found)


def _rounded(value: float) -> int:
    unit = 10 ** max(floor(log10(value)) - 1, 0) if value >= 1 else 1
    return round(value / unit) * unit


def label_steps(verdicts: VerdictElsewhere) -> result_exhibits.LabelSteps | None:
    """Return the verdict at each number of labelled prompts; None where the interval cannot be projected."""
    labelled, found = verdicts.judge.labelled_for(RECOVERY), verdicts.recovery
    if labelled.prompts < _FEWEST or projected(found, 1.0, verdicts.settings.confidence) is None:
        return None
    settling = _settling(verdicts, labelled)
    counts = label_counts(labelled.prompts)
    steps = [_step(verdicts, labelled, settling, prompts) for prompts in counts]
    return result_exhibits.LabelSteps(
        steps=steps,
        current=counts.index(labelled.prompts),
        sampled=not _labelled_whole(verdicts.judge),
        **given(needed=_needed(verdicts, settling)),
    )


def _settling(verdicts: VerdictElsewhere, labelled: gates.Labelled) -> Settling | None:
    z = distance(verdicts.recovery, verdicts.gate)
    if z is None:
        return None
    panel = verdicts.judge.labelling.panel
    units = labelled.prompts
    if panel.clusters is not None:
        units = min(units, clusters.cluster_codes(panel.clusters[panel.labelled_cells > 0])[1])
    return Settling(z, labelled.prompts, units, verdicts.settings.confidence)


def _step(
    verdicts: VerdictElsewhere, labelled: gates.Labelled, settling: Settling | None, prompts: int
) -> result_exhibits.LabelStep:
    now, confidence = labelled.prompts, verdicts.settings.confidence
    found = projected(verdicts.recovery, prompts / now, confidence)
    if found is None:
        raise AssertionError("what can be projected once can be projected again")
    suspected = tuple(_suspected(verdicts, prompts / now))
    level, _ = verdicts.answer(recovery=found, suspected=suspected)
    ground = words_of_support(found, verdicts.gate, "a verdict")
    why, chance = f"It stays open: {ground}." if ground else "", None
    if _stays_open(verdicts, suspected):
        facts = "; ".join(one.fact for one in suspected)
        more = prompts >= support.FEWEST and all(one.outstanding is None for one in suspected)
        why = f"More labels alone do not settle it: {facts}." if more else f"It stays open: {facts}."
    elif settling is not None:
        chance = 0.0 if ground else settling.chance(prompts)
    labels = ceil(round(prompts * labelled.labels_each, 6))
    return result_exhibits.LabelStep(
        **step_figures(found),
        level=level,
        sentence=" ".join(_sentences(verdicts, level, prompts, labels, chance, why, now=prompts == now)),
        prompts=prompts,
        labels=labels,
        chance=chance,
    )


def _suspected(verdicts: VerdictElsewhere, ratio: float) -> Iterator[Suspected]:
    """Yield what would still keep the verdict open on `ratio` times as many prompts."""
    judge = verdicts.judge
    yield from (one for one in judge.suspected if one.kind != "few pools" and one.outstanding is None)
    for one in judge.outstanding:
        found = one.without.get(RECOVERY)
        then = None if found is None else projected(found, min(ratio, _MANY), verdicts.settings.confidence)
        if one.without and not support.passes(then, verdicts.gate):
            yield of_outstanding(one.group, RECOVERY, verdicts.gate, with_it=verdicts.recovery, without_it=found)
            break
    pools = _pools(judge) * ratio
    if pools < support.FEWEST:
        yield few_pools(max(floor(pools), 1))


def _pools(judge: judge_record.JudgeAudit) -> int:
    """Return the pools that a verdict needs twenty of."""
    if judge.cells is not None:
        counts = judge.cells.figures.counts.get(RECOVERY)
        return 0 if counts is None else counts.pools
    return judge.labelled_for(RECOVERY).prompts


def _stays_open(verdicts: VerdictElsewhere, suspected: Sequence[Suspected]) -> bool:
    estimate = verdicts.recovery.estimate
    return bool(suspected) and estimate is not None and estimate >= verdicts.gate


def _sentences(
    verdicts: VerdictElsewhere,
    level: result_verdict.Level,
    prompts: int,
    labels: int,
    chance: float | None,
    why: str,
    *,
    now: bool,
) -> Iterator[str]:
    with_labels = f"{counted(prompts, 'labelled prompt')} ({counted(labels, 'label')})"
    if now:
        yield f"The audit has {with_labels}."
    else:
        yield f"With {with_labels} and the same recovery, {would_be(level, verdicts.who)}."
    if why:
        yield why
    elif chance is not None:
        yield (
            f"An audit of that size settles the verdict with a chance of {_chance(chance)}, if this recovery is the "
            "true one."
        )


def would_be(level: result_verdict.Level, who: str) -> str:
    """Return what a verdict would say, as a clause."""
    if level == "inconclusive":
        return f"it would not be settled whether {who} is useful"
    return f"{who} would be {level}"


def _chance(value: float) -> str:
    """Write a chance in whole percent, never as certain."""
    return "more than 99%" if value > 0.99 else "less than 1%" if value < 0.01 else percent(round(value, 2))


def _needed(verdicts: VerdictElsewhere, settling: Settling | None) -> result_exhibits.LabelsNeeded | None:
    """Return the labelled prompts that settle the verdict; None where none do, or where labels are a sample."""
    prompts = None if settling is None else settling.needed()
    pilot = _pilot(verdicts)
    many = tuple(_suspected(verdicts, float("inf")))
    if settling is None or prompts is None or pilot is None or _stays_open(verdicts, many):
        return None
    found = verdicts.recovery
    ratio = 1.0 if found.support is None else found.support.ratio_needed(found.estimate or 0.0, verdicts.gate)
    floor = max(settling.prompts * (ratio or 1.0), support.FEWEST)
    low, high = (None if end is None else max(end, floor) for end in settling.needed_between(pilot))
    return result_exhibits.LabelsNeeded(power=POWER, prompts=max(prompts, floor), low=low, high=high)


def _pilot(verdicts: VerdictElsewhere) -> pilot_effect.Shift | None:
    """Return the distance to the gate with its standard error, from prompts that are labelled whole."""
    judge = verdicts.judge
    if not _labelled_whole(judge):
        return None
    panel = judge.labelling.panel.keep(judge.labelling.labelled)
    t = sums.Sums(*panel.sums())
    return gate_shift(t.J - t.R, t.M - t.R, verdicts.gate, panel.clusters)


def _labelled_whole(judge: judge_record.JudgeAudit) -> bool:
    """Tell whether the figures are those of prompts that are labelled whole, and nothing is estimated for others."""
    return judge.labelling.method in ("complete", "labelled_only") and judge.drawn is None


_GATES = tuple(step / 20 for step in range(21))


class _Studied(NamedTuple):
    """What tells whether two results are of the same table and candidates."""

    source: str
    left_out: frozenset[str]


@runtime_checkable
class _StudiesShares(Protocol):
    """A result that knows what sending prompts to a stronger judge does to recovery, as a study of routing does."""

    @property
    def settings(self) -> RouteSettings: ...

    def recovery_by_share(self) -> Mapping[str, routing.RoutedRecovery]: ...


def what_if(
    judges: Mapping[str, judge_record.JudgeAudit],
    settings: Settings,
    *,
    source: str,
    reference: str | None = None,
    also: Iterable[object] = (),
) -> result_exhibits.WhatIf | None:
    """Return what would change the verdict on the judge with the largest recovery; None without an interval."""
    judge = _leading(judges)
    if judge is None or settings.target != "best-of-n":
        return None
    verdicts = VerdictElsewhere(judge, settings, reference or verdict.ORACLE)
    own = _Studied(source, frozenset((*settings.exclude, *settings.control)))
    return result_exhibits.WhatIf(
        judge=judge.judge,
        confidence=settings.confidence,
        gate_value=verdicts.gate,
        gate=gate_steps(verdicts),
        **given(share=_routed(verdicts, own, also), labels=label_steps(verdicts)),
    )


def _leading(judges: Mapping[str, judge_record.JudgeAudit]) -> judge_record.JudgeAudit | None:
    """Return the judge with the largest recovery; None where none has one with an interval, or it ties every pair."""
    known = [(one.metrics[RECOVERY], one) for one in judges.values()]
    some = [(found.estimate, one) for found, one in known if found.estimate is not None and found.low is not None]
    if not some:
        return None
    judge = max(some, key=lambda pair: pair[0])[1]
    return None if judge.record.verdict.level == "random" else judge


def gate_steps(verdicts: VerdictElsewhere) -> result_exhibits.GateSteps:
    """Return the verdict at each gate from 0 to 1, that of the audit among them."""
    gates = sorted({*_GATES, verdicts.gate})
    figures = step_figures(verdicts.recovery)
    steps = []
    for gate in gates:
        level, sentence = verdicts.answer(gate=gate)
        held = verdicts.judge.gate(RECOVERY, gate)
        steps.append(
            result_exhibits.GateStep(
                **figures, level=level, sentence=sentence, gate=gate, state=held.state, gate_sentence=held.sentence
            )
        )
    return result_exhibits.GateSteps(steps=steps, current=gates.index(verdicts.gate))


def share_steps(verdicts: VerdictElsewhere, routed: routing.RoutedRecovery) -> result_exhibits.ShareSteps:
    """Return the verdict at each share of the prompts that goes to a judge that never errs."""
    steps = [
        _share_step(verdicts, share, found) for share, found in zip(routed.shares, routed.recoveries, strict=True)
    ]
    return result_exhibits.ShareSteps(signal=routed.signal, steps=steps, current=0)


def _share_step(verdicts: VerdictElsewhere, share: float, found: estimand.Estimate) -> result_exhibits.ShareStep:
    level, _ = verdicts.answer(recovery=found)
    sent = f"{percent(share)} of the prompts" if 0 < share < 1 else "all prompts" if share else "no prompt"
    figure = "undefined" if found.estimate is None else with_interval(found, "share")
    if share == 1:
        figure = percent(1.0)
    sentence = (
        f"With {sent} sent to a judge that never errs, recovery {'would be' if share else 'is'} {figure} and the "
        f"verdict {level}; the gate is {setting(verdicts.gate, 'share')}."
    )
    return result_exhibits.ShareStep(**step_figures(found), level=level, sentence=sentence, share=share)


def _routed(verdicts: VerdictElsewhere, own: _Studied, also: Iterable[object]) -> result_exhibits.ShareSteps | None:
    """Return the shares of the first study of routing that was made on the candidates of the audit."""
    for one in also:
        if not isinstance(one, _StudiesShares):
            continue
        if _Studied(one.settings.source, frozenset(one.settings.exclude)) != own:
            continue
        try:
            routed = one.recovery_by_share().get(verdicts.judge.judge)
        except UsageError:  # a study that was loaded holds no prompts
            continue
        if routed is not None and routed.recoveries[0].estimate is not None:
            return share_steps(verdicts, routed)
    return None
