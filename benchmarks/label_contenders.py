"""What the benchmark of partial labels measures: the value of the picks, by bonwise and by others.

All contenders get the same simulated prompts, of which the same are labelled, and the same features of the scores.
Each imports only what it needs, so that those of bonwise run where the others are not installed.
"""

# ruff: noqa: PLC0415 - a contender runs where the others are not installed, so each imports for itself

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from typing import Any

import numpy as np
import numpy.typing as npt

from bonwise.auditing.partial_metrics import partial_estimates
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.stats.partial.label_features import LabelFeatures, label_features
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.testing import simulate

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]

Z = 1.959963984540054
FOLDS = 5
LIBRARIES = ("bonwise", "numpy", "scipy", "scikit-learn", "ppi-python", "doubleml")


@dataclass(frozen=True)
class Sampled:
    """Simulated prompts of which some are labelled; scores and labels of shape (prompts, candidates)."""

    scores: Floats
    labels: Floats
    sample: LabelSample
    seed: int

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Candidates of each prompt."""
        return np.full(len(self.scores), self.scores.shape[1])

    def labelled_sums(self) -> Floats:
        """Compute the sums of the labelled prompts."""
        here = self.sample.labelled
        return prompt_sums(self.scores[here].ravel(), self.labels[here].ravel(), self.sizes[here])

    @cached_property
    def sums(self) -> Floats:
        """Sums of the labelled prompts."""
        return self.labelled_sums()

    @cached_property
    def features(self) -> LabelFeatures:
        """What every contender's model sees."""
        return label_features(self.scores.ravel(), self.sizes)

    @cached_property
    def outcome(self) -> Floats:
        """What the judge's pick of each labelled prompt is worth."""
        return Sums(*self.sums).J


def sampled(prompts: int, labels: int, seed: int) -> Sampled:
    """Simulate prompts and label some, all alike."""
    drawn = simulate("arena", n=prompts, seed=seed)
    labelled = np.zeros(prompts, dtype=bool)
    labelled[np.random.default_rng([seed, prompts]).choice(prompts, labels, replace=False)] = True
    return Sampled(drawn.scores, drawn.labels, LabelSample.uniform(labelled), seed)


def labels_only(data: Sampled) -> Interval:
    """The mean of the labelled prompts, plus or minus 1.96 standard errors."""
    mean, se = data.outcome.mean(), data.outcome.std(ddof=1) / np.sqrt(len(data.outcome))
    return float(mean - Z * se), float(mean + Z * se)


def bonwise(data: Sampled) -> Interval:
    """The value of the picks among the seven metrics that partial labels are estimated for."""
    found = partial_estimates(data.sums, data.features, data.sample, IntervalRule(), seed=data.seed)
    value = found.metrics["value_judge"]
    assert value.low is not None
    assert value.high is not None
    return value.low, value.high


def predicted(data: Sampled) -> Floats:
    """Predict every prompt by ridge regression, the labelled ones by models that did not see them."""
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import KFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    known = data.features.judge[data.sample.labelled]
    model = make_pipeline(StandardScaler(), Ridge(1 + 0.001 * len(known)))
    guess = np.zeros(len(data.features.judge))
    own = np.zeros(len(known))
    for fitted, left_out in KFold(FOLDS, shuffle=True, random_state=data.seed).split(known):
        model.fit(known[fitted], data.outcome[fitted])
        own[left_out] = model.predict(known[left_out])
        guess += model.predict(data.features.judge) / FOLDS
    guess[data.sample.labelled] = own
    return guess


def ppi_interval(data: Sampled, guess: Floats, lam: float | None) -> Interval:
    """Prediction-powered inference for a mean; power tuning where ``lam`` is None."""
    from ppi_py import ppi_mean_ci

    labelled = data.sample.labelled
    low, high = ppi_mean_ci(data.outcome, guess[labelled], guess[~labelled], alpha=0.05, lam=lam)
    return float(np.squeeze(low)), float(np.squeeze(high))


def ppi_of_score(data: Sampled) -> Interval:
    """ppi-python, the highest score as the prediction."""
    return ppi_interval(data, data.features.judge[:, 0], None)


