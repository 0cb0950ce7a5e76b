"""Signals of uncertainty: what they are of a table and of a pool, and which one is chosen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import UsageError
from bonwise.routing.control import FirstPass
from bonwise.routing.gain_model import fit_gain
from bonwise.routing.pool_features import disagreement, pool_features
from bonwise.routing.signals import DRAW_FEATURES, SIGNALS, find_signal, fit_signal, live_features, live_signal
from bonwise.table.verdicts import Score, Unscored
from routing.route_laws import by_chance, is_shown, table, tried, unlearnt


def features(n, *, width=True, draws=True, seed=0):
    """Return the features of n pools of three candidates."""
    rng = np.random.default_rng(seed)
    scores = rng.choice([0.5, 0.6, 0.7, 0.8], size=3 * n)
    several = np.clip(scores[:, None] + rng.normal(0, 0.05, (3 * n, 3)), 0, 1) if draws else None
    return pool_features(scores, np.full(n, 3), rng.uniform(0, 0.3, 3 * n) if width else None, several)


def gains(n, labelled, seed=1):
    """Return gains of which the first ones are known."""
    return np.where(np.arange(n) < labelled, np.random.default_rng(seed).exponential(0.1, n), np.nan)


def test_higher_always_means_send_on():
    """A small margin, a wide interval, scattered draws, disagreement and doubt all raise their signals."""
    two = np.array([0.1, 0.4])
    rising = {
        name: np.diff(SIGNALS[name].value(dict.fromkeys(SIGNALS[name].needs, two)))[0] > 0
        for name in ("margin", "interval_width", "draw_sd", "disagreement", "p_best")
    }
    assert rising == {"margin": False, "interval_width": True, "draw_sd": True, "disagreement": True, "p_best": False}


def test_a_missing_feature_is_one_clear_error():
    """A signal without its feature names what is lacking and how to get it."""
    with pytest.raises(UsageError, match="interval_width needs intervals") as caught:
        SIGNALS["interval_width"].value({"margin": np.zeros(2)})
    assert "low and high" in caught.value.hint


def test_a_learnt_signal_needs_its_model():
    """Without a model there is no expected gain, and the hint says how to get one."""
    with pytest.raises(UsageError, match="learnt") as caught:
        SIGNALS["expected_gain"].value(features(2))
    assert "bonwise route" in caught.value.hint


def test_an_unknown_signal_lists_the_known_ones():
    """A wrong name is answered with the right ones."""
    with pytest.raises(UsageError, match="nonsense") as caught:
        find_signal("nonsense")
    assert "expected_gain" in caught.value.hint


def test_few_labels_teach_softly():
    """From 20 labels on everything at hand is looked at; below that more labels are asked for."""
    fitted = fit_signal("expected_gain", features(200), gains(200, 20))
    assert set(DRAW_FEATURES) <= set(fitted.model.names)
    assert not np.isnan(fitted.value(features(5))).any()
    with pytest.raises(UsageError, match="19 labelled prompts are fewer than the 20"):
        fit_signal("margin_level", features(50, width=False), gains(50, 19))


def test_the_expected_gain_looks_at_whatever_is_there():
    """Width, disagreement and draws are used where given; P(best) is a signal of its own, not a feature."""
    known = {**features(120), "disagreement": np.random.default_rng(0).uniform(size=120)}
    names = fit_signal("expected_gain", known, gains(120, 120)).model.names
    assert {"width", "disagreement", *DRAW_FEATURES} <= set(names)
    assert "p_best" not in names


OWN = ("margin", "interval_width", "draw_sd", "p_best", "disagreement")
"""Signals that a pool has by itself."""

LEVELS = st.sampled_from([0.1, 0.3, 0.5, 0.7])


def signal(name, verdicts, **more):
    """Return a signal of one pool and why there is none."""
    return live_signal(FirstPass(verdicts, **more), SIGNALS[name].needs, SIGNALS[name].value)


@st.composite
def scores(draw):
    """Make a verdict: a score with or without an interval and draws, or none."""
    if draw(st.integers(0, 5)) == 0:
        return Unscored("empty answer")
    value = draw(LEVELS)
    ends = {"low": value - draw(LEVELS), "high": value + draw(LEVELS)} if draw(st.booleans()) else {}
    return Score(value, draws=tuple(draw(st.lists(st.none() | LEVELS, max_size=4))), **ends)


def cells(pools):
    """Return what a table of these pools holds: scores, sizes, widths and draws, NaN where there is none."""
    flat = [one if isinstance(one, Score) else None for pool in pools for one in pool]
    blank = math.nan
    values = [blank if one is None else one.value for one in flat]
    widths = [blank if one is None or one.width is None else one.width for one in flat]
    draws = np.full((len(flat), 4), blank)
    for row, one in zip(draws, flat, strict=True):
        for at, value in enumerate(() if one is None else one.draws):
            row[at] = blank if value is None else value
    return np.array(values), np.array([len(pool) for pool in pools]), np.array(widths), draws


@given(st.lists(st.tuples(st.lists(scores(), min_size=2, max_size=4), st.integers(0, 2**30)), min_size=1, max_size=5))
def test_a_pool_has_the_signal_that_a_study_of_the_table_gives_it(drawn):
    """Each signal of a single pool equals that of the table which holds it, and is None where that is NaN."""
    pools = [pool for pool, _ in drawn]
    others = [[Score(seed * (at + 3) % 7 / 7) for at in range(len(pool))] for pool, seed in drawn]
    values, sizes, widths, draws = cells(pools)
    table = pool_features(values, sizes, widths, draws)
    table["disagreement"] = disagreement(values, sizes, [cells(others)[0]])
    for name in OWN:
        expected = SIGNALS[name].value(table)
        for pool, other, one in zip(pools, others, expected, strict=True):
            found, why = signal(name, pool, others=[other])
            assert (found is None) == bool(why) == bool(np.isnan(one))
            assert found is None or found == pytest.approx(one, abs=1e-9)


def test_a_learnt_signal_is_its_model_of_the_features():
    """A model of the gain says of a pool what it says of that pool in a table."""
    rng = np.random.default_rng(0)
    values, sizes = rng.random(400), np.full(100, 4)
    table = pool_features(values, sizes, rng.random(400), None)
    model = fit_gain({name: table[name] for name in ("margin", "width")}, rng.random(100))
    pool = [Score(value, low=value - 0.1, high=value + 0.2) for value in (0.2, 0.9, 0.4)]
    found, why = live_signal(FirstPass(pool), model.names, model.predict)
    assert not why
    expected = model.predict({"margin": np.array([0.5]), "width": np.array([0.3])})[0]
    assert found == pytest.approx(expected)


def test_what_a_strategy_knows_of_the_best_goes_before_the_draws():
    """The posterior of a strategy is used where it has one; without one the draws are."""
    verdicts = [Score(0.5, draws=(0.5, 0.6)), Score(0.7, draws=(0.7, 0.8))]
    assert signal("p_best", verdicts, p_best=(0.25, 0.75)) == (0.25, "")
    from_draws, _ = signal("p_best", verdicts)
    assert 0 < from_draws < 0.1
    assert signal("p_best", verdicts, p_best=(None, None))[0] == from_draws


@pytest.mark.parametrize(
    ("name", "verdicts", "why"),
    [
        ("margin", [], "nothing was scored"),
        ("margin", [Unscored("empty answer")] * 3, "nothing was scored"),
        ("margin", [Score(0.5), Unscored("empty answer")], "only one candidate was scored"),
        ("margin", [Score(1e308), Score(-1e308)], "the feature margin is unknown"),
        ("interval_width", [Score(0.5), Score(0.7)], "no score came with an interval"),
        ("interval_width", [Score(0.5, low=0.1), Score(0.7)], "no score came with an interval"),
        ("draw_sd", [Score(0.5), Score(0.7)], "no score came with repeated draws"),
        ("p_best", [Score(0.5), Score(0.7)], "the probability of being the best is unknown"),
        ("disagreement", [Score(0.5), Score(0.7)], "no second judge scored two candidates"),
    ],
)
def test_a_signal_that_is_absent_says_why(name, verdicts, why):
    """Where a pool has no signal the reason is said in plain words, and nothing is made up for it."""
    assert signal(name, verdicts) == (None, why)


def test_the_first_draw_counts_where_the_study_took_it():
    """A candidate drawn several times has the mean of its draws or the first of them; drawn once, its score."""
    pool = [Score(0.6, draws=(0.9, 0.3)), Score(0.5), Score(0.2, draws=(None, 0.2))]
    top, level = (
        {kind: live_features(FirstPass(pool), [name], kind)[name][0] for kind in ("score", "draw_0")}
        for name in ("top", "level")
    )
    assert top == {"score": 0.6, "draw_0": 0.9}
    assert level == pytest.approx({"score": 1.3 / 3, "draw_0": 0.7})


def test_equal_widths_tie_to_the_last_bit():
    """Intervals of the same width have the same signal wherever they lie on the scale."""
    found = {
        signal("interval_width", [Score(at / 50, low=at / 50 - 0.03, high=at / 50 + 0.03)] * 2) for at in range(50)
    }
    assert found == {(0.06, "")}


def test_a_signal_that_is_not_finite_is_none():
    """What a model makes of features may be no number: then there is no signal."""
    found = live_signal(FirstPass([Score(0.5), Score(0.7)]), ["margin"], lambda _: np.array([math.inf]))
    assert found == (None, "the signal is not finite")


def test_features_are_those_asked_for():
    """Widths, draws and other judges are looked at where a signal needs them."""
    first = FirstPass([Score(0.5, low=0.4, high=0.6, draws=(0.5, 0.6)), Score(0.7)], [[Score(0.1), Score(0.2)]])
    plain = set(live_features(first, ["margin"]))
    assert plain == {"top", "level", "spread", "margin", "tied"}
    assert set(live_features(first, ["width"])) - plain == {"width"}
    assert "draw_sd_mean" in live_features(first, ["draw_sd_mean"])
    assert live_features(first, ["disagreement"])["disagreement"].tolist() == [0.0]


# The rule that chooses the signal, tried on prompts that no router was fitted to.


FITTED_TO = (100, 150, 500, 1500)

# Part of the possible lift captured at 25 % on other prompts: by the expected gain fitted to as many labelled prompts
# as FITTED_TO says, by the margin, by the interval width.
PUBLISHED = {
    "informative": ((0.293, 0.298, 0.323, 0.330), 0.154, 0.278),
    "noise": ((0.128, 0.136, 0.167, 0.180), 0.154, 0.009),
}
# The published figures rest on 12,000 other prompts, which alone moves them by .010 to .013; 40,000 prompts by .007.
ERROR = 0.04
OWN_OF_SIGNAL_CHOICE = ("binary", "sure where wrong")


def noise_of(values):
    """Return the standard error of a mean over samples."""
    return values.std() / np.sqrt(len(values))


def check_captured(law, prompts, found):
    """Compare what the recommended router and the unlearnt signals capture with the published table."""
    learnt, margin, width = PUBLISHED[law]
    captured = found[:, 0]
    expected = learnt[FITTED_TO.index(prompts)]
    assert captured.mean() == pytest.approx(expected, abs=ERROR + 3 * noise_of(captured))
    assert captured.mean() > margin - 0.04 - 3 * noise_of(captured)
    assert unlearnt(law, "margin") == pytest.approx(margin, abs=ERROR)
    assert unlearnt(law, "interval_width") == pytest.approx(width, abs=ERROR)


def check_claim(found):
    """Check that the interval claimed does not lie above what the router captures on other prompts, beyond noise."""
    captured, claimed, low = found.T
    assert claimed.mean() > 0.55 * captured.mean()
    assert np.mean(low > captured) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(found))


@pytest.mark.parametrize("law", PUBLISHED)
@pytest.mark.parametrize("prompts", [100, 500])
def test_the_recommended_router_captures_what_was_published(law, prompts):
    """With widths that know the noise and with widths that do not: 10 studies."""
    check_captured(law, prompts, tried(law, prompts, 10))


@pytest.mark.slow
@pytest.mark.parametrize("law", PUBLISHED)
@pytest.mark.parametrize("prompts", FITTED_TO)
def test_the_recommended_router_captures_what_was_published_in_full(law, prompts):
    """The same with 150 studies, and what they claim."""
    found = tried(law, prompts, 150 if prompts < 1000 else 60)
    check_captured(law, prompts, found)
    check_claim(found)


@pytest.mark.parametrize("law", OWN_OF_SIGNAL_CHOICE)
def test_the_rule_holds_on_laws_that_nobody_tuned_it_to(law):
    """Tied binary labels without widths, and widths that mislead: better than the margin and than the width."""
    found = tried(law, 500, 10)
    assert found[:, 0].mean() > unlearnt(law, "margin") + 0.04
    assert law == "binary" or unlearnt(law, "interval_width") < -0.2


@pytest.mark.slow
@pytest.mark.parametrize("law", OWN_OF_SIGNAL_CHOICE)
@pytest.mark.parametrize("prompts", FITTED_TO)
def test_the_rule_holds_on_laws_that_nobody_tuned_it_to_in_full(law, prompts):
    """The same from 100 labelled prompts on, with 150 studies, and what they claim."""
    found = tried(law, prompts, 150 if prompts < 1000 else 60)
    assert found[:, 0].mean() > unlearnt(law, "margin")
    check_claim(found)


@pytest.mark.parametrize(
    ("kind", "prompts", "tables"),
    [
        ("uniform", 100, 30),
        *(
            pytest.param(kind, n, 300, marks=pytest.mark.slow)
            for kind in ("uniform", "binary", "skewed")
            for n in (100, 300)
        ),
    ],
)
def test_where_no_signal_carries_anything_none_is_recommended(kind, prompts, tables):
    """At most one in twenty tables shows a lift by the best signal; with the choice uncounted many more do."""
    found = np.array([is_shown(by_chance(prompts, at, kind=kind)) for at in range(tables)])
    shown, naive = found.sum(axis=0)
    print(f"{kind}, {prompts} prompts: {shown} of {tables} shown, {naive} with no choice counted")  # noqa: T201
    assert shown <= max(0.05 * tables, 3)
    assert shown <= naive


@pytest.mark.parametrize(
    ("law", "prompts", "tables", "least"),
    [
        ("informative", 300, 10, 0.7),
        *(
            pytest.param(law, n, 100, least, marks=pytest.mark.slow)
            for law, n, least in (
                ("informative", 150, 0.4),
                ("informative", 500, 0.95),
                ("sure where wrong", 300, 0.5),
            )
        ),
    ],
)
def test_where_a_signal_carries_something_it_is_shown(law, prompts, tables, least):
    """The power of the verdict, which the choice costs little of."""
    power = np.mean([is_shown(table(law, prompts, 5, at))[0] for at in range(tables)])
    print(f"{law}, {prompts} prompts: power {power:.2f}")  # noqa: T201
    assert power >= least


SCORE = st.one_of(st.none(), st.sampled_from([0.0, 0.1 + 0.2, 0.3, 0.5, 0.7, 1 - 0.3, 0.85, 1.0]))
POOL = st.lists(SCORE, min_size=1, max_size=5)
POOLS = st.lists(POOL, min_size=1, max_size=6)


def cells_of_pool_features(pools):
    """Return pools of values, None for none, as one array of cells and the sizes."""
    flat = [np.nan if value is None else value for pool in pools for value in pool]
    return np.array(flat, dtype=float), np.array([len(pool) for pool in pools])


def by_hand(pool):
    """Compute the features of one pool in plain Python."""
    known = sorted((round(value, 9) for value in pool if value is not None), reverse=True)
    if len(known) < 2:
        return dict.fromkeys(("top", "level", "spread", "margin", "tied"), math.nan)
    level = sum(known) / len(known)
    return {
        "top": known[0],
        "level": level,
        "spread": math.sqrt(sum((value - level) ** 2 for value in known) / len(known)),
        "margin": round(known[0] - known[1], 9),
        "tied": float(known.count(known[0])),
    }


@given(POOLS)
def test_the_features_equal_those_of_plain_loops(pools):
    """Each feature of ragged pools with blank cells is what a plain loop finds."""
    found = pool_features(*cells_of_pool_features(pools))
    for x, pool in enumerate(pools):
        for name, value in by_hand(pool).items():
            assert found[name][x] == pytest.approx(value, abs=2e-9, nan_ok=True), name


@given(POOLS, st.randoms())
def test_a_pool_alone_has_the_same_features_to_the_bit(pools, random):
    """What one pool's features are does not depend on the other pools at hand."""
    scores, sizes = cells_of_pool_features(pools)
    draws = np.array([[s, min(1.0, s + random.choice([0, 0.05])), s] for s in scores])
    together = pool_features(scores, sizes, scores / 2, draws)
    ends = np.cumsum(sizes)
    for x, (end, size) in enumerate(zip(ends, sizes, strict=True)):
        some = slice(end - size, end)
        alone = pool_features(scores[some], sizes[x : x + 1], scores[some] / 2, draws[some])
        assert {k: v[x] for k, v in together.items()} == pytest.approx(
            {k: v[0] for k, v in alone.items()}, nan_ok=True
        )


