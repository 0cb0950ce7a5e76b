"""Recompute the worked examples of the pages in plain loops, so that no page can drift."""

from __future__ import annotations

import csv
import math
import re
from collections import defaultdict
from itertools import combinations, pairwise, permutations, product
from pathlib import Path
from statistics import fmean

import pytest
from scipy.stats import beta, norm
from scipy.stats import t as student

from bonwise.stats.catalog import ALL_METRICS
from bonwise.testing import simulate
from docs.pages import without_a_page

DOCS = Path(__file__).parents[2] / "docs"
WORKED = sorted(page for page in DOCS.rglob("*.md") if "## Worked example" in page.read_text("utf-8"))


def examples(page):
    """Return the rows of the page's data and the figures of its table."""
    text = page.read_text("utf-8")
    (data,) = re.findall(r"```csv\n(.*?)```", text, re.DOTALL)
    (table,) = re.findall(r"\| quantity \| value \|\n\|---\|---\|\n((?:\|.*\n)+)", text)
    figures = [[cell.strip().replace("`", "") for cell in row.split("|")[1:3]] for row in table.splitlines()]
    return list(csv.DictReader(data.splitlines())), {name: float(value) for name, value in figures}


def prompts(rows):
    """Return one list of (name, score, label) a prompt; what is blank is None."""
    pools = defaultdict(list)
    for row in rows:
        label = float(row["oracle_label"]) if row["oracle_label"] else None
        score = float(row["judge_score"]) if row["judge_score"] else None
        pools[row["prompt_id"]].append((row["candidate"], score, label))
    return list(pools.values())


def ratio(top, bottom):
    """Divide, or give NaN for a metric that is undefined."""
    return top / bottom if bottom else math.nan


def correlations(pools):
    """Compute what is made of deviations from means."""
    everywhere = [cell for pool in pools for cell in pool]
    total, inside = [0.0] * 3, [0.0] * 3
    for sums, groups in ((total, [everywhere]), (inside, pools)):
        for group in groups:
            mean_score, mean_label = fmean(s for _, s, _ in group), fmean(o for _, _, o in group)
            for _, s, o in group:
                ds, do = s - mean_score, o - mean_label
                for k, term in enumerate((ds * ds, do * do, ds * do)):
                    sums[k] += term
    overall = ratio(total[2], math.sqrt(total[0] * total[1]))
    within = ratio(inside[2], math.sqrt(inside[0] * inside[1]))
    return {
        "global_r": overall,
        "within_r": within,
        "inflation": 1 - ratio(within, overall),
        "attenuation": ratio(inside[2], inside[1]),
        "judge_between_share": 1 - ratio(inside[0], total[0]),
        "oracle_between_share": 1 - ratio(inside[1], total[1]),
    }


def sign(difference):
    """Return -1, 0 or 1, a difference below the ninth decimal being none."""
    return 0 if abs(difference) < 5e-10 else int(math.copysign(1, difference))


def pairs(pools):
    """Compute what is made of pairs of candidates."""
    seen, taus = [], []
    for pool in pools:
        mine = [(sign(a[1] - b[1]), sign(a[2] - b[2])) for a, b in combinations(pool, 2)]
        judged, decided = sum(s != 0 for s, _ in mine), sum(o != 0 for _, o in mine)
        if judged and decided:
            taus.append(sum(s * o for s, o in mine) / math.sqrt(judged * decided))
        seen += mine
    agree, opposed = sum(s * o > 0 for s, o in seen), sum(s * o < 0 for s, o in seen)
    scored = [(0.5 + s * o / 2, o) for s, o in seen]
    return {
        "tie_rate": fmean(s == 0 for s, _ in seen),
        "oracle_tie_rate": fmean(o == 0 for _, o in seen),
        "sign_agreement": ratio(agree, agree + opposed),
        "effective_agreement": fmean(credit for credit, _ in scored),
        "effective_agreement_decided": fmean(credit for credit, o in scored if o),
        "kendall_tau": fmean(taus) if taus else math.nan,
    }


def choice(pool):
    """Return what one prompt adds to each metric of choosing."""
    top = [k for k, cell in enumerate(pool) if cell[1] == max(s for _, s, _ in pool)]
    best = [k for k, cell in enumerate(pool) if cell[2] == max(o for _, _, o in pool)]
    both = len(set(top) & set(best))
    return {
        "top1_tie_rate": len(top) > 1,
        "top1_accuracy": both / (len(top) * len(best)),
        "top1_accuracy, by chance": 1 / len(pool),
        "hit_rate": both / len(top),
        "hit_rate, by chance": len(best) / len(pool),
        "value_random": fmean(o for _, _, o in pool),
        "value_judge": fmean(pool[k][2] for k in top),
        "value_oracle": max(o for _, _, o in pool),
    }


