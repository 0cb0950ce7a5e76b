"""Which rating to ask a human for next: rules that choose, beside ratings chosen at random, at equal numbers.

    python benchmarks/label_choice.py                       # 16 simulated sets; about twenty minutes on one core
    python benchmarks/label_choice.py --quick               # a smoke run of seconds; its numbers mean little
    python benchmarks/label_choice.py --json choice.json    # every set too

Stage 1 is fitted once per set to all judges. Each rule orders the cells that a human could rate, stage 2 is fitted to
the first of them, and what it predicts for every cell is compared with the true probabilities: the excess
cross-entropy in nats per rating, without any noise of held-out ratings. A ratio below 1 means that the rule loses
less than ratings chosen at random.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.ratings import RatingTable
from bonwise.factors.stage_one import fit_capabilities
from bonwise.factors.stage_two import (
    FOLDS,
    HumanDesign,
    HumanRatings,
    RatedCells,
    VerdictColumns,
    fit_human,
    with_best_ridge,
)
from bonwise.stats.ordinal_ratings import category_probabilities
from bonwise.testing import simulate_ratings

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BUDGETS = (40, 80, 160, 320)
SETS = 16
REPEATS = 12
RANK = 3
BATCH = 20
"""Ratings that a rule which learns from them asks for at once."""

OFFERED = 400
"""Cells among which a greedy rule chooses each time, drawn anew: this is what its seed decides."""

_RIDGE = 4.0
_PAIR_CUTOFFS = np.array([-0.5, 0.5])


class Population(NamedTuple):
    """Cells that a human could rate, what is known of them, and the truth that scores a rule."""

    cells: RatedCells
    design: HumanDesign
    features: Floats
    verdicts: Floats
    rating: Ints
    chances: Floats

    @property
    def symmetric(self) -> bool:
        """Whether the human compares two models."""
        return bool((self.cells.opponent >= 0).any())

    def rated(self, chosen: Ints, rng: np.random.Generator) -> HumanRatings:
        """Return the human's ratings of some cells."""
        cells = RatedCells(self.cells.prompt[chosen], self.cells.model[chosen], self.cells.opponent[chosen])
        fold = rng.permutation(len(chosen)) % FOLDS
        return HumanRatings(
            cells, self.rating[chosen], np.ones(len(chosen)), self.chances.shape[1], self.symmetric, fold
        )

    def predicted(self, chosen: Ints, rng: np.random.Generator) -> Floats:
        """Return the chances of every cell by a quick fit to the ratings of some."""
        return fit_human(self.design, self.rated(chosen, rng), ["skills"], _RIDGE).probabilities(self.cells)

    def excess(self, chosen: Ints, rng: np.random.Generator) -> float:
        """Return the excess cross-entropy of the fit to the ratings of some cells, over all cells."""
        found = with_best_ridge(self.design, self.rated(chosen, rng), ["skills"]).probabilities(self.cells)
        return float((self.chances * np.log(self.chances / found)).sum(axis=1).mean())


