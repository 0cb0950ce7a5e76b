from __future__ import annotations

import asyncio
import copy
import json
import operator
import pickle
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import openai
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import BonwiseError, CallError, UsageError
from bonwise.judges.protocol import is_asking
from bonwise.selection.selector import Selector
from bonwise.testing import FakeTransport, ScriptedServer
from selection.drawn_settings import ALONE, LOCAL, PLAIN, RULES, SETTINGS, length
from selection.services import JUDGE, POOL, asking, by_worth

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
SECRETS = st.from_regex(r"[a-zA-Z0-9]{12,20}", fullmatch=True)


def through_json(selector):
    """Return the selector that a file of its settings makes."""
    return Selector.from_dict(json.loads(json.dumps(selector.to_dict(), allow_nan=False)))


def unpickled(selector):
    """Return what comes out of a pickle of it."""
    return pickle.loads(pickle.dumps(selector))  # noqa: S301 - it was made here


WAYS = pytest.mark.parametrize("way", [through_json, unpickled, copy.copy, copy.deepcopy])


def plain_settings(selector):
    """Return the settings that are compared as they are; a mapping compares judges, strategies, routers, paths."""
    choosing, asked = selector._settings, selector._engines.settings
    return replace(choosing, router=None, judge=None, strategy=None), {**asked, "ledger": None}


@WAYS
@given(drawn=SETTINGS)
@settings(max_examples=60)
def test_settings_come_back(way, drawn):
    """Of any settings: by a mapping through JSON, by a pickle, by a copy."""
    selector = Selector(**drawn)
    again = way(selector)
    assert again.to_dict() == selector.to_dict()
    assert plain_settings(again) == plain_settings(selector)
    assert (again._here, again._thread_host) == (selector._here, selector._thread_host)


@given(judge=ALONE, rule=RULES)
def test_a_judge_and_a_strategy_come_back_as_they_were(judge, rule):
    """Not only under their names: they are equal, and give the same answers a key in the ledger."""
    again = through_json(Selector(judge, strategy=rule))._settings
    assert (again.judge.name, again.judge.version) == (judge.name, judge.version)
    assert again.strategy == rule
    asked = [one.asks("p", ["a"]) if is_asking(one) else None for one in (judge, again.judge)]
    assert repr(asked[0]) == repr(asked[1])


def test_fields_of_the_body_come_back():
    """What `params` of a judge adds to requests stands in its name; a mapping by hand may hold it as it is."""
    params = {"reasoning_effort": "low", "extra": {"top_k": 5}}
    judge = bw.Pairwise("openai/m", params=params, seed=3)
    by_hand = {"spec": "pairwise:openai/m", "params": params, "seed": 3}
    for again in (through_json(Selector(judge)), Selector.from_dict({"judge": by_hand})):
        assert again._settings.judge == judge
        assert again._settings.judge.asks("p", ["a", "b"])[0].params == params


@given(settings=st.fixed_dictionaries({}, optional=PLAIN))
def test_what_a_mapping_leaves_out_has_its_default(settings):
    """A mapping of some settings is the selector of these keywords."""
    written = {name: str(value) if isinstance(value, Path) else value for name, value in settings.items()}
    made = Selector.from_dict({"judge": "local:length", **written})
    assert made.to_dict() == Selector(bw.judge_from_spec("local:length"), **settings).to_dict()


@given(settings=SETTINGS, spent=st.integers(1, 5))
def test_copies_share_an_account_and_pickles_do_not(settings, spent):
    """What is spent by a selector counts for its copies, and not for what is unpickled."""
    limit = settings.get("max_calls")
    limit = spent if limit is None else max(limit, spent)
    selector = Selector(**{**settings, "max_calls": limit})
    account = selector._engines.spending

    async def spend():
        for _ in range(spent):
            (await account.reserve(0, 0.0)).settle(0, 0.0)

    asyncio.run(spend())
    first, second, alone = copy.copy(selector), copy.deepcopy(copy.copy(selector)), unpickled(selector)
    assert first._engines.spending is second._engines.spending is account
    assert (account.calls, alone._engines.spending.calls) == (spent, 0)
    assert repr(alone._engines.spending).startswith("Spending(calls=0, tokens=0, cost=0.0, in_flight=0, ")


@WAYS
@given(
    judge=LOCAL,
    seed=st.integers(0, 99),
    pools=st.lists(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=4), max_size=3),
)
def test_the_same_selections_come_of_it(way, judge, seed, pools):
    """Also where the seed decides."""
    selector = Selector(judge, seed=seed, on_failure="owe")
    again = way(selector)
    for pool in pools:
        one, other = selector.select("Say it", pool), again.select("Say it", pool)
        assert replace(one, latency=0) == replace(other, latency=0)


