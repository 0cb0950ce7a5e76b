"""Which candidates of a panel a design drew, and whether it was drawn for these scores at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing import bounds, candidate_models, label_interval, whole_and_pair
from bonwise.errors import InputError, UsageError
from bonwise.printable import quoted
from bonwise.stats import estimand, estimation, jackknife, laws, support, top_of_scores
from bonwise.stats.partial.label_sample import LabelSample, ScaledSample
from bonwise.table.label_design import LabelDesign
from bonwise.table.panel import MAY_LACK, Panel

_Ends = Mapping[str, tuple[Floats | None, Floats | None]]
"""Name of a metric to what each prompt adds to its lower and upper bound; None where that is the end of the scale."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateEstimate:
    """The one metric that the drawn candidates estimate, and bounds of others."""

    estimate: estimand.Estimate
    """value_judge from picks, gain from pairs; ``method`` "aipw"."""
    tuning: float
    """Share of the model that was used, from 0 (labels alone) to 1."""
    bounds: Mapping[str, tuple[float, float]] = field(repr=False)
    """Lower and upper ends between which a metric lies at the rule's confidence; recovery always among them."""
    borrowed: int = 0
    """Prompts of strata without labels, for which those of the next stratum speak."""


def candidate_estimate(
    draw: candidate_models.CandidateDraw,
    labels: Floats,
    scores: Floats,
    others: Sequence[Floats],
    rule: estimation.IntervalRule,
    *,
    strata: Ints,
    seed: int,
) -> CandidateEstimate:
    """Estimate for all prompts what the labels of the drawn candidates allow.

    Arrays are (cells,); `labels` are read at the drawn cells only, and `others` are NaN where one did not score.
    Prompts of one of `strata`, (prompts,), 0 or more, were drawn alike: the shares n_h / N_h that are labelled are
    the propensities. Of pairs, prompts that the judge ties entirely belong to none.

    Bounds are worst cases over the candidates without labels, with the ends of intervals, and so need the scale of
    the labels. Of pairs, V(oracle) - V(random) is at least the mean of ``max(O_i, O_j) - (a O_i + (K - a) O_j) / K``,
    and on a known scale at most what it would be if every pool held a label hi (pools of two are labelled whole).
    Recovery lies between the ratios of the gain to the two, whichever sign the gain has: the bound joins their
    Fieller intervals, and holds at least as often as either. Without a known scale the second ratio is 0; where the
    gain is positive its upper end is that of the labelled candidates taken for the whole pool.

    On any scale ``J - R >= -(K - a) / a (M - R)``, with equality where all others are equal and no worse than the
    picks: recovery lies between the largest such loss and 1. Picks alone cannot narrow that, whatever they are worth.
    """
    sample, known = _sample(draw, strata)
    model = candidate_models.model_of(draw, labels, scores, others, sample, seed=seed)
    prepared, outcome = ScaledSample.of(sample), draw.measured(labels)
    ends = _pair_ends(draw, labels, rule) if draw.others is not None else _pick_ends(draw, labels, rule)
    columns = [end for pair in ends.values() for end in pair if end is not None]
    m = np.column_stack([np.zeros(len(outcome)), model.predictions, *(np.zeros_like(column) for column in columns)])
    Y = np.column_stack([outcome[prepared.rows], model.outcomes, *(column[prepared.rows] for column in columns)])
    found = label_interval.influence(m, Y, prepared, rule.clusters)
    share = candidate_models.tuning(found.covariance[:2, :2])
    # What is known without a label lends no degrees of freedom.
    if rule.clusters is None:
        found = replace(found, pulls=found.pulls[~known[prepared.rows]])
    means = _Means(found, draw, rule, sample, ends)
    contrast = np.zeros(len(found.means))
    contrast[:2] = 1 - share, share
    estimate = replace(
        means.estimate(contrast, contrast=draw.others is not None),
        method="aipw",
        ess=means.ess,
        labelled_only=_alone(outcome[draw.labelled], means.limits(contrast=draw.others is not None), rule),
    )
    estimate = _with_support(estimate, draw, labels, means)
    return CandidateEstimate(estimate, share, means.bounds(contrast), sample.borrowed)


