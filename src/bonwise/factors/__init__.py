"""Ratings of models by several judges, fused with few human ratings: factor models."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.factors.human_view import HumanView as HumanView
    from bonwise.factors.result import FactorFit as FactorFit
    from bonwise.factors.result import FactorStudy as FactorStudy
else:
    __getattr__, __dir__ = lazy(
        __name__, RESULTS := {"human_view": ("HumanView",), "result": ("FactorFit", "FactorStudy")}
    )

_ANSWER = "view_answers:answer"
DOCUMENTS = {
    "factor": ("result:FactorFit", "view:describe", _ANSWER),
    "factor_comparison": ("result_models:FactorComparison", "view_models:describe_comparison", _ANSWER),
    "factor_draws": ("human_view:HumanView", "view_models:describe_draws"),
    "factor_explanation": ("result_models:FactorExplanation", "view_models:describe_explanation", _ANSWER),
    "factor_leaderboard": ("result_models:FactorLeaderboard", "view_models:describe_leaderboard", _ANSWER),
    "factor_prediction": ("result_models:FactorPrediction", "view_models:describe_prediction", _ANSWER),
    "factor_router": ("replacement:ModelRouter", "view_models:describe_router"),
    "factor_strengths": ("result_models:FactorStrengths", "view_models:describe_strengths", _ANSWER),
    "factor_study": ("result:FactorStudy", "view:describe_study", _ANSWER),
}

PUBLIC = {"front": ("fit_factors", "study_factors"), "human_view": ("load_factors",), "ratings": ("RatingTable",)}
