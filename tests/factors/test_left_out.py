"""Models that are predicted without their human ratings, and the trait that judges miss."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bonwise as bw
from bonwise.errors import UsageError
from bonwise.factors.leaderboards import LeftOutModel, compare_left_out, left_out_part, unseen_trait, variance_at
from bonwise.factors.posterior_draws import PosteriorDraws
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.result_models import LeftOutRow
from bonwise.stats.ordinal_ratings import CutoffLayout, category_probabilities
from bonwise.testing import simulate_ratings
from cli.commands import typed
from factors.test_fit import QUICK, compared, frame


def points_of(drawn, cutoffs, models, prompts):
    """Return draws of one skill with the same cutoffs in all."""
    return PosteriorDraws(np.array(models, dtype=float), np.array(prompts, dtype=float), np.tile(cutoffs, (drawn, 1)))


def rated(rows, size, models, prompts, *, pairs=False):
    """Return the human's ratings, rows of prompt, model, opponent and rating."""
    prompt, model, opponent, rating = np.array(rows, dtype=np.int64).T
    human = np.zeros(len(rows), dtype=np.int64)
    layout = CutoffLayout((size,), (pairs,))
    return RatingArrays(human, prompt, model, opponent, rating, np.ones(len(rows)), layout, prompts, models)


def test_a_left_out_model_worked_by_hand():
    """Four answers at 0 with a cutoff at 0, of which three are rated 1: predicted 0.5 each, and 0.75 in truth.

    The offset d has 3 - 4 sigma(d) = 0.1 d; residuals of 0.25 and -0.75 in four prompts have the norm 0.866.
    """
    draws = points_of(2, [0.0], np.zeros((2, 3, 1)), np.ones((2, 4, 1)))
    rows = [(prompt, 1, -1, int(prompt > 0)) for prompt in range(4)]
    found = compare_left_out(draws, rated(rows, 2, 3, 4), [0, 1], ["a", "b", "c"], 1, "law")
    share = 1 / (1 + np.exp(-found.row.offset))
    assert (found.row.model, found.row.category, found.row.ratings) == ("b", "law", 4)
    assert (found.row.predicted, found.row.se, found.row.truth) == pytest.approx((0.5, 0, 0.75))
    assert found.row.truth_se == pytest.approx(0.75**0.5 / 4)
    assert 3 - 4 * share == pytest.approx(0.1 * found.row.offset, abs=1e-9)
    assert found.row.offset_se == pytest.approx((4 * share * (1 - share) + 0.1) ** -0.5)
    assert found.slope == pytest.approx(0.25)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_plain_loops_find_the_same_left_out_model(seed, pairs):
    """Draw by draw and rating by rating, the offset by halving intervals."""
    rng = np.random.default_rng(seed)
    cutoffs = np.array([-0.7, 0.7]) if pairs else np.sort(rng.standard_normal(2))
    draws = points_of(3, cutoffs, rng.standard_normal((3, 3, 2)), rng.standard_normal((3, 5, 2)))
    rows = [(p, *(rng.permutation(3)[:2] if pairs else (rng.integers(3), -1)), rng.integers(3)) for p in range(5)]
    rows += [(0, 1, 0 if pairs else -1, 2), (1, *((2, 1) if pairs else (1, -1)), 0)]
    worth = [-1, 0, 1] if pairs else [1.0, 2.0, 4.0]
    found = compare_left_out(draws, rated(rows, 3, 3, 5, pairs=pairs), worth, ["a", "b", "c"], 1)
    turned = [
        (p, -1 if o < 0 else o, r) if m == 1 else (p, m, 2 - r) for p, m, o, r in rows if 1 in (m, o)
    ]  # fmt: skip

    def chances(eta):
        below = [0.0, *(1 / (1 + np.exp(eta - cutoffs))), 1.0]
        return np.diff(below)

    offsets, means, information, slopes = [], [], np.zeros(3), []
    for draw in range(3):
        t = draws.by_model[draw] @ draws.by_prompt[draw].T
        etas = [t[1, p] - (t[o, p] if o >= 0 else 0.0) for p, o, _ in turned]

        def slope(offset, etas=etas):
            total = -0.1 * offset
            for eta, (_, _, r) in zip(etas, turned, strict=True):
                step = 1e-6
                total += np.log(chances(eta + offset + step)[r] / chances(eta + offset - step)[r]) / (2 * step)
            return total

        low, high = -30.0, 30.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) > 0 else (low, middle)
        offsets.append(low)
        means.append(np.mean([chances(eta) @ worth for eta in etas]))
        slopes += [(chances(eta + 1e-5) - chances(eta - 1e-5)) @ worth / 2e-5 for eta in etas]
        for eta, (_, o, r) in zip(etas, turned, strict=True):
            ends = [0.0, *(1 / (1 + np.exp(eta + low - cutoffs))), 1.0][r : r + 2]
            information[o if pairs else 1] += sum(end * (1 - end) for end in ends) / 3
    assert found.row.offset == pytest.approx(np.mean(offsets), abs=1e-4)
    assert (found.row.predicted, found.row.se) == pytest.approx((np.mean(means), np.std(means, ddof=1)))
    error = np.var(offsets, ddof=1) + 1 / (information.sum() + 0.1)
    assert found.row.offset_se == pytest.approx(error**0.5, abs=1e-4)
    assert found.slope == pytest.approx(np.mean(slopes), abs=1e-4)
    assert found.row.truth == pytest.approx(np.mean([worth[r] for _, _, r in turned]))
    if pairs:
        assert found.information == pytest.approx(information, abs=1e-4)
    else:
        assert not found.information.any()


