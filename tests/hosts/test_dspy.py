from __future__ import annotations

import asyncio
import os
from itertools import count

import pytest

from hosts.generation_rules import (
    GENERATION_RULES,
    Generated,
    broken,
    by_length,
    draws_side_by_side,
    ends_with_its_caller,
)

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise an import below asks the network
dspy = pytest.importorskip("dspy")

from dspy.utils import DummyLM

from bonwise.hosts.dspy import SelectBest, reward_fn

LOWEST = -1e300


class Answers:
    """Gives one answer after the other; copies of a module share it."""

    def __init__(self, answers):
        self.answers, self.numbers = answers, count()

    def __deepcopy__(self, memo):
        return self

    @property
    def asked(self):
        return self.numbers.__reduce__()[1][0]

    def next(self):
        answer = self.answers[next(self.numbers)]
        if isinstance(answer, Exception):
            raise answer
        return dspy.Prediction(reasoning="a long thought about it " * 9, answer=answer)


class Scripted(dspy.Module):
    """Answers without a model."""

    def __init__(self, answers):
        super().__init__()
        self.source = Answers(answers)

    def forward(self, **inputs):
        return self.source.next()

    async def aforward(self, **inputs):
        return self.source.next()


HOW = {
    "sync": lambda module: module(question="Name a colour"),
    "async": lambda module: asyncio.run(module.acall(question="Name a colour")),
}


@pytest.mark.parametrize("rule", GENERATION_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_rules_of_generation(rule, how):
    """Each rule holds for the module, in threads and in a loop."""

    def generate(judge, answers, **settings):
        module = Scripted(answers)
        best = SelectBest(module, len(answers), judge, **settings)
        found = how(best)
        return Generated(found.answer, found.bonwise, None, best.best_of, module.source.asked)

    rule(generate)


@pytest.mark.parametrize("rule", [ends_with_its_caller, draws_side_by_side])
def test_rules_of_loops(rule):
    """The module works in the caller's loop and ends with its caller."""

    async def request(judge, n, answer):
        class Waiting(dspy.Module):
            async def aforward(self, **inputs):
                return dspy.Prediction(answer=await answer())

        return await SelectBest(Waiting(), n, judge).acall(question="Name a colour")

    asyncio.run(rule(request))


def test_the_judge_sees_inputs_and_outputs_without_thoughts():
    """One field is its value, several are lines with their names."""
    seen = []

    def judge(prompt, text):
        seen.append((prompt, text))
        return len(text)

    best = SelectBest(Scripted(["red", "scarlet"]), 2, judge)
    best(question="Name a colour")
    best.module = Scripted(["red", "scarlet"])
    best(question="Name a colour", style="bright")
    both = ("Name a colour", "question: Name a colour\nstyle: bright")
    assert set(seen) == {(prompt, text) for prompt in both for text in ("red", "scarlet")}


def answering(*answers):
    """Make a model of DSPy's."""
    model = DummyLM([{"answer": one} for one in answers])
    model.answers = Shared(model.answers)
    return model


class Shared:
    """Goes on where another copy of a model was: older versions of DSPy copy the answers too."""

    def __init__(self, answers):
        self.answers = answers

    def __deepcopy__(self, memo):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.answers)


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_the_trace_holds_the_winners_steps_alone(how):
    """What DSPy's optimizers learn from is the winner, without the trail."""
    predict = dspy.Predict("question -> answer")
    with dspy.context(lm=answering("red", "scarlet", "tan"), trace=[]):
        best = SelectBest(predict, 3, by_length)
        found = how(best)
        ((_, inputs, outputs),) = dspy.settings.trace
    assert (found.answer, outputs.answer, inputs) == ("scarlet", "scarlet", {"question": "Name a colour"})
    assert "bonwise" not in outputs
    assert found.completions.answer == ["scarlet"]


