"""What the controls of a pool hide."""

PUBLIC = {
    "front": ("MixStudy", "study_mix"),
}
