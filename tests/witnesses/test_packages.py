"""Figures that other packages compute too: the same to 1e-9, or different by what a sentence says.

They run in an environment of their own (tests/environments/witnesses.txt). Elsewhere a test is skipped where its
package is missing; with ``BONWISE_REQUIRE_WITNESSES=1`` it fails.
"""

from __future__ import annotations

import importlib
import math
import os
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bonwise as bw
from bonwise.auditing.annotators import krippendorff_alpha
from bonwise.auditing.label_interval import influence
from bonwise.stats.confidence import clustered_mean
from bonwise.stats.ordinal_ratings import fit_ordinal, log_probability
from bonwise.stats.partial.label_sample import LabelSample, ScaledSample
from bonwise.testing import simulate
from bonwise.votes.ranking import fit_strengths

pytestmark = pytest.mark.filterwarnings("ignore")
"""Other packages warn of what others deprecate."""

SAME = 1e-9


def witness(name):
    """Import a package, or skip the test; fail where it must be there."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError:
        if os.environ.get("BONWISE_REQUIRE_WITNESSES") == "1":
            raise
        pytest.skip(f"{name} is not installed here, see tests/environments/witnesses.txt")


def audited(seed, n=60, **columns):
    """Return a simulated table with further columns of its prompts, by their number."""
    frame = simulate("arena", n=n, seed=seed).frame()
    number = frame["prompt_id"].str[1:].astype(int)
    return frame.assign(**{name: of(number) for name, of in columns.items()})


SEEDS = st.integers(0, 10**6)


# krippendorff


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@given(seed=SEEDS, raters=st.integers(2, 5), categories=st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_alpha(level, seed, raters, categories):
    """Krippendorff's alpha of labels with gaps."""
    package = witness("krippendorff")
    rng = np.random.default_rng(seed)
    table = rng.integers(1, categories + 1, (raters, 25)).astype(float)
    table[rng.random(table.shape) < 0.3] = np.nan
    rater, unit = np.nonzero(~np.isnan(table))
    found = krippendorff_alpha(table[rater, unit], unit, unit, level)
    assert found.estimate == pytest.approx(package.alpha(table, level_of_measurement=level), abs=SAME)


# choix and evalica


