from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import InputError
from bonwise.factors.comparisons import explain_gaps
from bonwise.factors.difference_bands import band_of_covariance, band_of_draws
from bonwise.factors.human_view import HumanView
from bonwise.factors.posterior_draws import PosteriorDraws
from bonwise.factors.prompt_columns import PromptColumns, prompt_groups
from bonwise.factors.prompt_properties import PromptProperty
from bonwise.factors.strengths import find_strengths, number_by_rank
from cli.commands import strict, typed
from factors.tagged_models import measured, table_of, tagged

PROMPTS = 30


def known(gaps=None, categories=None, count=5):
    """Return a view of two models whose factors are known, so that figures can be worked by hand."""
    gaps = np.arange(PROMPTS, dtype=float) if gaps is None else np.asarray(gaps, dtype=float)
    draws = PosteriorDraws(
        np.tile([[[1.0], [0.0]]], (count, 1, 1)), np.tile(gaps[None, :, None], (count, 1, 1)), np.zeros((count, 1))
    )
    return HumanView.of(
        draws,
        human="ann",
        side_by_side=False,
        categories=["1", "2"],
        points=[1.0, 2.0],
        prompts=[f"p{at:02d}" for at in range(len(gaps))],
        models=["x", "y"],
        prompt_categories=list(categories or [""] * len(gaps)),
        human_ratings=[9, 9],
        confidence=0.95,
        seed=0,
        source="table",
        version="0",
    )


def table(**columns):
    """Return a table of prompts."""
    return pd.DataFrame({"prompt_id": [f"p{at:02d}" for at in range(PROMPTS)], **columns})


def test_a_tag_worked_by_hand():
    """Gaps 0 to 29, a tag on the last ten: means 9.5 and 24.5, squared errors 665 and 82.5."""
    tag = (np.arange(PROMPTS) >= 20).astype(int)
    found = explain_gaps(known(), "x", "y", prompts=table(tag=tag))
    one = found.coefficients[0]
    assert (one.column, one.kind, one.prompts) == ("tag", "tag", 10)
    assert one.estimate == pytest.approx(15)
    assert one.se == pytest.approx(np.sqrt((665 / 400 + 82.5 / 100) * 30 / 28))
    assert (one.high - one.estimate) / one.se == pytest.approx(2.0484, abs=1e-4)
    assert (one.band_low, one.band_high) == pytest.approx((one.low, one.high), rel=0.01)
    assert found.constant.estimate == pytest.approx(9.5)
    assert found.explained == pytest.approx(1 - (747.5 / 28) / (2247.5 / 29))
    assert explain_gaps(known(), "y", "x", prompts=table(tag=tag)).coefficients[0].estimate == pytest.approx(-15)


def test_kinds_of_columns():
    """A category is beside its most common name, a length per doubling, a number per standard deviation."""
    text = ["x" * (4 if at % 2 else 16) for at in range(PROMPTS)]
    topic = ["law"] * 14 + ["art"] * 10 + ["war"] * 6
    gaps = 3.0 * (np.arange(PROMPTS) % 2 == 0) + np.repeat([0.0, 1.0, 5.0], [14, 10, 6])
    found = explain_gaps(known(gaps), "x", "y", prompts=table(prompt=text, topic=topic))
    assert [(one.column, one.level, one.unit) for one in found.coefficients] == [
        ("prompt", "", "per doubling of the length"),
        ("topic", "art", "instead of law"),
        ("topic", "war", "instead of law"),
    ]
    assert [one.estimate for one in found.coefficients] == pytest.approx([1.5, 1.0, 5.0])
    number = explain_gaps(known(), "x", "y", prompts=table(number=2 * np.arange(PROMPTS)))
    assert number.coefficients[0].estimate == pytest.approx(np.arange(PROMPTS).std())
    assert number.explained == pytest.approx(1)


def test_the_category_of_the_ratings_is_a_tag():
    """Alone, beside a table, or not where it is not named; a column of that name goes before."""
    view = known(categories=["even", "odd"] * 15)
    tag = (np.arange(PROMPTS) >= 20).astype(int)
    assert [one.level for one in explain_gaps(view, "x", "y").coefficients] == ["odd"]
    assert len(explain_gaps(view, "x", "y", prompts=table(tag=tag)).coefficients) == 2
    for tags, count in ((["tag"], 1), (["category"], 1), (["tag", "category"], 2)):
        assert len(explain_gaps(view, "x", "y", prompts=table(tag=tag), tags=tags).coefficients) == count
    other = explain_gaps(view, "x", "y", prompts=table(category=["a", "b", "c"] * 10))
    assert [one.level for one in other.coefficients] == ["b", "c"]
    assert "not of the ratings" in other.notes[0]


