"""Plans, draws of labels, looks at labels and studies of votes, for tests of their documents and descriptions."""

from __future__ import annotations

import numpy as np
import pandas as pd

import bonwise as bw
from bonwise.testing import simulate

__all__ = ["COMPARED", "DRAWS", "MONITORS", "PLANS", "VOTES", "made", "votes"]


def arena(n=80, **given):
    """Return a table of scores and labels."""
    return simulate("arena", n=n, seed=4, **given).frame()


def unlabelled(name="gone"):
    """Return a table without labels, one prompt of which has a single candidate."""
    frame = arena().drop(columns="oracle_label")
    more = pd.DataFrame({"prompt_id": [name], "candidate": ["c0"], "judge_score": [0.5]})
    return pd.concat([frame, more], ignore_index=True)


def votes(first="x", second="y", n=160):
    """Return votes on one pair of models, four on each question."""
    won = np.random.default_rng(5).choice(["model_a", "model_b", "tie"], n, p=[0.6, 0.3, 0.1])
    return pd.DataFrame({"question_id": np.arange(n) // 4, "model_a": first, "model_b": second, "winner": won})


def studied(frame=None, **given):
    """Return a study of votes with few resamples."""
    asked = {"verdict_col": "winner", "pair_col": ("model_a", "model_b"), "prompt_col": "question_id", "ties": "half"}
    few = {"resamples": 50, "permutations": 19, "repetitions": 20}
    return bw.study_preferences(votes() if frame is None else frame, **(asked | few | given))


def alone():
    """Return a study without prompts, whose votes on one pair are all alike."""
    same = votes("v", "w", 40).assign(winner="model_a")
    return studied(pd.concat([votes(), votes("y", "z"), same]), prompt_col=(), ties="drop")


def second_phase():
    """Return the second phase of a draw after a pilot."""
    first = bw.draw_labels(arena(), labels=60, design="neyman", seed=1)
    return bw.draw_labels(arena(), labels=60, seed=2, after=first.design)


PLANS = {
    "power": lambda: bw.plan(question="recovery>0", candidates=4, within_r=0.3),
    "complete": lambda: bw.plan(
        question="recovery>0", candidates=4, within_r=0.3, design="complete", labels=300, prompts=50
    ),
    "half-width": lambda: bw.plan(question="recovery", candidates=4, within_r=0.3, half_width=0.1, labels=300),
    "rivals": lambda: bw.plan(question="a-vs-b", candidates=8, within_r=0.5, rival_r=0),
    "preferred": lambda: bw.plan(
        question="a-vs-b", candidates=8, within_r=0.6, rival_r=0.4, design="discordant_preference"
    ),
    "pilot": lambda: bw.plan(question="margin", pilot="28/50", tie_rate=0.1, label_cost=0.4),
    "table": lambda: bw.plan(question="recovery>0", pilot=arena(), exclude="c3"),
    "clustered": lambda: bw.plan(question="margin", effect=0.06, raters=3, icc=0.2, tie_rate=0.1),
    "equivalence": lambda: bw.plan(question="equivalence", effect=0.05, power=0.8, confidence=0.9),
    "infeasible": lambda: bw.plan(question="margin", effect=0.05, one_cluster=True, icc=0.01),
}

DRAWS = {
    "rule": lambda: bw.draw_labels(unlabelled(), labels=20, seed=1),
    "uniform": lambda: bw.draw_labels(arena(), labels=20, design="uniform"),
    "pick": lambda: bw.draw_labels(arena(), labels=20, design="pick"),
    "pair": lambda: bw.draw_labels(arena(), labels=40, design="pair"),
    "first": lambda: bw.draw_labels(arena(), labels=60, design="neyman"),
    "second": second_phase,
}

COMPARED = {"designs": lambda: bw.compare_designs(arena(), shares=[0.25, 0.5], draws=5)}

MONITORS = {
    "precision": lambda: bw.monitor(arena(260), question="precision", half_width=0.4),
    "on": lambda: bw.monitor(arena(), question="precision", half_width=0.01),
    "early": lambda: bw.monitor(arena(20), question="precision", half_width=0.1),
    "significance": lambda: bw.monitor(arena(300), question="significance"),
    "not better": lambda: bw.monitor(arena(300), question="significance", than=0.9),
    "votes": lambda: bw.monitor(votes(), question="preference", verdict_col="winner", ties="drop"),
    "no votes": lambda: bw.monitor(
        votes()[:2].assign(winner=[None, "tie"]), question="preference", verdict_col="winner", ties="drop"
    ),
}

VOTES = {"prompts": studied, "alone": alone}


def made(kind):
    """Return a result by its kind."""
    return {**PLANS, **DRAWS, **COMPARED, **MONITORS, **VOTES}[kind]()
