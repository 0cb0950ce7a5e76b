"""Labels of single candidates: what an audit makes of every labelled cell, also typed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from auditing.tables import cohort, parts, table, two_judges
from auditing.test_picks import greedy_lines, labels_of, logged
from bonwise.auditing.front import audit
from bonwise.comparing.front import compare
from bonwise.doctoring.front import doctor
from bonwise.errors import InputError, UsageError
from bonwise.labels.front import compare_designs
from bonwise.monitoring.front import monitor
from bonwise.planning.front import plan
from bonwise.stats.catalog import METRICS
from bonwise.studies.calibration.front import study_calibration
from bonwise.testing import simulate
from cli.commands import strict, typed

JUDGE_ONLY = {"judge_between_share", "tie_rate", "top1_tie_rate"}
OF_WHOLE_PROMPTS = {"value_oracle", "recovery", "hit_rate", "top1_accuracy", "kendall_tau"}


def strewn(frame, share=0.7, seed=20261123):
    """Hide labels of candidates at random, those of a candidate alike for all judges."""
    cells = frame[["prompt_id", "candidate"]].drop_duplicates()
    kept = cells[np.random.default_rng(seed).random(len(cells)) < share]
    out = frame.copy()
    known = pd.MultiIndex.from_frame(out[["prompt_id", "candidate"]]).isin(pd.MultiIndex.from_frame(kept))
    out.loc[~known, "oracle_label"] = np.nan
    return out


def by_score(frame, seed=3):
    """Hide labels with chances that rise with the score, and state them."""
    chances = (0.35 + 0.6 * frame["judge_score"]).clip(0.1, 0.95)
    out = frame.assign(propensity=chances)
    out.loc[np.random.default_rng(seed).random(len(out)) >= chances, "oracle_label"] = np.nan
    return out


def in_part(frame):
    """Count the labels of prompts that are labelled in part, and these prompts."""
    found = frame.groupby("prompt_id")["oracle_label"].agg(["count", "size"])
    partly = found[(found["count"] > 0) & (found["count"] < found["size"])]
    return int(partly["count"].sum()), len(partly)


@pytest.mark.parametrize("design", ["cells", "cells-by-score"])
@pytest.mark.parametrize("judges", [cohort, two_judges])
def test_complete_labels_need_no_statement(judges, design):
    """With every candidate labelled a statement on candidates gives the complete audit, figure for figure."""
    frame = judges(120)
    plain, stated = audit(frame), audit(frame, design=design)
    for name, judge in plain.judges.items():
        assert stated.judges[name].metrics == judge.metrics
        assert parts(stated).judges[name].labelling.method == "complete"
        assert stated.judges[name].labelled_cells is None
    assert [one.differences for one in stated.comparisons] == [one.differences for one in plain.comparisons]
    assert "the design is not used" in str(stated)


def test_complete_labels_need_no_propensities():
    """With every candidate labelled propensities that differ within prompts change no figure."""
    frame = cohort(120)
    chances = np.random.default_rng(1).uniform(0.3, 1, len(frame))
    stated = audit(frame.assign(propensity=chances))
    assert stated.metrics == audit(frame).metrics
    assert "the propensities are not used" in str(stated)


def test_every_label_counts():
    """Metrics of labels have the method cells and say what they rest on; those of scores alone are complete."""
    frame = strewn(cohort(300))
    found = audit(frame, design="cells")
    document = found.to_dict()
    for name, metric in found.metrics.items():
        assert metric.method == ("complete" if name in JUDGE_ONLY else "cells"), name
    assert list(found.metrics) == [metric.name for metric in METRICS]
    cells, labels = document["labelled_cells"], int(frame["oracle_label"].notna().sum())
    used, prompts = in_part(frame)
    assert (cells["labels"], cells["cells"]) == (labels, 1200)
    assert cells["labels_of_whole_prompts"] == labels - used
    assert cells["statement"] == "at random"
    assert set(cells["counts"]) == set(found.metrics) - JUDGE_ONLY
    assert cells["counts"]["value_random"]["cells"] == labels
    assert cells["counts"]["recovery"]["pools"] == found.data["labelled_prompts"]
    assert cells["counts"]["within_r"]["pairs"] > 0
    assert found.data["partly_labelled_prompts"] == prompts
    assert "unused_labels" not in document
    assert document["sampling"]["design"] == "cells"
    assert f"{labels} of 1,200 candidates are labelled, each with the same chance" in " ".join(str(found).split())


def test_labels_at_random_estimate_the_whole():
    """Each figure lies within four standard errors of that of all labels, and is nearer than from whole prompts."""
    frame = cohort(600)
    whole, hidden = audit(frame), strewn(frame)
    cells, alone = audit(hidden, design="cells"), audit(hidden)
    for name, metric in cells.metrics.items():
        if metric.se:
            assert abs(metric.estimate - whole[name].estimate) < 4 * metric.se, name
    for name in ("value_judge", "gain", "recovery"):
        narrow, wide = (one[name].high - one[name].low for one in (cells, alone))
        assert narrow < 0.8 * wide, name


def test_known_propensities_weigh_candidates():
    """Labels that favour high scores estimate the whole by their propensities, though their own mean is far off."""
    frame = cohort(1500)
    whole, hidden = audit(frame), by_score(frame)
    stated = audit(hidden)
    for name in ("value_random", "value_judge", "gain", "recovery"):
        assert stated[name].method == "cells"
        assert abs(stated[name].estimate - whole[name].estimate) < 4 * stated[name].se, name
    means = stated["value_random"].estimate, hidden["oracle_label"].mean()
    near, off = (abs(mean - whole["value_random"].estimate) for mean in means)
    assert stated.to_dict()["labelled_cells"]["statement"] == "propensities"
    assert "each with its propensity in the table" in stated.verdict.sentences[1]
    assert near < 0.001
    assert off > 0.005


def test_labels_that_contradict_the_statement_are_told():
    """Shares that differ by score contradict one rate: the output says so and offers the model."""
    hidden = by_score(cohort(1500)).drop(columns="propensity")
    stated, modelled = audit(hidden, design="cells"), audit(hidden, design="cells-by-score")
    text = " ".join(str(stated).split())
    assert stated.to_dict()["labelled_cells"]["contradictions"]
    assert "The labels contradict what is stated" in text
    assert "--design cells-by-score" in text
    assert "given the model of who was labelled" in modelled.verdict.sentences[1]
    assert modelled.to_dict()["labelled_cells"]["statement"] == "model"
    assert audit(strewn(cohort(600)), design="cells").to_dict()["labelled_cells"]["contradictions"] == []


def test_shares_are_shown_by_name_place_and_score():
    """The document holds how many candidates are labelled of each name, at the top and below, by thirds of scores."""
    hidden = strewn(cohort(300))
    found = audit(hidden, design="cells").to_dict()["labelled_cells"]
    by = [one["by"] for one in found["shares"]]
    assert by.count("name") == 4
    assert by.count("top") == 1
    assert by.count("score") == 3
    shares = hidden.groupby("candidate")["oracle_label"].agg(lambda column: column.notna().mean())
    shown = {one["group"]: one["share"] for one in found["shares"] if one["by"] == "name"}
    assert shown == pytest.approx({f"candidate {name}": share for name, share in shares.items()})
    assert sum(one["pools"] for one in found["pools"]) == 300


def test_whole_prompts_are_a_uniform_sample():
    """Where every prompt is labelled whole or not at all, one rate for candidates is one rate for prompts."""
    frame = cohort(400)
    frame.loc[np.repeat(np.random.default_rng(5).random(400) < 0.5, 4), "oracle_label"] = np.nan
    cells, uniform = audit(frame, design="cells"), audit(frame, design="uniform")
    assert cells.metrics == uniform.metrics
    modelled = audit(frame, design="cells-by-score")
    assert modelled["recovery"].method == "labelled_only"
    assert "whole prompts were chosen" in modelled.verdict.sentences[1]


def test_a_few_prompts_in_part_are_not_dropped():
    """With candidates stated no prompt is dropped, however few lack a label; without, up to 5 % are."""
    frame = cohort(200)
    frame.loc[[0, 4, 8], "oracle_label"] = np.nan
    assert len(audit(frame).data["dropped"]) == 3
    stated = audit(frame, design="cells")
    assert stated.data["dropped"] == []
    assert stated["gain"].method == "cells"


def test_nothing_stated_says_how_many_labels_are_not_used():
    """Figures are those of whole prompts as before; one sentence counts the labels left out and what uses them."""
    frame = strewn(cohort(300))
    found = audit(frame)
    labels, prompts = in_part(frame)
    unused = found.to_dict()["unused_labels"]
    of = int(frame["oracle_label"].notna().sum())
    assert (unused["labels"], unused["of"], unused["prompts"]) == (labels, of, prompts)
    assert found["recovery"].method == "labelled_only"
    assert "--design cells uses them" in unused["sentence"]
    assert unused["sentence"] in " ".join(str(found).split())
    assert "unused_labels" not in audit(cohort(200, unlabelled=100)).to_dict()
    uniform = audit(frame, design="uniform").to_dict()
    assert "--design cells uses them" in uniform["unused_labels"]["sentence"]
    by_prompt = audit(frame.assign(propensity=0.7)).to_dict()
    assert "propensity of its own" in by_prompt["unused_labels"]["sentence"]


def test_bounds_use_labels_of_prompts_in_part():
    """A label that is there stays as it is: with one of two labels of half the prompts known, bounds move in."""
    # The first prompt has a pick of 1 and another of 0; the second a pick of 0.5, and what it lacks is from 0 to 1.
    found = audit(table([([0.9, 0.1], [1.0, 0.0]), ([0.9, 0.1], [0.5, None])])).judges["judge"].bounds
    assert found["value_judge"] == pytest.approx((0.75, 0.75))
    assert found["value_random"] == pytest.approx((0.375, 0.625))
    assert found["gain"] == pytest.approx((0.125, 0.375))
    assert found["value_oracle"] == pytest.approx((0.75, 1.0))


def test_without_whole_prompts_recovery_is_bounded():
    """Where no prompt is labelled whole gain is estimated, and recovery is refused with bounds in its place."""
    frame = cohort(400)
    at = np.arange(len(frame)).reshape(400, 4)
    hidden = np.random.default_rng(2).integers(0, 4, 400)
    frame.loc[at[np.arange(400), hidden], "oracle_label"] = np.nan
    with pytest.raises(InputError, match="has labels for all its candidates") as refused:
        audit(frame)
    assert "--design cells" in str(refused.value.hint)
    found = audit(frame, design="cells")
    assert found["gain"].estimate is not None
    assert found["recovery"].estimate is None
    assert found["recovery"].reason
    low, high = found.judges["judge"].bounds["recovery"]
    assert low < audit(cohort(400))["recovery"].estimate < high
    assert set(found.to_dict()["bounds"]) == {"value_oracle", "recovery"}
    states = {gate.metric: gate.state for gate in found.check({"value_judge": 0.05, "recovery": 0.0}).gates}
    assert states == {"value_judge": "met", "recovery": "inconclusive"}


LAWS_OF_LABELS = {
    "1 to 5": lambda rng, shape: rng.integers(1, 6, shape).astype(float),
    "any number": lambda rng, shape: 3 + rng.normal(size=(shape[0], 1)) + rng.normal(size=shape),
    "negative": lambda rng, shape: -5 + rng.normal(size=shape),
    "yes and no": lambda rng, shape: (rng.random(shape) < 0.3).astype(float),
    "all alike": lambda _rng, shape: np.full(shape, 3.0),
    "alike in a prompt": lambda rng, shape: rng.integers(1, 6, (shape[0], 1)) + np.zeros(shape),
    "heavy": lambda rng, shape: rng.standard_t(1.2, shape),
    "large": lambda rng, shape: 1e12 * (1 + rng.normal(size=shape)),
    "small": lambda rng, shape: 1e-12 * rng.normal(size=shape),
    "one of a hundred is lost": lambda rng, shape: np.where(rng.random(shape) < 0.01, -50.0, 1.0),
}


@given(
    law=st.sampled_from(sorted(LAWS_OF_LABELS)),
    prompts=st.sampled_from([2, 10, 40, 100]),
    each=st.integers(2, 6),
    share=st.sampled_from([0.1, 0.4, 0.7]),
    design=st.sampled_from(["cells", "cells-by-score"]),
    seed=st.integers(0, 10_000),
)
@example(law="1 to 5", prompts=100, each=4, share=0.4, design="cells", seed=0)
@settings(max_examples=25)
def test_any_labels_of_candidates_are_audited(law, prompts, each, share, design, seed):
    """Whatever the labels are, the audit is a document without infinities, and a figure that is null has a reason."""
    rng = np.random.default_rng(seed)
    labels = LAWS_OF_LABELS[law](rng, (prompts, each))
    scores = labels + np.abs(labels).mean() * rng.normal(size=labels.shape)
    hidden = np.where(rng.random(labels.shape) < share, labels, np.nan)
    hidden[0, 0] = labels[0, 0]
    frame = table(list(zip(scores.tolist(), hidden.tolist(), strict=True)))
    found = audit(frame, design=design)
    written = strict(json.dumps(found.to_dict(), allow_nan=False))
    for name, one in written["metrics"].items():
        assert one["estimate"] is not None or one["reason"], name
    bounds = written.get("bounds", {})
    assert np.isfinite([end for ends in bounds.values() for end in ends]).all()
    refused = found["value_oracle"].estimate is None and "labelled_cells" in written and np.isnan(hidden).any()
    high = np.nanmax(hidden)
    within = np.nanmin(hidden) >= 0 and (high == 0 or 1e-6 <= high <= 1)
    assert ("value_oracle" in bounds) == (refused and within)
    assert ("Worst case over the missing labels unknown" in found.to_text(full=True)) == (refused and not within)


def test_few_complete_pools_leave_the_other_figures():
    """Labels 1 to 5 of 40 % of the candidates: few pools are complete, and gain and the values of picks stand."""
    rng = np.random.default_rng(1)
    labels = rng.integers(1, 6, (100, 4)).astype(float)
    hidden = np.where(rng.random((100, 4)) < 0.4, labels, np.nan)
    scores = labels + rng.normal(size=(100, 4))
    found = audit(table(list(zip(scores.tolist(), hidden.tolist(), strict=True))), design="cells")
    assert found.to_dict()["bounds"] == {}
    assert "labelled whole, and 8 are needed" in found["recovery"].reason
    for name in ("gain", "value_judge", "within_r"):
        assert found[name].low < found[name].estimate < found[name].high


def test_gates_on_all_prompts_are_settled():
    """A gate speaks for all prompts again, and names labels of candidates where it is not settled."""
    frame = strewn(cohort(600))
    found = audit(frame, design="cells")
    assert found.check({"value_judge": 0.01}).gates[0].state == "met"
    assert audit(frame).check({"value_judge": 0.01}).gates[0].state == "inconclusive"
    near = found.check({"recovery": found["recovery"].estimate + 0.3 * found["recovery"].se}).gates[0]
    assert near.state == "inconclusive"
    assert 0 < near.more_labels < 4 * near.more_prompts


def test_few_whole_prompts_keep_recovery_open_and_not_the_values():
    """With fewer than 20 prompts labelled whole no gate on recovery is met; values rest on labels of all prompts."""
    found = audit(strewn(cohort(150), share=0.5), design="cells")
    assert found.data["labelled_prompts"] < 20
    gates = {gate.metric: gate for gate in found.check({"recovery": -5.0, "value_judge": 0.01}).gates}
    assert gates["recovery"].state == "inconclusive"
    assert gates["value_judge"].state == "met"


def test_judges_are_compared_on_the_same_labels():
    """Differences of two judges rest on the labels of candidates; that of gain is the difference of their gains."""
    hidden = strewn(two_judges(300))
    found = audit(hidden, design="cells")
    (pair,) = found.comparisons
    assert pair.differences["gain"].method == "cells"
    assert pair.prompts == int(hidden.groupby("prompt_id")["oracle_label"].count().gt(0).sum())
    whole = audit(two_judges(300)).comparisons[0].differences["gain"]
    near = pair.differences["gain"]
    assert abs(near.estimate - whole.estimate) < 4 * near.se
    assert near.se < audit(hidden).comparisons[0].differences["gain"].se


def test_statements_that_cannot_be_are_refused():
    """A column and a statement, misspelt statements, and propensities that would draw far fewer labels."""
    frame = strewn(cohort(200))
    with pytest.raises(UsageError, match="beside it"):
        audit(by_score(cohort(200)), design="cells")
    with pytest.raises(UsageError, match="no design 'cell'"):
        audit(frame, design="cell")
    with pytest.raises(UsageError, match="labelled one by one"):
        audit(frame, design="cells", outcome_model=LinearRegression())
    chances = np.where(np.arange(len(frame)) % 2, 0.1, 0.2)
    with pytest.raises(InputError, match=r"candidates are labelled where these propensities would draw about 120"):
        audit(frame.assign(propensity=chances))


def test_the_order_of_rows_does_not_matter():
    """A shuffled table gives the same figures to the last bit."""
    hidden = strewn(cohort(200))
    shuffled = hidden.sample(frac=1, random_state=3, ignore_index=True)
    assert audit(hidden, design="cells").metrics == audit(shuffled, design="cells").metrics


def test_what_rests_on_whole_prompts_says_what_it_leaves_out(tmp_path):
    """Studies, monitors, plans and comparisons count the labels that they do not use, and say why."""
    frame = strewn(cohort(300), share=0.9)
    labels, prompts = in_part(frame)
    said = f"{labels} of {int(frame['oracle_label'].notna().sum()):,} labels are not used"
    study = study_calibration(frame)
    watched = monitor(frame, question="precision", half_width=0.05)
    planned = plan(question="recovery>0", pilot=frame)
    for found in (study, watched, planned, doctor(frame)):
        text = " ".join(str(found).split())
        assert said in text, type(found)
        assert f"{prompts} prompts that are labelled in part" in text
        assert "--design cells" in text
    picks = [logged(tmp_path / name, greedy_lines(cohort(300))) for name in ("a.jsonl", "b.jsonl")]
    both = compare(*picks, labels=labels_of(frame))
    assert both.to_dict()["unused_labels"]["labels"] == labels
    assert said in " ".join(str(both).split())
    with pytest.raises(InputError, match=said):
        compare_designs(frame)
    few = cohort(300)
    few.loc[[0, 4, 8], "oracle_label"] = np.nan
    assert "9 of 1,197 labels are not used" in compare_designs(few, draws=2).sentences[-1]


def test_a_monitor_and_a_statement_on_candidates():
    """Repeated looks are for prompts, so a statement on candidates is refused and not passed over."""
    with pytest.raises(UsageError, match="counts whole prompts"):
        monitor(strewn(cohort(100)), question="precision", half_width=0.05, design="cells")


def test_logged_picks_use_every_label(tmp_path):
    """Picks are audited on labels of candidates as scores are."""
    frame = strewn(cohort(300))
    picks = logged(tmp_path / "picks.jsonl", greedy_lines(frame))
    found = audit(picks, labels=labels_of(frame).dropna(), design="cells")
    assert found["recovery"].method == "cells"
    assert found["value_judge"].estimate == pytest.approx(
        audit(frame, design="cells")["value_judge"].estimate, abs=0.02
    )


def test_a_bootstrap_that_is_not_made_is_told():
    """Intervals are by their own law where a bootstrap is asked for, and a note says so."""
    frame = strewn(cohort(150))
    plain, drawn = (audit(frame, design="cells", interval=kind) for kind in ("default", "bootstrap"))
    assert drawn["gain"] == plain["gain"]
    assert "not those of the bootstrap" in " ".join(str(drawn).split())


SEED = 20261123


def strewn_of_command(frame, share=0.7, seed=SEED):
    """Hide the labels of candidates at random."""
    out = frame.copy()
    out.loc[np.random.default_rng(seed).random(len(out)) >= share, "oracle_label"] = np.nan
    return out


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a working folder with scores of which 70 % are labelled."""
    monkeypatch.chdir(tmp_path)
    strewn_of_command(simulate("arena", n=300, seed=4).frame()).to_csv("scores.csv", index=False)
    return tmp_path


