"""Results of every study, small ones, for tests of their documents and descriptions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from auditing.tables import cohort
from bonwise.studies.calibration.front import study_calibration
from bonwise.studies.candidates.front import study_candidates, study_transfer
from bonwise.studies.discretisation.front import study_discretisation
from bonwise.studies.label_strategy.front import study_label_strategy, study_verdicts
from bonwise.studies.label_strategy.pair_draw import draw_pairs
from bonwise.studies.mix.front import study_mix
from bonwise.studies.requirements.front import study_requirements
from bonwise.studies.strategies.front import study_strategies
from bonwise.testing import simulate
from studies.pairwise_judges import verdicts

__all__ = ["RESULTS", "SIMULATION", "controlled", "judged", "pools", "result"]

SIMULATION = simulate("arena", n=30, seed=2)


def judged(names, prompts=20):
    """Return a table of judges of the same prompts, each noisier than the one before."""
    frame, noise = cohort(prompts), np.random.default_rng(5)
    labels = frame["oracle_label"]
    noises = (at * noise.normal(size=len(frame)) / 5 for at in range(len(names)))
    scored = [
        frame.assign(judge=name, judge_score=(labels + one).clip(0, 1))
        for name, one in zip(names, noises, strict=True)
    ]
    return pd.concat(scored, ignore_index=True)


def controlled(frame, name="bad"):
    """Add a copy of a candidate that is the worst of its pool."""
    rows = frame[frame["candidate"] == "c0"].assign(candidate=name, judge_score=0.0, oracle_label=0.0)
    return pd.concat([frame, rows], ignore_index=True)


def orders(two=True, judges=("j",), prompts=12):
    """Return verdicts alone, in one order or two."""
    rows = [
        {"q": q, "who": name, "one": 1 + (q + at) % 2, "two": 1 + (q % 3 == 0), "gold": 1 + q % 2}
        for at, name in enumerate(judges)
        for q in range(prompts)
    ]
    named = ["one", "two"] if two else ["one"]
    return study_verdicts(
        pd.DataFrame(rows), verdict_col=named, label_col="gold", prompt_col=["q"], judge_col=["who"]
    )


def pools(folder):
    """Write the words of the simulated pools and return the file."""
    path = folder / "pools.jsonl"
    frame = SIMULATION.frame()
    lines = []
    for prompt, one in frame.groupby("prompt_id", observed=True):
        candidates = ", ".join(f'{{"id": "{name}", "text": "{name}"}}' for name in one["candidate"])
        lines.append(f'{{"prompt_id": "{prompt}", "prompt": "{prompt}", "candidates": [{candidates}]}}\n')
    path.write_text("".join(lines), encoding="utf-8")
    return path


def drawn(folder):
    """Draw pairs."""
    return draw_pairs(SIMULATION.frame(), pairs=8, pools=pools(folder))


def strategies(**settings):
    """Study ways of asking."""
    return study_label_strategy(SIMULATION.frame(), verdicts=verdicts(SIMULATION), **settings)


RESULTS = {
    "requirements": lambda _: study_requirements(judged("ab"), within_r=[0.3]),
    "mix": lambda _: study_mix(controlled(judged("ab")), control="bad"),
    "discretisation": lambda _: study_discretisation(judged("ab"), bins=[5], draws=3),
    "calibration": lambda _: study_calibration(judged("ab")),
    "candidates": lambda _: study_candidates(judged("ab", prompts=50), value=1.0, candidate_cost=0.01),
    "transfer": lambda _: study_transfer(judged("ab", prompts=50), to=judged("abc", prompts=25)),
    "strategies": lambda _: strategies(),
    "replay": lambda _: study_strategies(simulate("one_model", n=30, seed=2, draws=3).frame(), seeds=1),
    "verdicts": lambda _: orders(judges=("j", "k")),
    "one order": lambda _: orders(two=False),
    "draw": drawn,
}


@cache
def _kept(name):
    return RESULTS[name](None)


def result(name, folder):
    """Return a result of every kind of study; all but the draw are made once."""
    return RESULTS[name](folder) if name == "draw" else _kept(name)
