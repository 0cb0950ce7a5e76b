"""Laws of judges and labels for the choice of a signal, and how well a fitted router does on other prompts."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from scipy.special import expit

from bonwise.routing.front import route
from bonwise.routing.judged_prompts import judged_prompts
from bonwise.routing.signal_study import choose, recommend, study_signal
from bonwise.routing.signals import SIGNALS
from bonwise.table.panel import lay_out
from bonwise.table.score_table import ScoreTable
from stats.routed_figures import routed_share

SHARE = 0.25


def widths(rng, prompts, *, informative):
    """Draw the published laws: four graded labels, scores in tenths, widths that know the noise or not."""
    spread = np.exp(0.5 * rng.standard_normal((prompts, 1)))
    quality = rng.standard_normal((prompts, 1)) + spread * rng.standard_normal((prompts, 4))
    noise = np.exp(0.5 * rng.standard_normal((prompts, 1)))
    labels = np.round(expit(quality), 2)
    scores = np.round(expit(quality + noise * rng.standard_normal((prompts, 4))), 1)
    wide = np.exp((0.3 if informative else 0.5) * rng.standard_normal((prompts, 4)))
    return scores, labels, np.round(0.1 * (noise if informative else 1.0) * wide, 2)


def binary(rng, prompts):
    """Draw labels 0 or 1 of three candidates and scores from 1 to 5: many ties, no widths at all."""
    ability = expit(1.2 * rng.standard_normal((prompts, 1)))
    labels = (rng.random((prompts, 3)) < ability).astype(float)
    says = 2.5 + 1.2 * labels + 0.8 * rng.standard_normal((prompts, 3))
    return np.clip(np.round(says), 1, 5), labels, None


def sure_where_wrong(rng, prompts):
    """Draw a judge whose intervals are narrow where it errs: the width sends the wrong prompts."""
    noise = np.exp(0.7 * rng.standard_normal((prompts, 1)))
    quality = rng.standard_normal((prompts, 5))
    scores = np.round(expit(quality + noise * rng.standard_normal((prompts, 5))), 2)
    width = 0.1 / noise * np.exp(0.3 * rng.standard_normal((prompts, 5)))
    return scores, np.round(np.exp(0.5 * quality), 2), np.round(width, 3)


LAWS = {
    "informative": lambda rng, prompts: widths(rng, prompts, informative=True),
    "noise": lambda rng, prompts: widths(rng, prompts, informative=False),
    "binary": binary,
    "sure where wrong": sure_where_wrong,
}


def table(law, prompts, *seed):
    """Return a long table of one law."""
    scores, labels, width = LAWS[law](np.random.default_rng([*seed, list(LAWS).index(law)]), prompts)
    K = scores.shape[1]
    frame = pd.DataFrame(
        {
            "prompt_id": np.repeat(np.arange(prompts), K),
            "candidate": np.tile(np.arange(K), prompts),
            "judge_score": scores.ravel(),
            "oracle_label": labels.ravel(),
        }
    )
    return frame if width is None else frame.assign(ci_width=width.ravel())


def prompts_of(study):
    """Return the prompts behind what was found of the judge."""
    return study.source_of("prompts")["judge"].prompts


@cache
def unseen(law):
    """Return 40,000 prompts of a law on which fitted routers are tried."""
    return prompts_of(route(table(law, 40_000, 99)))


@cache
def unlearnt(law, name):
    """Return what a signal that is not learnt captures on the unseen prompts."""
    others = unseen(law)
    return routed_share(SIGNALS[name].value(others.features), others.outcomes, SHARE).captured.estimate


def tried(law, prompts, samples):
    """Study samples of a law, and try each recommended router on the unseen prompts.

    A row holds the part of the possible lift that it captures, the part that the study claims, and the lower end of
    that claim (NaN where it has none).
    """
    others, rows = unseen(law), []
    for at in range(samples):
        study = route(table(law, prompts, 1, prompts, at))
        reached = routed_share(study.router().value(others.features), others.outcomes, SHARE)
        claimed = study["judge"].recommendation.captured
        rows.append((reached.captured.estimate, claimed.estimate, np.nan if claimed.low is None else claimed.low))
    return np.array(rows)


def by_chance(prompts, *seed, kind="uniform"):
    """Return a table in which no signal carries anything: labels owe nothing to scores, widths or draws."""
    rng = np.random.default_rng([*seed, prompts])
    laws = {"uniform": rng.random, "binary": lambda shape: (rng.random(shape) < 0.3).astype(float)}
    labels = laws.get(kind, lambda shape: np.exp(rng.standard_normal(shape)))((prompts, 4))
    width = np.exp(0.6 * rng.standard_normal((prompts, 1))) * rng.uniform(0.8, 1.2, (prompts, 4))
    scores = np.round(rng.standard_normal((prompts, 4)) * width, 1)
    draws = {
        f"draw_{k}": np.round(scores + (k > 0) * 0.5 * width * rng.standard_normal(width.shape), 1) for k in range(4)
    }
    columns = {"oracle_label": labels, "ci_width": np.round(width, 3), **draws}
    return pd.DataFrame(
        {
            "prompt_id": np.repeat(np.arange(prompts), 4),
            "candidate": np.tile(np.arange(4), prompts),
            **{name: values.ravel() for name, values in columns.items()},
        }
    )


def is_shown(frame):
    """Tell whether the best signal is shown to be better than random, and whether any is with no choice counted."""
    opened = ScoreTable.from_frame(frame)
    prompts = judged_prompts(opened, lay_out(opened)[0])
    signals = {name: study_signal(signal, prompts, (SHARE,), 0.95) for name, signal in SIGNALS.items()}
    taken, confidence = choose(signals, prompts, SHARE, 0.95, any_share=False)
    lows = [signal.shares[SHARE][1].low for signal in signals.values() if signal.shares]
    captured = recommend(taken, prompts, SHARE, len(lows), confidence).captured
    return captured.low is not None and captured.low > 0, any(low is not None and low > 0 for low in lows)
