"""The estimators from labelled cells once more, prompt by prompt and pair by pair, in plain loops.

A pool is a list of (score, label or None, propensity or None); pools are a list of them. Folds are given.
"""

from __future__ import annotations

from itertools import combinations
from math import comb, prod, sqrt

import numpy as np

from bonwise.auditing.cell_table import CellTable


def table_of(pools, **more):
    """Lay pools out as the package takes them."""
    cells = [cell for pool in pools for cell in pool]
    labels = np.array([np.nan if label is None else label for _, label, _ in cells], dtype=float)
    rates = [pi for _, _, pi in cells]
    return CellTable(
        np.array([len(pool) for pool in pools]),
        np.array([score for score, _, _ in cells], dtype=float),
        labels,
        propensities=None if rates[0] is None else np.array(rates, dtype=float),
        **more,
    )


def mean(values):
    """Return the mean of a list."""
    return sum(values) / len(values)


def spread(values):
    """Return the standard deviation of a list, ddof 0; 0 where all are equal."""
    if max(values) == min(values):
        return 0.0
    middle = mean(values)
    return sqrt(mean([(v - middle) ** 2 for v in values]))


def ridge(rows, new, every):
    """Fit weighted ridge on rows (x, y, weight); predict for new x. Columns flat beside every row's are out."""
    if not rows:
        return [0.0 for _ in new]
    total = sum(w for _, _, w in rows)
    width = len(rows[0][0])
    centre = [sum(w * x[j] for x, _, w in rows) / total for j in range(width)]
    level = sum(w * y for _, y, w in rows) / total
    scale = []
    for j in range(width):
        variance = sum(w * (x[j] - centre[j]) ** 2 for x, _, w in rows) / total
        square = max(sum(w * x[j] ** 2 for x, _, w in r) / sum(w for _, _, w in r) for r in (rows, every))
        scale.append(sqrt(variance) if variance > 1e-12 * square else 0.0)
    penalty = (1 + 0.001 * len(rows)) * total / len(rows)

    def standard(x):
        return np.array([(x[j] - centre[j]) / scale[j] if scale[j] else 0.0 for j in range(width)])

    gram, toward = penalty * np.eye(width), np.zeros(width)
    for x, y, w in rows:
        z = standard(x)
        gram += w * np.outer(z, z)
        toward += w * z * (y - level)
    slope = np.linalg.solve(gram, toward)
    return [level + float(standard(x) @ slope) for x in new]


