"""Writes partial_labels.csv from partial_table.csv: plain loops from the formulas, no code of the package."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from scipy.stats import beta, norm
from scipy.stats import t as student_t

HERE = Path(__file__).parent
CONFIDENCE = 0.95
HEADER = """\
# estimates from partial_table.csv: written by partial_prototype.py beside it, which shares no code with the package
# alone: labels weighted by 1 / pi; further: the further judge's scores stand in for labels (28 labels, no fit)
# weighted: totals weighted by 1 / pi, a stratified jackknife; recovery's se is that of the linearised ratio
# value_judge and kendall_tau: Clopper-Pearson on as many draws as their standard error is worth
# within_r: t about Fisher's z, whose error is se / (1 - r^2)
# gain: t, or the cubic transformation of Hall (1992) where that end lies further out
method,metric,estimate,se,df,low,high
"""


def read():
    """Return the prompts as lists of scores, further scores and labels (None where unlabelled), and their strata."""
    prompts, strata = {}, {}
    with (HERE / "partial_table.csv").open() as stream:
        for row in csv.DictReader(line for line in stream if not line.startswith("#")):
            mine = prompts.setdefault(row["prompt"], ([], [], []))
            mine[0].append(float(row["score"]))
            mine[1].append(float(row["further"]))
            mine[2].append(float(row["label"]) if row["label"] else None)
            strata[row["prompt"]] = int(row["stratum"])
    return [(s, t, None if o[0] is None else o) for s, t, o in prompts.values()], list(strata.values())


def outcome(scores, labels):
    """Return R, J - R and M - R of one prompt."""
    picked = [label for score, label in zip(scores, labels, strict=True) if score == max(scores)]
    random = sum(labels) / len(labels)
    # A judge that ties all picks at random.
    gain = 0.0 if len(picked) == len(labels) else sum(picked) / len(picked) - random
    return random, gain, max(labels) - random


def dot(left, right):
    """Return the sum of products."""
    return sum(a * b for a, b in zip(left, right, strict=True))


def tuned(m, Y, q):
    """Return the weight of predictions m for outcomes Y (None where unlabelled)."""
    middle, seen = sum(m) / len(m), [x for x, y in enumerate(Y) if y is not None]
    pull = [(w - 1) * (one - middle) for w, one in zip(q, m, strict=True)]
    weights, e = [q[x] for x in seen], [Y[x] - m[x] for x in seen]
    centre = dot(weights, e) / sum(weights)
    cross = sum(pull[x] * q[x] * (one - centre) for x, one in zip(seen, e, strict=True))
    return min(max(1 + cross / dot(pull, pull), 0.0), 1.0)


def combine(m, Y, q, strata):
    """Return mean A, the values A', and what each label adds to the mean."""
    n, adjusted, pulls = len(m), list(m), []
    for h in set(strata):
        everyone = [x for x in range(n) if strata[x] == h]
        seen = [x for x in everyone if Y[x] is not None]
        # Weights are equal within a stratum, so its mean residual is a plain one.
        centre = sum(Y[x] - m[x] for x in seen) / len(seen)
        factor = math.sqrt(1 + (1 - len(seen) / len(everyone)) / (len(seen) - 1))
        for x in everyone:
            adjusted[x] += centre
        for x in seen:
            pull = q[x] * (Y[x] - m[x] - centre)
            adjusted[x] += factor * pull
            pulls.append(pull / n)
    mean = sum(m[x] + (q[x] * (Y[x] - m[x]) if Y[x] is not None else 0.0) for x in range(n)) / n
    return mean, adjusted, pulls


def freedom(pulls, variance):
    """Return the degrees of freedom by the kurtosis of the labels' pulls."""
    m, squares, fourths = len(pulls), sum(d**2 for d in pulls), sum(d**4 for d in pulls)
    df = min(max(3, 3 * squares**2 / fourths - 1), m - 1) * max(1, (variance / squares) ** 2)
    return min(max(df, m / 4), m - 1) if m <= 50 else min(df, m - 1)


def covariance(left, right):
    """Return the covariance of two means."""
    n, a, b = len(left), sum(left) / len(left), sum(right) / len(right)
    return sum((x - a) * (y - b) for x, y in zip(left, right, strict=True)) / (n - 1) / n


