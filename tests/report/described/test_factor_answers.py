"""Each verdict on a factor model, by the intervals that its document holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.factors.comparisons import compare_models, explain_gaps
from bonwise.factors.front import fit_factors
from bonwise.factors.leaderboards import predict_averages, rank_models
from bonwise.factors.strengths import find_strengths
from bonwise.report.blocks import Part
from bonwise.report.show import describe, page, text
from bonwise.testing import simulate_ratings
from cli.commands import typed
from report.described.readers import HOSTILE, harmless, words
from report.described.verdicts import changed, figure, found, limits_of

MODEL = {"human": "human", "rank": 1, "prior": 1.0}
ABOVE, BELOW, AROUND = figure(0.2, 0.1, 0.3), figure(-0.2, -0.3, -0.1), figure(0.1, -0.1, 0.3)


@pytest.fixture(scope="module")
def ratings():
    """Return ratings of four models by four judges and a human, on prompts of two topics."""
    table = simulate_ratings(1, prompts=40, judges=4, labelled=0.5).frame()
    return table.assign(category=np.where(table["prompt_id"].str[-1].isin(list("02468")), "maths", "law"))


@pytest.fixture(scope="module")
def fit(ratings):
    """Fit half of the human ratings and predict the others."""
    return fit_factors(ratings, interval="propagated", holdout=0.5, **MODEL)


@pytest.fixture(scope="module")
def prompts(ratings):
    """Return a tag of each prompt."""
    names = sorted(set(ratings["prompt_id"]))
    return pd.DataFrame({"prompt_id": names, "code": [at % 3 == 0 for at in range(len(names))]})


@pytest.fixture(scope="module")
def documents(fit, ratings, prompts):
    """Return a document of each kind."""
    view = fit.view
    return {
        "fit": fit,
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
    [
        (ABOVE, "m0 is better", "good"),
        (BELOW, "m1 is better", "good"),
        (AROUND, "no difference shown", "open"),
    ],
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


def test_predictions_have_no_verdict(documents):
    """Intervals of single averages do not say which model leads: the page says what does."""
    document = documents["prediction"]
    assert not [one for one in describe(document).blocks if isinstance(one, Part) and one.role == "verdict"]
    assert text(document).splitlines()[1].startswith("Predicted mean rating over 40 prompts: ")
    assert "bonwise factor leaderboard FIT.json" in words(page(document))


def test_each_page_says_its_limits_and_what_is_next(documents):
    """Pages of all kinds; commands name the models."""
    for kind, document in documents.items():
        assert "Causes: these are associations in the data at hand." in limits_of(document), kind
        assert " Next " in words(page(document)), kind
    assert "bonwise factor explain FIT.json m0 m1 --prompts PROMPTS.csv" in words(page(documents["comparison"]))


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


def test_the_terminal_says_what_to_type_next(fit, tmp_path, capsys, monkeypatch):
    """The last line names the file that was read, quoted for a shell."""
    monkeypatch.chdir(tmp_path)
    fit.view.save("my fit.json")
    done = typed(capsys, "factor", "leaderboard", "my fit.json")
    first, second = (one.model for one in rank_models(fit.view).models[:2])
    assert done.out.splitlines()[-1] == f"bonwise factor compare 'my fit.json' {first} {second}"
    done = typed(capsys, "factor", "compare", "my fit.json", "m0", "m1")
    assert done.out.splitlines()[-1] == "bonwise factor explain 'my fit.json' m0 m1 --prompts PROMPTS.csv"
