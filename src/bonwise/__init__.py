"""bonwise: judge-in-the-loop best-of-n selection, and honest audits of the judge.

Public names load on first use, so that ``import bonwise`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bonwise.auditing.audit import audit
    from bonwise.auditing.compare import PickComparison, compare
    from bonwise.auditing.confidence import ConfidenceAudit, audit_confidence
    from bonwise.auditing.doctor import doctor
    from bonwise.auditing.result import Audit
    from bonwise.auditing.studies.calibration import CalibrationStudy, study_calibration
    from bonwise.auditing.studies.label_strategy.draw import draw_pairs
    from bonwise.auditing.studies.label_strategy.pair_draw import PairDraw
    from bonwise.auditing.studies.label_strategy.result import LabelStrategyStudy
    from bonwise.auditing.studies.label_strategy.study import study_label_strategy
    from bonwise.auditing.studies.label_strategy.verdict_study import study_verdicts
    from bonwise.auditing.studies.mix import MixStudy, study_mix
    from bonwise.auditing.studies.requirements import RequirementsStudy, study_requirements
    from bonwise.auditing.verdict_audit import PreferenceAudit, audit_preferences
    from bonwise.auditing.watching.watch import Watch, watch
    from bonwise.data.label_design import LabelDesign
    from bonwise.data.pool import Candidate, Pool
    from bonwise.data.ratings import RatingTable
    from bonwise.data.scales import Scale
    from bonwise.data.table import ScoreTable
    from bonwise.data.verdicts import Preference, Score, Unscored
    from bonwise.documents.reading import load
    from bonwise.errors import BonwiseError, CallError, InputError, JudgeError, LedgerError, MissingExtraError
    from bonwise.factors.factor_fit import FactorFit
    from bonwise.factors.factor_study import FactorStudy
    from bonwise.factors.fit import fit_factors
    from bonwise.factors.human_view import HumanView, load_factors
    from bonwise.factors.stack_fit import StackFit, fit_stack
    from bonwise.factors.stack_use import AppliedStack, apply_stack, audit_stack
    from bonwise.factors.study import study_factors
    from bonwise.judges.interval import Interval
    from bonwise.judges.logprob import Logprob
    from bonwise.judges.pairwise import Pairwise
    from bonwise.judges.pointwise import Pointwise
    from bonwise.judges.probability import Probability
    from bonwise.judges.protocol import Judge
    from bonwise.judges.quantized import Quantized
    from bonwise.judges.registry import judge_from_spec
    from bonwise.judges.resampled import Resampled
    from bonwise.judges.stack import Stack
    from bonwise.planning.monitoring.monitor import Monitor, monitor
    from bonwise.planning.plans.plan import Plan, plan
    from bonwise.planning.sampling.design_comparison import DesignComparison, compare_designs
    from bonwise.planning.sampling.label_draw import LabelDraw, draw_labels
    from bonwise.planning.studies.vote_study import PreferenceStudy, study_preferences
    from bonwise.routing.router import Router
    from bonwise.routing.study import RouteStudy, route
    from bonwise.runs.control import Stop
    from bonwise.runs.judge_many import ajudge, judge
    from bonwise.runs.judged_pools import JudgedPools
    from bonwise.runs.progress import RunProgress
    from bonwise.runs.select_many import aselect_many, select_many
    from bonwise.selection.best_of import best_of
    from bonwise.selection.protocol import Strategy
    from bonwise.selection.ranked_candidates import RankedCandidate, RankedCandidates
    from bonwise.selection.registry import strategy_from_spec
    from bonwise.selection.select import aselect, select
    from bonwise.selection.selection import Selection
    from bonwise.selection.selector import Selector
    from bonwise.selection.strategies.adaptive import Adaptive
    from bonwise.selection.strategies.greedy import Greedy
    from bonwise.selection.strategies.knockout import Knockout
    from bonwise.selection.strategies.resample import Resample
    from bonwise.selection.strategies.round_robin import RoundRobin
    from bonwise.selection.strategies.tie_break import TieBreak
    from bonwise.selection.strategies.value_of_information import ValueOfInformation
    from bonwise.stats.draw_model import DrawModel

__all__ = [
    "Adaptive",
    "AppliedStack",
    "Audit",
    "BonwiseError",
    "CalibrationStudy",
    "CallError",
    "Candidate",
    "ConfidenceAudit",
    "DesignComparison",
    "DrawModel",
    "FactorFit",
    "FactorStudy",
    "Greedy",
    "HumanView",
    "InputError",
    "Interval",
    "Judge",
    "JudgeError",
    "JudgedPools",
    "Knockout",
    "LabelDesign",
    "LabelDraw",
    "LabelStrategyStudy",
    "LedgerError",
    "Logprob",
    "MissingExtraError",
    "MixStudy",
    "Monitor",
    "PairDraw",
    "Pairwise",
    "PickComparison",
    "Plan",
    "Pointwise",
    "Pool",
    "Preference",
    "PreferenceAudit",
    "PreferenceStudy",
    "Probability",
    "Quantized",
    "RankedCandidate",
    "RankedCandidates",
    "RatingTable",
    "RequirementsStudy",
    "Resample",
    "Resampled",
    "RoundRobin",
    "RouteStudy",
    "Router",
    "RunProgress",
    "Scale",
    "Score",
    "ScoreTable",
    "Selection",
    "Selector",
    "Stack",
    "StackFit",
    "Stop",
    "Strategy",
    "TieBreak",
    "Unscored",
    "ValueOfInformation",
    "Watch",
    "__version__",
    "ajudge",
    "apply_stack",
    "aselect",
    "aselect_many",
    "audit",
    "audit_confidence",
    "audit_preferences",
    "audit_stack",
    "best_of",
    "compare",
    "compare_designs",
    "doctor",
    "draw_labels",
    "draw_pairs",
    "fit_factors",
    "fit_stack",
    "judge",
    "judge_from_spec",
    "load",
    "load_factors",
    "monitor",
    "plan",
    "route",
    "select",
    "select_many",
    "strategy_from_spec",
    "study_calibration",
    "study_factors",
    "study_label_strategy",
    "study_mix",
    "study_preferences",
    "study_requirements",
    "study_verdicts",
    "watch",
]

__version__: str

_HOMES = {
    "AppliedStack": "bonwise.factors.stack_use",
    "apply_stack": "bonwise.factors.stack_use",
    "audit_stack": "bonwise.factors.stack_use",
    "Adaptive": "bonwise.selection.strategies.adaptive",
    "Audit": "bonwise.auditing.result",
    "BonwiseError": "bonwise.errors",
    "CalibrationStudy": "bonwise.auditing.studies.calibration",
    "CallError": "bonwise.errors",
    "Candidate": "bonwise.data.pool",
    "ConfidenceAudit": "bonwise.auditing.confidence",
    "DesignComparison": "bonwise.planning.sampling.design_comparison",
    "DrawModel": "bonwise.stats.draw_model",
    "FactorFit": "bonwise.factors.factor_fit",
    "FactorStudy": "bonwise.factors.factor_study",
    "Greedy": "bonwise.selection.strategies.greedy",
    "HumanView": "bonwise.factors.human_view",
    "InputError": "bonwise.errors",
    "Interval": "bonwise.judges.interval",
    "Judge": "bonwise.judges.protocol",
    "JudgeError": "bonwise.errors",
    "JudgedPools": "bonwise.runs.judged_pools",
    "Knockout": "bonwise.selection.strategies.knockout",
    "LabelDesign": "bonwise.data.label_design",
    "LabelDraw": "bonwise.planning.sampling.label_draw",
    "LabelStrategyStudy": "bonwise.auditing.studies.label_strategy.result",
    "LedgerError": "bonwise.errors",
    "Logprob": "bonwise.judges.logprob",
    "MissingExtraError": "bonwise.errors",
    "MixStudy": "bonwise.auditing.studies.mix",
    "Monitor": "bonwise.planning.monitoring.monitor",
    "PairDraw": "bonwise.auditing.studies.label_strategy.pair_draw",
    "Pairwise": "bonwise.judges.pairwise",
    "PickComparison": "bonwise.auditing.compare",
    "Plan": "bonwise.planning.plans.plan",
    "Pointwise": "bonwise.judges.pointwise",
    "Pool": "bonwise.data.pool",
    "Preference": "bonwise.data.verdicts",
    "PreferenceAudit": "bonwise.auditing.verdict_audit",
    "PreferenceStudy": "bonwise.planning.studies.vote_study",
    "Probability": "bonwise.judges.probability",
    "Quantized": "bonwise.judges.quantized",
    "RankedCandidate": "bonwise.selection.ranked_candidates",
    "RankedCandidates": "bonwise.selection.ranked_candidates",
    "RatingTable": "bonwise.data.ratings",
    "RequirementsStudy": "bonwise.auditing.studies.requirements",
    "Resample": "bonwise.selection.strategies.resample",
    "Resampled": "bonwise.judges.resampled",
    "RoundRobin": "bonwise.selection.strategies.round_robin",
    "RouteStudy": "bonwise.routing.study",
    "Router": "bonwise.routing.router",
    "RunProgress": "bonwise.runs.progress",
    "Scale": "bonwise.data.scales",
    "Score": "bonwise.data.verdicts",
    "ScoreTable": "bonwise.data.table",
    "Selection": "bonwise.selection.selection",
    "Selector": "bonwise.selection.selector",
    "Stack": "bonwise.judges.stack",
    "StackFit": "bonwise.factors.stack_fit",
    "Stop": "bonwise.runs.control",
    "Strategy": "bonwise.selection.protocol",
    "TieBreak": "bonwise.selection.strategies.tie_break",
    "Unscored": "bonwise.data.verdicts",
    "ValueOfInformation": "bonwise.selection.strategies.value_of_information",
    "Watch": "bonwise.auditing.watching.watch",
    "ajudge": "bonwise.runs.judge_many",
    "aselect": "bonwise.selection.select",
    "aselect_many": "bonwise.runs.select_many",
    "audit": "bonwise.auditing.audit",
    "audit_confidence": "bonwise.auditing.confidence",
    "audit_preferences": "bonwise.auditing.verdict_audit",
    "best_of": "bonwise.selection.best_of",
    "compare": "bonwise.auditing.compare",
    "compare_designs": "bonwise.planning.sampling.design_comparison",
    "doctor": "bonwise.auditing.doctor",
    "draw_labels": "bonwise.planning.sampling.label_draw",
    "draw_pairs": "bonwise.auditing.studies.label_strategy.draw",
    "fit_stack": "bonwise.factors.stack_fit",
    "fit_factors": "bonwise.factors.fit",
    "judge": "bonwise.runs.judge_many",
    "judge_from_spec": "bonwise.judges.registry",
    "load": "bonwise.documents.reading",
    "load_factors": "bonwise.factors.human_view",
    "monitor": "bonwise.planning.monitoring.monitor",
    "plan": "bonwise.planning.plans.plan",
    "route": "bonwise.routing.study",
    "select": "bonwise.selection.select",
    "select_many": "bonwise.runs.select_many",
    "strategy_from_spec": "bonwise.selection.registry",
    "study_calibration": "bonwise.auditing.studies.calibration",
    "study_factors": "bonwise.factors.study",
    "study_label_strategy": "bonwise.auditing.studies.label_strategy.study",
    "study_mix": "bonwise.auditing.studies.mix",
    "study_preferences": "bonwise.planning.studies.vote_study",
    "study_requirements": "bonwise.auditing.studies.requirements",
    "study_verdicts": "bonwise.auditing.studies.label_strategy.verdict_study",
    "watch": "bonwise.auditing.watching.watch",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from bonwise.release import release  # noqa: PLC0415 - reads the metadata on disk

        return release()
    home = _HOMES.get(name, f"bonwise.auditing.studies.{name.removeprefix('study_')}")
    if name not in _HOMES and not _is_study(name):
        raise AttributeError(f"module 'bonwise' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def _is_study(name: str) -> bool:
    """Tell whether a name is the function of a study that registers itself."""
    if not name.startswith("study_") or not name.isidentifier():
        return False
    return find_spec(f"bonwise.documents.studies.{name.removeprefix('study_')}") is not None


def __dir__() -> list[str]:
    return sorted(__all__)
