"""How a judge is written on a command line: ``KIND``, its options, and the model or the judge it is made of.

::

    pointwise:openai/gpt-5-mini
    pairwise,orders=1,temperature=0.7:openai/gpt-5-mini
    resampled,draws=3,of=interval:openai/gpt-5-mini

``of=`` comes last: everything behind it is the inner judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from bonwise.errors import UsageError

__all__ = ["Spec", "read_spec"]

_ESCAPES = str.maketrans({"%": "%25", ",": "%2C", ":": "%3A"})


@dataclass(frozen=True, slots=True)
class Spec:
    """The parts of such a text.

    Examples
    --------
    >>> str(Spec("pairwise", {"orders": "1"}, rest="openai/m"))
    'pairwise,orders=1:openai/m'
    """

    kind: str
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    """In their order, `of` not among them."""
    of: str = ""
    """The inner judge, itself such a text; empty where there is none."""
    rest: str = ""
    """What stands behind the colon, such as ``openai/gpt-5-mini``; empty where there is an inner judge."""

    def __str__(self) -> str:
        options = "".join(f",{name}={value.translate(_ESCAPES)}" for name, value in self.options.items())
        if self.of:
            return f"{self.kind}{options},of={self.of}"
        return f"{self.kind}{options}:{self.rest}" if self.rest else f"{self.kind}{options}"


def read_spec(text: str) -> Spec:
    """Take such a text apart; ``read_spec(str(spec)) == spec``.

    Raises
    ------
    bonwise.errors.UsageError
        An option without a value, or stated twice.

    Examples
    --------
    >>> spec = read_spec("resampled,draws=3,of=pointwise,temperature=0.5:openai/m")
    >>> spec.kind, spec.options["draws"], spec.of
    ('resampled', '3', 'pointwise,temperature=0.5:openai/m')
    """
    # A colon of the inner judge is not this judge's own.
    own, marked, of = text.partition(",of=")
    if ":" in own:
        own, marked, of = text, "", ""
    head, _, rest = own.partition(":")
    kind, *stated = head.split(",")
    if not kind or (marked and not of):
        raise UsageError(f"{text!r} names no judge", hint="write KIND:provider/model or KIND,of=JUDGE")
    options: dict[str, str] = {}
    for option in stated:
        name, equals, value = option.partition("=")
        if not (name and equals and value) or name in options:
            hint = "write each option once, as name=value, with commas between"
            raise UsageError(f"{text!r}: the option {option!r} cannot be read", hint=hint)
        options[name] = unquote(value)
    return Spec(kind, options, of, rest)
