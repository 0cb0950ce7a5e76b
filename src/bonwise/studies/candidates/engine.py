"""Engines of both kinds: the pick's value over subsets of the pools, and means of alike pairs, weighted anew."""

from __future__ import annotations

from collections import Counter, abc
from dataclasses import replace
from typing import Any

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing import settings, simultaneous
from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.metric_groups import unit_of
from bonwise.printable import listed, quoted
from bonwise.report import numbers
from bonwise.results import given
from bonwise.stats import catalog, estimand, estimation, jackknife, laws, sums, support, top_of_scores
from bonwise.studies.calibration.engine import covariates_of
from bonwise.studies.candidates import result
from bonwise.studies.label_strategy.pairs import every_pair, gap_groups
from bonwise.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.table import checks, facts, opening, panel, reading_options

_FEWEST_CANDIDATES, _MOST_CANDIDATES = 3, 64  # of a curve; intervals compare every two sizes
_MOST_PRICE = 1e12
_OF_CURVE = tuple(e for e in catalog.VALUES if e.name != "value_random")
_LIMITS = {"effective_agreement": (0.0, 1.0), "pair_loss": (0.0, np.inf)}


def subset_values(ranked: Floats, values: Floats, sizes: Ints, most: int) -> Floats:
    """Return the expected value of the top of m random cells of a prompt, (most, prompts); NaN where it has fewer.

    A cell i of K, with b below it and u not above it, is at the top of ``C(u, m) - C(b, m)`` of the ``C(K, m)``
    subsets, shared by the u - b cells that tie with it.
    """
    expected, starts = np.full((most, len(sizes)), np.nan), np.cumsum(sizes) - sizes
    for K in np.unique(sizes).tolist():
        prompts, place = np.flatnonzero(sizes == K), np.arange(K)
        cells = starts[prompts][:, None] + place
        order = np.take_along_axis(cells, ranked[cells].argsort(axis=1, kind="stable"), 1)
        new = np.ones(order.shape, bool)
        new[:, 1:] = ranked[order[:, 1:]] != ranked[order[:, :-1]]
        below = np.maximum.accumulate(np.where(new, place, 0), axis=1)
        ends = np.where(np.roll(new, -1, axis=1), place + 1, K)
        up_to = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
        each, inside = values[order] / (up_to - below), np.ones(K + 1)
        for m in range(1, min(K, most) + 1):
            inside = inside * np.maximum(np.arange(K + 1) - m + 1, 0) / (K - m + 1)  # C(b, m) / C(K, m) for each b
            expected[m - 1, prompts] = ((inside[up_to] - inside[below]) * each).sum(axis=1)
    return expected


def _of_influences(
    estimate: float,
    influences: Floats,
    n: int,
    confidence: float,
    limits: tuple[float, float] = (-np.inf, np.inf),
    law: laws.Law | None = None,
) -> estimand.Estimate:
    """Return an estimate with the interval of what each prompt adds to it; the squares add up to its variance."""
    se, df = float(np.sqrt(influences @ influences)), jackknife.kurtosis_df(influences)
    scatter = jackknife.Scatter(se, df, skew=jackknife.skewness(influences))
    return estimation.from_jackknife(float(estimate), scatter, n, limits, confidence, exact=None, law=law)


def _opened(
    source: opening.ScoreSource, options: reading_options.ReadingOptions, confidence: float, seed: int
) -> LabelledPanels:
    """Open the labelled table of a study."""
    asked = settings.Settings(confidence=confidence, seed=seed, exclude=options.exclude, shape=options.shape)
    return open_judged(source, asked, options)


