from __future__ import annotations

import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.auditing.candidate_models import CandidateDraw, Measured, covariates, known_of_pairs, modelled, tuning
from bonwise.auditing.drawn_candidates import candidate_estimate
from bonwise.auditing.label_interval import influence, student
from bonwise.stats.estimation import IntervalRule
from bonwise.stats.partial.label_sample import LabelSample, ScaledSample
from bonwise.stats.top_of_scores import at_top
from bonwise.testing import simulate
from stats import twins
from stats.nominal import assert_covered
from stats.pools import arrays, pools
from stats.second_judge import replications

SEED = 20261123
RULE = IntervalRule()
FULL, THIN = 2000, 200


def tops(scores):
    """List the candidates with the highest score."""
    scores = [round(s, 9) for s in scores]
    return [i for i, s in enumerate(scores) if s == max(scores)]


def every_draw(prompts, *, paired):
    """Yield every draw of candidates that the rule can make in all prompts at once, and its probability."""
    draws = [([], [], 1.0)]
    for scores, _ in prompts:
        best = tops(scores)
        rest = [k for k in range(len(scores)) if k not in best]
        here = [(i, j) for i in best for j in rest] if paired and rest else [(i, -1) for i in best]
        if paired and not rest:
            here = [(-1, -1)]
        draws = [([*left, i], [*right, j], p / len(here)) for left, right, p in draws for i, j in here]
    starts = np.cumsum([0, *(len(s) for s, _ in prompts)])[:-1]
    for left, right, p in draws:
        cells = (np.where(np.array(side) < 0, -1, starts + np.array(side)) for side in (left, right))
        yield (*cells, p)


def as_draw(prompts, picks, others=None):
    """Lay a draw out as arrays."""
    scores, labels, sizes = arrays(prompts)
    return CandidateDraw(sizes, at_top(scores, sizes), picks, others), scores, labels


@given(pools(most=3, candidates=(2, 4)), st.booleans())
@settings(max_examples=60)
def test_the_draw_of_candidates_is_right_on_average(prompts, paired):
    """Over all draws, what labels measure averages to the metric, and covariates to what was expected of them."""
    values, gains = np.zeros(len(prompts)), []
    for picks, others, p in every_draw(prompts, paired=paired):
        draw, scores, labels = as_draw(prompts, picks, others if paired else None)
        values += p * draw.measured(labels)
        gains.append(p * draw.measured(scores**2))
    truth = [twins.metrics([prompt]) for prompt in prompts]
    expected = [t["gain"] if paired else t["value_judge"] for t in truth]
    assert values == pytest.approx(expected, abs=1e-9)
    assert draw.expected(labels) == pytest.approx(expected, abs=1e-9)
    assert draw.expected(scores**2) == pytest.approx(sum(gains), abs=1e-9)


@given(pools(most=3, candidates=(2, 4)))
@settings(max_examples=60)
def test_pairs_bound_the_best_and_measure_the_mean(prompts):
    """Over all draws of pairs the best label seen is at most the pool's, and the mean label is met on average."""
    best, mean = np.zeros(len(prompts)), np.zeros(len(prompts))
    for picks, others, p in every_draw(prompts, paired=True):
        draw, _, labels = as_draw(prompts, picks, others)
        found = known_of_pairs(draw, labels)
        best, mean = best + p * found[0], mean + p * found[1]
    for x, (scores, labels) in enumerate(prompts):
        if len(tops(scores)) < len(scores):
            assert mean[x] == pytest.approx(fmean(labels), abs=1e-9)
            assert fmean(labels) - 1e-9 <= best[x] <= max(labels) + 1e-9
            assert len(labels) > 2 or best[x] == pytest.approx(max(labels))
        else:
            assert best[x] == mean[x] == 0


def twin_slope(rows, targets, weights, *, origin):
    """Solve the ridge normal equations in plain loops."""
    total, m, p = sum(weights), len(rows), len(rows[0])
    if not origin:
        centre = [sum(w * r[k] for w, r in zip(weights, rows, strict=True)) / total for k in range(p)]
        middle = sum(w * y for w, y in zip(weights, targets, strict=True)) / total
        rows, targets = [[r[k] - centre[k] for k in range(p)] for r in rows], [y - middle for y in targets]
    w = [m * one / total for one in weights]
    size = [math.sqrt(sum(a * r[k] ** 2 for a, r in zip(w, rows, strict=True)) / m) or 1.0 for k in range(p)]
    G = [
        [sum(a * r[k] * r[j] / size[k] / size[j] for a, r in zip(w, rows, strict=True)) for j in range(p)]
        for k in range(p)
    ]
    for k in range(p):
        G[k][k] += 1 + 0.001 * m
    b = [sum(a * r[k] / size[k] * y for a, r, y in zip(w, rows, targets, strict=True)) for k in range(p)]
    return [one / size[k] for k, one in enumerate(np.linalg.solve(np.array(G), np.array(b)))]


