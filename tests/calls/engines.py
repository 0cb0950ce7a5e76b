"""An engine in front of a script: questions, and what became of them."""

from __future__ import annotations

import asyncio
import os

from bonwise.calls.ask import Ask, Model
from bonwise.calls.engine import Engine
from bonwise.calls.providers.protocol import Connection
from bonwise.table.verdicts import Unscored
from bonwise.testing.transport import FakeTransport
from calls.virtual_time import run_virtual

MODEL = Model("openai", "gpt-5-mini")
CLAUDE = Model("anthropic", "claude-opus-5")
OWN = Model("openai", "m", "http://scripted/v1")
SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
KEY = "sk-canary-77aa31"


def set_keys(monkeypatch):
    """Set a key for each provider, and nothing else that the SDKs read."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "ANTHROPIC_", "BONWISE_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def words(choice):
    """Read an answer as it stands; one that did not end by itself is unscored."""
    return choice.text if choice.finish == "stop" else Unscored(f"{choice.finish}: {choice.detail}", choice.text)


def question(number=0, **settings):
    """Return a numbered question."""
    given = {"model": MODEL, "system": "Judge.", "user": f"Question {number}?", "read": words, "temperature": 0.5}
    return Ask(**given | settings)


def over(script, **settings):
    """Return an engine in front of a script."""
    return Engine(connection=Connection(transport=FakeTransport(script)), **settings)


def ask_all(script, asks, **settings):
    """Ask questions at once with an engine of their own, on virtual time; return answers and engine, closed."""

    async def main():
        async with over(script, **settings) as engine:
            return await asyncio.gather(*(engine.ask(ask) for ask in asks)), engine

    return run_virtual(main())


async def on_the_wire(script, calls=1):
    """Wait until so many calls are on the wire; the ledger writes in a thread that a virtual clock waits for not."""
    while script.counts.in_flight < calls:  # noqa: ASYNC110 - a script tells nobody that a request has come
        await asyncio.sleep(0)


def readings(answers):
    """Return what each sample says."""
    return [one.reading for one in answers.answers]


def owed(found):
    """Return the reasons of all owed samples of several answers."""
    every = [reading for answers in found for reading in readings(answers)]
    return [one.reason for one in every if isinstance(one, Unscored) and one.owed]
