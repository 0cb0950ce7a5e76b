"""Results with pages: what the browser opens."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bonwise.auditing.front import audit
from bonwise.testing import simulate


def spoken(n, seed=20261121):
    """Return a simulated table that holds the words of prompts, candidates and the judge."""
    frame = simulate("arena", n=n, seed=seed).frame()
    return frame.assign(
        judge="lenient",
        topic=np.where(frame["prompt_id"].str[-1].isin(list("01234")), "cooking", "travel"),
        prompt=[f"What is asked under {name}?\nIn two lines." for name in frame["prompt_id"]],
        text=[
            f"The answer {candidate} to {name}."
            for name, candidate in zip(frame["prompt_id"], frame["candidate"], strict=True)
        ],
        raw=[f"I give it {score}." for score in frame["judge_score"]],
    )


def two_spoken(n, seed=20261121):
    """Return the table with a second judge, nearer to the labels."""
    first = spoken(n, seed)
    better = (0.5 * first["judge_score"] + 0.5 * first["oracle_label"]).round(2)
    return pd.concat([first, first.assign(judge="strict", judge_score=better)], ignore_index=True)


def audited(folder, frame, name="audit.html", **settings):
    """Audit a table, write the page, and return its path and the audit's document."""
    found = audit(frame, **settings)
    path = folder / name
    found.to_html(path)
    return path, found.to_dict()
