"""When to ask a judge again: the rule, the first call, and what the rule gains over others."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bonwise.selection.draw_model import DrawModelDocument
from bonwise.selection.learnt_draws import DrawModel
from bonwise.stats.beliefs import Beliefs
from bonwise.stats.draw_prior import DrawPrior, class_of, first_call_test, learn_prior, spread_of
from bonwise.stats.redraws import lengthened, replay
from bonwise.testing import simulate
from stats.redraw_twin import Pool, first_call_differences, learnt, played

PRIOR = DrawPrior(0.5, (0.6, 0.8), (0.02, 0.01, 0.008), (0.004, 0.003, 0.001), 6.0)
TWIN = {"beta": 0.5, "cuts": [0.6, 0.8], "sigma2": [0.02, 0.01, 0.008], "tau2": [0.004, 0.003, 0.001], "nu0": 6.0}


def heaped(rng, shape):
    """Draw scores on the grid of 0.05, with the ties and the gaps of real tables."""
    draws = np.round(np.clip(rng.normal(0.75, 0.15, shape), 0, 1) * 20) / 20
    return np.where(rng.random(shape) < 0.05, np.nan, draws)


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(3, 6), st.booleans())
@settings(max_examples=40)
def test_learning_agrees_with_its_twin(seed, candidates, k, first_counts):
    """Every hyper-parameter is that of the plain loops, gaps in the table included."""
    draws = heaped(np.random.default_rng(seed), (60, candidates, k))
    found = learn_prior(draws, first_counts=first_counts)
    expected = learnt(draws.tolist(), first_counts=first_counts)
    assert found.first_counts == first_counts
    assert found.beta == pytest.approx(expected["beta"], abs=1e-9)
    assert found.cuts == pytest.approx(expected["cuts"], abs=1e-9)
    assert found.sigma2 == pytest.approx(expected["sigma2"], rel=1e-9)
    assert found.tau2 == pytest.approx(expected["tau2"], rel=1e-8)
    assert found.nu0 == pytest.approx(expected["nu0"], rel=1e-8)


@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([0.0, 0.005, 0.02, 0.05]), st.booleans())
@settings(max_examples=60)
def test_playing_agrees_with_its_twin(seed, candidates, price, first_counts):
    """Calls and the candidates on top are those of the plain loops, whatever the price, unscored draws included."""
    rng = np.random.default_rng(seed)
    draws = heaped(rng, (12, candidates, 8))
    found = replay(draws, PRIOR._replace(first_counts=first_counts), seed=seed)
    rank = np.random.default_rng(seed).random((12, candidates)).argsort(axis=1)
    stopped = found.at(price)
    for row in range(12):
        calls, mean = played(TWIN | {"first_counts": first_counts}, draws[row].tolist(), rank[row].tolist(), price, 8)
        top = {i for i in mean if round(mean[i], 9) == round(max(mean.values()), 9)} if mean else set()
        assert stopped.calls[row] == candidates + len(calls)
        assert set(np.flatnonzero(stopped.top[row])) == top


def test_beliefs_by_hand_where_the_first_call_counts():
    """Two candidates in the middle class: each has one call, and both shrink towards the mean of the pool."""
    beliefs = Beliefs(PRIOR._replace(first_counts=True), np.array([[0.8, 0.6]]), np.array([[0, 1]]), most=8)
    B = 0.003 / (0.003 + 0.01)
    assert beliefs.posterior().mean[0] == pytest.approx([0.7 + 0.1 * B, 0.7 - 0.1 * B])
    assert beliefs.posterior().variance[0] == pytest.approx([0.01 * B] * 2)
    beliefs.hear(np.array([0]), np.array([0.5]))
    s2 = (0.04 + 2 * 0.15**2) / 5  # .8 and .5 lie .15 from their mean
    w = 1 / (0.003 + s2 / 2), 1 / (0.003 + s2)
    mu = (w[0] * 0.65 + w[1] * 0.6) / sum(w)
    B = 0.003 * w[0], 0.003 * w[1]
    assert beliefs.posterior().mean[0] == pytest.approx([mu + B[0] * (0.65 - mu), mu + B[1] * (0.6 - mu)])


def test_beliefs_by_hand():
    """Two candidates in the middle class: one heard draw moves its own belief, the shift of both, and the noise."""
    beliefs = Beliefs(PRIOR, np.array([[0.8, 0.6]]), np.array([[0, 1]]), most=8)
    assert beliefs.posterior().mean[0] == pytest.approx([0.75, 0.65])
    assert beliefs.posterior().variance[0] == pytest.approx([0.003, 0.003])
    # s = sqrt(.006), d = .1: s f(-d / s) with f(-1.29099) = .0469...
    z = -0.1 / math.sqrt(0.006)
    loss = math.sqrt(0.006) * (z * 0.5 * math.erfc(-z / math.sqrt(2)) + math.exp(-z * z / 2) / math.sqrt(2 * math.pi))
    assert beliefs.opportunity_cost()[0] == pytest.approx(loss)
    beliefs.hear(np.array([0]), np.array([0.5]))
    # The only draw of its candidate lies on its mean: s2 = .01, w = 1 / (.003 + s2), mu = -.25 w / (1 / .003 + w)
    s2 = 0.01
    w = 1 / (0.003 + s2)
    p = 0.75 - 0.25 * w / (1 / 0.003 + w)
    B = 0.003 / (0.003 + s2)
    now = beliefs.posterior()
    assert now.call_variance[0, 0] == pytest.approx(s2)
    assert now.mean[0] == pytest.approx([p + B * (0.5 - p), p - 0.1])
    assert now.variance[0] == pytest.approx([B * s2, 0.003])


@pytest.mark.parametrize(("level", "at"), [(0.5, 0), (0.6, 0), (0.7, 1), (0.8, 2), (0.9, 2)])
def test_classes_of_level(level, at):
    """A level on a cut belongs to the outer class, where rounding has touched it too."""
    first = np.array([[level + 0.1, level - 0.1 + 1e-13, level]])
    beliefs = Beliefs(PRIOR, first, np.array([[0, 1, 2]]), most=8)
    assert beliefs.posterior().call_variance[0, 0] == pytest.approx(PRIOR.sigma2[at])


def test_levels_on_both_cuts_are_a_class_of_their_own():
    """Where both cuts coincide, what lies on them is the middle class."""
    assert class_of(np.array([0.7, 0.8, 0.8 + 1e-13, 0.9]), (0.8, 0.8)).tolist() == [0, 1, 1, 2]


def test_nothing_to_price():
    """Pools without two scored candidates have no curve of prices."""
    with pytest.raises(ValueError, match="two candidates"):
        replay(np.array([[[0.5, 0.6], [np.nan, np.nan]]]), PRIOR).curve()


def test_truth_is_found_with_enough_calls():
    """Candidates that differ by far more than the noise of 8 calls are told apart, and beliefs cover the truth."""
    rng = np.random.default_rng(2)
    truth = rng.normal(0.7, 0.1, (4000, 4))
    first = truth + rng.normal(0, 0.1, truth.shape)
    prior = learn_prior(np.concatenate([first[..., None], truth[..., None] + rng.normal(0, 0.1, (4000, 4, 4))], 2))
    beliefs = Beliefs(prior, first, np.tile(np.arange(4), (4000, 1)), most=8)
    for _ in range(12):
        who = beliefs.best_draw()
        beliefs.hear(who, truth[np.arange(4000), who] + rng.normal(0, 0.1, 4000))
    mean, variance, _ = beliefs.posterior()
    standardised = (truth - mean) / np.sqrt(variance)
    assert np.abs(standardised).mean() == pytest.approx(math.sqrt(2 / math.pi), abs=0.06)
    assert abs(standardised.mean()) < 0.05


def test_an_unscored_draw_counts_and_says_nothing():
    """After it the candidate has one draw less to give, and every belief is what it was."""
    beliefs = Beliefs(PRIOR, np.array([[0.8, 0.8]]), np.array([[0, 1]]), most=3)
    before = beliefs.posterior()
    beliefs.hear(np.array([0]), np.array([np.nan]))
    assert np.array_equal(beliefs.posterior().mean, before.mean)
    assert beliefs.asked.tolist() == [[2, 1]]


def test_a_candidate_without_a_first_score_is_out():
    """It is never asked, never on top, and alone a candidate is not redrawn either."""
    beliefs = Beliefs(PRIOR, np.array([[0.8, np.nan, 0.7], [np.nan, 0.5, np.nan]]), np.tile(np.arange(3), (2, 1)), 8)
    assert beliefs.open().tolist() == [[True, False, True], [False, False, False]]
    assert beliefs.best_draw()[1] == -1
    assert beliefs.top().tolist() == [[True, False, False], [False, True, False]]
    assert beliefs.opportunity_cost()[1] == 0


def test_no_tie_goes_to_the_first_candidate():
    """Among equals the lower rank is asked first."""
    beliefs = Beliefs(PRIOR, np.full((3, 4), 0.8), np.array([[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 2, 3]]), most=8)
    assert beliefs.best_draw().tolist() == [0, 3, 1]


@pytest.fixture(scope="module")
def pilot():
    """Draw a pilot of 500 prompts."""
    return simulate("one_model", n=500, seed=31, draws=8).draws


def spent(played_, prices):
    """Return the mean calls of pools whose lots fall in proportion."""
    lower, higher = (played_.at(price).calls.mean() for price in (prices.lower, prices.higher))
    return prices.share * lower + (1 - prices.share) * higher


def test_prices_buy_the_calls_asked_for(pilot):
    """At the prices for a mean number of calls the pools of the pilot take just as many."""
    model = DrawModel.fit(pilot)
    played_ = replay(pilot, model.prior)
    for calls in (4.0, 5.0, 6.0, 7.37, 10.5, 20.0, 32.0):
        for prices in (played_.curve().prices_for(calls), model.prices_for(calls)):
            assert spent(played_, prices) == pytest.approx(calls, abs=1e-9)
            assert prices.lower < prices.higher
            assert 0 <= prices.share <= 1
    assert played_.at(0.0).calls.tolist() == [32] * 500


@pytest.mark.parametrize("preset", ["pilot", "one_model"])
def test_fresh_pools_take_the_calls_asked_for(preset):
    """What was learnt from 2,000 pools is spent on fresh ones to 2.2 % or a tenth of a call, on average over three.

    One price read off between two learnt ones spends .4 too much at 7.5 calls, for opportunity costs heap.
    """
    fresh, asked = simulate(preset, n=4000, seed=5).draws, (5.0, 6.0, 7.5, 10.5)
    over = np.zeros(4)
    for seed in (100, 101, 102):
        model = DrawModel.fit(simulate(preset, n=2000, seed=seed, draws=5).draws)
        played_ = replay(fresh, model.prior)
        over += [(spent(played_, model.prices_for(calls)) - calls) / 3 for calls in asked]
    assert (np.abs(over) <= np.maximum(0.12, 0.022 * np.array(asked))).all()


def test_a_heap_is_shared_by_lot():
    """Where all pools stand at one opportunity cost, any number of calls is met by the share at the lower price."""
    draws = np.full((40, 2, 3), 0.5)
    draws[:, :, 1] += 0.1
    draws[:, :, 2] -= 0.1
    played_ = replay(draws, PRIOR, most=3)
    assert len(np.unique(played_.opportunity[:, 0])) == 1
    prices = played_.curve().prices_for(2.25)
    assert prices.share == pytest.approx(0.25)
    lots = np.arange(40) / 40
    assert played_.at(np.array([prices.of(lot) for lot in lots])).calls.mean() == pytest.approx(2.25)


def test_a_cheaper_call_is_asked_more_often(pilot):
    """The mean number of calls falls with the price."""
    played_ = replay(pilot, learn_prior(pilot))
    calls = [played_.at(price).calls.mean() for price in (0.0, 0.002, 0.005, 0.01, 0.02, 1.0)]
    assert calls == sorted(calls, reverse=True)
    assert calls[-1] == 4


def test_missing_draws_are_drawn_again_from_later_ones():
    """What is not stored is one of the candidate's own later draws, never its first, and the seed decides which."""
    draws = np.arange(2 * 3 * 4, dtype=float).reshape(2, 3, 4)
    longer = lengthened(draws, 8, np.random.default_rng(0))
    assert np.array_equal(longer[:, :, :4], draws)
    for row, column in np.ndindex(2, 3):
        assert set(longer[row, column, 4:]) <= set(draws[row, column, 1:])
    assert np.array_equal(longer, lengthened(draws, 8, np.random.default_rng(0)))
    assert lengthened(draws, 3, np.random.default_rng(0)).shape == (2, 3, 3)


