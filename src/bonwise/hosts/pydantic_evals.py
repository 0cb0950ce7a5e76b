"""Pydantic Evals: a judge as an evaluator of the outputs of a task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_json

from bonwise.hosts import HOSTS
from bonwise.hosts.reranking import DocumentRanker

HOSTS["pydantic_evals"].require("bonwise.hosts.pydantic_evals")

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext  # noqa: E402

__all__ = ["JudgeEvaluator"]


_FIGURES = ("low", "high", "standard_error")


@dataclass(repr=False)
class JudgeEvaluator(Evaluator[Any, Any, Any]):
    """Scores each output by a judge, given the inputs of its case.

    A report gets the score under `name`, with what the judge said as its reason; of a judge that says how sure it is
    also ``NAME_low``, ``NAME_high`` and ``NAME_standard_error``. An output without a score has none: the label
    ``NAME_unscored`` says why. A judge that fails is a failure of the evaluator in the report, unless the settings
    have another ``on_failure``.

    Attributes
    ----------
    ranker : DocumentRanker
        Counts, and what judging has cost.
    """

    judge: Any
    """A judge, a function ``(inputs, output) -> number``, a text as of ``--judge`` on a command line, or a selector.
    A judge that compares cannot score one output. Only a text can be written to a file with its dataset.
    """
    name: str = "judge"
    """Under which a report has the score."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Of `bonwise.Selector`: deadline, on_failure, ledger, max_cost ..."""

    def __post_init__(self) -> None:
        """Make the ranker, which is no field: it is not written to files."""
        self.ranker = DocumentRanker(self.judge, **self.settings)

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, EvaluationReason | float | str]:
        """Score the output of one case."""
        scored = await self.ranker.ascore(_worded(ctx.inputs), _worded(ctx.output))
        if scored.score is None:
            return {f"{self.name}_unscored": scored.reason}
        figures = {f"{self.name}_{figure}": scored.trail[figure] for figure in _FIGURES if figure in scored.trail}
        return {self.name: EvaluationReason(scored.score, scored.said or None), **figures}


def _worded(value: Any) -> str | None:
    """Return a value as the judge reads it: text as it is, anything else as JSON."""
    return value if value is None or isinstance(value, str) else to_json(value, fallback=str).decode()
