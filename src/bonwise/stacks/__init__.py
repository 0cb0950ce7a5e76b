"""Several judges stacked into one."""

DOCUMENTS = {"stack": ("result:StackFit", "view:describe")}

PUBLIC = {
    "front": ("AppliedStack", "apply_stack", "audit_stack", "fit_stack"),
    "judge": ("Stack",),
    "result": ("StackFit",),
}

STACK = "stack"
"""What a stack is called as a judge, where it has no other name."""
