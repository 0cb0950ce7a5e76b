"""A ratio of means after each of its prompts: all looks at once, by cumulative sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats

__all__ = ["RunningRatio", "influence_kurtosis"]

_ROUNDING = 1e-12  # a variance below this share of the mean square is rounding, not variation


@dataclass(frozen=True, eq=False)
class RunningRatio:
    """Means of numerator and denominator after 1, 2, ... prompts, with the covariance matrix of the means.

    Parameters
    ----------
    count : ndarray of float64, shape (looks,)
        m: prompts so far.
    a, b : ndarray of float64, shape (looks,)
        Means of numerator and denominator.
    caa, cab, cbb : ndarray of float64, shape (looks,)
        Covariances of those means, sample covariance / m; NaN after a single prompt.

    Examples
    --------
    >>> running = RunningRatio.of(np.array([1.0, 0.0, 2.0]), np.array([2.0, 2.0, 2.0]))
    >>> running.estimate.tolist()
    [0.5, 0.25, 0.5]
    """

    count: Floats
    a: Floats
    b: Floats
    caa: Floats
    cab: Floats
    cbb: Floats

    @classmethod
    def of(cls, numerator: Floats, denominator: Floats) -> RunningRatio:
        """Sum up prompts in the order in which they came.

        Parameters
        ----------
        numerator, denominator : ndarray of float64, shape (prompts,)
            Of a prompt: what the pick gains over a random pick, and what the best candidate does.
        """
        m = np.arange(1.0, len(numerator) + 1)
        a, b = np.cumsum(numerator) / m, np.cumsum(denominator) / m
        # Centred once, at the last mean: squares of values far from 0 would cancel.
        x, y = (values - values.mean() if len(values) else values for values in (numerator, denominator))
        caa, cab, cbb = (_covariance_of_means(u, v, m) for u, v in ((x, x), (x, y), (y, y)))
        return cls(m, a, b, caa, cab, cbb)

    @property
    def estimate(self) -> Floats:
        """The ratio, NaN where the denominator is 0."""
        found: Floats = np.divide(self.a, self.b, out=np.full(self.a.shape, np.nan), where=self.b != 0)
        return found

    def at(self, looks: npt.NDArray[np.int64]) -> RunningRatio:
        """Return some looks only, named by their number of prompts."""
        rows = looks - 1
        return RunningRatio(
            self.count[rows], self.a[rows], self.b[rows], self.caa[rows], self.cab[rows], self.cbb[rows]
        )

    def projected(self, count: Floats) -> RunningRatio:
        """Return what further looks would see if the means and the spread of the last look stayed as they are."""
        scale = self.count[-1] / count
        a, b = np.full(len(count), self.a[-1]), np.full(len(count), self.b[-1])
        return RunningRatio(count, a, b, self.caa[-1] * scale, self.cab[-1] * scale, self.cbb[-1] * scale)

    def limits(self, squared: Floats, inflation: Floats | float = 1.0) -> tuple[Floats, Floats]:
        """Return Fieller's interval at every look, NaN where it is unbounded or prompts do not vary.

        Parameters
        ----------
        squared : ndarray of float64, shape (looks,)
            Squared critical value: of Student's t, or of a confidence sequence.
        inflation : ndarray of float64 or float
            Factor on the covariances.
        """
        squared = squared * inflation
        lead = self.b**2 - squared * self.cbb
        middle = self.a * self.b - squared * self.cab
        inside = middle**2 - lead * (self.a**2 - squared * self.caa)
        root = np.sqrt(np.maximum(inside, 0.0))
        bounded = (lead > 0) & self.varies(self.estimate)
        low, high = (
            np.divide(end, lead, out=np.full(lead.shape, np.nan), where=bounded)
            for end in (middle - root, middle + root)
        )
        return low, high

    def gap(self, than: Floats | float) -> tuple[Floats, Floats]:
        """Return the mean of ``psi = numerator - than x denominator`` and its standard error, at every look."""
        variance = self.caa - 2 * than * self.cab + than**2 * self.cbb
        return self.a - than * self.b, np.sqrt(np.maximum(variance, 0.0))

    def varies(self, than: Floats | float) -> npt.NDArray[np.bool_]:
        """Tell at which looks ``psi`` differs between prompts."""
        _, se = self.gap(than)
        square = self.a**2 + self.b**2 + self.count * (self.caa + self.cbb)
        found: npt.NDArray[np.bool_] = self.count * se**2 > _ROUNDING * square
        return found


def _covariance_of_means(x: Floats, y: Floats, m: Floats) -> Floats:
    sums = np.cumsum(x * y) - np.cumsum(x) * np.cumsum(y) / m
    found: Floats = np.divide(sums, m * (m - 1), out=np.full(m.shape, np.nan), where=m > 1)
    return found


def influence_kurtosis(numerator: Floats, denominator: Floats) -> float:
    """Return the kurtosis of the prompts' influence on the ratio: 3 for normal ones, NaN where they do not vary.

    At most the number of prompts: few of them cannot show a heavy tail.

    Examples
    --------
    >>> influence_kurtosis(np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4))
    1.0
    """
    influence = numerator - numerator.mean() / denominator.mean() * denominator if denominator.any() else numerator
    square = float(np.mean(influence**2))
    return float(np.mean(influence**4)) / square**2 if square > 0 else float("nan")
