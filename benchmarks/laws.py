"""Gates and intervals on 16 laws of labels: how often they err, and how often gates pass a useful judge.

    python benchmarks/laws.py                                    # prints both tables
    python benchmarks/laws.py --write                            # writes them into docs/intervals.md
    python benchmarks/laws.py --law zeros --n 300 --metric recovery --tables 4000

Every table goes through `bonwise.audit` and its gates, as a user's does.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bonwise.auditing.front import audit
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.testing import simulate

__all__ = ["COVERED", "GATED", "LAWS", "SIZES", "Measured", "Table", "law_table", "measured", "page", "truth"]

Floats = NDArray[np.float64]
Rng = np.random.Generator

PAGE = Path(__file__).parents[1] / "docs" / "intervals.md"
SIZES = (30, 100, 300)
GATED = ("recovery", "gain", "value_judge", "top1_accuracy", "within_r")
COVERED = (*GATED, "global_r")
TABLES = 1000
SEED = 20261130
_MANY = 200_000
_TIMES = 10
_MARKS = re.compile(r"<!-- laws -->.*?<!-- end -->", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Table:
    """Prompts of a law: cells prompt by prompt, NaN for a lost score."""

    scores: Floats
    labels: Floats
    sizes: NDArray[np.int64]
    clusters: NDArray[np.int64] | None = None

    @classmethod
    def square(cls, scores: Floats, labels: Floats, clusters: NDArray[np.int64] | None = None) -> Table:
        """Return prompts of equally many candidates; arrays are (prompts, candidates)."""
        return cls(scores.ravel(), labels.ravel(), np.full(len(scores), scores.shape[1]), clusters)

    def frame(self) -> pd.DataFrame:
        """Return the table as a user has it."""
        owners = np.repeat(np.arange(len(self.sizes)), self.sizes)
        places = np.arange(len(owners)) - np.repeat(np.cumsum(self.sizes) - self.sizes, self.sizes)
        columns = {
            "prompt_id": np.char.add("p", owners.astype(str)),
            "candidate": np.char.add("c", places.astype(str)),
            "judge_score": self.scores,
            "oracle_label": self.labels,
        }
        if self.clusters is not None:
            columns["cluster"] = np.char.add("g", self.clusters[owners].astype(str))
        return pd.DataFrame(columns)


def normal(rng: Rng, n: int, candidates: int = 4, r: float | Floats = 0.6) -> tuple[Floats, Floats]:
    """Return normal scores and labels that correlate with r."""
    labels = rng.standard_normal((n, candidates))
    return r * labels + np.sqrt(1 - np.square(r)) * rng.standard_normal((n, candidates)), labels


def _catastrophes(rng: Rng, n: int) -> tuple[Floats, Floats]:
    labels = 1 + 0.5 * rng.standard_normal((n, 4))
    scores = 0.6 * (labels - 1) + rng.standard_normal((n, 4))
    bad = rng.random((n, 4)) < 0.02
    seen = bad & (rng.random((n, 4)) < 0.6)
    return np.where(seen, -10.0, scores), np.where(bad, -50.0, labels)


def catastrophes(rng: Rng, n: int) -> Table:
    """Labels about 1, two of a hundred at -50, of which the judge sees six of ten."""
    return Table.square(*_catastrophes(rng, n))


def wins(rng: Rng, n: int) -> Table:
    """The same turned round: two of a hundred labels at 50."""
    scores, labels = _catastrophes(rng, n)
    return Table.square(-scores, 2 - labels)


def ones(rng: Rng, n: int) -> Table:
    """97 % of the labels are 1, the others 0."""
    labels = (rng.random((n, 4)) < 0.97).astype(float)
    return Table.square(0.8 * labels + 0.5 * rng.standard_normal((n, 4)), labels)


def zeros(rng: Rng, n: int) -> Table:
    """85 % of the labels are 0, the others 1."""
    labels = (rng.random((n, 4)) < 0.15).astype(float)
    return Table.square(0.8 * labels + 0.8 * rng.standard_normal((n, 4)), labels)


def heavy(rng: Rng, n: int) -> Table:
    """Labels of Student's t with 2.2 degrees of freedom."""
    labels = rng.standard_t(2.2, (n, 4))
    return Table.square(0.6 * labels + rng.standard_normal((n, 4)), labels)