def candidates_study(
    source: opening.ScoreSource,
    options: reading_options.ReadingOptions,
    stated: abc.Mapping[str, float | None],
    *,
    confidence: float,
    seed: int,
) -> result.CandidateCountStudy:
    """Find how many candidates are worth asking for."""
    costs = given(**stated)
    for name, cost in costs.items():
        checks.check_number(name, cost, low=0, high=_MOST_PRICE)
    if costs and ("value" not in costs or len(costs) == 1):
        raise UsageError("the value of a label and a cost go together", hint="give --value and --candidate-cost")
    if options.unpicked == "first":
        raise UsageError("a random subset of a pool has no first candidate", hint="leave --unpicked first out")
    judged = _opened(source, options, confidence, seed)
    curves = {name: _SizeCurve(judged, own) for name, own in judged.panels.items()}
    refused = {name: curve.refusal for name, curve in curves.items() if curve.most < _FEWEST_CANDIDATES}
    if len(refused) == len(curves):
        name, why = next(iter(refused.items()))
        hint = f"label all candidates of {support.FEWEST} pools of {_FEWEST_CANDIDATES} candidates or more"
        raise InputError(f"{judged.table.source}: {quoted(name)} has no curve: {why}", hint=hint)
    return result.CandidateCountStudy(
        settings=judged.settings_as(result.CountSettings, **costs),
        judges={name: curve.judge(costs) for name, curve in curves.items() if name not in refused},
        not_studied={**judged.not_studied, **refused},
    )


class _SizeCurve:
    """What the picks of one judge are worth by the number of candidates; position m is of m + 1 candidates."""

    def __init__(self, judged: LabelledPanels, own: panel.Panel) -> None:
        self.judged, self.panel, self.sums, self.confidence = judged, own, own.sums(), judged.settings.confidence
        most, labels = min(int(own.sizes.max()), _MOST_CANDIDATES), sums.compared(own.labels)
        self.picked = subset_values(sums.by_rank(sums.compared(own.scores)), own.labels, own.sizes, most)
        self.possible = subset_values(labels, own.labels, own.sizes, most)
        self.holds = own.sizes >= np.arange(1, most + 1)[:, None]
        room = np.where(self.holds, self.possible - self.possible[0], 0.0)
        held, worth = self.holds.sum(axis=1), np.array([support.effective_count(each) for each in room])
        self.most = int(np.flatnonzero(support.enough(held, worth)).max(initial=0)) + 1
        last = min(_FEWEST_CANDIDATES, most) - 1
        self.refusal = (
            f"{held[last]:,} labelled pools hold {last + 1} candidates, worth {worth[last]:.0f} prompts, and "
            f"{support.FEWEST} with {_FEWEST_CANDIDATES} are needed"
        )

    def judge(self, costs: abc.Mapping[str, float]) -> result.CountJudge:
        """Return the curve, the best size, and what is known beyond."""
        sizes, value = np.arange(self.most), costs.get("value", 0.0)
        means = [self._mean(self.picked[m] - self.picked[max(m - 1, 0)], m) for m in sizes.tolist()]
        total = np.cumsum([mean for mean, _ in means])  # beyond one candidate
        influences = np.cumsum([own for _, own in means], axis=0)
        spent = sizes * costs.get("candidate_cost", 0.0) + (sizes > 0) * (sizes + 1) * costs.get("judge_cost", 0.0)
        net, best = value * total - spent, int((value * total - spent).argmax()) if costs else None
        joint = simultaneous.joint_confidence(influences, self.confidence, seed=self.judged.settings.seed).differences
        figures, apart, behind = [self._metrics(m) for m in sizes.tolist()], {}, set()
        for m in sizes[1:].tolist():
            for than in range(m):
                both = influences[m] - influences[than]
                apart[m, than] = self._record(total[m] - total[than], both, m, joint)
                worth = self._record(net[m] - net[than], value * both, m, joint)
                behind |= {m} if (worth.high or 0.0) < 0 else {than} if (worth.low or 0.0) > 0 else set()
            figures[m]["step"] = apart[m, m - 1]
            if costs:
                figures[m]["worth"] = self._record(net[m], value * influences[m], m, self.confidence)
        fall = min(apart, key=lambda pair: apart[pair].high or 0.0)
        worse = (apart[fall].high or 0.0) < 0
        beyond, most = self._beyond(int(total.argmax()) if best is None else best, spent, value)
        judge = result.CountJudge(
            data=self.judged.counts_as(facts.JudgeCounts, self.panel.judge),
            figures={str(m + 1): own for m, own in enumerate(figures)},
            sentences=[],
            largest_pool=int(self.panel.sizes.max()),
            best=None if best is None else best + 1,
            may_be_best=[m + 1 for m in range(self.most) if costs and m not in behind],
            worse=[fall[1] + 1, fall[0] + 1] if worse else None,
            worse_by=apart[fall] if worse else None,
            beyond=beyond,
            most=most,
        )
        return judge.model_copy(update={"sentences": list(_curve_sentences(judge))})

    def _mean(self, values: Floats, m: int) -> tuple[float, Floats]:
        """Return the mean over the pools that hold m + 1 candidates, and what each prompt adds to it."""
        held = self.holds[m]
        mean, n = float(values[held].mean()), int(held.sum())
        return mean, np.where(held, values - mean, 0.0) / np.sqrt(n * (n - 1))

    def _record(self, estimate: float, influences: Floats, m: int, confidence: float) -> EstimateRecord:
        figure = _of_influences(estimate, influences, int(self.holds[m].sum()), confidence)
        return EstimateRecord.of(figure.with_method(self.judged.methods[self.panel.judge]))

    def _metrics(self, m: int) -> dict[str, EstimateRecord]:
        """Return the metrics of an audit of all subsets of m + 1 candidates."""
        held, rule = self.holds[m], self.judged.settings.rule(self.panel.labels)
        own = sums.Sums(*self.sums[:, held])._replace(J=self.picked[m, held], M=self.possible[m, held])
        figures = estimation.estimate(_OF_CURVE if m else _OF_CURVE[:1], np.array(own), rule)
        figures |= support.of_whole_prompts(figures, own, self.panel.lowest_labels()[held], rule)
        records = estimate_records(estimand.under_method(figures, self.judged.methods[self.panel.judge]))
        if m:
            ends = {key: getattr(records["gain"], key) for key in ("estimate", "low", "high", "se")}
            per_call = {key: end if end is None else end / (m + 1) for key, end in ends.items()}
            records["gain_per_call"] = records["gain"].model_copy(update=per_call)
        return records

    def _beyond(self, best: int, spent: Floats, value: float) -> tuple[EstimateRecord, int | None]:
        """Return the last step of the best candidate's value, and the size above which none can pay.

        The expected maximum of m draws is concave in m: no later step is larger, and no judge picks above it.
        """
        last, top = self.most - 1, self.possible[self.most - 1]
        step, gap = (
            self._record(*self._mean(top - other, last), last, self.confidence)
            for other in (self.possible[last - 1], self.picked[best])
        )
        if step.high is None or gap.high is None:
            return step, None
        lost = float(spent[last] - spent[last - 1]) - value * step.high
        further = value * gap.high - float(spent[last] - spent[best])
        return step, None if lost <= 0 else self.most + max(int(further / lost), 0)


