"""How well ratings are predicted from fewer of them, and rules that choose what is rated."""

from __future__ import annotations

import importlib.util
import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bonwise as bw
from bonwise.errors import InputError, UsageError
from bonwise.factors.baselines import BASELINES, HeldOut, baseline_losses
from bonwise.factors.model_choice import choose_among, fit_stage_one
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.ratings import RatingTable
from bonwise.factors.stage_two import HumanDesign, HumanRatings, RatedCells, VerdictColumns
from bonwise.testing import simulate_ratings
from cli.commands import strict, typed
from factors.test_fit import compared

QUICK = {"rank": 1, "prior": 1.0, "restarts": 1}


def frame(seed=1, **size):
    """Return simulated ratings."""
    return simulate_ratings(seed, **{"prompts": 60, "judges": 4, "labelled": 0.6, **size}).frame()


@pytest.fixture(scope="module")
def study():
    """Return a study of two budgets and two shares of four judges."""
    return bw.study_factors(
        frame(), human="human", budgets=[0.2, 0.5], rater_shares=[0.5, 1.0], splits=2, seed=3, **QUICK
    )


def test_a_table_of_scores_is_studied_by_the_flags_of_a_fit(capsys, tmp_path):
    """Columns of any names, and marks for no score: the same figures as of the table that needs no flag."""
    rng = np.random.default_rng(2)
    label = rng.integers(1, 6, 160)
    plain = pd.DataFrame({"prompt_id": np.repeat(np.arange(40), 4), "candidate": [*"abcd"] * 40})
    plain = plain.assign(gpt_score=label + rng.integers(0, 3, 160), claude_score=label, oracle_label=label)
    named = {
        "prompt_id": "q",
        "candidate": "who",
        "gpt_score": "gpt",
        "claude_score": "claude",
        "oracle_label": "mine",
    }
    marked = plain.rename(columns=named)
    marked.loc[3, "gpt"], plain.loc[3, "gpt_score"] = -9, np.nan
    plain.to_csv(tmp_path / "plain.csv", index=False)
    marked.to_csv(tmp_path / "named.csv", index=False)
    quick = shlex.split("--human human --budget 0.4 --splits 1 --rank 1 --prior 1 --restarts 1 --json -")
    flags = shlex.split("--prompt-col q --candidate-col who --score-col gpt,claude --label-col mine --missing -9")
    expected = strict(typed(capsys, "factor", "study", tmp_path / "plain.csv", *quick).out)
    found = strict(typed(capsys, "factor", "study", tmp_path / "named.csv", *quick, *flags).out)
    assert found["by_labels"][0]["cross_entropy"] == expected["by_labels"][0]["cross_entropy"]
    assert found["data"] == expected["data"]


def twin(ratings, budget, share, largest, splits, seed):
    """Study one share by plain loops: losses by method, each with its split and prompt."""
    found = {}
    for split, rng in enumerate(np.random.default_rng(seed).spawn(splits)):
        table = RatingTable.read(ratings, human="human")
        data = RatingArrays.of(table)
        human = data.only(data.human)
        cells = list(zip(human.prompt.tolist(), human.model.tolist(), strict=True))
        order = rng.permutation(len(set(cells)))
        names = [sorted(set(cells))[at] for at in order]
        place = {cell: at + 0.5 for at, cell in enumerate(names)}
        whole = HumanRatings.of(data, seed=int(rng.integers(2**31)))
        judges = [one.rater for one in table.raters if one.rater != "human"]
        kept = [judges[at] for at in rng.permutation(len(judges))][: max(1, round(share * len(judges)))]
        rows = ratings[(ratings["rater"] == "human") | ratings["rater"].isin(kept)]
        some = RatingArrays.of(RatingTable.read(rows, human="human")).without_human()
        known = np.array([place[cell] < budget * len(cells) for cell in cells])
        held = np.array([place[cell] >= largest * len(cells) for cell in cells])
        design = HumanDesign(data.models, VerdictColumns.of(some))
        chosen = choose_among(fit_stage_one(some, [1], [1.0], restarts=1, seed=seed), design, whole.only(known))
        losses = baseline_losses(design, whole.only(known), whole.only(held), data.prompts)
        losses["factor_model"] = -chosen.human.log_probabilities(whole.only(held))
        for name, values in losses.items():
            prompts = [cell[0] for cell, out in zip(cells, held, strict=True) if out]
            found.setdefault(name, []).extend(
                (split, prompt, float(loss)) for prompt, loss in zip(prompts, values, strict=True)
            )
    return found


