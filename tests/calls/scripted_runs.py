"""Whole runs in this process: pools, a judge, an engine and a scripted service in the place of the network."""

from __future__ import annotations

from collections import Counter

from bonwise.calls.engine import Engine
from bonwise.calls.providers.protocol import Connection
from bonwise.judges.registry import judge_from_spec
from bonwise.judges.scoring import judge_pools
from bonwise.table.pools import Candidate, Pool
from bonwise.table.verdicts import Unscored
from bonwise.testing.transport import FakeTransport

OPENAI = "pointwise:openai/gpt-5-mini"
ANTHROPIC = "pointwise:anthropic/claude-opus-5"


def pools(judgments, candidates=4):
    """Return pools whose texts are all different."""
    return [
        Pool(
            f"p{prompt}",
            f"Question {prompt}?",
            tuple(Candidate(f"c{at}", f"Answer {prompt}.{at}") for at in range(candidates)),
        )
        for prompt in range(judgments // candidates)
    ]


def in_memory(script, **settings):
    """Return a connection to a script."""
    return Connection(transport=FakeTransport(script), **settings)


async def judged(found, judge=OPENAI, *, base_url=None, **settings):
    """Judge pools with an engine made for it; return the verdicts in order, and the engine, which is closed."""
    async with Engine(**settings) as engine:
        ran = [one async for one in judge_pools(found, [judge_from_spec(judge, base_url=base_url)], engine)]
    return [verdict for one in ran for verdict in one.judgments[0].verdicts], engine


def tally(verdicts):
    """Count what became of judgments: scored, unscored, owed."""
    return Counter(
        ("owed" if verdict.owed else "unscored") if isinstance(verdict, Unscored) else "scored"
        for verdict in verdicts
    )
