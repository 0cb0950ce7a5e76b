"""bonwise: judge-in-the-loop best-of-n selection, and honest audits of the judge.

Public names load on first use, so that ``import bonwise`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bonwise.auditing.audit import Audit, audit
    from bonwise.auditing.preferences import PreferenceAudit, audit_preferences
    from bonwise.data.pool import Candidate, Pool
    from bonwise.data.scales import Scale
    from bonwise.data.table import ScoreTable
    from bonwise.data.verdicts import Score, Unscored
    from bonwise.errors import BonwiseError, InputError, JudgeError
    from bonwise.judges.protocol import Judge
    from bonwise.selection.select import select
    from bonwise.selection.selection import Selection

__all__ = [
    "Audit",
    "BonwiseError",
    "Candidate",
    "InputError",
    "Judge",
    "JudgeError",
    "Pool",
    "PreferenceAudit",
    "Scale",
    "Score",
    "ScoreTable",
    "Selection",
    "Unscored",
    "__version__",
    "audit",
    "audit_preferences",
    "select",
]

__version__: str

_HOMES = {
    "Audit": "bonwise.auditing.audit",
    "BonwiseError": "bonwise.errors",
    "Candidate": "bonwise.data.pool",
    "InputError": "bonwise.errors",
    "Judge": "bonwise.judges.protocol",
    "JudgeError": "bonwise.errors",
    "Pool": "bonwise.data.pool",
    "PreferenceAudit": "bonwise.auditing.preferences",
    "Scale": "bonwise.data.scales",
    "Score": "bonwise.data.verdicts",
    "ScoreTable": "bonwise.data.table",
    "Selection": "bonwise.selection.selection",
    "Unscored": "bonwise.data.verdicts",
    "audit": "bonwise.auditing.audit",
    "audit_preferences": "bonwise.auditing.preferences",
    "select": "bonwise.selection.select",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from bonwise.release import release  # noqa: PLC0415 - reads the metadata on disk

        return release()
    if name not in _HOMES:
        raise AttributeError(f"module 'bonwise' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
