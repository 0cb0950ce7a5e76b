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
    of_first = statistics.fmean(within(y, y) for y in first)
    beta = statistics.fmean(map(within, first, later)) / of_first if of_first > 0 else 0.0
    left = [[m - beta * y for m, y in zip(*pair, strict=True)] for pair in zip(later, first, strict=True)]
    if first_counts:
        left = [[statistics.fmean(draws) for draws in pool] for pool in pools]
    rr = [within(r, r) - v / (k - start) for r, v in zip(left, vw, strict=True)]
    levels = [round(statistics.fmean(y), 9) for y in first]
    cuts = [quantile(levels, share) for share in (0.33, 0.67)]
    own = [class_of(level, cuts) for level in levels]

    prompts = [
        {"class": at, "vw": v, "rr": r, "between": within(y, y), "count": len(y), "calls": k - start}
        for at, v, r, y in zip(own, vw, rr, left, strict=True)
    ]
    alike = [prompt | {"class": 1} for prompt in prompts]
    return {"beta": beta, "cuts": cuts} | spread(prompts if foretold(prompts) > foretold(alike) else alike)


def spread(prompts):
    """Return what three classes of prompts scatter by."""

    def of_class(name, c):
        own = [prompt[name] for prompt in prompts if prompt["class"] == c]
        return (sum(own) + 30 * statistics.fmean(prompt[name] for prompt in prompts)) / (len(own) + 30)

    sigma2 = [of_class("vw", c) for c in range(3)]
    tau2 = [max(of_class("rr", c), 0.02 * sigma2[c]) for c in range(3)]
    relative = [prompt["vw"] / sigma2[prompt["class"]] for prompt in prompts]
    q = statistics.fmean(v * v for v in relative) / statistics.fmean(relative) ** 2
    r = q / (1 + statistics.fmean(2 / (prompt["count"] * (prompt["calls"] - 1)) for prompt in prompts))
    nu0 = max(4.2, (4 * r - 2) / (r - 1)) if r > 1.01 else 200.0
    return {"sigma2": sigma2, "tau2": tau2, "nu0": nu0}


def foretold(prompts):
    """Log-likelihood of each tenth of the prompts under what the others teach."""
    total = 0.0
    for at in range(min(10, len(prompts))):
        now = spread([prompt for number, prompt in enumerate(prompts) if number % 10 != at])
        nu0 = now["nu0"]
        for prompt in prompts[at::10]:
            sigma2, tau2 = now["sigma2"][prompt["class"]], now["tau2"][prompt["class"]]
            freedom = prompt["count"] * (prompt["calls"] - 1)
            squares = freedom * prompt["vw"]
            guess = sigma2 * (nu0 - 2)
            total += math.lgamma((nu0 + freedom) / 2) - math.lgamma(nu0 / 2)
            total += nu0 / 2 * math.log(guess) - (nu0 + freedom) / 2 * math.log(guess + squares)
            s2 = (guess + squares) / (nu0 + freedom - 2)
            variance = tau2 + s2 / prompt["calls"]
            total -= (prompt["count"] - 1) / 2 * (math.log(variance) + prompt["between"] / variance)
    return total


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
        level = statistics.fmean(self.first.values()) if self.first else 0.0
        at = class_of(level, prior["cuts"])
        self.level, self.sigma2, self.tau2 = level, prior["sigma2"][at], prior["tau2"][at]

    def posterior(self):
        """Return means, variances and the variance of a call."""
        nu0, beta, tau2 = self.prior["nu0"], self.prior["beta"], self.tau2
        squares = sum((y - statistics.fmean(ys)) ** 2 for ys in self.later.values() for y in ys)
        freedom = sum(len(ys) - 1 for ys in self.later.values() if ys)
        s2 = (self.sigma2 * (nu0 - 2) + squares) / (nu0 + freedom - 2)
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
        mean, variance, _ = self.posterior()
        if len(mean) < 2:
            return None
        best = self.ahead(mean)
        share = {
            j: self.tau2 / ((mean[best] - mean[j]) ** 2 + variance[best] + variance[j]) for j in mean if j != best
        }
        share[best] = math.sqrt(sum(value * value for value in share.values()))
        total = sum(self.asked.values()) + 1
        owed = {i: share[i] / sum(share.values()) * total - self.asked[i] for i in mean if self.asked[i] < most}
        return self.ahead(owed) if owed else None

    def hear(self, i, y):
        """Take a draw; NaN where it was not scored."""
        self.asked[i] += 1
        if not math.isnan(y):
            self.later[i].append(y)


def played(prior, draws, rank, price, most):
    """ContestRun one pool to its end; return further calls, in order, and the posterior means."""
    pool, calls = Pool(prior, [ys[0] for ys in draws], rank), []
    while (who := pool.choice(most)) is not None and pool.cost() >= price:
        pool.hear(who, draws[who][pool.asked[who]])
        calls.append(who)
    return calls, pool.posterior()[0]
