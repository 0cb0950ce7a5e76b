"""Public doubles and simulated data with a known answer.

They load on first use: simulating must not load what talks to services.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_HOMES = {
    "Counts": "bonwise.testing.script",
    "FakeTransport": "bonwise.testing.transport",
    "Faults": "bonwise.testing.faults",
    "RatedModels": "bonwise.testing.rated_models",
    "ReplayJudge": "bonwise.testing.scripted_judge",
    "Script": "bonwise.testing.script",
    "ScriptedJudge": "bonwise.testing.scripted_judge",
    "ScriptedServer": "bonwise.testing.server",
    "Simulation": "bonwise.testing.simulation",
    "WireRequest": "bonwise.testing.wire",
    "simulate": "bonwise.testing.simulation",
    "simulate_ratings": "bonwise.testing.rated_models",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bonwise.testing' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