def test_what_was_not_drawn_changes_nothing():
    """Whatever is known of prompts outside the draw, the draw is modelled on the same folds of prompts."""
    rng = np.random.default_rng(SEED)
    X, Y, drawn = rng.standard_normal((60, 2)), rng.standard_normal(60), np.arange(60) % 3 > 0
    draw = ScaledSample.of(LabelSample.realised(drawn, np.zeros(60, dtype=int)))
    one, other = (
        modelled(Measured(outcome, X, 0 * X + 1), draw, origin=True, fit=True, seed=1)
        for outcome in (Y, np.where(drawn, Y, rng.standard_normal(60)))
    )
    assert (one.predictions == other.predictions).all()
    assert (one.outcomes == other.outcomes).all()


@pytest.mark.parametrize("origin", [True, False])
def test_no_prompt_is_predicted_by_its_own_label(origin):
    """Each residual comes from a slope that plain loops fit without a fold of prompts, its own among them."""
    rng = np.random.default_rng(SEED)
    X, Y = rng.standard_normal((60, 3)), rng.standard_normal(60)
    draw = ScaledSample.of(LabelSample.realised(np.arange(60) % 3 > 0, np.arange(60) // 30))
    found = modelled(Measured(Y, X, 0 * X + 1), draw, origin=origin, fit=True, seed=1)
    rows = draw.rows.tolist()
    slopes = {}
    for k, x in enumerate(rows):
        seen = Y[x] - (found.outcomes[k] - found.predictions[x])
        # With EX = 1 a prediction is the sum of its slope: prompts of a fold share it.
        slopes.setdefault(round(float(found.predictions[x]), 9), []).append((x, float(seen)))
    assert len(slopes) == 5
    for members in slopes.values():
        held = {x for x, _ in members}
        train = [x for x in rows if x not in held]
        b = twin_slope(
            [X[x].tolist() for x in train], [Y[x] for x in train], [draw.q[x] for x in train], origin=origin
        )
        for x, seen in members:
            assert seen == pytest.approx(float(X[x] @ b))


def test_tuning_makes_the_variance_least():
    """No other share of the model between 0 and 1 has a smaller variance."""
    rng = np.random.default_rng(SEED)
    for _ in range(50):
        half = rng.standard_normal((2, 2))
        C = half @ half.T
        variances = [np.array([1 - s, s]) @ C @ np.array([1 - s, s]) for s in np.linspace(0, 1, 101)]
        best = tuning(C)
        assert np.array([1 - best, best]) @ C @ np.array([1 - best, best]) <= min(variances) + 1e-12


PROMPTS = [
    ([0.9, 0.5, 0.1], [0.8, 0.4, 0.2]),
    ([0.9, 0.5, 0.1], [0.6, 0.5, 0.1]),
    ([0.9, 0.5, 0.1], [0.7, 0.1, 0.9]),
    ([0.9, 0.9, 0.9], [0.3, 0.5, 0.4]),
]


def test_pairs_worked_by_hand():
    """Three pairs and one prompt that is tied entirely: estimate, bounds and labelled-only mean by hand."""
    # c = 2/3; contrasts .8 - .4, .6 - .5, .7 - .9 = .4, .1, -.2: Y = .8/3, .2/3, -.4/3, 0; gain .6/3/4 = .05.
    picks, others = np.array([0, 3, 6, -1]), np.array([1, 4, 8, -1])
    draw, scores, labels = as_draw(PROMPTS, picks, others)
    strata = np.array([0, 0, 0, 5])
    found = candidate_estimate(draw, labels, scores, [], RULE, strata=strata, seed=0)
    one = found.estimate
    assert one.estimate == pytest.approx(0.05)
    # All prompts are labelled or known, so that the variance is that of the four: mean square .28/9 - 4 * .0025.
    assert one.se == pytest.approx(math.sqrt((0.84 / 9 - 4 * 0.05**2) / 3 / 4))
    assert one.labelled_only.estimate == pytest.approx(0.2 / 3)
    assert (one.n, one.method, found.tuning) == (3, "aipw", 0.0)
    assert one.ess == pytest.approx(3)
    # V(random) of the pairs: (.8 + 2 * .4) / 3, (.6 + 1.0) / 3, (.7 + 1.8) / 3 = 5.7/3; tied: 0 to 1.
    low, high = found.bounds["value_random"]
    assert low < 1.9 / 4
    assert high > 2.9 / 4


def test_picks_worked_by_hand():
    """Four picks, two of each stratum of different size: the weighted mean, and bounds around it."""
    prompts = [([0.9, 0.1], [label, 0.0]) for label in (0.8, 0.6, 0.4, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)]
    picks = np.array([0, 2, -1, -1, 8, 10, -1, -1, -1, -1])
    draw, scores, labels = as_draw(prompts, picks)
    labels[[8, 10]] = 0.3, 0.1
    strata = np.repeat([0, 1], [4, 6])
    found = candidate_estimate(draw, labels, scores, [], RULE, strata=strata, seed=0)
    # Stratum means .7 and .2, weights .4 and .6.
    assert found.estimate.estimate == pytest.approx(0.4)
    assert found.estimate.labelled_only.estimate == pytest.approx(0.45)
    low, high = found.bounds["value_oracle"]
    assert high == 1.0
    assert low == pytest.approx(found.estimate.low)
    # K = 2: V(random) is half of V(judge), and up to a half more.
    assert found.bounds["value_random"][0] <= 0.2
    assert found.bounds["value_random"][1] >= 0.7
    assert found.bounds["recovery"] == (-1.0, 1.0)


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.2, 0.5, 1.0])] * 3), min_size=4, max_size=8), st.booleans())
@settings(max_examples=40)
def test_bounds_hold_every_pool(pools_of_labels, paired):
    """With every prompt drawn, bounds averaged over the draws hold what the pools' unseen labels make true."""
    prompts = [([0.9, 0.5, 0.5], list(labels)) for labels in pools_of_labels]
    truth = twins.metrics(prompts)
    strata = np.zeros(len(prompts), dtype=np.int64)
    ends = {}
    for step in (1, 2):  # both draws of j in every prompt: their average is what the sampling error is around
        picks = 3 * np.arange(len(prompts))
        draw, scores, labels = as_draw(prompts, picks, picks + step if paired else None)
        for name, pair in candidate_estimate(draw, labels, scores, [], RULE, strata=strata, seed=0).bounds.items():
            ends.setdefault(name, []).append(pair)
    for name, pairs in ends.items():
        if name != "recovery" and len(pairs) == 2:
            low, high = np.mean(pairs, axis=0)
            assert low - 1e-9 <= truth[name] <= high + 1e-9, name


