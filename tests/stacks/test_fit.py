"""A stack fitted to few labels: simulated judges, the command, the 44 judges of LLMBar."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.errors import InputError, UsageError
from bonwise.report.show import text
from bonwise.stacks.fitted_stack import FeatureScaling, StackFeature
from bonwise.stacks.procedure import Paths, StackPools, deal, pick_gains, train
from bonwise.stacks.result import prompt_digest, read_stack
from cli.commands import CONTROL, rows_of, strict, typed
from stacks.stack_tables import judged


@pytest.fixture(scope="module")
def fit():
    """Return a stack of two judges that see something and one of noise."""
    return bw.fit_stack(judged())


def test_the_stack_recovers_more_than_its_best_judge(fit):
    """Two judges with errors of their own; the one of noise gets next to no weight."""
    assert fit.difference["recovery"].estimate > 0.05
    assert fit.fallback is None
    assert fit.best_judge == "good"
    weights = {one.judge: one.coefficient for one in fit.model.features}
    assert abs(weights["noise"]) < 0.4 < min(weights["good"], weights["fair"])


def test_the_document_has_the_keys_of_the_house(fit):
    """What an outside program reads."""
    found = fit.to_dict()
    assert found["schema"] == "bonwise.stack/1"
    assert set(found["judges"]) == {"good", "fair", "noise"}
    assert {"recovery", "gain", "within_r", "top1_accuracy"} <= set(found["metrics"])
    assert found["judges"]["good"]["recovery"]["n"] == 60
    assert {"metrics", "judges", "best_judge", "difference", "fallback"} <= set(found)
    assert set(found["baselines"]) == {"mean of z-scores", "majority of picks", "ordinal logit"}
    assert set(found["worth"]) == {"good", "fair", "noise"}


def test_figures_of_judges_are_those_of_the_audit(fit):
    """The same labels, the same numbers."""
    audit = bw.audit(judged())
    for name, one in audit.judges.items():
        ours, theirs = fit.to_dict()["judges"][name]["recovery"], one.metrics["recovery"]
        assert (ours["estimate"], ours["low"], ours["high"]) == (theirs.estimate, theirs.low, theirs.high)


def test_scores_out_of_fold_are_audited_to_the_figures_of_the_report(fit):
    """Those of one partition; the report's figure is the mean of three."""
    audit = bw.audit(fit.scores())
    assert audit.judges["stack"].metrics["recovery"].estimate == pytest.approx(fit["recovery"].estimate, abs=0.03)
    assert audit.judges["good"].metrics["recovery"].estimate == fit.judges["good"]["recovery"].estimate


def test_a_saved_stack_comes_back(fit, tmp_path):
    """Utilities to the last bit, by the loaded document, the file and the fit."""
    path = tmp_path / "stack.json"
    fit.save(path)
    pool = np.array([[0.1, 0.2, 0.3], [0.4, -0.2, 0.1], [np.nan, 0.5, 0.2]])
    expected = fit.to_stack().judged(pool)
    for one in (read_stack(path), bw.load(path)):
        assert np.array_equal(np.array(one.to_stack().judged(pool)), np.array(expected))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda model: model["features"][0].update(coefficient=9.0), "changed after it was written"),
        (lambda model: model.update(temperature=-1), "temperature"),
        (lambda model: model["covariance"].pop(), "covariance"),
        (lambda model: model.pop("digest"), "digest is missing"),
        (lambda model: model["features"].clear(), "features"),
    ],
)
def test_a_file_edited_by_hand_is_refused_in_one_sentence(fit, tmp_path, change, said):
    """By the reader of documents and by the judge."""
    document = fit.to_dict()
    change(document["model"])
    path = tmp_path / "stack.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    for read in (read_stack, bw.Stack):
        with pytest.raises(InputError, match=said) as error:
            read(path)
        assert "\n" not in str(error.value)


def test_a_number_written_otherwise_is_the_same_number(fit, tmp_path):
    """A reader in another language may write 1.0 as 1."""
    document = fit.to_dict()
    document["model"]["seed"] = 0
    document["model"]["temperature"] = float(document["model"]["temperature"])
    text = json.dumps(document).replace('"seed": 0', '"seed": 0')
    path = tmp_path / "stack.json"
    path.write_text(text, encoding="utf-8")
    assert read_stack(path).model.digest == document["model"]["digest"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (lambda: judged(judges={"good": 0.7}), "needs two judges that tell candidates apart, and there is one"),
        (lambda: judged(prompts=10), "10 prompts have two candidates with different labels"),
        (lambda: judged().assign(oracle_label=1.0), "no prompt has two candidates with different labels"),
        (lambda: judged().assign(judge_score=0.5), "and there is none"),
    ],
)
def test_what_cannot_be_fitted_is_said_in_one_sentence(table, said):
    """One judge, few labels, labels of one class, constant judges."""
    with pytest.raises(InputError, match=said):
        bw.fit_stack(table())


