from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.factors.figures import Places, prompt_map_figure
from bonwise.factors.pictures import gap_variances, information_of_judges, principal_places
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.ratings import RatingTable
from bonwise.factors.stage_one import CapabilityFactors, fit_capabilities
from bonwise.factors.view import describe
from bonwise.report.blocks import drawings_of
from bonwise.testing import simulate_ratings
from report.figures.painted import svg


@pytest.fixture(scope="module")
def fit():
    """Return a fit with two categories and two skills."""
    found = simulate_ratings(1, prompts=60, judges=4, labelled=0.5).frame()
    found = found.assign(category=np.where(found["prompt_id"].str[-1].isin(list("02468")), "even", "odd"))
    return bw.fit_factors(found, human="human", rank=2, prior=1.0, restarts=1)


def test_principal_axes_worked_by_hand():
    """Points on a line of slope 3 / 4, and one beside it."""
    places, axes, shares = principal_places(np.array([[4.0, 3.0], [-4.0, -3.0], [0.0, 0.0]]))
    assert axes[0] == pytest.approx([0.8, 0.6])
    assert places[:, 0] == pytest.approx([5, -5, 0])
    assert shares == pytest.approx([1, 0])


@given(st.integers(0, 10_000))
def test_principal_axes_are_those_of_the_covariance(seed):
    """The variance along each axis is an eigenvalue of the covariance, and distances are kept."""
    values = np.random.default_rng(seed).standard_normal((12, 4))
    places, axes, shares = principal_places(values)
    eigenvalues = np.linalg.eigvalsh(np.cov(values.T))[::-1]
    assert places.var(axis=0, ddof=1) == pytest.approx(eigenvalues)
    assert shares == pytest.approx(eigenvalues / eigenvalues.sum())
    assert all(axis[np.abs(axis).argmax()] > 0 for axis in axes)
    assert np.linalg.norm(places[0] - places[1]) == pytest.approx(np.linalg.norm(values[0] - values[1]))


def arrays(seed, prompts=6, judges=3):
    """Return judges' ratings and factors that go with them."""
    drawn = simulate_ratings(seed, prompts=prompts, judges=judges, labelled=0.5)
    data = RatingArrays.of(RatingTable.read(drawn.frame(), human="human")).without_human()
    rng = np.random.default_rng(seed)
    factors = CapabilityFactors(
        rng.standard_normal((data.raters, 2)),
        rng.standard_normal((prompts, 2)),
        rng.standard_normal((4, 2)),
        np.concatenate([np.sort(rng.standard_normal(size - 1)) for size in data.layout.sizes]),
        0.0,
    )
    return data, factors, rng.standard_normal(2)


def test_information_worked_by_hand():
    """One judge of weight 2, two models at 1 and -1, two categories with a cutoff at 0, a prompt at 0.

    Each rating adds 4 (1 / 4 + 0) = 1 to a precision of 1: a variance of 1 / 3, and of 1 without the judge. The gap
    of a human of weight 3 is 6 times the factor, so its variance is 12, or 36.
    """
    rows = [
        {"prompt_id": "p", "model": model, "rater": rater, "rating": rating}
        for rater in ("ann", "judge")
        for model, rating in (("a", 1), ("b", 0))
    ]
    data = RatingArrays.of(RatingTable.read(rows, human="ann")).without_human()
    factors = CapabilityFactors(np.array([[2.0]]), np.zeros((1, 1)), np.array([[1.0], [-1.0]]), np.zeros(1), 0.0)
    whole, without = gap_variances(data, factors, np.array([3.0]), 1.0)
    assert whole == pytest.approx([12])
    assert without == pytest.approx(np.array([[36]]))
    found = list(information_of_judges(["judge"], (np.repeat(whole, 4), np.repeat(without, 4, axis=1)), 0.95))
    assert found[0].growth.estimate == pytest.approx(2)
    assert found[0].growth.se == pytest.approx(0)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_plain_loops_find_the_same_variances(seed):
    """Row by row, pair of models by pair."""
    data, factors, weights = arrays(seed)
    whole, without = gap_variances(data, factors, weights, 0.5)
    starts = np.concatenate([[0], np.cumsum([size - 1 for size in data.layout.sizes])])
    for prompt in range(data.prompts):
        parts = {judge: np.zeros((2, 2)) for judge in range(data.raters)}
        for row in np.flatnonzero(data.prompt == prompt):
            judge = int(data.rater[row])
            cutoffs = [-np.inf, *factors.cutoffs[starts[judge] : starts[judge + 1]], np.inf]
            z = factors.raters[judge] * factors.models[data.model[row]]
            ends = [
                1 / (1 + np.exp(-(cutoffs[data.rating[row] + at] - z @ factors.prompts[prompt]))) for at in (0, 1)
            ]
            parts[judge] += sum(end * (1 - end) for end in ends) * np.outer(z, z)

        def variance(skip, found=parts):
            precision = 0.5 * np.eye(2) + sum(part for judge, part in found.items() if judge != skip)
            contrasts = [
                weights * (factors.models[a] - factors.models[b]) for a in range(4) for b in range(4) if a < b
            ]
            return np.mean([c @ np.linalg.solve(precision, c) for c in contrasts])

        assert whole[prompt] == pytest.approx(variance(None))
        assert without[:, prompt] == pytest.approx([variance(judge) for judge in range(data.raters)])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_judges_that_hardly_see_skills_add_less(seed):
    """In the simulation every third judge is nearly uninformative."""
    drawn = simulate_ratings(seed, prompts=250, judges=9)
    data = RatingArrays.of(RatingTable.read(drawn.frame(), human="human")).without_human()
    fitted = fit_capabilities(data, 3, restarts=1)
    whole, without = gap_variances(data, fitted, np.ones(3), 1.0)
    growth = without.mean(axis=1) / whole.mean() - 1
    assert (growth > 0).all()
    assert np.median(growth[:3]) < np.median(growth[3:])


