"""A ledger on a failing disk: whatever became of its bytes, no answer is ever taken for another one."""

from __future__ import annotations

import asyncio
import json
import random
import shutil

import pytest

from bonwise.calls.bill import Usage
from bonwise.calls.ledger.damage import repair
from bonwise.calls.ledger.ledger import Ledger
from bonwise.errors import LedgerError
from calls.ledgers import key, recorded, request

PAGE = 4096
CALLS = 80
KINDS = ("bit", "bits", "swap", "copy", "truncate", "noise", "zeros")
FULL, THINNED = 1000, 42


def raw_of(number):
    """Return what was answered: some of it fills more than one page."""
    return json.dumps({"score": number, "padding": "x" * (9000 if number % 20 == 0 else number * 7)}).encode()


async def fill(ledger):
    """Answer calls of one and of two samples, refuse some, and leave one without an answer."""
    for number in range(CALLS):
        keys = [key(3 * number), key(3 * number + 1)][: 1 + number % 2]
        claim = await ledger.claim(keys, request(f"question {number}"), wall=1.0)
        if number % 13 == 5:
            await ledger.answer(claim.call_id, recorded({}, status=400, raw=raw_of(number), rejected=True))
        else:
            choices = {name: place for place, name in enumerate(keys)}
            came = {"usage": Usage(uncached=number, output=3), "cost": 0.125 * number, "request_id": f"id-{number}"}
            await ledger.answer(claim.call_id, recorded(choices, raw=raw_of(number), **came))
    claim = await ledger.claim([key(10_000)], request("no answer"), wall=1.0)
    await ledger.give_up(claim.call_id, 2, 1, "timeout")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a ledger and all that it holds, by key."""
    folder = tmp_path_factory.mktemp("whole")
    with Ledger.open(folder) as ledger:
        asyncio.run(fill(ledger))
    with Ledger.open(folder) as ledger:
        names = [key(3 * number + place) for number in range(CALLS) for place in range(1 + number % 2)]
        return ledger.path, {name: ledger.stored(name) for name in names}


def mutated(content, kind, chance):
    """Change a file as disks, copies and other programs do."""
    found, pages = bytearray(content), len(content) // PAGE
    if kind in ("bit", "bits"):
        for _ in range(1 if kind == "bit" else 8):
            found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    elif kind == "swap":
        one, other = (slice(at * PAGE, (at + 1) * PAGE) for at in chance.sample(range(pages), 2))
        found[one], found[other] = found[other], found[one]
    elif kind == "copy":
        one, other = (slice(at * PAGE, (at + 1) * PAGE) for at in chance.sample(range(pages), 2))
        found[one] = found[other]
    elif kind == "truncate":
        del found[chance.randrange(len(found)) :]
    else:
        start, size = chance.randrange(len(found)), chance.choice([1, 4, 30, 512, PAGE])
        for at in range(start, min(start + size, len(found))):
            found[at] = 0 if kind == "zeros" else chance.randrange(256)
    return bytes(found)


def read(path, truth):
    """Ask for every key as a run does; return what was said and how many keys would be asked again."""
    said, again = set(), 0
    try:
        with Ledger.open(path) as ledger:
            for name, right in truth.items():
                try:
                    stored = ledger.stored(name)
                    if stored is None:
                        claim = asyncio.run(ledger.claim([name], request(), wall=9.0))
                        stored = claim.stored.get(name)
                        again += name in claim.claimed
                except LedgerError as error:
                    said.add(error.message)
                    continue
                assert stored is None or stored == right
    except LedgerError as error:
        said.add(error.message)
    return said, again


def survives(path, truth, kind, seed, folder):
    """Mutate a copy, read it, repair it and read it again; return what was found out."""
    copy = folder / "ledger.sqlite"
    for old in folder.iterdir():
        old.unlink()
    content = mutated(path.read_bytes(), kind, random.Random(f"{kind} {seed}"))  # noqa: S311 - seeded on purpose
    copy.write_bytes(content)
    said, again = read(copy, truth)
    assert not again, "asked again without a word"
    shutil.rmtree(folder)
    folder.mkdir()
    copy.write_bytes(content)
    try:
        repaired = repair(copy)
    except LedgerError:
        return "lost" if said else "only the repair says so"
    later, again = read(copy, truth)
    assert not later
    with Ledger.open(copy) as ledger:
        assert not ledger.check().damage
    assert again <= repaired.dropped + 1
    return "said" if said else "whole"


def run(whole, tmp_path, count):
    """Mutate so many times, every kind as often."""
    path, truth = whole
    folder = tmp_path / "copy"
    folder.mkdir()
    found = [survives(path, truth, KINDS[seed % len(KINDS)], seed, folder) for seed in range(count)]
    assert found.count("said") > count // 3  # the mutations do meet what is stored
    assert found.count("lost") < count // 3
    assert "only the repair says so" not in found


def test_a_mutated_ledger_is_right_or_says_so(whole, tmp_path):
    """Bit flips, pages that are swapped, copied, cut off, zero or noise: the right answer, or an error."""
    run(whole, tmp_path, THINNED)


@pytest.mark.slow
def test_a_thousand_mutated_ledgers_are_right_or_say_so(whole, tmp_path):
    """The same, a thousand times."""
    run(whole, tmp_path, FULL)