def quantile(df):
    """Return the two-sided quantile of Student's t."""
    return float(student_t.ppf(0.5 + CONFIDENCE / 2, df))


def skewed(value, along, se, t):
    """Return t's ends, and Hall's where the tail of the skewed values makes them wider."""
    mean = sum(along) / len(along)
    a = sum((one - mean) ** 3 for one in along) / sum((one - mean) ** 2 for one in along) ** 1.5

    def root(x):
        # The transformation of t that equals x, by halving.
        low, high = -50.0, 50.0
        for _ in range(200):
            middle = (low + high) / 2
            turned = middle + a * middle**2 / 3 + a**2 * middle**3 / 27 + a / 6
            low, high = (middle, high) if turned < x else (low, middle)
        return low

    return value - max(t, root(t)) * se, value - min(-t, root(-t)) * se


def augmented(prompts, strata, *, further):
    """Yield metric, estimate, se, df and interval of the augmented estimates."""
    n, labelled = len(prompts), [labels is not None for _, _, labels in prompts]
    pairs = list(zip(labelled, strata, strict=True))
    share = {h: pairs.count((True, h)) / strata.count(h) for h in set(strata)}
    q = [r / share[h] for r, h in pairs]
    Y = [None if o is None else outcome(s, o) for s, _, o in prompts]
    columns = [[None if y is None else y[k] for y in Y] for k in range(3)]
    middles = [sum(w * y for w, y in zip(q, column, strict=True) if y is not None) / n for column in columns]
    rho = middles[1] / middles[2]
    guesses, lam = [[middle] * n for middle in middles], [0.0, 0.0, 0.0]
    if further:
        stand_in = [outcome(s, t) for s, t, _ in prompts]
        guesses = [[one[k] for one in stand_in] for k in range(3)]
        phi = [None if y is None else y[1] - rho * y[2] for y in Y]
        both = tuned([one[1] - rho * one[2] for one in stand_in], phi, q)
        lam = [tuned(guesses[0], columns[0], q), both, both]
    models = [
        [part * guess + (1 - part) * middle for guess in mine]
        for mine, part, middle in zip(guesses, lam, middles, strict=True)
    ]
    found = [combine(m, column, q, strata) for m, column in zip(models, columns, strict=True)]
    for metric, contrast, limits in (("value_judge", (1, 1, 0), (0, 1)), ("gain", (0, 1, 0), (-1, 1))):
        value = dot(contrast, [mean for mean, _, _ in found])
        along = [dot(contrast, row) for row in zip(*(one[1] for one in found), strict=True)]
        variance = covariance(along, along)
        df = freedom([dot(contrast, row) for row in zip(*(one[2] for one in found), strict=True)], variance)
        low, high = skewed(value, along, math.sqrt(variance), quantile(df))
        ends = max(low, limits[0]), min(high, limits[1])
        yield (
            metric,
            value,
            math.sqrt(variance),
            df,
            *(ends if metric == "gain" else clopper(value, variance, df, limits)),
        )
    yield ("recovery", *fieller(found[1], found[2]))


def clopper(value, variance, df, limits):
    """Return the interval of a mean between two limits as that of a share of the draws that its variance is worth."""
    low, high = limits
    share, variance = (value - low) / (high - low), variance / (high - low) ** 2
    draws = share * (1 - share) / variance * (norm.ppf((1 + CONFIDENCE) / 2) / quantile(df)) ** 2
    hits, misses, tail = share * draws, (1 - share) * draws, (1 - CONFIDENCE) / 2
    least, most = beta.ppf(tail, hits, misses + 1), beta.ppf(1 - tail, hits + 1, misses)
    return low + (high - low) * least, low + (high - low) * most


def fieller(top, bottom):
    """Return the ratio of two means, its linearised se, df and Fieller's interval."""
    a, b = top[0], bottom[0]
    C = [[covariance(left[1], right[1]) for right in (top, bottom)] for left in (top, bottom)]
    variance = (C[0][0] - 2 * a / b * C[0][1] + (a / b) ** 2 * C[1][1]) / b**2
    df = freedom([(d1 - a / b * d2) / b for d1, d2 in zip(top[2], bottom[2], strict=True)], variance)
    # (a - rho b)^2 = t^2 (C11 - 2 rho C12 + rho^2 C22), solved for rho.
    t2 = quantile(df) ** 2
    two, one, nought = b * b - t2 * C[1][1], -2 * (a * b - t2 * C[0][1]), a * a - t2 * C[0][0]
    root = math.sqrt(one * one - 4 * two * nought)
    return a / b, math.sqrt(variance), df, (-one - root) / (2 * two), (-one + root) / (2 * two)


