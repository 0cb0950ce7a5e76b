"""The command line as its users run it, in processes of its own, against a scripted server in this one."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from bonwise.calls.ledger.ledger import Ledger
from bonwise.testing.wire import body_digest
from processes import ended, started

JUDGE = "pointwise:openai/gpt-5-mini"
STORED = {"answered", "rejected"}


def pool_file(path, prompts, candidates=4):
    """Write pools whose texts are all different, and return the path."""
    lines = [
        {
            "prompt_id": f"p{prompt}",
            "prompt": f"Question {prompt}?",
            "candidates": [f"Answer {prompt}.{candidate}" for candidate in range(candidates)],
        }
        for prompt in range(prompts)
    ]
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def judging(folder, url, *more, out="scores.csv", judges=(JUDGE,)):
    """Return the arguments of the command under test: pools, run folder and scores all lie in `folder`."""
    where = ("--run", folder / "run", "--out", folder / out, "--base-url", f"{url}/v1")
    named = (part for judge in judges for part in ("--judge", judge))
    command = ("judge", folder / "pools.jsonl", *named, *where, *more)
    return [str(one) for one in command]


def environment(**more):
    """Return an environment in which nothing names a key, a server or a proxy but what is given here."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith(("OPENAI_", "ANTHROPIC_", "BONWISE_")) and not name.upper().endswith("_PROXY")
    }
    return kept | more


def start(arguments, **variables):
    """Start the command line."""
    command = [str(Path(sys.executable).with_name("bonwise")), *arguments]
    return started(command, env=environment(**variables))


def done(arguments, **variables):
    """Run the command line to its end, which must be a good one, and return what it said."""
    code, out, err = ended(start(arguments, **variables))
    assert code == 0, err
    return out + err


def committed(folder):
    """Return the digests of the requests whose answers a ledger holds."""
    with Ledger.open(folder) as ledger:
        return {body_digest(json.loads(row.body)) for row in ledger.rows() if row.state in STORED}


class Trap:
    """Strikes when a server has taken a number of requests, and a moment later, which may be none.

    Give it to a script as ``on_paid``. Strikes are set in a row: the next one counts from the last.
    """

    def __init__(self):
        self._strikes = []
        self._seen = 0
        self._door = threading.RLock()
        self.paid = Counter()
        self.loop = None
        """Of the server, once it has taken a request."""

    @contextmanager
    def being_set(self):
        """Let no request pass meanwhile: whom the trap is for may be started before it is set."""
        with self._door:
            yield

    def set(self, *strikes):
        """Set ``(requests, seconds, action)``."""
        with self._door:
            self._strikes, self._seen = list(strikes), 0

    @property
    def sprung(self):
        """Whether all strikes have begun."""
        return not self._strikes

    def __call__(self, request):
        """Count one request, in the thread of the server."""
        with self._door:
            self.loop = asyncio.get_running_loop()
            self.paid[request.digest] += 1
            self._seen += 1
            if not self._strikes or self._seen < self._strikes[0][0]:
                return
            _, later, action = self._strikes.pop(0)
            self._seen = 0
        self.loop.call_later(later, action)
