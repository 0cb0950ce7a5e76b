"""Pools as callers hold them: a file, anything that yields them, or one prompt with candidates of any kind."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bonwise.errors import InputError, UsageError
from bonwise.judges import protocol
from bonwise.judges.pool_loop import AsyncReader, ItemReader, SyncReader, ThreadReader, read_in_thread
from bonwise.printable import quoted
from bonwise.selection import choosing, judge_runner, selection
from bonwise.selection.settings import SelectionSettings
from bonwise.table.chat import NO_TEXT, NotAnAnswerError, answer_text, prompt_text
from bonwise.table.images import ImageReader
from bonwise.table.pools import Candidate, Pool, first_repeat, identifier, read_pools, stated_value

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.calls.portal import PoolQueue
    from bonwise.judges.protocol import Judge, Values


def as_candidates(candidates: Sequence[Any], text: Callable[[Any], str] | None) -> tuple[Candidate, ...]:
    """Give each candidate an id and its text, found by `text` or `answer_text`; what has none is unscored."""
    if isinstance(candidates, str | bytes | Mapping) or not isinstance(candidates, Sequence):
        raise UsageError("candidates must be a sequence of answers", hint='such as ["answer a", "answer b"]')
    if not candidates:
        raise UsageError("no candidates to choose from", hint="pass at least one")
    if text is None and set(map(type, candidates)) == {str}:
        return tuple([Candidate(f"c{position}", words) for position, words in enumerate(candidates)])
    checked = tuple([_candidate(candidate, position, text) for position, candidate in enumerate(candidates)])
    repeated = first_repeat(checked)
    if repeated is not None:
        raise UsageError(f"two candidates have the id {checked[repeated[0]].id[:60]!r}", hint="give each its own id")
    return checked


def _candidate(given: Any, position: int, text: Callable[[Any], str] | None) -> Candidate:
    if isinstance(given, str) and text is None:
        return Candidate(f"c{position}", given)
    if isinstance(given, Candidate):
        return Candidate(
            given.id, _given(given.text if text is None else text(given), given, position), given.missing
        )
    name: str | None = f"c{position}"
    if isinstance(given, Mapping) and ("text" in given or text is not None) and given.get("id") is not None:
        name = identifier(given["id"])
    if name is None:
        raise UsageError(f"candidate {position} has an id that is none", hint="give a text or a number, or no id")
    if text is not None:
        return Candidate(name, _given(text(given), given, position))
    try:
        words = answer_text(given)
    except NotAnAnswerError:
        raise _without_text(given, position) from None
    return Candidate(name, "", missing=NO_TEXT) if words is None else Candidate(name, words)


def _given(words: object, candidate: Any, position: int) -> str:
    """Return what the caller's function made of a candidate, provided that it is text."""
    if not isinstance(words, str):
        raise _without_text(candidate, position)
    return words


def _without_text(candidate: Any, position: int) -> UsageError:
    return UsageError(
        f"candidate {position} has no text: {type(candidate).__name__}",
        hint="pass strings, mappings with a text, chat messages, or text=function",
    )


@dataclass(slots=True)
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
    variables: Values | None = None
    """As of `Pool`."""

    @classmethod
    def of(
        cls,
        prompt: Any,
        candidates: Sequence[Any],
        text: Callable[[Any], str] | None = None,
        prompt_id: str | None = None,
    ) -> Self:
        """Check what a caller passes: the prompt, and candidates with ids; what is none of these: `UsageError`."""
        words = text.prompt(prompt) if isinstance(text, ImageReader) else prompt_text(prompt)
        return cls(words, as_candidates(candidates, text), candidates, prompt_id)

    @classmethod
    def from_any(
        cls, given: Any, position: int, text: Callable[[Any], str] | None = None, wanted: Sequence[str] = ()
    ) -> Self:
        """Take a pool, a mapping or a pair; one that lacks a variable `wanted`, or is none of these: `UsageError`."""
        job = cls._from_any(given, position, text)
        if not wanted:
            return job
        stated = given.variables if isinstance(given, Pool) else given
        if isinstance(given, Pool) and stated and all(name in stated for name in wanted):
            return replace(job, variables=stated)
        keys = stated if isinstance(stated, Mapping) else {}
        stating = list(zip(job.originals, (candidate.text for candidate in job.candidates), strict=True))
        where = f"pool {position} (counted from 0)"
        values = {name: stated_value(name, keys, stating, where, UsageError) for name in wanted}
        return replace(job, variables=values)

    @classmethod
    def _from_any(cls, given: Any, position: int, text: Callable[[Any], str] | None = None) -> Self:
        """Do the same without variables; a pool without id is named by its place."""
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
        turn: choosing.Turn | None = None,
        gate: PoolQueue | None = None,
        waited: float | None = None,
    ) -> selection.Selection:
        """Choose with the help of an engine, when the gate lets the pool in or it has `waited` there already."""
        settings.check_bound(self.variables)
        return await choosing.choose(
            settings,
            judge_runner.EngineJudgeRunner(engine, gate, let_in=waited is not None, values=self.variables),
            self.prompt,
            self.candidates,
            prompt_id=self.prompt_id,
            originals=self.originals,
            turn=turn,
            salt=self.salt,
            judge_all=self.judge_all,
            spent=waited or 0.0,
        )

    def here(self, settings: SelectionSettings) -> selection.Selection:
        """Choose without waiting for anything, in the caller's own thread."""
        settings.check_bound(self.variables)
        course = choosing.choose(
            settings,
            judge_runner.ThreadJudgeRunner(self.variables),
            self.prompt,
            self.candidates,
            prompt_id=self.prompt_id,
            originals=self.originals,
            salt=self.salt,
            judge_all=self.judge_all,
        )
        return judge_runner.returned_at_once(course)


