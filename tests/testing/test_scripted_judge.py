from __future__ import annotations

import math

import pytest

import bonwise as bw
from bonwise.errors import JudgeError
from bonwise.testing import ScriptedJudge
from bonwise.testing.scripted_judge import Asked


def test_it_is_a_judge_and_selects():
    """A scripted judge decides a selection like any other."""
    judge = ScriptedJudge({"a": 1, "b": 3, "c": None})
    assert isinstance(judge, bw.Judge)
    assert bw.select("?", ["a", "b", "c"], judge=judge).best == "b"
    assert judge.calls == [Asked("?", ("a", "b", "c"))]


def test_a_list_is_said_in_order():
    """A list is consumed candidate by candidate, over several calls."""
    judge = ScriptedJudge([1, None, "refused", 4.5], name="strict", version="7")
    found = [*judge.judge("p", ["a", "b"]), *judge.judge("q", ["c", "d"])]
    assert found == [bw.Score(1), bw.Unscored("no verdict was prepared"), bw.Unscored("refused"), bw.Score(4.5)]
    assert (judge.name, judge.version, [asked.prompt for asked in judge.calls]) == ("strict", "7", ["p", "q"])


def test_a_list_comes_to_its_end():
    """A judge with nothing left to say names what it was asked about, and keeps saying so."""
    judge = ScriptedJudge([1, 2])
    for candidates in (["a", "c", "b"], ["b"]):
        with pytest.raises(JudgeError, match=r"has said all of its 2 verdicts and was asked about 'b'"):
            judge.judge("p", candidates)


def test_a_mapping_may_tell_prompts_apart():
    """The pair of prompt and text goes before the text alone; what is missing is named."""
    judge = ScriptedJudge({("p", "a"): 1, "a": 2})
    assert judge.judge("p", ["a"]) == [bw.Score(1)]
    assert judge.judge("q", ["a"]) == [bw.Score(2)]
    with pytest.raises(JudgeError, match="no verdict for 'b'"):
        judge.judge("q", ["b"])


def test_a_function_sees_prompt_and_text():
    """A function is asked once a candidate, and verdicts pass through it as they are."""
    whole = bw.Unscored("cut", "raw", owed=True)
    judge = ScriptedJudge(lambda prompt, text: whole if text == "x" else len(prompt + text))
    assert judge.judge("pp", ["abc", "x"]) == [bw.Score(5), whole]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, True, [1]])
def test_what_is_no_verdict_is_refused(wrong):
    """A value that is neither a finite number, nor None, nor a reason is not a verdict."""
    with pytest.raises(JudgeError, match="was told to say"):
        ScriptedJudge([wrong]).judge("p", ["a"])


@pytest.mark.parametrize("wrong", ["abc", 3, None])
def test_what_holds_no_verdicts_is_refused(wrong):
    """A script is a mapping, a function or a list."""
    with pytest.raises(JudgeError, match="holds no verdicts"):
        ScriptedJudge(wrong)
