"""Which model of the labels an estimate from few labels may rest on, and why."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from bonwise.stats.partial.label_features import LabelFeatures
from bonwise.stats.partial.outcome_model import FOLDS, OutcomeModel, Ridge

__all__ = ["LABELS_ONLY", "STAND_IN", "ModelChoice", "choose_model"]

LABELS_ONLY = "labels only"
STAND_IN = "stand-in"

_FEWEST_TO_FIT = 30
_FEWEST_FOR_ALL = 100
_FEWEST_FOR_CALLERS = 2 * FOLDS


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model of the labels an estimate rests on."""

    name: str
    """``labels only``, ``stand-in`` (the further judges' scores as they are), ``ridge``, or the class of a model that
    the caller gave.
    """
    covariates: tuple[str, ...]
    """What it looks at; the models of top-1 and hit also see what these would be if the further judges' scores were
    the labels. Empty where labels are used alone.
    """
    reason: str
    """Why this one with this number of labels, in plain words."""
    regressor: OutcomeModel | None = field(default=None, repr=False, compare=False)
    """What is cross-fitted, None where nothing is."""
    brief: bool = field(default=False, repr=False)
    """Whether it sees the few covariates only."""


def choose_model(features: LabelFeatures, labels: int, model: OutcomeModel | None = None) -> ModelChoice:
    """Choose the model by the number of labelled prompts, and say why.

    Parameters
    ----------
    features : LabelFeatures
    labels : int
        Labelled prompts.
    model : OutcomeModel, optional
        Of the caller: taken with 10 labelled prompts or more.

    Examples
    --------
    >>> import numpy as np
    >>> from bonwise.stats.partial.label_features import label_features
    >>> features = label_features(np.array([.9, .1]), np.array([2]))
    >>> choose_model(features, 40).reason
    '40 labelled prompts, fewer than 100, and no further judge: the labels are used alone, weighted'
    """
    if model is not None and labels >= _FEWEST_FOR_CALLERS:
        return _callers(features, labels, model)
    chosen = _with_further(features, labels) if features.further else _by_labels(features, labels)
    if model is None:
        return chosen
    unused = f"; {type(model).__name__} would need {_FEWEST_FOR_CALLERS}"
    return replace(chosen, reason=chosen.reason + unused)


def _callers(features: LabelFeatures, labels: int, model: OutcomeModel) -> ModelChoice:
    name = type(model).__name__
    why = f"{labels} labelled prompts, and the caller gave a model: {name}, cross-fitted"
    return ModelChoice(name, features.names("random", brief=False), why, model)


def _by_labels(features: LabelFeatures, labels: int) -> ModelChoice:
    if labels < _FEWEST_FOR_ALL:
        why = f"{_fewer(labels, _FEWEST_FOR_ALL)}, and no further judge: the labels are used alone, weighted"
        return ModelChoice(LABELS_ONLY, (), why)
    names = features.names("random", brief=False)
    why = (
        f"{_enough(labels)}, and no further judge: a ridge regression on the {len(names)} features of its own scores"
    )
    return ModelChoice("ridge", names, why, Ridge())


def _with_further(features: LabelFeatures, labels: int) -> ModelChoice:
    if labels < _FEWEST_TO_FIT:
        why = f"{_fewer(labels, _FEWEST_TO_FIT)}: nothing is fitted, the further judges' scores replace labels"
        return ModelChoice(STAND_IN, ("further_pick", "further_best", "further_mean"), why)
    brief = labels < _FEWEST_FOR_ALL
    names = features.names("random", brief=brief)
    whose = "of the further judges" if brief else "of all judges"
    lead = _fewer(labels, _FEWEST_FOR_ALL) if brief else _enough(labels)
    why = f"{lead}: a ridge regression on {len(names)} covariates {whose}"
    return ModelChoice("ridge", names, why, Ridge(), brief)


def _fewer(labels: int, than: int) -> str:
    return f"{labels} labelled prompt{'s' * (labels != 1)}, fewer than {than}"


def _enough(labels: int) -> str:
    return f"{labels} labelled prompts, at least {_FEWEST_FOR_ALL}"
