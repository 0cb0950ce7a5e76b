"""Small tables for the tests of audits: prompts given as lists of scores and labels, None where there is no label."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd

from bonwise.testing import simulate

GOLDEN = Path(__file__).parent / "golden"


def golden(name):
    """Read a golden table as a list of rows."""
    lines = (GOLDEN / name).read_text("utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def table(prompts, judge="judge"):
    """Lay prompts, each a pair of scores and labels, out as a long table."""
    rows = [
        (f"p{x:03d}", f"c{i}", judge, score, label)
        for x, (scores, labels) in enumerate(prompts)
        for i, (score, label) in enumerate(zip(scores, labels, strict=True))
    ]
    frame = pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge", "judge_score", "oracle_label"])
    return frame.astype({"judge_score": float, "oracle_label": float})


def parts(audit):
    """Return what an audit was computed from."""
    return audit.source_of("this")


def cohort(n, seed=20261121, unlabelled=0):
    """Return a simulated table, the last prompts of it without labels."""
    frame = simulate("arena", n=n, seed=seed).frame()
    if unlabelled:
        frame.loc[frame.index[-4 * unlabelled :], "oracle_label"] = np.nan
    return frame


def heavy_labels(n, seed=20261121):
    """Return a table of n prompts whose labels have the tails of Student's t with 2.2 degrees of freedom."""
    rng = np.random.default_rng(seed)
    labels = rng.standard_t(2.2, (n, 4))
    return table(list(zip((0.6 * labels + rng.standard_normal((n, 4))).tolist(), labels.tolist(), strict=True)))


def lossy(frame, seed=0, share=0.2, whole=0.1):
    """Blank the scores of some rows, and of all rows of some prompts."""
    rng = np.random.default_rng(seed)
    prompts = sorted(set(frame["prompt_id"]))
    none = set(rng.choice(prompts, int(whole * len(prompts)), replace=False).tolist())
    lost = (rng.random(len(frame)) < share) | frame["prompt_id"].isin(none).to_numpy()
    return frame.assign(judge_score=frame["judge_score"].where(~lost))


def two_judges(n, seed=20261121):
    """Return a simulated table scored by two judges, the second nearer to the labels."""
    first = cohort(n, seed).assign(judge="first")
    noise = np.random.default_rng(seed).standard_normal(len(first))
    better = 0.5 * first["judge_score"] + 0.5 * first["oracle_label"] + 0.1 * noise
    second = first.assign(judge="second", judge_score=(20 * better.clip(0, 1)).round() / 20)
    return pd.concat([first, second], ignore_index=True)


def losing(n):
    """Return a table of which every pick loses: of four candidates the judge prefers the worst."""
    steps = np.linspace(0.0, 0.4, n)
    return table([([0.1, 0.2, 0.3, 0.9], [0.9, 0.5, 0.6, 0.1 + step / 2]) for step in steps])
