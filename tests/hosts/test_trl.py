"""The contract of the reward functions of GRPOTrainer, as the source of TRL 1.16 states it."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from bonwise.errors import JudgeError, UsageError
from bonwise.hosts.trl import reward_func
from hosts.generation_rules import broken, by_length
from hosts.reranker_rules import Reranked, does_not_block


def rewarded(reward, prompts, completions, **more):
    """Call a reward function as TRL does: by keywords, with every other column of the data set."""
    named = {"completion_ids": [[1]] * len(prompts), "label": ["x"] * len(prompts), "trainer_state": None}
    return asyncio.run(reward(prompts=prompts, completions=completions, **(named | more)))


def test_it_is_a_coroutine_function_with_a_name():
    """TRL gathers these together, and logs a reward under its name."""
    reward = reward_func(by_length, name="brevity")
    assert inspect.iscoroutinefunction(reward)
    assert reward.__name__ == "brevity"


def test_rewards_stand_in_the_order_of_the_completions():
    """Prompts may stand in any order, and each group is judged on its own."""
    found = rewarded(reward_func(by_length), ["p", "q", "p", "q"], ["red", "scarlet", "blue", "tan"])
    assert found == [3.0, 7.0, 4.0, 3.0]


def test_identical_completions_get_equal_rewards():
    """They are judged, and not left without a reward because there is nothing to choose."""
    assert rewarded(reward_func(by_length), ["p", "p"], ["red", "red"]) == [3.0, 3.0]
    assert rewarded(reward_func(by_length), ["p"] * 3, ["red", "blue", "red"]) == [3.0, 4.0, 3.0]


def test_one_and_none():
    """A group of one is judged too, and nothing gives nothing."""
    assert rewarded(reward_func(by_length), ["p"], ["red"]) == [3.0]
    assert rewarded(reward_func(by_length), [], []) == []


def test_what_has_no_score_has_no_reward():
    """It is None, neither 0 nor NaN, and its share is logged."""
    logged = {}
    reward = reward_func(by_length)
    assert rewarded(reward, ["p", "p"], ["what?", "red"], log_metric=logged.__setitem__) == [None, 3.0]
    assert logged == {"bonwise/unscored": 0.5, "bonwise/judge_cost": 0.0}
    assert reward.ranker.totals.counts.unscored == 1


def test_messages_are_read():
    """Data sets of conversations have lists of messages as prompts and completions."""
    prompts = [[{"role": "user", "content": "Name a colour"}]] * 2
    completions = [[{"role": "assistant", "content": text}] for text in ("red", "scarlet")]
    seen = []

    def judge(prompt, text):
        seen.append((prompt, text))
        return len(text)

    assert rewarded(reward_func(judge), prompts, completions) == [3.0, 7.0]
    assert set(seen) == {("Name a colour", "red"), ("Name a colour", "scarlet")}


def test_a_failing_judge():
    """It raises, or with another on_failure leaves the step without rewards, and counts it."""
    with pytest.raises(JudgeError, match="out of order"):
        rewarded(reward_func(broken), ["p", "p"], ["red", "blue"])
    reward = reward_func(broken, on_failure="random")
    assert rewarded(reward, ["p", "p"], ["red", "blue"]) == [None, None]
    assert reward.ranker.totals.counts.unjudged == 1


def test_lengths_that_differ_are_an_error():
    """A reward would go to another completion."""
    with pytest.raises(UsageError, match="there are 1 prompts and 2 completions"):
        rewarded(reward_func(by_length), ["p"], ["red", "blue"])


def test_groups_are_judged_at_once_and_end_with_the_caller():
    """The judge runs in the caller's loop."""

    async def rerank(judge, query, texts):
        rewards = await reward_func(judge)(prompts=[f"{query} {at}" for at in range(len(texts))], completions=texts)
        ranked = sorted(zip(rewards, texts, strict=True), reverse=True)
        return Reranked([text for _, text in ranked], [], [], None)

    asyncio.run(does_not_block(rerank))
