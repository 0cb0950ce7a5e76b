"""What is shown of a factor model: its drawings, and each verdict by the intervals that its document holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.factors.comparisons import compare_models, explain_gaps
from bonwise.factors.engine import gap_variances, information_of_judges, principal_places
from bonwise.factors.figures import Places, prompt_map_figure
from bonwise.factors.front import fit_factors
from bonwise.factors.leaderboards import predict_averages, rank_models
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.ratings import RatingTable
from bonwise.factors.stage_one import CapabilityFactors, fit_capabilities
from bonwise.factors.strengths import find_strengths
from bonwise.factors.view import describe
from bonwise.report.blocks import drawings_of
from bonwise.report.show import page, text
from bonwise.testing import simulate_ratings
from cli.commands import typed
from report.painted import svg
from report.readers import HOSTILE, harmless, words
from report.verdicts import changed, figure, found, limits_of


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


# Each verdict on a factor model, by the intervals that its document holds.


MODEL = {"human": "human", "rank": 1, "prior": 1.0}
ABOVE, BELOW, AROUND = figure(0.2, 0.1, 0.3), figure(-0.2, -0.3, -0.1), figure(0.1, -0.1, 0.3)


@pytest.fixture(scope="module")
def ratings():
    """Return ratings of four models by four judges and a human, on prompts of two topics."""
    table = simulate_ratings(1, prompts=40, judges=4, labelled=0.5).frame()
    return table.assign(category=np.where(table["prompt_id"].str[-1].isin(list("02468")), "maths", "law"))


@pytest.fixture(scope="module")
def fit_of_answers(ratings):
    """Fit half of the human ratings and predict the others."""
    return fit_factors(ratings, interval="propagated", holdout=0.5, **MODEL)


@pytest.fixture(scope="module")
def prompts(ratings):
    """Return a tag of each prompt."""
    names = sorted(set(ratings["prompt_id"]))
    return pd.DataFrame({"prompt_id": names, "code": [at % 3 == 0 for at in range(len(names))]})


@pytest.fixture(scope="module")
def documents(fit_of_answers, ratings, prompts):
    """Return a document of each kind."""
    view = fit_of_answers.view
    return {
        "fit": fit_of_answers,
        "study": bw.study_factors(ratings, budgets=[0.25, 0.5], splits=2, **MODEL),
        "leaderboard": rank_models(view),
        "comparison": compare_models(view, "m0", "m1"),
        "explanation": explain_gaps(view, "m0", "m1", prompts=prompts),
        "strengths": find_strengths(view, "m0", prompts=prompts),
        "prediction": predict_averages(view),
    }


def test_judges_add_where_every_baseline_without_them_loses(documents):
    """The best baseline without judges decides, not one with them; what was not held out was not tested."""
    plain = documents["fit"]
    alone = ("frequencies", "constant", "prompt_specific")

    def with_advantage(figures):
        def change(one):
            for name, baseline in one["baselines"].items():
                baseline["cross_entropy"] = {"constant": 1.1}.get(name, 1.5 if name in alone else 0.9)
                baseline["difference"].update(figures if name == "constant" else figure(0.5, 0.4, 0.6))

        return changed(plain, change)

    for figures, word, state in (
        (ABOVE, "judges add", "good"),
        (BELOW, "judges do not help", "bad"),
        (AROUND, "no gain shown", "open"),
        (figure(0.2), "no gain shown", "open"),
        (figure(None), "undefined", "open"),
    ):
        told = found(with_advantage(figures))
        assert told[:2] == (word, state)
    assert "(strengths of the models) is +0.20 [+0.10, +0.30] nats" in found(with_advantage(ABOVE))[2]
    assert "is +0.200 (no interval)" in found(with_advantage(figure(0.2)))[2]
    untested = changed(plain, lambda one: one.update(holdout=None, baselines={}))
    assert found(untested)[:2] == ("not tested", "open")


@pytest.mark.parametrize(
    ("ratings_help", "judges_help", "word", "state"),
    [
        (ABOVE, AROUND, "more ratings help", "good"),
        (AROUND, ABOVE, "more judges help", "good"),
        (ABOVE, ABOVE, "both help", "good"),
        (BELOW, ABOVE, "more judges help", "open"),
        (BELOW, AROUND, "more ratings hurt", "bad"),
        (AROUND, BELOW, "more judges hurt", "bad"),
        (BELOW, BELOW, "both hurt", "bad"),
        (AROUND, AROUND, "no gain shown", "open"),
    ],
)
def test_a_study_says_which_of_both_helps(documents, ratings_help, judges_help, word, state):
    """The smallest share is compared with the largest one, of ratings and of judges."""

    def change(one):
        one["by_labels"][0]["more_than_largest"].update(ratings_help)
        one["by_judges"][0]["more_than_largest"].update(judges_help)

    document = changed(documents["study"], change)
    told = found(document)
    assert told[:2] == (word, state)
    fewest, most = (round(document.by_labels[at].fitted) for at in (0, -1))
    assert f"with {most} human ratings instead of {fewest}, and by" in told[2]
    # What helps lowers the loss.
    sign = {"more ratings help": "-", "both help": "-", "more ratings hurt": "+", "both hurt": "+"}.get(word, "")
    assert f"cross-entropy changes by {sign}" in told[2]


def test_a_study_of_one_budget_compares_nothing(documents):
    """Neither ratings nor judges are more than there are."""
    alone = changed(
        documents["study"], lambda one: one.update(by_labels=one["by_labels"][:1], by_judges=one["by_judges"][-1:])
    )
    assert found(alone)[:2] == ("nothing to compare", "open")


def test_a_model_leads_where_no_other_interval_reaches_its_own(documents):
    """Simultaneous intervals decide; those that overlap are named, however many there are."""

    def placed(*bands):
        def change(one):
            one["models"] = [
                {**one["models"][0], "model": f"m{at}", "estimate": (low + high) / 2, "low": low, "high": high}
                | {"band_low": low, "band_high": high}
                for at, (low, high) in enumerate(bands)
            ]

        return found(changed(documents["leaderboard"], change))

    assert placed((1, 2), (0, 0.9))[:2] == ("m0 leads", "good")
    assert placed((1, 2), (0, 1))[:2] == ("no clear leader", "open")
    several = placed((1, 2), *[(0.5, 1.5)] * 5, (-1, 0))[2]
    assert several.endswith("its interval overlaps with that of m1, m2, m3 and 2 more.")


@pytest.mark.parametrize(
    ("ends", "word", "state"),
    [(ABOVE, "m0 is better", "good"), (BELOW, "m1 is better", "good"), (AROUND, "no difference shown", "open")],
)
def test_a_comparison_says_which_model_is_better(documents, ends, word, state):
    """By the mean difference over all prompts."""
    document = changed(documents["comparison"], lambda one: one["gaps"][0].update(ends))
    told = found(document)
    assert told[:2] == (word, state)
    assert "the mean difference over 40 prompts is" in told[2]


def test_an_explanation_counts_coefficients_by_their_simultaneous_intervals(documents):
    """One that only its own interval tells from 0 is not counted."""

    def banded(*bands):
        def change(one):
            first = one["coefficients"][0]
            one["coefficients"] = [
                {**first, "estimate": 0.5, "low": 0.4, "high": 0.6, "band_low": low, "band_high": high}
                for low, high in bands
            ]

        return found(changed(documents["explanation"], change))

    word, state, says = banded((-0.1, 1.1), (-0.2, 1.2))
    assert (word, state) == ("no association shown", "open")
    assert "0 of 2 coefficients differ from 0" in says
    word, state, says = banded((0.1, 0.9), (-0.2, 1.2))
    assert (word, state) == ("association shown", "good")
    assert "1 of 2 coefficients differs from 0" in says


@pytest.mark.parametrize(
    ("verdicts", "word", "state"),
    [
        (("strength", "open", "open"), "strengths shown", "good"),
        (("open", "open", "weakness"), "weaknesses shown", "bad"),
        (("strength", "open", "weakness"), "strengths and weaknesses", "open"),
        (("open", "open", "open"), "no difference shown", "open"),
    ],
)
@pytest.mark.parametrize("of", ["groups", "prompts"])
def test_strengths_are_named(documents, of, verdicts, word, state):
    """Of groups of prompts, and where nothing groups them of prompts; a decided one is named with its figure."""

    def change(one):
        kept = [*one[of][:2], one[of][-1]]
        one[of] = [{**row, "verdict": verdict} for row, verdict in zip(kept, verdicts, strict=True)]
        if of == "prompts":
            one["groups"] = []

    document = changed(documents["strengths"], change)
    told = found(document)
    assert told[:2] == (word, state)
    assert ("3 groups of prompts" if of == "groups" else "Of 3 prompts") in told[2]
    if "weakness" in verdicts:
        last = (document.groups or document.prompts)[-1]
        assert f"weak on 1 ({last.prompt_id if of == 'prompts' else last.column}" in told[2]


def test_predictions_call_no_model_the_leader(documents):
    """Intervals of single averages do not say which model leads: the verdict is neutral, and says what does."""
    document = documents["prediction"]
    assert (document.answer.word, document.answer.state) == ("4 models predicted", "neutral")
    assert text(document).splitlines()[1].startswith("Predicted mean rating over 40 prompts: ")
    assert "See whether a model leads: rank the models." in words(page(document))


def test_each_page_says_its_limits_and_what_is_next(documents):
    """Pages of all kinds; commands name the models."""
    for kind, document in documents.items():
        assert "Causes: these are associations in the data at hand." in limits_of(document), kind
        assert " Next " in words(page(document)), kind
    assert "See on which prompts m0 is strong or weak." in words(page(documents["comparison"]))


def test_a_fit_that_held_nothing_out_says_how_to_do_so(documents):
    """The command reads the same ratings: human, rank, prior and words of raters are those of the fit."""

    def change(one):
        one.update(holdout=None, baselines={})
        one["settings"].update(source="my ratings.csv", human="the crowd", rank=2, prior=None)
        one["raters"][1].update(rule="words", categories=["poor", "so so"])

    document = changed(documents["fit"], change)
    rater = document.raters[1].rater
    assert (
        f"bonwise factor fit 'my ratings.csv' --human 'the crowd' --rank 2 --categories '{rater}=poor,so so' "
        "--holdout 0.5" in words(page(document))
    )


def test_names_stay_text(documents):
    """Models are text in verdicts, sentences and commands."""

    def leaderboard(one):
        for at, row in enumerate(one["models"]):
            row["model"] = f"{HOSTILE}{at}"

    harmless(changed(documents["leaderboard"], leaderboard))
    harmless(changed(documents["comparison"], lambda one: one.update(model=HOSTILE, other=f"{HOSTILE}2")))


def test_the_terminal_says_what_to_type_next(fit_of_answers, tmp_path, capsys, monkeypatch):
    """The last line names the file that was read, quoted for a shell."""
    monkeypatch.chdir(tmp_path)
    fit_of_answers.view.save("my fit.json")
    done = typed(capsys, "factor", "leaderboard", "my fit.json")
    first, second = (one.model for one in rank_models(fit_of_answers.view).models[:2])
    assert done.out.splitlines()[-1] == f"bonwise factor compare 'my fit.json' {first} {second}"
    done = typed(capsys, "factor", "compare", "my fit.json", "m0", "m1")
    assert done.out.splitlines()[-1] == "bonwise factor strengths 'my fit.json' m0"
