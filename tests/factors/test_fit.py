"""A factor model fitted to ratings: refusals, leaderboards, intervals."""

from __future__ import annotations

import json
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import FileError, InputError, UsageError
from bonwise.factors import leaderboards
from bonwise.factors.difference_bands import Band, band_of_draws
from bonwise.factors.engine import refuse_unfit
from bonwise.factors.human_view import HumanView
from bonwise.factors.leaderboards import cohesion_of_categories, composites, rank_models
from bonwise.factors.posterior_draws import PosteriorDraws
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.ratings import RatingTable
from bonwise.factors.view_answers import LIMITS
from bonwise.testing import simulate_ratings
from cli.commands import strict, typed
from factors.acceptance import measured
from report import readers

QUICK = {"rank": 1, "prior": 1.0, "restarts": 1}


def frame(seed=1, **size):
    """Return simulated ratings with two categories of prompts."""
    found = simulate_ratings(seed, **{"prompts": 60, "judges": 4, "labelled": 0.5, **size}).frame()
    return found.assign(category=np.where(found["prompt_id"].str[-1].astype(int) % 2 == 0, "even", "odd"))


def compared(seed=0, prompts=40):
    """Return comparisons of three models by a judge and a human, the human's with ties."""
    rng = np.random.default_rng(seed)
    strength = {"gpt": 1.0, "llama": 0.0, "vicuna": -1.0}
    rows = []
    for prompt in range(prompts):
        for one, other in (("gpt", "llama"), ("vicuna", "gpt"), ("llama", "vicuna")):
            for rater in ("judge", "people"):
                lead = strength[one] - strength[other] + rng.logistic()
                won = "tie" if rater == "people" and abs(lead) < 0.3 else "model" if lead > 0 else "opponent"
                rows.append((f"p{prompt}", one, other, rater, won))
    return pd.DataFrame(rows, columns=["prompt_id", "model", "opponent", "rater", "rating"])


@pytest.fixture(scope="module")
def fit():
    """Return a fit of ratings of one model each."""
    return bw.fit_factors(frame(), human="human", holdout=0.5, seed=1, **QUICK)


@pytest.fixture(scope="module")
def of_pairs():
    """Return a fit of comparisons."""
    return bw.fit_factors(compared(), human="people", interval="propagated", **QUICK)


def test_the_document_says_what_was_fitted_and_held_out(fit):
    """Rank, hold-out and baselines stand where the issue of a leaderboard looks for them."""
    found = strict(fit.to_json())
    assert found["schema"] == "bonwise.factor/1"
    assert found["rank"] == 1
    assert found["holdout"]["n"] == 60
    assert found["holdout"]["fitted"] == 60
    assert set(found["baselines"]) == {
        "frequencies",
        "constant",
        "prompt_specific",
        "verdicts_only",
        "constant_and_verdict",
        "all_ratings",
    }
    for one in found["baselines"].values():
        more = one["cross_entropy"] - found["holdout"]["cross_entropy"]
        assert one["difference"]["estimate"] == pytest.approx(more)
    assert found["holdout"]["cross_entropy"] < found["baselines"]["constant"]["cross_entropy"]


def test_all_ratings_of_a_pair_are_held_out_together():
    """Replicates of a pair, in either order, are all fitted or all held out; the share is nearly the one asked."""
    doubled = pd.concat([compared(), compared(1)])
    found = bw.fit_factors(doubled, human="people", holdout=0.5, interval=None, **QUICK)
    assert len(found.held_out.own) == 120
    prompts, counts = np.unique(found.held_out.prompt, return_counts=True)
    assert (counts % 2 == 0).all()
    assert len(prompts) > 20


def test_a_seed_gives_the_same_document(fit):
    """Splits, starts and draws depend on the seed alone."""
    again = bw.fit_factors(frame(), human="human", holdout=0.5, seed=1, **QUICK)
    assert again.to_dict() == fit.to_dict()


