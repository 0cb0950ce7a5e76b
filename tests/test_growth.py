"""Growth is linear: twice the judges, prompts or pools take about twice the calls of functions, and of the memory.

Ratios of counts, which do not depend on the machine: a loop over every two of something has four times the calls, and
an array of every two four times the memory.
"""

import json
import sqlite3
import sys
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import openai
import pandas as pd
import pytest
from threadpoolctl import threadpool_info

import bonwise as bw
from bonwise.calls.providers.protocol import Connection, http_library
from bonwise.cli import entry
from bonwise.extras import limited_threads, linear_algebra
from bonwise.testing import simulate

HOME = str(Path(bw.__file__).parent)


def calls(run):
    """Count the calls of functions of bonwise, and of what these call in C."""
    count = 0

    def note(frame, event, _):
        nonlocal count
        count += event in ("call", "c_call") and frame.f_code.co_filename.startswith(HOME)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def peak(run):
    """Return the most memory that is held at a time, in bytes."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def judged(prompts, judges, lacking=0.0):
    """Return a table of judges that each lack some of the prompts."""
    first, rng = simulate("arena", n=prompts, seed=0).frame(), np.random.default_rng(0)
    tables = []
    for at in range(judges):
        score = (0.5 * first["judge_score"] + 0.5 * rng.random(len(first))).round(2)
        table = first.assign(judge=f"judge{at}", judge_score=score)
        tables.append(table[~np.repeat(rng.random(prompts) < lacking, len(table) // prompts)])
    return pd.concat(tables, ignore_index=True)


@pytest.mark.parametrize("lacking", [0.0, 0.05])
def test_an_audit_grows_with_its_judges(lacking):
    """Every two judges are compared in columns: a pair costs a small part of what a judge does, with holes or not."""
    few, many = (judged(60, number, lacking) for number in (10, 20))
    bw.audit(few)
    assert calls(lambda: bw.audit(many)) < 2.6 * calls(lambda: bw.audit(few))


def test_holes_cost_no_calls_of_every_two_judges():
    """The same judges with holes take at most half as many calls again."""
    whole, holes = (judged(60, 16, lacking) for lacking in (0.0, 0.05))
    bw.audit(whole)
    assert calls(lambda: bw.audit(holes)) < 1.5 * calls(lambda: bw.audit(whole))


STUDIES = {
    "audit": (1, bw.audit),
    "route": (1, bw.route),
    "compare": (1, lambda table: bw.compare_designs(table, draws=20)),
    "calibration": (1, bw.study_calibration),
    "stack": (2, bw.fit_stack),
}


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_grows_with_its_prompts(study):
    """Twice the prompts take at most a little more than twice the calls, and twice the memory."""
    judges, run = STUDIES[study]
    some, twice = (judged(prompts, judges) for prompts in (1000, 2000))
    run(some)
    for measure in (calls, peak):
        assert measure(lambda: run(twice)) < 2.4 * measure(lambda: run(some)), measure.__name__


def test_a_dry_run_grows_with_its_pools(tmp_path, monkeypatch):
    """Twice the pools take twice the calls to count."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    counts = []
    for pools in (20, 20, 40, 80):  # the first run loads what all of them need
        file = tmp_path / f"{pools}.jsonl"
        lines = [
            {"prompt_id": f"p{at}", "prompt": "?", "candidates": [f"{at} {of}" for of in "abcd"]}
            for at in range(pools)
        ]
        file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        asked = ["select", str(file), "--judge", "pointwise:openai/gpt-5-mini", "--dry-run", "--run", str(tmp_path)]
        counts.append(calls(partial(entry.run, asked)))
    assert counts[3] - counts[2] < 2.4 * (counts[2] - counts[1])


def pool_of(number, candidates=4):
    """Return a prompt and its candidates."""
    return f"p{number}", [f"answer {at} to {number}, of many words" for at in range(candidates)]


@pytest.mark.parametrize("judge", [lambda _, text: len(text), bw.judge_from_spec("local:lexical")])
def test_picks_grow_with_their_pools(judge):
    """Twice the pools take twice the calls, and no more memory: a pick is not kept."""
    with bw.Selector(judge) as selector:

        def pick(pools):
            for _ in selector.select_many(pool_of(number) for number in range(pools)):
                pass

        pick(10)
        assert calls(lambda: pick(400)) < 2.2 * calls(lambda: pick(200))
        assert peak(lambda: pick(400)) < 1.5 * peak(lambda: pick(200))


@pytest.mark.parametrize("spec", ["local:length", "local:lexical", "local:consensus"])
def test_a_pick_grows_with_its_candidates(spec):
    """Twice the candidates take at most a little more than twice the calls to judge and to rank."""
    with bw.Selector(bw.judge_from_spec(spec)) as selector:
        small, some, many = (pool_of(0, candidates) for candidates in (32, 64, 128))
        selector.select(*small)
        few, more, most = (calls(partial(selector.select, *pool)) for pool in (small, some, many))
    assert most - more < 2.4 * (more - few)


@pytest.fixture
def steps(monkeypatch):
    """Return a list of which the only number counts steps of the databases' own machine, in hundreds."""
    count, connect = [0], sqlite3.connect

    def counting(*given, **named):
        connection = connect(*given, **named)

        def step():
            count[0] += 1

        connection.set_progress_handler(step, 100)
        return connection

    monkeypatch.setattr(sqlite3, "connect", counting)
    return count


def in_memory():
    """Return a connection whose model answers every question at once."""
    http = http_library(openai)
    choice = {"index": 0, "message": {"role": "assistant", "content": '{"score": 85}'}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55}
    answer = {"id": "a", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return Connection(transport=http.MockTransport(lambda _: http.Response(200, json=answer)))


def test_a_call_costs_the_same_whatever_the_ledger_holds(tmp_path, steps, monkeypatch):
    """New answers, and stored ones, are kept and found in as many steps in a ledger of ten times the rows."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    judge = bw.Pointwise("openai/m", base_url="http://memory/v1")
    taken = []
    for rows in (40, 400):
        with bw.Selector(judge, ledger=tmp_path / str(rows), connection=in_memory()) as selector:

            def pick(numbers, selector=selector):
                before = steps[0]
                assert all(found.best for found in selector.select_many(map(pool_of, numbers)))
                return steps[0] - before

            pick(range(rows))
            taken.append((pick(range(1_000, 1_040)), pick(range(1_000, 1_040))))
    (new, stored), (new_of_many, stored_of_many) = taken
    assert new > 0
    assert new_of_many < 1.5 * new + 10
    assert stored_of_many < 1.5 * stored + 10


@linear_algebra
def threads():
    """Return the threads that linear algebra may take."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_linear_algebra_takes_the_threads_it_was_given(tmp_path, monkeypatch):
    """One unless said otherwise, whatever the machine has; `--threads` says otherwise, and changes no figure."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert threads() == {1}
    with limited_threads(2):
        assert threads() == {2}
    judged(60, 2).to_csv(tmp_path / "scores.csv", index=False)
    fits = []
    for number in ("1", "2"):
        file = tmp_path / f"{number}.json"
        assert (
            entry.run(["stack", "fit", str(tmp_path / "scores.csv"), "--threads", number, "--json", str(file)]) == 0
        )
        fits.append(json.loads(file.read_text(encoding="utf-8")))
    assert fits[0] == fits[1]