def test_what_is_left_out_is_said():
    """Prompts without a value, rare categories, columns that are the same everywhere or follow from others."""
    tag = (np.arange(PROMPTS) % 3 == 0).astype(float)
    tag[0] = np.nan
    found = explain_gaps(
        known(),
        "x",
        "y",
        prompts=table(
            tag=tag, again=1 - tag, same=["yes"] * PROMPTS, topic=["a"] * 13 + ["b"] * 15 + ["rare"] * 2, blank=None
        ),
    )
    assert found.left_out == {"no tag": 1, "topic with fewer than 5 prompts": 2}
    assert found.prompts == 27
    assert [one.column for one in found.coefficients] == ["tag", "topic"]
    assert any("'again' is left out: it follows from the columns before it." in note for note in found.notes)
    assert any("'same' is left out: fewer than 5 prompts" in note for note in found.notes)


@pytest.mark.parametrize(
    ("columns", "tags", "words"),
    [
        ({"tag": [1] * PROMPTS}, None, "nothing to explain gaps by"),
        ({"tag": [1, 0] * 15}, ["tagg"], "no column named 'tagg'"),
        ({"author": [f"a{at}z" for at in range(PROMPTS)]}, None, None),
        ({}, None, "no column beside prompt_id"),
        ({f"t{at}": np.arange(PROMPTS) ** 2 % (at + 5) for at in range(12)}, None, "too few for"),
    ],
)
def test_tables_that_explain_nothing_are_refused(columns, tags, words):
    """In one sentence, with what to type."""
    if words is None:
        words = "nothing to explain|too many"
    with pytest.raises(InputError, match=words) as refused:
        explain_gaps(known(), "x", "y", prompts=table(**columns), tags=tags)
    assert refused.value.hint
    assert "\n" not in str(refused.value)


def test_other_questions_that_are_refused():
    """No properties at all, a model against itself, a prompt twice, no prompt of the fit, a text as a number."""
    doubled = pd.concat([table(tag=[1, 0] * 15), table(tag=[1, 0] * 15)[:1]])
    for asked, words in (
        ({}, "nothing is known of the prompts"),
        ({"prompts": doubled}, "row 30: prompt 'p00' has a row already"),
        ({"prompts": table(tag=[1, 0] * 15).assign(prompt_id="q")[:1]}, "no row is of a prompt of the fit"),
        ({"prompts": "nowhere.csv"}, "nowhere.csv"),
        ({"prompts": table(author=[f"{at}-{at}" for at in range(PROMPTS)]), "tags": ["author", "x"]}, "named 'x'"),
    ):
        with pytest.raises(InputError, match=words):
            explain_gaps(known(), "x", "y", **asked)
    with pytest.raises(InputError, match="compared with itself"):
        explain_gaps(known(), "x", "x")
    with pytest.raises(InputError, match="no column named 'tag'"):
        explain_gaps(known(categories=["a", "b"] * 15), "x", "y", tags=["tag"])


