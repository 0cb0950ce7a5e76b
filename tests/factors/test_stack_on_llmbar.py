"""44 judges of LLMBar (419 pairs of answers, verdicts in both orders, one gold label), few of them labelled."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bonwise.stacks.fitted_stack import FeatureScaling, StackFeature
from bonwise.stacks.procedure import Paths, StackPools, deal, train

pytestmark = pytest.mark.shared

EARNED = {1.0: 1.0, 2.0: 0.0, 0.0: 0.5}
"""What the first answer earns by a verdict: it wins, it loses, or the judge cannot tell."""


@pytest.fixture(scope="module")
def verdicts(shared):
    """Return what each judge gives the first answer of each pair, and whether that is the better one."""
    table = pd.read_csv(shared / "data" / "llmbar_verdicts.csv.gz")
    table = table[table["dataset"].str.startswith("LLMBar")]
    earned = pd.concat([table["winner_order1"].map(EARNED), table["winner_order2"].map(EARNED)], axis=1).mean(axis=1)
    cells = table.assign(
        value=earned, judge=table["llm"] + " " + table["strategy"], pair=table["dataset"] + table["item"].astype(str)
    )
    scores = cells.pivot_table(index="pair", columns="judge", values="value")
    gold = cells.groupby("pair")["gold"].first().loc[scores.index] == 1
    return scores, gold.to_numpy()


def accuracies(scores, gold, labelled, splits, seed=0):
    """Return mean accuracies on the other pairs: of the stack, and of the best judge by labels."""
    first = scores.to_numpy()
    sizes = np.full(len(gold), 2)
    values = np.stack([first, 1 - first], axis=1).reshape(-1, first.shape[1])
    labels = np.stack([gold, ~gold], axis=1).astype(float).ravel()
    scaling = FeatureScaling.of(tuple(StackFeature(name, "score") for name in scores), values, sizes)
    features, rng, found = scaling.standardised(values, sizes), np.random.default_rng(seed), []
    pools = StackPools(features, values, tuple(range(features.shape[1])), labels, sizes)
    for split in range(splits):
        known = np.zeros(len(gold), dtype=bool)
        known[rng.permutation(len(gold))[:labelled]] = True
        some = pools.keep(known)
        dealt = deal(labelled, None, seed=split)
        trained = train(some, Paths.of(some, dealt), dealt, np.ones((1, dealt.count), dtype=bool))
        best = np.nan_to_num(features[:, int(trained.best_alone[0])])
        found.append([_accuracy(one, gold, ~known) for one in (features @ trained.coefficients[0], best)])
    return np.mean(found, axis=0)


def _accuracy(utilities, gold, asked):
    apart = np.sign(np.round(utilities[0::2] - utilities[1::2], 9))[asked]
    return float(np.mean(np.where(apart == 0, 0.5, (apart > 0) == gold[asked])))


def without_gpt4(scores):
    """Return the 35 judges that are not by GPT-4."""
    return scores[[name for name in scores if not name.startswith("GPT-4 ")]]


def test_the_judges_are_those_of_the_paper(verdicts):
    """419 pairs; the majority of all 44 judges is right in .58 of them, that of the 35 without GPT-4 in .46."""
    scores, gold = verdicts
    assert scores.shape == (419, 44)
    assert without_gpt4(scores).shape[1] == 35
    for some, share in ((scores, 0.58), (without_gpt4(scores), 0.46)):
        votes = np.sign(some - 0.5).sum(axis=1)
        assert np.mean(np.where(votes == 0, 0.5, (votes > 0) == gold)) == pytest.approx(share, abs=0.01)


def test_two_splits_beat_the_best_judge(verdicts):
    """The thinned form of the next test."""
    stack, best = accuracies(*verdicts, 40, 2)
    assert stack > best


@pytest.mark.slow
def test_forty_labels_are_enough(verdicts):
    """80 random splits of 40 labelled pairs; with all judges, and without those by GPT-4."""
    scores, gold = verdicts
    stack, best = accuracies(scores, gold, 40, 80)
    other, best_of_others = accuracies(without_gpt4(scores), gold, 40, 80)
    print(f"stack {stack:.3f}, best judge {best:.3f}; without GPT-4 {other:.3f}, {best_of_others:.3f}")  # noqa: T201
    assert stack >= 0.87
    assert other >= 0.73
