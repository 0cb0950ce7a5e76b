"""Which candidates to label, and the sheets for it."""

DOCUMENTS = {
    "label_designs": ("result:DesignComparison", "view:describe_label_designs"),
    "label_sheet": ("result:PoolSheet", "view:describe_label_sheet"),
    "labels": ("result:LabelDraw", "view:describe"),
}

PUBLIC = {"front": ("compare_designs", "draw_labels"), "result": ("DesignComparison", "LabelDraw")}