async def jobs_of(
    pools: Iterable[Any] | AsyncIterable[Any], text: Callable[[Any], str] | None, wanted: Sequence[str] = ()
) -> AsyncGenerator[Job, None]:
    """Yield the jobs of many pools, as they come."""
    position = 0
    if isinstance(pools, AsyncIterable):
        async for pool in pools:
            yield Job.from_any(pool, position, text, wanted)
            position += 1
        return
    for position, pool in enumerate(pools):
        yield Job.from_any(pool, position, text, wanted)


def _refuse_structured(prompt_id: object, position: int) -> None:
    if isinstance(prompt_id, bytes | bytearray | Mapping | list | tuple | set | frozenset):
        raise UsageError(
            f"pool {position} (counted from 0) has the prompt_id {quoted(prompt_id)}, neither text nor a number",
            hint="write it as text or as a number",
        )


PoolSource = str | Path | Iterable[Any]
"""The path of a file of pools; or `Pool` objects, mappings with ``prompt`` and ``candidates``, or pairs of these."""


def text_with_images(images: str | Path | None, judges: Iterable[Judge], text: Any = None) -> Any:
    """Return what finds the text of a candidate: `text`, or an `ImageReader`, for judges that see images."""
    if images is None:
        return text
    reader = ImageReader(images)
    protocol.refuse_images(judges)
    if text is not None:
        raise UsageError("images= and text= were both given", hint="leave text= out: images are parts of the content")
    return reader


def opened(pools: PoolSource, wanted: Sequence[str] = (), text: Callable[[Any], str] | None = None) -> Iterable[Any]:
    """Return the pools themselves, those of the file where a path is given; `UsageError` for what is neither."""
    if isinstance(pools, str | Path):
        return read_pools(pools, wanted, text if isinstance(text, ImageReader) else None)
    if not isinstance(pools, Iterable):
        raise UsageError(
            f"pools is a {type(pools).__name__}", hint="pass the path of a file of pools, or an iterable of pools"
        )
    return pools


def pools_of(
    pools: PoolSource, text: Callable[[Any], str] | None = None, wanted: Sequence[str] = ()
) -> Iterator[Pool]:
    """Yield pools, each checked; no pool or an id twice raises `UsageError`, a line of a file `InputError`.

    So does a pool that does not state the variables `wanted`.
    """
    check = _Checked(text, wanted)
    return (check(given) for given in opened(pools, wanted, text))


def reader_of(
    pools: PoolSource | AsyncIterable[Any], text: Callable[[Any], str] | None = None, wanted: Sequence[str] = ()
) -> tuple[ItemReader[Pool], AsyncGenerator[Pool, None] | None]:
    """Return what reads pools in an event loop, in a thread where it may block, and what to close afterwards."""
    if isinstance(pools, AsyncIterable):
        coming = _checked_pools(pools, _Checked(text, wanted))
        return AsyncReader(coming), coming
    checked = pools_of(pools, text, wanted)
    at_hand = isinstance(pools, Collection) and not isinstance(pools, str)
    return (SyncReader(checked) if at_hand else ThreadReader(checked)), None


def beside_the_loop(
    pools: PoolSource | AsyncIterable[Any], wanted: Sequence[str] = (), text: Callable[[Any], str] | None = None
) -> Iterable[Any] | AsyncIterable[Any]:
    """Return pools as `bonwise.Selector.aselect_many` takes them: what may block is read in a thread."""
    if isinstance(pools, AsyncIterable):
        return pools
    at_hand = isinstance(pools, Collection) and not isinstance(pools, str)
    return opened(pools, wanted, text) if at_hand else read_in_thread(opened(pools, wanted, text))


def refuse_nul(pool: Pool, where: str) -> Pool:
    """Return a pool whose names a table of text can hold, and refuse any other before anything is paid."""
    names = [pool.prompt_id, *[candidate.id for candidate in pool.candidates]]
    if "\0" in "".join(names):
        name = next(name for name in names if "\0" in name)
        raise InputError(
            f"{where}: the identifier {quoted(name)} holds a NUL, which no text table can hold", hint="leave it out"
        )
    return pool


class _Checked:
    """Makes pools of what a caller gives, and refuses two of one prompt id: rows could not be told apart."""

    def __init__(self, text: Callable[[Any], str] | None, wanted: Sequence[str] = ()) -> None:
        self._text, self._wanted = text, wanted
        self._seen: dict[str, int] = {}

    def __call__(self, given: Any) -> Pool:
        position = len(self._seen)
        job = Job.from_any(given, position, self._text, self._wanted)
        made = Pool(job.prompt_id or "", job.prompt, job.candidates, job.variables)
        pool = given if isinstance(given, Pool) else made
        first = self._seen.setdefault(pool.prompt_id, position)
        if first != position:
            raise UsageError(
                f"pools {first} and {position} (counted from 0) both have the prompt_id {quoted(pool.prompt_id)}",
                hint="give every pool a prompt_id of its own",
            )
        return refuse_nul(pool, f"pool {position}")


async def _checked_pools(pools: AsyncIterable[Any], check: _Checked) -> AsyncGenerator[Pool, None]:
    async for given in pools:
        yield check(given)