def contests(seed, models=5, games=120):
    """Return who won and who lost of every contest."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(size=models)
    first = rng.integers(0, models, games)
    second = (first + rng.integers(1, models, games)) % models
    won = rng.random(games) < 1 / (1 + np.exp(strength[second] - strength[first]))
    return np.where(won, first, second), np.where(won, second, first)


@pytest.mark.parametrize("name", ["choix", "evalica"])
@pytest.mark.parametrize("seed", range(5))
def test_strengths_of_contests(name, seed):
    """Bradley-Terry: one skill that people compare. The others iterate: to their stop, 1e-6, and no likelier ones."""
    package = witness(name)
    winner, loser = contests(seed)
    x = np.eye(5)[winner] - np.eye(5)[loser]
    # Half of the contests are written from the other side, so that both answers occur.
    turned = np.arange(len(x)) % 2 == 0
    mine = fit_ordinal(np.where(turned[:, None], -x, x), np.where(turned, 0, 1), 2, symmetric=True).coefficients
    if name == "choix":
        other = package.opt_pairwise(
            5, list(zip(winner.tolist(), loser.tolist(), strict=True)), alpha=1e-12, tol=1e-12
        )
    else:
        winners = [package.Winner.X] * len(winner)
        found = package.bradley_terry(winner.tolist(), loser.tolist(), winners, tolerance=1e-14, limit=100_000)
        other = np.log(found.scores.sort_index().to_numpy())
    assert mine - mine.mean() == pytest.approx(other - np.mean(other), abs=1e-6)

    won = np.zeros((5, 5))
    np.add.at(won, (winner, loser), 1)
    assert fit_strengths(won)[0] == pytest.approx(other - np.mean(other), abs=1e-6)

    def likelihood(strengths):
        return float(-np.log1p(np.exp(strengths[loser] - strengths[winner])).sum())

    assert likelihood(mine) >= likelihood(np.asarray(other)) - SAME


# statsmodels


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_correlations_are_those_of_regressions(seed):
    """A regression with a constant a prompt: its slope is `attenuation`, its R^2 beyond the constants within_r^2."""
    linear = witness("statsmodels.api")
    frame = audited(seed)
    found = bw.audit(frame)
    dummies = pd.get_dummies(frame["prompt_id"], dtype=float).to_numpy()
    label, score = frame["oracle_label"].to_numpy(), frame["judge_score"].to_numpy()
    constants, both = linear.OLS(score, dummies).fit(), linear.OLS(score, np.column_stack([label, dummies])).fit()
    assert found["attenuation"].estimate == pytest.approx(both.params[0], abs=SAME)
    explained = 1 - both.ssr / constants.ssr
    assert found["within_r"].estimate ** 2 == pytest.approx(explained, abs=SAME)
    assert found["global_r"].estimate ** 2 == pytest.approx(
        linear.OLS(score, linear.add_constant(label)).fit().rsquared, abs=SAME
    )


@given(seed=SEEDS, size=st.sampled_from([1, 3]))
@settings(max_examples=10, deadline=None)
def test_standard_errors_of_means_are_clustered_ones(seed, size):
    """The jackknife of a mean over clusters of one size is the sandwich of clusters, with G / (G - 1)."""
    linear = witness("statsmodels.api")
    frame = audited(seed, cluster=lambda number: "c" + (number // size).astype(str))
    found = bw.audit(frame)
    prompts = frame.groupby("prompt_id", sort=True)["oracle_label"]
    values = {"value_random": prompts.mean().to_numpy(), "value_oracle": prompts.max().to_numpy()}
    cluster = np.arange(len(prompts)) // size
    for name, value in values.items():
        fit = linear.OLS(value, np.ones(len(value))).fit(cov_type="cluster", cov_kwds={"groups": cluster})
        assert (found[name].estimate, found[name].se) == pytest.approx((fit.params[0], fit.bse[0]), abs=SAME)


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_weighted_means(seed):
    """With weights: the weighted mean, and for its error HC3, the jackknife but for the mean of what is left out."""
    linear, weighted = witness("statsmodels.api"), witness("statsmodels.stats.weightstats")
    rng = np.random.default_rng(seed)
    weights = rng.gamma(1.5, size=60)
    frame = audited(seed, w=lambda number: weights[number])
    found = bw.audit(frame, weight_col="w")["value_random"]
    value = frame.groupby("prompt_id", sort=True)["oracle_label"].mean().to_numpy()
    assert found.estimate == pytest.approx(weighted.DescrStatsW(value, weights).mean, abs=SAME)
    fit = linear.WLS(value, np.ones(60), weights=weights).fit(cov_type="HC3")
    left = np.array([np.average(np.delete(value, at), weights=np.delete(weights, at)) for at in range(60)])
    assert fit.bse[0] ** 2 == pytest.approx(float(((left - fit.params[0]) ** 2).sum()), rel=1e-8)
    lost = 60 * (left.mean() - fit.params[0]) ** 2
    assert found.se**2 == pytest.approx((fit.bse[0] ** 2 - lost) * 59 / 60, rel=1e-8)


@pytest.mark.parametrize("right", [1, 17, 30, 39])
def test_shares_of_yes_and_no(right):
    """A hit rate of picks that are right or wrong has Clopper and Pearson's interval.

    Not of n draws, but of (n - 1) (z / t)^2: the standard error is estimated, with n - 1 degrees of freedom.
    """
    proportion = witness("statsmodels.stats.proportion")
    at = np.arange(40).repeat(2)
    first = np.tile([True, False], 40)
    frame = pd.DataFrame(
        {
            "prompt_id": [f"p{one:02d}" for one in at],
            "candidate": np.where(first, "a", "b"),
            "judge_score": np.where(first, 0.9, 0.1),
            "oracle_label": np.where(first == (at < right), 1.0, 0.0),
        }
    )
    found = bw.audit(frame)["hit_rate"]
    draws = 39 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 39)) ** 2
    ends = proportion.proportion_confint(right / 40 * draws, draws, method="beta")
    assert (found.low, found.high) == pytest.approx(ends, abs=SAME)


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_scores_of_statements_are_clustered_means(seed):
    """The Brier score of statements that prompts have as many of: mean and error are those of statsmodels."""
    linear = witness("statsmodels.api")
    rng = np.random.default_rng(seed)
    stated, prompt = rng.random(90), np.repeat(np.arange(30), 3)
    squares = (stated - (rng.random(90) < stated)) ** 2
    found = clustered_mean(squares, prompt, 0.95)
    fit = linear.OLS(squares, np.ones(90)).fit(cov_type="cluster", cov_kwds={"groups": prompt})
    assert (found.estimate, found.se) == pytest.approx((fit.params[0], fit.bse[0]), abs=SAME)


@pytest.mark.parametrize("seed", range(4))
def test_ordered_logits(seed):
    """A proportional odds regression: statsmodels finds none that is likelier."""
    ordered = witness("statsmodels.miscmodels.ordinal_model")
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, 2))
    y = (x @ [1.0, -0.5] + rng.logistic(size=200) > np.array([[-1.0], [0.5], [1.5]])).sum(axis=0)
    mine = fit_ordinal(x, y, 4)
    other = ordered.OrderedModel(y, x, distr="logit").fit(method="bfgs", disp=0, gtol=1e-8)
    upper, lower = np.append(mine.cutoffs, np.inf), np.insert(mine.cutoffs, 0, -np.inf)
    best = float(log_probability(x @ mine.coefficients, upper[y], lower[y]).sum())
    assert best == pytest.approx(other.llf, abs=1e-7)
    assert best >= other.llf - SAME
    assert mine.coefficients == pytest.approx(other.params[:2], abs=1e-4)


# ppi-python and doubleml: labels of some prompts, predictions for all.


def predicted(seed, prompts=400, labels=100):
    """Return which prompts are labelled, their labels, predictions for all, and what bonwise makes of them."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=prompts)
    guess = 0.6 * truth + 0.5 * rng.normal(size=prompts) + 0.3
    known = rng.permutation(prompts) < labels
    draw = ScaledSample.of(LabelSample.uniform(known))
    return known, truth[known], guess, influence(guess[:, None], truth[known][:, None], draw)


