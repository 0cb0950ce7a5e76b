"""When to stop labelling."""

DOCUMENTS = {"monitor": ("result:MonitorDocument", "view:describe")}

PUBLIC = {
    "front": ("Monitor", "monitor"),
}