def choices(pools):
    """Compute what is made of the candidates chosen."""
    each = [choice(pool) for pool in pools]
    means = {name: fmean(one[name] for one in each) for name in each[0]}
    span = means["value_oracle"] - means["value_random"]
    gain = means["value_judge"] - means["value_random"]
    return means | {"gain": gain, "recovery": ratio(gain, span)}


def isotonic(points):
    """Return score to fitted label, by pooling adjacent violators."""
    blocks = []
    for score in sorted({s for s, _ in points}):
        labels = [o for s, o in points if s == score]
        blocks.append(([score], labels))
        while len(blocks) > 1 and fmean(blocks[-2][1]) > fmean(blocks[-1][1]):
            scores, labels = blocks.pop()
            blocks[-1] = (blocks[-1][0] + scores, blocks[-1][1] + labels)
    return {score: fmean(labels) for scores, labels in blocks for score in scores}


def biases(pools):
    """Compute the bias of each name, every prompt being a fold of its own."""
    gaps = defaultdict(list)
    for left_out, pool in enumerate(pools):
        others = [cell[1:] for k, other in enumerate(pools) if k != left_out for cell in other]
        fitted = isotonic(others)
        for name, score, label in pool:
            gaps[f"bias of {name}"].append(fitted[score] - label)
    bias = {name: fmean(values) for name, values in gaps.items()}
    return bias | {"level_bias": max(map(abs, bias.values()))}


def metrics(pools):
    """Compute every metric that needs no fold."""
    return correlations(pools) | pairs(pools) | choices(pools)


def jackknife(pools):
    """Return each metric's standard error, leaving out one prompt at a time."""
    n = len(pools)
    left_out = [metrics(pools[:k] + pools[k + 1 :]) for k in range(n)]
    errors = {}
    for name in left_out[0]:
        values = [one[name] for one in left_out]
        errors[name] = math.sqrt((n - 1) / n * sum((v - fmean(values)) ** 2 for v in values))
    return errors


def covariance_of_means(one, two):
    """Estimate the covariance of two means over the same prompts."""
    n, mean_one, mean_two = len(one), fmean(one), fmean(two)
    return sum((u - mean_one) * (v - mean_two) for u, v in zip(one, two, strict=True)) / (n - 1) / n


def fieller(pools, quantile):
    """Return both roots of the quadratic for recovery."""
    each = [choice(pool) for pool in pools]
    gain = [one["value_judge"] - one["value_random"] for one in each]
    room = [one["value_oracle"] - one["value_random"] for one in each]
    a, b, t = fmean(gain), fmean(room), student.ppf(quantile, len(pools) - 1)
    square = b * b - t * t * covariance_of_means(room, room)
    linear = a * b - t * t * covariance_of_means(gain, room)
    constant = a * a - t * t * covariance_of_means(gain, gain)
    assert square > 0
    root = math.sqrt(linear * linear - square * constant)
    return (linear - root) / square, (linear + root) / square


def intervals(pools):
    """Compute the interval figures that the page on intervals prints."""
    n, value, errors = len(pools), choices(pools)["value_judge"], jackknife(pools)
    v, t = value, student.ppf(0.975, n - 1)
    draws = v * (1 - v) / errors["value_judge"] ** 2 * (norm.ppf(0.975) / t) ** 2
    low, high = fieller(pools, 0.975)
    r = metrics(pools)["within_r"]
    z, half = math.atanh(r), t * errors["within_r"] / (1 - r * r)
    return {
        "value_judge, se": errors["value_judge"],
        "value_judge, low": beta.ppf(0.025, v * draws, (1 - v) * draws + 1),
        "value_judge, high": beta.ppf(0.975, v * draws + 1, (1 - v) * draws),
        "within_r, se": errors["within_r"],
        "within_r, low": math.tanh(z - half),
        "within_r, high": math.tanh(z + half),
        "recovery, low": low,
        "recovery, larger root": high,
        "recovery, high": min(high, 1.0),
        "recovery, one-sided low": fieller(pools, 0.95)[0],
        "oracle_tie_rate, exact high": 1 - 0.025 ** (1 / n),
    }


