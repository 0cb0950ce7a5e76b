"""How good a judge has to be."""

PUBLIC = {"front": ("study_requirements",), "result": ("RequirementsStudy",)}
