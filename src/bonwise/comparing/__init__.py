"""Which of several picks or judges is better."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.comparing.result import PickComparison as PickComparison
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("PickComparison",)})

DOCUMENTS = {"compare": ("result:PickComparison", "view:describe", "view:answer")}

PUBLIC = {"front": ("compare",)}

COMMANDS = {"compare": (120, "front:COMMAND")}
