"""When to stop labelling."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.monitoring.result import Monitor as Monitor
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("Monitor",)})

DOCUMENTS = {"monitor": ("result:Monitor", "view:describe", "view:answer")}

PUBLIC = {"front": ("monitor",)}