def offset_rows(offsets, errors, category=""):
    """Return models of a human who rates one, with these offsets and errors."""
    rest = {"category": category, "ratings": 9, "predicted": 0.0, "se": 0.1, "low": 0.0, "high": 0.0}
    return [
        LeftOutModel(
            LeftOutRow(
                model=f"m{at}", **rest, truth=float(at), truth_se=0.1, offset=float(offset), offset_se=float(error)
            ),
            at,
            0.2,
            np.zeros(len(offsets)),
        )
        for at, (offset, error) in enumerate(zip(offsets, errors, strict=True))
    ]


def test_an_unseen_trait_worked_by_hand():
    """Offsets 1, -2 and 2 with errors 1, 1 and 2 give 1 + 4 + 1; the variance t has 5 / (1 + t) + 4 / (4 + t) = 3."""
    assert variance_at(2.0, np.array([1.0, 3.0]), np.ones(2)) == pytest.approx(4)
    assert variance_at(2.0, np.array([1.0, 1.0]), np.ones(2)) == 0
    trait = unseen_trait(offset_rows([1, -2, 2], [1, 1, 2], "law"), 0)
    assert trait.statistic == pytest.approx(6)
    assert trait.p == pytest.approx(stats.chi2.sf(6, 3), abs=0.008)
    assert trait.sd == pytest.approx((5**0.5 - 1) ** 0.5)
    assert trait.sd_low == 0 < trait.sd < trait.added_sd < trait.sd_high
    far = unseen_trait(offset_rows([3, -3, 3, -3], [1e-6] * 4), 0)
    assert far.added_sd == pytest.approx(
        3 * (4 * np.mean(1 / stats.chi2.ppf((np.arange(200) + 0.5) / 200, 4))) ** 0.5
    )
    part = left_out_part(offset_rows([3, -3], [1, 1]), 0.95, 0)
    assert part.trait is None
    assert (part.slope, part.same_side, part.inside) == (None, 1, 1)
    assert part.rmse == pytest.approx(0.5**0.5)


def traits_found(sets, sd, seed):
    """Return how often a trait is found in simulated offsets, and how often intervals hold it and a further model."""
    rng, count, hits = np.random.default_rng(seed), 6, []
    for _ in range(sets):
        errors, trait = rng.uniform(0.2, 0.5, count), sd * rng.standard_normal(count + 1)
        own = trait[:-1] - (trait[:-1].sum() - trait[:-1]) / (count - 1)
        found = unseen_trait(offset_rows(own + errors * rng.standard_normal(count), errors), 0)
        new = trait[-1] - trait[:-1].mean()
        hits.append((found.p <= 0.05, abs(new) <= 1.96 * found.added_sd, found.sd_low <= sd * 1.2 <= found.sd_high))
    return np.mean(hits, axis=0), found.detectable


