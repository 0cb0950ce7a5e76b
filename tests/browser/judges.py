"""Many judges of one table, from worse than random picks to nearly the oracle."""

from __future__ import annotations

import numpy as np
import pandas as pd

from browser.samples import spoken

__all__ = ["many_judges"]


def many_judges(n, prompts=60, seed=1):
    """Return a table scored by n judges whose scores come nearer to the labels from judge to judge."""
    first, draw = spoken(prompts), np.random.default_rng(seed)
    frames = []
    for at in range(n):
        share = at / (n - 1) - 0.15
        noise = draw.normal(0, 0.25, len(first)) * (1 - abs(share))
        score = share * first["oracle_label"] + (1 - abs(share)) * first["judge_score"] + noise
        name = f"judge-{at:02d}/model-{'abc'[at % 3]}"
        frames.append(first.assign(judge=name, judge_score=score.clip(0, 1).round(2)))
    return pd.concat(frames, ignore_index=True)
