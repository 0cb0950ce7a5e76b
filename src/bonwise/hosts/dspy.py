"""DSPy: a module that returns the best of N predictions of another module, and a judge as a reward function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Unpack

from bonwise.hosts import HOSTS, adapters, generation, reranking
from bonwise.selection.settings import SelectorSettings

HOSTS["dspy"].require("bonwise.hosts.dspy")

import dspy  # noqa: E402

__all__ = ["SelectBest", "reward_fn"]


_THOUGHTS = "reasoning"
_MEDIA = (dspy.Image, dspy.Audio)


class SelectBest(dspy.Module):
    """Runs a module N times, all at once, and returns the best prediction.

    All predictions are judged together, so that a judge may compare them. The prediction is a copy of the winner's,
    with the trail of the choice as its field ``bonwise``; the trace of DSPy holds the winner's steps alone. The judge
    sees the inputs as the prompt, and the outputs without ``reasoning``.

    Parameters
    ----------
    module : dspy.Module
        What is run. Each run has its own copy, whose models have a ``rollout_id`` of their own.
    N : int
        Predictions, at least 1.
    judge : Judge, callable, str or Selector
        As of `bonwise.hosts.generation.BestOfN`; what it says of a failing judge holds here too.
    temperature : float
        Of the models during the runs.
    **settings
        Of `bonwise.Selector`.

    Attributes
    ----------
    best_of : BestOfN
        Counts, and what judging has cost.
    """

    def __init__(
        self, module: Any, N: int, judge: Any, *, temperature: float = 1.0, **settings: Unpack[SelectorSettings]
    ) -> None:
        super().__init__()
        self.module = module
        self.temperature = temperature
        self.best_of = generation.BestOfN(judge, N, **settings)

    def forward(self, **inputs: Any) -> Any:
        """Run the module N times in threads, and return the best prediction."""

        def draw(number: int) -> generation.DrawnAnswer[Any]:
            module = self._copy(number)
            with dspy.context(trace=[]):
                return _drawn(module(**inputs), dspy.settings.trace)

        return _prediction(self.best_of.choose(_worded(inputs), draw))

    async def aforward(self, **inputs: Any) -> Any:
        """Do the same in the running event loop."""

        async def draw(number: int) -> generation.DrawnAnswer[Any]:
            module = self._copy(number)
            with dspy.context(trace=[]):
                return _drawn(await module.acall(**inputs), dspy.settings.trace)

        return _prediction(await self.best_of.achoose(_worded(inputs), draw))

    def _copy(self, number: int) -> Any:
        # DSPy's cache answers equal requests alike, and the number of the rollout makes them different.
        module = self.module.deepcopy()
        for _, predictor in module.named_predictors():
            model = predictor.lm or dspy.settings.lm
            start = model.kwargs.get("rollout_id") or 0
            predictor.lm = model.copy(rollout_id=start + number, temperature=self.temperature)
        return module


def reward_fn(judge: Any, **settings: Unpack[SelectorSettings]) -> Callable[[Mapping[str, Any], Any], float]:
    """Return a judge as the ``reward_fn`` of `dspy.BestOfN` and `dspy.Refine`, which show one prediction at a time.

    A judge that compares cannot score one prediction alone: take `SelectBest`. A prediction without a score, also
    because the judge failed, gets the lowest finite number: it wins only where all others have no score either. DSPy
    prints what is raised and goes on to the next run, so a judge's error is not raised unless asked for.

    Parameters
    ----------
    judge : Judge, callable, str or Selector
        As of `bonwise.hosts.reranking.DocumentRanker`.
    **settings
        Of `bonwise.Selector`.

    Returns
    -------
    callable
        From inputs and prediction to the judge's score; ``ranker`` of it has counts and what judging has cost.

    Examples
    --------
    >>> reward = reward_fn(lambda prompt, text: -len(text))
    >>> reward({"question": "Name a colour"}, dspy.Prediction(answer="red"))
    -3.0
    """
    ranker = reranking.DocumentRanker(judge, **adapters.once_paid(judge, settings))

    def reward(inputs: Mapping[str, Any], prediction: Any) -> float:
        score = ranker.score(_worded(inputs), _answer(prediction)).score
        return -sys.float_info.max if score is None else score

    reward.ranker = ranker  # type: ignore[attr-defined]
    return reward


def _drawn(prediction: Any, trace: list[Any]) -> generation.DrawnAnswer[Any]:
    return generation.DrawnAnswer((prediction, list(trace)), {"role": "assistant", "content": _answer(prediction)})


def _prediction(chosen: generation.Chosen[generation.DrawnAnswer[Any]]) -> Any:
    prediction, trace = chosen.best.answer
    if dspy.settings.trace is not None:
        dspy.settings.trace.extend(trace)
    # A copy: the trace holds the prediction itself, and the trail is no output to learn from.
    found = prediction.copy(bonwise=chosen.trail())
    found._completions = prediction._completions  # noqa: SLF001 - which a copy lacks
    return found


def _answer(prediction: Any) -> str | None:
    fields = dict(prediction.items())
    kept = {name: value for name, value in fields.items() if name != _THOUGHTS} or fields
    return _worded(kept) if any(value is not None for value in kept.values()) else None


def _worded(fields: Mapping[str, Any]) -> str:
    said = {
        name: f"[{type(value).__name__.lower()}]" if isinstance(value, _MEDIA) else str(value)
        for name, value in fields.items()
    }
    return "\n".join(said.values() if len(said) == 1 else (f"{name}: {value}" for name, value in said.items()))
