"""The accounts of keys: hard limits, exact sums, also over several processes and after a crash."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import UsageError
from bonwise.serving.api_errors import ApiError
from bonwise.serving.client_keys import ClientKey, KeyLimits
from bonwise.serving.metrics import Metrics, rendered
from bonwise.serving.server import run_folder

ALICE = ClientKey("alice", "secret", max_cost=1.0, max_concurrency=2)


def test_what_is_under_way_counts():
    """The worst case of what is under way is set aside, and what it really cost is charged."""
    limits = KeyLimits()
    first = limits.admit(ALICE, 0.7)
    with pytest.raises(ApiError, match="leaves no room") as refused:
        limits.admit(ALICE, 0.4)
    assert refused.value.code == "rate_limit_exceeded"  # the first may end cheaper
    limits.settle(first, 0.1)
    second, third = limits.admit(ALICE, 0.4), limits.admit(ALICE, 0.4)
    with pytest.raises(ApiError, match="has 2 requests under way"):
        limits.admit(ALICE, 0.0)
    limits.settle(second, None)  # nobody knows: the worst case
    limits.settle(third, 0.05)
    assert limits.spent("alice") == pytest.approx(0.55)
    with pytest.raises(ApiError, match="leaves no room") as refused:
        limits.admit(ALICE, 0.5)
    assert (refused.value.code, refused.value.headers) == ("insufficient_quota", {"x-should-retry": "false"})


def test_other_keys_have_their_own(tmp_path):
    """What one spends leaves the others as they are; a file keeps it."""
    limits = KeyLimits(tmp_path / "accounts")
    limits.settle(limits.admit(ALICE, 0.9), 0.9)
    limits.settle(limits.admit(ClientKey("bob", "other", max_cost=1.0), 0.9), 0.9)
    limits.close()
    again = KeyLimits(tmp_path / "accounts")
    assert (again.spent("alice"), again.spent("bob"), again.spent("carol")) == (0.9, 0.9, 0.0)


def test_what_a_killed_server_left_is_charged(tmp_path):
    """Its worst case is charged, and its requests are no longer under way."""
    killed = KeyLimits(tmp_path / "accounts")
    killed.admit(ALICE, 0.3)
    killed.admit(ALICE, 0.2)
    killed.close()
    again = KeyLimits(tmp_path / "accounts")
    assert again.under_way("alice") == 2
    again.give_up()
    assert (again.under_way("alice"), again.spent("alice")) == (0, pytest.approx(0.5))


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400) | st.none()), max_size=12), st.integers(0, 1000))
def test_the_limit_holds_like_in_a_plain_loop(requests, most):
    """Whatever comes one after the other: admitted is what a plain sum admits, in thousandths of a dollar."""
    key, limits, spent = ClientKey("k", "s", max_cost=most / 1000), KeyLimits(), 0
    for worst, cost in requests:
        if spent + worst > most:
            with pytest.raises(ApiError):
                limits.admit(key, worst / 1000)
            continue
        limits.settle(limits.admit(key, worst / 1000), None if cost is None else cost / 1000)
        spent += worst if cost is None else cost
    assert limits.spent("k") == pytest.approx(spent / 1000)
    limits.close()


MANY = """
import sys
from pathlib import Path
from bonwise.serving.api_errors import ApiError
from bonwise.serving.client_keys import ClientKey
from bonwise.serving.client_keys import KeyLimits
limits, key, admitted = KeyLimits(Path(sys.argv[1])), ClientKey("k", "s", max_cost=0.3), 0
for _ in range(200):
    try:
        limits.settle(limits.admit(key, 0.001), 0.001)
        admitted += 1
    except ApiError:
        pass
print(admitted)
"""


def test_a_limit_holds_over_processes(tmp_path):
    """Four processes that ask 800 times spend exactly what one may."""
    command = [sys.executable, "-c", MANY, str(tmp_path / "accounts")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    admitted = [int(one.communicate()[0]) for one in running]
    assert sum(admitted) == 300
    assert KeyLimits(tmp_path / "accounts").spent("k") == pytest.approx(0.3)


def test_one_server_uses_a_run_folder(tmp_path):
    """A second one is refused as long as the first runs."""
    run = str(tmp_path / "run")
    with run_folder(run), pytest.raises(UsageError, match="another bonwise serve uses"), run_folder(run):
        pass
    with run_folder(str(tmp_path / "run")) as accounts:
        assert accounts.parent == tmp_path / "run"
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be used"), run_folder(str(tmp_path / "file")):
        pass


def test_metrics_are_escaped_and_added():
    """Whatever a model is called, a line stays a line; the numbers of several workers are added."""
    one, other = Metrics(), Metrics()
    for metrics in (one, other):
        metrics.add("bonwise_candidates_total", 2, model='a"b\\c\nd')
        metrics.observe("bonwise_request_seconds", 0.3, model="x")
    lines = rendered([one.values, other.values]).splitlines()
    assert 'bonwise_candidates_total{model="a\\"b\\\\c\\nd"} 4' in lines
    assert 'bonwise_request_seconds_bucket{model="x",le="0.25"} 0' in lines
    assert 'bonwise_request_seconds_bucket{model="x",le="0.5"} 2' in lines
    assert 'bonwise_request_seconds_count{model="x"} 2' in lines
    assert lines.index("# TYPE bonwise_request_seconds histogram") < lines.index(
        'bonwise_request_seconds_count{model="x"} 2'
    )
