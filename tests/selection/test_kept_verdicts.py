from __future__ import annotations

import asyncio
import json
import math

import pytest

import bonwise as bw
from bonwise.judges.local import from_name
from bonwise.routing.control import Route
from bonwise.selection.draws import kept_verdict


class Scripted:
    """A judge object with a list of answers per text; it notes what it was shown."""

    name, version = "scripted", "1"

    def __init__(self, answers, *, listwise=False):
        self.answers = {text: iter(said) for text, said in answers.items()}
        self.shown = []
        self.listwise = listwise

    def judge(self, _, candidates):
        """Return the next answer to each text."""
        self.shown.append(tuple(candidates))
        return [next(self.answers[text]) for text in candidates]


def stated(value, width=0.2, raw=""):
    """Return a score with an interval around it."""
    return bw.Score(value, low=value - width, high=value + width, raw=raw)


def test_a_selection_keeps_interval_words_and_reason():
    """Each verdict is there as the judge gave it, in candidate order; twins share it."""
    judge = Scripted(
        {
            "a": [stated(0.4, raw="so so"), stated(0.4, raw="so so")],
            "b": [stated(0.6, width=0.1, raw="good")],
            "c": [bw.Unscored("refused", "I will not")],
        }
    )
    found = bw.select("p", ["a", "b", "c", "a"], judge=judge)
    assert [type(one).__name__ for one in found.verdicts] == ["Score", "Score", "Unscored", "Score"]
    assert (found.verdicts[1].low, found.verdicts[1].high, found.verdicts[1].raw) == (0.5, 0.7, "good")
    assert found.verdicts[0] is found.verdicts[3]
    assert (found.verdicts[2].reason, found.verdicts[2].raw) == ("refused", "I will not")
    assert found.standard_errors == ()
    line = found.to_dict()
    assert line["low"] == [0.2, 0.5, None, 0.2]
    assert line["high"] == [pytest.approx(0.6), 0.7, None, pytest.approx(0.6)]
    assert line["raw"] == ["so so", "good", "I will not", "so so"]
    assert (line["draw_scores"], line["evaluations"]) == ([], 4)


def test_several_draws_are_kept_with_the_mean_of_their_ends():
    """The ends of redrawn candidates are the mean of what the judge stated; words stand one below the other."""
    draws = {
        text: [stated(0.5, raw="one"), stated(at, width=0.1, raw="two")] for text, at in (("a", 0.7), ("b", 0.3))
    }
    judge = Scripted(draws)
    found = bw.select("p", ["a", "b"], judge=judge, strategy=bw.Resample(draws=2))
    assert found.scores == (0.6, 0.4)
    assert [one.draws for one in found.verdicts] == [(0.5, 0.7), (0.5, 0.3)]
    assert (found.verdicts[0].low, found.verdicts[0].high) == (pytest.approx(0.45), pytest.approx(0.75))
    assert found.verdicts[0].raw == "one\n\ntwo"
    assert found.to_dict()["draw_scores"] == [[0.5, 0.7], [0.5, 0.3]]
    assert found.evaluations == 4


def test_ends_are_left_out_where_they_would_be_about_another_number():
    """No ends where a draw has none, nor where a strategy ranks by something else than the mean."""
    assert kept_verdict(bw.Score(0.5), [stated(0.4), bw.Score(0.6)]).width is None
    shrunk = kept_verdict(bw.Score(0.45), [stated(0.4), stated(0.6)])
    assert (shrunk.value, shrunk.width, shrunk.draws) == (0.45, None, (0.4, 0.6))


def test_a_draw_without_score_stays_among_the_draws():
    """The mean is of those with a score, and so are its ends; the reason of the other is in its words."""
    found = kept_verdict(bw.Score(0.4), [stated(0.4, raw="x"), bw.Unscored("empty reply", "?")])
    assert (found.draws, found.raw) == ((0.4, None), "x\n\n?")
    assert (found.low, found.high) == (pytest.approx(0.2), pytest.approx(0.6))


def test_value_of_information_keeps_words_beside_its_posterior_means():
    """The value is what the candidate is ranked by; what the judge said stands beside it."""
    judge = Scripted({text: [stated(at, raw=text)] * 8 for text, at in (("a", 0.7), ("b", 0.69), ("c", 0.2))})
    found = bw.select("p", ["a", "b", "c"], judge=judge, strategy=bw.ValueOfInformation(price=0.001))
    assert tuple(one.value for one in found.verdicts) == found.scores
    assert found.verdicts[2].raw.split() == ["c"] * found.draws[2]
    assert len(found.verdicts[found.index].draws) == found.draws[found.index]


def test_no_judge_no_verdict():
    """Where nothing was asked there is no verdict; blanks have their reason."""
    assert bw.select("p", ["a"], judge=lambda *_: 1 / 0).verdicts == (None,)
    assert bw.select("p", ["a", "a"], judge=lambda *_: 1 / 0).to_dict()["low"] == []


def test_win_rates_have_no_words():
    """A candidate that was compared only has its win rate as verdict."""
    found = bw.select("p", ["a", "bb"], judge=lambda _, text: len(text), strategy=bw.RoundRobin())
    assert found.verdicts == (bw.Score(0.0), bw.Score(1.0))
    assert found.evaluations == 2