def test_simulated_traits_are_found_as_often_as_the_test_says():
    """Rarely where there is none; mostly where it is large; and a further model lies in the interval."""
    (false, _, _), detectable = traits_found(40, 0.0, 1)
    assert false <= 0.15
    (power, covered, held), _ = traits_found(40, detectable, 2)
    assert 0.6 <= power <= 0.97
    assert covered >= 0.85
    assert held >= 0.85


@pytest.mark.slow
def test_many_simulated_traits():
    """The level is 0.05, the power near 0.8, and the interval of a further model mostly holds it."""
    (false, _, _), detectable = traits_found(600, 0.0, 3)
    assert 0.03 <= false <= 0.075
    (power, covered, held), _ = traits_found(600, detectable, 4)
    assert 0.72 <= power <= 0.92
    assert covered >= 0.9
    assert held >= 0.92


def with_traits(seed, sd):
    """Return ratings where people see a trait in each of five models, the last unrated, and its true mean rating."""
    drawn, rng = (
        simulate_ratings(seed, prompts=100, models=5, judges=6, labelled=0.5),
        np.random.default_rng([seed, 7]),
    )
    eta = drawn.capabilities[0] + sd * rng.standard_normal(5)
    human = (eta[..., None] + rng.logistic(size=(*eta.shape, 1)) > drawn.cutoffs[0]).sum(axis=2)
    ratings = drawn.frame()
    own = ratings["rater"] == "human"
    prompt, model = (ratings[name].str[1:].astype(int)[own] for name in ("prompt_id", "model"))
    ratings.loc[own, "rating"] = human[prompt, model] + 1
    above = 1 / (1 + np.exp(drawn.cutoffs[0] - eta[..., None]))
    return ratings[~own | (ratings["model"] != "m4")], 1 + above[:, 4].sum(axis=1).mean()


@pytest.mark.slow
@pytest.mark.parametrize("sd", [0.0, 0.7])
def test_models_that_people_see_otherwise_than_judges(sd):
    """Whole fits: no trait is found where there is none, and the unrated model's interval mostly holds its mean."""
    found, held, inside = [], [], []
    for seed in range(10):
        ratings, truth = with_traits(seed, sd)
        fitted = bw.fit_factors(ratings, human="human", rank=3, prior=1.0, restarts=1)
        document = fitted.predict(leave_one_out=True)
        row = next(row for row in document.models if row.model == "m4")
        found.append(document.left_out.trait.p <= 0.05)
        held.append(row.low <= truth <= row.high)
        inside += [row.low <= row.truth <= row.high for row in document.left_out.rows]
    assert sd > 0 or np.mean(found) <= 0.2
    assert np.mean(held) >= 0.8
    assert np.mean(inside) >= 0.9


def test_an_error_on_all_prompts_is_added_to_some_models(left_out):
    """Its standard deviation is what was asked; other models, and the mean, stay; categories see the same error."""
    draws = left_out.view.draws
    wide = draws.widened(np.array([2]), 0.5, np.random.default_rng(0))
    added = wide.capabilities() - draws.capabilities()
    assert np.abs(added[:, [0, 1, 3, 4]]).max() < 1e-12
    assert np.ptp(added[:, 2], axis=1).max() < 1e-12
    assert added[:, 2, 0].std(ddof=1) == pytest.approx(0.5)
    assert added[:, 2, 0].mean() == pytest.approx(0, abs=1e-12)


@pytest.fixture(scope="module")
def left_out():
    """Return a fit in which every model but the last has human ratings, and models and categories were left out."""
    ratings = frame(models=5)
    unseen = ratings[(ratings["rater"] != "human") | (ratings["model"] != "m4")]
    return bw.fit_factors(unseen, human="human", interval="propagated", leave_one_out=True, **QUICK)


def test_models_and_categories_are_left_out_in_turn(left_out):
    """Each row is that of a fit without those ratings, the truth that of the ratings."""
    ratings = frame(models=5)
    own = ratings[(ratings["rater"] == "human") & (ratings["model"] != "m4")]
    document = left_out.predict(leave_one_out=True)
    models, categories = document.left_out.rows, document.left_out_categories.rows
    truth = own.groupby("model")["rating"].mean()
    assert {row.model: row.truth for row in models} == pytest.approx(truth.to_dict())
    assert sum(row.ratings for row in models) == sum(row.ratings for row in categories) == len(own)
    assert {(row.model, row.category) for row in categories} == {
        (f"m{at}", name) for at in range(4) for name in ("even", "odd")
    }
    without = ratings[(ratings["rater"] != "human") | ~ratings["model"].isin(["m1", "m4"])]
    view = bw.fit_factors(without, human="human", interval="propagated", **QUICK).view
    row = next(row for row in models if row.model == "m1")
    rated_prompts = [view.prompts.index(name) for name in own[own["model"] == "m1"]["prompt_id"]]
    # Its own draws have what judges miss on top, which is 0 on average.
    eta = view.draws.capabilities(rated_prompts)[:, 1].mean(axis=0)
    expected = category_probabilities(eta, view.draws.cutoffs.mean(axis=0)) @ np.array(view.points)
    assert row.predicted == pytest.approx(expected.mean(), abs=0.15)
    assert row.high - row.low > 2 * 1.96 * row.se