def unequal(rng: Rng, n: int) -> Table:
    """Pools of 2 to 64 candidates, as many of 2 to 8 as of 16 to 64."""
    sizes = np.round(2 ** rng.uniform(1, 6, n)).astype(np.int64)
    scores, labels = normal(rng, int(sizes.sum()), 1)
    return Table(scores.ravel(), labels.ravel(), sizes)


def mixture(rng: Rng, n: int) -> Table:
    """Two domains: in one the judge is good, in the other labels are three times as wide and it sees little."""
    hard = rng.random((n, 1)) < 0.5
    scores, labels = normal(rng, n, r=np.where(hard, 0.2, 0.8))
    return Table.square(scores, np.where(hard, 3 * labels + 2, labels))


def flips(rng: Rng, n: int) -> Table:
    """A third of the prompts have the judge's order turned round."""
    scores, labels = normal(rng, n, r=0.7)
    return Table.square(np.where(rng.random((n, 1)) < 1 / 3, -scores, scores), labels)


def clustered(rng: Rng, n: int) -> Table:
    """Five prompts a user: users differ in level, and in how well the judge sees what they want."""
    users = np.arange(n) // 5
    seen, level = rng.uniform(0, 0.9, n)[users], rng.standard_normal(n)[users]
    scores, labels = normal(rng, n, r=seen[:, None])
    return Table.square(scores, labels + level[:, None], users)


def duplicates(rng: Rng, n: int) -> Table:
    """Every prompt stands there in two wordings that nearly agree, named by a column of clusters."""
    of = np.arange(n) // 2
    scores, labels = (values[of] for values in normal(rng, n))
    noise = 0.2 * rng.standard_normal((2, n, 4))
    return Table.square(scores + noise[0], labels + noise[1], of)


def lost(rng: Rng, n: int) -> Table:
    """Scores are lost, of the worst candidates one in four, of the best one in twenty."""
    scores, labels = normal(rng, n)
    chance = np.where(labels < -0.5, 0.25, 0.05)
    return Table.square(np.where(rng.random(labels.shape) < chance, np.nan, scores), labels)


def arena(rng: Rng, n: int) -> Table:
    """The simulator's arena: 21 scores, labels from 0 to 1 by hundredths."""
    frame = simulate("arena", n=n, seed=int(rng.integers(2**31))).frame()
    return Table.square(*(frame[name].to_numpy().reshape(n, -1) for name in ("judge_score", "oracle_label")))


def binary(rng: Rng, n: int) -> Table:
    """Half of the labels are 1, and prompts differ in how many."""
    labels = (rng.random((n, 4)) < rng.beta(2, 2, (n, 1))).astype(float)
    return Table.square(labels + 0.8 * rng.standard_normal((n, 4)), labels)


def grades(rng: Rng, n: int) -> Table:
    """Labels from 1 to 5, scores in whole numbers."""
    labels = np.clip(np.round(3 + rng.standard_normal((n, 1)) + rng.standard_normal((n, 4))), 1, 5)
    return Table.square(np.round(labels + 2 * rng.standard_normal((n, 4))), labels)


def ties(rng: Rng, n: int) -> Table:
    """Scores on three steps, which tie most pools at the top."""
    scores, labels = normal(rng, n)
    return Table.square(np.clip(np.round(scores), -1, 1), labels)


def small(rng: Rng, n: int) -> Table:
    """Pools of two."""
    return Table.square(*normal(rng, n, 2))


