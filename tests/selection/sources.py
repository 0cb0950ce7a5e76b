"""Pools in the forms in which callers hold them."""

from __future__ import annotations

import asyncio
import json


def as_file(folder, pools):
    """Write pairs of a prompt and its candidates as JSON Lines, and return the path."""
    path = folder / "pools.jsonl"
    lines = ({"prompt_id": str(at), "prompt": pool[0], "candidates": pool[1]} for at, pool in enumerate(pools))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


async def produced(pools):
    """Yield pools one by one."""
    for pool in pools:
        await asyncio.sleep(0)
        yield pool
