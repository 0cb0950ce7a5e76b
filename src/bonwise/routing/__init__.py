"""Routing: which prompts a stronger judge should decide."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.routing.result import RouteStudy as RouteStudy
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("RouteStudy",)})

DOCUMENTS = {"route": ("result:RouteStudy", "view:describe", "view:answer"), "router": ("saved:SavedRouter", "")}

PUBLIC = {"front": ("route",), "router": ("Router",)}
