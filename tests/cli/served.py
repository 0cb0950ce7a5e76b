"""A service on this machine for the commands that ask models, with a price for it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

from bonwise.errors import CallError
from bonwise.testing import Script, ScriptedServer

PRICES = """
[[price]]
provider = "openai"
base_url = "{url}/v1"
models = ["*"]
input = 1.0
output = 10.0
"""


@contextmanager
def served(monkeypatch, folder, **settings):
    """Serve a script, point both services' addresses and a price file at it, and yield the script."""
    script = Script(**settings)
    with ScriptedServer(script).in_thread() as server:
        prices = Path(folder) / "prices.toml"
        prices.write_text(PRICES.format(url=server.url), encoding="utf-8")
        for name, value in {
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "ANTHROPIC_BASE_URL": server.url,
            "BONWISE_PRICES": str(prices),
        }.items():
            monkeypatch.setenv(name, value)
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        yield script


def without_keys(monkeypatch):
    """Let every server want a key, and have none."""

    def find_key(provider, variables, *, required):
        del required
        raise CallError(f"no key for {provider}", hint=f"set {variables[0]}")

    monkeypatch.setattr("bonwise.calls.providers.service.find_key", find_key)
