"""When a measured coverage is told apart from what it should be."""

from __future__ import annotations

from scipy.special import betaincinv


def clopper_pearson(hits, trials, confidence=0.99):
    """Return the interval of a share."""
    tail = (1 - confidence) / 2
    low = betaincinv(hits, trials - hits + 1, tail) if hits else 0.0
    high = betaincinv(hits + 1, trials - hits, 1 - tail) if hits < trials else 1.0
    return float(low), float(high)


def assert_covered(hits, count, least=0.93, most=0.97):
    """Fail where the 99 % interval of a coverage misses the range."""
    for name, times in hits.items():
        low, high = clopper_pearson(times, count)
        assert low <= most, (name, times / count)
        assert high >= least, (name, times / count)
