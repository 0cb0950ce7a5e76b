"""Tables of several judges with labels."""

from __future__ import annotations

import numpy as np
import pandas as pd

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
