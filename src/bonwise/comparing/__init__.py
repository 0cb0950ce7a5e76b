"""Which of several picks or judges is better."""

from typing import TYPE_CHECKING

from bonwise.declared import lazily

if TYPE_CHECKING:
    from bonwise.comparing.result import PickComparison as PickComparison
else:
    __getattr__, __dir__ = lazily(__name__, RESULTS := {"result": ("PickComparison",)})

DOCUMENTS = {"compare": ("result:PickComparison", "view:describe")}

PUBLIC = {"front": ("compare",)}

COMMANDS = {"compare": (70, "front:COMMAND")}
