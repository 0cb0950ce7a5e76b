"""What designs would be worth, compared before any label is drawn."""

from __future__ import annotations

import json
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import InputError
from bonwise.labels.design_comparison import ShareOfLabels, comparison_sentences, labelled_pools
from bonwise.labels.front import compare_designs
from bonwise.labels.population import label_population
from bonwise.labels.recovery_variance import (
    by_strata,
    design_variance,
    drawn_recoveries,
    effective_sample_size,
    pilot_size,
    two_phase,
    variance_ratio,
    width_ratio,
)
from bonwise.table.scales import Scale
from bonwise.testing import simulate


def two_judges(n, seed=1):
    """Return a simulated labelled table with a second, stronger judge."""
    frame = simulate("arena", n=n, seed=seed).frame().assign(judge="first")
    noise = np.random.default_rng(seed).normal(0, 0.11, len(frame))
    return pd.concat([frame, frame.assign(judge="second", judge_score=frame["oracle_label"] + noise)])


@pytest.fixture(scope="module")
def found():
    """Compare designs on a simulated arena with a second judge."""
    return compare_designs(two_judges(2000), judge="first", shares=[0.25, 0.5], draws=60, seed=1)


def test_labels_at_random_are_what_all_is_held_against(found):
    """Their ratio is 1 and has no draws of its own."""
    assert [one.labels_only for one in found.designs["uniform"].shares] == [1.0, 1.0]
    assert all(one.drawn is None for one in found.designs["uniform"].shares)
    assert [one.labels for one in found.designs["rule"].shares] == [500, 1000]


def test_the_rule_saves_what_its_design_promises(found):
    """By variance: margin above 1, the rule below .65, with the second judge below .45, the optimum lowest."""
    at = {name: one.shares[0] for name, one in found.designs.items()}
    assert at["margin"].labels_only > 1.3
    assert at["rule"].labels_only < 0.65
    assert at["rule_further"].labels_only < 0.45
    assert at["optimum"].labels_only == min(one.labels_only for one in at.values())
    assert at["rule_further"].with_scores < at["rule_further"].labels_only
    assert at["uniform"].with_scores < 0.65


def test_draws_agree_with_the_formula(found):
    """Each simulated ratio lies within four Monte-Carlo errors of the first-order one; of neyman the pilot costs."""
    for name, design in found.designs.items():
        for one in design.shares:
            if one.drawn is not None and name != "neyman":
                assert abs(one.drawn - one.labels_only) < 4 * one.drawn_se + 0.02, name


def test_the_proxy_chain_has_intervals_and_shares_explained(found):
    """Each link has an interval by prompt, and its square as the share explained."""
    links = found.to_dict()["proxy_chain"]
    first = links[0]
    assert (first["from"], first["to"]) == ("judge_spread", "oracle_spread")
    assert first["correlation"]["low"] < first["correlation"]["estimate"] < first["correlation"]["high"]
    assert first["explained"] == pytest.approx(first["correlation"]["estimate"] ** 2)
    assert 0 <= first["explained_low"] <= first["explained"] <= first["explained_high"]
    assert {link["from"] for link in links} == {
        "judge_spread",
        "oracle_spread",
        "rule",
        "further_spread",
        "rule_further",
    }


def test_the_document_is_strict_and_the_page_says_what_nobody_can_do(found):
    """JSON without NaN; designs that look at labels are marked."""
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["schema"] == "bonwise.label_designs/1"
    assert [name for name, one in document["designs"].items() if not one["feasible"]] == ["label_spread", "optimum"]
    assert "optimum *" in str(found)
    assert "nobody can draw by them" in str(found)


def test_the_same_seed_gives_the_same_figures_whatever_the_order_of_rows():
    """Shuffled rows give the same document."""
    frame = two_judges(150)
    documents = [
        compare_designs(one, judge="first", shares=[0.3], draws=5).to_dict()
        for one in (frame, frame.sample(frac=1, random_state=3))
    ]
    assert documents[0] == documents[1]


def test_few_prompts_have_no_model():
    """Below a hundred prompts the column of the model is null, and said to be."""
    found = compare_designs(simulate("arena", n=60, seed=1).frame(), shares=[0.5], draws=5)
    assert found.designs["rule"].shares[0].with_scores is None
    assert found.designs["rule"].shares[0].model == "labels only"
    assert "labels are used alone" in found.to_text(full=True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"shares": [0.0]}, "between 0 and 1"),
        ({"shares": [0.2, 0.2]}, "each once"),
        ({"shares": [0.01]}, "are 0 to label"),
        ({"draws": 1}, "at least 2"),
        ({"seed": -1}, "seed"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": "x"}, "confidence must be a number"),
        ({"shares": 0.2}, "several numbers"),
        ({"shares": "0.2"}, "several numbers"),
        ({"shares": ["half"]}, "must be a number"),
        ({"draws": 2.5}, "draws must be a whole number"),
        ({"draws": "5"}, "draws must be a whole number"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"exclude": 3}, "exclude takes a name"),
        ({"exclude": [3]}, "exclude takes a name"),
        ({"label_file": 3}, "label_file is a file or a table"),
        ({"judge": 3}, "judge is a text"),
        ({"shape": "square"}, "no shape"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, words):
    """One line says what is wrong."""
    with pytest.raises(InputError, match=words):
        compare_designs(simulate("arena", n=40, seed=1).frame(), **arguments)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.assign(oracle_label=f["oracle_label"].where(f.index > 40)), "prompts lack labels"),
        (lambda f: f.assign(oracle_label=0.5), "never differ"),
        (lambda f: f.assign(judge_score=0.5), "recovery is 0 in every prompt"),
    ],
)
def test_labels_that_say_nothing_are_refused(change, words):
    """Missing labels, labels that never differ, and a judge that ties everything."""
    with pytest.raises(InputError, match=words):
        compare_designs(change(simulate("arena", n=40, seed=1).frame()))


