"""The best of n: strategies, the course of one pool, many pools."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.selection.many_pools import JudgedPools as JudgedPools
    from bonwise.selection.ranked_candidates import RankedCandidate as RankedCandidate
    from bonwise.selection.ranked_candidates import RankedCandidates as RankedCandidates
    from bonwise.selection.run import RunProgress as RunProgress
else:
    __getattr__, __dir__ = lazy(
        __name__,
        RESULTS := {
            "many_pools": ("JudgedPools",),
            "ranked_candidates": ("RankedCandidate", "RankedCandidates"),
            "run": ("RunProgress",),
        },
    )

DOCUMENTS = {
    "draw_model": ("draw_model:DrawModelDocument", ""),
    "learn": ("learnt:LearnDocument", "learnt:describe"),
    "selections": ("result:SelectionsDocument", "view:describe", "view:answer"),
}

PUBLIC = {
    "front": ("agenerate_best", "aselect", "best_of", "generate_best", "select"),
    "learnt_draws": ("DrawModel",),
    "many_pools": ("ajudge", "aselect_many", "judge", "select_many"),
    "protocol": ("Strategy",),
    "registry": ("strategy_from_spec",),
    "run": ("Stop",),
    "selection": ("Selection",),
    "selector": ("Selector",),
    "strategies.matches": ("Knockout", "RoundRobin", "TieBreak"),
    "strategies.scores": ("Adaptive", "Greedy", "Resample"),
    "strategies.value_of_information": ("ValueOfInformation",),
}
