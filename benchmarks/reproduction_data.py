"""Tables for the sections of ``docs/reproduction.md`` whose data were not published: simulated, at published figures.

A judge of the paper is made from labels by three numbers, fitted to its published global r, within r and share of
tied pairs: how much its scores follow the mean label of a prompt, how much they follow what is left of a label, and
how coarse they are. Recovery is not fitted: it is what the paper and this page can disagree on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bonwise.factors.rating_sources import ratings_of_votes
from bonwise.testing import simulate, simulate_ratings

Array = NDArray[np.float64]
JUDGES = {
    "GPT-5.2": (0.872, 0.701, 0.248),
    "Claude Sonnet 4": (0.587, 0.417, 0.597),
    "GPT-4.1-mini": (0.563, 0.465, 0.578),
    "Gemini-2.5-flash": (0.465, 0.269, 0.552),
    "Llama-3.3-70b": (0.308, 0.232, 0.607),
}
"""Global r, within r and share of tied pairs of Table 28."""
FRESH = (0.70, 0.29, 0.694)
"""The same of Table 14."""
EXTERNAL = {
    "PPE-MATH": (512, 4, 0.303, 0.370),
    "RewardBench2": (300, 4, 0.630, 0.194),
    "HelpSteer2": (300, 2, 0.618, 0.317),
}
"""Prompts, candidates, within r and share of tied pairs of Table 15."""
CATEGORIES = ("writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities")
"""Of the questions 81 to 90, 91 to 100, and so on."""
STATED = {
    "elicited": ((0.17, 0.29, 0.43, 0.69, 0.88), (0.12, 0.41, 0.53, 0.46, 0.76), (98, 98, 98, 98, 98)),
    "logprob": ((0.03, 0.31, 0.50, 0.69, 0.98), (0.31, 0.57, 0.38, 0.36, 0.61), (220, 20, 10, 20, 220)),
}
"""Stated probability and share of wins of the bins of Table 27, and statements in each, which are assumed."""
RIGHT = (0.25 * 7 / 3, 0.75 * 7 / 3)
"""Beta law of a prompt's share of right answers: a mean of one quarter, and 30 % of the variance between prompts."""
ACCURACY = (0.663, 0.941)
"""Of verdicts on pairs with the smallest and the largest gap, section 5.4."""


def split(values: Array) -> tuple[Array, Array]:
    """Return the means of the prompts, and what is left, both with variance 1."""
    means = values.mean(axis=1, keepdims=True)
    parts = []
    for part in (means - means.mean(), values - means):
        spread = part.std()
        parts.append(part / spread if spread else part)
    return parts[0], parts[1]


def measured(scores: Array, labels: Array) -> Array:
    """Return global r, within r and the share of tied pairs."""
    pairs = list(combinations(range(scores.shape[1]), 2))
    tied = np.mean([scores[:, a] == scores[:, b] for a, b in pairs])
    within = [values - values.mean(axis=1, keepdims=True) for values in (scores, labels)]
    return np.array(
        [
            np.corrcoef(scores.ravel(), labels.ravel())[0, 1],
            np.corrcoef(within[0].ravel(), within[1].ravel())[0, 1],
            tied,
        ]
    )


def judged(labels: Array, published: Sequence[float], seed: int) -> Array:
    """Return scores from 0 to 1 whose three figures are those published, as near as coarse scores come."""
    rng = np.random.default_rng(seed)
    between, within = split(labels)
    noise = rng.normal(size=between.shape), rng.normal(size=labels.shape)
    wanted = np.array(published)
    follows, coarse, best = np.clip(wanted[:2], 0, 0.98), 0.5, (np.inf, labels)
    for _ in range(80):
        level = follows[0] * between + np.sqrt(1 - follows[0] ** 2) * noise[0]
        candidate = follows[1] * within + np.sqrt(1 - follows[1] ** 2) * noise[1]
        scores = np.round((0.85 * level + 0.5 * candidate) / coarse) * coarse
        reached = measured(scores, labels)
        off = np.abs(reached - wanted).max()
        if off < best[0]:
            best = off, scores
        follows = np.clip(follows + 0.5 * (wanted - reached)[:2], 0, 0.995)
        coarse = float(np.clip(coarse * np.exp(wanted[2] - reached[2]), 1e-3, 20))
    scores = best[1]
    return np.round((scores - scores.min()) / (scores.max() - scores.min()), 6)


def table(scores: Mapping[str, Array], labels: Array, **columns: Array) -> pd.DataFrame:
    """Return a row per prompt, candidate and judge."""
    prompts, candidates = labels.shape
    frames = []
    for judge, values in scores.items():
        rows = {
            "prompt_id": np.repeat([f"p{number:05d}" for number in range(prompts)], candidates),
            "candidate": np.tile([f"c{number}" for number in range(candidates)], prompts),
            "judge": judge,
            "judge_score": values.ravel(),
            "oracle_label": labels.ravel(),
        }
        frames.append(pd.DataFrame(rows | {name: column.ravel() for name, column in columns.items()}))
    return pd.concat(frames, ignore_index=True)


