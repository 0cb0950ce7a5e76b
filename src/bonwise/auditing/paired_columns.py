"""Every two of several judges at once: leave-one-out values in columns, prompts that a judge lacks as masks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing.judge_record import JudgeAudit, panel_level_bias
from bonwise.auditing.settings import Settings
from bonwise.stats import catalog, clusters, correlation, estimation, jackknife, laws, support
from bonwise.stats.estimand import NOT_DISTINGUISHABLE, NOTHING_LOST, Estimand, Estimate
from bonwise.stats.sums import Sums
from bonwise.table.panel import Panel
from bonwise.table.store import Names, objects

_CELLS = 1 << 13  # leave-one-out values of a metric held at a time: what fits the cache
_UNITS = 1 << 11  # units whose values are kept for judges with the same prompts


_ALL = catalog.ESTIMANDS
_AT = {e.name: row for row, e in enumerate(_ALL)}
_OVER, _LOST, _WITHIN, _RATIO = (_AT[name] for name in ("global_r", "inflation", "within_r", "recovery"))
_BY_LABELS = np.array([not e.on_scores for e in _ALL])[:, None]
_OF_LABELS = np.flatnonzero(_BY_LABELS)
_OF_SCORES = [(row, e) for row, e in enumerate(_ALL) if e.on_scores]
_BIAS = "level_bias"
_NAMES = (*_AT, _BIAS)
_NOTHING = np.array(None, dtype=object)
_NEARLY = 1e-3  # the same of sums of powers whose fourth root counts


class _Columns:
    """Sums of judges on all prompts that any of them has; where one lacks a prompt they are 0."""

    def __init__(self, panels: Sequence[Panel]) -> None:
        every = panels[0].prompt_ids
        self.whole = all(panel.prompt_ids.equals(every) for panel in panels)
        for panel in panels[1:] if not self.whole else ():
            every = Names(objects(sorted({*every, *panel.prompt_ids})))
        self.places = [every.get_indexer(panel.prompt_ids) for panel in panels]
        self.known = np.zeros((len(panels), len(every)), dtype=bool)
        prompts = np.zeros((len(Sums._fields), len(panels), len(every)))
        for judge, (places, panel) in enumerate(zip(self.places, panels, strict=True)):
            self.known[judge, places] = True
            prompts[:, judge, places] = panel.sums()
        self.prompts = Sums(*prompts)
        self._lowest = np.zeros(self.known.shape)
        for judge, (places, panel) in enumerate(zip(self.places, panels, strict=True)):
            self._lowest[judge, places] = panel.lowest_labels()
        self.clusters = panels[0].clusters
        self._units = clusters.cluster_sums(prompts, self.clusters)
        self._common = self.known if self.clusters is None else np.ones(self._units.shape[1:], dtype=bool)
        self.totals = self._units @ self._common.T.astype(np.float64)
        """Of each judge on what it shares with another, shape (sums, judges, others)."""
        self.values = _metrics(self.totals)
        self.units = self._common.astype(np.float64) @ self._common.T
        self._rests = np.empty((len(Sums._fields), max(_CELLS, _UNITS)))
        self._moved = np.empty((2, len(_ALL), max(_CELLS, _UNITS)))

    def on_common(self, values: Floats | Mask) -> Floats:
        """Return totals of values of prompts, (judges, prompts), over what each judge shares with another."""
        return np.where(self.known, values, 0.0) @ self.known.T.astype(np.float64)

    def paired(self, first: int, second: int) -> tuple[Floats, Sums, Floats]:
        """Return what further prompts do to differences by: picks apart, sums of the first, lowest labels."""
        shared, prompts = self.known[first] & self.known[second], self.prompts
        some = slice(None) if shared.all() else shared
        apart = (prompts.J[first] - prompts.J[second])[some]
        return apart, Sums(*(part[first][some] for part in prompts)), self._lowest[first][some]

    def count(self, e: Estimand) -> Floats:
        """Return how many prompts that it shares with another contribute to a metric of a judge."""
        return self.on_common(self.known if e.counted is None else e.counted(self.prompts) != 0)

    def count_units(self, e: Estimand) -> Floats:
        """Return how many units do."""
        if self.clusters is None:
            return self.count(e)
        own = self._common if e.counted is None else e.counted(Sums(*self._units)) != 0
        return own.astype(np.float64) @ self._common.T

    def stretch(self, e: Estimand) -> Floats:
        """Return `JudgeSums.stretch` of the metric of two judges."""
        prompts = self.prompts
        heaviest = np.full(self.totals.shape[1:], prompts.prompts.max())
        if e.average_over is None:
            return heaviest
        weights = e.average_over(prompts)
        beyond = self.on_common(weights > prompts.prompts) > 0
        most = np.where(beyond, self.highest(prompts.all_pairs), heaviest)
        own = most / catalog.ratio(self.on_common(weights), self.on_common(weights > 0))
        return np.fmax(own, own.T)

    def fiellers(self, e: Estimand) -> Iterator[list[laws.Fieller | None]]:
        """Yield the laws of the differences of a ratio of means, of each judge and those after it."""
        if e.parts is None:
            return
        above, below = e.parts(Sums(*self._units))
        unit = laws.power_of_two(float(max(np.abs(above).max(), np.abs(below).max())))
        for judge in range(len(above) - 1):
            shared = self._common[judge] & self._common[judge + 1 :]
            n = shared.sum(1)
            parts = (np.where(shared, part, 0.0) for part in (above[judge] - above[judge + 1 :], below[judge]))
            apart, room = (part / unit for part in parts)
            a, b = apart.sum(1) / np.maximum(n, 1), room.sum(1) / np.maximum(n, 1)
            left = apart - catalog.ratio(a, b, 0.0)[:, None] * room
            apart, room = (np.where(shared, part - mean[:, None], 0.0) for part, mean in ((apart, a), (room, b)))
            with np.errstate(divide="ignore", invalid="ignore"):
                covariances = [
                    np.einsum("pu,pu->p", *pair) / (n - 1) / n * unit * unit
                    for pair in ((apart, apart), (apart, room), (room, room))
                ]
            square = left * left
            df = jackknife.moments_df(square.sum(1), np.einsum("pu,pu->p", square, square), n)
            rows = np.stack([a * unit, b * unit, *covariances, np.where(b > 0, df, n - 1.0)], axis=1)
            yield [laws.Fieller(*row) if count > 1 else None for row, count in zip(rows.tolist(), n, strict=True)]

    def highest(self, values: Floats) -> Floats:
        """Return the highest of values of prompts, (judges, prompts) and the same for all, that two judges share."""
        some = np.where(self.known, values, -np.inf).max(0)
        order = np.argsort(-some)
        known = self.known[:, order]
        return np.array([some[order][(own & known).argmax(1)] for own in known])

    def _left_out(
        self, judges: Ints | int, others: Ints, some: slice, *, out: Floats, of_labels: bool = True
    ) -> Floats:
        """Return metrics without each unit in turn, (metrics, pairs, units); where it is not shared they are any."""
        totals, shape = self.totals[:, judges, others][..., None], (len(others), some.stop - some.start)
        rests = np.subtract(totals, self._units[:, _slice(judges), some], out=_shaped(self._rests, shape))
        with np.errstate(divide="ignore", invalid="ignore"):  # where it is not shared
            return _metrics(rests, _shaped(out, shape), of_labels=of_labels)

    @cached_property
    def powers(self) -> tuple[Floats, Floats]:
        """Sums of powers 1 to 4 of what units move, (4, metrics, judges, others): differences, and one judge."""
        count, units = len(self._common), self._units.shape[-1]
        of_pairs, alone = np.zeros((4, len(_ALL), count, count)), np.zeros((4, 3, count, count))
        masks: dict[bytes, int] = {}
        alike = np.array([masks.setdefault(row.tobytes(), len(masks)) for row in self._common])
        for start in range(0, units, _UNITS):
            some = slice(start, min(start + _UNITS, units))
            for group in range(int(alike.max()) + 1):
                self._add_alike(np.flatnonzero(alike == group), some, of_pairs, alone)
            for judge in range(count) if alike.max() else ():
                apart = np.flatnonzero(alike[judge + 1 :] != alike[judge]) + judge + 1
                self._add_apart(judge, apart, some, of_pairs, alone)
        return of_pairs, alone

    def _add_alike(self, judges: Ints, some: slice, of_pairs: Floats, alone: Floats) -> None:
        """Add judges with the same prompts: a column each."""
        parts = [
            self._left_out(part, part, some, out=self._moved[0]) - self.values[:, part, part][..., None]
            for part in _split(judges, some.stop - some.start)
        ]
        moved, shared = np.concatenate(parts, axis=1), self._common[judges[0], some]
        alone[:, :, judges[:, None], judges] += _powers(self._of_one(moved, judges, judges), shared)[..., None]
        moved[:, :, ~shared] = 0.0
        for row, values in enumerate(moved):
            nothing = (values - values).sum()  # unless a metric of labels is undefined without some unit
            of_pairs[:, row, judges[:, None], judges] += nothing if row in _OF_LABELS else _of_differences(values)

    def _add_apart(self, judge: int, others: Ints, some: slice, of_pairs: Floats, alone: Floats) -> None:
        """Add a judge and others with different prompts: two columns a pair."""
        for part in _split(others, some.stop - some.start):
            same, shared = np.full_like(part, judge), self._common[judge, some] & self._common[part, some]
            left = self._left_out(judge, part, some, out=self._moved[0])
            right = self._left_out(part, same, some, out=self._moved[1], of_labels=False)
            for first, second, moved in ((same, part, left), (part, same, right)):
                centred = moved[: _LOST + 1] - self.values[: _LOST + 1, first, second][..., None]
                alone[:, :, first, second] += _powers(self._of_one(centred, first, second), shared)
            right[_OF_LABELS] = left[_OF_LABELS]
            left -= right
            left -= (
                self.values[:, judge, part]
                - np.where(_BY_LABELS, self.values[:, judge, part], self.values[:, part, judge])
            )[..., None]
            of_pairs[:, :, judge, part] += _powers(left, shared)

    def _of_one(self, moved: Floats, judges: Ints, others: Ints) -> Floats:
        within, overall = self.values[_WITHIN, judges, others], self.values[_OVER, judges, others]
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (within / overall)[:, None]
        return np.stack([moved[_OVER], moved[_LOST], moved[_WITHIN] - slope * moved[_OVER]])


class PairedColumns:
    """Figures of every two judges on the prompts that both have, as `estimation.difference` has them."""

    def __init__(self, audits: Sequence[JudgeAudit], panels: Sequence[Panel], settings: Settings) -> None:
        self._audits, self._panels, self._settings = audits, panels, settings
        self._columns = columns = _Columns(panels)
        self._pairs = np.triu_indices(len(panels), 1)
        self.prompts = self._of(columns.on_common(columns.known)).astype(np.int64)
        """Prompts that two judges share."""
        values = columns.values - np.swapaxes(columns.values, 1, 2)
        values[_OF_LABELS] = np.where(np.isfinite(columns.values[_OF_LABELS]), 0.0, np.nan)
        self._widths, self._limits = self._ranges()
        self._values = np.clip(self._of(values), *self._limits)
        counts, units = (np.array([count(e) for e in _ALL]) for count in (columns.count, columns.count_units))
        self._counts, self._units = (self._fewer(own).astype(np.int64) for own in (counts, units))
        errors, df, skew = self._scatter(columns.powers[0], np.minimum(units, np.swapaxes(units, 1, 2)))
        self._errors, self._df = self._of(errors), self._of(df)
        averages = np.array([e.average_over is not None or e.parts is not None for e in _ALL])
        self._skew = np.where(averages[:, None], self._of(skew), 0.0)
        self._reasons = np.full(self._values.shape, "", dtype=object)
        self._laws: list[dict[int, laws.Law]] = [{} for _ in _ALL]
        self._ends = np.array(
            laws.student_ends(self._values, self._errors, self._df, self._limits, self._skew, settings.confidence)
        )
        for row, e in enumerate(_ALL):
            self._intervals(row, e, averages[row])
        self._without_wild(counts, units)
        self._without_heavy()
        self._add_bias()

    def _of(self, values: Any) -> Any:
        """Return what pairs have of values (..., judges, judges)."""
        return values[..., self._pairs[0], self._pairs[1]]

    def _fewer(self, counts: Floats) -> Floats:
        fewer: Floats = np.minimum(self._of(counts), self._of(np.swapaxes(counts, 1, 2)))
        return fewer

    def _ranges(self) -> tuple[float, tuple[Floats, Floats]]:
        """Return the width of the labels, and the limits of differences of each metric, (metrics, pairs)."""
        rule = self._settings.rule(np.concatenate([panel.labels for panel in self._panels]))
        ends = [rule.label_range if e.limits is None else e.limits for e in _ALL]
        reach = [high - low for low, high in ends]
        upper = np.array([(2 if e.contrast else 1) * width for e, width in zip(_ALL, reach, strict=True)])
        upper = np.repeat(upper[:, None], len(self.prompts), axis=1)
        return rule.label_width, (-upper, upper)

    def _scatter(self, powers: Floats, units: Floats) -> tuple[Floats, Floats, Floats]:
        """Return standard errors, degrees of freedom and skewness of sums of powers, (4, ...), of so many units."""
        second, third, fourth = _central(powers, n := self._columns.units)
        most = clusters.most_df(self._columns.clusters) if self._columns.clusters is not None else np.inf
        with np.errstate(invalid="ignore", divide="ignore"):
            errors = np.where(n > 1, np.sqrt((n - 1) / n * second), np.nan)
        df = np.minimum(jackknife.moments_df(second, fourth, n), np.maximum(np.minimum(units - 1.0, most), 1.0))
        return errors, df, -jackknife.moments_skew(second, third)

    def _intervals(self, row: int, e: Estimand, average: bool) -> None:
        """Give a metric its intervals, or the reasons why there are none, in the order of `one_estimate`."""
        few = clusters.too_few_clusters(codes := self._columns.clusters)
        if codes is not None and e.of_products:
            few = few or clusters.too_few_kinds(codes)
        value, n, errors = self._values[row], self._counts[row], self._errors[row]
        self._undefine(row, ~np.isfinite(value), f"undefined: needs {e.needs}")
        if e.set_by_pools:
            self._drop(row, (n > 1) & self._same_pools(), estimation.SET_BY_POOLS)
        self._drop(row, np.full(len(n), bool(few)), few)
        if e.parts is not None:
            self._divide(row, e)
        self._drop(row, n < 2, estimation.SINGLE)
        self._drop(row, ~np.isfinite(errors), estimation.INDISPENSABLE)
        alike = errors <= estimation.SAME * np.maximum(self._sizes(e), np.abs(value))
        if not average:
            self._drop(row, alike, estimation.ALL_ALIKE)
        elif (exact := np.flatnonzero(alike & (self._reasons[row] == ""))).size:
            self._bound(row, e, exact)

    def _drop(self, row: int, which: Mask, reason: str) -> None:
        """Take the interval of those that have no reason yet."""
        which = which & (self._reasons[row] == "")
        self._reasons[row, which] = f"no interval: {reason}"
        self._ends[:, row, which] = self._errors[row, which] = np.nan

    def _undefine(self, row: int, which: Mask, reason: str) -> None:
        """Take the value too."""
        self._reasons[row, which] = reason
        self._ends[:, row, which] = self._errors[row, which] = self._values[row, which] = np.nan

    def _sizes(self, e: Estimand) -> Floats | float:
        if e.name == "attenuation":
            totals = Sums(*self._of(self._columns.totals))
            return catalog.ratio(np.sqrt(totals.eSS), np.sqrt(totals.eOO), 0.0)
        return 1.0 if e.limits is not None else self._widths

    def _same_pools(self) -> Mask:
        prompts = self._columns.prompts
        means = prompts.R / np.where(prompts.prompts > 0, prompts.prompts, 1.0)
        high, low = (sign * self._of(self._columns.highest(sign * means)) for sign in (1, -1))
        rounding = np.maximum(estimation.SAME_MEAN * self._widths, np.spacing(np.abs(low) * 16))
        varied: Mask = self._of(self._columns.totals)[Sums._fields.index("apart_O")] > 0
        alike: Mask = varied & (high - low <= rounding)
        return alike

    def _divide(self, row: int, e: Estimand) -> None:
        """Give ratios of means Fieller's intervals."""
        for at, law in enumerate(chain.from_iterable(self._columns.fiellers(e))):
            if law is None or self._counts[row, at] < 2 or self._reasons[row, at]:
                continue
            ends = law.at(self._settings.confidence)
            if ends is None:
                self._undefine(row, np.arange(len(self.prompts)) == at, NOT_DISTINGUISHABLE)
            else:
                self._ends[:, row, at], self._laws[row][at] = ends, law

    def _bound(self, row: int, e: Estimand, pairs: Ints) -> None:
        """Give averages of prompts that are all alike the bound of that."""
        stretch, (lower, upper) = self._of(self._columns.stretch(e)), (side[row] for side in self._limits)
        if e.parts is not None:
            room = self._of(e.parts(Sums(*self._columns.totals))[1]) / self.prompts
            lower = np.maximum(self._values[row] - self._widths / room, lower)
            upper = np.minimum(self._values[row] + self._widths / room, upper)
        known: dict[laws.Exact, laws.Ends] = {}
        for at in pairs.tolist():
            ends = float(lower[at]), float(upper[at])
            law = laws.Exact(float(self._values[row, at]), int(self._units[row, at]), ends, float(stretch[at]))
            bound = known[law] if law in known else known.setdefault(law, law.at(self._settings.confidence))
            self._ends[:, row, at], self._errors[row, at] = bound or (np.nan, np.nan), 0.0
            if bound is None:
                self._reasons[row, at] = estimation.NO_INTERVAL["exact"]
            else:
                self._laws[row][at] = law

    def _without_wild(self, counts: Floats, units: Floats) -> None:
        """Undefine inflation where a global_r cannot be told from 0, or where a judge has none."""
        columns = self._columns
        errors, df, _ = self._scatter(columns.powers[1], units[[_OVER, _LOST, _WITHIN]])
        overall, lost = columns.values[_OVER], columns.values[_LOST]
        low, high = self._ends_of_overall(overall, errors[0], df[0])
        codes = columns.clusters
        few = codes is not None and bool(clusters.too_few_clusters(codes) or clusters.too_few_kinds(codes))
        with np.errstate(invalid="ignore"):
            settled = [
                (counts[row] > 1) & (own > estimation.SAME * np.maximum(1.0, np.abs(values)))
                for row, own, values in ((_OVER, errors[0], overall), (_LOST, errors[1], lost))
            ]
            near_0 = np.where(
                settled[0] & ~np.array(few), (low <= 0) & (high >= 0), ~(np.abs(overall) >= estimation.NEAR_0)
            )
            second, _, fourth = _central(columns.powers[1][:, 2], columns.units)
            t = laws.student_quantiles(self._settings.confidence, jackknife.moments_df(second, fourth, columns.units))
            unbounded = settled[1] & ~np.array(few) & (overall**2 <= np.square(t * errors[0]))
        nothing, wild = (lost <= estimation.SAME, NOTHING_LOST), (unbounded, f"unbounded: {NOT_DISTINGUISHABLE}")
        turned = [(which.T, reason) for which, reason in (nothing, wild)]
        for which, reason in ((near_0 | near_0.T, NOT_DISTINGUISHABLE), nothing, wild, *turned):
            self._undefine(_LOST, self._of(which) & np.isfinite(self._values[_LOST]), reason)

    def _ends_of_overall(self, overall: Floats, errors: Floats, df: Floats) -> tuple[Floats, Floats]:
        """Return the ends of each judge's own global_r: Fisher's z within (-1, 1), as that of a judge alone."""
        confidence = self._settings.confidence
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = laws.fisher_ends(overall, errors, df, confidence)
        edge = np.abs(overall) >= 1
        plain = laws.student_ends(overall, errors, df, (-1.0, 1.0), 0.0, confidence)
        return np.where(edge, plain[0], low), np.where(edge, plain[1], high)

    def _without_heavy(self) -> None:
        """Take the intervals of correlations of scores or labels with heavy tails on the shared prompts."""
        tails = list(map(self._tails, range(len(self._panels))))
        for at, (first, second) in enumerate(zip(*self._pairs, strict=True)):
            reason = tails[first](int(second)) or tails[second](int(first))
            for row in (_OVER, _WITHIN) if reason else ():
                if not np.isnan(self._ends[0, row, at]):
                    self._drop(row, np.arange(len(self.prompts)) == at, reason)

    def _tails(self, judge: int) -> Callable[[int], str]:
        """Return what says why scores or labels that a judge shares with another have too heavy tails."""
        panel, columns = self._panels[judge], self._columns
        reason = correlation.heavy_tails(panel.scores, panel.labels)
        known = np.concatenate([values[~np.isnan(values)] for values in (panel.scores, panel.labels)])
        if columns.whole or not known.size or (known.min() >= 0 and known.max() <= 1):
            return lambda _: reason

        def on_shared(other: int) -> str:
            cells = np.repeat(columns.known[other, columns.places[judge]], panel.sizes)
            return correlation.heavy_tails(panel.scores[cells], panel.labels[cells])

        return on_shared

    def _add_bias(self) -> None:
        """Add the row of level_bias: each judge's own, fitted once to all its prompts, less the other's."""
        known = [
            audit.metrics[_BIAS]
            if audit.labelling.method == "complete"
            else panel_level_bias(panel, self._settings, panel.weights)
            for audit, panel in zip(self._audits, self._panels, strict=True)
        ]
        half = (1 + self._settings.confidence) / 2
        ends = np.array([(own.law and own.law.at(half)) or (np.nan, np.nan) for own in known])
        own = np.array([np.nan if bias.estimate is None else bias.estimate for bias in known])
        first, second = self._pairs
        low, high = ends[first, 0] - ends[second, 1], ends[first, 1] - ends[second, 0]
        values = np.where(np.isnan(low), np.nan, own[first] - own[second])
        reasons = np.array([bias.reason or "" for bias in known], dtype=object)
        reasons = np.where(reasons[first] != "", reasons[first], reasons[second])
        counts = np.array([bias.n for bias in known])
        self._values, self._errors = np.vstack([self._values, values]), np.vstack([self._errors, values * np.nan])
        self._ends = np.concatenate([self._ends, np.array([low, high])[:, None]], axis=1)
        self._counts = np.vstack([self._counts, np.minimum(counts[first], counts[second])])
        self._reasons = np.vstack([self._reasons, reasons])

    def records(self) -> Iterator[dict[str, dict[str, Any]]]:
        """Yield the fields of `bonwise.estimates.EstimateRecord` of each pair, by metric."""
        values, errors, low, high, worth = (
            np.where(np.isnan(part), _NOTHING, part).T.tolist()
            for part in (self._values, self._errors, *self._ends, self._support)
        )
        kinds = np.where(np.isnan(self._ends[0]), _NOTHING, np.array("jackknife", dtype=object))
        for row, by_pair in zip(kinds, self._laws, strict=False):
            for at, law in by_pair.items():
                row[at] = None if row[at] is None else law.kind
        whole = (part.T.tolist() for part in (self._counts, kinds, self._reasons))
        for at, (method, *rows) in enumerate(
            zip(self.methods, values, low, high, errors, *whole, worth, strict=True)
        ):
            records = {
                name: _record(*figures, method, reason=reason, worth=count)
                for name, *figures, reason, count in zip(_NAMES, *rows, strict=True)
            }
            for name, figure in self._estimates(at, support.REACHING).items():
                if figure.moved is not None:
                    records[name] |= {"low": figure.low, "high": figure.high, "moved": figure.moved}
            yield records

    @cached_property
    def _support(self) -> Floats:
        """Effective prompts of the thinner side, shape (metrics, pairs); NaN where unknown."""
        supports = ([_support(audit, name) for audit in self._audits] for name in _NAMES)
        each = np.array([[np.nan if own is None else own.count for own in by_judge] for by_judge in supports])
        thinner: Floats = self._of(np.minimum(each[:, :, None], each[:, None]))
        return thinner

    @cached_property
    def methods(self) -> list[str]:
        """How the labels of each pair are used."""
        complete = np.array([audit.labelling.method == "complete" for audit in self._audits])
        both = self._of(np.logical_and.outer(complete, complete))
        return ["complete" if own else "labelled_only" for own in both.tolist()]

    def estimate(self, at: int, name: str) -> Estimate:
        """Return one figure of a pair."""
        return self._estimates(at, (name,))[name]

    def _estimates(self, at: int, names: Collection[str]) -> dict[str, Estimate]:
        """Return figures of a pair, with what they rest on and reach to."""
        first, second = (int(side[at]) for side in self._pairs)
        sides = self._audits[first].metrics, self._audits[second].metrics
        figures = {name: self._alone(at, name) for name in names}
        paired = None if support.REACHING.isdisjoint(names) else self._columns.paired(first, second)
        return support.of_difference(figures, sides, paired)

    def _alone(self, at: int, name: str) -> Estimate:
        row = _NAMES.index(name)
        value, se, (low, high) = self._values[row, at], self._errors[row, at], self._ends[:, row, at]
        figures = tuple(None if np.isnan(part) else float(part) for part in (value, low, high, se))
        law = self._laws[row].get(at) if row < len(_ALL) else None
        if law is None and row < len(_ALL) and figures[1] is not None:
            limits = float(self._limits[0][row, at]), float(self._limits[1][row, at])
            law = laws.Student(float(value), float(se), float(self._df[row, at]), limits, skew=self._skew[row, at])
        kind = None if figures[1] is None else "jackknife" if law is None else law.kind
        reason, n = self._reasons[row, at] or None, int(self._counts[row, at])
        return Estimate(figures[0], figures[1], figures[2], figures[3], n, kind, self.methods[at], reason, law=law)


