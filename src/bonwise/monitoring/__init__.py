"""When to stop labelling."""

DOCUMENTS = {"monitor": ("result:Monitor", "view:describe")}

PUBLIC = {"front": ("monitor",), "result": ("Monitor",)}