def bounds(pools):
    """Compute the worst-case figures that the page on partial labels prints."""
    labelled = [pool for pool in pools if all(o is not None for _, _, o in pool)]
    (missing,) = [pool for pool in pools if pool not in labelled]
    extremes = defaultdict(list)
    blank = sum(o is None for _, _, o in missing)
    for labels in product((0.0, 1.0), repeat=blank):
        unseen = iter(labels)
        imagined = [(name, s, next(unseen) if o is None else o) for name, s, o in missing]
        for name, value in choices([*labelled, imagined]).items():
            extremes[name].append(value)
    return metrics(labelled) | {
        "value_judge, worst case": min(extremes["value_judge"]),
        "value_judge, best case": max(extremes["value_judge"]),
        "recovery, worst case": min(extremes["recovery"]),
        "recovery, best case": max(extremes["recovery"]),
        "mean score, labelled": fmean(s for pool in labelled for _, s, _ in pool),
        "mean score, unlabelled": fmean(s for _, s, _ in missing),
    }


def recomputed(page, pools):
    """Compute all that this page may print."""
    if page.stem == "partial_labels":
        return bounds(pools)
    if page.stem == "unscored":
        return losses(pools)
    if page.stem == "top_k":
        return kept(pools, 2)
    extra = {"level_bias": biases, "intervals": intervals}.get(page.stem)
    return metrics(pools) | (extra(pools) if extra else {})


def kept(pools, k):
    """Compute what the best k are worth, by every order that the scores allow."""
    figures = []
    for pool in pools:
        orders = [o for o in permutations(pool) if all(a[1] >= b[1] for a, b in pairwise(o))]
        labels = sorted((label for *_, label in pool), reverse=True)
        discounted = [sum(cell[2] / math.log2(at + 2) for at, cell in enumerate(order[:k])) for order in orders]
        figures.append(
            {
                "top_value": fmean(fmean(label for *_, label in order[:k]) for order in orders),
                "value_random": fmean(labels),
                "best": fmean(labels[:k]),
                "ndcg": fmean(discounted) / sum(label / math.log2(at + 2) for at, label in enumerate(labels[:k])),
                "recall": fmean(sum(label > 0 for *_, label in order[:k]) for order in orders)
                / sum(label > 0 for label in labels),
            }
        )
    means = {name: fmean(figure[name] for figure in figures) for name in figures[0]}
    span = means["best"] - means["value_random"]
    return means | {"top_recovery": ratio(means["top_value"] - means["value_random"], span)}


def losses(pools):
    """Compute what is made of candidates without a score, and what is picked in spite of them."""
    picked = []
    for pool in pools:
        scores = [score for _, score, _ in pool if score is not None]
        picked.append(fmean(label for _, score, label in pool if not scores or score == max(scores)))
    random = fmean(fmean(label for *_, label in pool) for pool in pools)
    best = fmean(max(label for *_, label in pool) for pool in pools)
    return {
        "unscored_rate": fmean(score is None for pool in pools for _, score, _ in pool),
        "unscored_prompt_rate": fmean(any(score is None for _, score, _ in pool) for pool in pools),
        "value_judge": fmean(picked),
        "value_random": random,
        "value_oracle": best,
        "recovery": (fmean(picked) - random) / (best - random),
    }


@pytest.mark.parametrize("page", WORKED, ids=lambda page: page.stem)
def test_worked_example(page):
    """Every figure of a worked example follows from its data, to four decimals."""
    rows, printed = examples(page)
    actual = recomputed(page, prompts(rows))
    assert printed == pytest.approx({name: actual[name] for name in printed}, abs=0.5001e-4, rel=0)


def test_every_estimand_has_a_worked_example():
    """No page of an estimand, nor those on intervals and partial labels, does without an example."""
    needed = {*(DOCS / "estimands").glob("*.md"), DOCS / "intervals.md", DOCS / "partial_labels.md"}
    assert needed == set(WORKED)


def test_every_metric_has_a_page():
    """Each metric of an audit is defined on the page of its family."""
    assert without_a_page(DOCS, [metric.name for metric in ALL_METRICS]) == []


def test_simulated_population():
    """The map prints the population values of the simulation that ships with the package."""
    text = (DOCS / "metrics.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` .*\| ([\d.]+) \|$", text, re.MULTILINE)
    printed = {name: float(value) for name, value in rows}
    known = dict(simulate("arena", n=1).population)
    known["inflation"] = 1 - known["within_r"] / known["global_r"]
    known["gain"] = known["value_judge"] - known["value_random"]
    assert printed == pytest.approx(known, abs=0.5001e-3, rel=0)