def _with_support(
    estimate: estimand.Estimate, draw: candidate_models.CandidateDraw, labels: Floats, means: _Means
) -> estimand.Estimate:
    """Return the estimate with what it rests on: of pairs n_B as they show it, of picks the labelled prompts."""
    name, count, further = "value_judge", means.ess, list[support.FurtherPick]()
    if draw.others is not None:
        best, mean = candidate_models.known_of_pairs(draw, labels)
        name, count = "gain", support.effective_count(means.weights * (best - mean)[draw.labelled])
        known = np.full(len(labels), np.nan)
        for cells in (draw.picks[draw.labelled], draw.others[draw.labelled]):
            known[cells] = labels[cells]
        further = support.SeenPools.of(known, draw.top, draw.sizes).further
    worth = {name: support.Worth(count, estimate.n)}
    return support.with_support({name: estimate}, worth, further, means.rule).get(name, estimate)


def _sample(draw: candidate_models.CandidateDraw, strata: Ints) -> tuple[LabelSample, Mask]:
    """Return the sample, and the prompts whose outcome is known without a label: a stratum of their own."""
    known = draw.all_tied if draw.others is not None else np.zeros(len(draw.sizes), dtype=bool)
    return LabelSample.realised(draw.labelled | known, np.where(known, -1, strata)), known


def _pick_ends(draw: candidate_models.CandidateDraw, labels: Floats, rule: estimation.IntervalRule) -> _Ends:
    low, high = rule.label_range
    if not np.isfinite([low, high]).all():
        return {}
    picked, share = draw.measured(labels), draw.tied / draw.sizes
    return {
        "value_random": (share * picked + (1 - share) * low, share * picked + (1 - share) * high),
        "value_oracle": (picked, None),
        "gain": ((1 - share) * (picked - high), (1 - share) * (picked - low)),
    }