def test_cross_validation_chooses_among_ranks_that_the_ratings_can_tell_apart():
    """The table of candidates is kept, and the smallest cross-entropy wins."""
    document = bw.fit_factors(frame(prompts=40), human="human", interval=None, restarts=1)
    assert {one.rank for one in document.candidates} == {1, 2, 3, 5}
    best = min(document.candidates, key=lambda one: one.cross_entropy)
    assert (document.rank, document.prior, document.columns) == (best.rank, best.prior, best.columns)


def test_two_skills_are_chosen_over_one_where_there_are_three():
    """A rank that is too small predicts human ratings worse, and cross-validation notices."""
    drawn = simulate_ratings(0, prompts=300, judges=10, labelled=0.8)
    found = bw.fit_factors(drawn.frame(), human="human", prior=1.0, interval=None, restarts=1)
    assert found.rank > 1


def test_leaderboards_of_all_prompts_one_and_a_category(fit):
    """Capabilities are less the mean of all models; simultaneous intervals are wider; best first."""
    for asked, prompts in (({}, 60), ({"prompt": "p0003"}, 1), ({"category": "odd"}, 30)):
        found = fit.leaderboard(**asked)
        estimates = [one.estimate for one in found.models]
        assert found.prompts == prompts
        assert estimates == sorted(estimates, reverse=True)
        assert sum(estimates) == pytest.approx(0, abs=1e-9)
        assert all(one.band_low <= one.low <= one.estimate <= one.high <= one.band_high for one in found.models)
    assert 1 / 1000 <= fit.leaderboard(category="odd").cohesion.p <= 1
    with pytest.raises(UsageError, match="no prompt named 'p9'"):
        fit.leaderboard(prompt="p9")
    with pytest.raises(UsageError, match="no category named 'maths'"):
        fit.leaderboard(category="maths")
    with pytest.raises(UsageError, match="two leaderboards"):
        fit.leaderboard(prompt="p0003", category="odd")


def test_a_category_of_one_skill_is_cohesive():
    """Prompts that ask for one skill alone have cohesion 1 and a small p-value; the composite points their way."""
    fitted = bw.fit_factors(frame(), human="human", interval="fixed", prior=1.0, rank=2, restarts=1)
    view = fitted.view
    rows = view.prompts_of("even")
    view.draws.by_prompt.flags.writeable or view.draws.by_prompt.setflags(write=True)
    view.draws.by_prompt[:, rows] = np.abs(view.draws.by_prompt[:, rows, :1]) * np.array([-1.0, 0.5])
    models, cohesion = composites(view, rows)
    assert np.allclose(cohesion, 1)
    along = np.array([-1.0, 0.5]) / np.sqrt(1.25)
    assert np.allclose(models, view.draws.by_model @ along)
    assert fitted.leaderboard(category="even").cohesion.p < 0.05


def cohesive(names, skills, models=4):
    """Return a view of prompts in named categories with these factors, (draws, prompts, skills)."""
    draws = PosteriorDraws(np.ones((len(skills), models, skills.shape[2])), skills, np.zeros((len(skills), 1)))
    return HumanView.of(
        draws,
        human="ann",
        side_by_side=False,
        categories=["1", "2"],
        points=[1.0, 2.0],
        prompts=[f"p{at}" for at in range(len(names))],
        models=[f"m{at}" for at in range(models)],
        prompt_categories=names,
        human_ratings=[9] * models,
        confidence=0.95,
        seed=0,
        source="table",
        version="0",
    )


def grouped(sizes, seed, *, together=0.0, draws=3):
    """Return such a view; prompts of the first category ask for one skill as far as `together` says."""
    rng = np.random.default_rng(seed)
    names = [f"c{at}" for at, size in enumerate(sizes) for _ in range(size)]
    skills = rng.standard_normal((len(names), 3))
    skills[: sizes[0]] += together * rng.choice([-1, 1], (sizes[0], 1)) * np.array([2.0, 0.0, 0.0])
    return cohesive(names, skills + 0.05 * rng.standard_normal((draws, *skills.shape)))


