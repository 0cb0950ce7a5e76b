"""Several judges stacked into one."""

DOCUMENTS = {"stack": ("result:StackDocument", "view:describe")}
