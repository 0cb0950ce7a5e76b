"""What a type checker sees of best of n: checked by mypy in strict mode, and run by nobody."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, assert_type

import bonwise as bw
from bonwise.selection.front import BestOf, Kept


def length(_prompt: str, text: str) -> float:
    """Score by length."""
    return len(text)


@bw.best_of(n=4, judge=length, deadline=2.0, stop_at=9)
def write(prompt: str, *, tail: str = "") -> str:
    """Write."""
    return prompt + tail


@bw.best_of(4, length)
async def awrite(prompt: str) -> str:
    """Write later."""
    return prompt


@bw.best_of(4, length)
def structured(prompt: str, number: int) -> dict[str, str]:
    """Write a mapping."""
    return {"text": prompt * number}


class Writer:
    """Methods."""

    @bw.best_of(4, length)
    def write(self, prompt: str) -> str:
        """Write."""
        return prompt

    @bw.best_of(4, length)
    async def awrite(self, prompt: str, number: int) -> list[str]:
        """Write later."""
        return [prompt] * number


async def main() -> None:
    """State what each is."""
    assert_type(write("p", tail="!"), Kept)
    text: str = write("p")
    assert_type(write("p").selection.best_id, str | None)
    pending = awrite("p")
    _ = assert_type(pending, Coroutine[Any, Any, Kept])
    assert_type(await pending, Kept)
    assert_type(structured("p", 2), dict[str, str])
    kept: BestOf[[str, int], dict[str, str]] = structured
    assert_type(kept("p", 2), dict[str, str])
    assert_type(Writer().write(text), Kept)
    assert_type(await Writer().awrite("p", 2), list[str])
    counted = (await Writer().awrite.aselect("p", 2)).generated
    assert_type(0 if counted is None else counted.drawn, int)
    write(3)  # type: ignore[arg-type]
    write("p", tail=3)  # type: ignore[arg-type]
    _ = awrite("p", 2)  # type: ignore[call-arg]
    Writer().write()  # type: ignore[call-arg]
    await write("p")  # type: ignore[misc]
    bw.best_of(4, length, deadline="x")  # type: ignore[arg-type]
    bw.generate_best(write, "p", n=2, judge=length, stop_at="x")  # type: ignore[arg-type]
