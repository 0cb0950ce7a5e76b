"""``bw.select_many`` and ``bw.aselect_many``: picks in the order of the pools."""

from __future__ import annotations

import asyncio

import pytest

import bonwise as bw
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import UsageError
from bonwise.testing import FakeTransport
from runs.sources import as_file, produced
from selection.services import JUDGE, by_worth

POOLS = [(f"prompt {at}", [f"worth {at + 1}", f"worth {50 - at}"]) for at in range(8)]


def settings(script):
    """Return the settings that ask a script."""
    return {"judge": JUDGE, "connection": Connection(transport=FakeTransport(script))}


async def gathered(pools, **given):
    """Return the picks of the asynchronous door."""
    return [pick async for pick in bw.aselect_many(pools, **given)]


def test_both_doors_pick_in_order(tmp_path):
    """Lists, generators, files and asynchronous iterables give the same picks, in the order of the pools."""
    path = as_file(tmp_path, POOLS)
    found = [
        list(bw.select_many(POOLS, **settings(by_worth()))),
        list(bw.select_many(iter(POOLS), **settings(by_worth()))),
        list(bw.select_many(path, **settings(by_worth()))),
        asyncio.run(gathered(POOLS, **settings(by_worth()))),
        asyncio.run(gathered(iter(POOLS), **settings(by_worth()))),
        asyncio.run(gathered(str(path), **settings(by_worth()))),
        asyncio.run(gathered(produced(POOLS), **settings(by_worth()))),
    ]
    assert all([pick.best_id for pick in one] == [pick.best_id for pick in found[0]] for one in found)
    assert [pick.prompt_id for pick in found[0]] == [str(at) for at in range(8)]


def test_picks_come_while_pools_are_read():
    """The first pick is there before the last pool has been read."""
    read = []

    def source():
        for at, pool in enumerate(POOLS * 50):
            read.append(at)
            yield pool

    picks = bw.select_many(source(), **settings(by_worth()), max_concurrency=2)
    next(picks)
    assert len(read) < 400
    picks.close()


def test_a_run_folder_resumes(tmp_path):
    """With a ledger a second run pays nothing."""
    script = by_worth()
    first = list(bw.select_many(POOLS, **settings(script), ledger=tmp_path))
    paid = script.counts.paid.total()
    again = list(bw.select_many(POOLS, **settings(script), ledger=tmp_path, offline=True))
    assert [pick.best for pick in again] == [pick.best for pick in first]
    assert script.counts.paid.total() == paid


def test_what_is_no_source_is_refused():
    """Neither a path nor an iterable."""
    with pytest.raises(UsageError, match="pools is a int"):
        list(bw.select_many(7, judge=lambda _prompt, text: len(text)))
