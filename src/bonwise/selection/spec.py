"""How a strategy is written on a command line: ``KIND``, or ``KIND:`` and its options with commas between.

::

    greedy
    adaptive:margin=0.1,max_draws=3
    tie_break:knockout=true,of=pairwise:openai/gpt-5-mini

``of=`` comes last: everything behind it is a judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from bonwise.errors import UsageError

__all__ = ["StrategySpec", "read_strategy"]

_ESCAPES = str.maketrans({"%": "%25", ",": "%2C"})


@dataclass(frozen=True, slots=True)
class StrategySpec:
    """The parts of such a text.

    Examples
    --------
    >>> str(StrategySpec("adaptive", {"margin": "0.2", "max_draws": "5"}))
    'adaptive:margin=0.2,max_draws=5'
    """

    kind: str
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    """In their order, `of` not among them."""
    of: str = ""
    """The judge that it is made of, empty where there is none; see `bonwise.judges.spec`."""

    def __str__(self) -> str:
        parts = [f"{name}={value.translate(_ESCAPES)}" for name, value in self.options.items()]
        parts += [f"of={self.of}"] if self.of else []
        return f"{self.kind}:{','.join(parts)}" if parts else self.kind


def read_strategy(text: str) -> StrategySpec:
    """Take such a text apart; ``read_strategy(str(spec)) == spec``.

    Raises
    ------
    bonwise.errors.UsageError
        No kind, an option without a value, or one stated twice.

    Examples
    --------
    >>> spec = read_strategy("tie_break:knockout=true,of=pairwise,orders=1:openai/m")
    >>> spec.kind, dict(spec.options), spec.of
    ('tie_break', {'knockout': 'true'}, 'pairwise,orders=1:openai/m')
    """
    kind, colon, behind = text.partition(":")
    if not kind or any(sign in kind for sign in ",="):
        raise UsageError(f"{text!r} names no strategy", hint="write KIND or KIND:option=value,option=value")
    # One comma more, so that a judge may also be all that is stated.
    stated, marked, of = (f",{behind}" if behind else "").partition(",of=")
    options: dict[str, str] = {}
    for option in stated.split(",")[1:]:
        name, equals, value = option.partition("=")
        if not (name and equals and value) or name in options:
            raise _unreadable(text, option)
        options[name] = unquote(value)
    if (colon and not (options or of)) or (marked and not of):
        raise _unreadable(text, behind)
    return StrategySpec(kind, options, of)


def _unreadable(text: str, option: str) -> UsageError:
    hint = "write each option once, as name=value, with commas between"
    return UsageError(f"{text!r}: the option {option!r} cannot be read", hint=hint)