@given(seed=SEEDS)
@settings(max_examples=20, deadline=None)
def test_predictions_and_labels_by_ppi(seed):
    """Mean of predictions for all plus mean error of labels is PPI++ on the unlabelled, with lambda 1 - n / N."""
    package = witness("ppi_py")
    known, labels, guess, mine = predicted(seed)
    lam = 1 - known.mean()
    columns = labels[:, None], guess[known][:, None], guess[~known][:, None]
    other = package.ppi_mean_pointestimate(*columns, lam=lam)
    assert float(mine.means[0]) == pytest.approx(float(np.ravel(other)[0]), abs=SAME)
    low, high = package.ppi_mean_ci(*columns, alpha=0.05, lam=lam)
    error = float(np.ravel(high - low)[0]) / (2 * 1.959963984540054)
    # ppi divides variances by their counts, bonwise by one less; both know that the prompts are a sample themselves.
    assert math.sqrt(float(mine.covariance[0, 0])) == pytest.approx(error, rel=2 / len(labels))


@pytest.mark.parametrize("seed", range(4))
def test_predictions_and_labels_by_doubleml(seed):
    """The same mean as an average potential outcome of being labelled, with the known chance and predictions."""
    package = witness("doubleml")
    dummies = witness("sklearn.dummy")
    known, labels, guess, mine = predicted(seed)
    y = np.zeros(len(known))
    y[known] = labels
    data = package.DoubleMLData.from_arrays(x=guess[:, None], y=y, d=known.astype(float))
    model = package.DoubleMLAPO(data, dummies.DummyRegressor(), dummies.DummyClassifier(strategy="prior"), 1)
    chance = np.full((len(known), 1), known.mean())
    given_predictions = {"d": {"ml_g_d_lvl1": guess[:, None], "ml_g_d_lvl0": guess[:, None], "ml_m": chance}}
    model.fit(external_predictions=given_predictions)
    assert float(mine.means[0]) == pytest.approx(float(model.coef[0]), abs=SAME)
    # doubleml takes the number of labels as random: the mean error, times what is unlabelled, adds to its variance.
    off = float((labels - guess[known]).mean())
    more = off**2 * (1 / known.mean() - 1) / len(known)
    adjusted = math.sqrt(float(model.se[0]) ** 2 - more)
    assert math.sqrt(float(mine.covariance[0, 0])) == pytest.approx(adjusted, rel=0.05)


# trec_eval


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(1, 12))
def test_ndcg_and_recall_are_those_of_trec_eval(tmp_path_factory, seed, k):
    """Runs without ties, graded labels, topics without a ranking or a relevant document, and unjudged documents.

    With ties they differ, and are asked for elsewhere: trec_eval breaks them by the name of the document.
    """
    trec_eval = witness("pytrec_eval")
    rng = np.random.default_rng(seed)
    run = {f"{t}": {f"d{d}": float(s) for d, s in enumerate(rng.permutation(100)[:10])} for t in range(8)}
    qrels = {f"{t}": {f"d{d}": int(rng.integers(-1, 4)) for d in rng.permutation(15)[:7]} for t in range(2, 12)}
    qrels["2"] = dict.fromkeys(qrels["2"], 0)
    folder = tmp_path_factory.mktemp("trec")
    lines = [f"{t} Q0 {d} 1 {s} tag" for t, docs in run.items() for d, s in docs.items()]
    (folder / "run").write_text("\n".join(lines), "utf-8")
    (folder / "qrels").write_text("\n".join(f"{t} 0 {d} {v}" for t, docs in qrels.items() for d, v in docs.items()))
    theirs = trec_eval.RelevanceEvaluator(qrels, {f"ndcg_cut.{k}", f"recall.{k}"}).evaluate(run)
    try:
        ours = bw.audit(folder / "run", labels=folder / "qrels", unlabelled_is=0, top=k)
    except bw.errors.InputError:
        return  # no topic of the run has labels that allow an audit
    for name, key in (("ndcg", f"ndcg_cut_{k}"), ("recall", f"recall_{k}")):
        assert ours[name].estimate == pytest.approx(sum(own[key] for own in theirs.values()) / len(qrels), abs=SAME)
