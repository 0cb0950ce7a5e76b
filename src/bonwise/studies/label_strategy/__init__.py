"""Which way of asking for labels tells more."""

PUBLIC = {
    "front": ("study_label_strategy", "study_verdicts"),
    "pair_draw": ("draw_pairs",),
    "result": ("LabelStrategyStudy", "PairDraw"),
}
