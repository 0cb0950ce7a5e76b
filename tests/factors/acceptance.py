"""What the factor model reaches on simulated ratings: acceptance.py FIRST LAST [REPLICATES]."""

from __future__ import annotations

import sys
import time

import numpy as np

from bonwise.factors.baselines import baseline_losses
from bonwise.factors.difference_bands import band_of_draws
from bonwise.factors.model_choice import choose_among, fit_stage_one
from bonwise.factors.posterior_draws import PluggedIn, draw_posterior
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.ratings import RatingTable
from bonwise.factors.stage_two import HumanDesign, HumanRatings, RatedCells, VerdictColumns, fit_human
from bonwise.testing import simulate_ratings


def held_out(drawn):
    """Return the human's ratings that the table does not hold."""
    prompt, model = np.nonzero(~drawn.labelled)
    cells = RatedCells(prompt, model, np.full(len(prompt), -1))
    rating = drawn.human[~drawn.labelled]
    return HumanRatings(cells, rating, np.ones(len(rating)), 5, False, np.zeros(len(rating), dtype=np.int64))


def measured(seed, *, rank=3, intervals=True, **size):
    """Return the figures of one simulated set."""
    drawn = simulate_ratings(seed, **size)
    data = RatingArrays.of(RatingTable.read(drawn.frame(), human="human"))
    judges, held = data.without_human(), held_out(drawn)
    design = HumanDesign(data.models, VerdictColumns.of(judges))
    fitted = HumanRatings.of(data, seed=seed)
    chosen = choose_among(fit_stage_one(judges, [rank], [1.0]), design, fitted)
    truth = drawn.true_cross_entropy()
    losses = {name: float(loss.mean()) for name, loss in baseline_losses(design, fitted, held, data.prompts).items()}
    skills = fit_human(chosen.human.design, fitted, ["skills"], 1e-3)
    cells = [one.ravel() for one in np.indices(drawn.human.shape)]
    x = skills.design.at(RatedCells(*cells, np.full(len(cells[0]), -1)), ["skills"])
    found = (x @ skills.regression.coefficients).reshape(drawn.human.shape)
    true = drawn.capabilities[0]
    apart = [(one - one.mean(axis=1, keepdims=True)).ravel() for one in (found, true)]
    figures = {
        "excess": chosen.human.cross_entropy(held) - truth,
        "below constant": losses["constant"] - chosen.human.cross_entropy(held),
        "below best baseline": min(losses.values()) - chosen.human.cross_entropy(held),
        "r2": float(np.corrcoef(*apart)[0, 1] ** 2),
    }
    if intervals:
        figures |= covered(data, chosen.capabilities, skills, true, seed)
    return figures


def covered(data, capabilities, skills, true, seed):
    """Return the shares of within-prompt differences that intervals cover, and of bands that hold fully."""
    human = (skills.regression.coefficients / skills.design.scales, skills.regression.cutoffs)
    drawn = {"gibbs": draw_posterior(data, capabilities, human, seed=seed)} | {
        name: PluggedIn.of(
            data.without_human(), capabilities, skills, prior=1.0, propagated=name == "propagated"
        ).draws(np.random.default_rng(seed))
        for name in ("propagated", "fixed")
    }
    found = {name: [] for name in drawn}
    effect = drawn["gibbs"].effects.record(data.without_human(), 0.95)
    for one in range(data.models):
        for other in range(one):
            bands = {name: band_of_draws(draws.differences(one, other), 0.95) for name, draws in drawn.items()}
            truth = true[:, one] - true[:, other]
            for name, band in bands.items():
                (low, high), (least, most) = band.interval, band.band
                inside = ((low <= truth) & (truth <= high)).mean()
                found[name].append((inside, ((least <= truth) & (truth <= most)).all()))
    means = {name: np.mean(values, axis=0) for name, values in found.items()}
    return {
        f"{name} {what}": float(mean[at]) for name, mean in means.items() for at, what in enumerate(("cover", "hold"))
    } | {"effect": effect.sd.estimate, "effect low": effect.sd.low, "effect high": effect.sd.high}


if __name__ == "__main__":
    first, last, *more = map(int, sys.argv[1:])
    rows = []
    for seed in range(first, last):
        began = time.perf_counter()
        rows.append(measured(seed, replicates=more[0] if more else 1))
        words = "  ".join(f"{name} {value:.3f}" for name, value in rows[-1].items())
        sys.stdout.write(f"{seed:2d}  {words}  ({time.perf_counter() - began:.0f} s)\n")
        sys.stdout.flush()
    for name in rows[0]:
        values = [row[name] for row in rows]
        sys.stdout.write(f"{name}: mean {np.mean(values):.4f}, from {min(values):.4f} to {max(values):.4f}\n")
