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
    from bonwise.data.verdicts import Preference, Score, Unscored
    from bonwise.errors import BonwiseError, CallError, InputError, JudgeError, LedgerError
    from bonwise.judges.interval import Interval
    from bonwise.judges.logprob import Logprob
    from bonwise.judges.pairwise import Pairwise
    from bonwise.judges.pointwise import Pointwise
    from bonwise.judges.probability import Probability
    from bonwise.judges.protocol import Judge
    from bonwise.judges.quantized import Quantized
    from bonwise.judges.resampled import Resampled
    from bonwise.selection.select import select
    from bonwise.selection.selection import Selection

__all__ = [
    "Audit",
    "BonwiseError",
    "CallError",
    "Candidate",
    "InputError",
    "Interval",
    "Judge",
    "JudgeError",
    "LedgerError",
    "Logprob",
    "Pairwise",
    "Pointwise",
    "Pool",
    "Preference",
    "PreferenceAudit",
    "Probability",
    "Quantized",
    "Resampled",
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
    "CallError": "bonwise.errors",
    "Candidate": "bonwise.data.pool",
    "InputError": "bonwise.errors",
    "Interval": "bonwise.judges.interval",
    "Judge": "bonwise.judges.protocol",
    "JudgeError": "bonwise.errors",
    "LedgerError": "bonwise.errors",
    "Logprob": "bonwise.judges.logprob",
    "Pairwise": "bonwise.judges.pairwise",
    "Pointwise": "bonwise.judges.pointwise",
    "Pool": "bonwise.data.pool",
    "Preference": "bonwise.data.verdicts",
    "PreferenceAudit": "bonwise.auditing.preferences",
    "Probability": "bonwise.judges.probability",
    "Quantized": "bonwise.judges.quantized",
    "Resampled": "bonwise.judges.resampled",
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