def test_strengths_worked_by_hand():
    """Advantage 0 to 29: the last ten lie at 24.5, which is 10 above the mean; nothing of a prompt is open."""
    tag = (np.arange(PROMPTS) >= 20).astype(int)
    found = find_strengths(known(), "x", prompts=table(tag=tag))
    assert found.advantage.estimate == pytest.approx(14.5)
    assert found.advantage.se == pytest.approx(np.sqrt(2247.5 / 30 / 29))
    group = found.groups[0]
    assert (group.prompts, group.verdict) == (10, "strength")
    assert group.estimate == pytest.approx(24.5)
    assert group.se == pytest.approx(np.sqrt(82.5 / 100 * 30 / 28))
    assert group.difference == pytest.approx(10)
    assert [one.prompt_id for one in found.prompts[:2]] == ["p29", "p28"]
    assert [one.verdict for one in found.prompts] == ["strength"] * 15 + ["weakness"] * 15
    other = find_strengths(known(), "y", prompts=table(tag=tag))
    assert other.groups[0].verdict == "weakness"
    assert other.advantage.estimate == pytest.approx(-14.5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_plain_loops_find_the_same_groups(seed):
    """With factors that are known: means of prompts in and outside each group, and the spread around them."""
    rng = np.random.default_rng(seed)
    gaps = rng.standard_normal(PROMPTS)
    tags = {name: rng.permutation(PROMPTS) < size for name, size in (("one", 8), ("two", 15))}
    found = find_strengths(known(gaps), "x", prompts=table(**{name: on.astype(int) for name, on in tags.items()}))
    reach = (found.groups[0].high - found.groups[0].estimate) / found.groups[0].se
    for group in found.groups:
        inside = [gap for gap, on in zip(gaps, tags[group.column], strict=True) if on]
        outside = [gap for gap, on in zip(gaps, tags[group.column], strict=True) if not on]
        spread = [sum((gap - np.mean(part)) ** 2 for gap in part) / len(part) ** 2 for part in (inside, outside)]
        share, more = len(inside) / PROMPTS, PROMPTS / (PROMPTS - 2)
        assert group.estimate == pytest.approx(np.mean(inside))
        assert group.difference == pytest.approx(np.mean(inside) - np.mean(gaps))
        assert group.se == pytest.approx(np.sqrt(spread[0] * more))
        half = (group.band_high - group.band_low) / 2
        assert half >= (1 - share) * np.sqrt(sum(spread) * more) * reach * (1 - 1e-9)
        assert half <= (1 - share) * np.sqrt(sum(spread) * more) * 2.6


def test_groups_of_prompts():
    """Small groups and numbers make none, and the notes say so; unknown prompts are in no group."""
    view = known(categories=["a"] * 15 + ["b"] * 12 + [""] * 3)
    found = find_strengths(view, "x", prompts=table(rare=[1] * 2 + [0] * 28, number=np.arange(PROMPTS) / 7))
    assert {(one.column, one.level, one.prompts) for one in found.groups} == {
        ("category", "a", 15),
        ("category", "b", 12),
    }
    assert "rare" in found.notes[0]
    assert "number" in found.notes[1]
    first = next(one for one in found.groups if one.level == "b")
    assert first.difference == pytest.approx(20.5 - 13)
    assert find_strengths(known(), "x").groups == []
    assert prompt_groups([]) == ([], [])
    with pytest.raises(InputError):
        PromptColumns.of([], PROMPTS)
    single = known(count=1)
    with pytest.raises(InputError, match="too few draws for an interval: 1"):
        find_strengths(single, "x")
    with pytest.raises(InputError, match="4 prompts are too few"):
        find_strengths(known(np.arange(4)), "x")


def test_a_number_by_rank_worked_by_hand():
    """First where the gap is above 0, on the prompts 12 to 29: their median is 20.5, that of the others 5.5."""
    number = np.arange(PROMPTS, dtype=float)
    found = find_strengths(known(number - 11.5), "x", prompts=table(size=number, few=[1.5, 2.0, 3.0] + [None] * 27))
    (row,) = found.numbers
    assert (row.column, row.prompts, row.first.prompts, row.last.prompts) == ("size", 30, 18, 12)
    assert row.first.estimate == pytest.approx(20.5, abs=1.5)
    assert row.last.estimate == pytest.approx(5.5, abs=1.5)
    assert row.estimate == pytest.approx(row.first.estimate - row.last.estimate)
    assert 0 < row.low <= row.estimate <= row.high < 30
    assert any("'few' is left out: fewer than 5 prompts on which x is the first" in note for note in found.notes)
    whole = " ".join(found.to_text(full=True).split())
    assert "Median of each number where x is the first, then the last" in whole
    assert find_strengths(known(number + 1), "x", prompts=table(size=number)).numbers is None


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_plain_loops_find_the_same_medians(seed):
    """With factors that are known nothing is pulled: ranks from the gaps, medians of each resample of prompts."""
    rng = np.random.default_rng(seed)
    draws = PosteriorDraws(rng.standard_normal((6, 3, 2)), rng.standard_normal((6, PROMPTS, 2)), np.zeros((6, 1)))
    view = known().model_copy(update={"models": ["x", "y", "z"], "human_ratings": [9] * 3}).computed_from(draws)
    values = rng.standard_normal(PROMPTS)
    row = number_by_rank(view, 0, PromptProperty("size", "number", values))
    line = (values - values.mean()) / values.std()
    z = np.column_stack([np.ones(PROMPTS), line])
    best, worst = np.ones((2, 6, PROMPTS), dtype=bool)
    for other in (1, 2):
        weights = np.eye(3)[0] - np.eye(3)[other]
        factors = view.prompt_factors(weights)
        moved = factors.around(z)
        for draw in range(6):
            for at in range(PROMPTS):
                gap = float(moved.contrast[draw] @ moved.prompts[draw, at])
                best[draw, at] &= gap > 0
                worst[draw, at] &= gap < 0
    counts = [sum(float(one.sum()) for one in side) / 6 for side in (best, worst)]
    if min(counts) < 5:
        assert row is None
        return
    assert (row.first.prompts, row.last.prompts) == pytest.approx(counts)
    draw_of_prompts = np.random.default_rng(0)
    medians = [[], []]
    for at in range(6 * 8):
        chosen = draw_of_prompts.integers(PROMPTS, size=PROMPTS)
        for side, kept in zip(medians, (best, worst), strict=True):
            inside = [values[one] for one in chosen if kept[at % 6, one]]
            side.extend([np.median(inside)] if inside else [])
    for side, told in zip(medians, (row.first, row.last), strict=True):
        assert (told.low, told.estimate, told.high) == pytest.approx(tuple(np.quantile(side, [0.025, 0.5, 0.975])))


def medians_of_ranks(seed, prompts=150, draws=60):
    """Return whether the interval holds the true difference of medians: gaps follow a number, judges see them badly.

    Prompts have gaps ``g = 0.6 x + e`` to two models each; the posterior knows each with noise of the variance 1 and
    takes all for one normal population, which pulls them to their mean.
    """
    rng = np.random.default_rng(seed)
    number, far = rng.standard_normal(prompts), rng.standard_normal(200_000)

    def gaps(x):
        return 0.6 * x[:, None] + 0.8 * rng.standard_normal((len(x), 2)) + 0.1

    true = gaps(far)
    truth = np.median(far[true.min(axis=1) > 0]) - np.median(far[true.max(axis=1) < 0])
    seen = gaps(number) + rng.standard_normal((prompts, 2))
    left = np.linalg.inv(np.linalg.inv(np.cov(seen.T) - np.eye(2)) + np.eye(2))
    means = seen.mean(axis=0) + (seen - seen.mean(axis=0)) @ left
    factors = means + rng.standard_normal((draws, prompts, 2)) @ np.linalg.cholesky(left).T
    by_model = np.tile([[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]], (draws, 1, 1))
    posterior = PosteriorDraws(by_model, factors, np.zeros((draws, 1)))
    view = known(np.zeros(prompts)).model_copy(update={"models": ["x", "y", "z"], "human_ratings": [9] * 3})
    row = number_by_rank(view.computed_from(posterior), 0, PromptProperty("size", "number", number))
    return row.low <= truth <= row.high, row.estimate / truth


def test_medians_by_rank_are_freed_of_the_pull():
    """In simulated posteriors the interval holds the truth, and the difference is as large as the true one."""
    held, size = np.mean([medians_of_ranks(seed) for seed in range(12)], axis=0)
    assert held >= 0.8
    assert 0.85 <= size <= 1.15


@pytest.mark.slow
def test_medians_by_rank_in_many_simulated_posteriors():
    """The 95 % interval holds the truth about as often."""
    held, size = np.mean([medians_of_ranks(seed) for seed in range(300)], axis=0)
    assert 0.91 <= held <= 0.995
    assert 0.93 <= size <= 1.07


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 40))
def test_each_draw_is_compared_with_the_others(seed, count):
    """The simultaneous interval is a quantile of how far each draw lies from the mean and deviation of all others."""
    draws = np.random.default_rng(seed).standard_normal((count, 3)) * [1.0, 5.0, 0.1]
    largest = []
    for at in range(count):
        others = np.delete(draws, at, axis=0)
        largest.append(np.max(np.abs(draws[at] - others.mean(axis=0)) / others.std(axis=0, ddof=1)))
    place = min(int(np.ceil((count + 1) * 0.9)), count)
    expected = max(sorted(largest)[place - 1], 1.6449)
    assert band_of_draws(draws, 0.9).simultaneous == pytest.approx(expected, rel=1e-4)


