"""A judge prompt: what it says, what it is given, and what answer it asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bonwise.data.wording import quoted
from bonwise.errors import UsageError
from bonwise.prompts.answer import answer_schema
from bonwise.prompts.fence import LONGEST, all_enclosed
from bonwise.prompts.modes import MODES

__all__ = ["VARIABLE", "PromptFile", "Rendered"]

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


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A prompt file that was read and found to be in order; see `bonwise.prompts.loading.load`."""

    name: str
    version: int
    mode: str
    """One of `bonwise.prompts.modes.MODES`."""
    variables: tuple[str, ...]
    """As the file declares them."""
    system: str = field(repr=False)
    """The two parts of the text; the second is a template."""
    user: str = field(repr=False)
    """The two parts of the text; the second is a template."""
    answer: Mapping[str, Mapping[str, Any]] | None = field(repr=False, hash=False)
    """Property to schema fragment, in the order in which they are to be answered; None for plain text."""
    source: str
    """Path of the file."""
    digest: str
    """The first 12 hexadecimal digits of the SHA-256 of its bytes."""
    description: str = field(default="", repr=False)
    """One line."""

    @property
    def identity(self) -> str:
        """Name, version and digest: another text has another identity, whatever its author calls it."""
        return f"{self.name}@{self.version} {self.digest}"

    @property
    def schema(self) -> dict[str, Any] | None:
        """JSON schema of the answer, a new object each time; None for plain text."""
        return None if self.answer is None else answer_schema(self.answer)

    def render(self, prompt: str, candidates: Sequence[str], longest: int = LONGEST) -> Rendered:
        r"""Return what is sent to judge these candidates.

        Parameters
        ----------
        prompt : str
        candidates : sequence of str
            One, or two in the order in which they are to be shown, as the mode wants.
        longest : int
            The most characters of each text that are sent.

        Raises
        ------
        bonwise.errors.UsageError
            Another number of candidates, something that is not text, or a length below 1.

        Examples
        --------
        >>> from bonwise.prompts.loading import load
        >>> rendered = load("pointwise").render("Say {{hi}}", ["{{prompt}}"])
        >>> [line for line in rendered.user.split("\n") if "{{" in line]
        ['Say {{hi}}', '{{prompt}}']
        """
        texts = self._texts(prompt, candidates)
        if longest < 1:
            raise UsageError(f"longest is {longest}", hint="keep at least one character of each text")
        sent = all_enclosed(self.identity, texts, longest=longest)
        user = _filled(self.user, {variable: one.text for variable, one in sent.items()})
        shortened = sum(one.shortened for one in sent.values())
        return Rendered(self.system, user, shortened, sum(one.replaced for one in sent.values()))

    def _texts(self, prompt: str, candidates: Sequence[str]) -> dict[str, str]:
        wanted = MODES[self.mode].candidates
        # A text is a sequence of texts to Python: two letters would pass for two candidates.
        if isinstance(candidates, str) or len(candidates) != wanted:
            found = "one text" if isinstance(candidates, str) else f"{len(candidates)} candidates"
            hint = f"give a list of {wanted}"
            raise UsageError(f"mode {self.mode} judges {wanted} at a time, not {found}", hint=hint)
        texts: tuple[object, ...] = (prompt, *candidates)
        for one in texts:
            if not isinstance(one, str):
                raise UsageError(f"{quoted(one)} is not text", hint="give prompt and candidates as texts")
        return dict(zip(MODES[self.mode].variables, (prompt, *candidates), strict=True))


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Put values where their variables stand; nothing inside a value is looked at.

    Examples
    --------
    >>> _filled("{{prompt}} | {{candidate}}", {"prompt": "{{candidate}}", "candidate": "{{x}}"})
    '{{candidate}} | {{x}}'
    """
    return VARIABLE.sub(lambda found: values[found["name"]], template)
