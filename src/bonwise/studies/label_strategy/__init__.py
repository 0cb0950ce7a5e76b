"""Which way of asking for labels tells more."""

PUBLIC = {
    "front": ("LabelStrategyStudy", "study_label_strategy", "study_verdicts"),
    "pair_draw": ("PairDraw", "draw_pairs"),
}
