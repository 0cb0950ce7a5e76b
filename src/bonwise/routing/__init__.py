"""Routing: which prompts a stronger judge should decide."""

DOCUMENTS = {
    "route": ("result:RouteDocument", "view:describe"),
    "router": ("result_router:RouterDocument", ""),
}

PUBLIC = {
    "front": ("RouteStudy", "route"),
    "router": ("Router",),
}