def test_alike_labels_get_a_bound_not_a_point():
    """Where all labelled picks are worth the same, the interval is the exact bound for so many prompts."""
    prompts = [([0.9, 0.1], [0.7, 0.0])] * 10
    picks = np.where(np.arange(10) < 5, 2 * np.arange(10), -1)
    draw, scores, labels = as_draw(prompts, picks)
    found = candidate_estimate(draw, labels, scores, [], RULE, strata=np.zeros(10, dtype=np.int64), seed=0).estimate
    share = 1 - 0.025 ** (1 / 5)
    assert (found.estimate, found.interval) == (0.7, "exact")
    assert (found.low, found.high) == pytest.approx((0.7 - share * 0.7, 0.7 + share * 0.3))


def test_one_labelled_prompt_has_no_interval():
    """A single labelled pair gives an estimate, no interval, and recovery the bound that any labels leave."""
    draw, scores, labels = as_draw(PROMPTS[:3], np.array([0, -1, -1]), np.array([1, -1, -1]))
    found = candidate_estimate(draw, labels, scores, [], RULE, strata=np.zeros(3, dtype=np.int64), seed=0)
    assert found.estimate.estimate == pytest.approx(0.8 / 3)
    assert "single prompt" in found.estimate.reason
    assert found.bounds == {"recovery": (-2.0, 1.0)}


@given(pools(most=4, candidates=(2, 4)), st.booleans())
@settings(max_examples=60)
def test_recovery_is_bounded_whatever_the_labels(prompts, paired):
    """With a single labelled prompt the bound of recovery holds, whatever the other labels are."""
    truth = twins.metrics(prompts)["recovery"]
    picks, others, _ = next(every_draw(prompts, paired=paired))
    draw, scores, labels = as_draw(prompts, picks, others if paired else None)
    if truth is None or not draw.labelled.any():
        return
    first = np.arange(len(prompts)) == np.flatnonzero(draw.labelled)[0]
    draw = CandidateDraw(
        draw.sizes, draw.top, np.where(first, picks, -1), np.where(first, others, -1) if paired else None
    )
    strata = np.zeros(len(prompts), dtype=np.int64)
    low, high = candidate_estimate(draw, labels, scores, [], RULE, strata=strata, seed=0).bounds["recovery"]
    assert low - 1e-9 <= truth <= high + 1e-9


