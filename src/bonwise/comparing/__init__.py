"""Which of several picks or judges is better."""

DOCUMENTS = {"compare": ("result:CompareDocument", "view:describe")}
