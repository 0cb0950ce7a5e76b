"""A server that tells usage by half: what it leaves out is reckoned, never taken for nothing, and a limit holds."""

from __future__ import annotations

import asyncio
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.calls.ask import Choice
from bonwise.calls.bill import PartialUsage, Usage
from bonwise.calls.tokens import reckoned
from bonwise.testing import script as script_module
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from calls.scripted_runs import ANTHROPIC, OPENAI, in_memory, judged, pools, tally
from cli.commands import pool_file, typed

SIDES = {OPENAI: ("prompt_tokens", "completion_tokens"), ANTHROPIC: ("input_tokens", "output_tokens")}
ABSENT = object()
UNREADABLE = [ABSENT, None, "12", "", math.inf, -math.inf, math.nan, -3, True, False, [], {}, 10**400, 2**60]
HALVES = [value for value in UNREADABLE if value is ABSENT or value is None or value in ("12", math.inf, -3, True)]


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Set keys: both services are played."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-scripted")
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "BONWISE_PRICES"):
        monkeypatch.delenv(name, raising=False)


def with_usage(patch, usage):
    """Have every scripted answer carry this usage object, whatever it is."""
    body = script_module.reply_body

    def changed(request, reply):
        whole = json.loads(body(request, reply))
        whole.pop("usage", None)
        return json.dumps(whole if usage is ABSENT else whole | {"usage": usage}).encode()

    patch.setattr(script_module, "reply_body", changed)


def without_absent(fields):
    """Leave out the fields that are not there."""
    return {name: value for name, value in fields.items() if value is not ABSENT}


def spent(usage, judge, limits=None):
    """Judge one candidate; return the spending, and the bill."""
    with pytest.MonkeyPatch.context() as patch:
        with_usage(patch, usage)
        verdicts, engine = asyncio.run(
            judged(pools(1, candidates=1), judge, connection=in_memory(Script()), **(limits or {}))
        )
    assert tally(verdicts)["scored"] == 1
    return engine.spending, engine.totals.bill


def readable(value):
    """Tell whether a value is a count of tokens."""
    return not isinstance(value, bool) and isinstance(value, (int, float)) and 0 <= value <= 2**53


ANY_COUNT = st.sampled_from([*UNREADABLE, 0, 1, 40, 700, 3000, 12.0])
SHAPES = st.tuples(st.sampled_from([OPENAI, ANTHROPIC]), ANY_COUNT, ANY_COUNT, ANY_COUNT)


@settings(max_examples=25, deadline=None)
@given(SHAPES)
def test_every_shape_of_usage_is_charged(shape):
    """A side that is told counts as told; any other at least as its text, and no total is undercut."""
    judge, prompt, output, total = shape
    names = SIDES[judge]
    whole, bill = spent(ABSENT, judge)
    worst = whole.possible_tokens
    assert (whole.tokens, bill.cost) == (0, None)
    assert worst > 1000
    found, bill = spent(without_absent({names[0]: prompt, names[1]: output, "total_tokens": total}), judge)
    told = [value if readable(value) and value > 0 else None for value in (prompt, output)]
    charged = found.tokens + found.possible_tokens
    assert found.tokens == sum(value or 0 for value in told)
    assert (bill.input_tokens, bill.output_tokens) == tuple(value or 0 for value in told)
    if None not in told:
        assert (charged, found.possible_tokens) == (sum(told), 0)
        return
    assert found.possible_tokens > 0
    assert found.possible_cost > 0
    assert bill.cost is None
    if readable(total) and total:
        assert charged >= max(total, found.tokens + 1)
    elif told == [None, None]:
        assert charged == worst
    elif told[1] is None:
        assert charged >= told[0] + 1024  # the most that the answer can have, which holds reasoning that nobody sees
    else:
        assert charged >= told[1] + 100  # about the text that was sent


@pytest.mark.parametrize("usage", [None, "many", [], 7, math.inf, {}, {"cost": 3}])
@pytest.mark.parametrize("judge", [OPENAI, ANTHROPIC])
def test_no_usage_at_all_is_the_worst_case(usage, judge):
    """Whatever stands in the place of the counts, the worst case stays charged."""
    assert spent(usage, judge)[0].possible_tokens == spent(ABSENT, judge)[0].possible_tokens


def test_a_part_of_the_input_that_cannot_be_read_is_no_zero():
    """Anthropic counts the cached input beside the rest: one unreadable part leaves the input unknown."""
    usage = {"input_tokens": 5, "cache_read_input_tokens": "900", "output_tokens": 7}
    found, _ = spent(usage, ANTHROPIC)
    assert found.tokens == 12
    assert found.possible_tokens > 100
    assert spent({**usage, "cache_read_input_tokens": None}, ANTHROPIC)[0].possible_tokens == 0


GOLDEN = [
    # 1,005 in all less 5 of output: 1,000 are left for the input, more than the 800 that were counted here.
    (PartialUsage(Usage(output=5), False, True, 1005), Usage(uncached=1000, output=5)),
    (PartialUsage(Usage(output=5), False, True, 700), Usage(uncached=800, output=5)),
    (PartialUsage(Usage(output=5), False, True, None), Usage(uncached=800, output=5)),
    # The answer has 8 letters: two tokens. 900 - 700 = 200 are left for it; 64 is the most it may have.
    (PartialUsage(Usage(uncached=700), True, False, 900), Usage(uncached=700, output=200)),
    (PartialUsage(Usage(uncached=700), True, False, 700), Usage(uncached=700, output=2)),
    (PartialUsage(Usage(uncached=700), True, False, None), Usage(uncached=700, output=64)),
    (PartialUsage(Usage(), False, False, 1000), Usage(uncached=800, output=200)),
    (PartialUsage(Usage(uncached=5, cache_read=300), False, False, 900), Usage(500, 300, output=100)),
]


@pytest.mark.parametrize(("partial", "expected"), GOLDEN)
def test_the_reckoning_worked_by_hand(partial, expected):
    """The larger of what the total leaves and of what the text counts."""
    assert reckoned(partial, 800, 64, [Choice("abcdefgh")]) == expected


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("value", HALVES, ids=[f"half{at}" for at in range(len(HALVES))])
def test_a_run_stops_at_its_limit_although_half_is_not_told(tmp_path, monkeypatch, capsys, side, value):
    """120 requests of 4 kB each over a server that leaves a side out: 40,000 tokens are not enough for them."""
    names = SIDES[OPENAI]
    fields = {names[1 - side]: 1100 if side else 12, names[side]: value, "total_tokens": ABSENT}
    with_usage(monkeypatch, without_absent(fields))
    pools_of_4_kb = {f"p{number}": [f"{number} " + "x" * 4000] for number in range(120)}
    script = Script()
    with ScriptedServer(script).in_thread() as server:
        done = typed(
            capsys,
            *(
                "judge",
                pool_file(tmp_path / "pools.jsonl", pools_of_4_kb),
                "--judge",
                "pointwise:openai/m",
                "--base-url",
                f"{server.url}/v1",
            ),
            *("--max-tokens", "40000", "--run", tmp_path / "run", "--out", tmp_path / "scores.csv"),
        )
    assert done.code == 4, done.err
    assert "more may be billed" in done.err
    assert 0 < script.counts.answers <= 40
