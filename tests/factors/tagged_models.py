"""What tags of prompts do to gaps between models, where the truth is known: tagged_models.py FIRST LAST."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from bonwise.factors.comparisons import explain_gaps
from bonwise.factors.front import fit_factors
from bonwise.factors.strengths import find_strengths
from bonwise.testing.rated_models import RatedModels

TAGS = ("first", "second")
WEIGHTS = np.array([1.3, 0.9, 0.5])


def tagged(seed, *, prompts=200, models=4, judges=8, labelled=0.3, effect=0.8):
    """Return simulated ratings, the tags of the prompts, and what each tag adds to a model's capability."""
    rng = np.random.default_rng(seed)
    tags = rng.random((prompts, len(TAGS))) < 0.4
    moved = effect * rng.standard_normal((len(TAGS), 3))
    asked = 0.7 + 0.9 * rng.standard_normal((prompts, 3)) + tags @ moved
    able = 0.7 * rng.standard_normal((models, 1)) + 0.6 * rng.standard_normal((models, 3))
    heeded = rng.gamma(1.2, 0.7, size=(judges + 1, 3))
    heeded[1 : 1 + judges // 3] *= 0.35
    heeded[0] = WEIGHTS
    found = np.einsum("rk,pk,mk->rpm", heeded, asked, able)
    scale = 1.6 / found[1:].std()
    found *= scale
    truth = scale * np.einsum("k,tk,mk->tm", WEIGHTS, moved, able)
    cutoffs = np.array([-2.2, -0.8, 0.6, 2.0]) + 0.5 * rng.standard_normal((judges + 1, 1))
    cutoffs += np.cumsum(0.15 * np.abs(rng.standard_normal(cutoffs.shape)), axis=1)
    noisy = found + rng.logistic(size=found.shape)
    ratings = (noisy[..., None] > cutoffs[:, None, None]).sum(axis=-1)
    drawn = RatedModels(found, cutoffs, ratings[0], ratings[None, 1:], rng.random(found[0].shape) < labelled, seed)
    return drawn, tags, truth


def table_of(tags):
    """Return the table of prompts."""
    names = [f"p{at:04d}" for at in range(len(tags))]
    return pd.DataFrame({"prompt_id": names, **dict(zip(TAGS, tags.T.astype(int), strict=True))})


def measured(seed, **size):
    """Return what intervals cover in one set, and by how much estimates are too small."""
    drawn, tags, truth = tagged(seed, **size)
    fit = fit_factors(drawn.frame(), human="human", rank=3, prior=1.0, restarts=1, seed=seed)
    table = table_of(tags)
    rows = []
    for model in range(drawn.human.shape[1]):
        for other in range(model):
            document = explain_gaps(fit.view, f"m{model}", f"m{other}", prompts=table)
            true = truth[:, model] - truth[:, other]
            plain, plain_se = least_squares(fit.view.draws, (model, other), tags)
            for one, right, ols, se in zip(document.coefficients, true, plain, plain_se, strict=True):
                rows.append(
                    {
                        "covers": one.low <= right <= one.high,
                        "band": one.band_low <= right <= one.band_high,
                        "draws alone cover": abs(ols - right) <= 1.96 * se,
                        "true": right,
                        "found": one.estimate,
                        "least squares": ols,
                    }
                )
    frame = pd.DataFrame(rows)
    means = frame[["covers", "draws alone cover"]].mean()
    squares = (frame["true"] ** 2).sum()
    return {
        **means.to_dict(),
        "slope": (frame["found"] * frame["true"]).sum() / squares if squares else np.nan,
        "slope of least squares": (frame["least squares"] * frame["true"]).sum() / squares if squares else np.nan,
        **groups_measured(fit.view, drawn, tags, table),
    }


def least_squares(draws, pair, tags):
    """Return least squares on each draw, without more: mean, and standard deviation over draws."""
    z = np.column_stack([np.ones(len(tags)), tags])
    found = np.linalg.lstsq(z, draws.differences(*pair).T, rcond=None)[0][1:]
    return found.mean(axis=1), found.std(axis=1, ddof=1)


def groups_measured(view, drawn, tags, table):
    """Return how often verdicts on groups and prompts are right together, and how often they are false."""
    levels, held, prompts_held, verdicts, false = [], [], [], 0, 0
    for model in range(drawn.human.shape[1]):
        others = np.delete(drawn.capabilities[0], model, axis=1).mean(axis=1)
        true = drawn.capabilities[0][:, model] - others
        document = find_strengths(view, f"m{model}", prompts=table)
        by_group = {one.column: one for one in document.groups}
        apart = [true[on].mean() - true.mean() for on in tags.T]
        for name, on, difference in zip(TAGS, tags.T, apart, strict=True):
            one = by_group[name]
            levels.append(one.low <= true[on].mean() <= one.high)
            verdicts += one.verdict != "open"
            false += (one.verdict == "strength" and difference <= 0) or (
                one.verdict == "weakness" and difference >= 0
            )
        held.append(all(by_group[n].band_low <= d <= by_group[n].band_high for n, d in zip(TAGS, apart, strict=True)))
        place = {name: at for at, name in enumerate(view.prompts)}
        off = true - true.mean()
        prompts_held.append(
            all(one.band_low <= off[place[one.prompt_id]] <= one.band_high for one in document.prompts)
        )
    return {
        "levels of groups": np.mean(levels),
        "bands of groups hold": np.mean(held),
        "bands of prompts hold": np.mean(prompts_held),
        "verdicts": verdicts,
        "false verdicts": false,
    }


if __name__ == "__main__":
    first, last = map(int, sys.argv[1:3])
    size = {name: float(value) for name, value in (one.split("=") for one in sys.argv[3:])}
    size = {name: int(value) if value.is_integer() and name != "effect" else value for name, value in size.items()}
    rows = []
    for seed in range(first, last):
        rows.append(measured(seed, **size))
        sys.stdout.write(f"{seed:2d}  " + "  ".join(f"{k} {v:.2f}" for k, v in rows[-1].items()) + "\n")
        sys.stdout.flush()
    sys.stdout.write(f"{pd.DataFrame(rows).mean().round(3).to_string()}\n")