def test_an_adjusted_p_worked_by_hand():
    """Of the three ways to pair four prompts on two axes, one has pairs of one skill: p is 1/3, adjusted too.

    Both pairs are then cohesive, so the largest of two is as large as often as each.
    """
    view = cohesive(list("aabb"), np.array([[[1.0, 0], [1, 0], [0, 1], [0, 1]]]))
    for one in cohesion_of_categories(view):
        assert one.cohesion.share == pytest.approx(1)
        assert one.cohesion.p == pytest.approx(1 / 3, abs=0.05)
        assert one.cohesion.p_adjusted == one.cohesion.p
        assert one.random == pytest.approx(1 / 3 + 2 / 3 * 0.5, abs=0.03)
        assert one.cohesion.categories == 2


def test_only_categories_of_several_prompts_are_looked_at():
    """A category of one prompt has no cohesion, and does not count."""
    view = cohesive(list("aabbc"), np.random.default_rng(0).standard_normal((2, 5, 2)))
    assert {one.category: one.cohesion.categories for one in cohesion_of_categories(view)} == {"a": 2, "b": 2}
    assert rank_models(view, category="c").cohesion is None
    assert rank_models(view, category="a").cohesion.p_adjusted >= rank_models(view, category="a").cohesion.p
    assert cohesion_of_categories(cohesive(["a"] * 4, np.ones((1, 4, 1)))) == []


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10_000))
def test_plain_loops_find_the_same_adjusted_p(seed):
    """Permutation by permutation and category by category, the labels of the same shuffles."""
    sizes = [5, 7, 12]
    view = grouped(sizes, seed, together=0.5)
    rng, draws = np.random.default_rng(view.seed), view.draws.by_prompt
    starts = np.cumsum([0, *sizes])

    def share(rows):
        values = np.linalg.eigvalsh(sum(np.outer(row, row) for row in rows))
        return values[-1] / values.sum()

    own = [[share(draw[first:last]) for first, last in pairwise(starts)] for draw in draws]
    random = []
    for at in range(60):
        order = rng.permutation(sum(sizes))
        shuffled = draws[at % len(draws)][order]
        random.append([share(shuffled[first:last]) for first, last in pairwise(starts)])
    mean, deviation = np.mean(random, axis=0), np.std(random, axis=0)
    with patch.object(leaderboards, "PERMUTATIONS", 60):
        found = {one.category: one.cohesion for one in cohesion_of_categories(view)}
    for category in range(3):
        above = as_large = 1
        for at, shares in enumerate(random):
            observed = own[at % len(draws)][category]
            above += shares[category] >= observed
            largest = max((shares[one] - mean[one]) / deviation[one] for one in range(3))
            as_large += largest >= (observed - mean[category]) / deviation[category]
        cohesion = found[f"c{category}"]
        assert cohesion.p == pytest.approx(above / 61)
        assert cohesion.p_adjusted == pytest.approx(max(above, as_large) / 61)


def smallest(seed, together):
    """Return the smallest p and the smallest adjusted p of twelve categories."""
    every = [one.cohesion for one in cohesion_of_categories(grouped([8] * 12, seed, together=together))]
    return min(one.p for one in every), min(one.p_adjusted for one in every)


def test_looking_at_all_categories_is_counted():
    """Where no category is cohesive some p is often small, an adjusted one rarely; a cohesive one is found."""
    single, adjusted = np.mean([np.array(smallest(seed, 0.0)) <= 0.05 for seed in range(16)], axis=0)
    assert single >= 0.2
    assert adjusted <= 0.2
    assert np.mean([smallest(seed, 1.5)[1] <= 0.05 for seed in range(4)]) == 1