def _pair_ends(draw: candidate_models.CandidateDraw, labels: Floats, rule: estimation.IntervalRule) -> _Ends:
    low, high = rule.label_range
    best, mean = candidate_models.known_of_pairs(draw, labels)
    tied, whole = draw.all_tied, draw.sizes == 2
    least = np.where(tied, 0.0, best - mean)
    if not np.isfinite([low, high]).all():
        return {"recovery": (least, None)}
    most = np.where(tied, (high - low) * (1 - 1 / draw.sizes), np.where(whole, best, high) - mean)
    picked = np.where(draw.labelled, labels[draw.picks], 0.0)
    return {
        "value_random": (np.where(tied, low, mean), np.where(tied, high, mean)),
        "value_judge": (np.where(tied, low, picked), np.where(tied, high, picked)),
        "value_oracle": (np.where(tied, low, best), np.where(tied | ~whole, high, best)),
        "recovery": (least, most),
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Means:
    """Means of what the prompts measure: by labels alone, by the model, and the ends of bounds."""

    found: label_interval.Influence
    draw: candidate_models.CandidateDraw
    rule: estimation.IntervalRule
    sample: LabelSample
    ends: _Ends

    @property
    def weights(self) -> Floats:
        """1 / pi of the prompts with labels."""
        return self.sample.weights[self.draw.labelled]

    @property
    def ess(self) -> float:
        """Effective number of prompts with labels."""
        weights = self.weights
        return float(weights.sum() ** 2 / np.sum(weights**2))

    def limits(self, *, contrast: bool) -> tuple[float, float]:
        low, high = self.rule.label_range
        return (low - high, high - low) if contrast else (low, high)

    def estimate(self, toward: Floats, *, contrast: bool) -> estimand.Estimate:
        """Estimate a combination of the means."""
        limits, n = self.limits(contrast=contrast), int(self.draw.labelled.sum())
        law = label_interval.student(self.found, toward, limits)
        size = max(self.rule.label_width, abs(law.estimate))
        vary = np.abs(self.found.pulls @ toward).max() > 1e-12 * size / len(self.draw.sizes)
        value = float(np.clip(law.estimate, *limits))
        made = estimation.from_jackknife(
            value,
            jackknife.Scatter(law.se if vary else 0.0, law.df, size=self.rule.label_width),
            n,
            limits,
            self.rule.confidence,
            exact=lambda: self._exact(value, limits),
            law=replace(law, estimate=value),
        )
        return label_interval.where_labels_carry(made, self.ess)

    def _exact(self, value: float, limits: tuple[float, float]) -> laws.Exact:
        """Return the bound where all labelled prompts are alike: they count as their weights over the largest."""
        weights = self.weights
        reach = float(weights.sum()) / len(self.draw.sizes) * (limits[1] - limits[0])
        low, high = max(limits[0], value - reach), min(limits[1], value + reach)
        return laws.Exact(value, max(int(weights.sum() / weights.max() + 1e-9), 1), (low, high))

    def bounds(self, gain: Floats) -> dict[str, tuple[float, float]]:
        """Return the bounds that can be stated."""
        at, out = 2, {}
        for name, pair in self.ends.items():
            unit = np.eye(len(self.found.means))
            rows = [unit[at + k] for k in range(sum(end is not None for end in pair))]
            at += len(rows)
            found = self._recovery(gain, rows) if name == "recovery" else self._value(name, rows)
            if found is not None:
                out[name] = found
        out["recovery"] = self._within_worst_case(out.get("recovery"))
        return out

    def _within_worst_case(self, found: tuple[float, float] | None) -> tuple[float, float]:
        """Cut a bound of recovery at what holds for any labels whatever."""
        pools = bounds.Unlabelled(self.draw.sizes.astype(float), self.draw.tied)
        low, high = bounds.recovery_bounds(0.0, 0.0, pools, (0.0, 1.0))
        return (low, high) if found is None else (max(low, found[0]), min(high, found[1]))

    def _value(self, name: str, rows: Sequence[Floats]) -> tuple[float, float] | None:
        low, *rest = (self.estimate(row, contrast=name == "gain") for row in rows)
        high = rest[0].high if rest else self.rule.label_range[1]
        return None if low.low is None or high is None else (low.low, high)

    def _recovery(self, gain: Floats, rows: Sequence[Floats]) -> tuple[float, float] | None:
        found = [(0.0, 0.0)] if len(rows) == 1 else []
        for row in rows:
            if self.found.means @ row <= 0 or support.too_light(self.ess, "labels drawn alike"):
                return None
            law, se = label_interval.fieller(self.found, gain, row, (-np.inf, 1.0))
            ends = law.at(self.rule.confidence)
            if ends is None or se == 0:
                return None
            found.append(ends)
        return min(low for low, _ in found), max(high for _, high in found)


def _alone(values: Floats, limits: tuple[float, float], rule: estimation.IntervalRule) -> estimand.Estimate:
    """Estimate the mean over the labelled prompts, as if they were all."""
    n, value = len(values), float(values.mean())
    scatter = jackknife.Scatter(np.nan, np.nan)
    if n > 1:
        se = float(values.std(ddof=1) / np.sqrt(n))
        scatter = jackknife.Scatter(se, jackknife.kurtosis_df(values), size=rule.label_width)
    estimate = estimation.from_jackknife(
        value, scatter, n, limits, rule.confidence, exact=lambda: laws.Exact(value, n, limits)
    )
    return estimate.with_method("labelled_only")


@dataclass(frozen=True, slots=True, eq=False)
class DrawnCandidates:
    """A design laid on the cells of a panel."""

    draw: candidate_models.CandidateDraw = field(repr=False)
    """Of the prompts that have all labels that were drawn of them."""
    strata: Ints = field(repr=False)
    possible: Mask = field(repr=False)
    """Prompts of which a candidate could be drawn."""
    drawn: int
    """Prompts that were drawn."""
    not_drawn: int
    """Labelled candidates that were not."""


def drawn_candidates(panel: Panel, design: LabelDesign) -> DrawnCandidates:
    """Find the drawn candidates of every prompt by ``pick`` or ``pair``; refuses other prompts, or labels lacking."""
    if not design.by_candidate:
        raise UsageError(
            f"{design.source}: the rule {design.rule!r} draws prompts, not candidates",
            hint="audit with the labels of all their candidates",
        )
    at = _places(panel, design)
    top, drawn = top_of_scores.at_top(panel.ranked, panel.sizes), design.drawn[at]
    whole = candidate_models.CandidateDraw(panel.sizes, top, np.full(len(at), -1)).all_tied & (design.rule == "pair")
    _refuse_other_chances(design, panel, at, whole)
    roles = [("pick", design.picks, top), ("other candidate", design.others, ~top)]
    asked = []
    for role, names, fits in roles[: 1 + (design.rule == "pair")]:
        cells = _cells(panel, design, [names[x] for x in at.tolist()], drawn)
        _refuse_misfit(design, panel, cells, fits, role)
        asked.append(cells)
    seen = np.logical_and.reduce([_with_label(cells, panel) for cells in asked])
    _refuse_gaps(design, panel, drawn & ~seen, drawn)
    left_out = ~np.isnan(panel.labels)
    for cells in asked:
        left_out[cells[drawn]] = False
    draw = candidate_models.CandidateDraw(panel.sizes, top, *(np.where(seen, cells, -1) for cells in asked))
    return DrawnCandidates(draw, design.stratum[at], ~whole, int(drawn.sum()), int(left_out.sum()))


@dataclass(frozen=True, slots=True, eq=False)
class DrawnPools:
    """A design of whole pools and pairs laid on the cells of a panel."""

    draw: whole_and_pair.WholeAndPairDraw = field(repr=False)
    """Of the prompts that have all labels that were drawn of them."""
    drawn: int
    """Prompts that were drawn."""
    not_drawn: int
    """Labelled candidates that were not."""


def drawn_pools(panel: Panel, design: LabelDesign) -> DrawnPools:
    """Find the whole pools and pairs that a design drew; `bonwise.errors.InputError` as of `drawn_candidates`."""
    at = _places(panel, design)
    top, drawn, whole = top_of_scores.at_top(panel.ranked, panel.sizes), design.drawn[at], design.whole[at]
    sides = []
    for role, names, fits in (("pick", design.picks, top), ("other candidate", design.others, ~top)):
        cells = _cells(panel, design, [names[x] for x in at.tolist()], drawn & ~whole)
        _refuse_misfit(design, panel, cells, fits, role)
        sides.append(cells)
    picks, others = sides
    complete = whole & (panel.labelled_cells == panel.sizes)
    paired = _with_label(picks, panel) & _with_label(others, panel)
    _refuse_gaps(design, panel, drawn & ~complete & ~paired, drawn)
    left_out = ~np.isnan(panel.labels) & ~np.repeat(whole, panel.sizes)
    for cells in sides:
        left_out[cells[cells >= 0]] = False
    found = whole_and_pair.WholeAndPairDraw(
        panel.sizes, top, complete, np.where(paired, picks, -1), np.where(paired, others, -1), design.stratum[at]
    )
    _refuse_mixed(design, panel, found)
    return DrawnPools(found, int(drawn.sum()), int(left_out.sum()))


def _refuse_mixed(design: LabelDesign, panel: Panel, draw: whole_and_pair.WholeAndPairDraw) -> None:
    """Refuse scores that tie some prompts of a stratum and not others: the draw kept the two apart."""
    share = np.bincount(draw.strata, weights=draw.open) / np.maximum(np.bincount(draw.strata), 1)
    mixed = np.flatnonzero((share > 0) & (share < 1))
    if mixed.size:
        why = f"in stratum {mixed[0]} this judge ties all candidates of some prompts and not of others"
        raise _for_another(design, panel, why)


def _places(panel: Panel, design: LabelDesign) -> Ints:
    """Return where each prompt of a panel stands in a design."""
    if design.judge and design.judge != panel.judge:
        raise _for_another(design, panel, f"it names the judge {quoted(design.judge)}")
    at: Ints = design.prompt_ids.get_indexer(panel.prompt_ids)
    if (strange := at < 0).any():
        raise InputError(
            f"{design.source}: {int(strange.sum()):,} of {len(strange):,} scored prompts could not have been drawn, "
            f"as {quoted(panel.prompt_ids[strange][0])}",
            hint="give the design that was drawn from these prompts",
        )
    return at


def _for_another(design: LabelDesign, panel: Panel, why: str) -> InputError:
    return InputError(
        f"{design.source}: the design was drawn for another judge than {quoted(panel.judge)}: {why}",
        hint="audit the judge it was drawn for with the scores it was drawn from, or draw one for this judge",
    )


def _cells(panel: Panel, design: LabelDesign, names: Sequence[str], drawn: Mask) -> Ints:
    """Return the cell of each drawn candidate, -1 for prompts that were not drawn."""
    many = len(panel.candidates)
    owner = np.repeat(np.arange(len(panel.sizes)), panel.sizes)
    keys = owner * many + panel.names
    order = np.argsort(keys, kind="stable")
    code = panel.candidates.get_indexer(names)
    wanted = np.arange(len(names)) * many + code
    place = order[np.searchsorted(keys[order], wanted).clip(max=len(keys) - 1)]
    absent = drawn & ((code < 0) | (keys[place] != wanted))
    if absent.any():
        x = int(np.flatnonzero(absent)[0])
        raise InputError(
            f"{design.source}: {quoted(panel.prompt_ids[x])} has no candidate {quoted(names[x])}",
            hint="give the table that the design was drawn from, and its file as it was written",
        )
    return np.where(drawn, place, -1)


def _refuse_misfit(design: LabelDesign, panel: Panel, cells: Ints, fits: Mask, role: str) -> None:
    wrong = (cells >= 0) & ~fits[cells]
    if wrong.any():
        x = int(np.flatnonzero(wrong)[0])
        name, prompt = panel.candidates[panel.names[cells[x]]], panel.prompt_ids[x]
        stands = "is not among" if role == "pick" else "is among"
        raise _for_another(
            design,
            panel,
            f"the {role} {quoted(name)} of {quoted(prompt)} {stands} the candidates with the highest score (so in "
            f"{int(wrong.sum()):,} of {len(wrong):,} prompts)",
        )


def _refuse_other_chances(design: LabelDesign, panel: Panel, at: Ints, whole: Mask) -> None:
    """Refuse a design that could not draw what these scores let be drawn, or drew what they do not."""
    possible = design.propensity[at] > 0
    wrong = (design.drawn[at] & whole) | (~possible & ~whole)
    if wrong.any():
        x = int(np.flatnonzero(wrong)[0])
        why = "was drawn, and this judge ties it entirely" if whole[x] else "could not be drawn"
        count = f"(so in {int(wrong.sum()):,} of {len(wrong):,} prompts)"
        raise _for_another(design, panel, f"{quoted(panel.prompt_ids[x])} {why} {count}")


def _with_label(cells: Ints, panel: Panel) -> Mask:
    return (cells >= 0) & ~np.isnan(panel.labels[cells])


def _refuse_gaps(design: LabelDesign, panel: Panel, lacking: Mask, drawn: Mask) -> None:
    """Refuse a draw of which too much was left unlabelled to stand for the prompts it was drawn from."""
    if lacking.sum() > MAY_LACK * drawn.sum() or not (drawn & ~lacking).any():
        named = f", as {quoted(panel.prompt_ids[lacking][0])}" if lacking.any() else ""
        raise InputError(
            f"{int(lacking.sum()):,} of {int(drawn.sum()):,} prompts that {design.source} drew lack the labels that "
            f"were drawn{named}; why is unknown, so the others may not stand for all prompts",
            hint=f"label what was drawn; up to {MAY_LACK:.0%} may lack labels",
        )
