"""The best of n: strategies, the course of one pool, many pools."""

DOCUMENTS = {
    "draw_model": ("draw_model:DrawModelDocument", ""),
    "learn": ("learnt:LearnDocument", "learnt:describe"),
    "selections": ("result:SelectionsDocument", "view:describe"),
}
