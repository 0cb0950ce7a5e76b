"""Public doubles and simulated data with a known answer.

They load on first use: simulating must not load what talks to services.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.testing.faults import Faults
    from bonwise.testing.rated_models import RatedModels, simulate_ratings
    from bonwise.testing.script import Counts, Script
    from bonwise.testing.scripted_judge import ReplayJudge, ScriptedJudge
    from bonwise.testing.server import ScriptedServer
    from bonwise.testing.simulation import Simulation, simulate
    from bonwise.testing.transport import FakeTransport
    from bonwise.testing.wire import WireRequest

__all__ = [
    "Counts",
    "FakeTransport",
    "Faults",
    "RatedModels",
    "ReplayJudge",
    "Script",
    "ScriptedJudge",
    "ScriptedServer",
    "Simulation",
    "WireRequest",
    "simulate",
    "simulate_ratings",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "faults": ("Faults",),
            "rated_models": ("RatedModels", "simulate_ratings"),
            "script": ("Counts", "Script"),
            "scripted_judge": ("ReplayJudge", "ScriptedJudge"),
            "server": ("ScriptedServer",),
            "simulation": ("Simulation", "simulate"),
            "transport": ("FakeTransport",),
            "wire": ("WireRequest",),
        },
    )
