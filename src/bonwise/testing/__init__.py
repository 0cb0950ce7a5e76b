"""Public doubles and simulated data with a known answer.

All but `simulate` load on first use: simulating must not load what talks to services.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bonwise.testing.simulate import Simulation, simulate

if TYPE_CHECKING:
    from bonwise.testing.faults import Faults
    from bonwise.testing.rated_models import RatedModels, simulate_ratings
    from bonwise.testing.replay_judge import ReplayJudge
    from bonwise.testing.script import Counts, Script
    from bonwise.testing.scripted_judge import ScriptedJudge
    from bonwise.testing.server import ScriptedServer
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

# A module of the same name would be in the place of the function if this waited for its first use.


_HOMES = {
    "Counts": "bonwise.testing.script",
    "FakeTransport": "bonwise.testing.transport",
    "Faults": "bonwise.testing.faults",
    "RatedModels": "bonwise.testing.rated_models",
    "ReplayJudge": "bonwise.testing.replay_judge",
    "Script": "bonwise.testing.script",
    "ScriptedJudge": "bonwise.testing.scripted_judge",
    "ScriptedServer": "bonwise.testing.server",
    "WireRequest": "bonwise.testing.wire",
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