@pytest.mark.slow
def test_the_level_of_adjusted_p_in_many_sets():
    """At the level 0.05 an adjusted p is false in one of twenty sets, a single one in nearly half."""
    single, adjusted = np.mean([np.array(smallest(seed, 0.0)) <= 0.05 for seed in range(300)], axis=0)
    assert single >= 0.3
    assert 0.02 <= adjusted <= 0.085


def test_a_comparison_mirrors_itself(fit):
    """Turned round, every difference has the other sign, and the mean over prompts is that of the gaps."""
    one, other = fit.compare("m0", "m1"), fit.compare("m1", "m0")
    there = {row.prompt_id: row.estimate for row in one.prompts}
    back = {row.prompt_id: row.estimate for row in other.prompts}
    assert all(there[prompt] == pytest.approx(-back[prompt]) for prompt in there)
    assert one.gaps[0].estimate == pytest.approx(np.mean(list(there.values())))
    assert [gap.category for gap in one.gaps] == ["", "even", "odd"]
    assert all((row.verdict == "better") == (row.band_low > 0) for row in one.prompts)
    with pytest.raises(UsageError, match="compared with itself"):
        fit.compare("m0", "m0")
    with pytest.raises(UsageError, match="no model named 'm9'"):
        fit.compare("m0", "m9")


def test_a_model_without_human_ratings_is_predicted():
    """Its average is near what the human would have given, and the document says that judges alone place it."""
    drawn = simulate_ratings(3, prompts=200, judges=10, labelled=0.6)
    ratings = drawn.frame()
    unseen = ratings[(ratings["rater"] != "human") | (ratings["model"] != "m2")]
    how = {"interval": "propagated", "rank": 3, "prior": 1.0, "restarts": 1}
    found = bw.fit_factors(unseen, human="human", **how).predict()
    row = next(one for one in found.models if one.model == "m2")
    assert found.quantity == "mean_rating"
    assert row.human_ratings == 0
    assert row.estimate == pytest.approx(drawn.human[:, 2].mean() + 1, abs=0.35)
    (assumption,) = found.notes
    assert assumption.startswith(
        "No human has rated m2: judges alone place them. Intervals assume that judges miss as"
    )
    assert found.left_out is None


def test_net_win_rates_of_comparisons_add_up_to_nothing(of_pairs):
    """Every win is another's loss, and the order is that of the strengths."""
    found = of_pairs.predict()
    assert found.quantity == "net_win_rate"
    assert sum(one.estimate for one in found.models) == pytest.approx(0, abs=1e-9)
    assert [one.model for one in found.models] == ["gpt", "llama", "vicuna"]


def test_what_was_saved_is_read_back(fit, tmp_path):
    """Leaderboards from a file are those of the fit, up to single precision."""
    fit.view.save(tmp_path / "fit.json")
    view = bw.load_factors(tmp_path / "fit.json")
    for name in ("models", "prompts", "human_ratings", "prompt_categories", "points"):
        assert getattr(view, name) == getattr(fit.view, name)
    assert np.allclose(view.draws.by_prompt, fit.view.draws.by_prompt, atol=1e-6)
    assert np.allclose(view.draws.heeded, fit.view.draws.heeded, atol=1e-6)


def test_what_judges_share_of_an_answer_is_printed_and_counted(fit, of_pairs):
    """With several judges: the figure, the count behind it, and the same capabilities by every question."""
    effect, draws = fit.answer_effect, fit.view.draws
    assert (effect.answers, effect.sd.n) == (240, 60)
    assert 0 <= effect.sd.low <= effect.sd.estimate <= effect.sd.high
    assert "On 240 answers that two or more judges rate, judges share an effect" in " ".join(
        fit.to_text(full=True).split()
    )
    capabilities = draws.capabilities()
    assert np.allclose(draws.means(), capabilities.mean(axis=2))
    assert np.allclose(draws.differences(0, 1), capabilities[:, 0] - capabilities[:, 1])
    assert np.allclose(draws.capabilities([3]), capabilities[:, :, [3]])
    by_skills = np.einsum("dmk,dpk->dmp", draws.by_model, draws.by_prompt)
    assert np.allclose(capabilities - by_skills, draws.heeded.transpose(0, 2, 1))
    assert np.allclose(fit.view.prompt_factors(np.array([1.0, -1, 0, 0])).gaps, draws.differences(0, 1))
    assert of_pairs.answer_effect is None
    assert any("errors of different judges as independent" in note for note in of_pairs.notes)


