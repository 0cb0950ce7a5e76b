"""A judge prompt: what it says, what answer it asks for, and how texts of unknown authors are enclosed in it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bonwise.errors import UsageError
from bonwise.judges.criteria import Criterion
from bonwise.judges.prompt_sections import JSON, MODES, AnswerForm, answer_schema, fields_of
from bonwise.printable import quoted
from bonwise.table.images import Image, TextWithImages

LONGEST = 60_000
"""Characters of one text beyond which its middle is left out."""

_HEX = 32
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


@dataclass(frozen=True, slots=True)
class Enclosed:
    """One text as it is sent."""

    text: str
    """The opening line, the text, the closing line."""
    shortened: bool
    """Whether its middle was left out."""
    replaced: int
    """Lone surrogates, which no UTF-8 can hold, that became U+FFFD."""
    images: tuple[tuple[str, Image], ...] = ()
    """As of `bonwise.calls.ask.Ask`."""


def boundary(identity: str, texts: Sequence[str]) -> str:
    """Return 32 hexadecimal digits that depend on every text of a call, in order, and occur in none of them."""
    whole = hashlib.sha256()
    for part in (identity, *texts):
        # Each part after its length: no other list of parts gives the same bytes.
        data = part.encode("utf-8", "surrogatepass")
        whole.update(b"%d:" % len(data))
        whole.update(data)
    return _absent(whole.hexdigest()[:_HEX], texts)


def all_enclosed(identity: str, texts: Mapping[str, str], *, longest: int = LONGEST) -> dict[str, Enclosed]:
    """Put all texts of a call between lines with one boundary; `texts` are by variable, in a fixed order.

    Examples
    --------
    >>> print(all_enclosed("p@1", {"candidate_a": "hi"})["candidate_a"].text)
    --- BEGIN CANDIDATE A da2601a404363658a51b028a070159dd ---
    hi
    --- END CANDIDATE A da2601a404363658a51b028a070159dd ---
    """
    mark = boundary(identity, tuple(texts.values()))
    return {
        variable: enclosed(variable.upper().replace("_", " "), text, mark, longest=longest)
        for variable, text in texts.items()
    }


def enclosed(label: str, text: str, mark: str, *, longest: int = LONGEST) -> Enclosed:
    """Put a text between its two lines; a longer one keeps its head and its tail, with a note between.

    `label` says what the text is, `mark` is the `boundary` of the call. Nothing but lone surrogates is changed.

    Examples
    --------
    >>> print(enclosed("PROMPT", "Say hi", "0f").text)
    --- BEGIN PROMPT 0f ---
    Say hi
    --- END PROMPT 0f ---
    """
    left_out = len(text) - longest
    kept = text
    if left_out > 0:
        head, tail = (longest + 1) // 2, longest // 2
        note = f"--- CUT {label} {mark}: {left_out} characters left out here ---"
        kept = f"{text[:head]}\n{note}\n{text[len(text) - tail :]}"
    sent, replaced = _LONE_SURROGATE.subn(_REPLACEMENT, kept)
    images = tuple(
        (f"--- IMAGE {at} OF {label} {mark}: the image that follows here is a part of this text ---", image)
        for at, image in enumerate(text.images if isinstance(text, TextWithImages) else (), 1)
    )
    inner = "\n".join([sent, *(line for line, _ in images)])
    whole = f"--- BEGIN {label} {mark} ---\n{inner}\n--- END {label} {mark} ---"
    return Enclosed(whole, shortened=left_out > 0, replaced=replaced, images=images)


def _absent(mark: str, texts: Sequence[str]) -> str:
    """Hash on until the mark occurs in no text: it never should, and this makes it a law."""
    while any(mark in text for text in texts):
        mark = hashlib.sha256(mark.encode()).hexdigest()[:_HEX]
    return mark


VARIABLE = re.compile(r"\{\{(?:(?P<name>[a-z][a-z0-9_]*)\}\})?")
"""A variable of the user part; without a name where braces begin none."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The words of one call."""

    system: str
    """The rubric: the same bytes whatever is judged."""
    user: str
    """What is judged, every text inside its fence."""
    shortened: int
    """How many texts were too long and lost their middle."""
    replaced: int = 0
    """How many lone surrogates were replaced, in all texts together."""
    images: tuple[tuple[str, Image], ...] = ()
    """As of `bonwise.calls.ask.Ask`."""


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A prompt file that was read and found to be in order; see `bonwise.judges.prompt_loading.load`."""

    name: str
    version: int
    mode: str
    """One of `bonwise.judges.prompt_sections.MODES`."""
    variables: tuple[str, ...]
    """As the file declares them."""
    system: str = field(repr=False)
    user: str = field(repr=False)
    """Both: the two parts of the text; the second is a template."""
    answer: Mapping[str, Mapping[str, Any]] | None = field(repr=False, hash=False)
    """Property to schema fragment, in the order in which they are to be answered; None where the file lists none."""
    source: str
    """Path of the file."""
    digest: str
    """The first 12 hexadecimal digits of the SHA-256 of its bytes."""
    description: str = field(default="", repr=False)
    """One line."""
    asked: AnswerForm = field(default=JSON, repr=False)
    """The form of the answer."""
    criteria: tuple[Criterion, ...] = field(default=(), repr=False)
    """Of a rubric."""
    levels: tuple[str, ...] = ()
    """Of a decision: what a candidate may be called, the worst first."""

    @property
    def further(self) -> tuple[str, ...]:
        """The variables that a pool states beside its prompt and its candidates."""
        return tuple(name for name in self.variables if name not in MODES[self.mode].variables)

    @property
    def identity(self) -> str:
        """Name, version and digest: another text has another identity, whatever its author calls it."""
        return f"{self.name}@{self.version} {self.digest}"

    @property
    def schema(self) -> dict[str, Any] | None:
        """JSON schema of the answer, a new object each time; None for plain text."""
        if self.answer is None or self.asked.form != "json":
            return None
        wanted = self.answer if self.criteria else fields_of(self.mode, self.asked.field)
        return answer_schema(self.answer, wanted, MODES[self.mode].items)

    def render(
        self, prompt: str, candidates: Sequence[str], longest: int = LONGEST, values: Mapping[str, str] | None = None
    ) -> Rendered:
        r"""Return what is sent to judge these candidates, in the order to be shown, as many as the mode wants.

        `longest` is the most characters of each text, and `values` are those of the `further` variables. A
        `UsageError` refuses another number, what is not text, and a variable without a value.
        """
        texts = self._texts(prompt, candidates) | self._further(values or {})
        if longest < 1:
            raise UsageError(f"longest is {longest}", hint="keep at least one character of each text")
        sent = all_enclosed(self.identity, texts, longest=longest)
        shown = {variable: shown_text.text for variable, shown_text in sent.items()}
        if "candidates" in self.variables:
            listed = (f"Candidate {at}:\n\n{shown[_numbered(at)]}" for at in range(1, len(candidates) + 1))
            shown["candidates"] = "\n\n".join(listed)
        user = _filled(self.user, shown)
        shortened = sum(shown_text.shortened for shown_text in sent.values())
        images = [pair for shown_text in sent.values() for pair in shown_text.images]
        images.sort(key=lambda pair: user.index(pair[0]))
        replaced = sum(shown_text.replaced for shown_text in sent.values())
        return Rendered(self.system, user, shortened, replaced, tuple(images))

    def _further(self, values: Mapping[str, str]) -> dict[str, str]:
        for name in self.further:
            if not isinstance(values.get(name), str):
                hint = f"give pools a key {name}, or bind the judge: judge.given({{{name!r}: ...}})"
                raise UsageError(f"the rubric {self.name} has no text for {{{{{name}}}}}", hint=hint)
        return {name: values[name] for name in self.further}

    def _texts(self, prompt: str, candidates: Sequence[str]) -> dict[str, str]:
        wanted = MODES[self.mode].candidates
        # A text is a sequence of texts to Python: two letters would pass for two candidates.
        is_number_right = (
            len(candidates) == wanted if wanted else bool(candidates) == ("candidates" in self.variables)
        )
        if isinstance(candidates, str) or not is_number_right:
            given = "one text" if isinstance(candidates, str) else f"{len(candidates)} candidates"
            hint = f"give a list of {wanted or 'them'}"
            raise UsageError(f"mode {self.mode} judges {wanted or 'all'} at a time, not {given}", hint=hint)
        texts: tuple[object, ...] = (prompt, *candidates)
        for text in texts:
            if not isinstance(text, str):
                raise UsageError(f"{quoted(text)} is not text", hint="give prompt and candidates as texts")
        variables = MODES[self.mode].variables if wanted else ("prompt", *map(_numbered, range(1, len(texts))))
        return dict(zip(variables, (prompt, *candidates), strict=True))


def _numbered(at: int) -> str:
    return f"candidate_{at}"


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Put values where their variables stand; nothing inside a value is looked at."""
    return VARIABLE.sub(lambda match: values[match["name"]], template)