def population(seed: int, *, pairs: bool, prompts: int = 695, judges: int = 15) -> Population:
    """Return a simulated set, of which a human rates single models or pairs."""
    drawn = simulate_ratings(seed, prompts=prompts, judges=judges)
    arrays = RatingArrays.of(RatingTable.read(drawn.frame(), human="human")).without_human()
    design = HumanDesign(arrays.models, VerdictColumns.of(arrays))
    design = design.with_skills(fit_capabilities(arrays, RANK, restarts=1, seed=seed))
    true = drawn.capabilities[0]
    if pairs:
        first, second = np.triu_indices(arrays.models, 1)
        prompt = np.repeat(np.arange(prompts), len(first))
        model, opponent = np.tile(first, prompts), np.tile(second, prompts)
        chances = category_probabilities(true[prompt, model] - true[prompt, opponent], _PAIR_CUTOFFS)
        drawing = np.random.default_rng([seed, 1]).random(len(prompt))
        rating = (drawing[:, None] > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
    else:
        prompt, model = (one.ravel() for one in np.indices(true.shape))
        opponent = np.full(len(prompt), -1)
        chances, rating = category_probabilities(true.ravel(), drawn.cutoffs[0]), drawn.human.ravel()
    cells = RatedCells(prompt, model, opponent)
    return Population(
        cells, design, design.at(cells, ["skills"]), design.at(cells, ["verdicts"]), rating.astype(np.int64), chances
    )


Rule = Callable[[Population, int, np.random.Generator], Ints]
"""Returns the cells to rate, in order; none twice."""


def at_random(found: Population, count: int, rng: np.random.Generator) -> Ints:
    """Every cell is as likely as any other."""
    return rng.permutation(len(found.cells))[:count]


def balanced(found: Population, count: int, rng: np.random.Generator) -> Ints:
    """Every model, or pair, as often as any other; no prompt twice before all have had a turn."""
    cells = found.cells
    kinds = np.unique(cells.model * 1000 + cells.opponent, return_inverse=True)[1]
    kind_count, prompts = int(kinds.max()) + 1, int(cells.prompt.max()) + 1
    place = np.zeros((prompts, kind_count), dtype=np.int64)
    place[cells.prompt, kinds] = np.arange(len(cells))
    chosen: dict[int, None] = {}
    while len(chosen) < count:
        order = np.concatenate([rng.permutation(kind_count) for _ in range(count // kind_count + 1)])[:count]
        turns = np.concatenate([rng.permutation(prompts) for _ in range(count // prompts + 1)])[:count]
        chosen.update(dict.fromkeys(place[turns, order].tolist()))
    return np.array(list(chosen)[:count])


def spread_of_verdicts(found: Population, count: int, rng: np.random.Generator) -> Ints:
    """Evenly over the range of the judges' mean verdict: no part of it is crowded or empty."""
    free = np.argsort(found.verdicts.mean(axis=1), kind="stable").tolist()
    start, golden = rng.random(), (np.sqrt(5) - 1) / 2
    return np.array([free.pop(int((start + at * golden) % 1 * len(free))) for at in range(count)])


def disagreement(found: Population, count: int, rng: np.random.Generator) -> Ints:
    """Where the judges' verdicts differ most, among half of the cells, drawn at random."""
    offered = rng.permutation(len(found.cells))[: len(found.cells) // 2]
    return offered[np.argsort(-found.verdicts[offered].std(axis=1), kind="stable")[:count]]


def d_optimal(found: Population, count: int, rng: np.random.Generator) -> Ints:
    """The largest determinant of the information about the weights of the skills."""
    return _greedy(found, count, rng, lambda x, inverse: ((x @ inverse) * x).sum(axis=1))


def a_optimal(found: Population, count: int, rng: np.random.Generator) -> Ints:
    """The smallest mean variance of what is predicted for all cells."""
    over_all = found.features.T @ found.features / len(found.features)

    def gain(x: Floats, inverse: Floats) -> Floats:
        turned = x @ inverse
        return ((turned @ over_all) * turned).sum(axis=1) / (1 + (turned * x).sum(axis=1))

    return _greedy(found, count, rng, gain)


def entropy(found: Population, count: int, rng: np.random.Generator) -> Ints:
    """Where the fit so far is least sure of the rating, in batches; the first batch is random."""

    def value(chosen: Ints, offered: Ints) -> Floats:
        chances = found.predicted(chosen, rng)[offered]
        return -(chances * np.log(chances)).sum(axis=1)

    return _in_batches(found, count, rng, value)


def weighted_d_optimal(found: Population, count: int, rng: np.random.Generator) -> Ints:
    """As `d_optimal`, with the information that the fit so far expects of each rating."""

    def value(chosen: Ints, offered: Ints) -> Floats:
        chances = found.predicted(chosen, rng)
        above = 1 - np.cumsum(chances, axis=1)
        bend = (chances * (above * (1 - above) + np.roll(above, 1, axis=1) * (1 - np.roll(above, 1, axis=1)))).sum(
            axis=1
        )
        x = found.features * np.sqrt(bend)[:, None]
        inverse = np.linalg.inv(np.eye(x.shape[1]) + x[chosen].T @ x[chosen])
        return ((x[offered] @ inverse) * x[offered]).sum(axis=1)

    return _in_batches(found, count, rng, value)


RULES: Mapping[str, Rule] = {
    "balanced": balanced,
    "spread of verdicts": spread_of_verdicts,
    "disagreement": disagreement,
    "D-optimal": d_optimal,
    "A-optimal": a_optimal,
    "weighted D-optimal": weighted_d_optimal,
    "entropy": entropy,
}


def _greedy(
    found: Population, count: int, rng: np.random.Generator, gain: Callable[[Floats, Floats], Floats]
) -> Ints:
    inverse = np.eye(found.features.shape[1])
    free = np.ones(len(found.cells), dtype=bool)
    chosen: list[int] = []
    for _ in range(count):
        offered = rng.choice(np.flatnonzero(free), min(OFFERED, int(free.sum())), replace=False)
        best = int(offered[np.argmax(gain(found.features[offered], inverse))])
        chosen.append(best)
        free[best] = False
        turned = inverse @ found.features[best]
        inverse -= np.outer(turned, turned) / (1 + found.features[best] @ turned)
    return np.array(chosen)


def _in_batches(
    found: Population, count: int, rng: np.random.Generator, value: Callable[[Ints, Ints], Floats]
) -> Ints:
    chosen = at_random(found, min(BATCH, count), rng)
    while len(chosen) < count:
        rest = np.setdiff1d(np.arange(len(found.cells)), chosen)
        offered = rng.choice(rest, min(OFFERED, len(rest)), replace=False)
        order = np.argsort(-value(chosen, offered), kind="stable")
        chosen = np.concatenate([chosen, offered[order[: min(BATCH, count - len(chosen))]]])
    return chosen


class Measured(NamedTuple):
    """Ratios of one rule at one number of ratings, one per set."""

    human: str
    labels: int
    rule: str
    ratios: Sequence[float]
    at_random: float

    @property
    def interval(self) -> tuple[float, float, float]:
        """Geometric mean over sets, and its 95 % interval by Student's law."""
        logs = np.log(self.ratios)
        half = stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
        middle = logs.mean()
        return float(np.exp(middle)), float(np.exp(middle - half)), float(np.exp(middle + half))

    def record(self) -> dict[str, Any]:
        """Return the figures."""
        ratio, low, high = self.interval
        return {**self._asdict(), "ratio": ratio, "low": low, "high": high, "worst": max(self.ratios)}


def measure(
    sets: int, budgets: Sequence[int], repeats: int, size: Mapping[str, int], say: Callable[[str], None]
) -> Iterator[Measured]:
    """Yield every rule at every number of ratings, for a human who rates one model and for one who compares two."""
    for human, pairs in (("rates one model", False), ("compares two", True)):
        found: dict[tuple[str, int], list[float]] = {}
        for seed in range(sets):
            began = time.perf_counter()
            drawn = population(seed, pairs=pairs, **size)
            for number, (name, rule) in enumerate({"random": at_random, **RULES}.items()):
                runs = np.zeros(len(budgets))
                for repeat in range(repeats):
                    rng = np.random.default_rng([seed, number, repeat, pairs])
                    order = rule(drawn, max(budgets), rng)
                    runs += [drawn.excess(order[:count], rng) for count in budgets]
                for count, excess in zip(budgets, runs / repeats, strict=True):
                    found.setdefault((name, count), []).append(float(excess))
            say(f"{human}, set {seed + 1} of {sets}: {time.perf_counter() - began:.0f} s")
        for count in budgets:
            base = np.array(found["random", count])
            for name in RULES:
                ratios = (np.array(found[name, count]) / base).tolist()
                yield Measured(human, count, name, ratios, float(base.mean()))


def table(measured: Sequence[Measured]) -> str:
    """Return the ratios as tables in Markdown, one for each kind of human."""
    lines: list[str] = []
    for human in dict.fromkeys(one.human for one in measured):
        mine = [one for one in measured if one.human == human]
        budgets = list(dict.fromkeys(one.labels for one in mine))
        excess = {one.labels: one.at_random for one in mine}
        lines += ["", f"A human who {human}:", ""]
        lines += [f"| rule | {' | '.join(f'{count} ratings' for count in budgets)} | worst set |"]
        lines += ["|---" * (len(budgets) + 2) + "|"]
        lines += [f"| random: excess in nats | {' | '.join(f'{excess[count]:.3f}' for count in budgets)} | |"]
        for rule in dict.fromkeys(one.rule for one in mine):
            found = [one for one in mine if one.rule == rule]
            cells = ["{:.2f} [{:.2f}, {:.2f}]".format(*one.interval) for one in found]
            lines += [f"| {rule} | {' | '.join(cells)} | {max(max(one.ratios) for one in found):.2f} |"]
    return "\n".join(lines)


def shipped(measured: Sequence[Measured]) -> list[str]:
    """Return the rules whose interval lies below 1 everywhere, with no set above 1.05."""
    return [
        name
        for name in RULES
        if all(one.interval[2] < 1 and max(one.ratios) <= 1.05 for one in measured if one.rule == name)
    ]


def main() -> None:
    """Run the comparison, and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two small sets: a smoke run")
    parser.add_argument("--json", type=Path, help="where to write every figure")
    asked = parser.parse_args()
    size = {"prompts": 60, "judges": 4} if asked.quick else {}
    budgets, sets, repeats = ((20, 40), 2, 1) if asked.quick else (BUDGETS, SETS, REPEATS)
    found = list(measure(sets, budgets, repeats, size, lambda line: print(line, flush=True)))
    print(table(found))
    better = shipped(found)
    print(f"Below 1 everywhere, no set above 1.05: {', '.join(better) if better else 'no rule'}.")
    if asked.json is not None:
        asked.json.write_text(json.dumps([one.record() for one in found], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