def test_constant_and_duplicated_judges_are_left_out_by_name():
    """Each with its reason; the others make the stack."""
    table = judged()
    constant = table[table["judge"] == "good"].assign(judge="constant", judge_score=3.0)
    double = table[table["judge"] == "good"].assign(judge="twice", judge_score=lambda rows: 2 * rows["judge_score"])
    document = bw.fit_stack(pd.concat([table, constant, double]))
    assert document.left_out == {
        "constant": "gives all candidates of each prompt the same score",
        "twice": "says the same as 'good'",
    }
    assert [one.judge for one in document.model.features] == ["fair", "good", "noise"]


def test_one_judge_among_noise_falls_back_to_it():
    """The stack then takes that judge alone, and asks no other."""
    falls = [bw.fit_stack(judged(seed=seed, judges={"good": 0.7, "x": 0.0, "y": 0.0})) for seed in range(4)]
    alone = [one for one in falls if one.fallback]
    assert alone
    for one in alone:
        assert one.model.judges == ("good",) == (one.model.fallback,)
        assert one.worth == {}
        assert "falls back to good" in str(one)


def test_scores_that_are_missing_are_filled_and_counted():
    """A judge that skips a third of the answers is worth less, not nothing."""
    table = judged(prompts=150)
    skipped = (table["judge"] == "good") & (np.random.default_rng(1).random(len(table)) < 0.3)
    found = bw.fit_stack(table.assign(judge_score=table["judge_score"].where(~skipped)))
    assert found.missing == {"fair": 0, "good": int(skipped.sum()), "noise": 0}
    assert found["recovery"].n == 150
    assert found["recovery"].estimate > 0.5


def test_labelled_cells_are_enough():
    """Two labels a prompt: the stack is fitted to them; figures need whole prompts, and say how to have them."""
    table = judged(prompts=200)
    labels = table["oracle_label"].where(table["candidate"].isin(["c0", "c2"]))
    found = bw.fit_stack(table.assign(oracle_label=labels))
    assert (found.fitted_prompts, found.fitted_labels, found.prompts) == (200, 400, 0)
    assert found.metrics["recovery"].estimate is None
    assert "--design cells" in found.metrics["recovery"].reason
    stated = bw.fit_stack(table.assign(oracle_label=labels, propensity=0.5 + 0.1 * table["candidate"].isin(["c0"])))
    assert stated.metrics["recovery"].reason.endswith("and audit them")
    assert bw.audit(stated.scores()).judges["stack"].metrics["recovery"].method == "cells"
    audit = bw.audit(found.scores(), design="cells")
    assert audit.judges["stack"].metrics["recovery"].method == "cells"
    whole = bw.audit(bw.apply_stack(judged(prompts=300, seed=9), found).table)
    best = max(one.metrics["recovery"].estimate for name, one in whole.judges.items() if name != "stack")
    assert whole.judges["stack"].metrics["recovery"].estimate > best


def test_clusters_stay_together():
    """Intervals are clustered; with four clusters there are none."""
    table = judged(prompts=80)
    few = bw.fit_stack(table.assign(cluster=table["prompt_id"].str[-1].astype(int) % 4))
    assert few["recovery"].low is None
    assert "clusters" in few["recovery"].reason
    many = bw.fit_stack(table.assign(cluster=table["prompt_id"].str[1:3]))
    assert many["recovery"].low is not None
    assert many.settings.groups == 8


def test_features_beside_the_scores():
    """A judge that likes length is held against it; a feature that the table lacks is refused."""
    rng = np.random.default_rng(3)
    table = judged(prompts=150, judges={"good": 0.5, "fair": 0.4})
    length = np.tile(np.exp(rng.normal(5, 1, size=600)), 2).round()
    biased = table.assign(length=length, judge_score=table["judge_score"] + np.log(length))
    plain, better = bw.fit_stack(biased), bw.fit_stack(biased, features="length")
    assert better["recovery"].estimate > plain["recovery"].estimate + 0.1
    assert better.settings.further_features == ["length"]
    with pytest.raises(UsageError, match="spread says nothing there"):
        bw.fit_stack(biased, features="spread")
    with pytest.raises(UsageError, match="no feature is called 'width of it'"):
        bw.fit_stack(biased, features=["width of it"])


