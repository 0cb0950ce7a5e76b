"""The figures of a page by name, for `plot` and `figure_data`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bonwise.errors import UsageError
from bonwise.report.blocks import Drawing, FigureData

__all__ = ["by_name", "figure"]

_OF_AN_AUDIT = re.compile(r"^a-")
_NUMBERED = re.compile(r"^([a-z]+)-(\d+)(?=-|$)")
"""The word of a study, or ``judge``, and the number of the judge."""


def by_name(drawings: Sequence[Drawing[FigureData]]) -> Mapping[str, Drawing[FigureData]]:
    """Return drawings by their names: their keys, without the number of the judge where there is only one.

    Parameters
    ----------
    drawings : sequence of Drawing
        Of a page, in its order.
    """
    keys = [_OF_AN_AUDIT.sub("", one.key) for one in drawings]
    numbers: dict[str, set[str]] = {}
    for key in keys:
        if found := _NUMBERED.match(key):
            numbers.setdefault(found[1], set()).add(found[2])
    names = [_NUMBERED.sub(r"\1", key) if (word := _word(key)) and len(numbers[word]) == 1 else key for key in keys]
    # What page keys tell apart stays apart.
    return dict(zip(names if len(set(names)) == len(names) else keys, drawings, strict=True))


def figure(drawings: Sequence[Drawing[FigureData]], name: str) -> Drawing[FigureData]:
    """Return the drawing of a name, or the first of the only judge whose name holds it as a whole word.

    Raises
    ------
    bonwise.errors.UsageError
        There is none, or those of several judges.
    """
    known = by_name(drawings)
    if name in known:
        return known[name]
    fitting = [one for one in known if f"-{name}-" in f"-{one}-"]
    if not known:
        raise UsageError(f"no figure is named {name!r}: this result has no figures", hint="see to_frame()")
    if not fitting:
        raise UsageError(f"no figure is named {name!r}", hint=f"choose of {', '.join(known)}")
    if len({found[0] for one in fitting if (found := _NUMBERED.match(one))}) > 1:
        raise UsageError(f"several judges have a figure {name!r}", hint=f"choose of {', '.join(fitting)}")
    return known[fitting[0]]


def _word(key: str) -> str:
    found = _NUMBERED.match(key)
    return found[1] if found else ""
