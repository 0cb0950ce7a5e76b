"""Clusters of a pilot's prompts: how many more prompts a study takes whose prompts come in such clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bonwise.documents.plan import ClustersOfPilot
from bonwise.planning.plans.sizing import Sizing, times
from bonwise.stats.intraclass import intraclass_correlation, typical_size, upper_correlation
from bonwise.stats.sums import Floats

__all__ = ["FEW", "ClusterEffect"]

FEW = 10
"""Clusters below which the correlation is taken at the end of its one-sided interval."""

_UPPER = 0.8


@dataclass(frozen=True, slots=True)
class ClusterEffect:
    """The design effect of a pilot's clusters, ``1 + (m* - 1) icc``."""

    clusters: int
    prompts: int
    typical: float
    """m*, prompts of the cluster that a random prompt is in."""
    icc: float
    """Correlation of what two prompts of one cluster add to the estimate."""
    used: float
    """The correlation planned with: `icc`, or with fewer than 10 clusters the upper end of its one-sided interval at
    80 %.
    """

    @classmethod
    def of(cls, values: Floats, clusters: npt.NDArray[np.int64] | None) -> ClusterEffect | None:
        """Estimate it from what each prompt adds to the estimate; None without clusters."""
        if clusters is None:
            return None
        count, icc = len(np.unique(clusters)), intraclass_correlation(values, clusters)
        used = upper_correlation(values, clusters, _UPPER) if count < FEW else icc
        return cls(count, len(values), typical_size(clusters), icc, used)

    @property
    def value(self) -> float:
        """The design effect planned with."""
        return 1 + (self.typical - 1) * self.used

    @property
    def caution(self) -> float:
        """How many times the design effect planned with is that of the estimated correlation."""
        return self.value / (1 + (self.typical - 1) * self.icc)

    @property
    def per_cluster(self) -> float:
        """Prompts per cluster."""
        return self.prompts / self.clusters

    def record(self) -> ClustersOfPilot:
        """Return the part of the document."""
        return ClustersOfPilot(
            clusters=self.clusters,
            prompts=self.prompts,
            icc=self.icc,
            icc_used=self.used,
            design_effect=self.value,
        )

    def spread(self, sizing: Sizing) -> Sizing:
        """Return a sizing for prompts that come in such clusters: every number of units so many times larger."""
        effect, at, reach = self.value, sizing.at, sizing.reach
        ends = sizing.ends
        return replace(
            sizing,
            n=times(sizing.n, effect),
            at=lambda units: at(units / effect),
            reach=lambda units: reach(units / effect),
            ends=None if ends is None else (times(ends[0], effect), times(ends[1], effect)),
            equal=times(sizing.equal, effect),
            clusters=self.record(),
        )