def ppi_of_ridge(data: Sampled) -> Interval:
    """ppi-python, predictions of a cross-fitted ridge regression on the features of the scores."""
    return ppi_interval(data, predicted(data), None)


def ppi_untuned(data: Sampled) -> Interval:
    """The same predictions without power tuning."""
    return ppi_interval(data, predicted(data), 1.0)


def doubleml_apo(data: Sampled) -> Interval:
    """DoubleML's average potential outcome of being labelled, with its usual linear and logistic models."""
    from doubleml import DoubleMLAPO, DoubleMLData
    from sklearn.linear_model import LinearRegression, LogisticRegression

    outcome = np.zeros(len(data.sizes))
    outcome[data.sample.labelled] = data.outcome
    made = DoubleMLData.from_arrays(data.features.judge, outcome, data.sample.labelled.astype(float))
    np.random.seed(data.seed)
    model = DoubleMLAPO(made, LinearRegression(), LogisticRegression(), treatment_level=1, n_folds=FOLDS)
    low, high = model.fit().confint(level=0.95).to_numpy()[0]
    return float(low), float(high)


CONTENDERS: dict[str, Callable[[Sampled], Interval]] = {
    "labels alone": labels_only,
    "bonwise": bonwise,
    "ppi-python, tuned, highest score": ppi_of_score,
    "ppi-python, tuned, ridge": ppi_of_ridge,
    "ppi-python, not tuned, ridge": ppi_untuned,
    "doubleml, APO, linear": doubleml_apo,
}


def ready(data: Sampled) -> Sampled:
    """Make what all contenders share before a clock starts."""
    assert len(data.outcome)
    assert len(data.features.judge)
    return data


def value_of_picks(asked: dict[str, Any]) -> dict[str, Any]:
    """Let contenders take turns on the same data; return intervals and CPU seconds by contender."""
    names = asked["contenders"]
    found: dict[str, dict[str, list[Any]]] = {name: {"intervals": [], "cpu": []} for name in names}
    warm = sampled(asked["prompts"], asked["labels"], asked["seed"])
    for name in names:
        CONTENDERS[name](warm)
    for at in range(1, asked["replications"] + 1):
        data = ready(sampled(asked["prompts"], asked["labels"], asked["seed"] + at))
        for name in names:
            before = time.process_time()
            interval = CONTENDERS[name](data)
            found[name]["cpu"].append(time.process_time() - before)
            found[name]["intervals"].append(interval)
    truth = simulate("arena", n=1).population["value_judge"]
    return {"truth": truth, "versions": versions(), "contenders": found}


def from_some(data: Sampled) -> object:
    """All that partial labels are estimated for, from scores and labels."""
    sums, features = data.labelled_sums(), label_features(data.scores.ravel(), data.sizes)
    return partial_estimates(sums, features, data.sample, IntervalRule(), seed=data.seed)


def from_all(data: Sampled) -> object:
    """All metrics of the audit, from scores and labels."""
    return estimate(ESTIMANDS, prompt_sums(data.scores.ravel(), data.labels.ravel(), data.sizes), IntervalRule())


def against_complete(asked: dict[str, Any]) -> dict[str, list[float]]:
    """Let estimates from some labels and from all labels take turns, after a warm-up."""
    data = sampled(asked["prompts"], asked["labels"], asked["seed"])
    jobs = {"partial": from_some, "complete": from_all}
    cpu: dict[str, list[float]] = {name: [] for name in jobs}
    for name in (*jobs, *tuple(jobs) * asked["rounds"]):
        before = time.process_time()
        jobs[name](data)
        cpu[name].append(time.process_time() - before)
    return {name: seconds[1:] for name, seconds in cpu.items()}


def versions() -> dict[str, str]:
    """Return what is installed of what matters."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


MEASURES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "value": value_of_picks,
    "complete": against_complete,
}


def main() -> None:
    """Measure what the first argument says, and print it as JSON."""
    warnings.simplefilter("ignore")
    asked = json.loads(sys.argv[1])
    print(json.dumps(MEASURES[asked["measure"]](asked)))


if __name__ == "__main__":
    main()