class CellTwin:
    """Everything of one table, its pools all frequent sizes: each size by itself."""

    def __init__(self, pools, folds, origin):
        self.pools, self.folds, self.origin = pools, list(folds), origin
        self.one_rate = pools[0][0][2] is None
        self.n = len(pools)
        self.sizes = sorted({len(pool) for pool in pools})
        self.tops = [[i for i, c in enumerate(p) if c[0] == max(s for s, _, _ in p)] for p in pools]
        self.seen = [[i for i, c in enumerate(p) if c[1] is not None] for p in pools]
        self.O = [[0.0 if c[1] is None else c[1] - origin for c in p] for p in pools]
        self.f = self._predictions()
        self.e = [[self.O[x][i] - self.f[x][i] for i in range(len(p))] for x, p in enumerate(pools)]
        self.within, self.between = {}, {}
        for size in self.sizes:
            self._components(size)

    def of_size(self, size):
        """Return the prompts of a size."""
        return [x for x, pool in enumerate(self.pools) if len(pool) == size]

    def weight(self, x, i):
        """Return 1 / pi of a labelled cell, 0 of another."""
        if i not in self.seen[x]:
            return 0.0
        return 1.0 if self.one_rate else 1 / self.pools[x][i][2]

    def _predictions(self):
        every = [score for pool in self.pools for score, _, _ in pool]
        centre, scale = mean(every), spread(every) or 1.0
        columns = []
        for pool in self.pools:
            S = [(score - centre) / scale for score, _, _ in pool]
            tied = len({score for score, _, _ in pool}) == 1
            apart = 0.0 if tied else spread(S)
            rows = [[s, s - mean(S), mean(S), apart] for s in S]
            columns.append([[v if abs(v) >= 1e-12 else 0.0 for v in row] for row in rows])
        f = [[0.0] * len(pool) for pool in self.pools]
        for size in self.sizes:
            every = {
                x: [(columns[x][i], self.O[x][i], self.weight(x, i)) for i in self.seen[x]]
                for x in self.of_size(size)
            }
            for fold in range(5):
                rows = [row for x, mine in every.items() if self.folds[x] != fold for row in mine]
                for x in self.of_size(size):
                    if self.folds[x] == fold:
                        f[x] = ridge(rows, columns[x], [row for mine in every.values() for row in mine])
        return f

    def _components(self, size):
        squares, degrees, means, inverse = 0.0, 0, [], []
        for x in self.of_size(size):
            seen = [self.e[x][i] for i in self.seen[x]]
            if not seen:
                continue
            squares += sum((v - mean(seen)) ** 2 for v in seen)
            degrees += len(seen) - 1
            means.append(mean(seen))
            inverse.append(1 / len(seen))
        most = max(abs(v) for x in self.of_size(size) for v in [0.0, *(self.e[x][i] for i in self.seen[x])])
        within = squares / max(degrees, 1) + 1e-12 * most * most + 1e-100
        between = mean([(m - mean(means)) ** 2 for m in means]) - within * mean(inverse) if means else 0.0
        self.within[size], self.between[size] = within, max(between, 0.02 * within)

    def stratified(self, values, keys):
        """Return contributions of prompts: `values` holds (D, weight) or None, `keys` the stratum (size, tops)."""
        counts = {}
        for x, key in keys.items():
            counts[key] = counts.get(key, 0) + (values[x] is not None)
        thick = [key for key in sorted(counts) if counts[key] >= 3]
        if not thick:
            joined = dict.fromkeys(counts, None)
        else:
            joined = {
                key: key
                if counts[key] >= 3
                else min(thick, key=lambda t: (abs(t[0] - key[0]), abs(t[1] - key[1]), thick.index(t)))
                for key in counts
            }
        found = dict.fromkeys(keys, 0.0)
        for stratum in set(joined.values()):
            mine = [x for x, key in keys.items() if joined[key] == stratum]
            usable = [x for x in mine if values[x] is not None]
            if not usable:
                continue
            total = sum(values[x][1] for x in usable)
            middle = sum(values[x][0] * values[x][1] for x in usable) / total
            for x in mine:
                found[x] = middle
            if len(usable) > 1:
                for x in usable:
                    stretch = sqrt(len(usable) / (len(usable) - 1))
                    found[x] += len(mine) / total * values[x][1] * (values[x][0] - middle) * stretch
        return found

    def gain(self):
        """Return the contributions to the gain."""
        out = [0.0] * self.n
        for size in self.sizes:
            values, keys = {}, {}
            for x in self.of_size(size):
                a = len(self.tops[x])
                if a == size:
                    continue
                keys[x] = (size, a)
                values[x] = self._difference(x, a, size)
            if self.one_rate:
                known = [v for v in values.values() if v is not None]
                if known:
                    middle = mean([D for D, _ in known])
                    room = mean([(D - middle) ** 2 - q for D, q in known])
                    room = max(room, 0.3 * self.within[size])
                    values = {x: v and (v[0], 1 / (room + v[1])) for x, v in values.items()}
            psi = self.stratified(values, keys)
            for x, value in psi.items():
                a = len(self.tops[x])
                c = [(1 / a if i in self.tops[x] else 0) - 1 / size for i in range(size)]
                out[x] = sum(c[i] * self.f[x][i] for i in range(size)) + (1 - a / size) * value
        return out

    def _difference(self, x, a, size):
        tops = [i for i in self.seen[x] if i in self.tops[x]]
        others = [i for i in self.seen[x] if i not in self.tops[x]]
        if not tops or not others:
            return None
        if self.one_rate:
            D = mean([self.e[x][i] for i in tops]) - mean([self.e[x][i] for i in others])
            q = 1 / len(tops) - 1 / a + 1 / len(others) - 1 / (size - a)
            return D, self.within[size] * q
        pairs = [(i, j, self.weight(x, i) * self.weight(x, j)) for i in tops for j in others]
        N = sum(w for _, _, w in pairs)
        return sum(w * (self.e[x][i] - self.e[x][j]) for i, j, w in pairs) / N, N / (a * (size - a))

    def random(self):
        """Return the contributions to the value of a random pick, less the origin."""
        out = [0.0] * self.n
        for size in self.sizes:
            values, keys = {}, {}
            for x in self.of_size(size):
                keys[x], values[x] = (size, 0), None
                count, total = len(self.seen[x]), sum(self.weight(x, i) for i in self.seen[x])
                if count:
                    D = sum(self.weight(x, i) * self.e[x][i] for i in self.seen[x]) / total
                    variance = self.between[size] + self.within[size] * (1 / count - 1 / size)
                    values[x] = (D, 1 / variance if self.one_rate else total / size)
            psi = self.stratified(values, keys)
            for x, value in psi.items():
                out[x] = mean(self.f[x]) + value
        return out

    def pair_totals(self):
        """Return each prompt's sums over pairs (dS^2, dO^2, dS dO, all / K; counts) and the weights' total."""
        found = {}
        for size in self.sizes:
            mine = self.of_size(size)
            labelled = sum(len(self.seen[x]) * (len(self.seen[x]) - 1) / 2 for x in mine)
            rate = labelled / (len(mine) * comb(size, 2)) if self.one_rate else 1.0
            for x in mine:
                sums = [0.0] * 7
                for i, j in combinations(self.seen[x], 2):
                    w = self.weight(x, i) * self.weight(x, j) / rate
                    dS = self.pools[x][i][0] - self.pools[x][j][0]
                    dO = self.O[x][i] - self.O[x][j]
                    row = (dS * dS / size, dO * dO / size, dS * dO / size, 1, dO != 0, dS * dO != 0, dS * dO > 0)
                    sums = [s + w * v for s, v in zip(sums, row, strict=True)]
                found[x] = sums
        return [found[x] for x in range(self.n)]

    def outcomes(self, x):
        """Return M - R, hit and top-1 of a complete pool."""
        best = [i for i, label in enumerate(self.O[x]) if label == max(self.O[x])]
        shared = len(set(best) & set(self.tops[x]))
        a = len(self.tops[x])
        return max(self.O[x]) - mean(self.O[x]), shared / a, shared / (a * len(best))

    def chance(self, x, seen):
        """Return the probability of a pattern of labels of a prompt."""
        size = len(self.pools[x])
        if not self.one_rate:
            return prod(c[2] if i in seen else 1 - c[2] for i, c in enumerate(self.pools[x]))
        mine = self.of_size(size)
        return sum(len(self.seen[y]) == len(seen) for y in mine) / (len(mine) * comb(size, len(seen)))

    def features(self, x, seen):
        """Describe a pool by the labels seen."""
        size, count = len(self.pools[x]), len(seen)
        b = sum(self.O[x][i] - self.f[x][i] for i in seen) / (count + self.within[size] / self.between[size])
        P = [self.O[x][i] if i in seen else self.f[x][i] + b for i in range(size)]
        x1 = max(P) - mean(P)
        largest = max((self.O[x][i] for i in seen), default=mean(P))
        x3 = largest - mean([self.O[x][i] for i in seen]) if seen else 0.0
        u = 1 - count / size
        a = len(self.tops[x])
        hit = sum(P[i] >= max(P) - 1e-12 for i in self.tops[x]) / a
        at = sum(i in seen and self.O[x][i] >= largest - 1e-12 for i in self.tops[x]) / a
        S = [score for score, _, _ in self.pools[x]]
        return [x1, x3, x1 * u, x3 * u, u, u * u, spread(S), spread(P), largest, hit, hit * u, at]

    def maxima(self):
        """Return the contributions to the three outcomes at one size; strata by quarters are not in the twin."""
        size = self.sizes[0]
        every = [tuple(s) for k in range(size) for s in combinations(range(size), k)]
        whole = [x for x in range(self.n) if len(self.seen[x]) == size]
        m, full = len(whole), tuple(range(size))
        raw = {x: 1 / self.chance(x, full) for x in whole}
        total = sum(raw.values())
        out = []
        for k in range(3):
            Y = {x: self.outcomes(x)[k] for x in whole}
            beta = sum(raw[x] * Y[x] for x in whole) / total
            around = {x: raw[x] * self.n / total * (Y[x] - beta) for x in whole}
            aug = self._correction(every, whole, {x: Y[x] - beta for x in whole})
            square = sum(v * v for v in aug)
            lam = min(max(-sum(aug[x] * around[x] for x in whole) / square, 0.0), 1.0) if square else 0.0
            stretch = sqrt(m / (m - 1))
            out.append([beta + around.get(x, 0.0) * stretch + lam * aug[x] for x in range(self.n)])
        return out

    def _correction(self, every, whole, target):
        aug = [0.0] * self.n
        if len(whole) < 12:
            return aug
        columns = range(12) if len(whole) >= 60 else (0, 1, 4, 9)
        full = tuple(range(len(self.pools[0])))

        def described(x, seen):
            found = self.features(x, seen)
            return [found[j] for j in columns]

        rows = {
            x: [
                (described(x, seen), target[x], self.chance(x, seen) + 1e-9)
                for seen in every
                if self.chance(x, seen) > 0
            ]
            for x in whole
        }
        all_rows = [row for mine in rows.values() for row in mine]
        for fold in range(5):
            others = [row for x, mine in rows.items() if self.folds[x] != fold for row in mine]
            for x in range(self.n):
                if self.folds[x] != fold:
                    continue
                if x in whole:
                    guesses = ridge(others, [described(x, seen) for seen in every], all_rows)
                    mass = sum(self.chance(x, s) * g for s, g in zip(every, guesses, strict=True))
                    aug[x] = -mass / self.chance(x, full)
                else:
                    aug[x] = ridge(others, [described(x, tuple(self.seen[x]))], all_rows)[0]
        return aug
