"""Which of several picks or judges is better."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.comparing.result import PickComparison as PickComparison
    from bonwise.comparing.result import RegimeComparison as RegimeComparison
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("PickComparison", "RegimeComparison")})

DOCUMENTS = {
    "compare": ("result:PickComparison", "view:describe", "view:answer"),
    "regimes": ("result:RegimeComparison", "view:describe_regimes", "view:answer_of_regimes"),
}

PUBLIC = {"front": ("compare", "compare_regimes")}

COMMANDS = {"compare": (120, "front:COMMAND")}
