"""Questions counted by the lengths of their texts: one of each judge's is written out, about placeholders."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import permutations
from os import SEEK_END
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING
from weakref import finalize

from bonwise.calls.estimate import FormCount
from bonwise.calls.tokens import ASCII_SIZE, ask_text, text_size
from bonwise.errors import FileError
from bonwise.judges import asking, prompt_file, prompt_sections, protocol, wrappers

if TYPE_CHECKING:
    import numpy as np

    from bonwise.calls.ask import Model
    from bonwise.judges.protocol import AskingJudge

_PLACES = "placeholder-p", "placeholder-a", "placeholder-b"
_AT_ONCE, _PARTS = 2**16, 2**8
"""Questions that are held in memory, and parts of all others that are looked at one after the other."""


class AskForm:
    """What one judge asks about many pools: about each text, or about each pair of texts in both orders.

    Of each question a 64-bit hash is kept, of many in a temporary file: one that comes again counts as repeated.
    """

    def __init__(self, judge: AskingJudge, writer: asking.AskingSettings) -> None:
        ask = judge.asks(_PLACES[0], _PLACES[1:])[0]
        words = ask_text(ask)
        self._writer, self._mode = writer, prompt_sections.MODES[writer.file.mode]
        self._prompts, *each = (words.count(place) for place in _PLACES)
        self._times = max(each)
        self._fixed = text_size(words) - sum(text_size(place) * words.count(place) for place in _PLACES)
        self._ask, self._questions = ask, _Questions()
        self._pools = self.begins_at = 0
        """At which pool the questions begin, counted from 1; 0 while there is none."""

    @classmethod
    def of(cls, judge: AskingJudge) -> AskForm | None:
        """Return the form of a judge's questions; None if these depend on more than the lengths of the texts."""
        writer = judge
        while type(writer) in (wrappers.Quantized, wrappers.Resampled):
            writer = writer.of  # type: ignore[attr-defined]
        if (
            hasattr(writer, "first_ask")
            or not isinstance(writer, asking.AskingSettings)
            or not type(writer).__module__.startswith("bonwise.judges.")
        ):
            return None
        if protocol.variables_of([judge]) or (isinstance(judge, wrappers.Resampled) and judge.vary):
            return None
        # Which order of a pair is drawn depends on its texts, and a placeholder must not be cut.
        shown = prompt_sections.MODES[writer.file.mode].candidates
        drawn = shown == 2 and getattr(writer, "orders", 2) == 1
        return None if drawn or not shown or writer.longest < len(_PLACES[0]) else cls(judge, writer)

    @property
    def asked_by(self) -> tuple[Model, str]:
        """The model and its instructions: judges that differ in these ask different questions."""
        return self._writer.asked, self._writer.file.system

    def add(self, prompt: str, texts: Sequence[str]) -> None:
        """Count what is asked about one pool of texts that have words."""
        before, longest = self._fixed + self._prompts * self._size(prompt, 0), self._writer.longest
        about = [
            len(text) * ASCII_SIZE if len(text) <= longest and text.isascii() else self._size(text, 1)
            for text in texts
        ]
        if self._mode.candidates == 1:
            self._questions.add(
                [hash((prompt, text)) for text in texts], [before + self._times * size for size in about]
            )
        else:
            self._questions.add(
                [hash((prompt, *pair)) for pair in permutations(texts, 2)],
                [before + self._times * (a + b) for a, b in permutations(about, 2)],
            )
        self._pools += 1
        self.begins_at = self.begins_at or (self._pools if self._questions.total else 0)

    def counted(self) -> FormCount:
        """Return the count of all that was added."""
        sizes = self._questions.sizes()
        return FormCount(self._ask, sizes, self._questions.total - sizes.total())

    def _size(self, text: str, which: int) -> int:
        """Return the size of a prompt (0) or a candidate (1) as it is sent, perhaps without its middle."""
        if len(text) <= self._writer.longest:
            return text_size(text)
        label = self._mode.variables[which].upper().replace("_", " ")
        sent, empty = (
            prompt_file.enclosed(label, its, "0" * 32, longest=self._writer.longest).text for its in (text, "")
        )
        return text_size(sent) - text_size(empty)


class _Questions:
    """Hashes and sizes of questions: the latest ones in memory, all before them in a temporary file, by hash."""

    def __init__(self) -> None:
        self.total = 0
        self._hashes, self._sizes = array("q"), array("q")
        self._file: IO[bytes] | None = None
        self._bounds: list[np.ndarray] = []
        """Of each block of the file: at which of its rows each part of the hashes begins and ends, from 0."""

    def add(self, hashes: list[int], sizes: list[int]) -> None:
        self._hashes.fromlist(hashes)
        self._sizes.fromlist(sizes)
        self.total += len(hashes)
        if len(self._hashes) >= _AT_ONCE:
            self._put_aside()

    def sizes(self) -> Counter[int]:
        """Return how many different questions there are of each size."""
        if self._file is None:
            return _sizes_of(_distinct(self._block()))
        self._put_aside()
        counts: Counter[int] = Counter()
        with _disk_errors():
            for part in range(_PARTS):
                counts.update(_sizes_of(_distinct(self._part(self._file, part))))
        return counts

    def _block(self) -> np.ndarray:
        import numpy as np  # noqa: PLC0415 - judging needs no arrays

        return np.column_stack([np.asarray(self._hashes, np.int64), np.asarray(self._sizes, np.int64)])

    def _put_aside(self) -> None:
        import numpy as np  # noqa: PLC0415 - as above

        block = _distinct(self._block())
        edges = np.arange(1 - _PARTS // 2, _PARTS // 2) * (2**64 // _PARTS)
        self._bounds.append(np.array([0, *np.searchsorted(block[:, 0], edges), len(block)]))
        with _disk_errors():
            if self._file is None:
                self._file = TemporaryFile(prefix="bonwise-")  # noqa: SIM115 - it lives as long as this
                finalize(self, self._file.close)
            self._file.seek(0, SEEK_END)
            self._file.write(block.tobytes())
        self._hashes, self._sizes = array("q"), array("q")

    def _part(self, file: IO[bytes], part: int) -> np.ndarray:
        """Return the questions of all blocks whose hashes are in one part."""
        import numpy as np  # noqa: PLC0415 - as above

        rows, before = [], 0
        for bounds in self._bounds:
            file.seek(16 * (before + int(bounds[part])))
            rows.append(file.read(16 * int(bounds[part + 1] - bounds[part])))
            before += int(bounds[-1])
        return np.frombuffer(b"".join(rows), np.int64).reshape(-1, 2)


def _distinct(questions: np.ndarray) -> np.ndarray:
    """Return each question once, in the order of the hashes."""
    import numpy as np  # noqa: PLC0415 - as above

    return questions[np.unique(questions[:, 0], return_index=True)[1]]


def _sizes_of(questions: np.ndarray) -> Counter[int]:
    import numpy as np  # noqa: PLC0415 - as above

    sizes, times = np.unique(questions[:, 1], return_counts=True)
    return Counter(dict(zip(sizes.tolist(), times.tolist(), strict=True)))


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise FileError(f"no temporary file: {why}", hint="name a folder with room in TMPDIR") from error
