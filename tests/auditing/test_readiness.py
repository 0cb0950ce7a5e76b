"""Six points before a judge chooses for users: what holds, what fails, and what no table says."""

from __future__ import annotations

import numpy as np
import pytest

from bonwise.auditing.front import audit, study_readiness
from bonwise.errors import InputError
from bonwise.routing.front import route
from bonwise.studies.requirements.front import study_requirements
from bonwise.testing import simulate
from cli.commands import strict, typed

POINTS = ["target", "within_prompts", "hard_regime", "pairwise", "routing", "threshold"]


@pytest.mark.shared
def test_the_arena_sample_holds_on_one_point_of_six(shared):
    """Without the bad candidate: weak, above chance, and a within_r of .28 where 50 % takes .48."""
    scores = shared / "data" / "arena100" / "scores.csv"
    points = study_readiness(scores, exclude=["unhelpful"]).judges["judge"]
    states = ["fails", "holds", "open", "cannot be said", "cannot be said", "fails"]
    assert {name: point.state for name, point in points.items()} == dict(zip(POINTS, states, strict=True))
    assert points["target"].figures["recovery"].estimate == pytest.approx(0.2126, abs=1e-4)
    assert points["threshold"].figures["within_r"].estimate == pytest.approx(0.278, abs=1e-3)
    assert points["threshold"].figures["within_r needed"].estimate == pytest.approx(0.476, abs=1e-3)


@pytest.mark.shared
def test_an_easy_candidate_fails_the_third_point(shared):
    """With it recovery is 66 %, without it 21 %: the point shows both, and names the flags."""
    point = study_readiness(shared / "data" / "arena100" / "scores.csv").judges["judge"]["hard_regime"]
    assert point.state == "fails"
    assert point.figures["with them"].estimate == pytest.approx(0.656, abs=1e-3)
    assert point.figures["without them"].estimate == pytest.approx(0.2126, abs=1e-4)
    assert "--control unhelpful" in point.sentence


def test_every_figure_is_that_of_its_own_command():
    """The audit, the study of routing and that of requirements say the same."""
    frame = simulate("arena", n=150, seed=3).frame()
    points = study_readiness(frame).judges["judge"]
    audited = audit(frame)
    for name in ("target", "within_prompts"):
        for metric, figure in points[name].figures.items():
            assert figure == audited[metric], metric
    margin = points["routing"].figures["corr(margin, gain)"]
    assert margin == route(frame, strong="none")["judge"].signals["margin"].corr_gain
    needed = study_requirements(frame, targets=[0.5]).judges["judge"].targets[0].within_r
    assert points["threshold"].figures["within_r needed"] == needed


@pytest.mark.parametrize(("follows", "state"), [(True, "holds"), (False, "open")])
def test_stated_uncertainty_holds_where_it_goes_with_the_gain(follows, state):
    """Intervals that are wide where the pick loses much hold on the fifth point; intervals at random do not."""
    frame = simulate("arena", n=250, seed=3).frame()
    ordered = frame.sort_values("judge_score").groupby("prompt_id")["oracle_label"]
    lost = ordered.transform("max") - ordered.transform("last")
    order = lost if follows else lost.sample(frac=1, random_state=1).to_numpy()
    width = 0.1 + order
    judged = frame.assign(low=frame["judge_score"] - width / 2, high=frame["judge_score"] + width / 2)
    point = study_readiness(judged).judges["judge"]["routing"]
    assert point.state == state
    assert list(point.figures) == ["corr(interval_width, gain)", "corr(margin, gain)"]


def test_a_good_judge_holds_on_the_points_that_a_table_says():
    """Scores near the labels: what is decided, the order within prompts and the threshold hold."""
    frame, noise = simulate("arena", n=150, seed=3).frame(), np.random.default_rng(1)
    study = study_readiness(
        frame.assign(judge_score=(frame["oracle_label"] + noise.normal(0, 0.02, len(frame))).clip(0, 1))
    )
    states = {name: point.state for name, point in study.judges["judge"].items()}
    assert [name for name in POINTS if states[name] == "holds"] == ["target", "within_prompts", "threshold"]


def test_the_decision_of_systems_is_about_the_correlation_over_all_cells():
    """The first point then shows what decides: global_r and the bias of levels."""
    points = study_readiness(simulate("arena", n=60, seed=3).frame(), target="system").judges["judge"]
    assert list(points["target"].figures) == ["global_r", "level_bias"]


def test_labels_that_never_differ_leave_points_unsaid():
    """What routing and requirements refuse is a reason, not an error."""
    frame = simulate("arena", n=40, seed=3).frame().assign(oracle_label=0.5)
    points = study_readiness(frame).judges["judge"]
    assert points["threshold"].state == "cannot be said"
    assert points["threshold"].sentence
    with pytest.raises(InputError, match="no oracle labels"):
        study_readiness(frame.drop(columns="oracle_label"))


def test_the_command_shows_points_figures_and_commands(tmp_path, monkeypatch, capsys):
    """Each point has a line with the command that says more; the document has all six."""
    monkeypatch.chdir(tmp_path)
    simulate("arena", n=100, seed=3).frame().to_csv("scores.csv", index=False)
    shown = typed(capsys, "study", "readiness", "scores.csv", "--json", "ready.json", "--full")
    assert shown.code == 0
    assert "Verdict: holds on" in shown.out
    assert "6. Threshold on your labels" in shown.out
    assert "More: bonwise study requirements FILE --target 50%" in " ".join(shown.out.split())
    document = strict((tmp_path / "ready.json").read_text())
    assert document["schema"] == "bonwise.readiness/1"
    assert list(document["judges"]["judge"]) == POINTS


def test_the_frame_has_a_row_per_figure():
    """Of each judge and point."""
    study = study_readiness(simulate("arena", n=60, seed=3).frame())
    figures = sum(len(point.figures) for point in study.judges["judge"].values())
    assert len(study.to_frame()) == figures
