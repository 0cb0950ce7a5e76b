"""One pool to choose from, as the caller holds it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from bonwise.data.chat import prompt_text
from bonwise.data.pool import Candidate, Pool
from bonwise.data.wording import quoted
from bonwise.errors import UsageError
from bonwise.selection.candidates import as_candidates
from bonwise.selection.choosing import Turn, choose
from bonwise.selection.judge_runner import EngineJudgeRunner, PoolQueue, ThreadJudgeRunner
from bonwise.selection.selection import Selection
from bonwise.selection.settings import SelectionSettings

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine

__all__ = ["Job", "jobs_of"]


@dataclass(frozen=True, slots=True)
class Job:
    """A prompt with its candidates, checked."""

    prompt: str
    candidates: tuple[Candidate, ...]
    originals: Sequence[Any]
    """The candidates as the caller holds them."""
    prompt_id: str | None = None
    salt: str | None = None
    """Together with the seed and the candidates breaks ties; the prompt id, or the prompt, unless one is given."""
    judge_all: bool = False
    """Whether a single text is judged too."""

    @classmethod
    def of(
        cls,
        prompt: Any,
        candidates: Sequence[Any],
        text: Callable[[Any], str] | None = None,
        prompt_id: str | None = None,
    ) -> Self:
        """Check what a caller passes.

        Raises
        ------
        bonwise.errors.UsageError
            A prompt that is neither text nor messages, no candidates, one that is no answer, or two with one id.
        """
        return cls(prompt_text(prompt), as_candidates(candidates, text), candidates, prompt_id)

    @classmethod
    def from_any(cls, given: Any, position: int, text: Callable[[Any], str] | None = None) -> Self:
        """Take a `Pool`, a mapping with ``prompt`` and ``candidates``, or a pair of the two.

        Who has no prompt id is named by its position, which says nothing about how its ties fall.

        Raises
        ------
        bonwise.errors.UsageError
            None of these, or a prompt id that is bytes, a list or an object.
        """
        if isinstance(given, Pool):
            _refuse_structured(given.prompt_id, position)
            return cls(given.prompt, given.candidates, given.candidates, given.prompt_id)
        if isinstance(given, Mapping) and "prompt" in given and "candidates" in given:
            name = given.get("prompt_id")
            if name is not None:
                _refuse_structured(name, position)
                return cls.of(given["prompt"], given["candidates"], text, str(name))
            given = given["prompt"], given["candidates"]
        if isinstance(given, tuple) and len(given) == 2:
            job = cls.of(given[0], given[1], text)
            return replace(job, prompt_id=str(position), salt=job.prompt)
        raise UsageError(
            f"pool {position} is a {type(given).__name__}",
            hint='pass (prompt, candidates), {"prompt", "candidates"} or a Pool',
        )

    async def by(
        self,
        engine: Engine,
        settings: SelectionSettings,
        turn: Turn | None = None,
        gate: PoolQueue | None = None,
    ) -> Selection:
        """Choose with the help of an engine, in its event loop, when the gate lets the pool in."""
        return await choose(
            settings,
            EngineJudgeRunner(engine, gate),
            self.prompt,
            self.candidates,
            prompt_id=self.prompt_id,
            originals=self.originals,
            turn=turn,
            salt=self.salt,
            judge_all=self.judge_all,
        )

    def here(self, settings: SelectionSettings) -> Selection:
        """Choose without waiting for anything, in the caller's own thread."""
        course = choose(
            settings,
            ThreadJudgeRunner(),
            self.prompt,
            self.candidates,
            prompt_id=self.prompt_id,
            originals=self.originals,
            salt=self.salt,
            judge_all=self.judge_all,
        )
        try:
            course.send(None)
        except StopIteration as end:
            found: Selection = end.value
            return found
        course.close()
        raise RuntimeError("a judge that asks no model waited for something")


async def jobs_of(
    pools: Iterable[Any] | AsyncIterable[Any], text: Callable[[Any], str] | None
) -> AsyncGenerator[Job, None]:
    """Yield the jobs of many pools, as they come."""
    position = 0
    if isinstance(pools, AsyncIterable):
        async for pool in pools:
            yield Job.from_any(pool, position, text)
            position += 1
        return
    for position, pool in enumerate(pools):
        yield Job.from_any(pool, position, text)


def _refuse_structured(prompt_id: object, position: int) -> None:
    if isinstance(prompt_id, bytes | bytearray | Mapping | list | tuple | set | frozenset):
        raise UsageError(
            f"pool {position} (counted from 0) has the prompt_id {quoted(prompt_id)}, neither text nor a number",
            hint="write it as text or as a number",
        )
