"""How many labels a question takes."""

DOCUMENTS = {"plan": ("result:Plan", "view:describe")}

PUBLIC = {"front": ("plan",), "result": ("Plan",)}

COMMANDS = {"plan": (110, "front:COMMAND")}
