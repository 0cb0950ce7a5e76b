"""Several raters and few human labels fused: factor models of ratings, and stacks of judges."""

DOCUMENTS = {
    "factor": ("result:FactorDocument", "view:describe"),
    "factor_comparison": ("result_models:FactorComparisonDocument", "view_models:describe_comparison"),
    "factor_draws": ("result_draws:FactorDrawsDocument", ""),
    "factor_explanation": ("result_models:FactorExplanationDocument", "view_models:describe_explanation"),
    "factor_leaderboard": ("result_models:FactorLeaderboardDocument", "view_models:describe_leaderboard"),
    "factor_prediction": ("result_models:FactorPredictionDocument", "view_models:describe_prediction"),
    "factor_strengths": ("result_models:FactorStrengthsDocument", "view_models:describe_strengths"),
    "factor_study": ("result:FactorStudyDocument", "view_study:describe"),
}

PUBLIC = {
    "fitted": ("FactorFit",),
    "front": ("fit_factors",),
    "human_view": ("HumanView", "load_factors"),
    "ratings": ("RatingTable",),
    "study": ("FactorStudy", "study_factors"),
}
