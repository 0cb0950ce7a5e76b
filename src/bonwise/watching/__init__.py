"""What moved in the picks of production."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.watching.result import Watch as Watch
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("Watch",)})

DOCUMENTS = {"watch": ("result:Watch", "view:describe", "view:answer")}

PUBLIC = {"front": ("watch",)}

COMMANDS = {"watch": (510, "front:COMMAND")}
