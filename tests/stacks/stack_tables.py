"""Tables of several judges with labels, and stacks of judges."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bonwise.stacks.fitted_stack import FeatureScaling, JudgeStack, StackFeature

# Tables of several judges with labels.


QUALITY = {"good": 0.7, "fair": 0.6, "noise": 0.0}


def judged(prompts=60, candidates=4, seed=0, judges=None, **columns):
    """Return a long table; a judge's score correlates with the label as the mapping says."""
    rng = np.random.default_rng(seed)
    labels = rng.normal(size=prompts * candidates)
    cells = pd.DataFrame(
        {
            "prompt_id": np.repeat([f"p{at:03d}" for at in range(prompts)], candidates),
            "candidate": np.tile([f"c{at}" for at in range(candidates)], prompts),
            "oracle_label": labels,
        }
    ).assign(**columns)
    noise = {name: rng.normal(size=len(labels)) for name in judges or QUALITY}
    return pd.concat(
        [
            cells.assign(judge=name, judge_score=share * labels + np.sqrt(1 - share**2) * noise[name])
            for name, share in (judges or QUALITY).items()
        ],
        ignore_index=True,
    )


# Stacks of judges for tests.


def stack_of(*names, kinds=(), weights=None, correlation=0.5, doubt=0.01, **settings):
    """Return a stack of judges by these names, with further features (name, kind)."""
    features = (*(StackFeature(name, "score") for name in names), *(StackFeature(*one) for one in kinds))
    count = len(features)
    covariance = np.full((count, count), correlation) + (1 - correlation) * np.eye(count)
    scaling = FeatureScaling(features, np.full(count, 0.25), covariance)
    coefficients = np.array(weights or [1.0] * count)
    return JudgeStack.of(scaling, coefficients, doubt * np.eye(count), **settings)
