"""What stated probabilities are worth."""

DOCUMENTS = {"confidence": ("result:ConfidenceAudit", "view:describe")}

PUBLIC = {"front": ("audit_confidence",), "result": ("ConfidenceAudit",)}

COMMANDS = {"confidence": (100, "front:COMMAND")}
