"""The rule that weighs redraws against their price, once more: one pool at a time, in plain loops."""

from __future__ import annotations

import math
import statistics


def within(a, b):
    """Covariance over the candidates of a pool."""
    mean_a, mean_b = statistics.fmean(a), statistics.fmean(b)
    return sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)) / (len(a) - 1)


def quantile(values, share):
    """Quantile with linear interpolation."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def class_of(level, cuts):
    """Number of the class of a level: what lies on a cut belongs outside."""
    low, high = (round(cut, 9) for cut in cuts)
    return (round(level, 9) > low) + (round(level, 9) >= high)


def learnt(pools, *, first_counts=False):
    """Learn from pools given as lists of candidates given as lists of draws."""
    pools = [[draws for draws in pool if not any(math.isnan(y) for y in draws)] for pool in pools]
    pools = [pool for pool in pools if len(pool) > 1]
    k = len(pools[0][0])
    start = 0 if first_counts else 1
    vw = [statistics.fmean(statistics.variance(draws[start:]) for draws in pool) for pool in pools]
    first = [[draws[0] for draws in pool] for pool in pools]
    later = [[statistics.fmean(draws[1:]) for draws in pool] for pool in pools]
    spread = statistics.fmean(within(y, y) for y in first)
    beta = statistics.fmean(map(within, first, later)) / spread if spread > 0 else 0.0
    left = [[m - beta * y for m, y in zip(*pair, strict=True)] for pair in zip(later, first, strict=True)]
    if first_counts:
        left = [[statistics.fmean(draws) for draws in pool] for pool in pools]
    rr = [within(r, r) - v / (k - start) for r, v in zip(left, vw, strict=True)]
    levels = [round(statistics.fmean(y), 9) for y in first]
    cuts = [quantile(levels, share) for share in (0.33, 0.67)]
    own = [class_of(level, cuts) for level in levels]

    def of_class(values, c):
        mine = [value for value, at in zip(values, own, strict=True) if at == c]
        return (sum(mine) + 30 * statistics.fmean(values)) / (len(mine) + 30)

    sigma2 = [of_class(vw, c) for c in range(3)]
    tau2 = [max(of_class(rr, c), 0.02 * sigma2[c]) for c in range(3)]
    relative = [v / sigma2[at] for v, at in zip(vw, own, strict=True)]
    q = statistics.fmean(v * v for v in relative) / statistics.fmean(relative) ** 2
    r = q / (1 + statistics.fmean(2 / (len(pool) * (k - start - 1)) for pool in pools))
    nu0 = max(4.2, (4 * r - 2) / (r - 1)) if r > 1.01 else 200.0
    return {"beta": beta, "cuts": cuts, "sigma2": sigma2, "tau2": tau2, "nu0": nu0}


def first_call_differences(pools):
    """Return U1, U2 and U3 of each pool with two complete candidates: first call against later ones."""
    pools = [[draws for draws in pool if not any(math.isnan(y) for y in draws)] for pool in pools]
    found = []
    for pool in (one for one in pools if len(one) > 1):
        k = len(pool[0])
        call = [[draws[j] for draws in pool] for j in range(k)]
        later = range(1, k)
        pairs = [within(call[j], call[m]) for j in later for m in later if j < m]
        found.append(
            (
                statistics.fmean(call[0]) - statistics.fmean(statistics.fmean(call[j]) for j in later),
                within(call[0], call[0]) - statistics.fmean(within(call[j], call[j]) for j in later),
                statistics.fmean(within(call[0], call[j]) for j in later) - statistics.fmean(pairs),
            )
        )
    return found


def gain(z):
    """Expectation of the positive part of a normal value of mean z and variance 1."""
    return z * (1 + math.erf(z / math.sqrt(2))) / 2 + math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


class Pool:
    """One pool under the rule; a candidate whose first draw is NaN is out of the running."""

    def __init__(self, prior, first, rank):
        self.prior, self.rank = prior, rank
        self.first = {i: y for i, y in enumerate(first) if not math.isnan(y)}
        self.counts = prior.get("first_counts", False)
        self.later = {i: [y] if self.counts else [] for i, y in self.first.items()}
        self.asked = dict.fromkeys(self.first, 1)
        self.squares, self.freedom = 0.0, 0
        level = statistics.fmean(self.first.values()) if self.first else 0.0
        at = class_of(level, prior["cuts"])
        self.level, self.sigma2, self.tau2 = level, prior["sigma2"][at], prior["tau2"][at]

    def posterior(self):
        """Return means, variances and the variance of a call."""
        nu0, beta, tau2 = self.prior["nu0"], self.prior["beta"], self.tau2
        s2 = (self.sigma2 * (nu0 - 2) + self.squares) / (nu0 + self.freedom - 2)
        start = {i: 0.0 if self.counts else self.level + beta * (y - self.level) for i, y in self.first.items()}
        over, under = 0.0, 0.0 if self.counts else 1 / tau2
        for i, ys in self.later.items():
            if ys:
                w = 1 / (tau2 + s2 / len(ys))
                over += w * (statistics.fmean(ys) - start[i])
                under += w
        mean, variance = {}, {}
        for i, ys in self.later.items():
            p = start[i] + over / under
            if ys:
                B = tau2 / (tau2 + s2 / len(ys))
                mean[i], variance[i] = p + B * (statistics.fmean(ys) - p), B * s2 / len(ys)
            else:
                mean[i], variance[i] = p, tau2
        return mean, variance, s2

    def ahead(self, values):
        """Return the highest, the lower rank among equals."""
        top = max(round(value, 9) for value in values.values())
        return min((i for i, value in values.items() if round(value, 9) == top), key=lambda i: self.rank[i])

    def cost(self):
        """Return the opportunity cost of the present best."""
        mean, variance, _ = self.posterior()
        best = self.ahead(mean)
        costs = [0.0]
        for j in mean:
            if j != best:
                s = math.sqrt(variance[j] + variance[best])
                costs.append(s * gain(-(mean[best] - mean[j]) / s))
        return max(costs)

    def choice(self, most):
        """Return whom to ask; None where nobody can be."""
        mean, variance, s2 = self.posterior()
        values = {}
        for i in mean:
            others = [mean[j] for j in mean if j != i]
            if others and self.asked[i] < most:
                distance = abs(mean[i] - max(others))
                steps = [(variance[i] / math.sqrt(variance[i] + s2 / r), r) for r in (1, 2, 4)]
                values[i] = max(s * gain(-distance / s) / r for s, r in steps) / math.sqrt(self.tau2)
        return self.ahead(values) if values else None

    def hear(self, i, y):
        """Take a draw; NaN where it was not scored."""
        self.asked[i] += 1
        if not math.isnan(y):
            mean, variance, s2 = self.posterior()
            self.squares += (y - mean[i]) ** 2 * s2 / (variance[i] + s2)
            self.freedom += 1
            self.later[i].append(y)


def played(prior, draws, rank, price, most):
    """ContestRun one pool to its end; return further calls, in order, and the posterior means."""
    pool, calls = Pool(prior, [ys[0] for ys in draws], rank), []
    while (who := pool.choice(most)) is not None and pool.cost() >= price:
        pool.hear(who, draws[who][pool.asked[who]])
        calls.append(who)
    return calls, pool.posterior()[0]