@pytest.mark.shared
def test_the_arena_sample_is_compared(shared):
    """On 99 labelled prompts margin is no better than random, and the optimum is best at every share."""
    found = compare_designs(
        shared / "data" / "arena100" / "scores.csv", exclude=["unhelpful"], shares=[0.25, 0.5], draws=20
    )
    assert found.data["prompts"] == 99
    assert found.data["recovery"] == pytest.approx(0.2126, abs=5e-4)
    for at in range(2):
        ratios = {name: one.shares[at].labels_only for name, one in found.designs.items()}
        assert ratios["margin"] > 1
        assert ratios["optimum"] == min(ratios.values())


def test_with_scores_the_optimum_is_allocated_by_what_scores_leave(found):
    """Drawn by each prompt's own residual, the optimum beats a draw by its deviation."""
    pools = labelled_pools(label_population(two_judges(600), judge="first", with_labels=True), 1)
    share = ShareOfLabels.of(pools, 0.25, 150, draws=2, seed=1)
    by_residual = share.variances()["optimum"].with_scores
    by_deviation = share._variance(share._design("optimum", np.abs(pools.phi) + 1e-9), None, 1.0, None).with_scores
    base = share._variance((np.zeros(600, dtype=np.int64), np.array([150])), None, 1.0, None).labels_only
    assert by_residual < 0.8 * by_deviation / base
    at = {name: one.shares[0].with_scores for name, one in found.designs.items()}
    assert at["optimum"] == min(at.values())


@pytest.mark.parametrize(
    ("judges", "labels", "model"), [(1, 60, "labels only"), (1, 150, "ridge"), (2, 20, "stand-in"), (2, 60, "ridge")]
)
def test_the_model_is_the_one_that_an_audit_of_as_many_labels_rests_on(judges, labels, model):
    """Few labels are used alone without a second judge; with one it stands in, and from 30 on a ridge is fitted."""
    frame = two_judges(300)
    found = compare_designs(
        frame if judges == 2 else frame[frame["judge"] == "first"], judge="first", shares=[labels / 300], draws=2
    )
    one = found.designs["rule"].shares[0]
    assert one.model == model
    assert (one.with_scores is None) == (model == "labels only")


def ratios(found, neyman, se):
    """Return the comparison with other simulated figures of neyman."""
    designs = {name: one.model_copy(update={"shares": one.shares[:1]}) for name, one in found.designs.items()}
    share = designs["neyman"].shares[0].model_copy(update={"drawn": neyman, "drawn_se": se})
    return comparison_sentences(designs | {"neyman": designs["neyman"].model_copy(update={"shares": [share]})})[0]


def test_no_winner_is_named_within_two_standard_errors(found):
    """A design that only its draws put first, by less than two errors, is listed beside the others and its error."""
    rule = found.designs["rule_further"].shares[0].labels_only
    assert "no design has clearly the smallest variance" in ratios(found, rule - 0.1, 0.18)
    assert f"neyman {rule - 0.1:.3f} (standard error 0.180), rule_further {rule:.3f}" in ratios(
        found, rule - 0.1, 0.18
    )
    assert f"neyman has {rule - 0.1:.3f} (standard error 0.0200) of the variance" in ratios(found, rule - 0.1, 0.02)
    assert f"rule_further has {rule:.3f} of the variance" in ratios(found, 2.0, 0.18)


def test_settings_repeat_what_changes_figures_and_stay_as_they_are(tmp_path):
    """Label file, columns, scales, exclusions, draws and seed are in the settings, which nobody can change."""
    frame = simulate("arena", n=40, seed=1).frame().rename(columns={"judge_score": "rating"})
    frame.drop(columns="rating").assign(oracle_label=10 * frame["oracle_label"]).to_csv(
        tmp_path / "labels.csv", index=False
    )
    found = compare_designs(
        frame.drop(columns="oracle_label"),
        label_file=tmp_path / "labels.csv",
        exclude="c3",
        columns={"judge_score": "rating"},
        judge_scale=Scale(0, 1),
        label_scale=Scale(0, 10),
        shares=[0.5],
        draws=3,
        seed=4,
    )
    settings = json.loads(json.dumps(found.to_dict()["settings"]))
    expected = {
        "label_file": str(tmp_path / "labels.csv"),
        "exclude": ["c3"],
        "columns": {"judge_score": "rating"},
        "judge_scale": {"": "0:1"},
        "label_scale": "0:10",
        "draws": 3,
        "seed": 4,
    }
    assert {name: settings[name] for name in expected} == expected
    with pytest.raises(TypeError):
        found.settings["seed"] = 5


