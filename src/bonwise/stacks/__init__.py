"""Several judges stacked into one."""

DOCUMENTS = {"stack": ("result:StackDocument", "view:describe")}

PUBLIC = {
    "front": ("AppliedStack", "StackFit", "apply_stack", "audit_stack", "fit_stack"),
    "judge": ("Stack",),
}
