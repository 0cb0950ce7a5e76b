"""What stated probabilities are worth."""

DOCUMENTS = {"confidence": ("result:ConfidenceDocument", "view:describe")}
