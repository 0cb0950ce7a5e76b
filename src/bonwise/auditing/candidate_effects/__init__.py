"""Length, family and place of candidates: what a judge prefers at equal label."""
