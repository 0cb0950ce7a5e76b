"""What moved in the picks of production."""

DOCUMENTS = {"watch": ("result:Watch", "view:describe")}

PUBLIC = {"front": ("watch",), "result": ("Watch",)}

COMMANDS = {"watch": (130, "front:COMMAND")}
