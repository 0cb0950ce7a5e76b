"""The scripted service under a name that never changes, so that every run has the same addresses and ledger keys."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

from bonwise.testing import Script, ScriptedServer

__all__ = ["HOST", "served", "settled"]

HOST = "models.test"

PRICES = f"""
[[price]]
provider = "openai"
base_url = "http://{HOST}/v1"
models = ["*"]
input = 1.0
output = 10.0

[[price]]
provider = "anthropic"
base_url = "http://{HOST}"
models = ["*"]
input = 3.0
output = 15.0
"""

_UNSET = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"),
    *("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "GITHUB_STEP_SUMMARY", "FORCE_COLOR", "NO_COLOR", "LINES"),
    *("TTY_COMPATIBLE", "TTY_INTERACTIVE", "CLICOLOR", "CLICOLOR_FORCE"),
)


@contextmanager
def settled(prices: str) -> Iterator[None]:
    """Fix what a command reads from its environment while the block runs."""
    changed = {
        "COLUMNS": "80",
        "TERM": "dumb",
        "OPENAI_BASE_URL": f"http://{HOST}/v1",
        "ANTHROPIC_BASE_URL": f"http://{HOST}",
        "BONWISE_PRICES": prices,
        "SOURCE_DATE_EPOCH": "1795824000",  # the date that pages say
    }
    with mock.patch.dict(os.environ, changed):
        for name in _UNSET:
            os.environ.pop(name, None)
        yield


@contextmanager
def served(settings: Mapping[str, Any]) -> Iterator[Script]:
    """Serve a script at ``http://models.test`` while the block runs."""
    script, find, connect = Script(**settings), socket.getaddrinfo, socket.socket.connect
    with ScriptedServer(script).in_thread() as server:
        served_at = ("127.0.0.1", urlsplit(server.url).port)

        def found(host: Any, *more: Any, **also: Any) -> Any:
            return find("127.0.0.1" if host in {HOST, HOST.encode()} else host, *more, **also)

        def connected(self: socket.socket, address: Any) -> Any:
            return connect(self, served_at if address == ("127.0.0.1", 80) else address)

        with mock.patch.object(socket, "getaddrinfo", found), mock.patch.object(socket.socket, "connect", connected):
            yield script