def test_pools_of_several_sizes(pilot):
    """Pools filled up with candidates without any draw are played as the smaller pools they are."""
    ragged = pilot[:50].copy()
    ragged[::2, 2:] = np.nan
    found = replay(ragged, learn_prior(pilot)).at(0.0)
    assert set(found.calls[::2]) == {16}
    assert set(found.calls[1::2]) == {32}
    assert not found.top[::2, 2:].any()


def test_the_model_keeps_its_pilot(pilot):
    """Counts, spread and prices are those of the pilot, and prices run from the first pass to all draws."""
    model = DrawModel.fit(pilot)
    assert (model.prompts, model.candidates, model.draws, model.left_out) == (500, 2000, 8, 0)
    assert (model.mean_calls[0], model.mean_calls[-1], model.prices[-1]) == (4.0, 32.0, 0.0)
    call, between = spread_of(pilot)
    assert (model.call_sd, model.candidate_sd) == (math.sqrt(call), math.sqrt(between))
    assert model.reliability == pytest.approx(between / (between + call))
    exact, kept = replay(pilot, model.prior).curve().prices_for(6), model.prices_for(6)
    assert (kept.lower, kept.higher) == pytest.approx((exact.lower, exact.higher), rel=0.02)


def test_the_spread_is_that_of_the_truth():
    """Call sd and sd between candidates are those that the draws were made with."""
    rng = np.random.default_rng(6)
    draws = rng.normal(0.6, 0.12, (5000, 4, 1)) + rng.normal(0, 0.2, (5000, 4, 5))
    model = DrawModel.fit(draws)
    assert (model.call_sd, model.candidate_sd) == pytest.approx((0.2, 0.12), abs=0.005)
    assert model.prior.beta == pytest.approx(0.12**2 / (0.12**2 + 0.2**2), abs=0.02)


