"""Settings and counts as a JSON document holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["as_document"]


def as_document(value: Any) -> Any:
    """Return dicts for mappings and lists for tuples, all the way down.

    Examples
    --------
    >>> from types import MappingProxyType
    >>> as_document(MappingProxyType({"exclude": ("base",), "seed": 1}))
    {'exclude': ['base'], 'seed': 1}
    """
    if isinstance(value, Mapping):
        return {name: as_document(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [as_document(one) for one in value]
    return value
