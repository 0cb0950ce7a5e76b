"""Keys of clients: their accounts with hard limits, and keys that are passed on."""

from __future__ import annotations

import subprocess
import sys

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import UsageError
from bonwise.serving.api_errors import ApiError
from bonwise.serving.client_keys import ClientKey, KeyLimits
from bonwise.serving.metrics import Metrics, rendered
from bonwise.serving.server import run_folder
from calls.test_ledger_rot import FAILURES, FailingDisk
from cli.commands import typed
from serving.upstreams import KEY, in_thread, served

# The accounts of keys: hard limits, exact sums, also over several processes and after a crash.


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


@pytest.mark.parametrize("words", [one for one in FAILURES if "locked" not in one])
def test_a_disk_that_fails_is_no_other_server(tmp_path, monkeypatch, words):
    """What the disk says is told; that another server uses the folder is said only of a lock."""
    FailingDisk(monkeypatch, words, 1, lasting=True)
    with pytest.raises(UsageError, match=f"cannot be used: {words}"), run_folder(str(tmp_path)):
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


MESSAGES = [{"role": "user", "content": "Name a colour."}]

SETTINGS = """
[models.own]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "local:length"
n = 3
forward_client_key = true

[models.usual]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "local:length"
n = 3
"""

CLIENT, OTHER = "sk-client-of-its-own-account", "sk-another-client-of-its-own"


@pytest.fixture
def address(upstream, tmp_path, monkeypatch):
    """Serve a model that is asked with the client's key, and one that is not."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-server")
    with in_thread(upstream.app) as url, served(tmp_path, SETTINGS.format(url=url)) as (_, address):
        yield address


def asked(address, key, model="own"):
    """Ask as the official client does."""
    with openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0) as client:
        return client.chat.completions.create(model=f"bon/{model}", messages=MESSAGES)


@pytest.mark.parametrize("honours_n", [True, False])
def test_candidates_are_drawn_with_the_clients_key_where_the_settings_say_so(upstream, address, honours_n):
    """Each client's draws carry its own key; the server's is not sent, and other models get the server's alone."""
    upstream.honours_n = honours_n
    for key in (CLIENT, OTHER, CLIENT):
        upstream.authorizations.clear()
        answer = asked(address, key)
        assert upstream.authorizations == {f"Bearer {key}"}
        assert answer.bonwise["decided_by"] == "score"
        assert len(answer.bonwise["scores"]) == 3
    upstream.authorizations.clear()
    asked(address, CLIENT, "usual")
    assert upstream.authorizations == {f"Bearer {KEY}"}


@pytest.mark.parametrize("header", [{}, {"authorization": "Bearer"}, {"authorization": "Basic x"}])
def test_without_a_key_nothing_is_drawn(upstream, address, header):
    """The server's own key does not stand in for a client's."""
    body = {"model": "bon/own", "messages": MESSAGES}
    response = httpx.post(f"{address}/v1/chat/completions", json=body, headers=header)
    assert (response.status_code, response.json()["error"]["code"]) == (401, "invalid_api_key")
    assert upstream.calls == 0


def test_a_key_that_the_upstream_refuses_is_the_clients_affair(upstream, address, caplog, capfd):
    """The client gets 401, and neither answer nor log repeats the key, although the upstream does."""
    upstream.refuse = (401, {"message": f"Incorrect API key provided: {CLIENT}", "code": "invalid_api_key"})
    with pytest.raises(openai.AuthenticationError) as told:
        asked(address, CLIENT)
    assert "the upstream refuses the key that was sent" in str(told.value)
    with pytest.raises(openai.InternalServerError):
        asked(address, CLIENT, "usual")
    assert CLIENT not in str(told.value) + caplog.text + "".join(capfd.readouterr())


def test_many_keys_share_the_connections(upstream, address, monkeypatch):
    """Clients of keys that were not used for long are let go, and a key that comes back is sent again."""
    monkeypatch.setattr("bonwise.serving.upstream._MOST", 2)
    keys = [f"sk-client-number-{number:04d}" for number in range(5)]
    for key in [*keys, keys[0]]:
        upstream.authorizations.clear()
        asked(address, key)
        assert upstream.authorizations == {f"Bearer {key}"}


def test_the_server_needs_no_key_of_its_own_then(tmp_path, monkeypatch, capsys):
    """A model that is asked with clients' keys is served without OPENAI_API_KEY."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    path = tmp_path / "serve.toml"
    text = '[models.own]\nupstream = "openai/gpt-5-mini"\njudge = "local:length"\n'
    for more, code in (("forward_client_key = true\n", 0), ("", 2)):
        path.write_text(text + more, encoding="utf-8")
        assert typed(capsys, "serve", "--config", str(path), "--check").code == code