def test_one_huge_weight_leaves_no_interval():
    """Picks whose weights are worth fewer than two labels give an estimate alone."""
    prompts = [([0.9, 0.1], [label, 0.0]) for label in (0.8, 0.6, 0.4, *[0.5] * 500)]
    picks = np.where(np.arange(len(prompts)) < 4, 2 * np.arange(len(prompts)), -1)
    draw, scores, labels = as_draw(prompts, picks)
    strata = (np.arange(len(prompts)) > 2).astype(np.int64)
    found = candidate_estimate(draw, labels, scores, [], RULE, strata=strata, seed=0)
    assert found.estimate.low is None
    assert "worth 1.0 labels" in found.estimate.reason
    assert found.bounds == {"recovery": (-1.0, 1.0)}


def test_labels_of_an_unknown_scale_bound_recovery_alone():
    """Without a scale no level is bounded; recovery is, by the ratio to the best that was seen, or in any case."""
    drawn = next(replications(600, 1, seed=SEED, kind="T1"))
    wide = IntervalRule(label_range=(-np.inf, np.inf), label_width=1.0)
    found = draw_and_estimate(drawn, "pair", 250, rule=wide)
    assert found.bounds.keys() == {"recovery"}
    assert found.bounds["recovery"][0] <= 0 < found.bounds["recovery"][1]
    assert draw_and_estimate(drawn, "pick", 250, rule=wide).bounds == {"recovery": (-3.0, 1.0)}


def test_a_judge_that_skips_prompts_is_used_where_it_scored():
    """A further judge without scores of some prompts stands at its mean there and changes nothing else."""
    scores, labels, sizes = arrays(PROMPTS)
    draw = CandidateDraw(sizes, at_top(scores, sizes), np.full(4, -1))
    T = labels.copy()
    T[1] = np.nan
    columns, filled = covariates(draw, scores, [T, np.full(12, np.nan)])
    assert filled[3:].tolist() == labels[3:].tolist()
    assert filled[:3] == pytest.approx(fmean(labels[3:]))
    assert columns.shape == (12, 6)
    assert covariates(draw, scores, [])[1] is None


# Simulation: pairs and picks of simulated prompts, with the second judge T1 as covariate and for the strata.


def label_strata(size, possible, labels):
    """Cut prompts into strata of equal sum of a size, and share labels out in proportion to it."""
    order = np.argsort(np.where(possible, size, -1.0), kind="stable")
    order = order[possible[order]]
    total = np.cumsum(size[order])
    strata = np.full(len(size), -1)
    strata[order] = np.minimum(8 * total / total[-1], 7.999).astype(np.int64)
    counts = {}
    for h in np.unique(strata[order]).tolist():
        mine = strata == h
        counts[h] = int(np.clip(round(labels * size[mine].sum() / total[-1]), 3, mine.sum()))
    return strata, counts


def draw_and_estimate(prompts, rule_name, labelled, *, judge=True, rule=RULE):
    """Draw prompts and candidates by a rule, and estimate."""
    n, K = prompts.scores.shape
    top = prompts.scores == prompts.scores.max(1, keepdims=True)
    a, paired, rng = top.sum(1), rule_name == "pair", prompts.rng
    spread = prompts.second.std(1) + 0.5 * prompts.second.std(1).mean()
    size = (1 - a / K) * spread if paired else np.ones(n)
    strata, counts = label_strata(size, a < K if paired else a > 0, labelled)
    taken = np.zeros(n, dtype=bool)
    for h, count in counts.items():
        taken[rng.choice(np.flatnonzero(strata == h), count, replace=False)] = True
    keys = rng.random((n, K))
    starts = K * np.arange(n)
    picks = np.where(taken, starts + np.where(top, keys, -1).argmax(1), -1)
    others = np.where(taken, starts + np.where(top, -1, keys).argmax(1), -1) if paired else None
    draw = CandidateDraw(prompts.sizes, top.ravel(), picks, others)
    seen = np.full(n * K, np.nan)
    for cells in [picks] if others is None else [picks, others]:
        seen[cells[cells >= 0]] = prompts.labels.ravel()[cells[cells >= 0]]
    further = [prompts.second.ravel()] if judge else []
    return candidate_estimate(draw, seen, prompts.scores.ravel(), further, rule, strata=strata, seed=7)


