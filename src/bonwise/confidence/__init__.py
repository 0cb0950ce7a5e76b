"""What stated probabilities are worth."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.confidence.result import ConfidenceAudit as ConfidenceAudit
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("ConfidenceAudit",)})

DOCUMENTS = {"confidence": ("result:ConfidenceAudit", "view:describe", "view:answer")}

PUBLIC = {"front": ("audit_confidence",)}

COMMANDS = {"study confidence": (0, "front:COMMAND")}
