"""Ratings of models by several judges, fused with few human ratings: factor models."""

DOCUMENTS = {
    "factor": ("result:FactorFit", "view:describe"),
    "factor_comparison": ("result_models:FactorComparison", "view_models:describe_comparison"),
    "factor_draws": ("human_view:HumanView", ""),
    "factor_explanation": ("result_models:FactorExplanation", "view_models:describe_explanation"),
    "factor_leaderboard": ("result_models:FactorLeaderboard", "view_models:describe_leaderboard"),
    "factor_prediction": ("result_models:FactorPrediction", "view_models:describe_prediction"),
    "factor_strengths": ("result_models:FactorStrengths", "view_models:describe_strengths"),
    "factor_study": ("result:FactorStudy", "view:describe_study"),
}

PUBLIC = {
    "front": ("fit_factors", "study_factors"),
    "human_view": ("HumanView", "load_factors"),
    "ratings": ("RatingTable",),
    "result": ("FactorFit", "FactorStudy"),
}