def whole_pools(prompts, labelled):
    """Estimate the gain from whole pools, drawn alike, with the same second judge and the same kind of model."""
    n, K = prompts.scores.shape
    top = prompts.scores == prompts.scores.max(1, keepdims=True)
    weight = top / top.sum(1, keepdims=True) - 1 / K
    draw = CandidateDraw(prompts.sizes, top.ravel(), np.full(n, 0), np.full(n, 0))
    Z, _ = covariates(draw, prompts.scores.ravel(), [prompts.second.ravel()])
    X = np.column_stack([draw.expected(column) for column in Z.T])
    mask = np.zeros(n, dtype=bool)
    mask[prompts.rng.choice(n, labelled, replace=False)] = True
    prepared = ScaledSample.of(LabelSample.uniform(mask))
    outcome = (weight * prompts.labels).sum(1)
    model = modelled(Measured(outcome, X, X), prepared, origin=True, fit=True, seed=7)
    return student(influence(model.predictions[:, None], model.outcomes[:, None], prepared), np.ones(1), (-1.0, 1.0))


def simulated(rule_name, n, labelled, count, *, judge=True):
    """Estimate many tables: hits, errors, claimed errors, bounds of recovery that held."""
    population = simulate("arena", n=1).population
    gain = population["value_judge"] - population["value_random"]
    truth = gain if rule_name == "pair" else population["value_judge"]
    rows = []
    for prompts in replications(n, count, seed=SEED, kind="T1"):
        found = draw_and_estimate(prompts, rule_name, labelled, judge=judge)
        one, bounds = found.estimate, found.bounds
        held = [bounds[k][0] <= {**population, "gain": gain}[k] <= bounds[k][1] for k in bounds]
        rows.append((one.low <= truth <= one.high, one.estimate - truth, one.se, all(held), one.high - one.low))
    return np.array(rows)


@pytest.mark.parametrize(("rule_name", "judge"), [("pick", True), ("pair", True), ("pair", False)])
def test_candidate_labels_are_unbiased_and_covered(rule_name, judge):
    """In 200 tables the mean error is noise, the claimed error real, coverage nominal and all bounds hold."""
    rows = simulated(rule_name, 1000, 200, THIN, judge=judge)
    hits, errors, claimed, held = rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3]
    assert_covered({rule_name: int(hits.sum())}, THIN)
    assert abs(errors.mean()) < 4 * errors.std() / math.sqrt(THIN)
    assert np.sqrt(np.mean(claimed**2)) / errors.std() == pytest.approx(1, abs=0.2)
    assert held.mean() >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("judge", [True, False])
@pytest.mark.parametrize(("n", "labelled"), [(200, 20), (1000, 200), (5000, 1000)])
@pytest.mark.parametrize("rule_name", ["pick", "pair"])
def test_candidate_intervals_are_nominal(rule_name, n, labelled, judge):
    """Over 2,000 tables intervals hold the population's value in 93 to 97 % (from 92 % below 100 labels)."""
    rows = simulated(rule_name, n, labelled, FULL, judge=judge)
    bias = rows[:, 1].mean() / rows[:, 1].std() * math.sqrt(FULL)
    print(rule_name, n, labelled, judge, rows[:, 0].mean(), round(bias, 2), rows[:, 3].mean())  # noqa: T201
    least, most = (0.92, 1.0) if labelled < 100 else (0.93, 0.97)
    assert_covered({rule_name: int(rows[:, 0].sum())}, FULL, least, most)
    assert abs(bias) < 4


def test_pairs_beat_whole_pools_for_the_gain():
    """At 400 labels of 1,000 prompts pairs give a gain with at most .8 of the standard error of whole pools."""
    # Drawn pairs cost 2 labels and whole pools of four 4: 200 prompts against 100.
    ratios = []
    for prompts in replications(1000, 60, seed=SEED, kind="T1"):
        pairs = draw_and_estimate(prompts, "pair", 200).estimate
        ratios.append((pairs.se, whole_pools(prompts, 100).se))
    pairs, pools_of_four = np.sqrt(np.mean(np.square(ratios), axis=0))
    print(f"pairs / whole pools {pairs / pools_of_four:.3f}")  # noqa: T201
    assert 0.6 < pairs / pools_of_four < 0.8