def _curve_sentences(judge: result.CountJudge) -> abc.Iterator[str]:
    """Yield the findings, the most important first."""
    ends, more, prompts = len(judge.figures), "", judge.data.prompts
    last = judge.figures[str(ends)]
    value, step = (numbers.with_any_interval(last[name]) for name in ("value_judge", "step"))
    if judge.worse is not None and judge.worse_by is not None:
        sizes, change = " to ".join(map(str, judge.worse)), numbers.with_any_interval(judge.worse_by, sign=True)
        more = f" More candidates make the picks worse: from {sizes} their value changes by {change}."
    if judge.best is not None:
        worth = numbers.with_any_interval(judge.figures[str(max(judge.best, 2))]["worth"], sign=True)
        each = f"a second one is worth {worth} per prompt" if judge.best == 1 else f"{worth} per prompt beyond one"
        best, alike = numbers.counted(judge.best, "candidate"), numbers.count_range(judge.may_be_best, "candidate")
        settled = judge.may_be_best == [judge.best]
        could = "No other number studied could pay better." if settled else f"It could be {alike}."
        yield f"At these prices it pays best to ask for {best}: {each}. {could}{more}"
        more = ""
    yield f"The pick from {ends} candidates is worth {value}; the last adds {step}.{more}"
    most = numbers.with_any_interval(judge.beyond)
    limit = "" if judge.most is None else f" No judge could make more than {judge.most} candidates pay better."
    yield f"Beyond {ends} the pick is unknown; drawn alike, each candidate raises the best by at most {most}.{limit}"
    if last["step"].n < prompts or ends < judge.largest_pool:
        yield (
            f"Each size is studied on the pools that hold it: {last['step'].n:,} of {prompts:,} hold {ends}, where "
            f"the curve ends. The largest pool holds {judge.largest_pool}."
        )
    if judge.data.method == "labelled_only":
        yield f"Figures describe the {numbers.counted(prompts, 'prompt')} whose candidates all have labels."