def summed(rows):
    """Return mean and standard error clustered by prompt, and the spread of the splits, by plain loops."""
    mean = sum(loss for *_, loss in rows) / len(rows)
    by_prompt, by_split = {}, {}
    for split, prompt, loss in rows:
        by_prompt[prompt] = by_prompt.get(prompt, 0.0) + loss - mean
        by_split.setdefault(split, []).append(loss)
    count = len(by_prompt)
    se = (count / (count - 1) * sum(off**2 for off in by_prompt.values())) ** 0.5 / len(rows)
    return mean, se, count, float(np.std([np.mean(one) for one in by_split.values()], ddof=1))


@pytest.mark.parametrize(("part", "at"), [("by_labels", 0), ("by_labels", 1), ("by_judges", 0)])
def test_a_plain_loop_gives_the_same_figures(study, part, at):
    """Splits, subsets of judges, losses of every method, means, standard errors and differences."""
    record = getattr(study, part)[at]
    budget, share = {"by_labels": ((0.2, 0.5)[at], 1.0), "by_judges": (0.2, 0.5)}[part]
    found = twin(frame(), budget, share, 0.5, 2, 3)
    assert set(found) == {"factor_model", *record.baselines}
    own = found["factor_model"]
    for name, rows in found.items():
        mean, se, count, spread = summed(rows)
        one = record if name == "factor_model" else record.baselines[name]
        assert one.cross_entropy.estimate == pytest.approx(mean, abs=1e-6)
        assert one.cross_entropy.se == pytest.approx(se, abs=1e-6)
        assert one.cross_entropy.n == count
        assert one.between_splits == pytest.approx(spread, abs=1e-6)
        half = stats.t.ppf(0.975, count - 1) * se
        assert one.cross_entropy.high - one.cross_entropy.low == pytest.approx(2 * half, abs=1e-6)
        if name != "factor_model":
            paired = [(*row[:2], row[2] - mine[2]) for row, mine in zip(rows, own, strict=True)]
            mean, se, *_ = summed(paired)
            assert one.difference.estimate == pytest.approx(mean, abs=1e-6)
            assert one.difference.se == pytest.approx(se, abs=1e-6)


def test_every_share_predicts_the_same_ratings(study):
    """Larger shares hold what smaller ones have; all judges at a budget are one step of both parts."""
    document = strict(study.to_json())
    assert document["schema"] == "bonwise.factor_study/1"
    first, last = document["by_labels"]
    assert document["data"]["held_out"] == [72, 72]
    assert (first["fitted"], last["fitted"]) == (28.5, 72) or first["fitted"] in {28, 29}
    assert document["settings"]["rater_budget"] == 0.2
    some, every = document["by_judges"]
    assert (some["judges"], every["judges"]) == (2, 4)
    assert {name: every[name] for name in ("cross_entropy", "baselines")} == {
        name: first[name] for name in ("cross_entropy", "baselines")
    }
    assert last["more_than_largest"]["estimate"] == 0
    less = first["cross_entropy"]["estimate"] - last["cross_entropy"]["estimate"]
    assert first["more_than_largest"]["estimate"] == pytest.approx(less)
    assert set(first["baselines"]) == set(BASELINES)


def test_places_of_cells_are_a_random_order_of_pairs():
    """Both orders of a pair stand at one place, and a share of the places is that share of the cells."""
    rng = np.random.default_rng(0)
    prompt, model = rng.integers(0, 30, 400), rng.integers(0, 4, 400)
    opponent = (model + rng.integers(1, 4, 400)) % 4
    cells = RatedCells(prompt, model, opponent)
    places = cells.places(4, np.random.default_rng(1))
    turned = RatedCells(prompt, opponent, model).places(4, np.random.default_rng(1))
    assert np.array_equal(places, turned)
    assert len(np.unique(places)) == len(np.unique(cells.groups(4)))
    for share in (0.1, 0.5, 0.9):
        assert (places < share * 400).sum() == pytest.approx(share * 400, abs=8)


