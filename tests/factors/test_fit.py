"""A factor model fitted to ratings: refusals, leaderboards, intervals."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bonwise as bw
from bonwise.errors import FileError, InputError, UsageError
from bonwise.factors.difference_bands import Band, band_of_draws
from bonwise.factors.engine import refuse_unfit
from bonwise.factors.leaderboards import (
    LeftOutModel,
    compare_left_out,
    composites,
    left_out_part,
    unseen_trait,
    variance_at,
)
from bonwise.factors.posterior_draws import PosteriorDraws
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.ratings import RatingTable
from bonwise.factors.result_models import LeftOutRow
from bonwise.factors.view_answers import LIMITS
from bonwise.stats.ordinal_ratings import CutoffLayout, category_probabilities
from bonwise.testing import simulate_ratings
from cli.commands import strict, typed
from factors.acceptance import measured

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


def test_capabilities_across_prompts_are_refused_where_people_compare(fit, of_pairs):
    """Only differences within a prompt are identified then."""
    assert len(list(fit.view.across_prompts("m0"))) == 60
    with pytest.raises(UsageError, match="no common origin"):
        list(of_pairs.view.across_prompts("gpt"))


def test_what_was_saved_is_read_back(fit, tmp_path):
    """Leaderboards from a file are those of the fit, up to single precision."""
    fit.view.save(tmp_path / "fit.json")
    view = bw.load_factors(tmp_path / "fit.json")
    for name in ("models", "prompts", "human_ratings", "prompt_categories", "points"):
        assert getattr(view, name) == getattr(fit.view, name)
    assert np.allclose(view.draws.by_prompt, fit.view.draws.by_prompt, atol=1e-6)


def test_what_was_saved_says_what_it_is(fit, of_pairs, tmp_path):
    """A fit that was read back prints a few lines, has a page, and one row per model; no numbers of its draws."""
    fit.view.save(tmp_path / "fit.json")
    view = bw.load_factors(tmp_path / "fit.json")
    ratings = sum(view.human_ratings)
    assert repr(view) == "<HumanView of 4 models on 60 prompts by 'human'>"
    said = f"{len(view.draws)} draws of how human would rate 4 models on 60 prompts, from {ratings} human ratings."
    assert str(view).splitlines()[:2] == ["Saved factor fit", said]
    assert all(f"{model}  " in str(view) for model in view.models)
    assert view.of_models.float32[:40] not in str(view)
    view.to_html(tmp_path / "fit.html")
    page = (tmp_path / "fit.html").read_text("utf-8")
    assert all(text in page for text in (said, "bonwise factor leaderboard FIT.json", *view.models))
    assert all(limit in page for limit in LIMITS)
    assert said in view._repr_html_()
    assert view.to_frame().to_dict("list") == {"model": view.models, "human_ratings": view.human_ratings}
    assert "how people would compare 3 models" in str(of_pairs.view)


@pytest.mark.parametrize(
    "edit",
    [
        lambda found: found["of_models"]["shape"].append(2),
        lambda found: found["of_models"].update(float32="AAAA"),
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


def test_truth_against_prediction_is_shown(left_out, tmp_path):
    """The terminal has the models and what the test found, the page a figure of both with its numbers."""
    document = left_out.predict(leave_one_out=True)
    trait = document.left_out.trait
    assert "of 4 predictions agree with the truth" in " ".join(str(document).split())
    assert "No trait is shown that judges miss" if trait.p > 0.05 else "People see a trait" in str(document)
    figures = {figure.key: figure for figure in document.drawings}
    rows = list(figures["factor-left-out-model"].data.rows())
    assert [row["truth"] for row in rows] == [row.truth for row in document.left_out.rows]
    assert len(list(figures["factor-left-out-category"].data.rows())) == 8
    document.to_html(tmp_path / "page.html")
    assert "truth, with two standard errors" in (tmp_path / "page.html").read_text("utf-8")


def test_every_result_is_shown(fit):
    """As text, Markdown, table, notebook and drawings."""
    documents = [fit, fit.leaderboard(category="odd"), fit.compare("m0", "m1"), fit.predict()]
    for document in documents:
        assert str(document)
        assert document.to_markdown().startswith("#")
        assert len(document.to_frame()) > 1
        assert document.drawings


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


def test_an_error_on_all_prompts_is_added_to_some_models(fit):
    """Its standard deviation is what was asked; other models, and the mean, stay; categories see the same error."""
    draws = fit.view.draws
    wide = draws.widened(np.array([2]), 0.5, np.random.default_rng(0))
    added = wide.capabilities() - draws.capabilities()
    assert np.abs(added[:, [0, 1, 3]]).max() < 1e-12
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