def test_incomplete_prompts_are_counted(pilot):
    """A prompt with fewer than two complete candidates is left out and counted."""
    holed = pilot[:100].copy()
    holed[:7, 1:, 3] = np.nan
    model = DrawModel.fit(holed)
    assert (model.prompts, model.left_out) == (93, 7)


def test_the_model_survives_its_document(pilot):
    """What is read is what was written; anything else is refused."""
    model = DrawModel.fit(pilot)
    document = DrawModelDocument.of(model, "1.0")
    plain = json.loads(document.to_json())
    assert DrawModelDocument.model_validate(plain).model() == model
    for broken in (
        {},
        plain | {"call_sd": "0.1"},
        plain | {"call_sd": float("nan")},
        plain | {"prices": [1.0]},
        plain | {"prices": plain["prices"][::-1]},
        plain | {"mean_calls": [plain["mean_calls"][1], *plain["mean_calls"][1:]]},
        plain | {"prior": plain["prior"] | {"tau2": [0.0, 0.0, 0.0]}},
        plain | {"prior": plain["prior"] | {"cuts": 3}},
        plain | {"prior": None},
        plain | {"max_draws": True},
    ):
        with pytest.raises(ValueError, match=r"\w"):
            DrawModelDocument.model_validate(broken)


def test_what_the_package_holds_is_read_without_a_document(pilot):
    """The model that is assumed comes from a file of bonwise itself; every key must be there."""
    model = DrawModel.fit(pilot)
    stored = json.loads(json.dumps(model.to_dict()))
    assert DrawModel.from_dict(stored) == model
    with pytest.raises(ValueError, match="prices is missing"):
        DrawModel.from_dict({key: value for key, value in stored.items() if key != "prices"})


