"""What routing a share is worth, by name."""

from typing import NamedTuple

from bonwise.stats import routing
from bonwise.stats.estimand import Estimate


class RoutedFigures(NamedTuple):
    """What `bonwise.stats.routing.routed_share` returns."""

    value: Estimate
    lift: Estimate
    captured: Estimate


def routed_share(*what, **how):
    """Return its figures."""
    return RoutedFigures(*routing.routed_share(*what, **how))