@pytest.fixture
def arena(shared, tmp_path, monkeypatch):
    """Return all labels of the arena sample's complete prompts, with 70 % of them in a file of the working folder."""
    monkeypatch.chdir(tmp_path)
    frame = pd.read_csv(shared / "data" / "arena100" / "scores.csv").query("candidate != 'unhelpful'")
    known = frame.groupby("prompt_id")["oracle_label"].transform(lambda labels: labels.notna().sum() == 4)
    frame = frame[known].reset_index(drop=True)
    strewn_of_command(frame).to_csv("scores.csv", index=False)
    return frame


def audited(capsys, *more, code=0):
    """Audit the scores of the working folder, and return the document and the words."""
    done = typed(capsys, "audit", "scores.csv", "--json", "found.json", *more)
    assert done.code == code, done.err
    return strict(Path("found.json").read_text("utf-8")), " ".join(done.out.split())


@pytest.mark.shared
def test_arena_with_seven_labels_of_ten(arena, capsys):
    """Most labels stand in prompts labelled in part; with the statement each counts, and intervals narrow."""
    nothing, said = audited(capsys)
    stated, text = audited(capsys, "--design", "cells")
    labels = int(pd.read_csv("scores.csv")["oracle_label"].notna().sum())
    unused, cells = nothing["unused_labels"], stated["labelled_cells"]
    assert unused["of"] == cells["labels"] == labels
    assert unused["labels"] == labels - cells["labels_of_whole_prompts"] > 0.6 * labels
    assert unused["sentence"] in said
    assert f"{labels} of 396 candidates are labelled, each with the same chance, as stated" in text
    assert cells["contradictions"] == []
    arena.to_csv("all.csv", index=False)
    full = strict(typed(capsys, "audit", "all.csv", "--json", "-").out)["metrics"]
    for name in ("recovery", "gain", "value_judge", "value_random", "value_oracle", "within_r"):
        alone, found = nothing["metrics"][name], stated["metrics"][name]
        assert found["method"] == "cells"
        assert found["low"] <= full[name]["estimate"] <= found["high"], name
        assert found["high"] - found["low"] < alone["high"] - alone["low"], name


