"""How good a judge has to be."""

PUBLIC = {
    "front": ("RequirementsStudy", "study_requirements"),
}
