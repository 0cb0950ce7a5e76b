"""TRL: a judge as a reward function of `GRPOTrainer`; TRL need not be installed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Unpack

from bonwise.errors import UsageError
from bonwise.hosts.reranking import DocumentRanker
from bonwise.selection.settings import SelectorSettings
from bonwise.table.chat import prompt_text

__all__ = ["reward_func"]


def reward_func(
    judge: Any, *, name: str = "bonwise", **settings: Unpack[SelectorSettings]
) -> Callable[..., Awaitable[list[float | None]]]:
    """Return a judge as one of the ``reward_funcs`` of `trl.GRPOTrainer`.

    Completions of one prompt are judged together, so that a judge may compare them; identical completions get equal
    rewards. The reward is the judge's score: of a judge that compares, what its strategy makes of its verdicts. A
    completion without a score has None, which TRL takes for no reward of this function.

    Parameters
    ----------
    judge : Judge, callable, str or Selector
        As of `bonwise.hosts.reranking.DocumentRanker`, whose rules hold here too.
    name : str
        Under which TRL logs the reward.
    **settings
        Of `bonwise.Selector`.

    Returns
    -------
    coroutine function
        ``ranker`` of it has counts and what judging has cost. With TRL's ``log_metric`` it logs the share of
        completions without a score, and the cost of the judge where it is known.

    Examples
    --------
    >>> reward = reward_func(lambda prompt, text: len(text))
    >>> asyncio.run(reward(prompts=["p", "p", "q"], completions=["red", "blue", "tan"]))
    [3.0, 4.0, 3.0]
    """
    ranker = DocumentRanker(judge, **settings)

    async def reward(
        *, prompts: Sequence[Any], completions: Sequence[Any], log_metric: Any = None, **columns: Any
    ) -> list[float | None]:
        del columns  # other columns of the data set, which a judge does not read
        if len(prompts) != len(completions):
            raise UsageError(f"there are {len(prompts)} prompts and {len(completions)} completions")
        before = ranker.totals.counts
        groups: dict[str, list[int]] = {}
        for at, prompt in enumerate(prompts):
            groups.setdefault(prompt_text(prompt), []).append(at)
        rewards: list[float | None] = [None] * len(completions)

        async def judged(prompt: str, places: list[int]) -> None:
            for one in await ranker.arank(prompt, [_answer(completions[at]) for at in places]):
                rewards[places[one.index]] = one.score

        try:
            async with asyncio.TaskGroup() as group:
                for prompt, places in groups.items():
                    group.create_task(judged(prompt, places))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        if log_metric is not None and rewards:
            log_metric(f"{name}/unscored", rewards.count(None) / len(rewards))
            cost, was = ranker.totals.counts.bill.cost, before.bill.cost
            if cost is not None and was is not None:
                log_metric(f"{name}/judge_cost", cost - was)
        return rewards

    reward.__name__ = name
    reward.ranker = ranker  # type: ignore[attr-defined]
    return reward


def _answer(completion: Any) -> Any:
    """Return what the judge reads of a completion: a text, or the messages of one."""
    if isinstance(completion, str):
        return {"text": completion}
    return completion[-1] if len(completion) == 1 else {"text": prompt_text(completion)}
