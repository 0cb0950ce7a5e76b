"""Which of several picks or judges is better."""

DOCUMENTS = {"compare": ("result:PickComparison", "view:describe")}

PUBLIC = {"front": ("compare",), "result": ("PickComparison",)}

COMMANDS = {"compare": (70, "front:COMMAND")}
