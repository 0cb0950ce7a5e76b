"""What wider, lopsided or coarser labels do to the judge that a wanted recovery takes.

Run ``python benchmarks/requirements.py``: the table of ``docs/study_requirements.md``, from simulated labels with a
fixed seed. Each row changes the labels of one simulation and studies them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from bonwise import study_requirements
from bonwise.testing import simulate

Labels = npt.NDArray[np.float64]

TARGETS = (0.25, 0.5, 0.75, 0.9)


def spread(labels: Labels, rng: np.random.Generator) -> Labels:
    """Widen or narrow each prompt about its mean by a factor of its own."""
    mean = labels.mean(axis=1, keepdims=True)
    return mean + (labels - mean) * rng.lognormal(0.0, 0.6, (len(labels), 1))


def excelling(labels: Labels, rng: np.random.Generator) -> Labels:
    """Raise one candidate, whichever, in every tenth prompt."""
    raised = labels.copy()
    prompts = np.arange(0, len(labels), 10)
    raised[prompts, rng.integers(labels.shape[1], size=len(prompts))] += 0.4
    return raised


def rounded(labels: Labels, rng: np.random.Generator) -> Labels:
    """Round to twentieths."""
    del rng  # nothing is drawn
    return np.round(np.round(labels * 20) / 20, 2)


CHANGES: Mapping[str, Callable[[Labels, np.random.Generator], Labels]] = {
    "none": lambda labels, _: labels,
    "spread of each prompt times a lognormal, sd .6": spread,
    "one candidate excels by .4 in every tenth prompt": excelling,
    "rounded to .05": rounded,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    settings = parser.parse_args()
    simulation = simulate("arena", n=settings.prompts, seed=settings.seed)
    targets = ", ".join(f"{100 * target:g}" for target in TARGETS)
    print(f"{settings.prompts:,} prompts x {simulation.labels.shape[1]}, seed {settings.seed}")
    print(f"| change to the labels | within_r at {targets}% | agreement | pairs that tie |")
    print("|---|---|---|---|")
    for name, change in CHANGES.items():
        labels = change(simulation.labels, np.random.default_rng(settings.seed))
        # What a target takes depends on labels alone: any scores on their scale do.
        frame = simulation.frame().assign(judge_score=labels.ravel(), oracle_label=labels.ravel())
        found = study_requirements(frame, targets=TARGETS)
        (judge,) = found.judges.values()
        needed = (figures(judge["targets"], metric) for metric in ("within_r", "effective_agreement"))
        print(f"| {name} | {' | '.join(needed)} | {100 * tied(labels):.0f}% |")


def figures(targets: list[dict[str, dict[str, float]]], metric: str) -> str:
    """Write what each target takes, as the paper's table does."""
    return " ".join(f"{one[metric]['estimate']:.3f}".removeprefix("0") for one in targets)


def tied(labels: Labels) -> float:
    """Return the share of pairs with equal labels."""
    first, second = np.triu_indices(labels.shape[1], 1)
    return float(np.isclose(labels[:, first], labels[:, second]).mean())


if __name__ == "__main__":
    main()