class FiguresOfPair(Mapping[str, Estimate]):
    """The figures of one pair, made when they are asked for."""

    def __init__(self, columns: PairedColumns, at: int, records: dict[str, dict[str, Any]]) -> None:
        self._columns, self._at = columns, at
        self.records = records

    def __getitem__(self, name: str) -> Estimate:
        if name not in _NAMES:
            raise KeyError(name)
        return self._columns.estimate(self._at, name)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES if self._columns.prompts[self._at] else ())

    def __len__(self) -> int:
        return len(list(iter(self)))


_FIELDS = ("estimate", "low", "high", "se", "n", "interval", "method")


def _record(*values: Any, reason: str, worth: float | None) -> dict[str, Any]:
    """Return the fields of a record of which an optional one is there where it says something."""
    record = dict(zip(_FIELDS, values, strict=True))
    if reason:
        record["reason"] = reason
    if worth is not None and values[0] is not None:
        record["effective_n"] = worth
    return record


def _support(audit: JudgeAudit, name: str) -> support.Support | None:
    return audit.metrics[name].support if name in audit.metrics else None


def _metrics(totals: Floats, out: Floats | None = None, *, of_labels: bool = True) -> Floats:
    """Return the metrics of totals (sums, ...); those of labels alone may be left out."""
    t, values = Sums(*totals), np.empty((len(_ALL), *totals.shape[1:])) if out is None else out
    for row, e in enumerate(_ALL) if of_labels else _OF_SCORES:
        values[row] = catalog.lost_share(values[_WITHIN], values[_OVER]) if row == _LOST else e.of(t)
    return values


