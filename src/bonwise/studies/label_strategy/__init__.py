"""Which way of asking for labels tells more."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.studies.label_strategy.result import LabelStrategyStudy as LabelStrategyStudy
    from bonwise.studies.label_strategy.result import PairDraw as PairDraw
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("LabelStrategyStudy", "PairDraw")})

PUBLIC = {"front": ("study_label_strategy", "study_verdicts"), "pair_draw": ("draw_pairs",)}
