"""What stated probabilities are worth."""

DOCUMENTS = {"confidence": ("result:ConfidenceDocument", "view:describe")}

PUBLIC = {
    "front": ("ConfidenceAudit", "audit_confidence"),
}