_Units = tuple[Ints, Ints, list[str], Floats]
"""Of the pairs or pools of the audit, then of the target: prompt, group, and the names of the groups; and (2, units)
of the audit alone, agreement and loss of a pair, gain and room of a pool.
"""


def post_stratified(totals: Floats, counts: Ints, wanted: Ints) -> tuple[Floats, Floats]:
    """Return ``sum_s w_s mean_s`` of several outcomes, and what each prompt adds, those of the target last.

    ``totals`` are sums by outcome, prompt and stratum, ``counts`` (prompts, strata) of how many, and ``wanted``
    (target prompts, strata) how many of the target make the shares w. Each prompt is left out in turn.
    """
    A, N, W = totals.sum(axis=1, keepdims=True), counts.sum(axis=0), wanted.sum(axis=0)

    def weighted(A: Floats, N: Floats | Ints, W: Ints) -> Floats:
        mean: Floats = (A / N * W).sum(axis=-1) / W.sum(axis=-1)
        return mean

    left = [weighted(A - totals, N - counts, W)]
    if len(wanted) > 1:
        left.append(weighted(A, N, W - wanted))
    adds = [(own.mean(axis=1, keepdims=True) - own) * np.sqrt(1 - 1 / own.shape[1]) for own in left]
    return weighted(A, N, W)[:, 0], np.concatenate(adds, axis=1)


def transfer_study(
    source: opening.ScoreSource,
    to: opening.ScoreSource,
    options: reading_options.ReadingOptions,
    own: abc.Mapping[str, Any],
    *,
    confidence: float,
    seed: int,
) -> result.TransferStudy:
    """Estimate from an audit how well the judges do on the target; `own` are settings of this study alone."""
    checks.check_whole("gap_groups", own["gap_groups"], least=1)
    judged, similarity = _opened(source, options, confidence, seed), own.get("similarity")
    none = dict.fromkeys(("labels", "oracle", "label_scale", "annotator_rule", "unlabelled_is"))
    scores_alone: dict[str, Any] = {**none, "join_col": (), "by_line": False}
    table = opening.open_scores(to, replace(options.without_label_column(), **scores_alone))
    opening.refuse_clusters(table, "this study")
    exclude = [name for name in options.exclude if name in table.candidates]
    targets = {each.judge: each for each in panel.lay_out(table, exclude=exclude, shape=options.shape)}
    judges, refused = {}, dict(judged.not_studied)
    for name, audited in judged.panels.items():
        both, alike = [audited, targets[name]] if name in targets else [], None
        if both and similarity is not None:
            pair = zip((judged.table, table), both, strict=True)
            joined = [covariates_of(each, [similarity], None).join(laid) for each, laid in pair]
            both, alike = [laid for laid, _ in joined], np.concatenate([values[:, 0] for _, values in joined])
        if both and all(len(laid.sizes) for laid in both):
            judges[name] = _Transfer(judged, *both).judge(own["gap_groups"], alike)
        else:
            refused[name] = f"{table.source} has no scores of it"
    if not judges:
        hint = f"name judges alike in both; those of the labelled table are {listed(judged.table.judges)}"
        raise InputError(f"{table.source}: it has no scores of a judge of {judged.table.source}", hint=hint)
    made = judged.settings_as(result.TransferSettings, target=table.source, **given(**own))
    return result.TransferStudy(settings=made, judges=judges, not_studied=refused)