def test_a_statement_is_shown_everywhere(folder, capsys):
    """Text, Markdown and page show who was labelled; the exit code of a gate on all prompts is settled."""
    document, text = audited(
        capsys,
        "--full",
        "--design",
        "cells",
        "--fail-under",
        "value_judge=0.01",
        "--markdown",
        "a.md",
        "--html",
        "a.html",
    )
    for shown in (text, (folder / "a.md").read_text("utf-8"), (folder / "a.html").read_text("utf-8")):
        assert "Who was labelled" in shown
        assert "top-scored candidates" in shown
    assert [gate["state"] for gate in document["gates"]] == ["met"]
    assert audited(capsys, "--fail-under", "value_judge=0.01", "--force", code=3)


def test_a_model_of_who_was_labelled_is_named(folder, capsys):
    """Figures that rest on a fitted model say so in the sentence that says whom they describe."""
    document, text = audited(capsys, "--design", "cells-by-score")
    assert document["labelled_cells"]["statement"] == "model"
    assert "given the model of who was labelled" in text


def test_propensities_of_candidates_need_no_flag(folder, capsys):
    """A column that differs within prompts states how candidates were labelled, and a flag beside it is refused."""
    frame = pd.read_csv("scores.csv")
    chances = np.where(np.arange(len(frame)) % 2, 0.68, 0.72)
    frame.assign(propensity=chances).to_csv("scores.csv", index=False)
    document, _ = audited(capsys)
    assert document["labelled_cells"]["statement"] == "propensities"
    done = typed(capsys, "audit", "scores.csv", "--design", "cells")
    assert done.code == 2
    assert "a propensity column, and a design beside it" in done.err


def test_help_names_the_statements(capsys):
    """The help of the audit names both statements on candidates."""
    text = " ".join(typed(capsys, "audit", "--help").out.split())
    assert "cells-by-score" in text.replace("│ │ ", "").replace("- ", "-")


def test_a_monitor_refuses_a_statement_on_candidates(folder, capsys):
    """Its rule counts whole prompts, so it says where these labels count."""
    done = typed(capsys, "monitor", "scores.csv", "--half-width", "0.1", "--design", "cells")
    assert done.code == 2
    assert "bonwise audit --design cells" in done.err