@given(name=st.sampled_from(sorted(Selector.from_dict({"judge": "local:length"}).to_dict())), value=JSON)
@example("deadline", "8")
@example("max_cost", "5")
@example("seed", 0.5)
@example("judge", {"spec": "pairwise:openai/m", "seed": "x"})
@example("strategy", {"spec": "greedy", "base_url": 3})
@example("router", {"strong": "local:length", "window": "x"})
@example("router", {"strong": "local:length", "signal": {"schema": "bonwise.router/1"}})
@example("connection", {"timeout": None})
def test_any_value_makes_a_selector_or_an_error_of_one_line(name, value):
    """No value that a file can hold ends in a traceback."""
    made, error = None, None
    try:
        made = Selector.from_dict({"judge": "local:length", name: value})
    except BonwiseError as refused:
        error = refused
    if made is None:
        assert "\n" not in error.message
        assert error.hint
    else:
        assert through_json(made).to_dict() == made.to_dict()


@given(
    name=st.text(min_size=1).filter(lambda name: name not in Selector.from_dict({"judge": "local:length"}).to_dict())
)
def test_an_unknown_key_is_named(name):
    """A key that is misspelt is no setting that silently has its default."""
    with pytest.raises(UsageError) as caught:
        Selector.from_dict({"judge": "local:length", name: 1})
    assert repr(name) in caught.value.message
    assert "max_calls" in caught.value.hint


@given(
    secret=SECRETS, form=st.sampled_from(["http://me:{}@host/v1", "http://{}@host/v1", "http://host/v1?api-key={}"])
)
@pytest.mark.parametrize("place", ["judge", "strategy", "strong", "second"])
def test_no_secret_is_written(place, secret, form):
    """An address with a login or a key is refused, and the message does not repeat it."""
    asked = bw.Pointwise("openai/m", base_url=form.format(secret))
    open_ = bw.Pointwise("openai/m")
    settings = {
        "judge": {"judge": asked},
        "strategy": {"judge": open_, "strategy": bw.TieBreak(bw.Pairwise("openai/m", base_url=form.format(secret)))},
        "strong": {"judge": open_, "router": bw.Router(bw.Quantized(asked))},
        "second": {"judge": open_, "router": bw.Router(open_, "disagreement", second=asked)},
    }
    with pytest.raises(UsageError, match="login or a key") as caught:
        Selector(**settings[place]).to_dict()
    assert secret not in str(caught.value)
    assert "OPENAI_BASE_URL" in caught.value.hint


def test_keys_of_the_environment_are_not_written(monkeypatch):
    """Neither in the mapping nor in the pickle."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-indeed")
    selector = Selector(bw.Pointwise("openai/m", price=(1.0, 1.0)), max_cost=1.0)
    assert "secret" not in json.dumps(selector.to_dict())
    assert b"secret" not in pickle.dumps(selector)


class Named:
    """A judge whose name makes another one."""

    version = "1"

    def __init__(self, name):
        self.name = name

    def judge(self, prompt, candidates):
        """Score nothing."""


@pytest.mark.parametrize(
    ("settings", "said", "mend"),
    [
        ({"judge": length}, "judge is the Python function length", "plug-in"),
        ({"judge": bw.Quantized(length)}, "judge is the Python function length", "plug-in"),
        (
            {"judge": bw.Pointwise("openai/m", client=openai.OpenAI(api_key="none"))},
            "judge holds a client",
            "leave client= out",
        ),
        ({"judge": Named("mine")}, "judge cannot be made again from its name 'mine': no kind of judge", "plug-in"),
        (
            {"judge": Named("local:length")},
            "'local:length' has settings that its name does not state",
            "judge_from_spec",
        ),
        ({"judge": JUDGE, "strategy": bw.TieBreak(length)}, "strategy is the Python function length", "plug-in"),
        ({"judge": JUDGE, "router": bw.Router(length)}, "router.strong is the Python function length", "plug-in"),
        ({"judge": JUDGE, "text": str}, "text is a function", "mappings with the key text"),
        (
            {"judge": JUDGE, "connection": Connection(transport=FakeTransport(by_worth()))},
            "transport",
            "leave transport=",
        ),
    ],
)
def test_what_plain_values_cannot_state_is_refused(settings, said, mend):
    """With one line that says what it is, and a hint that says how to mend it."""
    with pytest.raises(UsageError) as caught:
        Selector(**settings).to_dict()
    assert said in caught.value.message
    assert "\n" not in caught.value.message
    assert mend in caught.value.hint


def test_an_open_ledger_is_no_path(tmp_path):
    """What is open belongs to whoever opened it."""
    with Ledger.open(tmp_path / "run") as ledger, pytest.raises(UsageError, match="ledger is a Ledger"):
        Selector(JUDGE, ledger=ledger).to_dict()


@pytest.mark.parametrize("settings", [{"judge": length}, {"judge": JUDGE, "text": operator.itemgetter("said")}])
def test_what_can_be_pickled_is_pickled(settings):
    """A function of a module is not refused, though no plain value states it."""
    again = unpickled(Selector(**settings))
    assert again._settings.judge == settings["judge"] or again._settings.judge.function is length
    assert (again._text is None) == ("text" not in settings)


def test_what_cannot_be_pickled_says_so():
    """A function written in place by Python's own error, a client by ours."""
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(Selector(lambda _prompt, text: len(text)))
    with pytest.raises(UsageError, match="client= cannot be pickled"):
        pickle.dumps(Selector(bw.Pointwise("openai/m", client=openai.OpenAI(api_key="none"))))


