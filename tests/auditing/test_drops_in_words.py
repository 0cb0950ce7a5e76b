"""What texts leave out is counted with its noun: prompts are not pairs."""

from __future__ import annotations

import re

import bonwise as bw
from auditing.studies.pairwise_judges import verdicts
from auditing.tables import cohort
from auditing.test_logged import greedy_lines, labels_of, logged
from bonwise.comparing.front import compare
from bonwise.testing import simulate

SIMULATION = simulate("arena", n=40, seed=2)


def test_prompts_and_pairs_left_out_are_told_apart():
    """One unlabelled prompt takes its six pairs along: each line says what it counts."""
    scores = SIMULATION.frame()
    scores.loc[0, "oracle_label"] = float("nan")
    text = str(bw.study_label_strategy(scores, verdicts=verdicts(SIMULATION)))
    assert "dropped 1 prompt: partly labelled" in text
    assert "left out 6 pairs: the prompt is not among those that are scored and labelled completely" in text
    assert re.search(r"left out [\d,]+:", text) is None


def test_calibration_counts_prompts():
    """One prompt and two prompts are dropped, in the singular and in the plural."""
    scores = SIMULATION.frame()
    scores.loc[0, "oracle_label"] = float("nan")
    scores.loc[[4, 8], "judge_score"] = float("nan")
    text = str(bw.study_calibration(scores))
    assert "dropped 1 prompt: partly labelled" in text
    assert "dropped 2 prompts: no score for c0" in text


def test_a_comparison_of_picks_counts_prompts(tmp_path):
    """Two prompts on which the files name different candidates are two prompts, one whose pick failed is one."""
    frame = cohort(n=120)
    mine = greedy_lines(frame)
    theirs = [dict(one) for one in mine]
    for at in (0, 1):
        theirs[at]["ids"] = [*theirs[at]["ids"][:-1], "other"]
    paths = [logged(tmp_path / f"{name}.jsonl", lines) for name, lines in (("a", mine), ("b", theirs))]
    text = str(compare(*paths, labels=labels_of(frame)))
    assert "dropped 2 prompts: the two files name different candidates" in text
    theirs[1] = mine[1]
    logged(paths[1], theirs)
    text = str(compare(*paths, labels=labels_of(frame)))
    assert "dropped 1 prompt: the two files name different candidates" in text
