from __future__ import annotations

import asyncio
import gc
import math
import subprocess
import sys
from itertools import count

import pytest

from hosts.generation_rules import (
    GENERATION_RULES,
    TOKENS_IN,
    TOKENS_OUT,
    Generated,
    broken,
    by_length,
    draws_side_by_side,
    ends_with_its_caller,
)

pytest.importorskip("inspect_ai")

from inspect_ai import Epochs, Task, eval_async
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, includes, match, scorer
from inspect_ai.solver import generate as plain_generate
from inspect_ai.solver import solver
from inspect_ai.tool import ToolFunction, tool

import bonwise as bw
from bonwise.errors import BonwiseError, UsageError
from bonwise.hosts.inspect_ai import best_of_epochs, best_of_n, judge_score, judged

ASK = "Name a colour"


@pytest.fixture(autouse=True, scope="module")
def streams_of_the_host():
    """Let go of the streams that the host leaves open while its warnings of them are still let pass."""
    yield
    gc.collect()


def spoken(text):
    """Return an answer of a model, with what it took."""
    output = text if isinstance(text, ModelOutput) else ModelOutput.from_content("mockllm", text)
    output.usage = ModelUsage(input_tokens=TOKENS_IN, output_tokens=TOKENS_OUT, total_tokens=TOKENS_IN + TOKENS_OUT)
    return output


def model_of(answers):
    """Return a model of the host that gives these answers one after the other, and how often it was asked."""
    waiting, asked = iter(answers), []

    def answer(messages, tools, tool_choice, config):
        asked.append((messages, tool_choice))
        found = next(waiting)
        if isinstance(found, Exception):
            raise found
        return spoken(found)

    return get_model("mockllm/model", custom_outputs=answer, memoize=False), asked


@solver
def watched(inner, errors):
    """Run a solver and keep what it raises, which the host would only write to its log."""

    async def solve(state, generate):
        try:
            return await inner(state, generate)
        except Exception as error:
            errors.append(error)
            raise

    return solve


@pytest.fixture
def ran(tmp_path):
    """Run a task of the host and return its log."""

    def run(model, solve, score=None, samples=1, **more):
        dataset = [Sample(input=ASK, target="scarlet", id=f"s{at}") for at in range(samples)]
        task = Task(dataset=dataset, solver=solve, scorer=score or match(), epochs=more.pop("epochs", None))
        config = {"display": "none", "log_dir": str(tmp_path), "max_samples": 1, "fail_on_error": False}
        (log,) = evaluate(task, model=model, **(config | more))
        return log

    return run


@pytest.mark.parametrize("rule", GENERATION_RULES, ids=lambda rule: rule.__name__)
def test_rules_of_generation(rule, ran):
    """Each rule holds for the solver."""

    def generate(judge, answers, **settings):
        model, asked = model_of(answers)
        solve, errors = best_of_n(judge, len(answers), **settings), []
        log = ran(model, watched(solve, errors))
        if errors:
            raise errors[0]
        (sample,) = log.samples
        (trail,) = sample.metadata["bonwise"]
        usage = (
            sum(one.input_tokens for one in sample.model_usage.values()),
            sum(one.output_tokens for one in sample.model_usage.values()),
        )
        return Generated(sample.output.completion, trail, usage, solve.best_of, len(asked))

    rule(generate)


@pytest.mark.parametrize("rule", [ends_with_its_caller, draws_side_by_side])
def test_rules_of_loops(rule, tmp_path):
    """The draws of a sample run in the host's loop and end with its caller."""

    async def request(judge, n, answer):
        model = get_model("mockllm/model", memoize=False)

        async def generate(*given, **named):
            return spoken(await answer() or "red")

        model.api.generate = generate
        task = Task(dataset=[Sample(input=ASK)], solver=best_of_n(judge, n), scorer=match())
        (log,) = await eval_async(task, model=model, log_dir=str(tmp_path))
        if log.status == "cancelled":  # older versions end in a log that says so
            raise asyncio.CancelledError
        return log

    asyncio.run(rule(request))


