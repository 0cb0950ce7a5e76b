"""Several judges stacked into one."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.stacks.front import AppliedStack as AppliedStack
    from bonwise.stacks.result import StackFit as StackFit
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"front": ("AppliedStack",), "result": ("StackFit",)})

DOCUMENTS = {"stack": ("result:StackFit", "view:describe", "view:answer")}

PUBLIC = {"front": ("apply_stack", "audit_stack", "fit_stack"), "judge": ("Stack",)}

STACK = "stack"
"""What a stack is called as a judge, where it has no other name."""
