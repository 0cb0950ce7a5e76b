"""Routing: which prompts a stronger judge should decide."""

DOCUMENTS = {"route": ("result:RouteStudy", "view:describe"), "router": ("saved:SavedRouter", "")}

PUBLIC = {"front": ("route",), "result": ("RouteStudy",), "router": ("Router",)}
