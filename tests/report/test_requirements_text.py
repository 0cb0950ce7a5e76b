from __future__ import annotations

import numpy as np
import pandas as pd

from bonwise.auditing.studies.requirements import study_requirements
from bonwise.report.requirements_text import requirements_text
from bonwise.testing import simulate


def test_text_holds_the_figures_of_the_document():
    """Every target has a row with its figures, and every sentence is printed."""
    document = study_requirements(simulate("arena", n=150, seed=6).frame(), within_r=[0.4]).to_dict()
    lines = requirements_text(document).splitlines()
    text = " ".join(lines)
    judge = document["judges"]["judge"]
    for sentence in judge["sentences"]:
        assert sentence in text
    half = next(line for line in lines if line.startswith("50%"))
    for metric in ("within_r", "effective_agreement"):
        assert f"{judge['targets'][1][metric]['estimate']:.3f}" in half
    assert any(line.startswith("0.4 ") for line in lines)


def test_names_and_another_judge_as_reference_are_written_out():
    """Control characters in a judge's name are written out, and what stands in for the labels is not called so."""
    frame = simulate("arena", n=60, seed=6).frame().drop(columns="oracle_label")
    noise = np.random.default_rng(0).random(len(frame)).round(2)
    both = pd.concat([frame.assign(judge="a\x1b[31m"), frame.assign(judge="b", judge_score=noise)])
    text = requirements_text(study_requirements(both, oracle="judge:b").to_dict())
    assert "a\\x1b[31m" in text
    assert "label" not in text.split("\n", 1)[1]
