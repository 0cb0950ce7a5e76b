"""Whether one model can replace another: shares, prompts shown together, routers for new prompts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bonwise as bw
from bonwise.errors import InputError, UsageError
from bonwise.factors.comparisons import compare_models
from bonwise.factors.human_view import HumanView
from bonwise.factors.posterior_draws import PosteriorDraws
from bonwise.factors.replacement import ModelRouter, one_sided_multiple
from cli.commands import strict, typed
from factors.tagged_models import TAGS, table_of, tagged
from factors.test_fit import QUICK, frame

PROMPTS = 30


def viewed(gaps, *, ratings=(30, 30), categories=None, **more):
    """Return a view of two models, "small" and "large", whose differences are drawn: (draws, prompts)."""
    gaps = np.atleast_2d(np.asarray(gaps, dtype=float))
    gaps = np.tile(gaps, (5, 1)) if len(gaps) == 1 else gaps
    draws = PosteriorDraws(np.tile([[[1.0], [0.0]]], (len(gaps), 1, 1)), gaps[:, :, None], np.zeros((len(gaps), 1)))
    names = [f"p{at:02d}" for at in range(gaps.shape[1])]
    shared = {"human": "ann", "side_by_side": False, "categories": ["1", "2"], "points": [1.0, 2.0], "seed": 0}
    return HumanView.of(
        draws,
        prompts=names,
        models=["small", "large"],
        prompt_categories=list(categories or [""] * len(names)),
        human_ratings=list(ratings),
        confidence=0.95,
        source="table",
        version="0",
        **shared,
        **more,
    )


def table(**columns):
    """Return a table of prompts."""
    return pd.DataFrame({"prompt_id": [f"p{at:02d}" for at in range(PROMPTS)], **columns})


def test_a_replacement_worked_by_hand():
    """Differences of -10 to 19 are known: 25 of 30 lie above -5.5, the other five below, and one is a tie."""
    found = compare_models(viewed(np.arange(-10, 20)), "small", "large", equivalence=5.5).replacement
    assert found.share == pytest.approx(25 / 30)
    assert (found.low, found.high) == pytest.approx(stats.binom(30, 25 / 30).ppf([0.025, 0.975]) / 30, abs=1.01 / 30)
    assert (found.shown, found.worse, found.ties, found.ties_not_shown) == (25, 5, 1, 0)
    assert found.shown_share == pytest.approx(25 / 30)
    assert found.routed is None


def test_a_tie_is_not_equivalence():
    """A difference that is 0 on average and may be -3 is a tie, but not shown to be within 1."""
    gaps = np.zeros((60, 2))
    gaps[:, 0] = np.tile([-3.0, 3.0], 30)
    gaps[:, 1] = np.tile([0.0, 0.3], 30)
    found = compare_models(viewed(gaps), "small", "large", equivalence=1).replacement
    assert (found.shown, found.ties, found.ties_not_shown) == (1, 2, 1)
    assert found.share == pytest.approx(0.75)
    assert (found.low, found.high) == (0.0, 1.0)


def test_a_router_worked_by_hand():
    """Means of 9.5 and 24.5, less 15: without the tag -5.5, with it 9.5; squared errors 665 of 20 and 82.5 of 10."""
    tag = (np.arange(PROMPTS) >= 20).astype(int)
    compared = compare_models(
        viewed(np.arange(PROMPTS) - 15),
        *("small", "large"),
        equivalence=2,
        prompts=table(tag=tag),
        prices={"small": 1.0, "large": 4.0},
    )
    router = compared.router
    lower = router.lower(np.array([[1.0, 0.0], [1.0, 1.0]]))
    errors = np.sqrt(np.array([665 / 20**2, 82.5 / 10**2]) * 30 / 28)
    assert lower == pytest.approx(np.array([-5.5, 9.5]) - router.multiple * errors)
    # Two independent means: the larger of two is below q as often as both are.
    assert stats.t.ppf(0.95, 28) < router.multiple < stats.t.ppf(0.98, 28)
    found = compared.replacement
    assert (found.routed, found.routed_of, found.routed_share, found.routed_low) == (10, 30, 1.0, 1.0)
    assert (found.cost, found.cost_of_other) == pytest.approx((3.0, 4.0))
    chosen = router.choose(pd.DataFrame({"prompt_id": ["a", "b", "c"], "tag": [1, 0, None]}))
    assert list(chosen["model"]) == ["small", "large", "large"]
    assert chosen["reason"][2] == "tag is unknown or beyond what was fitted"
    assert chosen["lower"][:2].tolist() == pytest.approx(lower[::-1].tolist())


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_plain_loops_find_the_same(seed):
    """Draw by draw and prompt by prompt; the multiple by errors of the kinds, drawn one by one."""
    rng = np.random.default_rng(seed)
    gaps = rng.standard_normal(12) + rng.standard_normal((40, 12))
    margin = float(rng.uniform(0.2, 2))
    compared = compare_models(viewed(gaps), "small", "large", equivalence=margin)
    counts = [sum(gap > -margin for gap in draw) for draw in gaps]
    again = [np.random.default_rng(seed).binomial(12, count / 12) / 12 for seed in range(200) for count in counts]
    rows = compared.prompts
    found, ends = compared.replacement, np.quantile(again, [0.025, 0.975])
    assert found.share == pytest.approx(np.mean(counts) / 12)
    assert (found.low, found.high) == pytest.approx(tuple(ends), abs=1.01 / 12)
    assert compared.replacement.shown == sum(row.band_low > -margin for row in rows)
    kinds = np.column_stack([np.ones(3), rng.standard_normal((3, 2))])
    root = rng.standard_normal((3, 3))
    largest = []
    for _ in range(4000):
        error = root @ rng.standard_normal(3) / np.sqrt(rng.chisquare(25) / 25)
        largest.append(max(float(kind @ error) / float(np.linalg.norm(kind @ root)) for kind in kinds))
    multiple = one_sided_multiple(kinds, root @ root.T, 0.95, 25, seed)
    assert np.mean(np.array(largest) <= multiple) == pytest.approx(0.95, abs=0.025)


def test_new_prompts_of_which_nothing_is_known_stay():
    """An unfitted category, a number beyond the fitted ones, a blank, an absent column; other kinds are refused."""
    gaps = np.full(PROMPTS, 5.0) + np.tile([0.1, -0.1, 0.0], 10)
    known = table(topic=["law"] * 16 + ["art"] * 14, length=np.arange(PROMPTS) * 1.7, text=["x" * 9, "x" * 17] * 15)
    view = viewed(gaps)
    router = compare_models(view, "small", "large", equivalence=1, prompts=known).router
    new = pd.DataFrame(
        {
            "prompt_id": list("abcde"),
            "topic": ["law", "art", "war", None, "law"],
            "length": [3.5, 49.3, 2, 2, 50],
            "text": ["x" * 10] * 5,
        }
    )
    chosen = router.choose(new)
    assert chosen["model"].tolist() == ["small", "small", "large", "large", "large"]
    assert chosen["reason"].str.split(" ").str[0].tolist() == ["", "", "topic", "topic", "length"]
    fitted = router.choose(known)
    assert set(fitted["reason"]) == {""}
    absent = router.choose(new.assign(topic=None))
    assert set(absent["model"]) == {"large"}
    with pytest.raises(InputError, match="column 'topic' is a number, and the router was made of a category"):
        router.choose(new.assign(topic=[1.5, 2, 3, 4, 5]))
    with pytest.raises(InputError, match="no column"):
        router.choose(new.drop(columns="length"))
    with pytest.raises(InputError, match="no column"):
        router.choose(new.drop(columns="prompt_id"))


@pytest.mark.parametrize(
    ("view", "asked", "words"),
    [
        ({"ratings": (19, 30)}, {}, "'small' has 19 human ratings, too few"),
        ({"ratings": (30, 0)}, {}, "'large' has 0 human ratings, too few"),
        ({"interval": "fixed"}, {}, "fixed holds 51% of the true differences"),
        ({}, {"equivalence": 0}, "equivalence is 0"),
        ({}, {"equivalence": None, "tags": ["a"]}, "tags are for a replacement"),
        ({}, {"prices": {"small": 1.0}}, "prices are of small"),
        ({}, {"prices": {"small": 1.0, "large": -1.0}}, "prices are of"),
        ({}, {"tags": ["a"]}, "nothing is known of the prompts|no column named 'a'"),
    ],
)
def test_what_cannot_be_said_is_refused(view, asked, words):
    """In one sentence, with what to type."""
    with pytest.raises(InputError, match=words) as refused:
        compare_models(viewed(np.arange(PROMPTS), **view), "small", "large", **{"equivalence": 1.0, **asked})
    assert refused.value.hint


def test_a_router_needs_tags():
    """Without them the document says so, also where categories are too small to make one."""
    small = viewed(np.arange(PROMPTS), categories=[f"c{at // 3}" for at in range(PROMPTS)])
    assert (
        compare_models(small, "small", "large", equivalence=1).notes[-1].startswith("No router: nothing to explain")
    )
    compared = compare_models(viewed(np.arange(PROMPTS)), "small", "large", equivalence=1)
    with pytest.raises(UsageError, match="no router was made"):
        _ = compared.router
    with pytest.raises(UsageError, match="no router was made"):
        _ = compare_models(viewed(np.arange(PROMPTS)), "small", "large").router
    assert "Give a table of prompts with tags" in " ".join(compared.to_text(full=True).split())


@pytest.fixture(scope="module")
def fitted():
    """Return a fit with categories, and a table of tags."""
    return bw.fit_factors(frame(), human="human", **QUICK)


def test_the_commands(fitted, tmp_path, monkeypatch, capsys):
    """A comparison with a margin saves its router, which is read back and routes; mistakes are one sentence."""
    monkeypatch.chdir(tmp_path)
    fitted.view.save("fit.json")
    flags = ("--equivalence", "0.8", "--price", "m0=1", "--price", "m1=5")
    done = typed(capsys, "factor", "compare", "fit.json", "m0", "m1", *flags, "--save", "router.json", "--full")
    assert done.code == 0, done.err
    text = " ".join(done.out.split())
    assert "Can m0 replace m1?" in text
    assert "by the router" in text
    assert 'bw.load("router.json").choose("prompts.csv")' in done.err + done.out
    router = bw.load("router.json")
    assert isinstance(router, ModelRouter)
    same = fitted.compare("m0", "m1", equivalence=0.8, prices={"m0": 1, "m1": 5}).router
    assert router.coefficients == pytest.approx(same.coefficients, rel=1e-4)
    assert (router.prices, router.columns[0].level) == ({"m0": 1, "m1": 5}, same.columns[0].level)
    names = pd.DataFrame({"prompt_id": ["a", "b"], "category": ["even", "odd"]})
    assert set(router.choose(names)["model"]) <= {"m0", "m1"}
    assert "Router between two models" in str(router)
    document = strict(typed(capsys, "factor", "compare", "fit.json", "m0", "m1", *flags, "--json", "-").out)
    assert document["replacement"]["margin"] == 0.8
    for words in (
        ("m0", "m1", "--save", "again.json"),
        ("m0", "m1", "--tags", "category"),
        ("m0", "m1", "--equivalence", "-1"),
        ("m0", "m1", "--equivalence", "1", "--price", "m0=1"),
    ):
        done = typed(capsys, "factor", "compare", "fit.json", *words)
        assert done.code == 2
        assert "Traceback" not in done.err
    for change in ({"multiple": 0}, {"coefficients": [1.0]}, {"covariance": [[1.0]]}):
        plain = router.to_dict() | change
        with pytest.raises(ValueError, match=r"multiple|coefficients"):
            ModelRouter.model_validate(plain)


def replaced(seed, margin=0.6, **size):
    """Return what holds in a simulated set: prompts shown together, the share, and kinds that a router sends on."""
    drawn, tags, effects = tagged(seed, **size)
    fit = bw.fit_factors(drawn.frame(), human="human", rank=3, prior=1.0, restarts=1, seed=seed)
    together, covered, kinds = [], [], []
    for model in range(4):
        for other in range(4):
            if model == other:
                continue
            compared = fit.compare(f"m{model}", f"m{other}", equivalence=margin, prompts=table_of(tags))
            true = drawn.capabilities[0][:, model] - drawn.capabilities[0][:, other]
            place = {name: at for at, name in enumerate(fit.view.prompts)}
            shown = [place[row.prompt_id] for row in compared.prompts if row.band_low > -margin]
            together.append(bool((true[shown] > -margin).all()))
            found = compared.replacement
            covered.append(found.low <= (true > -margin).mean() <= found.high)
            effect = effects[:, model] - effects[:, other]
            constant = (true - tags @ effect).mean()
            every = np.array([[1, a, b] for a in (0, 1) for b in (0, 1)], dtype=float)
            sent = compared.router.lower(every) > -margin
            kinds.append(bool((constant + every[sent, 1:] @ effect > -margin - 0.1).all()))
    return np.mean(together), np.mean(covered), np.mean(kinds)


def test_a_small_simulated_set():
    """What is shown holds in nearly all of the twelve pairs of models."""
    together, covered, kinds = replaced(1, prompts=80, judges=5)
    assert together >= 0.8
    assert covered >= 0.7
    assert kinds >= 0.8


@pytest.mark.slow
def test_sixteen_simulated_sets():
    """The lower bound of the share, its interval and the router's kinds hold about as often as they say."""
    together, covered, kinds = np.mean([replaced(seed) for seed in range(16)], axis=0)
    assert together >= 0.93
    assert covered >= 0.88
    assert kinds >= 0.93
    assert TAGS
