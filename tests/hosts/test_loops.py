"""Other loops than asyncio's own: gevent's greenlets, uvloop, and trio by itself and through anyio.

Each part works, or is refused in one sentence. The parts run in processes of their own, because what gevent replaces
stays replaced; the server that they ask runs in this one, which nobody patches.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

import pytest

from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from processes import ended, started

for needed in ("gevent", "uvloop", "trio", "anyio"):
    # Where they are asked for they must be there: otherwise nothing would be tested, without a word.
    import_module(needed) if os.environ.get("BONWISE_REQUIRE_HOST") == "loops" else pytest.importorskip(needed)

BEGINNING = """
import json, sys
PATCHED = json.loads(sys.argv[2])
if PATCHED is not None:
    from gevent import monkey, spawn
    monkey.patch_all(**PATCHED)
import bonwise as bw

JUDGE = bw.Pointwise("openai/gpt-5-mini", base_url=sys.argv[1] + "/v1")
POOL = ("Why?", ["a", "b", "c"])

def in_greenlets(work, count=6):
    return [one.get(timeout=120) for one in [spawn(work, at) for at in range(count)]]

def told(name, work):
    try:
        print(json.dumps([name, "works", work()]), flush=True)
    except bw.BonwiseError as error:
        print(json.dumps([name, "refused", str(error)]), flush=True)
"""
GREENLETS = """
def one_after_another():
    best = []
    for _ in range(2):
        with bw.Selector(JUDGE) as selector:
            best.append(selector.select(*POOL).best)
    return best

def shared():
    with bw.Selector(JUDGE) as selector:
        return in_greenlets(lambda at: selector.select(*POOL).best)

def each_with_its_own(at):
    with bw.Selector(JUDGE) as selector:
        return selector.select(*POOL).best

def audit(at):
    rows = [{"prompt_id": f"p{p}", "candidate": c, "judge_score": (7 * p + 3 * at) % 5, "oracle_label": (p + at) % 3}
            for p in range(12) for at, c in enumerate("abc")]
    return str(bw.audit(rows)["recovery"].estimate)

told("one after another", one_after_another)
told("one selector for all", shared)
told("a selector for each", lambda: in_greenlets(each_with_its_own))
told("audit", lambda: in_greenlets(audit, 2))
told("select", lambda: in_greenlets(lambda at: bw.select(*POOL, judge=JUDGE).best))
"""
HALF = 'told("select", lambda: bw.select(*POOL, judge=JUDGE).best)'
LOOPS = """
import anyio, trio, uvloop

async def aselect():
    return (await bw.aselect(*POOL, judge=JUDGE)).best

async def selector():
    async with bw.Selector(JUDGE) as selector:
        return (await selector.aselect(*POOL)).best

async def aselect_many():
    return [pick.best async for pick in bw.aselect_many([POOL], judge=JUDGE)]

async def ajudge():
    return len(await bw.ajudge([POOL], judge=JUDGE))

async def local():
    return (await bw.aselect(*POOL, judge=lambda prompt, text: len(text))).best

async def in_thread():
    return await trio.to_thread.run_sync(lambda: bw.select(*POOL, judge=JUDGE).best)

for work in (aselect, selector, aselect_many, ajudge, local):
    told(f"uvloop {work.__name__}", lambda: uvloop.run(work()))
    told(f"anyio {work.__name__}", lambda: anyio.run(work, backend_options={"use_uvloop": True}))
    told(f"trio {work.__name__}", lambda: trio.run(work))
    told(f"anyio on trio {work.__name__}", lambda: anyio.run(work, backend="trio"))
told("trio select in a thread", lambda: trio.run(in_thread))
"""
RUNS = {
    "gevent": ({}, GREENLETS),
    "gevent without threads": ({"thread": False}, HALF),
    "gevent without select": ({"select": False}, HALF),
    "loops": (None, LOOPS),
}
GREENLETS_OF_ONE_LOOP = "under gevent one event loop runs at a time"
HALF_OF_GEVENT = "gevent has replaced only one of threads and select"
ASYNC_ONLY = "need the event loop of asyncio"
ASYNC = ("aselect", "selector", "aselect_many", "ajudge", "local")
CASES = [
    ("gevent", "one after another", ""),
    ("gevent", "one selector for all", ""),
    ("gevent", "a selector for each", GREENLETS_OF_ONE_LOOP),
    ("gevent", "audit", ""),
    ("gevent", "select", ""),
    ("gevent without threads", "select", HALF_OF_GEVENT),
    ("gevent without select", "select", HALF_OF_GEVENT),
    *(("loops", f"{loop} {name}", "") for loop in ("uvloop", "anyio") for name in ASYNC),
    *(("loops", f"{loop} {name}", ASYNC_ONLY) for loop in ("trio", "anyio on trio") for name in ASYNC),
    ("loops", "trio select in a thread", ""),
]


@pytest.fixture(scope="module")
def outcome():
    """Return what each part came to, from one process per run."""
    outcomes = {}
    with ScriptedServer(Script()).in_thread() as server:
        for run, (patched, code) in RUNS.items():
            command = [sys.executable, "-c", BEGINNING + code, server.url, json.dumps(patched)]
            _, out, err = ended(started(command, env=os.environ | {"OPENAI_API_KEY": "sk-of-nobody"}))
            outcomes |= {(run, name): (how, result) for name, how, result in map(json.loads, out.splitlines())}
            outcomes[run] = err
    return outcomes


@pytest.mark.parametrize(("run", "part", "refused"), CASES, ids=lambda value: value or "works")
def test_it_works_or_is_refused_in_one_sentence(outcome, run, part, refused):
    """Nothing hangs, and no error of a library stands in the place of a sentence."""
    assert (run, part) in outcome, outcome[run]
    how, result = outcome[run, part]
    assert how == ("refused" if refused else "works"), result
    if refused:
        assert result.startswith(refused) or refused in result
        assert "\n" not in result
