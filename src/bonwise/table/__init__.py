"""Data: pools, verdicts, and the one validated long table."""

PUBLIC = {
    "label_design": ("LabelDesign",),
    "pools": ("Candidate", "Pool"),
    "scales": ("Scale",),
    "score_table": ("ScoreTable",),
    "verdicts": ("Preference", "Score", "Unscored"),
}