def test_draws_and_intervals_are_features():
    """Their spread and width, of each judge."""
    rng = np.random.default_rng(5)
    table = judged(prompts=80)
    draws = table["judge_score"].to_numpy()[:, None] + rng.normal(0, 0.2, size=(len(table), 3))
    wide = table.assign(**{f"draw_{at}": draws[:, at] for at in range(3)}, ci_width=rng.random(len(table)))
    found = bw.fit_stack(wide, features=["spread", "width"])
    kinds = [(one.judge, one.kind) for one in found.model.features]
    assert ("good", "spread") in kinds
    assert ("noise", "width") in kinds


def test_prices_and_specs_are_of_judges_of_the_table():
    """For every judge or for none; a stranger is refused by name."""
    found = bw.fit_stack(judged(), prices={"good": 8.0, "fair": 1.0, "noise": 1.0})
    assert found.worth["good"].cost == pytest.approx(0.8)
    assert found.worth["good"].calls == pytest.approx(1 / 3)
    with pytest.raises(UsageError, match="no price is given for 'fair'"):
        bw.fit_stack(judged(), prices={"good": 8.0})
    with pytest.raises(UsageError, match="a spec is given for 'gpt'"):
        bw.fit_stack(judged(), specs={"gpt": "pointwise:openai/m"})


def test_a_stack_at_new_prompts():
    """It is one more judge of the table, and every study takes it."""
    fit = bw.fit_stack(judged(prompts=150))
    new = judged(prompts=150, seed=7)
    new["prompt_id"] = "new " + new["prompt_id"]
    applied = bw.apply_stack(new, fit)
    assert (applied.lacking, applied.seen, applied.caveats) == ((), 0, [])
    audit = bw.audit(applied.table)
    best = audit.choice["recovery"]
    assert best.best == ["stack"]
    assert bw.route(applied.table).schema_ == "bonwise.route/1"
    assert bw.audit_stack(new, fit).judges["stack"].metrics == audit.judges["stack"].metrics


def test_prompts_that_it_was_fitted_to_are_told():
    """Applied: said. Audited: refused, with the file that may be."""
    fit = bw.fit_stack(judged())
    applied = bw.apply_stack(judged(), fit)
    assert applied.seen == 60
    assert "60 prompts of 60 are those that the stack was fitted to" in applied.caveats[0]
    with pytest.raises(InputError, match="60 prompts of 60"):
        bw.audit_stack(judged(), fit)
    assert prompt_digest("p000") in fit.fitted_to


def test_a_table_that_lacks_a_judge_is_scored_by_the_others():
    """It is said; with none of them there is nothing to score by."""
    fit = bw.fit_stack(judged())
    rest = judged(seed=3, judges={"good": 0.7, "other": 0.1})
    applied = bw.apply_stack(rest, fit)
    assert set(applied.lacking) == {"fair", "noise"}
    with pytest.raises(InputError, match="none of the judges of the stack"):
        bw.apply_stack(judged(judges={"other": 0.1, "another": 0.2}), fit)
    with pytest.raises(UsageError, match="a judge is called 'good' already"):
        bw.apply_stack(judged(), fit, name="good")


def test_the_same_seed_gives_the_same_document():
    """Folds, draws and figures; in whatever order the rows come."""
    table = judged()
    first = bw.fit_stack(table).to_dict()
    again = bw.fit_stack(table.sample(frac=1, random_state=1)).to_dict()
    assert first == again
    assert bw.fit_stack(table, seed=1).to_dict() != first


