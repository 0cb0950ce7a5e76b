"""How often a judge's highest scores hold a best candidate."""

PUBLIC = {"front": ("study_shortlist",), "result": ("ShortlistStudy",)}