def test_what_was_saved_says_what_it_is(fit, of_pairs, tmp_path):
    """A fit that was read back prints a few lines, has a page, and one row per model; no numbers of its draws."""
    fit.view.save(tmp_path / "fit.json")
    view = bw.load_factors(tmp_path / "fit.json")
    ratings = sum(view.human_ratings)
    assert repr(view) == "<HumanView of 4 models on 60 prompts by 'human'>"
    said = f"{len(view.draws)} draws of how human would rate 4 models on 60 prompts, from {ratings} human ratings."
    assert str(view).splitlines()[:2] == ["Saved factor fit", said]
    assert all(f"{model}  " in view.to_text(full=True) for model in view.models)
    assert view.of_models.float32[:40] not in view.to_text(full=True)
    view.to_html(tmp_path / "fit.html")
    page = (tmp_path / "fit.html").read_text("utf-8")
    assert all(text in readers.words(page) for text in (said, "rank the models", *view.models))
    assert all(limit in page for limit in LIMITS)
    assert said in readers.words(view._repr_html_())
    assert view.to_frame().to_dict("list") == {"model": view.models, "human_ratings": view.human_ratings}
    assert "how people would compare 3 models" in str(of_pairs.view)


@pytest.mark.parametrize(
    "edit",
    [
        lambda found: found["of_models"]["shape"].append(2),
        lambda found: found["of_models"].update(float32="AAAA"),
        lambda found: found["of_answers"].update(found["of_models"]),
        lambda found: found["of_models"].update(float32="?"),
        lambda found: found["models"].pop(),
        lambda found: found.pop("human"),
        lambda found: found.update(schema="bonwise.audit/1"),
    ],
)
def test_an_edited_file_is_refused_in_one_sentence(fit, tmp_path, edit):
    """The message names what is wrong."""
    found = fit.view.to_dict()
    edit(found)
    (tmp_path / "fit.json").write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises((FileError, InputError)) as refused:
        bw.load_factors(tmp_path / "fit.json")
    assert "\n" not in str(refused.value)


def bad(name):
    """Return ratings to which nothing can be fitted."""
    whole = frame()
    human = whole["rater"] == "human"
    pairs = compared()
    between = pairs[pairs["model"] == "gpt"]
    return {
        "one category": (whole.assign(rating=whole["rating"].where(~human, 3)), "human", "gives one rating alone"),
        "no judge": (whole[human], "human", "no rater but 'human'"),
        "few": (whole[~human | (human.cumsum() < 10)], "human", "9 ratings by 'human' are too few"),
        "one model": (whole[whole["model"] == "m0"], "human", "all ratings are of one model"),
        "not judged": (whole[human | (whole["model"] != "m0")], "human", "no judge rates m0"),
        "apart": (
            pd.concat([between, between.replace({"gpt": "x", "llama": "y"})]),
            "people",
            "no judge compares one of",
        ),
    }[name]