def test_simultaneous_intervals_of_few_draws_hold():
    """Of 150 draws of 300 items the simultaneous interval holds a further draw in 95 % of cases, not in 91 %."""
    rng = np.random.default_rng(5)
    held = []
    for _ in range(300):
        low, high = band_of_draws(rng.standard_normal((150, 300)), 0.95).band
        held += [((low <= one) & (one <= high)).all() for one in rng.standard_normal((4, 300))]
    assert 0.93 <= np.mean(held) <= 0.97


def test_simultaneous_intervals_follow_the_correlation():
    """Estimates that vary alike need no wider interval; independent ones do, as the largest of five."""
    alike = band_of_covariance(np.zeros(5), np.ones((5, 5)), 0.95, 10_000, 0)
    apart = band_of_covariance(np.zeros(5), np.eye(5), 0.95, 10_000, 0)
    assert alike.simultaneous == pytest.approx(1.96, abs=0.03)
    assert apart.simultaneous == pytest.approx(2.569, abs=0.03)
    few = band_of_covariance(np.zeros(1), np.eye(1), 0.95, 5, 0)
    assert few.pointwise == pytest.approx(2.5706, abs=1e-4)


@pytest.fixture(scope="module")
def fitted():
    """Return a fit of simulated ratings with tagged prompts, and the table of these."""
    drawn, tags, _ = tagged(0, prompts=60, judges=4)
    return bw.fit_factors(drawn.frame(), human="human", rank=1, prior=1.0, restarts=1), table_of(tags)