def test_the_name_of_a_file_cannot_move_the_cursor(tmp_path):
    """The short form shows control characters written out."""
    path = tmp_path / "a\x1b[31mb.csv"
    simulate("arena", n=40, seed=1).frame().to_csv(path, index=False)
    assert repr(compare_designs(path, shares=[0.5], draws=2)).isprintable()


VALUES = st.lists(st.integers(-3, 3).map(float), min_size=5, max_size=7)


@given(VALUES, st.integers(1, 2), st.integers(1, 3))
def test_the_formula_is_the_variance_over_all_samples(values, first, second):
    """Enumerating every stratified sample gives the variance of the weighted mean to 1e-12."""
    phi = np.array(values)
    found = np.array([0, 0] + [1] * (len(phi) - 2))
    counts, held = np.array([first, second]), np.bincount(found)
    means = [
        sum(held[h] / counts[h] * phi[list(part)].sum() for h, part in enumerate(sample)) / len(phi)
        for sample in product(combinations((0, 1), first), combinations(range(2, len(phi)), second))
    ]
    assert design_variance(phi, found, counts) == pytest.approx(np.var(means), abs=1e-12)


def test_draws_have_the_variance_of_the_formula():
    """With a constant denominator recoveries of 3,000 draws vary as the formula says, within 10 %."""
    rng = np.random.default_rng(1)
    found, counts = np.repeat([0, 1], [60, 40]), np.array([10, 20])
    gain, best = rng.normal(size=100) * (1 + 2 * found), np.ones(100)
    recoveries = drawn_recoveries((gain, best), by_strata(found, counts), 3000, (1,))
    assert recoveries.var() == pytest.approx(design_variance(gain, found, counts), rel=0.1)
    assert abs(recoveries.mean() - gain.mean()) < 4 * recoveries.std() / np.sqrt(3000)


def test_the_width_ratio_is_that_of_the_neyman_formula():
    """In proportion to N_h sd_h the ratio is sqrt(b + (1 - R2)(g - b)), g = (E sd)^2 / E sd^2."""
    prompts, sd = np.array([400, 100]), np.array([1.0, 4.0])
    counts = np.array([50, 50])
    g = 1.6**2 / (0.8 + 0.2 * 16)
    assert width_ratio(prompts, counts, sd) == pytest.approx(np.sqrt(g))
    assert width_ratio(prompts, counts, sd, 0.5) == pytest.approx(np.sqrt(0.2 + 0.5 * (g - 0.2)))


def test_a_stratum_without_a_draw_is_left_out():
    """All-tied prompts that no pair is drawn from change neither the ratio nor the effective sample size."""
    prompts, counts, sd = np.array([50, 30]), np.array([10, 0]), np.array([1.0, 0.0])
    assert width_ratio(prompts, counts, sd) == pytest.approx(1.0)
    assert effective_sample_size(prompts, counts) == pytest.approx(10)


def test_two_phases_label_as_many_as_asked_and_weigh_by_what_was_labelled():
    """Weights of the drawn prompts sum to all prompts, in each stratum."""
    rng = np.random.default_rng(1)
    found = rng.integers(0, 3, 300)
    draw = two_phase((rng.normal(size=300) * (1 + found), rng.random(300)), found, 90)
    taken, weights = draw(np.random.default_rng(2))
    assert taken.sum() == 90
    assert np.bincount(found, weights=weights * taken) == pytest.approx(np.bincount(found))


@pytest.mark.parametrize(("labels", "expected"), [(10, 10), (60, 20), (250, 50), (251, 51)])
def test_a_pilot_is_a_fifth_and_at_least_twenty(labels, expected):
    """A fifth of the labels rounded up, no fewer than 20, no more than there are."""
    assert pilot_size(labels) == expected


def test_a_comparison_with_no_variance_is_none():
    """Where draws at random never vary, or recovery is undefined, there is no ratio."""
    assert variance_ratio(np.ones(3), np.zeros(3), 0.0) is None
    assert variance_ratio(np.full(3, np.nan), np.ones(3), 0.0) is None


def test_recovery_of_labels_that_never_differ_is_undefined():
    """Without a label above the mean there is nothing to divide by."""
    nothing = np.zeros(4), np.zeros(4)
    found = drawn_recoveries(nothing, by_strata(np.zeros(4, dtype=int), np.array([2])), 3, (0,))
    assert np.isnan(found).all()
