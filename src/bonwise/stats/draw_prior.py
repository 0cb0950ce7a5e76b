"""What a pilot teaches about redraws: how calls scatter, candidates differ, and first calls stand to later ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Floats, Ints, Mask

FEWEST = 50
"""Prompts from which a test that does not reject is taken at its word."""

_LEVEL = 0.05

_ROUNDING = 1e-12


class FirstCallTest(NamedTuple):
    """How the first call of each candidate compares with its later calls."""

    p_values: tuple[float, float, float]
    """Of three t tests over prompts: of the mean of the first call minus that of the later ones; of its variance over
    the candidates minus theirs; of its covariance with a later call minus that of two later calls.
    """
    prompts: int
    """Prompts with two candidates or more that have all their calls."""

    @property
    def p(self) -> float:
        """The smallest p-value times three (Bonferroni), at most 1."""
        return min(1.0, 3 * min(self.p_values))

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
    U1 = mean y_0 - mean of the later calls, U2 = var_w(y_0) - mean over j of var_w(y_j), and U3 = mean over j of
    cov_w(y_0, y_j) - mean over j < l of cov_w(y_j, y_l). All three have mean 0 where the calls are exchangeable.
    `draws` is (n, K, k) with k at least 3, ``draws[:, :, 0]`` from the first call. Candidates with a NaN among their
    draws are left out, and so are prompts with fewer than two candidates left.
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
    mean, variance, together = (
        means[:, 0] - means[:, 1:].mean(axis=1),
        variances[:, 0] - variances[:, 1:].mean(axis=1),
        covariance[:, 0, 1:].mean(axis=1) - covariance[:, 1:, 1:][:, above[0], above[1]].mean(axis=1),
    )
    scale = float(np.abs(y).max(initial=0.0))
    p_values = _p(mean, scale), _p(variance, scale**2), _p(together, scale**2)
    return FirstCallTest(p_values, int(used.sum()))


def _p(differences: Floats, scale: float) -> float:
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


_Ints = npt.NDArray[np.intp]

_CUTS = (0.33, 0.67)

_WEIGHT = 30
"""Prompts of all levels whose mean is mixed into each level's own, so that small pilots do not scatter."""

_FOLDS = 10

_FLOOR = 0.02
"""Least variance between candidates, as a share of the variance between calls."""

_MOST_FREEDOM = 200.0  # prompts whose call variances differ no more than chance alone would have it

_DECIMALS = 9


class DrawPrior(NamedTuple):
    """What is believed about a pool before any redraw; variances are by three classes of the mean first score."""

    beta: float
    """By how much the mean of later calls is expected to differ between two candidates whose first scores differ by
    1.
    """
    cuts: tuple[float, float]
    """The two levels that part the classes; one on a cut belongs to the outer class, on both to the middle."""
    sigma2: tuple[float, float, float]
    """Variance of later calls of one candidate, one a class, in squared score units."""
    tau2: tuple[float, float, float]
    """Variance between candidates of what a first score does not foretell, one a class."""
    nu0: float
    """Degrees of freedom that `sigma2` is worth as a guess at one prompt's own call variance; above 4."""
    first_counts: bool = False
    """Whether the first call is one of the calls and averaged in; otherwise it is kept apart: a belief starts there.
    Where it counts, `sigma2` and `tau2` are of all calls, and `beta` is not used.
    """