def test_the_methods_of_a_fit(fitted, tmp_path):
    """What a fit finds, its document says in every form; a document is read back."""
    fit, prompts = fitted
    for document in (fit.explain("m0", "m1", prompts=prompts), fit.strengths("m2", prompts=prompts)):
        assert str(document)
        assert document.to_markdown().startswith("#")
        assert len(document.to_frame()) > 1
        assert document.drawings
        (tmp_path / "found.json").write_text(document.to_json(), encoding="utf-8")
        assert bw.load(tmp_path / "found.json") == document


def test_the_commands(fitted, tmp_path, monkeypatch, capsys):
    """As JSON, as a page, and refused in one sentence."""
    fit, prompts = fitted
    monkeypatch.chdir(tmp_path)
    fit.view.save("fit.json")
    prompts.assign(prompt=["<script>alert(1)</script>" * 2] * 30 + ["short"] * 30).to_csv("prompts.csv", index=False)
    for words, schema in (
        (("explain", "fit.json", "m0", "m1", "--prompts", "prompts.csv"), "factor_explanation"),
        (("strengths", "fit.json", "m0", "--prompts", "prompts.csv", "--tags", "first, second"), "factor_strengths"),
    ):
        done = typed(capsys, "factor", *words, "--json", "-", "--html", f"{schema}.html")
        assert done.code == 0, done.err
        assert strict(done.out)["schema"] == f"bonwise.{schema}/1"
        assert "<svg" in (tmp_path / f"{schema}.html").read_text("utf-8")
    for words in (
        ("explain", "fit.json", "m0", "m1"),
        ("explain", "fit.json", "m0", "m1", "--prompts", "nowhere.csv"),
        ("strengths", "fit.json", "m9"),
        ("strengths", "fit.json", "m0", "--prompts", "fit.json"),
    ):
        done = typed(capsys, "factor", *words)
        assert done.code == 2
        assert "Traceback" not in done.err


@pytest.mark.parametrize("seed", [0, 1])
def test_a_small_simulated_set(seed):
    """Intervals cover the effect of tags, and verdicts on groups are right."""
    found = measured(seed, prompts=100, judges=5)
    assert found["covers"] >= 0.75
    assert found["bands of groups hold"] >= 0.75
    assert found["false verdicts"] == 0


@pytest.mark.slow
def test_sixteen_simulated_sets():
    """What intervals cover; least squares on the draws alone finds effects that are too small."""
    rows = pd.DataFrame([measured(seed) for seed in range(16)])
    mean = rows.mean()
    assert 0.92 <= mean["covers"] <= 1.0
    assert mean["draws alone cover"] < 0.85
    assert abs(mean["slope"] - 1) < 0.12
    assert mean["slope of least squares"] < 0.9
    assert mean["levels of groups"] >= 0.9
    assert mean["bands of groups hold"] >= 0.9
    assert mean["bands of prompts hold"] >= 0.9
    assert rows["verdicts"].sum() > 20
    assert rows["false verdicts"].sum() <= 0.05 * rows["verdicts"].sum()


@pytest.mark.slow
def test_no_strength_is_found_where_tags_do_nothing():
    """Sixteen sets, four models and two tags in each: at most one in ten verdicts is not open."""
    rows = pd.DataFrame([measured(seed, effect=0.0) for seed in range(16)])
    assert rows["verdicts"].sum() <= 0.1 * 16 * 4 * 2
    assert rows["covers"].mean() >= 0.92