@pytest.mark.parametrize(
    ("draws", "said"),
    [
        (np.full((5, 4, 2), 0.5), "3 or more"),
        (np.full((5, 4, 5), 0.5), "never differ"),
        (np.full((5, 4, 5), np.nan), "no prompt"),
        (np.full((5, 4), 0.5), "shape"),
    ],
)
def test_nothing_to_learn(draws, said):
    """Too few draws, draws that never differ and draws that are not there are refused with the reason."""
    with pytest.raises(ValueError, match=said):
        DrawModel.fit(draws)


@pytest.mark.parametrize("calls", [3.9, 32.1])
def test_calls_that_cannot_be(pilot, calls):
    """Fewer calls than the first pass, or more than all draws, have no price."""
    with pytest.raises(ValueError, match="between 4 and 32 calls"):
        DrawModel.fit(pilot).prices_for(calls)
    with pytest.raises(ValueError, match="between 4 and 32 calls"):
        replay(pilot, learn_prior(pilot)).curve().prices_for(calls)


def test_one_pool_alone_is_what_it_is_among_many(pilot):
    """The same code serves one live pool and a table of them."""
    prior = learn_prior(pilot)
    many = Beliefs(prior, pilot[:, :, 0], np.tile(np.arange(4), (500, 1)), most=8)
    many.hear(many.best_draw(), pilot[:, 0, 1])
    for row in range(0, 500, 50):
        one = Beliefs(prior, pilot[row : row + 1, :, 0], np.arange(4)[None], most=8)
        one.hear(one.best_draw(), pilot[row : row + 1, 0, 1])
        assert np.array_equal(one.posterior().mean[0], many.posterior().mean[row])
        twin = Pool(prior._asdict(), pilot[row, :, 0].tolist(), [0, 1, 2, 3])
        twin.hear(twin.choice(8), float(pilot[row, 0, 1]))
        assert list(twin.posterior()[0].values()) == pytest.approx(one.posterior().mean[0].tolist(), abs=1e-12)


