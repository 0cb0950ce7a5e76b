"""How many labels a question takes."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.planning.result import Plan as Plan
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("Plan",)})

DOCUMENTS = {"plan": ("result:Plan", "view:describe", "view:answer")}

PUBLIC = {"front": ("plan",)}

COMMANDS = {"plan": (220, "front:COMMAND")}
