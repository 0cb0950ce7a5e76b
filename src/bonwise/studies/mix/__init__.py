"""What the controls of a pool hide."""

PUBLIC = {"front": ("study_mix",), "result": ("MixStudy",)}