@pytest.mark.parametrize("name", ["one category", "no judge", "few", "one model", "not judged", "apart"])
def test_ratings_that_cannot_be_fitted_are_refused(name):
    """One sentence says why, and what to add."""
    ratings, human, words = bad(name)
    with pytest.raises(InputError, match=words) as refused:
        bw.fit_factors(ratings, human=human)
    assert refused.value.hint
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"rank": 17}, "a rank of 17 is more than 4 models, 4 judges"),
        ({"rank": 0}, "rank"),
        ({"prior": 0.0}, "prior"),
        ({"holdout": 1.0}, "holdout"),
        ({"holdout": 0.95}, "too few"),
        ({"interval": "wide"}, "there is no interval 'wide'"),
        ({"normalize": True, "prior": 1.0}, "normalised columns have no prior"),
        ({"human": "bob"}, "no rater named 'bob'"),
        ({"human": None}, "no rater is named"),
    ],
)
def test_settings_that_mean_nothing_are_refused(asked, words):
    """Before anything is fitted."""
    with pytest.raises(InputError, match=words):
        bw.fit_factors(frame(), **{"human": "human", **asked})


def test_the_largest_rank_is_the_one_that_the_hint_names():
    """Four judges of four models tell 16 skills apart on 60 prompts: 17 are refused and 16 are not."""
    table = RatingTable.read(frame(), human="human")
    data = RatingArrays.of(table)
    refuse_unfit(table, data, 16)
    with pytest.raises(UsageError) as refused:
        refuse_unfit(table, data, 17)
    assert refused.value.hint == "choose a rank of at most 16"


def test_a_judge_with_one_category_is_left_out_and_said():
    """It says nothing, and the others are fitted."""
    ratings = frame()
    ratings.loc[ratings["rater"] == "judge01", "rating"] = 3
    document = bw.fit_factors(ratings, human="human", interval=None, **QUICK)
    assert any("Left out: judge01" in note for note in document.notes)


def test_the_papers_normalisation_and_interval():
    """They can be had, and the document says what the interval covers."""
    found = bw.fit_factors(frame(), human="human", rank=1, normalize=True, interval="fixed", restarts=1)
    assert found.prior == 0
    assert any("held 51%" in note for note in found.notes)