def test_each_run_asks_past_the_cache():
    """Each copy has a rollout of its own and the temperature; the module itself is as it was."""
    seen = []

    class Looking(dspy.Module):
        def __init__(self):
            super().__init__()
            self.predict = dspy.Predict("question -> answer")

        def forward(self, question):
            seen.append((self.predict.lm.kwargs["rollout_id"], self.predict.lm.kwargs["temperature"]))
            return dspy.Prediction(answer=f"answer {len(seen)}")

    module = Looking()
    with dspy.context(lm=answering()):
        SelectBest(module, 3, by_length, temperature=0.7)(question="Name a colour")
    assert sorted(seen) == [(0, 0.7), (1, 0.7), (2, 0.7)]
    assert module.predict.lm is None


def test_usage_of_all_runs_is_counted():
    """DSPy's own counting of tokens sees every run."""
    with dspy.context(lm=answering("red", "scarlet", "tan"), track_usage=True):
        found = SelectBest(dspy.Predict("question -> answer"), 3, by_length)(question="Name a colour")
    assert found.answer == "scarlet"
    assert found.get_lm_usage() is not None


def test_copies_of_a_program_count_together():
    """Optimizers copy programs: what judging has cost is not lost with a copy."""
    program = SelectBest(Scripted(["red", "scarlet"]), 2, by_length)
    program.deepcopy()(question="Name a colour")
    assert program.best_of.totals.counts.selections == 1


def test_a_judge_is_a_reward_of_the_hosts_own_best_of_n():
    """It gives finite numbers; what has no score does not win against what has one."""
    reward = reward_fn(by_length)
    best = dspy.BestOfN(Scripted(["a longer question?", "red", "scarlet"]), 3, reward, threshold=1e300)
    with dspy.context(lm=answering(), trace=[]):
        best.module.predict = dspy.Predict("question -> answer")
        assert best(question="Name a colour").answer == "scarlet"
    assert reward.ranker.totals.counts.selections == 3
    assert reward({"question": "q"}, dspy.Prediction(answer="what?")) < LOWEST


def test_a_reward_of_a_failing_judge_is_a_number():
    """DSPy would print what is raised and go on, and with NaN or None it would return nothing."""
    reward = reward_fn(broken)
    assert reward({"question": "q"}, dspy.Prediction(answer="red")) < LOWEST
    assert reward.ranker.totals.counts.unjudged == 1
    strict = reward_fn(broken, on_failure="raise")
    with pytest.raises(Exception, match="out of order"):
        strict({"question": "q"}, dspy.Prediction(answer="red"))


async def in_time(_prompt, text):
    """Score a text by its length, some time later."""
    await asyncio.sleep(0)
    return len(text)


def not_a_number(_prompt, _text):
    """Score nothing."""
    return float("nan")


@pytest.mark.parametrize("best_of", [dspy.BestOfN, dspy.Refine])
def test_a_reward_is_always_a_finite_number(best_of):
    """DSPy does not await a reward, and returns nothing where all are not numbers; ours are numbers in both cases."""
    for judge, reads in ((in_time, 3.0), (not_a_number, None)):
        reward = reward_fn(judge)
        found = reward({"question": "q"}, dspy.Prediction(answer="red"))
        assert isinstance(found, float)
        assert found == reads or (reads is None and LOWEST > found > float("-inf"))
        best = best_of(Scripted(["red", "scarlet", "tan"]), 3, reward, threshold=1e300)
        with dspy.context(lm=answering("red", "scarlet", "tan", "tan"), trace=[]):
            best.module.predict = dspy.Predict("question -> answer")
            if best_of is dspy.BestOfN:
                assert best(question="Name a colour").answer in {"red", "scarlet", "tan"}


def test_an_answer_without_words_is_unscored():
    """A prediction whose fields are empty has no score, and is not the first."""
    found = SelectBest(Scripted([None, "red"]), 2, by_length)(question="Name a colour")
    assert found.answer == "red"
    assert list(found.bonwise["unscored"].values()) == ["no text"]
