"""Parts without their drawings: of many judges none is drawn, because each drawing takes a third of a second."""

from __future__ import annotations

from dataclasses import replace

from bonwise.report.blocks import Drawing, Part

__all__ = ["undrawn"]


def undrawn(part: Part) -> Part:
    """Return a part, and the parts inside it, without drawings."""
    kept = [undrawn(one) if isinstance(one, Part) else one for one in part.blocks if not isinstance(one, Drawing)]
    return replace(part, blocks=kept)
