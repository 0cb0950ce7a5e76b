"""The laws of `benchmarks/laws.py`, in which a few prompts carry a figure, and harder ones beside them."""

import importlib.util
import sys
from pathlib import Path

import numpy as np

_FILE = Path(__file__).parents[2] / "benchmarks" / "laws.py"
_SPEC = importlib.util.spec_from_file_location("benchmark_of_laws", _FILE)
laws = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = laws
_SPEC.loader.exec_module(laws)

normal = laws.normal


def truth(law):
    """Return the metrics over 200,000 prompts of a law."""
    return laws.truth(law, 1)


def drawn(law, rng, n):
    """Return a table of n prompts of a law."""
    return laws.LAWS[law](rng, n).frame()


def square(law, rng, n, candidates=4):
    """Return scores and labels of n prompts, (prompts, candidates)."""
    table = laws.LAWS[law](rng, n)
    return table.scores.reshape(n, candidates), table.labels.reshape(n, candidates)


def ones(rng, n):
    """97 % ones."""
    return square("ones", rng, n)


def zeros(rng, n):
    """85 % zeros."""
    return square("zeros", rng, n)


def heavy(rng, n, candidates=4):
    """Labels 0 to 10, and scores off by Student's t with 2.2 degrees of freedom."""
    level = 5 + 2 * rng.standard_normal((n, 1))
    labels = np.clip(np.round(level + 2 * rng.standard_normal((n, candidates))), 0, 10)
    return 0.3 * labels + rng.standard_t(2.2, (n, candidates)), labels


def users(rng, n, each=4, candidates=4):
    """Users of very different size, about one in five of whom the judge is good for: scores, labels and users."""
    count = max(n // each, 1)
    owner = rng.choice(count, n, p=rng.dirichlet(np.ones(count)))
    good = (rng.random(count) < 0.2)[owner][:, None]
    level, quality = rng.standard_normal((n, 1)), rng.standard_normal((n, candidates))
    return 0.8 * level + good * quality + 0.7 * rng.standard_normal((n, candidates)), level + quality, owner


def by_margin(rng, scores, labels):
    """Label about three of ten prompts, those with a narrow margin far more often: labels and propensities."""
    ordered = np.sort(scores, axis=1)
    wanted = np.exp(-3 * (ordered[:, -1] - ordered[:, -2]))
    chances = np.clip(0.3 * wanted / wanted.mean(), 0.05, 1.0)
    drawn = np.zeros(len(labels), dtype=bool)
    # An audit refuses weights that stand for far more prompts than there are, which a few draws in a thousand give.
    while abs(np.sum(1 / chances[drawn]) - len(labels)) > 3 * np.sqrt(np.sum((1 - chances) / chances)):
        drawn = rng.random(len(labels)) < chances
    return np.where(drawn[:, None], labels, np.nan), chances