LAWS: dict[str, Callable[[Rng, int], Table]] = {
    one.__name__: one
    for one in (
        *(catastrophes, wins, ones, zeros, heavy, unequal, mixture, flips, clustered, duplicates, lost),
        *(arena, binary, grades, ties, small),
    )
}


@cache
def truth(law: str, times: int = _TIMES) -> dict[str, float]:
    """Return the metrics of a law: means over so many draws of 200,000 prompts."""
    rng, draws = np.random.default_rng(999), []
    for _ in range(times):
        many = LAWS[law](rng, _MANY)
        total = Sums(*prompt_sums(many.scores, many.labels, many.sizes).sum(axis=1))
        draws.append([float(one.of(total)) for one in ESTIMANDS if one.name in COVERED])
    names = [one.name for one in ESTIMANDS if one.name in COVERED]
    return dict(zip(names, np.mean(draws, axis=0).tolist(), strict=True))


@cache
def _by_chance(law: str) -> float:
    """Return how often a random pick is a best one."""
    many = LAWS[law](np.random.default_rng(998), _MANY // 10)
    total = Sums(*prompt_sums(np.zeros(len(many.labels)), many.labels, many.sizes).sum(axis=1))
    return next(float(one.of(total)) for one in ESTIMANDS if one.name == "top1_accuracy")


def half_as_good(law: str, draws: int = _TIMES) -> dict[str, float]:
    """Return gates half way between a random judge and this one: a useful gate must let it pass."""
    true = truth(law, draws)
    return {
        "recovery": true["recovery"] / 2,
        "gain": true["gain"] / 2,
        "value_judge": true["value_judge"] - true["gain"] / 2,
        "top1_accuracy": (true["top1_accuracy"] + _by_chance(law)) / 2,
        "within_r": true["within_r"] / 2,
    }


@dataclass
class Measured:
    """What was counted over the tables of a law."""

    tables: int
    passed_at_truth: Counter[str] = field(default_factory=Counter)
    failed_at_truth: Counter[str] = field(default_factory=Counter)
    passed_half_way: Counter[str] = field(default_factory=Counter)
    covered: Counter[str] = field(default_factory=Counter)
    given: Counter[str] = field(default_factory=Counter)
    """Tables with an interval."""

    def share(self, of: Counter[str], metric: str) -> float:
        """Return a share of the tables."""
        return of[metric] / self.tables

    def coverage(self, metric: str) -> float:
        """Return the share of the intervals that hold the truth; NaN where there is none."""
        return self.covered[metric] / self.given[metric] if self.given[metric] else np.nan


def measured(
    law: str,
    n: int,
    tables: int,
    *,
    seed: int = SEED,
    metrics: Sequence[str] = COVERED,
    gate: str = "default",
    draws: int = _TIMES,
) -> Measured:
    """Audit tables of n prompts of a law."""
    rng, true, half = np.random.default_rng([seed, n]), truth(law, draws), half_as_good(law, draws)
    gated = [name for name in GATED if name in metrics]
    found = Measured(tables)
    options = {} if gate == "default" else {"gate": gate}
    for _ in range(tables):
        audited = audit(LAWS[law](rng, n).frame(), keep_easy=[], **options)
        for one in audited.check({name: true[name] for name in gated}).gates:
            found.passed_at_truth[one.metric] += one.state == "met"
            found.failed_at_truth[one.metric] += one.state == "not met"
        for one in audited.check({name: half[name] for name in gated}).gates:
            found.passed_half_way[one.metric] += one.state == "met"
        for name in metrics:
            low, high = audited[name].low, audited[name].high
            if low is not None and high is not None:
                found.given[name] += 1
                found.covered[name] += low <= true[name] <= high
    return found


def _two(share: float) -> str:
    return "" if np.isnan(share) else f"{share:.2f}".removeprefix("0") if share < 1 else "1.00"


def _gates(found: Measured, metric: str) -> str:
    return (
        f"{share3(found.share(found.passed_at_truth, metric))} / {_two(found.share(found.passed_half_way, metric))}"
    )


def share3(share: float) -> str:
    """Write a small share with three digits."""
    return f"{share:.3f}".removeprefix("0") if share < 1 else "1.000"


def _coverage(found: Measured, metric: str) -> str:
    withheld = 1 - found.given[metric] / found.tables
    shown = _two(found.coverage(metric)) or "none"
    return f"{shown} ({_two(withheld)} withheld)" if withheld >= 0.005 else shown


def _rows(runs: dict[tuple[str, int], Measured], metrics: Sequence[str], cell: Callable[[Measured, str], str]) -> str:
    head = ["law", "prompts", *(f"`{name}`" for name in metrics)]
    lines = [head, ["---"] * len(head)]
    before = ""
    for (law, n), found in runs.items():
        lines.append(["" if law == before else law, str(n), *(cell(found, name) for name in metrics)])
        before = law
    return "".join(f"|{'|'.join(line)}|\n" if line[0] == "---" else f"| {' | '.join(line)} |\n" for line in lines)


def law_table(runs: dict[tuple[str, int], Measured], metrics: Sequence[str] = COVERED) -> str:
    """Return both tables, with what was run."""
    tables = min(found.tables for found in runs.values())
    se = [float(np.sqrt(share * (1 - share) / tables)) for share in (0.05, 0.5)]
    of_laws = "".join(f"- {law}: {_meaning(law)}\n" for law in dict.fromkeys(law for law, _ in runs))
    gated = [name for name in GATED if name in metrics]
    return (
        f"{of_laws}\n"
        f"{tables:,} tables each; the standard error of a share is {se[0]:.3f} at .05 and {se[1]:.3f} at most.\n\n"
        "Gates: met at the truth, which 5 % should be, / met half way between a random judge and this one.\n\n"
        f"{_rows(runs, gated, _gates)}\n"
        "Intervals of 95 % that hold the truth, of those that were given.\n\n"
        f"{_rows(runs, metrics, _coverage)}"
    )


def _meaning(law: str) -> str:
    said = (LAWS[law].__doc__ or "").strip()
    return said[0].lower() + said[1:]


def page(text: str, made: str) -> str:
    """Return the page with the tables between its marks."""
    return _MARKS.sub(lambda _: f"<!-- laws -->\n\n{made}\n<!-- end -->", text)


def _runs(options: argparse.Namespace) -> Iterator[tuple[tuple[str, int], Measured]]:
    for law in options.law or LAWS:
        for n in options.n or SIZES:
            start = time.perf_counter()
            found = measured(law, n, options.tables, seed=options.seed, metrics=options.metric, gate=options.gate)
            print(f"{law} {n}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
            yield (law, n), found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the simulations, and print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--law", action="append", choices=list(LAWS), help="Of all 16 by default (repeatable).")
    parser.add_argument("--n", action="append", type=int, help="Prompts of a table; 30, 100, 300 (repeatable).")
    parser.add_argument("--metric", action="append", choices=COVERED, help="Of all six by default (repeatable).")
    parser.add_argument("--tables", type=int, default=TABLES, help=f"Of each law and n; {TABLES}.")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--gate", default="default", help="default or bounded, see docs/intervals.md.")
    parser.add_argument("--write", action="store_true", help="Write the page; only of all laws, sizes and metrics.")
    options = parser.parse_args(arguments)
    if options.write and (options.law or options.n or options.metric or options.gate != "default"):
        parser.error("the page holds all laws, sizes and metrics: leave --law, --n, --metric and --gate out")
    options.metric = options.metric or COVERED
    made = law_table(dict(_runs(options)), options.metric)
    if options.write:
        PAGE.write_text(page(PAGE.read_text("utf-8"), made), "utf-8")
    else:
        print(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
