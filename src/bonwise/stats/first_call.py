"""Is the first call of a judge a call like the later ones? Three tests on a pilot of repeated calls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats

__all__ = ["FEWEST", "FirstCallTest", "first_call_test"]

FEWEST = 50
"""Prompts from which a test that does not reject is taken at its word."""

_LEVEL = 0.05

_ROUNDING = 1e-12


class FirstCallTest(NamedTuple):
    """How the first call of each candidate compares with its later calls."""

    mean: float
    """p-values of three t tests over prompts: of the mean of the first call minus that of the later ones; of its
    variance over the candidates minus theirs; of its covariance with a later call minus that of two later calls.
    """
    variance: float
    """p-values of three t tests over prompts: of the mean of the first call minus that of the later ones; of its
    variance over the candidates minus theirs; of its covariance with a later call minus that of two later calls.
    """
    covariance: float
    """p-values of three t tests over prompts: of the mean of the first call minus that of the later ones; of its
    variance over the candidates minus theirs; of its covariance with a later call minus that of two later calls.
    """
    prompts: int
    """Prompts with two candidates or more that have all their calls."""

    @property
    def p(self) -> float:
        """The smallest p-value times three (Bonferroni), at most 1."""
        return min(1.0, 3 * min(self.mean, self.variance, self.covariance))

    @property
    def rejected(self) -> bool:
        """Whether the first call is of another kind, at the 5 % level."""
        return self.p < _LEVEL

    @property
    def averaged_in(self) -> bool:
        """Whether the first call counts as one of the calls: enough prompts, and the test does not reject."""
        return self.prompts >= FEWEST and not self.rejected

    @property
    def reason(self) -> str:
        """What the decision rests on, in words."""
        if self.rejected:
            return "it differs from the later calls"
        if self.averaged_in:
            return "nothing shows that it differs from the later calls"
        return f"a pilot of {self.prompts} prompts cannot show that it is like the later calls, {FEWEST} can"


def first_call_test(draws: Floats) -> FirstCallTest:
    """Test whether the first call of a candidate can be exchanged with its later ones.

    With y_0 the first and y_1 ... y_(k-1) the later calls, and cov_w over the candidates of a prompt, each prompt has
    U1 = mean y_0 - mean of the later calls, U2 = var_w(y_0) - mean over j of var_w(y_j), and
    U3 = mean over j of cov_w(y_0, y_j) - mean over j < l of cov_w(y_j, y_l). All three have mean 0 where the calls
    are exchangeable.

    Parameters
    ----------
    draws : ndarray of float64, shape (n, K, k)
        k at least 3; ``draws[:, :, 0]`` from the first call. Candidates with a NaN among their draws are left out,
        and so are prompts with fewer than two candidates left.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> alike = rng.normal(0.5, 0.1, size=(100, 4, 1)) + rng.normal(0, 0.05, size=(100, 4, 5))
    >>> first_call_test(alike).averaged_in
    True
    >>> alike[:, :, 0] += 0.05
    >>> first_call_test(alike).averaged_in
    False
    """
    whole = np.asarray(~np.isnan(draws).any(axis=2))
    used = whole.sum(axis=1) > 1
    y, marks = np.where(whole[:, :, None], draws, 0.0)[used], whole[used]
    count = marks.sum(axis=1)
    means = y.sum(axis=1) / count[:, None]
    centred = np.where(marks[:, :, None], y - means[:, None], 0.0)
    covariance = np.einsum("xij,xil->xjl", centred, centred) / (count - 1)[:, None, None]
    variances = np.diagonal(covariance, axis1=1, axis2=2)
    above = np.triu_indices(y.shape[2] - 1, 1)
    differences = (
        means[:, 0] - means[:, 1:].mean(axis=1),
        variances[:, 0] - variances[:, 1:].mean(axis=1),
        covariance[:, 0, 1:].mean(axis=1) - covariance[:, 1:, 1:][:, above[0], above[1]].mean(axis=1),
    )
    scale = float(np.abs(y).max(initial=0.0))
    p = [_p(one, scale**power) for one, power in zip(differences, (1, 2, 2), strict=True)]
    return FirstCallTest(p[0], p[1], p[2], int(used.sum()))


def _p(differences: npt.NDArray[np.float64], scale: float) -> float:
    """Return the two-sided p-value of a mean of 0; differences within rounding of 0 are 0."""
    from scipy import special  # noqa: PLC0415 - a strategy that reads a model needs none of it

    n = len(differences)
    mean = float(differences.mean()) if n else 0.0
    if abs(mean) <= _ROUNDING * scale or n < 2:
        return 1.0
    se = float(differences.std(ddof=1)) / np.sqrt(n)
    if se <= _ROUNDING * scale:
        return 0.0
    return float(2 * special.stdtr(n - 1, -abs(mean) / se))
