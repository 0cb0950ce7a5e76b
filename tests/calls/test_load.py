"""Faults of a few answers cost a few answers, not the throughput; a server that has too much to do is used up."""

from __future__ import annotations

import pytest

from bonwise.calls.pace import LATEST, ConcurrencyWindow, OverloadSigns
from bonwise.calls.retry import Latencies
from bonwise.testing.faults import Faults
from calls.load import HANGING, TEN, Capacity, loaded

SERVICES = [{"clients": 100, "pool": 4}, {"clients": 200, "pool": 2}]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    """Any key will do."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")


@pytest.mark.parametrize("service", SERVICES, ids=["pools of 4", "pools of 2"])
def test_faults_cost_little(service):
    """With a tenth of the attempts going wrong .85 of the picks come, nearly all judged, within the deadline."""
    whole = loaded(Faults(), **service, seconds=0.8)
    assert whole.judged == whole.picks
    for faults, least in ((TEN, 0.85), (HANGING, 0.70)):
        found = loaded(Faults(**faults), **service, seconds=0.8)
        assert found.picks >= least * whole.picks
        assert found.judged >= 0.99 * found.picks
        assert found.p99 <= 2.1


@pytest.mark.parametrize("retry_after", [None, 0.02, 1.0])
def test_a_server_that_is_overloaded_is_used_up(retry_after):
    """It answers nine tenths of what it can, whatever it says of when to come back."""
    server = Capacity(200, retry_after)
    loaded(server, clients=100, pool=4, seconds=3)
    assert server.taken >= 0.9 * server.per_second * server.at
    assert server.turned_away > 0


def test_a_few_failures_are_no_sign_of_overload():
    """One in ten, and 30 % of the latest 50, are not; one more is, and so are ten in a row at the beginning."""
    signs = OverloadSigns()
    assert not any(signs.failed() if at % 10 == 3 else signs.answered(1.0) for at in range(500))
    signs = OverloadSigns()
    told = [signs.answered(1.0) for _ in range(35)] + [signs.failed() for _ in range(15)]
    assert not any(told)
    assert signs.failed()
    signs = OverloadSigns()
    assert [signs.failed() for _ in range(10)] == [False] * 9 + [True]


def test_the_signs_begin_anew_once_told():
    """What was told is not told again of the same attempts."""
    signs = OverloadSigns()
    found = [signs.failed() for _ in range(30)]
    assert [at for at, one in enumerate(found) if one] == [9, 19, 29]
    assert signs.in_a_row == 30
    signs.answered(1.0)
    assert signs.in_a_row == 0


def test_answers_that_take_twice_as_long_are_told_once():
    """Where they stay slow with fewer calls at once, slow is what is usual."""
    signs = OverloadSigns()

    def block(seconds):
        return [signs.answered(seconds) for _ in range(LATEST)].count(True)

    assert [block(1.0), block(1.9), block(2.1), block(2.1), block(2.1), block(4.1), block(4.3)] == [
        0,
        0,
        1,
        0,
        0,
        0,
        1,
    ]
    assert [block(1.0), block(2.1)] == [0, 1]


def test_a_window_grows_on_only_where_few_fail():
    """Fast up to the size at which the server complained, slowly beyond it, and not at all where some fail."""
    window = ConcurrencyWindow(64)
    for _ in range(40):
        window.grow(careful=True)
    assert window.size == 48
    assert window.cut(0)
    size = window.size
    window.grow(careful=True)
    assert window.size == size
    window.grow()
    assert size < window.size < size + 0.05


def test_the_time_of_an_attempt_follows_the_latencies():
    """Nothing is known of fewer than 20; then it is four times the 95th percentile, and rises with the given up."""
    latencies = Latencies()
    for _ in range(19):
        latencies.add(0.001)
    assert (latencies.median, latencies.patience) == (None, None)
    latencies.add(0.001)
    assert (latencies.median, latencies.patience) == (0.001, 0.1)
    for _ in range(300):
        latencies.add(0.03)
    assert latencies.patience == pytest.approx(0.12)
    waited = []
    for _ in range(60):
        waited.append(latencies.patience)
        latencies.add(latencies.patience)
    assert waited[-1] > 1.9
    assert waited == sorted(waited)


def test_a_pool_whose_call_waits_gives_its_place_to_another():
    """With places for one pool, the second is picked while the first waits 1 s for its next attempt."""

    class First(Capacity):
        """Refuses the first request, and asks it to come back in a second."""

        def of_attempt(self, *_of_any):
            self.turned_away += 1
            return "throttled" if self.turned_away == 1 else None

    faults = First(1, retry_after=1.0)
    found = loaded(faults, clients=2, pool=2, seconds=0.01, max_concurrency=1)
    assert sorted(round(one, 2) for one in found.seconds) == [0.12, 1.06]
