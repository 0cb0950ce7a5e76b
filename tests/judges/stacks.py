"""Stacks of judges for tests."""

from __future__ import annotations

import numpy as np

from bonwise.stacks.fitted_stack import FeatureScaling, JudgeStack, StackFeature


def stack_of(*names, kinds=(), weights=None, correlation=0.5, doubt=0.01, **settings):
    """Return a stack of judges by these names, with further features (name, kind)."""
    features = (*(StackFeature(name, "score") for name in names), *(StackFeature(*one) for one in kinds))
    count = len(features)
    covariance = np.full((count, count), correlation) + (1 - correlation) * np.eye(count)
    scaling = FeatureScaling(features, np.full(count, 0.25), covariance)
    coefficients = np.array(weights or [1.0] * count)
    return JudgeStack.of(scaling, coefficients, doubt * np.eye(count), **settings)
