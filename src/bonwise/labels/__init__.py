"""Which candidates to label, and the sheets for it."""

DOCUMENTS = {
    "label_designs": ("result:LabelDesignsDocument", "view:describe_label_designs"),
    "label_sheet": ("result:LabelSheetDocument", "view:describe_label_sheet"),
    "labels": ("result:LabelsDocument", "view:describe"),
}

PUBLIC = {
    "design_comparison": ("DesignComparison", "compare_designs"),
    "front": ("LabelDraw", "draw_labels"),
}
