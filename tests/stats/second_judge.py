"""Fresh simulated prompts for each replication, with a second judge whose error is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bonwise.testing import simulate

CHUNK = 100_000
"""Prompts simulated at once; replications take them one block after the other, so that none meets a prompt twice."""


@dataclass(frozen=True)
class Prompts:
    """Arrays of shape (prompts, K), the second judge's None without one, and the randomness of one replication."""

    scores: np.ndarray
    labels: np.ndarray
    second: np.ndarray | None
    rng: np.random.Generator

    @property
    def sizes(self):
        """Candidates of each prompt."""
        return np.full(len(self.scores), self.scores.shape[1])


def on_scores_grid(values):
    """Cut to [0, 1] and round to the 21 scores that the first judge gives too."""
    return np.round(20 * np.clip(values, 0, 1)) / 20


def even_errors(_scores, labels, rng):
    """T1: the label, noise of .11 on every candidate and of .05 on every prompt; within-prompt correlation .70."""
    noise = 0.11 * rng.standard_normal(labels.shape) + 0.05 * rng.standard_normal((len(labels), 1))
    return on_scores_grid(labels + noise)


def shared_errors(scores, labels, rng):
    """T2: noise in step with the prompt's own spread of labels, in part what the first judge gets wrong as well."""
    spread = labels.std(axis=1, keepdims=True)
    apart, truth = (values - values.mean(axis=1, keepdims=True) for values in (scores, labels))
    wrong = apart - np.vdot(apart, truth) / np.vdot(truth, truth) * truth
    noise = np.sqrt(1 - 0.3**2) * rng.standard_normal(labels.shape) + 0.3 * wrong / wrong.std()
    return on_scores_grid(labels + 0.93 * spread * noise)


KINDS = {"T1": even_errors, "T2": shared_errors}


def replications(n, count, *, seed, kind=None):
    """Yield ``count`` independent samples of n prompts, with a second judge of that kind."""
    a_chunk = max(1, CHUNK // n)
    for first in range(0, count, a_chunk):
        here = min(a_chunk, count - first)
        drawn = simulate("arena", n=here * n, seed=seed + first)
        noise = np.random.default_rng([seed, first, 0])
        second = KINDS[kind](drawn.scores, drawn.labels, noise) if kind else None
        for at in range(here):
            rows = slice(at * n, (at + 1) * n)
            rng = np.random.default_rng([seed, first + at, 1])
            yield Prompts(drawn.scores[rows], drawn.labels[rows], None if second is None else second[rows], rng)


def within_r(first, second):
    """Correlate two judges within prompts."""
    first, second = (values - values.mean(axis=1, keepdims=True) for values in (first, second))
    return np.vdot(first, second) / np.sqrt(np.vdot(first, first) * np.vdot(second, second))