# The test that decides whether the first call of a judge counts as one of its calls.


def test_by_hand():
    """Three prompts of two candidates: U1 is .1, .2 and .3, so t = 2 sqrt(3) on two degrees of freedom."""
    draws = np.zeros((3, 2, 3))
    draws[:, :, 0] = [[0.1] * 2, [0.2] * 2, [0.3] * 2]
    found = first_call_test(draws)
    mean_p, variance_p, covariance_p = found.p_values
    assert mean_p == pytest.approx(2 * stats.t.sf(2 * np.sqrt(3), 2))
    assert (variance_p, covariance_p, found.prompts) == (1.0, 1.0, 3)
    assert found.p == pytest.approx(3 * mean_p)
    assert not found.averaged_in
    assert found.reason == "a pilot of 3 prompts cannot show that it is like the later calls, 50 can"


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(3, 6))
@settings(max_examples=40)
def test_it_agrees_with_its_twin(seed, candidates, k):
    """The p-values are those of scipy's t test on the differences of plain loops, gaps in the table included."""
    rng = np.random.default_rng(seed)
    draws = np.round(rng.normal(0.75, 0.15, (40, candidates, k)), 2)
    draws[rng.random(draws.shape) < 0.05] = np.nan
    differences = np.array(first_call_differences(draws.tolist()))
    expected = stats.ttest_1samp(differences, 0).pvalue
    found = first_call_test(draws)
    assert found.p_values == pytest.approx(tuple(expected), abs=1e-9)
    assert found.prompts == len(differences)


def test_a_first_call_that_always_differs_is_rejected():
    """Where every prompt shows one and the same difference there is no scatter to hold against it."""
    draws = np.full((60, 3, 4), 0.5) + np.array([0.1, 0, 0, 0])
    assert first_call_test(draws).p == 0.0
    assert first_call_test(np.full((60, 3, 4), 0.5)).averaged_in


def rejected(draws, prompts, samples, rng):
    """Return in how many samples of so many prompts the first call is found to differ."""
    return np.mean([first_call_test(draws[rng.integers(0, len(draws), prompts)]).rejected for _ in range(samples)])


def check_rejections(prompts, samples, seed):
    """Calls of one kind are rejected as often as the level says, and those of SIM-P, whose first differs, always."""
    rng = np.random.default_rng([seed, prompts])
    alike = simulate("one_model", n=4000, seed=seed, draws=5).draws
    apart = simulate("pilot", n=4000, seed=seed, draws=5).draws
    shuffled = np.take_along_axis(apart, rng.random((len(apart), 1, 5)).argsort(axis=2) + np.zeros((1, 4, 1), int), 2)
    slack = 3 * np.sqrt(0.05 * 0.95 / samples)
    for draws in (alike, shuffled):
        assert rejected(draws, prompts, samples, rng) <= 0.056 + slack
    assert rejected(apart, prompts, samples, rng) == 1.0


