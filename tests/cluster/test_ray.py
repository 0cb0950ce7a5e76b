"""Ray shares the work: a worker and the driver are killed, and nothing is paid again but what was in flight."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

import bonwise as bw
from bonwise.errors import UsageError
from bonwise.scale import judge_dataset
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from crash.runs import Trap, judging, pool_file, start
from processes import ended

POOLS, CANDIDATES, BLOCK, AT_ONCE = 90, 4, 10, 8


@pytest.fixture(autouse=True)
def ray_installed():
    """Skip without Ray, or fail under BONWISE_REQUIRE_RAY=1."""
    if find_spec("ray") is None:
        if os.environ.get("BONWISE_REQUIRE_RAY") == "1":
            pytest.fail("BONWISE_REQUIRE_RAY is 1, and ray is not installed")
        pytest.skip("ray is not installed")


def children(pid):
    """Return the process ids below one, with their titles."""
    lines = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], check=True, capture_output=True, text=True).stdout
    table = [(int(line.split()[0]), int(line.split()[1]), line) for line in lines.splitlines()]
    known, found = {pid}, []
    for _ in range(6):
        for child, parent, line in table:
            if parent in known and child not in known:
                known.add(child)
                found.append((child, line))
    return found


def kill(pid):
    """Kill a process that may have gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def busy_worker(pid):
    """Return the process of one actor that judges."""
    return next(child for child, line in children(pid) if "MapBatches(_BlockJudge)" in line)


def wait_until(paid, count, process):
    """Wait until so many calls were paid."""
    until = time.monotonic() + 240
    while sum(paid.values()) < count:
        assert process.poll() is None, ended(process)
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_worker_and_the_driver_are_killed(tmp_path):
    """All rows are there once, the same bytes as without Ray."""
    trap = Trap()
    pool_file(tmp_path / "pools.jsonl", POOLS, CANDIDATES)
    script = Script(lambda _: "7", latency=0.15, on_paid=trap)
    shares = ("--engine", "ray", "--block-size", BLOCK, "--workers", 2, "--max-concurrency", AT_ONCE)
    keys = {"OPENAI_API_KEY": "sk-scripted"}
    with ScriptedServer(script).in_thread() as server:
        command = judging(tmp_path, server.url, *shares)
        driver = start(command, **keys)
        try:
            wait_until(trap.paid, 60, driver)
            kill(busy_worker(driver.pid))
            # The block that it had is tried again by another one.
            wait_until(trap.paid, 220, driver)
            below = children(driver.pid)
            driver.kill()
            driver.communicate()
        finally:
            kill(driver.pid)
        until = time.monotonic() + 60
        while any(Path(f"/proc/{pid}").exists() for pid, line in below if "MapBatches" in line):
            assert time.monotonic() < until
            time.sleep(0.1)
        before = sum(trap.paid.values())
        code, _, err = ended(start(command, **keys))
        assert code == 0, err
        plain = judging(tmp_path, server.url, out="plain.csv")
        assert ended(start(plain, **keys))[0] == 0
    assert before < POOLS * CANDIDATES
    assert len(trap.paid) == POOLS * CANDIDATES
    # One worker was killed, and then both with the driver: each had AT_ONCE calls in flight at most.
    assert sum(trap.paid.values()) - POOLS * CANDIDATES <= 3 * AT_ONCE
    assert (tmp_path / "scores.csv").read_bytes() == (tmp_path / "plain.csv").read_bytes()
    assert (tmp_path / "scores.csv").read_text().count("\n") == POOLS * CANDIDATES + 1


def test_datasets_keep_their_rows_and_node_local_ledgers_are_refused_on_several_nodes(tmp_path, monkeypatch):
    """Rows keep their order."""
    import ray  # noqa: PLC0415 - an extra brings it
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - as above

    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    try:
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        pools = [
            {"prompt_id": f"p{at}", "prompt": "Name a colour", "candidates": ["red", "blue" * (at % 3)]}
            for at in range(20)
        ]
        dataset = ray.data.from_items(pools)
        rows = judge_dataset(dataset, judge=lambda _, text: len(text), ledger=tmp_path / "run", block_size=4)
        frame = rows.to_pandas()
        assert list(frame["prompt_id"].drop_duplicates()) == [pool["prompt_id"] for pool in pools]
        assert frame["judge_score"].tolist()[1::2] == [4.0 * (at % 3) for at in range(20)]
        cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        with pytest.raises(UsageError, match="is on one node, and this Ray cluster has several"):
            judge_dataset(dataset, judge=bw.Pointwise("openai/gpt-5-mini"), ledger=tmp_path / "run")
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.mark.parametrize("limit", [{"max_calls": 5}, {"max_tokens": 500}, {"max_cost": 1.0}])
def test_limits_of_one_process_are_refused(tmp_path, limit):
    """Before Ray is started."""
    with pytest.raises(UsageError, match="kept by one process"):
        judge_dataset(None, judge=bw.Pointwise("openai/gpt-5-mini"), ledger=tmp_path, **limit)