def learn_prior(draws: Floats, *, first_counts: bool | None = None) -> DrawPrior:
    """Learn from candidates that were all asked the same number of times. No label is used.

    With y_i0 the first and y_i1 ... y_i(k-1) the later draws of a candidate, L_i the mean of the later ones and cov_w
    a covariance over the candidates of one prompt: vw = mean_i var(y_i1 ... y_i(k-1)), beta = mean cov_w(y_0, L) /
    mean cov_w(y_0, y_0), and rr = cov_w(L - beta y_0, L - beta y_0) - vw / (k - 1). In a class of n_c prompts sigma2
    = (sum vw + 30 mean vw) / (n_c + 30), tau2 = max((sum rr + 30 mean rr) / (n_c + 30), 0.02 sigma2); all prompts are
    one class where classes do not foretell better how prompts scatter that are held out. Where the first
    call counts as one like the later ones, vw and L_i are of all k calls and rr = cov_w(L, L) - vw / k; where
    `first_counts` is None, `first_call_test` decides. `draws` is as there. Fewer than 3 draws, no prompt left, and
    draws that never differ raise ValueError.
    """
    y, whole = _complete(draws)
    alike = first_call_test(draws).averaged_in if first_counts is None else first_counts
    return _learnt(y, whole, first_counts=alike)


def class_of(level: Floats, cuts: tuple[float, float]) -> _Ints:
    """Return 0, 1 or 2 for each level by two cuts, heaps on a cut outward so that outer classes stay full."""
    rounded = np.round(level, _DECIMALS)
    return (rounded > cuts[0]).astype(np.intp) + (rounded >= cuts[1])


def spread_of(draws: Floats) -> tuple[float, float]:
    """Return variances over all levels: of one later call, between candidates. ValueError as in `learn_prior`."""
    y, whole = _complete(draws)
    later = y[:, :, 1:].mean(axis=2)
    call = float(_call_variance(y[:, :, 1:], whole).mean())
    return call, max(float(_within(later, later, whole).mean()) - call / (y.shape[2] - 1), 0.0)


def _complete(draws: Floats) -> tuple[Floats, Mask]:
    """Return the draws of prompts with two complete candidates, 0 for their others, and which are complete."""
    if draws.ndim != 3 or draws.shape[2] < 3:
        raise ValueError(f"draws must be of shape (prompts, candidates, 3 or more), not {draws.shape}")
    whole = np.asarray(~np.isnan(draws).any(axis=2))
    used = whole.sum(axis=1) > 1
    if not used.any():
        raise ValueError("no prompt has two candidates with all their draws")
    return np.where(whole[:, :, None], draws, 0.0)[used], whole[used]


def _call_variance(calls: Floats, whole: Mask) -> Floats:
    """Variance of a call, the mean over the candidates of each prompt, shape (n,)."""
    found: Floats = calls.var(axis=2, ddof=1).sum(axis=1) / whole.sum(axis=1)
    return found


def _learnt(y: Floats, whole: Mask, *, first_counts: bool) -> DrawPrior:
    count = whole.sum(axis=1)
    first, later = y[:, :, 0], y[:, :, 1:].mean(axis=2)
    if not _call_variance(y[:, :, 1:], whole).any():
        raise ValueError("the later draws of a candidate never differ, so repeated draws carry no information")
    calls = y if first_counts else y[:, :, 1:]
    call_variance = _call_variance(calls, whole)
    spread = _within(first, first, whole).mean()
    beta = float(_within(first, later, whole).mean() / spread) if spread > 0 else 0.0
    left = calls.mean(axis=2) if first_counts else later - beta * first
    level = np.round(first.sum(axis=1) / count, _DECIMALS)
    cuts = _pair(np.round(np.quantile(level, _CUTS), _DECIMALS))
    pilot = _PilotScatter(count, calls.shape[2], call_variance, _within(left, left, whole))
    own = class_of(level, cuts)
    if not _levels_foretell(pilot, own):
        own = np.ones_like(own)
    spread = _spread(pilot, own)
    return DrawPrior(beta, cuts, _triple(spread.sigma2), _triple(spread.tau2), spread.nu0, first_counts)


class _PilotScatter(NamedTuple):
    """How much the calls of each prompt scatter, and the means of its candidates."""

    candidates: Ints
    """How many there are."""
    calls: int
    """Of a candidate."""
    within: Floats
    """Variance of a call, the mean over the candidates."""
    between: Floats
    """Variance of the candidates' means."""

    def rows(self, some: Mask) -> _PilotScatter:
        """Return some of the prompts."""
        return _PilotScatter(self.candidates[some], self.calls, self.within[some], self.between[some])