class _Transfer:
    """The pairs and pools of one judge in both tables."""

    def __init__(self, judged: LabelledPanels, audited: panel.Panel, target: panel.Panel) -> None:
        self.judged, self.audited, self.target = judged, audited, target
        self.split, self.sizes = len(audited.sizes), np.concatenate([audited.sizes, target.sizes])
        self.scores = sums.compared(np.concatenate([audited.scores, target.scores]))
        self.figures: dict[str, dict[str, EstimateRecord]] = {"audit": {}, "target": {}}
        self.uncovered: dict[str, float] = {}
        self.strata: dict[str, list[result.TransferStratum]] = {}

    def judge(self, groups: int, similarity: Floats | None) -> result.TransferJudge:
        """Return what the audit says of the target."""
        self._stratify("pairs", self._pairs(groups, similarity), ("effective_agreement", "pair_loss"))
        self._stratify("pools", self._pools(groups), ("gain", "recovery"))
        return result.TransferJudge(
            data=self.judged.counts_as(facts.JudgeCounts, self.audited.judge, self.audited),
            figures=self.figures,
            target_prompts=len(self.target.sizes),
            target_dropped=dict(Counter(lost.reason for lost in self.target.dropped)),
            uncovered=self.uncovered,
            strata=self.strata,
            sentences=list(_transfer_sentences(self.figures, self.uncovered)),
        )

    def _pairs(self, groups: int, similarity: Floats | None) -> _Units:
        """Group the pairs by score gap, and by whether their similarity is above the audit's median."""
        pairs, ranked = every_pair(self.sizes), sums.by_rank(self.scores)
        own = pairs.some(pairs.prompt < self.split)
        gaps = np.abs(self.scores[pairs.i] - self.scores[pairs.j])
        gaps[np.isnan(self.scores[pairs.i]) & np.isnan(self.scores[pairs.j])] = 0.0  # the pick between them is random
        codes, names = _by_gap(gaps, own.prompt, groups, "gap")
        if similarity is not None:
            mean = (similarity[pairs.i] + similarity[pairs.j]) / 2
            codes = codes * 2 + (mean > np.nanmedian(mean[: len(own.i)]))
            names = [f"{name}, {which} similarity" for name in names for which in ("lower", "higher")]
        labels = sums.compared(self.audited.labels)
        above = np.sign(labels[own.i] - labels[own.j])
        order = (ranked[own.i] > ranked[own.j]).astype(float) - (ranked[own.i] < ranked[own.j])
        agreement = (1 + order * above) / 2
        loss = np.abs(labels[own.i] - labels[own.j]) * (1 - agreement)
        return pairs.prompt, codes, names, np.stack([agreement, loss])

    def _pools(self, groups: int) -> _Units:
        """Group the pools by size, by tie at the top, and by margin."""
        of_pools, sizes = sums.Sums(*self.audited.sums()), np.unique(self.audited.sizes)
        margins = top_of_scores.top_of_scores(self.scores, self.sizes, sums.by_rank(self.scores)).margin
        codes, names = _by_gap(margins, np.arange(self.split), groups, "margin")
        size = np.where(np.isin(self.sizes, sizes), np.searchsorted(sizes, self.sizes), len(sizes))
        every = [f"{K}, {name}" for K in (*(f"{K} candidates" for K in sizes), "other sizes") for name in names]
        outcomes = np.stack([of_pools.J - of_pools.R, of_pools.M - of_pools.R])
        return np.arange(len(self.sizes)), size * len(names) + codes, every, outcomes

    def _stratify(self, of: str, units: _Units, metrics: tuple[str, str]) -> None:
        """Add the figures and the strata of pairs or pools."""
        prompt, strata, names, outcomes = units
        at = prompt * len(names) + strata
        counts = np.bincount(at, minlength=len(self.sizes) * len(names)).reshape(-1, len(names))
        own, wanted = counts[: self.split], counts[self.split :]
        totals = np.array([np.bincount(at[: len(v)], v, own.size).reshape(own.shape) for v in outcomes])
        prompts, worth = (own > 0).sum(axis=0), [support.effective_count(each) for each in own.T.astype(float)]
        covered, shares = support.enough(prompts, np.array(worth)), wanted.sum(axis=0) / wanted.sum()
        audit = own.sum(axis=0) / own.sum()
        self.strata[of] = [
            result.TransferStratum(stratum=name, prompts=held, audit=here, target=there, covered=enough)
            for name, held, here, there, enough in zip(
                names, prompts.tolist(), audit.tolist(), shares.tolist(), covered.tolist(), strict=True
            )
            if here or there
        ]
        lost = self.uncovered[of] = float(shares[~covered].sum())
        whole = totals.sum(axis=2, keepdims=True), own.sum(axis=1, keepdims=True), np.ones((1, 1), np.int64)
        self.figures["audit"] |= self._estimates(metrics, *post_stratified(*whole))
        if lost > panel.MAY_LACK:
            why = f"{numbers.number(lost, 'share')} of the {of} are in groups that too few labelled prompts hold"
            refused = EstimateRecord.of(estimand.Estimate.undefined(why, self.split))
            self.figures["target"] |= dict.fromkeys(metrics, refused)
        else:
            kept = totals[:, :, covered], own[:, covered], wanted[:, covered]
            self.figures["target"] |= self._estimates(metrics, *post_stratified(*kept))

    def _estimates(self, metrics: tuple[str, str], values: Floats, adds: Floats) -> dict[str, EstimateRecord]:
        """Return both figures: means, or the gain and, as its ratio to the room, recovery."""
        confidence, n = self.judged.settings.confidence, self.split
        made = {
            name: _of_influences(value, own, n, confidence, _LIMITS.get(name, (-np.inf, np.inf)))
            for name, value, own in zip(metrics, values.tolist(), adds, strict=True)
        }
        if "recovery" in made:
            made["recovery"] = estimand.Estimate.undefined(estimand.NOT_DISTINGUISHABLE, n)
            a, b = values.tolist()
            own, (caa, cab, _, cbb) = adds[0] - adds[1] * (a / b if b else 0.0), (adds @ adds.T).ravel()
            law = laws.Fieller(a, b, caa, cab, cbb, jackknife.kurtosis_df(own), (-np.inf, 1.0))
            if b > 0 and law.at(confidence) is not None:
                made["recovery"] = _of_influences(a / b, own / b, n, confidence, (-np.inf, 1.0), law)
        return estimate_records(estimand.under_method(made, self.judged.methods[self.audited.judge]))


