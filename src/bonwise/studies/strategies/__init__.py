"""Which strategy to deploy at which price."""

from typing import TYPE_CHECKING

from bonwise.declared import lazy

if TYPE_CHECKING:
    from bonwise.studies.strategies.result import StrategyReplay as StrategyReplay
else:
    __getattr__, __dir__ = lazy(__name__, RESULTS := {"result": ("StrategyReplay",)})

PUBLIC = {"front": ("study_strategies",)}
