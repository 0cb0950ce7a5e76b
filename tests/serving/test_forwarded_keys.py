from __future__ import annotations

import httpx
import openai
import pytest

from cli.commands import typed
from serving.upstreams import KEY, in_thread, served

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
