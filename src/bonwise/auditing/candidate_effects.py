"""What a judge prefers at equal label: effects on scores, picks by group of candidates, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bonwise.arrays import Floats, Mask
from bonwise.auditing import candidate_attributes, equal_label, result
from bonwise.auditing.labelling import Labelling
from bonwise.auditing.settings import Settings
from bonwise.estimates import EstimateRecord
from bonwise.report.numbers import Bounded, Ends, counted, estimate, interval
from bonwise.results import given
from bonwise.stats import clusters, estimand, estimation, jackknife, laws, sums
from bonwise.table.panel import Panel
from bonwise.table.score_table import ScoreTable


def candidate_groups(
    panel: Panel, attribute: candidate_attributes.Attribute, *, confidence: float, method: str
) -> Iterator[result.CandidateGroup]:
    """Yield the groups of an attribute that stand beside others in some prompt; all prompts are labelled."""
    for code, name in enumerate(attribute.groups):
        group_picks = equal_label.group_picks(
            panel.ranked, panel.labels, attribute.codes == code, panel.sizes, panel.clusters
        )
        if group_picks is None:
            continue
        n = group_picks.prompts
        units = n if panel.clusters is None else clusters.cluster_codes(panel.clusters)[1]
        records = []
        for value, se, df, low in zip(*group_picks.shares[:3], (0.0, 0.0, -1.0), strict=True):
            limits = (low, 1.0)
            inside = low == 0 and 0 < value < 1 and np.isfinite(se) and se > 0
            law = laws.EffectiveShare(float(value), float(se), float(df), limits) if inside else None
            one = estimation.from_jackknife(
                float(value),
                jackknife.Scatter(float(se), float(df)),
                n,
                limits,
                confidence,
                exact=partial(laws.Exact, float(value), units, limits),
                law=law,
            )
            records.append(EstimateRecord.of(one.with_method(method)))
        picked, best, difference = records
        yield result.CandidateGroup(
            group=name,
            candidates=group_picks.candidates,
            prompts=n,
            chance=group_picks.chance,
            picked=picked,
            best=best,
            difference=difference,
        )


_PREFERS = {
    "length": ("longer answers", "shorter answers"),
    "family": ("answers of its own family", "answers of other families"),
    "position": ("the first place", "later places"),
}

_NONE = {
    "length": "No preference for longer or shorter answers is detected",
    "family": "No preference for its own family, or against it, is detected",
    "position": "No preference for the first place, or for later ones, is detected",
}

_UNTOLD = {
    "length": "A preference for longer or shorter answers cannot be told",
    "family": "A preference for its own family cannot be told",
    "position": "A preference for the first place cannot be told",
}

_UNKNOWN = {"length": "the length", "family": "the family", "position": "the place"}

_CONTRAST = {
    "length": "per doubling of length",
    "family": "against other families",
    "position": "against later places",
}


def effect_sentences(found: result.CandidateEffect) -> Iterator[str]:
    """Yield what was found of one attribute, the effect on scores first."""
    if found.score is None or found.score.estimate is None:
        yield f"{_UNTOLD[found.attribute]}: {found.reason or (found.score and found.score.reason)}."
        return
    amount = f"{estimate(found.score, sign=True)} sd {_CONTRAST[found.attribute]} at equal label"
    ends = interval(found.score, sign=True)
    counts = f"({counted(found.prompts, 'prompt')}, {counted(found.candidates, 'candidate')})"
    if found.score.low is None or found.score.high is None:
        yield f"At equal label the scores differ by {amount} {counts}; {found.score.reason}."
    elif found.score.low > 0 or found.score.high < 0:
        yield f"This judge prefers {_PREFERS[found.attribute][found.score.high < 0]}: {amount} {ends} {counts}."
    else:
        yield f"{_NONE[found.attribute]}: {amount} {ends} {counts}."
    yield _cost(found)
    jointly = found.score_jointly
    if jointly is not None and jointly.estimate is not None and jointly.low is not None:
        amount = f"{estimate(jointly, sign=True)} sd {interval(jointly, sign=True)}"
        yield f"With the other attributes equal too the effect is {amount}."
    if found.prompts_left_out:
        left_out = counted(found.prompts_left_out, "prompt")
        yield f"{left_out} left out: {_UNKNOWN[found.attribute]} is not known of every candidate."


def _cost(found: result.CandidateEffect) -> str:
    cost, regret = found.recovery_cost, found.regret_cost
    if cost is None or cost.estimate is None or regret is None:
        return f"What it costs the picks cannot be told: {(cost and cost.reason) or 'no label differs'}."
    if not found.picks_changed:
        return f"Taking the average effect out of the scores changes none of {counted(cost.n, 'pick')}."
    changed = f"taking the average effect out of the scores changes {counted(found.picks_changed, 'pick')}"
    if cost.low is None or cost.high is None:
        return f"It costs {_amounts(cost, regret)} ({cost.reason}); {changed}."
    if cost.low > 0:
        return f"It costs {_amounts(cost, regret)}; {changed}."
    if cost.high < 0:
        return f"The picks gain by it {_amounts(_turned(cost), _turned(regret))}; {changed}."
    return f"A cost is not detected: {_amounts(cost, regret, sign=True)}; {changed}."


def _amounts(cost: Bounded, regret: Bounded, *, sign: bool = False) -> str:
    recovery = f"{estimate(cost, 'points', sign=sign)} of recovery {interval(cost, 'points', sign=sign)}"
    return f"{recovery} and {estimate(regret, sign=sign)} label points per pick {interval(regret, sign=sign)}"


def _turned(found: EstimateRecord) -> Ends:
    """Return a figure of the other sign."""
    return Ends(*(None if value is None else -value for value in (found.estimate, found.high, found.low)))


FEWEST_PROMPTS, FEWEST_PROMPTS_FOR_COST = 10, 50
"""Prompts with candidates that differ, below which no effect and no cost is stated."""


_NOT_CAUSES = (
    "These are associations at equal label within prompts, not causes: what goes along with an attribute, or quality "
    "that the labels miss, may be what the judge prefers."
)

_KNOWN = {"length": "a length", "family": "a family", "position": "a place"}
_SAME = {
    "length": "all candidates of a prompt have the same length",
    "family": "no prompt holds a candidate of the judge's family and one of another",
    "position": "no prompt holds a candidate in first place and one in a later place",
}


def candidate_effects(labelling: Labelling, table: ScoreTable, settings: Settings) -> result.CandidateEffects:
    """Return what a judge prefers among candidates with the same label, in completely labelled prompts."""
    labelled, whole = labelling.panel.keep(labelling.labelled), len(labelling.panel.sizes)
    method = "complete" if labelling.method == "complete" else "labelled_only"
    attributes = list(candidate_attributes.attributes_of(table, labelled, settings)) if len(labelled.sizes) else []
    effects = [_effect(labelled, attribute, attributes, settings, method) for attribute in attributes]
    notes = [_NOT_CAUSES, *(attribute.caveat for attribute in attributes if attribute.caveat)]
    if not len(labelled.sizes):
        notes = ["Nothing can be told of length, family and place: no prompt is labelled whole."]
    elif method != "complete":
        notes.append(
            f"These figures describe the {len(labelled.sizes):,} of {whole:,} prompts that are labelled whole."
        )
    return result.CandidateEffects(effects=effects, notes=notes)


@dataclass(frozen=True, eq=False)
class _KnownCandidates:
    """The prompts of which an attribute is known."""

    panel: Panel
    values: Floats
    differ: Mask

    @classmethod
    def of(cls, panel: Panel, attributes: Sequence[candidate_attributes.Attribute]) -> _KnownCandidates:
        """Keep the prompts of which all attributes are known, their values in columns."""
        values = np.column_stack([attribute.values for attribute in attributes])
        starts = np.cumsum(panel.sizes) - panel.sizes
        known: Mask = ~np.logical_or.reduceat(np.isnan(values).any(axis=1) | np.isnan(panel.scores), starts)
        kept, values = panel.keep(known), values[np.repeat(known, panel.sizes)]
        return cls(kept, values, _differ(values[:, 0], kept) if len(kept.sizes) else np.zeros(0, dtype=bool))

    def fit(self, labels: Floats) -> equal_label.ScoreEffects:
        """Fit the effects on the scores at these labels."""
        return equal_label.score_effects(
            self.panel.scores, labels, self.values, self.panel.sizes, self.panel.clusters
        )

    @property
    def candidates(self) -> int:
        """Candidates of the prompts whose candidates differ."""
        return int(self.panel.sizes[self.differ].sum())


def _differ(values: Floats, panel: Panel) -> Mask:
    """Mark the prompts whose candidates have different values."""
    starts = np.cumsum(panel.sizes) - panel.sizes
    values = sums.compared(values)
    return np.maximum.reduceat(values, starts) > np.minimum.reduceat(values, starts)


def _effect(
    panel: Panel,
    attribute: candidate_attributes.Attribute,
    attributes: Sequence[candidate_attributes.Attribute],
    settings: Settings,
    method: str,
) -> result.CandidateEffect:
    sample = _KnownCandidates.of(panel, [attribute])
    reason = attribute.reason or _untold(sample, attribute.name)
    found: dict[str, Any] = {}
    if not reason:
        found = _told(sample, settings, method)
        joint = _jointly(panel, [attribute, *(one for one in attributes if one is not attribute and not one.reason)])
        if joint is not None:
            found["score_jointly"] = _in_sd(joint.fit(joint.panel.labels), joint, settings, method)
    groups = candidate_groups(panel, attribute, confidence=settings.confidence, method=method)
    effect = result.CandidateEffect(
        attribute=attribute.name,
        source=attribute.source,
        contrast=attribute.contrast,
        prompts=int(sample.differ.sum()),
        candidates=sample.candidates,
        prompts_left_out=len(panel.sizes) - len(sample.panel.sizes),
        **found,
        groups=list(groups),
        sentences=[],
        **given(reason=reason or None),
    )
    return effect.model_copy(update={"sentences": list(effect_sentences(effect))})


def _untold(sample: _KnownCandidates, name: str) -> str:
    """Say why nothing can be told of an attribute; empty where something can."""
    panel = sample.panel
    if not len(panel.sizes):
        return f"every prompt has a candidate without {_KNOWN[name]}"
    if not sample.differ.any():
        return _SAME[name]
    apart = int((sample.differ & _differ(panel.scores, panel)).sum())
    if apart < FEWEST_PROMPTS:
        return (
            f"it needs {FEWEST_PROMPTS} prompts whose candidates differ in it and in score, and there "
            f"{'is' if apart == 1 else 'are'} {apart}"
        )
    return clusters.too_few_clusters(panel.clusters)


def _jointly(panel: Panel, attributes: Sequence[candidate_attributes.Attribute]) -> _KnownCandidates | None:
    """Return the prompts of which all attributes are known; None where one does not tell anything there."""
    if len(attributes) < 2:
        return None
    sample = _KnownCandidates.of(panel, attributes)
    return None if _untold(sample, attributes[0].name) else sample


def _told(sample: _KnownCandidates, settings: Settings, method: str) -> dict[str, Any]:
    panel = sample.panel
    fitted = sample.fit(panel.labels)
    score = _in_sd(fitted, sample, settings, method)
    out: dict[str, Any] = {"adjusted_for": equal_label.label_terms(panel.labels).kind, "score": score}
    out["score_unadjusted"] = _in_sd(sample.fit(np.zeros_like(panel.labels)), sample, settings, method)
    if score.estimate is None:
        return out
    n = int(sample.differ.sum())
    if n < FEWEST_PROMPTS_FOR_COST:
        few = f"it needs {FEWEST_PROMPTS_FOR_COST} prompts whose candidates differ in it, and there are {n}"
        out["recovery_cost"] = EstimateRecord.of(estimand.Estimate.undefined(few, n).with_method(method))
        return out
    cost = equal_label.preference_cost(
        panel.scores, panel.labels, sample.values[:, 0], panel.sizes, fitted, panel.clusters, seed=settings.seed
    )
    names = ("recovery_cost", "regret_cost")
    for name, found in zip(names, _costs(sample, cost.costs, settings), strict=True):
        out[name] = EstimateRecord.of(found.with_method(method))
    return out | {"picks_changed": cost.picks_changed}


def _in_sd(
    fitted: equal_label.ScoreEffects, sample: _KnownCandidates, settings: Settings, method: str
) -> EstimateRecord:
    """Return the first slope in standard deviations of the scores within prompts."""
    n = int(sample.differ.sum())
    if not np.isfinite(fitted.slopes[0]):
        return EstimateRecord.of(
            estimand.Estimate.undefined("it does not vary at equal label", n).with_method(method)
        )
    found = jackknife.from_left_out(fitted.slopes[:1] / fitted.sd, fitted.left_out[:1] / fitted.sd_left_out)
    (value,), (se,), (df,), _ = found
    scatter, everything = jackknife.Scatter(float(se), float(df)), (-np.inf, np.inf)
    one = estimation.from_jackknife(float(value), scatter, n, everything, settings.confidence, exact=None)
    return EstimateRecord.of(one.with_method(method))


def _costs(sample: _KnownCandidates, found: Any, settings: Settings) -> Iterator[estimand.Estimate]:
    """Yield the cost in recovery and in label points, bounded where no pick changes."""
    panel, n = sample.panel, int(sample.differ.sum())
    units = len(panel.sizes) if panel.clusters is None else clusters.cluster_codes(panel.clusters)[1]
    width = settings.rule(panel.labels, panel.clusters).label_width
    starts = np.cumsum(panel.sizes) - panel.sizes
    means = np.add.reduceat(panel.labels, starts) / panel.sizes
    room = float((np.maximum.reduceat(panel.labels, starts) - means).mean())
    for value, se, df, reach in zip(*found[:3], (width / room if room > 0 else np.inf, width), strict=True):
        if not np.isfinite(value):
            yield estimand.Estimate.undefined("no label differs within a prompt", n)
            continue
        exact = partial(laws.Exact, float(value), units, (float(value) - reach, float(value) + reach))
        everything = (-np.inf, np.inf)
        scatter = jackknife.Scatter(float(se), float(df), size=reach if np.isfinite(reach) else 1.0)
        yield estimation.from_jackknife(float(value), scatter, n, everything, settings.confidence, exact=exact)
