"""The value of the judge's pick from m candidates: exact over all subsets of the pools, compared over m, priced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing.settings import Settings
from bonwise.auditing.simultaneous import joint_confidence
from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.printable import quoted
from bonwise.report import numbers
from bonwise.stats import catalog, estimand, estimation, jackknife, support
from bonwise.stats.laws import Law
from bonwise.stats.sums import Sums, by_rank, compared
from bonwise.studies.candidates.result import CandidateCountStudy, CountJudge, CountSettings
from bonwise.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.table import checks, opening, reading_options
from bonwise.table.facts import JudgeCounts
from bonwise.table.panel import Panel

__all__ = ["candidates_study", "of_influences", "subset_values"]

_FEWEST_CANDIDATES, _MOST_CANDIDATES = 3, 64  # of a curve; intervals compare every two sizes
_MOST_PRICE = 1e12
_OF_CURVE = tuple(e for e in catalog.VALUES if e.name != "value_random")


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


def of_influences(
    estimate: float,
    influences: Floats,
    n: int,
    confidence: float,
    limits: tuple[float, float] = (-np.inf, np.inf),
    law: Law | None = None,
) -> estimand.Estimate:
    """Return an estimate with the interval of what each prompt adds to it; the squares add up to its variance."""
    se, df = float(np.sqrt(influences @ influences)), jackknife.kurtosis_df(influences)
    scatter = jackknife.Scatter(se, df, skew=jackknife.skewness(influences))
    return estimation.from_jackknife(float(estimate), scatter, n, limits, confidence, exact=None, law=law)


def candidates_study(
    source: opening.ScoreSource,
    options: reading_options.ReadingOptions,
    costs: Mapping[str, float],
    *,
    confidence: float,
    seed: int,
) -> CandidateCountStudy:
    """Find how many candidates are worth asking for."""
    for name, cost in costs.items():
        checks.check_number(name, cost, low=0, high=_MOST_PRICE)
    if costs and ("value" not in costs or len(costs) == 1):
        raise UsageError("the value of a label and a cost go together", hint="give --value and --candidate-cost")
    if options.unpicked == "first":
        raise UsageError("a random subset of a pool has no first candidate", hint="leave --unpicked first out")
    settings = Settings(confidence=confidence, seed=seed, exclude=options.exclude, shape=options.shape)
    judged = open_judged(source, settings, options)
    curves = {name: _Curve(judged, panel) for name, panel in judged.panels.items()}
    refused = {name: curve.refusal for name, curve in curves.items() if curve.most < _FEWEST_CANDIDATES}
    if len(refused) == len(curves):
        name, why = next(iter(refused.items()))
        hint = f"label all candidates of {support.FEWEST} pools of {_FEWEST_CANDIDATES} candidates or more"
        raise InputError(f"{judged.table.source}: {quoted(name)} has no curve: {why}", hint=hint)
    return CandidateCountStudy(
        settings=judged.settings_as(CountSettings, **costs),
        judges={name: curve.judge(costs) for name, curve in curves.items() if name not in refused},
        not_studied={**judged.not_studied, **refused},
    )


class _Curve:
    """What the picks of one judge are worth by the number of candidates; position m is of m + 1 candidates."""

    def __init__(self, judged: LabelledPanels, panel: Panel) -> None:
        self.panel, self.settings, self.method = panel, judged.settings, judged.methods[panel.judge]
        self.data, most = judged.counts_as(JudgeCounts, panel.judge), min(int(panel.sizes.max()), _MOST_CANDIDATES)
        self.picked = subset_values(by_rank(compared(panel.scores)), panel.labels, panel.sizes, most)
        self.possible = subset_values(compared(panel.labels), panel.labels, panel.sizes, most)
        self.holds = panel.sizes >= np.arange(1, most + 1)[:, None]
        room = np.where(self.holds, self.possible - self.possible[0], 0.0)
        held, worth = self.holds.sum(axis=1), np.array([support.effective_count(own) for own in room])
        self.most = int(np.flatnonzero(support.enough(held, worth)).max(initial=0)) + 1
        last = min(_FEWEST_CANDIDATES, most) - 1
        self.refusal = (
            f"{held[last]:,} labelled pools hold {last + 1} candidates, worth {worth[last]:.0f} prompts, and "
            f"{support.FEWEST} with {_FEWEST_CANDIDATES} are needed"
        )

    def judge(self, costs: Mapping[str, float]) -> CountJudge:
        """Return the curve, the best size, and what is known beyond."""
        sizes, value = np.arange(self.most), costs.get("value", 0.0)
        means = [self._mean(self.picked[m] - self.picked[max(m - 1, 0)], m) for m in sizes.tolist()]
        total = np.cumsum([mean for mean, _ in means])  # beyond one candidate
        influences = np.cumsum([own for _, own in means], axis=0)
        spent = sizes * costs.get("candidate_cost", 0.0) + (sizes > 0) * (sizes + 1) * costs.get("judge_cost", 0.0)
        net, best = value * total - spent, int((value * total - spent).argmax()) if costs else None
        joint = joint_confidence(influences, self.settings.confidence, seed=self.settings.seed).differences
        figures, apart, behind = [self._metrics(m) for m in sizes.tolist()], {}, set()
        for m in sizes[1:].tolist():
            for than in range(m):
                both = influences[m] - influences[than]
                apart[m, than] = self._record(total[m] - total[than], both, m, joint)
                worth = self._record(net[m] - net[than], value * both, m, joint)
                behind |= {m} if (worth.high or 0.0) < 0 else {than} if (worth.low or 0.0) > 0 else set()
            figures[m]["step"] = apart[m, m - 1]
            if costs:
                figures[m]["worth"] = self._record(net[m], value * influences[m], m, self.settings.confidence)
        fall = min(apart, key=lambda pair: apart[pair].high or 0.0)
        worse = (apart[fall].high or 0.0) < 0
        beyond, most = self._beyond(int(total.argmax()) if best is None else best, spent, value)
        judge = CountJudge(
            data=self.data,
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
        return judge.model_copy(update={"sentences": list(_sentences(judge))})

    def _mean(self, values: Floats, m: int) -> tuple[float, Floats]:
        """Return the mean over the pools that hold m + 1 candidates, and what each prompt adds to it."""
        held = self.holds[m]
        mean, n = float(values[held].mean()), int(held.sum())
        return mean, np.where(held, values - mean, 0.0) / np.sqrt(n * (n - 1))

    def _record(self, estimate: float, influences: Floats, m: int, confidence: float) -> EstimateRecord:
        figure = of_influences(estimate, influences, int(self.holds[m].sum()), confidence)
        return EstimateRecord.of(figure.with_method(self.method))

    def _metrics(self, m: int) -> dict[str, EstimateRecord]:
        """Return the metrics of an audit of all subsets of m + 1 candidates."""
        held, rule = self.holds[m], self.settings.rule(self.panel.labels)
        sums = Sums(*self.panel.sums()[:, held])._replace(J=self.picked[m, held], M=self.possible[m, held])
        figures = estimation.estimate(_OF_CURVE if m else _OF_CURVE[:1], np.array(sums), rule)
        figures |= support.of_whole_prompts(figures, sums, self.panel.lowest_labels()[held], rule)
        records = estimate_records(estimand.under_method(figures, self.method))
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
            self._record(*self._mean(top - other, last), last, self.settings.confidence)
            for other in (self.possible[last - 1], self.picked[best])
        )
        if step.high is None or gap.high is None:
            return step, None
        lost = float(spent[last] - spent[last - 1]) - value * step.high
        further = value * gap.high - float(spent[last] - spent[best])
        return step, None if lost <= 0 else self.most + max(int(further / lost), 0)


def _sentences(judge: CountJudge) -> Iterator[str]:
    """Yield the findings, the most important first."""
    ends, worse, prompts = len(judge.figures), "", judge.data.prompts
    last = judge.figures[str(ends)]
    value, step = (numbers.with_any_interval(last[name]) for name in ("value_judge", "step"))
    if judge.worse is not None and judge.worse_by is not None:
        sizes, change = " to ".join(map(str, judge.worse)), numbers.with_any_interval(judge.worse_by, sign=True)
        worse = f" More candidates make the picks worse: from {sizes} their value changes by {change}."
    if judge.best is not None:
        worth = judge.figures[str(judge.best)].get("worth")
        each = "" if worth is None else f": {numbers.with_any_interval(worth, sign=True)} per prompt beyond one"
        best, alike = numbers.counted(judge.best, "candidate"), numbers.count_range(judge.may_be_best, "candidate")
        yield f"At these prices {best} pay best{each}. It could be {alike}.{worse}"
        worse = ""
    yield f"The pick from {ends} candidates is worth {value}; the last adds {step}.{worse}"
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