def test_tied_leaders_have_no_margin_and_share_the_top():
    """0.1 + 0.2 ties 0.3: the margin is 0 and two candidates share the top."""
    found = pool_features(np.array([0.1 + 0.2, 0.3, 0.1]), np.array([3]))
    assert (found["margin"][0], found["tied"][0], found["top"][0]) == (0.0, 2.0, 0.3)


def test_widths_are_averaged_over_the_candidates_that_have_one():
    """A blank width is left out; a prompt without any has none."""
    scores, sizes = np.array([0.5, 0.6, 0.5, 0.6]), np.array([2, 2])
    assert pool_features(scores, sizes, np.array([0.2, np.nan, np.nan, np.nan]))["width"].tolist() == pytest.approx(
        [0.2, np.nan], nan_ok=True
    )


def test_features_of_draws_by_hand():
    """Draws .4 .6 and .7 .7: deviations .141 and 0, means .5 and .7, margin .2, spread .1."""
    found = pool_features(np.array([0.4, 0.7]), np.array([2]), None, np.array([[0.4, 0.6], [0.7, 0.7]]))
    assert found["draw_sd_mean"][0] == pytest.approx(math.sqrt(0.02) / 2, abs=1e-9)
    assert found["draw_sd_max"][0] == pytest.approx(math.sqrt(0.02), abs=1e-9)
    assert (found["resampled_margin"][0], found["resampled_spread"][0]) == (0.2, 0.1)
    # The pooled variance is .01 and each mean rests on two draws: the difference has variance .01.
    assert found["p_best"][0] == pytest.approx(0.5 * math.erfc(-0.2 / math.sqrt(0.01) / math.sqrt(2)), abs=1e-6)


