"""bonwise: judge-in-the-loop best-of-n selection, and honest audits of the judge.

Public names load on first use, so that ``import bonwise`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bonwise.auditing.front import Audit, audit
    from bonwise.comparing.front import compare
    from bonwise.comparing.result import PickComparison
    from bonwise.confidence.front import ConfidenceAudit, audit_confidence
    from bonwise.doctoring.front import doctor
    from bonwise.errors import BonwiseError, CallError, InputError, JudgeError, LedgerError, MissingExtraError
    from bonwise.factors.fitted import FactorFit
    from bonwise.factors.front import fit_factors
    from bonwise.factors.human_view import HumanView, load_factors
    from bonwise.factors.ratings import RatingTable
    from bonwise.factors.study import FactorStudy, study_factors
    from bonwise.judges.comparing import Logprob, Pairwise, Probability
    from bonwise.judges.pointwise import Interval, Pointwise
    from bonwise.judges.protocol import Judge
    from bonwise.judges.registry import judge_from_spec
    from bonwise.judges.wrappers import Quantized, Resampled
    from bonwise.labels.design_comparison import DesignComparison, compare_designs
    from bonwise.labels.front import LabelDraw, draw_labels
    from bonwise.loading import load
    from bonwise.monitoring.front import Monitor, monitor
    from bonwise.planning.front import Plan, plan
    from bonwise.routing.front import RouteStudy, route
    from bonwise.routing.router import Router
    from bonwise.selection.front import aselect, best_of, select
    from bonwise.selection.learnt_draws import DrawModel
    from bonwise.selection.many_pools import JudgedPools, ajudge, aselect_many, judge, select_many
    from bonwise.selection.protocol import Strategy
    from bonwise.selection.ranked_candidates import RankedCandidate, RankedCandidates
    from bonwise.selection.registry import strategy_from_spec
    from bonwise.selection.run import RunProgress, Stop
    from bonwise.selection.selection import Selection
    from bonwise.selection.selector import Selector
    from bonwise.selection.strategies.matches import Knockout, RoundRobin, TieBreak
    from bonwise.selection.strategies.scores import Adaptive, Greedy, Resample
    from bonwise.selection.strategies.value_of_information import ValueOfInformation
    from bonwise.stacks.front import AppliedStack, StackFit, apply_stack, audit_stack, fit_stack
    from bonwise.stacks.judge import Stack
    from bonwise.studies.calibration.front import CalibrationStudy, study_calibration
    from bonwise.studies.label_strategy.front import LabelStrategyStudy, study_label_strategy, study_verdicts
    from bonwise.studies.label_strategy.pair_draw import PairDraw, draw_pairs
    from bonwise.studies.mix.front import MixStudy, study_mix
    from bonwise.studies.requirements.front import RequirementsStudy, study_requirements
    from bonwise.table.label_design import LabelDesign
    from bonwise.table.pools import Candidate, Pool
    from bonwise.table.scales import Scale
    from bonwise.table.score_table import ScoreTable
    from bonwise.table.verdicts import Preference, Score, Unscored
    from bonwise.votes.front import PreferenceStudy, study_preferences
    from bonwise.votes.preferences import PreferenceAudit, audit_preferences
    from bonwise.watching.front import watch
    from bonwise.watching.result import Watch

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
    "AppliedStack": "bonwise.stacks.front",
    "apply_stack": "bonwise.stacks.front",
    "audit_stack": "bonwise.stacks.front",
    "Adaptive": "bonwise.selection.strategies.scores",
    "Audit": "bonwise.auditing.front",
    "BonwiseError": "bonwise.errors",
    "CalibrationStudy": "bonwise.studies.calibration.front",
    "CallError": "bonwise.errors",
    "Candidate": "bonwise.table.pools",
    "ConfidenceAudit": "bonwise.confidence.front",
    "DesignComparison": "bonwise.labels.design_comparison",
    "DrawModel": "bonwise.selection.learnt_draws",
    "FactorFit": "bonwise.factors.fitted",
    "FactorStudy": "bonwise.factors.study",
    "Greedy": "bonwise.selection.strategies.scores",
    "HumanView": "bonwise.factors.human_view",
    "InputError": "bonwise.errors",
    "Interval": "bonwise.judges.pointwise",
    "Judge": "bonwise.judges.protocol",
    "JudgeError": "bonwise.errors",
    "JudgedPools": "bonwise.selection.many_pools",
    "Knockout": "bonwise.selection.strategies.matches",
    "LabelDesign": "bonwise.table.label_design",
    "LabelDraw": "bonwise.labels.front",
    "LabelStrategyStudy": "bonwise.studies.label_strategy.front",
    "LedgerError": "bonwise.errors",
    "Logprob": "bonwise.judges.comparing",
    "MissingExtraError": "bonwise.errors",
    "MixStudy": "bonwise.studies.mix.front",
    "Monitor": "bonwise.monitoring.front",
    "PairDraw": "bonwise.studies.label_strategy.pair_draw",
    "Pairwise": "bonwise.judges.comparing",
    "PickComparison": "bonwise.comparing.result",
    "Plan": "bonwise.planning.front",
    "Pointwise": "bonwise.judges.pointwise",
    "Pool": "bonwise.table.pools",
    "Preference": "bonwise.table.verdicts",
    "PreferenceAudit": "bonwise.votes.preferences",
    "PreferenceStudy": "bonwise.votes.front",
    "Probability": "bonwise.judges.comparing",
    "Quantized": "bonwise.judges.wrappers",
    "RankedCandidate": "bonwise.selection.ranked_candidates",
    "RankedCandidates": "bonwise.selection.ranked_candidates",
    "RatingTable": "bonwise.factors.ratings",
    "RequirementsStudy": "bonwise.studies.requirements.front",
    "Resample": "bonwise.selection.strategies.scores",
    "Resampled": "bonwise.judges.wrappers",
    "RoundRobin": "bonwise.selection.strategies.matches",
    "RouteStudy": "bonwise.routing.front",
    "Router": "bonwise.routing.router",
    "RunProgress": "bonwise.selection.run",
    "Scale": "bonwise.table.scales",
    "Score": "bonwise.table.verdicts",
    "ScoreTable": "bonwise.table.score_table",
    "Selection": "bonwise.selection.selection",
    "Selector": "bonwise.selection.selector",
    "Stack": "bonwise.stacks.judge",
    "StackFit": "bonwise.stacks.front",
    "Stop": "bonwise.selection.run",
    "Strategy": "bonwise.selection.protocol",
    "TieBreak": "bonwise.selection.strategies.matches",
    "Unscored": "bonwise.table.verdicts",
    "ValueOfInformation": "bonwise.selection.strategies.value_of_information",
    "Watch": "bonwise.watching.result",
    "ajudge": "bonwise.selection.many_pools",
    "aselect": "bonwise.selection.front",
    "aselect_many": "bonwise.selection.many_pools",
    "audit": "bonwise.auditing.front",
    "audit_confidence": "bonwise.confidence.front",
    "audit_preferences": "bonwise.votes.preferences",
    "best_of": "bonwise.selection.front",
    "compare": "bonwise.comparing.front",
    "compare_designs": "bonwise.labels.design_comparison",
    "doctor": "bonwise.doctoring.front",
    "draw_labels": "bonwise.labels.front",
    "draw_pairs": "bonwise.studies.label_strategy.pair_draw",
    "fit_stack": "bonwise.stacks.front",
    "fit_factors": "bonwise.factors.front",
    "judge": "bonwise.selection.many_pools",
    "judge_from_spec": "bonwise.judges.registry",
    "load": "bonwise.loading",
    "load_factors": "bonwise.factors.human_view",
    "monitor": "bonwise.monitoring.front",
    "plan": "bonwise.planning.front",
    "route": "bonwise.routing.front",
    "select": "bonwise.selection.front",
    "select_many": "bonwise.selection.many_pools",
    "strategy_from_spec": "bonwise.selection.registry",
    "study_calibration": "bonwise.studies.calibration.front",
    "study_factors": "bonwise.factors.study",
    "study_label_strategy": "bonwise.studies.label_strategy.front",
    "study_mix": "bonwise.studies.mix.front",
    "study_preferences": "bonwise.votes.front",
    "study_requirements": "bonwise.studies.requirements.front",
    "study_verdicts": "bonwise.studies.label_strategy.front",
    "watch": "bonwise.watching.front",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from bonwise.release import release  # noqa: PLC0415 - reads the metadata on disk

        return release()
    home = _HOMES.get(name, f"bonwise.studies.{name.removeprefix('study_')}.front")
    if name not in _HOMES and not _is_study(name):
        raise AttributeError(f"module 'bonwise' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def _is_study(name: str) -> bool:
    """Tell whether a name is the function of a study that registers itself."""
    if not name.startswith("study_") or not name.isidentifier():
        return False
    spec = find_spec(f"bonwise.studies.{name.removeprefix('study_')}")
    return spec is not None and spec.submodule_search_locations is not None


def __dir__() -> list[str]:
    return sorted(__all__)
