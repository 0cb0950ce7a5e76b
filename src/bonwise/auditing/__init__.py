"""What a judge is worth for choosing: metrics, verdict, gates, the page."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.auditing.result import Audit as Audit
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("Audit",)})

DOCUMENTS = {
    "audit": ("result:Audit", "view:describe", "view_verdict:answer", "view:describe_in_short"),
    "exhibits": ("result_exhibits:Exhibits", ""),
    "readiness": ("readiness:Readiness", "readiness:describe", "readiness:answer"),
    "note": ("result_exhibits:Note", "view_exhibits:describe"),
}

PUBLIC = {"front": ("audit", "study_readiness")}

COMMANDS = {"study readiness": (0, "front:READINESS")}
