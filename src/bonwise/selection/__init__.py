"""The best of n: strategies, the course of one pool, many pools."""

DOCUMENTS = {
    "draw_model": ("draw_model:DrawModelDocument", ""),
    "learn": ("learnt:LearnDocument", "learnt:describe"),
    "selections": ("result:SelectionsDocument", "view:describe"),
}

PUBLIC = {
    "front": ("agenerate_best", "aselect", "best_of", "generate_best", "select"),
    "learnt_draws": ("DrawModel",),
    "many_pools": ("JudgedPools", "ajudge", "aselect_many", "judge", "select_many"),
    "protocol": ("Strategy",),
    "ranked_candidates": ("RankedCandidate", "RankedCandidates"),
    "registry": ("strategy_from_spec",),
    "run": ("RunProgress", "Stop"),
    "selection": ("Selection",),
    "selector": ("Selector",),
    "strategies.matches": ("Knockout", "RoundRobin", "TieBreak"),
    "strategies.scores": ("Adaptive", "Greedy", "Resample"),
    "strategies.value_of_information": ("ValueOfInformation",),
}