def five_judges() -> pd.DataFrame:
    """Return the five judges of Tables 8, 13 and 28 on 500 prompts, with a length that follows the labels weakly."""
    labels = simulate("arena", n=500, seed=28).labels
    length = np.round(np.exp(5 + 0.4 * np.random.default_rng(29).normal(size=labels.shape) + labels), 0)
    scores = {judge: judged(labels, figures, seed) for seed, (judge, figures) in enumerate(JUDGES.items())}
    return table(scores, labels, length=length)


def correctness() -> pd.DataFrame:
    """Return 512 prompts of 32 answers that are right or wrong, 30 % of whose variance lies between prompts."""
    rng = np.random.default_rng(12)
    ease = rng.beta(*RIGHT, size=(512, 1))
    labels = (rng.random((512, 32)) < ease).astype(float)
    return table({"judge": judged(labels, (0.38, 0.30, 0.37), 13)}, labels)


def fresh_draws() -> pd.DataFrame:
    """Return the pilot of Table 14: 24 prompts of 4 draws of a model."""
    labels = simulate("arena", n=24, seed=14).labels
    return table({"judge": judged(labels, FRESH, 14)}, labels)


def external(name: str) -> pd.DataFrame:
    """Return one of the three sets of Table 15, with labels that are right or wrong."""
    prompts, candidates, within_r, ties = EXTERNAL[name]
    rng = np.random.default_rng(prompts + candidates)
    if name == "RewardBench2":
        labels = np.zeros((prompts, candidates))
        labels[np.arange(prompts), rng.integers(candidates, size=prompts)] = 1
    elif name == "PPE-MATH":
        ease = rng.beta(*RIGHT, size=(prompts, 1))
        labels = (rng.random((prompts, candidates)) < ease).astype(float)
    else:
        labels = np.round(rng.normal(2.5, 1, size=(prompts, 1)) + rng.normal(0, 1, size=(prompts, candidates)), 0)
    published = (min(0.98, within_r * 1.1), within_r, ties)
    return table({"judge": judged(labels, published, 15)}, labels)


def labels_of(name: str) -> Array:
    """Return the labels of one of the three sets, a row per prompt."""
    return external(name)["oracle_label"].to_numpy().reshape(-1, EXTERNAL[name][1])


def drawn(data: Path, preset: str) -> pd.DataFrame:
    """Return the first 1,000 prompts of a simulated judge that was asked nine times, with five of the draws."""
    rows = pd.read_parquet(data / "simulated" / f"{preset}_20000.parquet")
    return rows[rows["prompt_id"] < "p01000"].drop(columns=[f"draw_{draw}" for draw in range(5, 9)])


def verdicts(labels: Array, accuracy: tuple[float, float], seed: int, ties: float = 0.039) -> pd.DataFrame:
    """Return a verdict on every pair, right the more often the larger the gap of the labels."""
    rng = np.random.default_rng(seed)
    rows = []
    pairs = list(combinations(range(labels.shape[1]), 2))
    gaps = np.concatenate([np.abs(labels[:, a] - labels[:, b]) for a, b in pairs])
    order = np.sort(gaps[gaps > 0])
    for prompt, values in enumerate(labels):
        for a, b in pairs:
            gap = values[a] - values[b]
            rank = np.searchsorted(order, abs(gap)) / len(order)
            right = accuracy[0] + (accuracy[1] - accuracy[0]) * rank
            a_wins = rng.random() < (0.5 if gap == 0 else right if gap > 0 else 1 - right)
            earned = 0.5 if rng.random() < ties else float(a_wins)
            names = (f"p{prompt:05d}", f"c{a}", f"c{b}")
            rows.append((*names, earned, earned))
    return pd.DataFrame(rows, columns=["prompt_id", "a", "b", "shown_first", "shown_second"])


def statements() -> pd.DataFrame:
    """Return 490 statements of each way to elicit a probability, with the published means and shares of each bin."""
    rows = []
    for way, (stated, observed, counts) in STATED.items():
        prompt = 0
        for probability, share, count in zip(stated, observed, counts, strict=True):
            for number in range(count):
                rows.append((way, f"q{prompt:03d}", probability, int(number < round(share * count))))
                prompt += 1
    return pd.DataFrame(rows, columns=["judge", "prompt_id", "probability", "outcome"])


def screening() -> pd.DataFrame:
    """Return prompt types of which a fifth holds the signal: the concentrated regime of Figure 4."""
    return pd.DataFrame(
        {"type": [f"t{number:02d}" for number in range(40)], "weight": 1 / 40, "margin": [0.15] * 8 + [0.0] * 32}
    )


