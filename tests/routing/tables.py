"""Tables for studies of routing: a weak judge whose wide intervals go with what it loses."""

from __future__ import annotations

import numpy as np
import pandas as pd


def weak_judge(prompts, *, seed=0, candidates=3, draws=0, labelled=None, judge="weak"):
    """Return a long table; the noise of a prompt's scores and the width of their intervals rise together."""
    rng = np.random.default_rng(seed)
    noise = np.repeat(rng.uniform(0.02, 0.4, prompts), candidates)
    truth = np.clip(rng.normal(0.6, 0.2, prompts * candidates), 0, 1)
    scores = np.clip(np.round(truth + noise * rng.normal(size=len(truth)), 2), 0, 1)
    frame = pd.DataFrame(
        {
            "prompt_id": np.repeat([f"p{x:04d}" for x in range(prompts)], candidates),
            "candidate": np.tile([f"c{i}" for i in range(candidates)], prompts),
            "judge": judge,
            "judge_score": scores,
            "oracle_label": truth,
            "ci_width": np.round(noise * rng.uniform(0.8, 1.2, len(noise)), 3),
        }
    )
    for k in range(draws):
        again = truth + noise * rng.normal(size=len(truth))
        frame[f"draw_{k}"] = scores if k == 0 else np.clip(np.round(again, 2), 0, 1)
    if labelled is not None:
        frame.loc[frame["prompt_id"] >= f"p{labelled:04d}", "oracle_label"] = np.nan
    return frame