def test_the_interval_covers_where_a_prompt_is_in_every_split():
    """Losses of a prompt are alike in all splits; 95 of 100 intervals hold the true mean."""
    rng, held = np.random.default_rng(5), 0
    for _ in range(400):
        ease = rng.normal(1.3, 0.4, 40)
        prompt = np.concatenate([rng.permutation(40)[:25] for _ in range(6)])
        found = HeldOut(ease[prompt] + rng.normal(0, 0.2, len(prompt)), {}, prompt)
        mean = found.mean(found.own, 0.95)
        held += mean.low <= 1.3 <= mean.high
    assert 0.92 <= held / 400 <= 0.98


def test_more_human_ratings_and_more_judges_predict_better():
    """On simulated ratings the model loses more with few of either, and by more than its interval."""
    found = bw.study_factors(
        frame(prompts=150, judges=8, labelled=0.8),
        human="human",
        budgets=[0.06, 0.4],
        rater_shares=[0.125, 1.0],
        rater_budget=0.4,
        splits=2,
        **QUICK,
    )
    for steps in (found.by_labels, found.by_judges):
        assert steps[0].more_than_largest.low > 0


def test_comparisons_are_studied_too():
    """A human who compares; all ratings of a pair are on one side of every split."""
    found = bw.study_factors(
        pd.concat([compared(), compared(1)]), human="people", budgets=[0.3], splits=1, rater_shares=[], **QUICK
    )
    assert found.by_labels[0].fitted % 2 == 0
    assert found.by_labels[0].between_splits is None
    assert found.by_judges == []
    assert str(found)


