"""Inspect AI: a solver that answers with the best of n answers, scorers by a judge, and a reducer of epochs."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any, Unpack

from bonwise.errors import BonwiseError, UsageError
from bonwise.hosts import HOSTS, adapters, generation, reranking
from bonwise.selection.settings import SelectorSettings

HOSTS["inspect_ai"].require("bonwise.hosts.inspect_ai")

from inspect_ai.model import ModelOutput, execute_tools  # noqa: E402
from inspect_ai.scorer import (  # noqa: E402
    Score,
    Scorer,
    ScoreReducer,
    Target,
    accuracy,
    mean,
    mean_score,
    score_reducer,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver  # noqa: E402
from inspect_ai.tool import ToolFunction  # noqa: E402
from inspect_ai.util import LimitExceededError  # noqa: E402

__all__ = ["best_of_epochs", "best_of_n", "judge_score", "judged"]


_KEY = "bonwise"


@solver
def best_of_n(judge: Any, n: int = 4, **settings: Unpack[SelectorSettings]) -> Solver:
    """Answer with the best of n answers of the task's model, where ``generate()`` would answer with one.

    The winner is the output of the sample. Where it calls tools they are run, and the model is asked n times again.
    ``metadata["bonwise"]`` of the sample is a list with one trail per choice; what the judge took is there, and
    Inspect's own usage is that of all candidates. Inspect's cache is not used: it would make all of them one and the
    same. A sample that Inspect retries after an error of the judge ends with that error, and draws nothing again.

    Parameters
    ----------
    judge : Judge, callable, str or Selector
        As of `bonwise.hosts.generation.BestOfN`; what it says of a failing judge holds here too. Only a text can be
        written to a log from which a task is run again.
    n : int
        Candidates, at least 1.
    **settings
        Of `bonwise.Selector`.

    Returns
    -------
    Solver
        ``best_of`` of it has counts, and what judging has cost.
    """
    best_of = generation.BestOfN(judge, n, pass_on=(LimitExceededError,), **settings)
    failed: dict[str, BonwiseError] = {}

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.uuid in failed:
            raise failed[state.uuid]
        tool_choice = state.tool_choice

        async def draw(_: int) -> generation.DrawnAnswer[ModelOutput]:
            beside = deepcopy(state)
            beside.tool_choice = tool_choice
            output = (await generate(beside, tool_calls="none", cache=False)).output
            return generation.DrawnAnswer(output, output.message)

        while True:
            try:
                chosen = await best_of.achoose(list(state.messages), draw)
            except BonwiseError as error:
                failed[state.uuid] = error
                raise
            state.output = chosen.best.answer
            state.messages.append(state.output.message)
            state.metadata[_KEY] = [*state.metadata.get(_KEY, ()), chosen.trail()]
            if state.completed or not state.output.message.tool_calls:
                return state
            messages, output = await execute_tools(state.messages, state.tools)
            state.messages.extend(messages)
            state.output = output or state.output
            if state.completed:
                return state
            # A tool that was asked for by name would be called again and again.
            tool_choice = "auto" if isinstance(tool_choice, ToolFunction) else tool_choice

    solve.best_of = best_of  # type: ignore[attr-defined]
    return solve


@scorer(metrics=[mean(), stderr()])
def judge_score(judge: Any, **settings: Unpack[SelectorSettings]) -> Scorer:
    """Score the output of each sample by a judge, given its input.

    The value is the judge's score, the explanation what it said. An output without a score is unscored in Inspect,
    also where the judge failed: its reason is in ``metadata["bonwise"]``, beside what the judge took.

    Parameters
    ----------
    judge : Judge, callable, str or Selector
        As of `bonwise.hosts.reranking.DocumentRanker`. A judge that compares cannot score one output.
    **settings
        Of `bonwise.Selector`. With ``on_failure="raise"`` a judge that fails is an error of the sample.

    Returns
    -------
    Scorer
        ``ranker`` of it has counts, and what judging has cost.
    """
    ranker = reranking.DocumentRanker(judge, **adapters.once_paid(judge, settings))

    async def score(state: TaskState, target: Target) -> Score:
        del target  # a judge of candidates does not see the answer that is looked for
        scored = await ranker.ascore(state.input, state.output.message if state.output.choices else None)
        return Score(
            value=math.nan if scored.score is None else scored.score,
            answer=state.output.completion,
            explanation=scored.said or scored.reason or None,
            metadata={_KEY: scored.trail} | ({"unscored_reason": scored.reason} if scored.score is None else {}),
        )

    score.ranker = ranker  # type: ignore[attr-defined]
    return score


@scorer(metrics=[accuracy(), stderr()])
def judged(by: Scorer, judge: Any, **settings: Unpack[SelectorSettings]) -> Scorer:
    """Score each sample by another scorer, and keep the judge's score beside its value.

    The value is what `by` says, such as whether the output is correct. The judge's score is in
    ``metadata["bonwise"]``, from which `best_of_epochs` picks.

    Parameters
    ----------
    by : Scorer
        Its score stays as it is; one value, not several.
    judge, **settings
        As of `judge_score`.

    Returns
    -------
    Scorer
    """
    judging = judge_score(judge, **settings)

    async def score(state: TaskState, target: Target) -> Score | None:
        found = await by(state, target)
        if found is None:
            return None
        if isinstance(found.value, list | dict):
            raise UsageError("a score of several values has no accuracy", hint="give judged() a scorer of one value")
        beside = (await judging(state, target)).metadata
        return found.model_copy(update={"metadata": {**(found.metadata or {}), **(beside or {})}})

    score.ranker = judging.ranker  # type: ignore[attr-defined]
    return score


@score_reducer
def best_of_epochs() -> ScoreReducer:
    """Reduce the epochs of a sample to the one that the judge scores highest: what best-of-n would have given.

    It takes scores of `judge_score` and `judged`; an epoch that the judge could not score does not win. Several
    epochs with the highest score give the mean of their values. Where no epoch has a score of a judge, as with every
    other scorer, the sample is unscored: no epoch was chosen. ``metadata["bonwise"]`` counts epochs, those that were
    judged, and lists those that won, from 0.
    """

    def reduce(scores: list[Score]) -> Score:
        found = {at: value for at, score in enumerate(scores) if (value := _judge_score(score)) is not None}
        best = [at for at, value in found.items() if value == max(found.values())]
        counts = {"epochs": len(scores), "judged": len(found), "best": best}
        if not best:
            reason = "no epoch has a score of a judge: use judge_score, or judged(SCORER, JUDGE)"
            return Score(value=math.nan, explanation=reason, metadata={_KEY: counts | {"unscored": reason}})
        won = [scores[at] for at in best]
        reduced = won[0] if len(won) == 1 else mean_score()(won)
        return reduced.model_copy(update={"metadata": {**(reduced.metadata or {}), _KEY: counts}})

    return reduce


def _judge_score(score: Score) -> float | None:
    trail = (score.metadata or {}).get(_KEY)
    return trail.get("score") if isinstance(trail, dict) else None