class _ClassSpread(NamedTuple):
    """What three classes of prompts are taken to scatter by."""

    sigma2: Floats
    tau2: Floats
    nu0: float


def _spread(pilot: _PilotScatter, own: _Ints) -> _ClassSpread:
    sigma2 = _by_class(pilot.within, own)
    tau2 = np.maximum(_by_class(pilot.between - pilot.within / pilot.calls, own), _FLOOR * sigma2)
    nu0 = _freedom(pilot.within / sigma2[own], float((2 / (pilot.candidates * (pilot.calls - 1))).mean()))
    return _ClassSpread(sigma2, tau2, nu0)


def _levels_foretell(pilot: _PilotScatter, own: _Ints) -> bool:
    """Tell whether prompts that are held out scatter more as their class foretells than as all prompts do.

    By ten folds and the log-likelihood. A prompt's calls are normal about its candidates' means, their variance s2 is
    sigma2 (nu0 - 2) / chi2(nu0), and the means are normal with tau2 + s2 / k, where s2 is what its own calls leave
    it.
    """
    fold = np.arange(len(own)) % _FOLDS
    gain = 0.0
    for at in range(min(_FOLDS, len(own))):
        rest = fold != at
        if not pilot.within[rest].any():  # nothing scatters, also where no prompt is left
            return False
        held, learnt = pilot.rows(~rest), pilot.rows(rest)
        classes, alike = _spread(learnt, own[rest]), _spread(learnt, np.ones_like(own[rest]))
        gain += _likelihood(held, classes, own[~rest]) - _likelihood(held, alike, own[~rest])
    return gain > 0


def _likelihood(held: _PilotScatter, spread: _ClassSpread, own: _Ints) -> float:
    """Return the log-likelihood of prompts, up to what no spread changes."""
    from scipy import special  # noqa: PLC0415 - a strategy that reads a model needs none of it

    freedom = held.candidates * (held.calls - 1)
    guess = spread.sigma2[own] * (spread.nu0 - 2)
    whole = guess + freedom * held.within
    variance = spread.tau2[own] + whole / (spread.nu0 + freedom - 2) / held.calls
    shape = 2 * (special.gammaln((spread.nu0 + freedom) / 2) - special.gammaln(spread.nu0 / 2))
    of_calls = shape + spread.nu0 * np.log(guess) - (spread.nu0 + freedom) * np.log(whole)
    of_means = (held.candidates - 1) * (np.log(variance) + held.between / variance)
    return float((of_calls - of_means).sum() / 2)


def _within(a: Floats, b: Floats, whole: Mask) -> Floats:
    """Covariance over the candidates of each prompt, shape (n,)."""
    count = whole.sum(axis=1, keepdims=True)
    centred = [np.where(whole, one - one.sum(axis=1, keepdims=True) / count, 0.0) for one in (a, b)]
    found: Floats = (centred[0] * centred[1]).sum(axis=1) / (count[:, 0] - 1)
    return found


def _by_class(values: Floats, own: _Ints) -> Floats:
    sums, counts = np.bincount(own, values, minlength=3), np.bincount(own, minlength=3)
    found: Floats = (sums + _WEIGHT * values.mean()) / (counts + _WEIGHT)
    return found


def _freedom(relative: Floats, chance: float) -> float:
    """Match the second moment of the prompts' call variances, of which chance alone explains a part."""
    r = float((relative**2).mean() / relative.mean() ** 2) / (1 + chance)
    return max(4.2, (4 * r - 2) / (r - 1)) if r > 1.01 else _MOST_FREEDOM


def _pair(values: Floats) -> tuple[float, float]:
    return float(values[0]), float(values[1])


def _triple(values: Floats) -> tuple[float, float, float]:
    return float(values[0]), float(values[1]), float(values[2])