def _by_gap(gaps: Floats, prompts: Ints, groups: int, what: str) -> tuple[Ints, list[str]]:
    """Group gaps by the quantiles of the first ones, those of the audit's `prompts`; NaN is of one without a score.

    There are as many groups as enough prompts fill, up to `groups`, and one beyond the largest gap of the audit.
    """
    gaps = sums.compared(gaps)
    codes, apart = np.isnan(gaps).astype(np.int64), gaps > 0
    own = apart[: len(prompts)]
    known, cuts = gaps[: len(prompts)][own], np.zeros(1)
    for count in range(groups if known.size else 0, 0, -1):
        cuts = gap_groups(known, count)[1][1:]
        at = np.searchsorted(cuts, known)
        if min(len(np.unique(prompts[own][at == group])) for group in range(len(cuts))) >= support.FEWEST:
            break
    codes[apart] = 2 + np.searchsorted(cuts, gaps[apart])
    upper = [f"{what} up to {cut:g}" for cut in cuts.tolist()]
    return codes, ["tie", "one without a score", *upper, f"{what} above {cuts[-1]:g}"]


def _transfer_sentences(
    figures: abc.Mapping[str, abc.Mapping[str, EstimateRecord]], uncovered: abc.Mapping[str, float]
) -> abc.Iterator[str]:
    """Yield the findings, the most important first."""
    for name, expected in figures["target"].items():
        here, there = (numbers.with_any_interval(each, unit_of(name)) for each in (figures["audit"][name], expected))
        known = f"{name} is expected to be {there}; in the audit it is {here}."
        yield known if expected.estimate is not None else f"Nothing is said of {name}: {expected.reason}."
    for of, share in uncovered.items():
        if 0 < share <= panel.MAY_LACK:
            rest = numbers.number(share, "share")
            yield f"The figures leave out {rest} of the {of} of the target: too few labelled prompts hold such {of}."