def test_the_stronger_judge_has_the_last_word():
    """Where it decided, the verdicts are its own, at the places of its contenders, and its evaluations count."""

    class Sends:
        second = None

        def __init__(self, strong):
            self.strong = strong

        def consider(self, _, key=""):
            del key
            return Route(strong=True, signal=0.1, reason="close", contenders=(0, 2))

    weak = Scripted({text: [stated(0.5, raw="weak")] for text in "abc"})
    strong = Scripted({"a": [stated(0.2, raw="strong a")], "c": [stated(0.9, raw="strong c")]})
    found = bw.select("p", ["a", "b", "c"], judge=weak, router=Sends(strong))
    assert [one.raw for one in found.verdicts] == ["strong a", "", "strong c"]
    assert (found.best, found.evaluations) == ("c", 5)


POOL = ["a", "b", "c", "d"]
VALUES = {"a": 0.70, "b": 0.69, "c": 0.3, "d": 0.1}


@pytest.mark.parametrize("deadline", [None, 60.0], ids=["here", "in a loop"])
def test_only_candidates_to_be_redrawn_are_shown_to_a_judge_object(deadline):
    """After the first pass the two best alone are judged again: 8 evaluations, not 12, as of a function."""
    judge = Scripted({text: [bw.Score(value)] * 3 for text, value in VALUES.items()})
    found = bw.select("p", POOL, judge=judge, strategy=bw.Adaptive(margin=0.1, max_draws=3), deadline=deadline)
    assert judge.shown == [tuple(POOL), ("a", "b"), ("a", "b")]
    by_function = bw.select("p", POOL, judge=lambda _, text: VALUES[text], strategy=bw.Adaptive(max_draws=3))
    assert found.draws == by_function.draws == (3, 3, 1, 1)
    assert found.evaluations == by_function.evaluations == 8
    assert found.scores == by_function.scores


def test_a_listwise_judge_sees_the_pool_each_time():
    """What scores a candidate by the others is shown them all, also inside of another judge."""
    answers = {text: [bw.Score(value)] * 3 for text, value in VALUES.items()}
    judge = Scripted(answers, listwise=True)
    found = bw.select("p", POOL, judge=judge, strategy=bw.Adaptive(margin=0.1, max_draws=3))
    assert judge.shown == [tuple(POOL)] * 3
    assert (found.draws, found.evaluations) == ((3, 3, 1, 1), 12)
    again = Scripted({text: [bw.Score(value)] * 3 for text, value in VALUES.items()}, listwise=True)
    bw.select("p", POOL, judge=bw.Quantized(again, bins=101), strategy=bw.Adaptive(margin=0.1, max_draws=2))
    assert again.shown == [tuple(POOL)] * 2


@pytest.mark.parametrize("name", ["consensus", "lexical"])
def test_local_judges_that_compare_texts_keep_their_scores_when_asked_again(name):
    """Their score of a candidate rests on the pool: asked again it is the same."""
    pool = ["the sky is blue", "the sky is wide", "grass is green", "the sky is blue and wide"]
    judge = from_name(name)
    once = bw.select("why is the sky blue", pool, judge=judge)
    again = bw.select("why is the sky blue", pool, judge=judge, strategy=bw.Adaptive(margin=math.inf))
    assert again.scores == pytest.approx(once.scores)


def test_long_replies_lose_their_middle_and_lines_stay_lines():
    """A judge that says much is cut with a mark; a pick is one line of JSON whatever was said."""
    judge = Scripted({"a": [bw.Score(1.0, raw="x\n" * 20_000)], "b": [bw.Score(0.0, raw="\u2028\ud800")]})
    line = bw.select("p", ["a", "b"], judge=judge).to_dict()
    assert "[30000 characters left out here]" in line["raw"][0]
    assert len(line["raw"][0]) < 10_100
    assert "\n" not in json.dumps(line)


def test_an_asynchronous_function_counts_its_evaluations():
    """What is awaited is counted alike."""

    async def judge(prompt, text):
        return len(text)

    assert asyncio.run(bw.aselect("p", ["a", "bb", "ccc"], judge=judge)).evaluations == 3


CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
AS_TEXT = "system: Be brief.\n\nuser: Hi"


def test_a_prompt_of_messages_is_read_as_text():
    """The judge sees the conversation as one text, wherever a prompt can stand; the tie falls as for the text."""
    seen = []
    pools = [(CHAT, ["a", "b"]), {"prompt": CHAT, "candidates": ["a", "b"]}]
    with bw.Selector(lambda prompt, _: seen.append(prompt) or 1) as selector:
        found = [selector.select(CHAT, ["a", "b"]), *selector.select_many(pools)]
        by_text = selector.select(AS_TEXT, ["a", "b"])
    assert set(seen) == {AS_TEXT}
    assert {one.best for one in found} == {by_text.best}
    assert asyncio.run(bw.aselect(CHAT, ["a", "bb"], judge=lambda _, text: len(text))).best == "bb"


def test_a_generator_may_take_messages():
    """The first argument of a decorated function is the prompt also where it is a conversation."""
    answers = iter(["a", "bb"])

    @bw.best_of(n=2, judge=lambda prompt, text: len(text) if prompt == AS_TEXT else 0)
    def write(_):
        return next(answers)

    assert write(CHAT) == "bb"