def test_how_often_it_rejects():
    """Thinned: 100 samples of 100 prompts."""
    check_rejections(100, 100, seed=17)


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [50, 100, 300])
def test_how_often_it_rejects_in_full(prompts):
    """1,000 samples each: .03 to .056 where calls are alike, always at SIM-P."""
    check_rejections(prompts, 1000, seed=17)


def world(kind, rng, n):
    """Draw true scores of n pools and return them with a function that draws k calls of each."""
    size = 8 if kind == "K8" else 4
    level, spread = rng.uniform(-0.5, 1.2, (n, 1)), np.exp(0.4 * rng.standard_normal((n, 1)))
    quality = level + 0.6 * spread * rng.standard_normal((n, size))
    truth = 1 / (1 + np.exp(-(quality + 0.45 * rng.standard_normal((n, size)))))
    own = np.exp(0.7 * rng.standard_normal((n, 1))) * np.exp(0.3 * rng.standard_normal((n, size)))
    noise = (0.1 if kind == "homo" else 0.1 * own) * np.ones((n, size))
    step = 1e-6 if kind == "homo" else 0.05

    def calls(k):
        shape = (n, size, k)
        errors = rng.standard_t(4, shape) / np.sqrt(2) if kind == "K8" else rng.standard_normal(shape)
        return np.clip(np.round((truth[:, :, None] + noise[:, :, None] * errors) / step) * step, 0, 1)

    return truth, calls


def recovered(played, calls, truth):
    """Return the recovery of each pool where pools take so many calls on average."""
    price, gained = played.curve().prices_for(calls), 0.0
    for one, share in ((price.lower, price.share), (price.higher, 1 - price.share)):
        top = played.at(one).top
        gained = gained + share * ((top * truth).sum(axis=1) / top.sum(axis=1) - truth.mean(axis=1))
    return gained / (truth.max(axis=1) - truth.mean(axis=1)).mean()


def differences(kind, seeds, pilots=(50, 100, 500)):
    """Return recovery with the first call averaged in less that with it kept apart, one per pilot."""
    found = []
    for seed in seeds:
        for prompts in pilots:
            rng = np.random.default_rng([seed, prompts])
            pilot = world(kind, rng, prompts)[1](5)
            truth, calls = world(kind, rng, 800)
            stored, size = calls(8), truth.shape[1]
            counted, apart = (
                replay(stored, learn_prior(pilot, first_counts=first), seed=seed) for first in (True, False)
            )
            found.append(
                np.mean(
                    [
                        (recovered(counted, size * f, truth) - recovered(apart, size * f, truth)).mean()
                        for f in (1.25, 1.5, 2.0, 3.0)
                    ]
                )
            )
    return np.array(found)


def test_averaging_the_first_call_in_costs_nothing():
    """Thinned: at equal calls the picks recover no less than with the first call kept apart."""
    assert differences("hetero", range(2)).mean() > -0.004


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["homo", "hetero", "K8"])
def test_averaging_the_first_call_in_gains_a_little(kind):
    """At equal calls recovery is at least that with the first call kept apart, and not more than .02 above it."""
    found = differences(kind, range(12))
    se = found.std(ddof=1) / np.sqrt(len(found))
    assert -2 * se < found.mean() < 0.02


FOLDER = Path(__file__).parents[2] / "benchmarks"

LEAST = {"pilot": 0.005, "one_model": 0.006}
"""What is gained over OCBA-EB at 5 and 6 mean calls, in recovery."""


@pytest.fixture(scope="module")
def bench():
    """Return the benchmark of redraws, whose contenders are written apart from the package."""
    sys.path.insert(0, str(FOLDER))
    try:
        import redraws  # noqa: PLC0415 - no package holds it
    finally:
        sys.path.remove(str(FOLDER))
    return redraws


@pytest.fixture(scope="module", params=["pilot", "one_model"])
def preset(request):
    """Return the name of a simulated population."""
    return request.param


