"""What the tests of ledgers share: requests, keys, and processes that use a ledger."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from bonwise.calls.ask import Request
from bonwise.calls.ledger.records import Recorded

URL = "https://api.openai.com/v1"


def request(prompt="which is better?", model="m"):
    """Return a request as a provider would build it."""
    body = {"model": model, "messages": [{"role": "user", "content": prompt}]}
    return Request("openai", URL, "", "/chat/completions", body, model)


def key(number):
    """Return the key of a numbered sample."""
    return hashlib.sha256(str(number).encode()).digest()


def recorded(choices, **changes):
    """Return what a server answered."""
    return Recorded(**{"status": 200, "raw": b"{}", "answered_at": 2.0, "choices": choices} | changes)


async def ask(ledger, *keys, **changes):
    """Claim keys and answer every one."""
    claim = await ledger.claim(keys, request(), wall=1.0)
    await ledger.answer(claim.call_id, recorded({name: place for place, name in enumerate(keys)}, **changes))
    return claim


def process(code, *arguments):
    """Start Python on some code, with these helpers at hand."""
    folders = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, env=environment)