def test_another_process_selects_by_a_pickle(tmp_path):
    """The settings are all that it takes."""
    (tmp_path / "selector").write_bytes(pickle.dumps(Selector(bw.judge_from_spec("local:length"), deadline=60.0)))
    program = """
        import pickle, sys
        with pickle.load(open(sys.argv[1], "rb")) as selector:
            print(selector.select("Say hello", ["Hi.", "Hello, how are you?"]).best)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "selector")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert done.stdout == "Hello, how are you?\n"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, unpickled])
def test_a_copy_of_a_closed_selector_is_open(copied):
    """Closing one closes no other."""
    selector = Selector(length, deadline=60.0)
    with selector:
        assert selector.select("p", POOL).decided_by
    with copied(selector) as again:
        assert again.select("p", POOL).decided_by
        other = copied(again)
    assert other.select("p", POOL).decided_by
    other.close()
    with pytest.raises(UsageError, match="closed"):
        selector.select("p", POOL)


def test_a_deep_copy_of_what_holds_a_selector_holds_one_copy():
    """As a framework copies its components; a judge that cannot be copied deeply is shared."""
    selector = Selector(length)
    component = copy.deepcopy({"a": selector, "b": [selector]})
    assert component["a"] is component["b"][0]
    assert component["a"] is not selector
    assert component["a"]._settings.judge is selector._settings.judge


def run_by(selector, number, pools):
    """Select from pools: in an event loop at once, or from ordinary code one after the other."""

    async def at_once():
        return await asyncio.gather(*(selector.aselect(*pool) for pool in pools))

    return asyncio.run(at_once()) if number % 2 else [selector.select(*pool) for pool in pools]


@pytest.mark.parametrize(
    "given_to", [lambda selector: selector, copy.copy, copy.deepcopy], ids=["itself", "copies", "deep"]
)
def test_a_limit_holds_over_copies_threads_and_loops(given_to):
    """Eight threads, half of them with an event loop of their own, pay for 40 calls; every other pick says why."""
    script = by_worth(latency=0.002)
    selector = asking(script, max_calls=40, on_failure="first")
    used = [given_to(selector) for _ in range(8)]
    with ThreadPoolExecutor(8) as workers:
        begun = [
            workers.submit(run_by, one, number, [(f"p{number} {at}", POOL) for at in range(6)])
            for number, one in enumerate(used)
        ]
        picks = [pick for one in begun for pick in one.result(60)]
    assert script.counts.requests == 40
    assert len(picks) == 48
    paid = [pick for pick in picks if not pick.failure]
    assert {(pick.best_id, pick.decided_by) for pick in paid} <= {("c1", "score")}
    unpaid = [pick for pick in picks if pick.failure]
    assert len(paid) * len(POOL) <= 40
    assert all("max_calls=40 is reached" in pick.failure for pick in unpaid)
    assert {pick.decided_by for pick in unpaid} <= {"limit", "first"}
    assert sum(pick.calls for pick in picks) == 40
    for one in used:
        one.close()


def test_a_pickle_spends_from_limits_of_its_own():
    """What comes out of a pickle makes as many calls as the original, whatever that has spent; a copy makes none."""
    script = by_worth()
    with ScriptedServer(script).in_thread() as server:
        judge = bw.Pointwise("openai/m", base_url=f"{server.url}/v1")
        selector = Selector(judge, max_calls=len(POOL))
        assert selector.select("p0", POOL).best_id == "c1"
        again, alone = copy.copy(selector), unpickled(selector)
        with pytest.raises(CallError, match="max_calls"):
            again.select("p1", POOL)
        assert alone.select("p1", POOL).best_id == "c1"
        for one in (selector, again, alone):
            one.close()
    assert script.counts.requests == 2 * len(POOL)
