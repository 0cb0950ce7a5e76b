"""Judges: what they ask, and what they make of the answers."""

PUBLIC = {
    "calling": ("FunctionJudge",),
    "checklist": ("Checklist",),
    "comparing": ("Decision", "Logprob", "Pairwise", "Probability"),
    "jury": ("Jury",),
    "listwise": ("Listwise",),
    "pointwise": ("Interval", "Pointwise"),
    "protocol": ("Judge",),
    "registry": ("judge_from_spec",),
    "rerank": ("Rerank",),
    "reward": ("Reward",),
    "rubric": ("Rubric",),
    "verified": ("Verified",),
    "wrappers": ("Quantized", "Resampled", "WeightedMajority"),
}