def test_the_judge_reads_the_conversation(tmp_path):
    """What stands before the answer is the prompt of the judge."""
    seen = []

    def judge(prompt, text):
        seen.append((prompt, text))
        return len(text)

    model, _ = model_of(["red", "scarlet"])
    said = [ChatMessageSystem(content="Be brief."), ChatMessageUser(content=ASK)]
    task = Task(dataset=[Sample(input=said, target="scarlet")], solver=best_of_n(judge, 2), scorer=match())
    evaluate(task, model=model, display="none", log_dir=str(tmp_path))
    assert seen[0] == (f"system: Be brief.\n\nuser: {ASK}", "red")


@tool
def paint():
    """Make a tool."""

    async def execute(colour: str):
        """Paint something.

        Args:
            colour: What to paint it with.
        """
        painted.append(colour)
        return f"painted {colour}"

    return execute


painted = []


def test_tools_are_chosen_among_and_the_winners_alone_are_run(ran):
    """The judge reads the calls; after the tool has run the model is asked n times again."""
    painted.clear()
    seen = []

    def judge(prompt, text):
        seen.append(text)
        return len(text)

    calls = [ModelOutput.for_tool_call("mockllm", "paint", {"colour": one}) for one in ("red", "scarlet")]
    model, asked = model_of([*calls, "done", "all is done"])

    @solver
    def with_tools(inner):
        async def solve(state, generate):
            state.tools = [paint()]
            state.tool_choice = ToolFunction("paint")
            return await inner(state, generate)

        return solve

    log = ran(model, with_tools(best_of_n(judge, 2)))
    (sample,) = log.samples
    assert painted == ["scarlet"]
    assert [one.splitlines()[-1] for one in seen[:2]] == [
        'tool call: paint({"colour": "red"})',
        'tool call: paint({"colour": "scarlet"})',
    ]
    assert sample.output.completion == "all is done"
    assert [one.role for one in sample.messages] == ["user", "assistant", "tool", "assistant"]
    assert [one["index"] for one in sample.metadata["bonwise"]] == [1, 1]
    assert [choice for _, choice in asked] == [ToolFunction("paint")] * 2 + ["auto"] * 2


def test_the_hosts_cache_is_not_used(ran, monkeypatch, tmp_path):
    """It would make all candidates one and the same."""
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))
    model, asked = model_of(["red", "scarlet", "tan"])
    log = ran(model, best_of_n(by_length, 3), cache=True)
    assert log.samples[0].output.completion == "scarlet"
    assert len(asked) == 3


def test_a_limit_of_the_host_ends_the_sample_as_ever(ran):
    """It is no failed draw: the sample has reached its limit, and is no error."""
    model, _ = model_of(["red"] * 8)
    log = ran(model, best_of_n(by_length, 4), token_limit=TOKENS_IN + TOKENS_OUT + 1)
    (sample,) = log.samples
    assert sample.limit.type == "token"
    assert sample.error is None


def test_a_sample_that_is_retried_draws_nothing_again(ran):
    """The host retries every error: what the judge's error has cost is not paid twice."""
    model, asked = model_of(["red", "blue", "tan"] * 3)
    errors = []
    log = ran(model, watched(best_of_n(broken, 3, on_failure="raise"), errors), retry_on_error=2)
    assert len(errors) == 3
    assert all(isinstance(one, BonwiseError) for one in errors)
    assert len(asked) == 3
    assert "out of order" in log.samples[0].error.message