def test_the_commands(tmp_path, monkeypatch, capsys):
    """Fit, leaderboard, comparison and prediction, as JSON and as a page."""
    monkeypatch.chdir(tmp_path)
    frame().to_csv("ratings.csv", index=False)
    quick = ("--rank", "1", "--prior", "1", "--restarts", "1")
    done = typed(
        capsys, "factor", "fit", "ratings.csv", "--human", "human", "--holdout", ".5", "--seed", "1", *quick,
        "--save", "fit.json", "--json", "-", "--html", "page.html",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert strict(done.out)["schema"] == "bonwise.factor/1"
    assert "<svg" in (tmp_path / "page.html").read_text("utf-8")
    for words, schema in (
        (("leaderboard", "fit.json", "--category", "odd"), "factor_leaderboard"),
        (("compare", "fit.json", "m0", "m1"), "factor_comparison"),
        (("predict", "fit.json"), "factor_prediction"),
    ):
        assert strict(typed(capsys, "factor", *words, "--json", "-").out)["schema"] == f"bonwise.{schema}/1"
        assert typed(capsys, "factor", *words, "--html", f"{schema}.html").code == 0
    again = ("fit", "ratings.csv", "--human", "human", "--interval", "propagated", "--leave-one-out", *quick)
    assert typed(capsys, "factor", *again, "--save", "left.json").code == 0
    done = strict(typed(capsys, "factor", "predict", "left.json", "--leave-one-out", "--json", "-").out)
    assert {row["model"] for row in done["left_out"]["rows"]} == {f"m{at}" for at in range(4)}
    for words in (
        ("fit", "ratings.csv", "--human", "nobody"),
        ("fit", "ratings.csv", "--human", "human", "--categories", "gpt"),
        ("fit", "ratings.csv", "--human", "human", "--interval", "none", "--save", "x.json"),
        ("fit", "ratings.csv", "--human", "human", "--interval", "none", "--leave-one-out"),
        ("leaderboard", "ratings.csv"),
        ("predict", "fit.json", "--leave-one-out"),
        ("compare", "fit.json", "m0", "m9"),
    ):
        done = typed(capsys, "factor", *words)
        assert done.code == 2
        assert "Traceback" not in done.err


def test_every_result_is_shown(fit):
    """As text, Markdown, table, notebook and drawings."""
    documents = [fit, fit.leaderboard(category="odd"), fit.compare("m0", "m1"), fit.predict()]
    for document in documents:
        assert str(document)
        assert document.to_markdown().startswith("#")
        assert len(document.to_frame()) > 1
        assert document.drawings


SETS = range(16)


def test_a_band_is_wider_than_the_intervals():
    """Both are centred at the mean of the draws, and nine in ten further sets lie in a nine-in-ten band."""
    rng = np.random.default_rng(0)
    band = band_of_draws(rng.standard_normal((4000, 30)), 0.9)
    assert isinstance(band, Band)
    assert band.simultaneous > band.pointwise == pytest.approx(1.6449, abs=1e-4)
    assert band.simultaneous == pytest.approx(2.9, abs=0.1)
    (low, high), (least, most) = band.interval, band.band
    assert (least < low).all()
    assert (high < most).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_a_small_simulated_set(seed):
    """Few prompts and judges: the model predicts no worse than the best baseline, and intervals are ordered."""
    found = measured(seed, prompts=120, judges=8, labelled=0.4, rank=3)
    assert found["excess"] < 0.15
    assert found["below best baseline"] > -0.02
    assert found["gibbs cover"] > found["fixed cover"]
    assert found["gibbs cover"] > 0.85


@pytest.mark.slow
def test_sixteen_simulated_sets_of_the_size_of_biggen_bench():
    """Predictions beside those of the truth and of the baselines, and what the intervals cover."""
    rows = [measured(seed) for seed in SETS]
    mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    assert mean["excess"] <= 0.06
    assert mean["below constant"] >= 0.10
    assert mean["below best baseline"] >= 0.02
    assert mean["r2"] >= 0.85
    assert 0.92 <= mean["gibbs cover"] <= 0.98
    assert min(row["gibbs cover"] for row in rows) >= 0.88
    assert mean["gibbs hold"] >= 0.90
    assert mean["fixed cover"] < 0.6


@pytest.mark.slow
def test_eight_replicates_give_the_human_capabilities():
    """With eight replicates per judge the within-prompt capabilities of the human are nearly the true ones."""
    assert np.mean([measured(seed, replicates=8, intervals=False)["r2"] for seed in range(4)]) >= 0.97


@pytest.mark.slow
def test_a_rank_that_is_too_small_predicts_worse():
    """Cross-validation has something to choose: two skills lose against three."""
    worse = [measured(seed, rank=2, intervals=False)["excess"] for seed in range(4)]
    right = [measured(seed, rank=3, intervals=False)["excess"] for seed in range(4)]
    assert np.mean(worse) > np.mean(right)


def test_draws_that_run_away_are_refused_in_one_sentence():
    """Sixty cells and a rank as high as there are models: draws leave what doubles hold, and the fit says so."""
    rng, rows = np.random.default_rng(2), []
    for model in range(5):
        for prompt in range(12):
            level = model * 0.5 + rng.normal()
            for rater in ("j1", "j2", "h"):
                rng.random(int(rater == "h"))
                rating = int(np.clip(round(level + rng.normal() * 0.5 + 2), 1, 5))
                rows.append((f"p{prompt}", f"m{model}", rater, rating))
    frame = pd.DataFrame(rows, columns=["prompt_id", "model", "rater", "rating"])
    with pytest.raises(UsageError, match="too few for intervals of rank 5: the draws ran away") as refused:
        bw.fit_factors(frame, human="h")
    assert "--rank" in refused.value.hint
    assert bw.fit_factors(frame, human="h", rank=1) is not None
