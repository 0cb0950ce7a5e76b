"""Which candidates to label, and the sheets for it."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.labels.result import DesignComparison as DesignComparison
    from bonwise.labels.result import LabelDraw as LabelDraw
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("DesignComparison", "LabelDraw")})

DOCUMENTS = {
    "label_designs": ("result:DesignComparison", "view:describe_label_designs"),
    "label_sheet": ("result:PoolSheet", "view:describe_label_sheet"),
    "labels": ("result:LabelDraw", "view:describe"),
}

PUBLIC = {"front": ("compare_designs", "draw_labels")}
