"""What every adapter that draws n candidates must do, asked of each through a driver.

A driver is a callable ``(judge, answers, **settings)``: it makes a model of the host that gives these answers one
after the other, an exception being raised, asks for the best of as many, and returns a `Generated`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from bonwise.errors import JudgeError
from bonwise.hosts.generation import BestOfN

TOKENS_IN, TOKENS_OUT = 3, 5
"""What each answer of a model of a driver takes."""


@dataclass
class Generated:
    """What came out of a host."""

    text: str
    trail: dict[str, Any]
    usage: tuple[int, int] | None
    best_of: BestOfN
    asked: int


def by_length(_prompt, text):
    """Score a text by its length; one with a question mark has no score."""
    return None if "?" in text else len(text)


def broken(_prompt, _text):
    """Fail."""
    raise RuntimeError("out of order")


class DrawError(Exception):
    """What a model raises."""


def best_wins(generate):
    """The best candidate is returned; usage is the sum of all, and the judge's stands apart."""
    found = generate(by_length, ["red", "scarlet", "blue", "tan"])
    assert found.text == "scarlet"
    assert found.trail["decided_by"] == "score"
    assert sorted(found.trail["scores"]) == [3.0, 3.0, 4.0, 7.0]
    assert found.trail["judge_usage"] == {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost": 0.0}
    assert found.usage in (None, (4 * TOKENS_IN, 4 * TOKENS_OUT))
    assert found.asked == 4
    assert found.trail["unjudged"] is False


def one_draw(generate):
    """Of one candidate there is nothing to choose."""
    found = generate(by_length, ["red"])
    assert (found.text, found.trail["decided_by"], found.asked) == ("red", "only candidate", 1)


def same_text(generate):
    """Candidates of one text need no judge, and are not unjudged."""
    found = generate(broken, ["red", "red", "red"])
    assert (found.text, found.trail["decided_by"], found.trail["unjudged"]) == ("red", "same text", False)


def ties_go_to_anyone(generate):
    """Of candidates that are scored alike one is drawn by the seed: the first is not preferred."""
    kept = Counter(generate(lambda _, text: 7, ["red", "blue", "tan"], seed=seed).text for seed in range(12))
    assert set(kept) == {"red", "blue", "tan"}


def failing_judge_costs_no_candidate(generate):
    """A judge that fails does not raise: one candidate is drawn by the seed, not always the first, and marked."""
    kept = Counter()
    for seed in range(12):
        found = generate(broken, ["red", "scarlet", "blue"], seed=seed)
        assert found.trail["unjudged"] is True
        assert found.trail["decided_by"] == "random"
        assert "out of order" in found.trail["failure"]
        assert found.best_of.totals.counts.unjudged == 1
        assert found.asked == 3
        kept[found.text] += 1
    assert set(kept) == {"red", "scarlet", "blue"}


def failing_judge_raises_where_asked_to(generate):
    """Where asked to, the judge's error is raised, once: nothing is drawn a second time."""
    with pytest.raises(JudgeError, match="out of order"):
        generate(broken, ["red", "scarlet"], on_failure="raise")


def nothing_scored(generate):
    """Where no candidate has a score, one is drawn and marked; where asked to raise, no index is not candidate 0."""
    found = generate(by_length, ["a?", "bb?", "ccc?"])
    assert (found.trail["unjudged"], found.trail["decided_by"]) == (True, "random")
    with pytest.raises(JudgeError, match="scored no candidate: the function returned nothing"):
        generate(by_length, ["a?", "bb?", "ccc?"], on_failure="raise")


def some_draws_fail(generate):
    """What could not be drawn is left out and listed; the best of the others is returned."""
    found = generate(by_length, ["red", DrawError("busy"), "blue", DrawError("busy")])
    assert found.text == "blue"
    assert len(found.trail["scores"]) == 2
    assert [one.partition(":")[0] for one in found.trail["failed_draws"]] == ["DrawError", "DrawError"]
    assert found.best_of.totals.counts.failed_draws == 2


def all_draws_fail(generate):
    """Where nothing could be drawn the host gets the error of its model."""
    with pytest.raises(DrawError, match="busy"):
        generate(by_length, [DrawError("busy"), DrawError("busy")])


GENERATION_RULES = (
    best_wins,
    one_draw,
    same_text,
    ties_go_to_anyone,
    failing_judge_costs_no_candidate,
    failing_judge_raises_where_asked_to,
    nothing_scored,
    some_draws_fail,
    all_draws_fail,
)


async def ends_with_its_caller(request):
    """A caller that gives up ends every draw before it gets its own error; nothing goes on behind its back.

    ``request(judge, n, answer)`` is awaited for a result; its model awaits ``answer()`` once per draw.
    """
    begun, ended = [], []

    async def answer():
        begun.append(1)
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(1)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await request(by_length, 3, answer)
    assert (len(begun), len(ended)) == (3, 3)


async def draws_side_by_side(request):
    """All draws wait at the same time, in the caller's loop."""
    waiting, everyone = [], asyncio.Event()

    async def answer():
        waiting.append(1)
        if len(waiting) == 4:
            everyone.set()
        await everyone.wait()
        return "red"

    async with asyncio.timeout(10):
        await request(by_length, 4, answer)