def test_an_unrated_model_is_as_uncertain_as_the_rated_ones_were_off(left_out, tmp_path):
    """Its interval counts what judges miss on all prompts, on one and in a category, also in what was saved."""
    trait = left_out.view.trait
    plain = left_out.view.draws.capabilities()[:, 4] - left_out.view.draws.by_model[:, 4, -1:]
    wide = left_out.view.draws.capabilities()[:, 4]
    assert wide.std(axis=0, ddof=1).mean() > plain.std(axis=0, ddof=1).mean()
    assert left_out.view.draws.by_model[:, 4, -1].std(ddof=1) == pytest.approx(trait.added_sd)
    assert not left_out.view.draws.by_model[:, :4, -1].any()
    assert left_out.view.skills.shape[2] == 1
    assert left_out.leaderboard(category="odd").cohesion.share == pytest.approx(1)
    assert f"{trait.added_sd:.2f} logits" in left_out.predict().notes[0]
    left_out.view.save(tmp_path / "fit.json")
    assert bw.load_factors(tmp_path / "fit.json").trait == trait
    tags = pd.DataFrame({"prompt_id": left_out.view.prompts, "long": np.arange(60) % 3 == 0})
    explained = left_out.explain("m4", "m0", prompts=tags, tags=["long"])
    assert explained.constant.se > trait.added_sd > 0


def test_truth_against_prediction_is_shown(left_out, tmp_path):
    """The terminal has the models and what the test found, the page a figure of both with its numbers."""
    document = left_out.predict(leave_one_out=True)
    trait = document.left_out.trait
    whole = " ".join(document.to_text(full=True).split())
    assert "of 4 predictions agree with the truth" in whole
    assert ("No trait is shown that judges miss" if trait.p > 0.05 else "People see a trait") in whole
    figures = {figure.key: figure for figure in document.drawings}
    rows = list(figures["factor-left-out-model"].data.rows())
    assert [row["truth"] for row in rows] == [row.truth for row in document.left_out.rows]
    assert len(list(figures["factor-left-out-category"].data.rows())) == 8
    document.to_html(tmp_path / "page.html")
    assert "truth, with two standard errors" in (tmp_path / "page.html").read_text("utf-8")


def test_leaving_out_one_of_two_compared_models_is_refused(capsys, tmp_path, monkeypatch):
    """Without one of two models no comparison is left: the fit says so, whether prompts have categories or not."""
    monkeypatch.chdir(tmp_path)
    ratings = compared(prompts=60)
    two = ratings[ratings["model"].isin(["gpt"]) & ratings["opponent"].isin(["llama"])]
    second = two[two["rater"] == "judge"].assign(rater="second", rating="model")
    second.loc[second.index[::3], "rating"] = "opponent"
    two = pd.concat([two, second])
    for table in (two, two.assign(category=np.where(two["prompt_id"].str[-1] < "5", "low", "high"))):
        with pytest.raises(UsageError, match="leaving a model out leaves fewer than 20 human ratings") as refused:
            bw.fit_factors(table, human="people", leave_one_out=True, **QUICK)
        assert "at least 3 models" in refused.value.hint
    two.to_csv("two.csv", index=False)
    flags = ("--human", "people", "--rank", "1", "--prior", "1", "--save", "fit.json")
    assert typed(capsys, "factor", "fit", "two.csv", *flags, "--leave-one-out").code == 2
    assert typed(capsys, "factor", "fit", "two.csv", *flags).code == 0
    assert "fit with leave_one_out=True" in typed(capsys, "factor", "predict", "fit.json", "--leave-one-out").err
