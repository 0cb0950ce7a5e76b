"""A simulated judge of pairs: what it says depends on the labels, on noise, and on which candidate is shown first."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd


def verdicts(simulation, *, noise=0.1, lead=0.0, seed=0, orders=2):
    """Return the pairs file of a judge to which being shown first is worth `lead` of label."""
    rng, rows = np.random.default_rng(seed), []
    ids = list(dict.fromkeys(simulation.frame()["prompt_id"]))
    for name, labels in zip(ids, simulation.labels, strict=True):
        for a, b in itertools.combinations(range(len(labels)), 2):
            first, second = (labels[a] - labels[b] + noise * rng.normal() + side for side in (lead, -lead))
            shown = [float(first > 0), float(second > 0) if orders == 2 else None]
            rows.append((name, "pairwise:m", f"c{a}", f"c{b}", *shown))
    return pd.DataFrame(rows, columns=["prompt_id", "judge", "a", "b", "shown_first", "shown_second"])
