"""Studies that decide between judges, and between ways of asking one."""

DOCUMENTS = {"study": ("result:StudyDocument", "view:describe", "view:answer")}

HOLDS_FEATURES = True