def test_the_document_holds_what_a_page_draws(fit):
    """Cohesion is that of the leaderboards, every judge and every prompt has a row."""
    assert {one.category for one in fit.cohesion} == {"even", "odd"}
    for one in fit.cohesion:
        assert one.cohesion == fit.leaderboard(category=one.category).cohesion
        assert 0 < one.random <= 1
    assert {one.rater for one in fit.information} == {f"judge{at:02d}" for at in range(4)}
    growths = [one.growth.estimate for one in fit.information]
    assert growths == sorted(growths, reverse=True)
    assert len(fit.prompt_map.prompts) == 60
    assert fit.prompt_map.x.share > fit.prompt_map.y.share > 0


def test_the_drawings_have_axes_words_and_numbers(fit):
    """Every figure says in words what it shows, names its axes, and holds its numbers."""
    drawings = {one.key: one for one in drawings_of(describe(fit).blocks)}
    assert set(drawings) == {"factor-models", "factor-map", "factor-cohesion", "factor-judges"}
    for one in drawings.values():
        axes = one.plot()
        assert axes.get_xlabel()
        assert one.says.endswith(".")
        assert len(one.to_frame()) >= 2
    assert drawings["factor-map"].plot().get_ylabel().startswith("axis 2 (")
    assert list(drawings["factor-map"].to_frame().columns) == ["prompt_id", "category", "x", "y"]


def test_pictures_are_absent_where_they_say_nothing():
    """One skill makes no map, one judge adds everything, ratings without categories have no cohesion."""
    found = simulate_ratings(1, prompts=60, judges=1, labelled=0.5).frame()
    document = bw.fit_factors(found, human="human", rank=1, prior=1.0, restarts=1, interval="fixed")
    assert (document.cohesion, document.information, document.prompt_map) == (None, None, None)
    assert "prompt_map" not in document.to_dict()


def test_many_hostile_categories_and_prompts_are_drawn():
    """The legend names the largest dozen, and of thousands of prompts some are drawn, which the caption says."""
    names = ["<script>alert(1)</script>", "\u202e" * 40, "$x_1$ \x00", "x" * 5000, *map(str, range(20))]
    places = [(f"p{at}", names[at % len(names)], float(at % 7), float(at % 11)) for at in range(4000)]
    data = Places(places, "axis 1", "axis 2")
    figure = prompt_map_figure(data, "m", "Map", "Prompts.")
    assert figure.says == "Prompts. 1,334 of 4,000 prompts are drawn."
    assert len(data.groups) == 12
    assert data.groups[-1][0] == "13 others"
    assert "<script>" not in svg(figure)
    alone = Places([("p", "", 0.0, 0.0), ("q", "", 1.0, 1.0)], "a", "b")
    assert [word for word, _ in alone.groups] == [""]