def test_names_that_are_hostile_stay_text(tmp_path):
    """Terminal escapes, HTML and formulas in names of judges."""
    bad = "=cmd\x1b[31m<script>alert(1)</script>"
    fit = bw.fit_stack(judged(judges={bad: 0.7, "fair": 0.6}))
    assert "\x1b" not in str(fit)
    fit.to_html(tmp_path / "page.html")
    assert "<script>alert" not in (tmp_path / "page.html").read_text("utf-8")
    assert "<script>" not in fit.to_markdown()


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Work in a folder with a table of three judges."""
    monkeypatch.chdir(tmp_path)
    judged().to_csv("judges.csv", index=False)
    return tmp_path


def test_fit_writes_what_it_prints(table, capsys):
    """One document: on standard output, in the file of --json and in that of --out."""
    done = typed(capsys, "stack", "fit", "judges.csv", "--save", "stack.json", "--json", "-")
    assert done.code == 0
    document = strict(done.out)
    assert document["schema"] == "bonwise.stack/1"
    assert json.loads((table / "stack.json").read_text("utf-8")) == document
    assert document["best_judge"] == "good"


def test_labels_may_be_in_a_file_of_their_own(table, capsys):
    """The same figures."""
    frame = judged()
    frame.drop(columns="oracle_label").to_csv("scores.csv", index=False)
    frame[["prompt_id", "candidate", "oracle_label"]].drop_duplicates().to_csv("labels.csv", index=False)
    together = strict(typed(capsys, "stack", "fit", "judges.csv", "--json", "-").out)
    apart = strict(typed(capsys, "stack", "fit", "scores.csv", "--labels", "labels.csv", "--json", "-").out)
    assert apart["metrics"] == together["metrics"]
    assert apart["model"]["features"] == together["model"]["features"]


def test_the_report_says_what_to_type_next(table, capsys):
    """A better stack is saved by the same flags, then picked by; without a gain neither is suggested."""
    done = typed(capsys, "stack", "fit", "judges.csv", "--save", "stack.json", "--html", "stack.html")
    assert done.code == 0, done.err
    assert "Recovery out of fold: stack" in done.out
    assert "Next:\nPick by the best judge alone" in done.out
    assert "bonwise select" not in done.out
    assert not CONTROL.search(done.out)
    assert (table / "stack.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_a_better_stack_is_saved_and_picked_by(table, capsys):
    """What it printed can be followed, with the flags that read the table."""
    frame = judged(300, judges={"one": 0.65, "two": 0.5, "three": 0.5, "four": 0.5})
    frame.drop(columns="oracle_label").to_csv("the scores.csv", index=False)
    frame[["prompt_id", "candidate", "oracle_label"]].drop_duplicates().to_csv("labels.csv", index=False)
    done = typed(capsys, "stack", "fit", "the scores.csv", "--labels", "labels.csv", "--seed", "3")
    assert done.out.startswith("Verdict: the stack is better\n")
    *_, save = done.out.splitlines()
    assert save == "bonwise stack fit 'the scores.csv' --labels labels.csv --seed 3 --save stack.json"
    saved = typed(capsys, *shlex.split(save)[1:])
    assert saved.out.endswith("Next:\nPick by it: give bonwise select --judge stack:stack.json.\n")


def test_apply_adds_the_stack_as_a_judge(table, capsys):
    """To prompts that it was fitted to, with a warning; the file is a table like any other."""
    typed(capsys, "stack", "fit", "judges.csv", "--save", "stack.json", "--scores", "oof.csv")
    done = typed(capsys, "judge", "judges.csv", "--judge", "stack:stack.json", "--out", "applied.csv")
    assert done.code == 0
    assert "60 prompts of 60 are those that the stack was fitted to" in done.err
    for name in ("oof.csv", "applied.csv"):
        assert {row["judge"] for row in rows_of(table / name)} == {"good", "fair", "noise", "stack"}
        assert typed(capsys, "audit", name).code == 0


def test_audit_refuses_prompts_that_the_stack_has_seen(table, capsys):
    """And audits others, as any judge."""
    typed(capsys, "stack", "fit", "judges.csv", "--save", "stack.json")
    seen = typed(capsys, "stack", "audit", "judges.csv", "--stack", "stack.json")
    assert seen.code == 2
    assert "60 prompts of 60" in seen.err
    new = judged(seed=5)
    new["prompt_id"] = "new " + new["prompt_id"]
    new.to_csv("new.csv", index=False)
    done = typed(capsys, "stack", "audit", "new.csv", "--stack", "stack.json", "--name", "both", "--json", "-")
    assert done.code == 0
    assert set(strict(done.out)["judges"]) == {"good", "fair", "noise", "both"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("stack", "fit", "judges.csv", "--feature", "colour"), "no feature is called 'colour'"),
        (("stack", "fit", "judges.csv", "--price", "good=cheap"), "--price takes NAME=NUMBER"),
        (("stack", "fit", "judges.csv", "--spec", "good"), "--spec takes NAME=TEXT"),
        (("judge", "judges.csv", "--judge", "stack:judges.csv", "--out", "a.csv"), "judges.csv"),
        (("stack", "audit", "judges.csv", "--stack", "absent.json"), "absent.json"),
        (("stack", "fit", "absent.csv"), "absent.csv"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(table, capsys, words, said):
    """No traceback, and nothing is written."""
    before = sorted(table.iterdir())
    done = typed(capsys, *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert sorted(table.iterdir()) == before


def test_nothing_that_a_user_made_is_overwritten(table, capsys):
    """Each output of each command, unless --force says so."""
    typed(capsys, "stack", "fit", "judges.csv", "--save", "stack.json")
    (table / "mine.txt").write_text("mine", encoding="utf-8")
    for words in (
        ("stack", "fit", "judges.csv", "--save", "mine.txt"),
        ("stack", "fit", "judges.csv", "--scores", "mine.txt"),
        ("judge", "judges.csv", "--judge", "stack:stack.json", "--out", "mine.txt"),
        ("judge", "judges.csv", "--judge", "stack:stack.json", "--out", "judges.csv"),
    ):
        done = typed(capsys, *words)
        assert done.code == 2, words
    assert (table / "mine.txt").read_text("utf-8") == "mine"
    assert typed(capsys, "stack", "fit", "judges.csv", "--save", "mine.txt", "--force").code == 0


# 44 judges of LLMBar (419 pairs of answers, verdicts in both orders, one gold label), few of them labelled.


EARNED = {1.0: 1.0, 2.0: 0.0, 0.0: 0.5}
"""What the first answer earns by a verdict: it wins, it loses, or the judge cannot tell."""


@pytest.fixture(scope="module")
def verdicts(shared):
    """Return what each judge gives the first answer of each pair, and whether that is the better one."""
    table = pd.read_csv(shared / "data" / "llmbar_verdicts.csv.gz")
    table = table[table["dataset"].str.startswith("LLMBar")]
    earned = pd.concat([table["winner_order1"].map(EARNED), table["winner_order2"].map(EARNED)], axis=1).mean(axis=1)
    cells = table.assign(
        value=earned, judge=table["llm"] + " " + table["strategy"], pair=table["dataset"] + table["item"].astype(str)
    )
    scores = cells.pivot_table(index="pair", columns="judge", values="value")
    gold = cells.groupby("pair")["gold"].first().loc[scores.index] == 1
    return scores, gold.to_numpy()


def accuracies(scores, gold, labelled, splits, seed=0):
    """Return mean accuracies on the other pairs: of the stack, and of the best judge by labels."""
    first = scores.to_numpy()
    sizes = np.full(len(gold), 2)
    values = np.stack([first, 1 - first], axis=1).reshape(-1, first.shape[1])
    labels = np.stack([gold, ~gold], axis=1).astype(float).ravel()
    scaling = FeatureScaling.of(tuple(StackFeature(name, "score") for name in scores), values, sizes)
    features, rng, found = scaling.standardised(values, sizes), np.random.default_rng(seed), []
    pools = StackPools(features, values, tuple(range(features.shape[1])), labels, sizes)
    for split in range(splits):
        known = np.zeros(len(gold), dtype=bool)
        known[rng.permutation(len(gold))[:labelled]] = True
        some = pools.keep(known)
        dealt = deal(labelled, None, seed=split)
        trained = train(some, Paths.of(some, dealt), dealt)
        best = np.nan_to_num(features[:, int(trained.best_alone[0])])
        found.append([_accuracy(one, gold, ~known) for one in (features @ trained.coefficients[0], best)])
    return np.mean(found, axis=0)


def _accuracy(utilities, gold, asked):
    apart = np.sign(np.round(utilities[0::2] - utilities[1::2], 9))[asked]
    return float(np.mean(np.where(apart == 0, 0.5, (apart > 0) == gold[asked])))


def without_gpt4(scores):
    """Return the 35 judges that are not by GPT-4."""
    return scores[[name for name in scores if not name.startswith("GPT-4 ")]]


@pytest.mark.shared
def test_the_judges_are_those_of_the_paper(verdicts):
    """419 pairs; the majority of all 44 judges is right in .58 of them, that of the 35 without GPT-4 in .46."""
    scores, gold = verdicts
    assert scores.shape == (419, 44)
    assert without_gpt4(scores).shape[1] == 35
    for some, share in ((scores, 0.58), (without_gpt4(scores), 0.46)):
        votes = np.sign(some - 0.5).sum(axis=1)
        assert np.mean(np.where(votes == 0, 0.5, (votes > 0) == gold)) == pytest.approx(share, abs=0.01)


@pytest.mark.shared
def test_two_splits_beat_the_best_judge(verdicts):
    """The thinned form of the next test."""
    stack, best = accuracies(*verdicts, 40, 2)
    assert stack > best


@pytest.mark.shared
@pytest.mark.slow
def test_forty_labels_are_enough(verdicts):
    """80 random splits of 40 labelled pairs; with all judges, and without those by GPT-4."""
    scores, gold = verdicts
    stack, best = accuracies(scores, gold, 40, 80)
    other, best_of_others = accuracies(without_gpt4(scores), gold, 40, 80)
    print(f"stack {stack:.3f}, best judge {best:.3f}; without GPT-4 {other:.3f}, {best_of_others:.3f}")  # noqa: T201
    assert stack >= 0.87
    assert other >= 0.73


def with_losses():
    """Return a table in which no judge scored some candidates, nor any of ten prompts; judges lack others alone."""
    table, rng = judged(prompts=120), np.random.default_rng(6)
    cell = table["prompt_id"] + table["candidate"]
    lost = cell.isin(cell[: 4 * 120][rng.random(480) < 0.15]) | (table["prompt_id"] < "p010")
    alone = (table["judge"] == "fair") & (rng.random(len(table)) < 0.1)
    return table.assign(judge_score=table["judge_score"].where(~(lost | alone))), int(lost.sum() / 3)


@pytest.mark.parametrize("unpicked", ["random", "first", "drop"])
def test_a_candidate_that_no_judge_scored_is_not_picked(unpicked):
    """Figures are over all prompts with labels, the fit over scored candidates; the file audits to the same picks."""
    table, lost = with_losses()
    found = bw.fit_stack(table, unpicked=unpicked)
    assert found.unscored == lost
    assert "that no judge scored: not filled, not picked" in " ".join(text(found).split())
    if unpicked == "drop":
        assert (found.prompts, len(found.dropped)) == (110, 10)
        assert "dropped 10 prompts: no score for any candidate" in " ".join(text(found).split())
    else:
        assert (found.prompts, found.dropped) == (120, None)
    assert found.fitted_prompts <= 110
    assert found.fitted_labels < 440
    # Out of fold in the first of three deals, so alike but for the others.
    audited = bw.audit(found.scores(), unpicked=unpicked).judges["stack"]
    assert audited.metrics["recovery"].n == found["recovery"].n
    assert audited.metrics["recovery"].estimate == pytest.approx(found["recovery"].estimate, abs=0.05)
    assert audited.metrics["value_random"].estimate == pytest.approx(found["value_random"].estimate, abs=1e-12)
    assert audited.data.unscored.candidates == (lost if unpicked != "drop" else lost - 40)


def test_a_prompt_that_one_judge_was_not_asked_about_is_filled():
    """Its panels have the same cells all the same: the stack takes what the other judges let expect."""
    table = judged(prompts=60)
    found = bw.fit_stack(table[~((table["judge"] == "fair") & (table["prompt_id"] < "p005"))])
    assert (found.prompts, found.fitted_prompts, found.unscored) == (60, 60, None)
    assert found.missing == {"fair": 20, "good": 0, "noise": 0}
    applied = bw.apply_stack(table[table["prompt_id"] < "p005"], found).table
    assert applied.frame.loc[applied.frame["judge"] == "stack", "judge_score"].notna().all()


def test_the_fit_takes_no_pair_with_an_unscored_candidate():
    """Pairs are those of the scored candidates of prompts with two of them, in the order of their prompts."""
    rng = np.random.default_rng(2)
    features, labels, sizes = rng.normal(size=(12, 2)), rng.random(12), np.array([4, 3, 3, 2])
    features[[1, 5, 6, 10, 11]] = np.nan
    pools = StackPools(features, features, (0, 1), labels, sizes, weights=np.ones(12))
    assert pools.scored_sizes.tolist() == [3, 1, 3, 0]
    pairs = Paths.of(pools, deal(4, None, seed=0)).pairs
    assert pairs.prompts.tolist() == [0, 0, 0, 2, 2, 2]
    np.testing.assert_allclose(pairs.differences[0], features[0] - features[2])
    assert pairs.weights.sum() == pytest.approx(4)
    gains = pick_gains(features, labels, sizes, np.arange(12) == 10)
    assert gains[3] == pytest.approx(labels[10] - labels[10:].mean())
    assert gains[1] == pytest.approx(labels[4] - labels[4:7].mean())