def test_one_draw_says_nothing_of_doubt_and_draws_that_agree_leave_only_the_tie():
    """P(best) is unknown after one draw; with draws that never scatter, leaders that tie share it."""
    one = pool_features(np.array([0.4, 0.7]), np.array([2]), None, np.array([[0.4], [0.7]]))
    assert np.isnan(one["p_best"][0])
    assert np.isnan(one["draw_sd_mean"][0])
    same = pool_features(np.array([0.7, 0.7]), np.array([2]), None, np.full((2, 3), 0.7))
    assert same["p_best"][0] == 0.5


@given(st.lists(st.lists(SCORE, min_size=2, max_size=4), min_size=1, max_size=4), st.randoms())
def test_disagreement_equals_plain_loops(pools, random):
    """1 minus the chance that two judges pick alike, averaged over the judges with a say."""
    others = [[random.choice([None, 0.2, 0.5, 0.9]) for _ in pool] for pool in pools for _ in range(2)]
    first, second = others[::2], others[1::2]
    found = disagreement(
        *cells_of_pool_features(pools), [cells_of_pool_features(first)[0], cells_of_pool_features(second)[0]]
    )
    for x, pool in enumerate(pools):
        same = [chance(pool, other) for other in (first[x], second[x])]
        known = [value for value in same if value is not None]
        expected = 1 - sum(known) / len(known) if known else math.nan
        assert found[x] == pytest.approx(expected, nan_ok=True)


def chance(mine, other):
    """Return the probability that two judges pick the same candidate, None where one has no say."""
    picks = []
    for pool in (mine, other):
        known = {i: round(value, 9) for i, value in enumerate(pool) if value is not None}
        if len(known) < 2:
            return None
        picks.append({i for i, value in known.items() if value == max(known.values())})
    return len(picks[0] & picks[1]) / (len(picks[0]) * len(picks[1]))
