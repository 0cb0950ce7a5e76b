"""bonwise: judge-in-the-loop best-of-n selection, and honest audits of the judge.

Public names load on first use, so that ``import bonwise`` costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bonwise.auditing.front import audit as audit
    from bonwise.auditing.front import study_readiness as study_readiness
    from bonwise.comparing.front import compare as compare
    from bonwise.comparing.front import compare_regimes as compare_regimes
    from bonwise.confidence.front import audit_confidence as audit_confidence
    from bonwise.doctoring.front import doctor as doctor
    from bonwise.errors import BonwiseError as BonwiseError
    from bonwise.errors import CallError as CallError
    from bonwise.errors import InputError as InputError
    from bonwise.errors import JudgeError as JudgeError
    from bonwise.errors import LedgerError as LedgerError
    from bonwise.errors import MissingExtraError as MissingExtraError
    from bonwise.factors.front import fit_factors as fit_factors
    from bonwise.factors.front import study_factors as study_factors
    from bonwise.factors.human_view import load_factors as load_factors
    from bonwise.factors.ratings import RatingTable as RatingTable
    from bonwise.judges.calling import FunctionJudge as FunctionJudge
    from bonwise.judges.checklist import Checklist as Checklist
    from bonwise.judges.comparing import Decision as Decision
    from bonwise.judges.comparing import Logprob as Logprob
    from bonwise.judges.comparing import Pairwise as Pairwise
    from bonwise.judges.comparing import Probability as Probability
    from bonwise.judges.jury import Jury as Jury
    from bonwise.judges.listwise import Listwise as Listwise
    from bonwise.judges.pointwise import Interval as Interval
    from bonwise.judges.pointwise import Pointwise as Pointwise
    from bonwise.judges.protocol import Judge as Judge
    from bonwise.judges.registry import judge_from_spec as judge_from_spec
    from bonwise.judges.rerank import Rerank as Rerank
    from bonwise.judges.reward import Reward as Reward
    from bonwise.judges.rubric import Rubric as Rubric
    from bonwise.judges.verified import Verified as Verified
    from bonwise.judges.wrappers import Quantized as Quantized
    from bonwise.judges.wrappers import Resampled as Resampled
    from bonwise.judges.wrappers import WeightedMajority as WeightedMajority
    from bonwise.labels.front import compare_designs as compare_designs
    from bonwise.labels.front import draw_labels as draw_labels
    from bonwise.loading import load as load
    from bonwise.monitoring.front import monitor as monitor
    from bonwise.planning.front import plan as plan
    from bonwise.routing.front import route as route
    from bonwise.routing.router import Router as Router
    from bonwise.selection.front import agenerate_best as agenerate_best
    from bonwise.selection.front import aselect as aselect
    from bonwise.selection.front import best_of as best_of
    from bonwise.selection.front import generate_best as generate_best
    from bonwise.selection.front import select as select
    from bonwise.selection.learnt_draws import DrawModel as DrawModel
    from bonwise.selection.many_pools import ajudge as ajudge
    from bonwise.selection.many_pools import aselect_many as aselect_many
    from bonwise.selection.many_pools import judge as judge
    from bonwise.selection.many_pools import select_many as select_many
    from bonwise.selection.protocol import Strategy as Strategy
    from bonwise.selection.registry import strategy_from_spec as strategy_from_spec
    from bonwise.selection.run import Stop as Stop
    from bonwise.selection.selection import Selection as Selection
    from bonwise.selection.selector import Selector as Selector
    from bonwise.selection.strategies.matches import Knockout as Knockout
    from bonwise.selection.strategies.matches import RoundRobin as RoundRobin
    from bonwise.selection.strategies.matches import TieBreak as TieBreak
    from bonwise.selection.strategies.scores import Adaptive as Adaptive
    from bonwise.selection.strategies.scores import Greedy as Greedy
    from bonwise.selection.strategies.scores import Resample as Resample
    from bonwise.selection.strategies.value_of_information import ValueOfInformation as ValueOfInformation
    from bonwise.stacks.front import apply_stack as apply_stack
    from bonwise.stacks.front import audit_stack as audit_stack
    from bonwise.stacks.front import fit_stack as fit_stack
    from bonwise.stacks.judge import Stack as Stack
    from bonwise.studies.calibration.front import study_calibration as study_calibration
    from bonwise.studies.candidates.front import study_candidates as study_candidates
    from bonwise.studies.candidates.front import study_transfer as study_transfer
    from bonwise.studies.discretisation.front import study_discretisation as study_discretisation
    from bonwise.studies.label_strategy.front import study_label_strategy as study_label_strategy
    from bonwise.studies.label_strategy.front import study_verdicts as study_verdicts
    from bonwise.studies.label_strategy.pair_draw import draw_pairs as draw_pairs
    from bonwise.studies.mix.front import study_mix as study_mix
    from bonwise.studies.requirements.front import study_requirements as study_requirements
    from bonwise.studies.strategies.front import study_strategies as study_strategies
    from bonwise.table.label_design import LabelDesign as LabelDesign
    from bonwise.table.pools import Candidate as Candidate
    from bonwise.table.pools import Pool as Pool
    from bonwise.table.scales import Scale as Scale
    from bonwise.table.score_table import ScoreTable as ScoreTable
    from bonwise.table.verdicts import Preference as Preference
    from bonwise.table.verdicts import Score as Score
    from bonwise.table.verdicts import Unscored as Unscored
    from bonwise.votes.front import audit_preferences as audit_preferences
    from bonwise.votes.front import study_preferences as study_preferences
    from bonwise.watching.front import watch as watch

__version__: str

PUBLIC = {
    "errors": ("BonwiseError", "CallError", "InputError", "JudgeError", "LedgerError", "MissingExtraError"),
    "loading": ("load",),
}
"""Of modules that are in no package; each package declares its own."""


if not TYPE_CHECKING:  # which would take any name for a public one

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from bonwise.release import release  # noqa: PLC0415 - reads the metadata on disk

            return release()
        if name == "__all__":
            return __dir__()
        home = None if name.startswith("__") else _homes().get(name)
        if home is None:
            raise AttributeError(f"module 'bonwise' has no attribute {name!r}{_elsewhere(name)}")
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value


def _homes() -> Mapping[str, str]:
    """Return the module of each public name."""
    from bonwise.declared import public_homes  # noqa: PLC0415 - looks into every package

    return public_homes()


def _elsewhere(name: str) -> str:
    """Say where a class of results is."""
    from bonwise.declared import result_homes  # noqa: PLC0415 - looks into every package

    package = None if name.startswith("__") else result_homes().get(name)
    return "" if package is None else f": it is {package}.{name}"


def __dir__() -> list[str]:
    return sorted([*_homes(), "__version__"])