def mt_bench(data: Path) -> pd.DataFrame:
    """Return votes of people on MT-Bench and verdicts of GPT-4 as ratings, with the category of each question."""
    people, judge = (pd.read_csv(data / f"mt_bench_{who}.csv") for who in ("human", "gpt4_pair"))
    named = {"verdict": "winner", "pair": ["model_a", "model_b"], "prompt": ["question_id", "turn"]}
    rows = [ratings_of_votes(people, name="human", **named), ratings_of_votes(judge, name="gpt-4", **named)]
    both = pd.concat(rows, ignore_index=True)
    return both.assign(category=[CATEGORIES[(int(prompt.split()[0]) - 81) // 10] for prompt in both["prompt_id"]])


def mt_prompts(data: Path) -> pd.DataFrame:
    """Return the questions of MT-Bench with what is known of them."""
    prompts = mt_bench(data).drop_duplicates("prompt_id")[["prompt_id", "category"]]
    numbers = [int(prompt.split()[0]) for prompt in prompts["prompt_id"]]
    turns = [int(prompt.split()[-1]) for prompt in prompts["prompt_id"]]
    return prompts.assign(second_turn=[turn - 1 for turn in turns], number=numbers)


def part_labelled(share: float) -> pd.DataFrame:
    """Return the simulated arena with the labels of a share of its prompts, drawn alike."""
    simulated = simulate("arena", n=5000, seed=23)
    rows = table({"judge": simulated.scores}, simulated.labels)
    drawn = np.random.default_rng(round(100 * share)).permutation(5000) < round(5000 * share)
    return rows.assign(oracle_label=rows["oracle_label"].where(np.repeat(drawn, 4)), propensity=share)


def arena() -> pd.DataFrame:
    """Return the simulated arena whose labels `part_labelled` hides."""
    simulated = simulate("arena", n=5000, seed=23)
    return table({"judge": simulated.scores}, simulated.labels)


def pairs_of_arena() -> pd.DataFrame:
    """Return 1,000 prompts of the simulated arena."""
    simulated = simulate("arena", n=1000, seed=4)
    return table({"judge": simulated.scores}, simulated.labels)


def budgeted() -> pd.DataFrame:
    """Return 100 prompts of GPT-4.1-mini, with the tokens of Table 16."""
    labels = simulate("arena", n=100, seed=16).labels
    scores = judged(labels, JUDGES["GPT-4.1-mini"], 16)
    return table({"judge": scores}, labels).assign(tokens=199_087 / 400)


def budgeted_pairs() -> pd.DataFrame:
    """Return its verdicts: a comparison of this judge is hardly better than chance."""
    labels = simulate("arena", n=100, seed=16).labels
    return verdicts(labels, (0.50, 0.64), 17).assign(tokens=2 * 478_549 / 600)


MADE: Mapping[str, Callable[[], pd.DataFrame]] = {
    "arena.csv": arena,
    "arena_pairs.csv": pairs_of_arena,
    "arena_verdicts.csv": lambda: verdicts(simulate("arena", n=1000, seed=4).labels, ACCURACY, 4),
    "budget.csv": budgeted,
    "budget_verdicts.csv": budgeted_pairs,
    "fresh.csv": fresh_draws,
    "half.csv": lambda: part_labelled(0.5),
    "quarter.csv": lambda: part_labelled(0.25),
    "tenth.csv": lambda: part_labelled(0.1),
    "judges.csv": five_judges,
    "ppe_math.csv": correctness,
    "ppe_math_4.csv": lambda: external("PPE-MATH"),
    "rewardbench2.csv": lambda: external("RewardBench2"),
    "helpsteer2.csv": lambda: external("HelpSteer2"),
    "stated.csv": statements,
    "types.csv": screening,
    "diffuse_types.csv": lambda: screening().assign(margin=0.04),
    "ppe_math_4_verdicts.csv": lambda: verdicts(labels_of("PPE-MATH"), ACCURACY, 1),
    "rewardbench2_verdicts.csv": lambda: verdicts(labels_of("RewardBench2"), ACCURACY, 2),
    "helpsteer2_verdicts.csv": lambda: verdicts(labels_of("HelpSteer2"), ACCURACY, 3),
    "ratings.csv": lambda: simulate_ratings(3, prompts=200, models=4, judges=8, labelled=0.9).frame(),
}
"""What makes each simulated file."""
FROM_DATA: Mapping[str, Callable[[Path], pd.DataFrame]] = {
    "mt_ratings.csv": mt_bench,
    "mt_prompts.csv": mt_prompts,
    "one_model.csv": lambda data: drawn(data, "one_model"),
    "pilot.csv": lambda data: drawn(data, "pilot_like"),
}
"""What makes each file of the data at hand."""


def make(folder: Path, data: Path) -> None:
    """Write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, maker in MADE.items():
        maker().to_csv(folder / name, index=False)
    for name, of_data in FROM_DATA.items():
        of_data(data).to_csv(folder / name, index=False)
