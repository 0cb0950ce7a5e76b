"""Questions counted by the lengths of their texts: one of each judge's is written out, about placeholders."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import permutations
from typing import TYPE_CHECKING

from bonwise.calls.estimate import FormCount
from bonwise.calls.tokens import ask_text, text_size
from bonwise.judges.asking import AskingSettings
from bonwise.judges.prompt_file import enclosed
from bonwise.judges.prompt_sections import MODES
from bonwise.judges.wrappers import Quantized, Resampled

if TYPE_CHECKING:
    import numpy as np

    from bonwise.calls.ask import Model
    from bonwise.judges.protocol import AskingJudge

__all__ = ["AskForm"]

_PLACES = "placeholder-p", "placeholder-a", "placeholder-b"
_AT_ONCE = 2**16
"""Questions, at least, that are compared with the earlier ones together."""


class AskForm:
    """What one judge asks about many pools: about each text, or about each pair of texts in both orders.

    Of each question a 64-bit hash is kept: one that comes again counts as repeated.
    """

    def __init__(self, judge: AskingJudge, writer: AskingSettings) -> None:
        ask = judge.asks(_PLACES[0], _PLACES[1:])[0]
        words = ask_text(ask)
        self._writer, self._mode = writer, MODES[writer.file.mode]
        self._prompts, *each = (words.count(place) for place in _PLACES)
        self._times = max(each)
        self._fixed = text_size(words) - sum(text_size(place) * words.count(place) for place in _PLACES)
        self._count, self._sizes, self._hashes = FormCount(ask), array("q"), array("q")
        self._known: Sequence[int] | np.ndarray = ()
        self._pools = self.begins_at = 0
        """At which pool the questions begin, counted from 1; 0 while there is none."""

    @classmethod
    def of(cls, judge: AskingJudge) -> AskForm | None:
        """Return the form of a judge's questions; None if these depend on more than the lengths of the texts."""
        writer = judge
        while type(writer) in (Quantized, Resampled):
            writer = writer.of  # type: ignore[attr-defined]
        if not isinstance(writer, AskingSettings) or not type(writer).__module__.startswith("bonwise.judges."):
            return None
        # Which order of a pair is drawn depends on its texts, and a placeholder must not be cut.
        drawn = getattr(writer, "orders", 2) == 1 and MODES[writer.file.mode].candidates == 2
        return None if drawn or writer.longest < len(_PLACES[0]) else cls(judge, writer)

    @property
    def asked_by(self) -> tuple[Model, str]:
        """The model and its instructions: judges that differ in these ask different questions."""
        return self._writer.asked, self._writer.file.system

    def add(self, prompt: str, texts: Sequence[str]) -> None:
        """Count what is asked about one pool of texts that have words."""
        before, about = self._fixed + self._prompts * self._size(prompt, 0), [self._size(text, 1) for text in texts]
        if self._mode.candidates == 1:
            self._sizes.extend([before + self._times * size for size in about])
            self._hashes.extend([hash((prompt, text)) for text in texts])
        else:
            self._sizes.extend([before + self._times * (a + b) for a, b in permutations(about, 2)])
            self._hashes.extend([hash((prompt, *pair)) for pair in permutations(texts, 2)])
        self._pools += 1
        self.begins_at = self.begins_at or (self._pools if self._hashes else 0)
        if len(self._hashes) > max(_AT_ONCE, len(self._known) // 4):  # so each is compared a few times only
            self.counted()

    def counted(self) -> FormCount:
        """Count what came last, and return the count of all."""
        import numpy as np  # noqa: PLC0415 - judging needs no arrays

        if self._hashes:
            known = np.asarray(self._known, np.int64)
            hashes, first = np.unique(np.frombuffer(self._hashes, np.int64), return_index=True)
            at = np.minimum(np.searchsorted(known, hashes), max(known.size - 1, 0))
            is_new = known[at] != hashes if known.size else np.ones(len(hashes), dtype=bool)
            sizes, times = np.unique(np.frombuffer(self._sizes, np.int64)[first[is_new]], return_counts=True)
            self._count.sizes.update(dict(zip(sizes.tolist(), times.tolist(), strict=True)))
            self._count.repeated += len(self._hashes) - int(is_new.sum())
            self._known = np.sort(np.concatenate([known, hashes[is_new]]), kind="stable")
            self._sizes, self._hashes = array("q"), array("q")
        return self._count

    def _size(self, text: str, which: int) -> int:
        """Return the size of a prompt (0) or a candidate (1) as it is sent, perhaps without its middle."""
        if len(text) <= self._writer.longest:
            return text_size(text)
        label = self._mode.variables[which].upper().replace("_", " ")
        sent, empty = (enclosed(label, its, "0" * 32, longest=self._writer.longest).text for its in (text, ""))
        return text_size(sent) - text_size(empty)
