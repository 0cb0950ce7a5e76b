from __future__ import annotations

import asyncio

import pytest

from hosts.generation_rules import broken, by_length
from hosts.reranker_rules import Reranked, does_not_block

pytest.importorskip("pydantic_evals")

from pydantic import BaseModel
from pydantic_evals import Case, Dataset

import bonwise as bw
from bonwise.hosts.pydantic_evals import JudgeEvaluator
from bonwise.table.verdicts import Score


def report_of(evaluator, outputs, inputs="Name a colour", **more):
    """Evaluate outputs, each of a case of its own."""
    cases = [Case(name=f"c{at}", inputs=inputs, expected_output=None) for at in range(len(outputs))]
    waiting = iter(outputs)
    dataset = Dataset(name="colours", cases=cases, evaluators=[evaluator])
    return dataset.evaluate(lambda _: next(waiting), progress=False, max_concurrency=1, **more)


def evaluated(*given, **more):
    """Do the same and wait."""
    return asyncio.run(report_of(*given, **more)).cases


def test_each_output_has_its_score():
    """One, identical and different outputs are scored, each in its own case."""
    evaluator = JudgeEvaluator(by_length)
    found = evaluated(evaluator, ["red", "scarlet", "red"])
    assert [one.scores["judge"].value for one in found] == [3.0, 7.0, 3.0]
    assert evaluator.ranker.totals.counts.selections == 3


def test_an_output_without_a_score_says_why():
    """It has no score and not the lowest one; the reason is a label."""
    found = evaluated(JudgeEvaluator(by_length, name="length"), ["red", "what?", None])
    assert [set(one.scores) for one in found] == [{"length"}, set(), set()]
    reasons = [one.labels["length_unscored"].value for one in found[1:]]
    assert reasons == ["the function returned nothing", "no text"]


def test_a_failing_judge_is_a_failure_of_the_evaluator():
    """The task is not run again, and the report says what failed; asked to, the judge's failure is a label."""
    (found,) = evaluated(JudgeEvaluator(broken), ["red"])
    assert found.scores == {}
    assert "out of order" in found.evaluator_failures[0].error_message
    evaluator = JudgeEvaluator(broken, settings={"on_failure": "random"})
    (found,) = evaluated(evaluator, ["red"])
    assert "out of order" in found.labels["judge_unscored"].value
    assert evaluator.ranker.totals.counts.unjudged == 1


class Paint(BaseModel):
    """An input and output with fields."""

    colour: str


def test_the_judge_reads_fields_as_json():
    """What is no text is JSON to the judge."""
    seen = []

    def judge(prompt, text):
        seen.append((prompt, text))
        return 1

    evaluated(JudgeEvaluator(judge), [Paint(colour="red")], inputs={"ask": "paint"})
    assert seen == [('{"ask":"paint"}', '{"colour":"red"}')]


def test_inputs_that_are_missing_are_an_error():
    """A judge without a prompt would judge something else."""
    (found,) = evaluated(JudgeEvaluator(by_length), ["red"], inputs=None)
    assert "there is no query" in found.evaluator_failures[0].error_message


class Sure:
    """A judge that says how sure it is."""

    name, version = "sure", "1"

    def judge(self, prompt, candidates):
        return [Score(5.0, low=4.0, high=6.0, raw="5 or so") for _ in candidates]


def test_how_sure_the_judge_is_stands_beside_the_score():
    """The interval of a judge is two more scores."""
    (found,) = evaluated(JudgeEvaluator(Sure()), ["red"])
    assert {name: one.value for name, one in found.scores.items()} == {
        "judge": 5.0,
        "judge_low": 4.0,
        "judge_high": 6.0,
    }
    assert found.scores["judge"].reason == "5 or so"


def test_the_evaluator_works_in_the_callers_loop():
    """Outputs are judged at the same time, and a caller that gives up ends the judging."""

    async def rerank(judge, query, texts):
        cases = [Case(name=text, inputs=query) for text in texts]
        dataset = Dataset(name="colours", cases=cases, evaluators=[JudgeEvaluator(judge)])
        answers = iter(texts)
        report = await dataset.evaluate(lambda _: next(answers), progress=False)
        ranked = sorted(report.cases, key=lambda one: -one.scores["judge"].value)

        return Reranked([one.output for one in ranked], [], [], None)

    asyncio.run(does_not_block(rerank))


def test_a_dataset_in_a_file_keeps_its_judge(tmp_path):
    """A judge that is named by a text is written and read back."""
    evaluator = JudgeEvaluator("local:length", name="length")
    dataset = Dataset(name="colours", cases=[Case(name="c", inputs="Name a colour")], evaluators=[evaluator])
    dataset.to_file(tmp_path / "colours.yaml", custom_evaluator_types=[JudgeEvaluator])
    read = Dataset[str, str, None].from_file(tmp_path / "colours.yaml", custom_evaluator_types=[JudgeEvaluator])
    (found,) = asyncio.run(read.evaluate(lambda _: "scarlet", progress=False)).cases
    with bw.Selector(bw.judge_from_spec("local:length")) as selector:
        assert found.scores["length"].value == selector.rank("Name a colour", ["scarlet"])[0].score