def test_stored_draws(bench, shared, preset):
    """The contenders spend and recover what is known of them, and value of information is not below any of them."""
    found = bench.on_stored(bench.stored(shared / "data" / "simulated", preset), orders=1)
    others = {row["rule"]: row for row in found["others"]}
    once, again = others["the paper's rule"], others["the paper's rule, re-picking"]
    calls, recovery = {"pilot": ((7.68, 7.86), (0.143, 0.154)), "one_model": ((7.24, 7.26), (0.283, 0.292))}[preset]
    assert (once["calls"], again["calls"]) == pytest.approx(calls, abs=0.1)
    assert (once["recovery"]["mean"], again["recovery"]["mean"]) == pytest.approx(recovery, abs=0.015)
    for row in found["others"]:
        if "difference" in row:
            assert row["difference"]["mean"] > -2 * row["difference"]["se"]
    for row in found["rows"]:
        difference = row["difference"]
        assert difference["mean"] > -2 * difference["se"]


def test_gains_over_a_few_pilots(bench, preset):
    """On fresh prompts the gain over OCBA-EB is not refuted: the full run's floor lies within three errors."""
    found = bench.on_pilots(preset, pilots=2, prompts=8_000, seed=400)
    for row in found["rows"]:
        least = LEAST[preset] if row["asked"] <= 6 else 0.0
        assert row["gain"] > least - 3 * row["se"]


@pytest.mark.slow
def test_gains_over_many_pilots(bench, preset):
    """Over 12 pilots of 500 the mean gain reaches its floor at 5 and 6 calls, and above is not below 0."""
    found = bench.on_pilots(preset, pilots=12, prompts=200_000, seed=2026)
    for row in found["rows"]:
        if row["asked"] <= 6:
            assert row["gain"] >= LEAST[preset]
        else:
            assert row["gain"] > -2 * row["se"]


def test_laws_of_scatter(bench):
    """Thinned: behind no rule where draws are exchangeable, and ahead where levels scatter differently."""
    for law, least in (("gaussian", -0.002), ("scatter by level", 0.0)):
        for row in bench.on_law(law, pilots=2, prompts=1500, seed=3)["rows"]:
            assert row["ahead"] > least - 3 * row["se"], (law, row)


@pytest.mark.slow
def test_laws_of_scatter_in_full(bench):
    """Over fourteen laws, five pilots each: behind by .002 and two errors at most, and ahead of each on the mean."""
    rows = [row for law in bench.LAWS for row in bench.on_law(law, pilots=5, prompts=12_000, seed=2026)["rows"]]
    assert len(rows) == 14 * 3 * 4
    assert all(row["ahead"] >= -0.002 - 2 * row["se"] for row in rows)
    for rival in bench.RIVALS:
        assert np.mean([row["ahead"] for row in rows if row["rival"] == rival]) >= 0


def test_halving_by_hand(bench):
    """Four candidates, eight calls: one call each, two more for the better two; the better mean of three stays."""
    draws = np.array([[[0.9, 0.1, 0.1], [0.8, 0.7, 0.7], [0.2, 1.0, 1.0], [0.1, 1.0, 1.0]]])
    picked = bench.halving(draws, 8)
    assert picked.calls.tolist() == [8.0]
    assert picked.top.tolist() == [[False, True, False, False]]


def test_the_contenders_by_hand(bench):
    """Two pools worked out by hand: the paper's pair is chosen once or anew, and uniform draws are averaged."""
    close = [[0.8, 0.4, 0.4], [0.8, 0.9, 0.9], [0.78, 0.9, 0.9]]
    apart = [[0.9, 0.0, 0.0], [0.5, 0.0, 0.0], [0.5, 0.0, 0.0]]
    draws = np.array([close, apart])
    once, again = (bench.paper(draws, repick=repick) for repick in (False, True))
    assert once.calls.tolist() == [5.0, 3.0]
    assert once.top.tolist() == [[False, True, False], [True, False, False]]
    assert again.calls.tolist() == [7.0, 3.0]
    assert again.top.tolist() == [[False, True, False], [True, False, False]]
    assert bench.uniform(draws, 3).top[0].tolist() == [False, True, False]
