"""How many labels a question takes."""

DOCUMENTS = {"plan": ("result:PlanDocument", "view:describe")}

PUBLIC = {
    "front": ("Plan", "plan"),
}
