"""Small pools for property tests: lists of (scores, labels), one pair per prompt, on a coarse grid full of ties."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

GRID = [0.0, 0.05, 0.1, 0.3, 0.1 + 0.2, 0.5, 0.7, 1 - 0.3, 0.85, 1.0]
"""Some of these are equal only after rounding."""


def pools(*, least=1, most=6, candidates=(2, 6), values=GRID, ragged=True):
    """Draw lists of prompts."""

    def of_sizes(sizes):
        return st.tuples(*(st.tuples(cells(size), cells(size)) for size in sizes)).map(list)

    def cells(size):
        return st.lists(st.sampled_from(values), min_size=size, max_size=size)

    if ragged:
        sizes = st.lists(st.integers(*candidates), min_size=least, max_size=most)
    else:
        sizes = st.tuples(st.integers(*candidates), st.integers(least, most)).map(lambda two: [two[0]] * two[1])
    return sizes.flatmap(of_sizes)


def arrays(prompts):
    """Return scores, labels and sizes as `prompt_sums` takes them."""
    scores = np.array([s for pool in prompts for s in pool[0]])
    labels = np.array([o for pool in prompts for o in pool[1]])
    return scores, labels, np.array([len(pool[0]) for pool in prompts])


def rectangle(scores, labels):
    """Return scores, labels and sizes of two (prompts, K) arrays."""
    return scores.ravel(), labels.ravel(), np.full(len(scores), scores.shape[1])


def as_prompts(scores, labels):
    """Return two (prompts, K) arrays as a list of prompts."""
    return list(zip(scores.tolist(), labels.tolist(), strict=True))