def products(scores, labels):
    """Return eSO, eSS and eOO of one prompt."""
    s, o = ([v - sum(values) / len(values) for v in values] for values in (scores, labels))
    return dot(s, o), dot(s, s), dot(o, o)


def tau_b(scores, labels):
    """Return Kendall's tau-b of one prompt and 1, or two zeros where it does not exist."""
    pairs = [(i, j) for i in range(len(scores)) for j in range(i)]
    signs = [
        tuple((values[i] > values[j]) - (values[i] < values[j]) for values in (scores, labels)) for i, j in pairs
    ]
    reach = math.sqrt(sum(s != 0 for s, _ in signs) * sum(o != 0 for _, o in signs))
    return (sum(s * o for s, o in signs) / reach, 1.0) if reach else (0.0, 0.0)


def jackknifed(prompts, strata, parts, metric, counted, *, bounded=False):
    """Return estimate, se, df and interval of a metric of weighted totals over the counted prompts."""
    groups = []
    for h in sorted(set(strata)):
        mine = [parts(s, o) for (s, _, o), stratum in zip(prompts, strata, strict=True) if stratum == h and o]
        groups.append((mine, strata.count(h)))

    def theta(at=None, drop=None, shrink=1.0):
        totals = []
        for k in range(len(groups[0][0][0])):
            total = 0.0
            for g, (mine, N) in enumerate(groups):
                kept = [row[k] for x, row in enumerate(mine) if not (g == at and x == drop)]
                total += (shrink if g == at else 1.0) * N * sum(kept) / len(kept)
            totals.append(total)
        return metric(totals)

    everyone = sum(N for _, N in groups)
    within, squares, fourths, units = [], 0.0, 0.0, 0
    for g, (mine, _) in enumerate(groups):
        left = [theta(g, x) for x in range(len(mine))]
        middle = sum(left) / len(left)
        squares += sum((one - middle) ** 2 for one in left)
        fourths += sum((one - middle) ** 4 for one in left)
        units += len(left)
        within.append((len(left) - 1) / len(left) * sum((one - middle) ** 2 for one in left))
    without = [theta(g, shrink=1 - 1 / N) for g, (_, N) in enumerate(groups)]
    middle = sum(N * one for (_, N), one in zip(groups, without, strict=True)) / everyone
    gaps = sum(N * (one - middle) ** 2 for (_, N), one in zip(groups, without, strict=True))
    between = (everyone - 1) / everyone * gaps
    pieces = sum(v**2 / (len(mine) - 1) for v, (mine, _) in zip(within, groups, strict=True))
    total = sum(within) + between
    contributing = sum(counted(row) for mine, _ in groups for row in mine)
    tails = min(max(3.0, 3 * squares**2 / fourths - 1), units - 1)
    df = min(total**2 / (pieces + between**2 / (everyone - 1)), contributing - 1, tails)
    value, half = theta(), quantile(df) * math.sqrt(total)
    z, half = math.atanh(value), half / (1 - value**2)
    if bounded:
        return value, math.sqrt(total), df, *clopper(value, total, df, (-1.0, 1.0))
    return value, math.sqrt(total), df, math.tanh(z - half), math.tanh(z + half)


def main():
    """Write the table."""
    prompts, strata = read()
    rows = [("alone", *row) for row in augmented(prompts, strata, further=False)]
    rows += [("further", *row) for row in augmented(prompts, strata, further=True)]
    correlation = jackknifed(prompts, strata, products, lambda t: t[0] / math.sqrt(t[1] * t[2]), lambda _: True)
    rows.append(("weighted", "within_r", *correlation))
    tau = jackknifed(prompts, strata, tau_b, lambda t: t[0] / t[1], lambda row: row[1] > 0, bounded=True)
    rows.append(("weighted", "kendall_tau", *tau))
    lines = [",".join([method, metric, *(f"{one:.12g}" for one in figures)]) for method, metric, *figures in rows]
    (HERE / "partial_labels.csv").write_text(HEADER + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