def test_usual_budgets_that_are_too_small_are_left_out_and_said():
    """Who names none gets those that can be fitted."""
    found = bw.study_factors(frame(), human="human", splits=1, rater_shares=[0.1, 0.25], **QUICK)
    assert found.settings.budgets == [0.2, 0.4]
    assert any("Not studied: 5%, 10% of the human ratings" in note for note in found.notes)
    assert any("the same number of judges" in note for note in found.notes)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"budgets": [0.05]}, "0.05 of 144 human ratings is fewer than the 20"),
        ({"budgets": [0.05, 0.3]}, "0.05 of 144 human ratings is fewer than the 20"),
        ({"budgets": [0.88]}, "leaves fewer than 20 to predict"),
        ({"budgets": [0.95]}, "budgets"),
        ({"budgets": [0.3], "rater_budget": 0.2}, "0.2 is not"),
        ({"rater_shares": [0.0]}, "rater_shares"),
        ({"splits": 0}, "splits"),
        ({"rank": 40}, "a rank of 40"),
        ({"backend": "cuda"}, "no backend 'cuda'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(asked, words):
    """One sentence, before anything is fitted."""
    with pytest.raises((UsageError, InputError), match=words) as refused:
        bw.study_factors(frame(), human="human", **asked)
    assert "\n" not in str(refused.value)


def test_the_command(tmp_path, monkeypatch, capsys):
    """JSON, a page with curves, and errors of one line."""
    monkeypatch.chdir(tmp_path)
    frame().to_csv("ratings.csv", index=False)
    quick = ("--rank", "1", "--prior", "1", "--restarts", "1", "--splits", "1", "--seed", "3")
    shares = ("--budget", "0.2", "--budget", "0.5", "--rater-share", "0.5", "--rater-share", "1")
    done = typed(
        capsys,
        "factor",
        "study",
        "ratings.csv",
        "--human",
        "human",
        *quick,
        *shares,
        "--json",
        "-",
        "--html",
        "p.html",
    )
    assert done.code == 0, done.err
    assert [one["share"] for one in strict(done.out)["by_labels"]] == [0.2, 0.5]
    assert (tmp_path / "p.html").read_text("utf-8").count("<svg") == 2
    done = typed(capsys, "factor", "study", "ratings.csv", "--human", "human", "--budget", "0.01")
    assert done.code == 2
    assert "fit shares of at least 0.14" in done.err
    assert "Traceback" not in done.err


def test_it_is_shown(study):
    """As text, Markdown, table and drawings, and a document that is read back is the same."""
    assert "factor model predicts" in str(study)
    assert study.to_markdown().startswith("#")
    assert len(study.to_frame()) == 4 * (1 + len(BASELINES))
    assert len(study.drawings) == 2
    assert type(study).model_validate(study.to_dict()) == study


# The rules of benchmarks/label_choice.py do what they say; what they are worth is never asserted.


SCRIPT = Path(__file__).parents[2] / "benchmarks" / "label_choice.py"


@pytest.fixture(scope="module")
def script():
    """Return the benchmark as a module."""
    spec = importlib.util.spec_from_file_location("label_choice", SCRIPT)
    found = importlib.util.module_from_spec(spec)
    sys.modules["label_choice"] = found
    spec.loader.exec_module(found)
    yield found
    del sys.modules["label_choice"]


@pytest.fixture(scope="module", params=[False, True])
def drawn(request, script):
    """Return a small population, whose human rates one model or compares two."""
    return script.population(3, pairs=request.param, prompts=120, judges=4)


def test_every_rule_orders_cells_once_and_by_its_seed(script, drawn):
    """No cell twice; the same seed gives the same order, another one another."""
    for rule in (script.at_random, *script.RULES.values()):
        first, again, other = (rule(drawn, 60, np.random.default_rng(seed)).tolist() for seed in (0, 0, 1))
        assert len(set(first)) == len(first) == 60
        assert first == again
        assert first != other


def test_rules_do_what_their_names_say(script, drawn):
    """Models and prompts take turns; the determinant is large, the mean variance small, verdicts are spread."""
    rng = np.random.default_rng(0)
    balanced = script.balanced(drawn, 36, rng)
    kinds = drawn.cells.model[balanced] * 10 + drawn.cells.opponent[balanced]
    counts = np.unique(kinds, return_counts=True)[1]
    assert counts.max() - counts.min() <= 0 if 36 % len(counts) == 0 else 1
    assert len(set(drawn.cells.prompt[balanced].tolist())) == 36

    def information(rule):
        x = drawn.features[rule(drawn, 30, np.random.default_rng(1))]
        return np.eye(3) + x.T @ x

    random = information(script.at_random)
    assert np.linalg.slogdet(information(script.d_optimal))[1] > np.linalg.slogdet(random)[1]
    over_all = drawn.features.T @ drawn.features
    variance = [np.trace(np.linalg.solve(one, over_all)) for one in (information(script.a_optimal), random)]
    assert variance[0] < variance[1]
    verdict = drawn.verdicts.mean(axis=1)
    ranks = np.argsort(np.argsort(verdict, kind="stable"))[script.spread_of_verdicts(drawn, 40, rng)]
    assert np.histogram(ranks, 4, (0, len(verdict)))[0].tolist() == pytest.approx([10] * 4, abs=3)
    spread = drawn.verdicts.std(axis=1)
    assert spread[script.disagreement(drawn, 20, rng)].mean() > spread.mean()


def test_the_excess_is_a_distance_from_the_truth(script, drawn):
    """It is positive, and more ratings make it smaller."""
    rng = np.random.default_rng(2)
    few, many = (
        np.mean([drawn.excess(script.at_random(drawn, count, rng), rng) for _ in range(6)]) for count in (20, 120)
    )
    assert 0 < many < few


def test_the_verdict_of_the_comparison(script):
    """A rule is worth shipping only with every interval below 1, and no set above 1.05."""
    good = [script.Measured("h", 40, name, [0.7, 0.8, 0.75], 0.1) for name in script.RULES]
    assert script.shipped(good) == list(script.RULES)
    bad = [one._replace(ratios=[0.7, 0.8, 1.06]) if one.rule == "entropy" else one for one in good]
    assert "entropy" not in script.shipped(bad)
    ratio, low, high = good[0].interval
    assert ratio == pytest.approx((0.7 * 0.8 * 0.75) ** (1 / 3))
    assert low * high == pytest.approx(ratio**2)


def test_the_smoke_run(tmp_path):
    """It prints the table and writes every figure."""
    file = tmp_path / "choice.json"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", "--json", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "| rule | 20 ratings | 40 ratings | worst set |" in done.stdout
    assert "A human who compares two:" in done.stdout
    assert len(json.loads(file.read_text("utf-8"))) == 2 * 2 * 7
