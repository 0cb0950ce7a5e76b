"""Routing: which prompts a stronger judge should decide."""

DOCUMENTS = {
    "route": ("result:RouteStudy", "view:describe"),
    "router": ("result_router:RouterDocument", ""),
}

PUBLIC = {
    "front": ("route",),
    "result": ("RouteStudy",),
    "router": ("Router",),
}