def test_a_judge_scores_each_sample(ran):
    """The value is the judge's score; what it took stands beside, and not in the model's usage."""
    model, _ = model_of(["red", "scarlet"])
    score = judge_score(by_length)
    log = ran(model, plain_generate(), score, samples=2)
    found = [one.scores["judge_score"] for one in log.samples]
    assert [one.value for one in found] == [3.0, 7.0]
    assert [one.answer for one in found] == ["red", "scarlet"]
    assert found[0].metadata["bonwise"] == {
        "judge": "by_length",
        "score": 3.0,
        "unjudged": False,
        "judge_usage": {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost": 0.0},
    }
    assert log.results.scores[0].metrics["mean"].value == 5.0
    assert score.ranker.totals.counts.selections == 2


@pytest.mark.parametrize(
    ("judge", "reason"), [(by_length, "the function returned nothing"), (broken, "out of order")]
)
def test_what_has_no_score_is_unscored_and_not_zero(judge, reason, ran):
    """The host counts it as unscored; the mean is of the others, and of none it is not a number."""
    model, asked = model_of(["what?", "scarlet"])
    log = ran(model, plain_generate(), judge_score(judge), samples=2)
    found = log.samples[0].scores["judge_score"]
    assert math.isnan(found.value)
    assert reason in found.metadata["unscored_reason"]
    assert found.metadata["bonwise"]["unjudged"] is True
    (result,) = log.results.scores
    assert result.unscored_samples == (2 if judge is broken else 1)
    mean = result.metrics["mean"].value
    assert math.isnan(mean) if judge is broken else mean == 7.0
    assert len(asked) == 2
    read = read_eval_log(log.location)
    assert math.isnan(read.samples[0].scores["judge_score"].value)


def test_a_judge_that_fails_is_an_error_where_asked_for(ran):
    """The sample then has no score at all."""
    model, _ = model_of(["red"])
    log = ran(model, plain_generate(), judge_score(broken, on_failure="raise"))
    assert "out of order" in log.samples[0].error.message
    assert not log.samples[0].scores


def test_an_output_that_never_came_is_unscored(ran):
    """A sample without an output has no words to be judged."""

    @solver
    def silent():
        async def solve(state, generate):
            return state

        return solve

    log = ran(model_of([])[0], silent(), judge_score(by_length))
    assert math.isnan(log.samples[0].scores["judge_score"].value)


def test_a_scorer_keeps_its_value_beside_the_judge_s(ran):
    """The judge's score is in the metadata; accuracy is the scorer's."""
    model, _ = model_of(["red", "scarlet"])
    log = ran(model, plain_generate(), judged(match(), by_length), samples=2)
    found = [one.scores["judged"] for one in log.samples]
    assert [one.value for one in found] == ["I", "C"]
    assert [one.metadata["bonwise"]["score"] for one in found] == [3.0, 7.0]
    assert log.results.scores[0].metrics["accuracy"].value == 0.5


def test_a_score_of_several_values_is_refused(ran):
    """Its accuracy would be 0 in silence."""

    @scorer(metrics={"*": []})
    def several():
        async def score(state, target):
            return Score(value={"a": 1, "b": 2})

        return score

    model, _ = model_of(["red"])
    log = ran(model, plain_generate(), judged(several(), by_length))
    assert "a score of several values has no accuracy" in log.samples[0].error.message


def test_epochs_are_reduced_to_the_judge_s_pick(ran):
    """The value of the epoch that the judge scores highest; another scorer's epochs cannot be chosen among."""
    model, _ = model_of(["red", "scarlet", "a kind of blue?"])
    scores = [judged(match(), by_length), judge_score(by_length), includes()]
    log = ran(model, plain_generate(), scores, epochs=Epochs(3, ["mean", "bonwise/best_of_epochs"]))
    value = {(one.name, one.reducer): one for one in log.results.scores}
    assert value["judged", "mean"].metrics["accuracy"].value == pytest.approx(1 / 3)
    assert value["judged", "bonwise/best_of_epochs"].metrics["accuracy"].value == 1.0
    assert value["judge_score", "bonwise/best_of_epochs"].metrics["mean"].value == 7.0
    assert value["includes", "mean"].metrics["accuracy"].value == pytest.approx(1 / 3)
    assert value["includes", "bonwise/best_of_epochs"].unscored_samples == 1


def of_judge(value, score, **more):
    """Return a score as `judged` makes it; without a score the judge had none."""
    return Score(
        value=value, metadata={"bonwise": {"unscored": "no text"} if score is None else {"score": score}}, **more
    )


def test_ties_of_epochs_are_taken_in_expectation():
    """The first is not preferred; what has no score of the judge does not win."""
    reduce = best_of_epochs()
    won = reduce([of_judge("I", 2.0), of_judge("C", 2.0), of_judge("C", 1.0), of_judge("C", None)])
    assert won.value == 0.5
    assert won.metadata["bonwise"] == {"epochs": 4, "judged": 3, "best": [0, 1]}
    assert reduce([of_judge("I", 0.0), of_judge("C", -1.0), of_judge("C", None)]).value == "I"


def test_the_winner_s_words_are_kept():
    """Answer and explanation of the one that won are not lost."""
    won = best_of_epochs()(
        [of_judge("I", 1.0, answer="red"), of_judge("C", 2.0, answer="scarlet", explanation="why")]
    )
    assert (won.value, won.answer, won.explanation) == ("C", "scarlet", "why")


@pytest.mark.parametrize("others", [["C", "I"], [1.0, 0.0], [math.nan, "C"], [{"a": 1}, {"a": 2}]])
def test_scores_of_no_judge_are_unscored_and_say_why(others):
    """No epoch was chosen, and the first is not the choice."""
    won = best_of_epochs()([Score(value=one) for one in others])
    assert math.isnan(won.value)
    assert won.metadata["bonwise"]["unscored"].startswith("no epoch has a score of a judge")


TASK = f"""
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match


def answer(messages, tools, tool_choice, config):
    output = ModelOutput.from_content("mockllm", f"colour {{id(object())}}")
    output.usage = ModelUsage(input_tokens=3, output_tokens=5, total_tokens=8)
    return output


@task
def colours():
    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    return Task(dataset=[Sample(input={ASK!r}, target="scarlet")], scorer=match(), model=model)
"""


def test_the_host_finds_them_by_name(tmp_path):
    """Solver, scorer and reducer are found through the entry point, and run from the host's own command."""
    (tmp_path / "task.py").write_text(TASK)

    def inspect(*asked):
        command = [sys.executable, "-m", "inspect_ai", *asked]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return max((tmp_path / "logs").glob("*.eval"), key=lambda one: one.stat().st_mtime_ns)

    solving = ["--solver", "bonwise/best_of_n", "-S", "judge=local:length", "-S", "n=2", "-S", "seed=3"]
    epochs = ["--epochs", "2", "--epochs-reducer", "bonwise/best_of_epochs"]
    log = inspect("eval", "task.py", *solving, *epochs, "--log-dir", "logs", "--display", "plain")
    assert [len(one.metadata["bonwise"]) for one in read_eval_log(str(log)).samples] == [1, 1]
    scoring = ["--scorer", "bonwise/judge_score", "-S", "judge=local:length", "--action", "append", "--overwrite"]
    read = read_eval_log(str(inspect("score", str(log), *scoring)))
    by_reducer = {one.name: one.reducer for one in read.results.scores}
    assert by_reducer["judge_score"] == "bonwise/best_of_epochs"
    assert read.samples[0].scores["judge_score"].value > 0


def test_a_log_of_epochs_is_audited(ran):
    """The judge's scores and the labels of one log are a table that an audit reads; unscored is no number in it."""
    number = count()
    texts = ["red", "scarlet", "what?", "scarlet", "a kind of blue"]
    model = get_model("mockllm/model", custom_outputs=lambda *_: spoken(texts[next(number) % 5]), memoize=False)
    log = ran(model, plain_generate(), [judge_score(by_length), match()], samples=8, epochs=3)
    audit = bw.audit(log.location.removeprefix("file://"), columns={"oracle_label": "match"})
    unscored = sum(sample.output.completion == "what?" for sample in log.samples)
    assert 0 < unscored < 8
    assert list(audit.judges) == ["judge_score"]
    data = audit.to_dict()["data"]
    assert (data["unscored"]["candidates"], data["prompts"], data["dropped"]) == (unscored, 8, [])


def test_what_a_selector_does_not_know_is_an_error():
    """Settings are those of the selector."""
    with pytest.raises((TypeError, UsageError)):
        best_of_n(by_length, 2, no_such_setting=1)
    with pytest.raises((UsageError, ValueError)):
        best_of_n(by_length, 0)


def test_settings_of_the_model_stay(ran):
    """What the task asks of its model holds for the draws."""
    seen = []

    def answer(messages, tools, tool_choice, config):
        seen.append(config.temperature)
        return spoken(f"colour {len(seen)}")

    model = get_model("mockllm/model", custom_outputs=answer, memoize=False, config=GenerateConfig(temperature=0.3))
    ran(model, best_of_n(by_length, 2))
    assert seen == [0.3, 0.3]
