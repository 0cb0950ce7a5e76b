"""Judges: what they ask, and what they make of the answers."""

PUBLIC = {
    "calling": ("FunctionJudge",),
    "comparing": ("Logprob", "Pairwise", "Probability"),
    "jury": ("Jury",),
    "listwise": ("Listwise",),
    "pointwise": ("Interval", "Pointwise"),
    "protocol": ("Judge",),
    "registry": ("judge_from_spec",),
    "rubric": ("Rubric",),
    "wrappers": ("Quantized", "Resampled"),
}