def _shaped(buffer: Floats, shape: tuple[int, int]) -> Floats:
    """Return a view (rows, pairs, units) of a buffer, which costs less than memory that the system has to clear."""
    return buffer[:, : shape[0] * shape[1]].reshape(len(buffer), *shape)


def _split(judges: Ints, units: int) -> list[Ints]:
    """Split judges into parts whose columns of so many units fit the cache."""
    step = max(1, _CELLS // units)
    return [judges[start : start + step] for start in range(0, len(judges), step)]


def _powers(moved: Floats, shared: Mask) -> Floats:
    """Return sums of powers 1 to 4 over the units that are shared, and overwrite what is not."""
    sums = np.empty((4, *moved.shape[:-1]))
    every = bool(shared.all())
    with np.errstate(invalid="ignore"):  # a metric may be infinite without some unit
        for row, values in enumerate(moved):
            if not every:
                np.multiply(values, shared, out=values)
            sums[0, row] = values.sum(-1)
            if not every and np.isnan(sums[0, row]).any():
                np.copyto(values, 0.0, where=~shared)
                sums[0, row] = values.sum(-1)
            square = values * values
            sums[1, row] = square.sum(-1)
            sums[2, row], sums[3, row] = (np.einsum("pu,pu->p", square, other) for other in (values, square))
    return sums


def _of_differences(values: Floats) -> Floats:
    """Return sums of powers 1 to 4 of the differences of every two columns (columns, units), by matrix products."""
    square = values * values
    one, two, three, four = values.sum(1), values @ values.T, square @ values.T, square @ square.T
    mixed = (square * values) @ values.T
    own = np.diagonal(two), np.diagonal(three), np.diagonal(four)
    seconds, fourths = np.add.outer(own[0], own[0]), np.add.outer(own[2], own[2])
    sums = np.stack(
        [
            np.subtract.outer(one, one),
            seconds - 2 * two,
            np.subtract.outer(own[1], own[1]) - 3 * (three - three.T),
            fourths - 4 * (mixed + mixed.T) + 6 * four,
        ]
    )
    # Columns that are nearly alike leave little of such sums but rounding.
    near = ~((sums[1] > _NEARLY * seconds) & (sums[3] > _NEARLY * fourths))
    for first, second in np.argwhere(np.triu(near, 1)).tolist():
        apart = values[first] - values[second]
        sums[:, first, second] = [
            apart.sum(),
            apart @ apart,
            apart @ (apart * apart),
            (apart * apart) @ (apart * apart),
        ]
    return sums


def _slice(judges: Ints | int) -> Ints | slice:
    """Return judges in a row as a slice, which is not copied."""
    first, last = (judges, judges) if isinstance(judges, int) else (int(judges[0]), int(judges[-1]))
    return slice(first, last + 1) if isinstance(judges, int) or last - first == len(judges) - 1 else judges


def _central(powers: Floats, n: Floats) -> tuple[Floats, Floats, Floats]:
    """Return sums of powers 2 to 4 of deviations from the mean of n values, from sums of powers 1 to 4."""
    first, second, third, fourth = powers
    m = first / np.maximum(n, 1)
    return (
        np.maximum(second - n * m**2, 0.0),
        third - 3 * m * second + 2 * n * m**3,
        fourth - 4 * m * third + 6 * m**2 * second - 3 * n * m**4,
    )
