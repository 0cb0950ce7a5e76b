"""What stands in for the oracle is called by its own name."""

from __future__ import annotations

__all__ = ["named"]

_INSTEAD = (("oracle", "reference"), ("labels", "reference scores"), ("label", "reference score"))


def named(text: str, reference: str | None) -> str:
    """Name what stands in for the oracle: another judge's scores are no oracle, and are not called one.

    Examples
    --------
    >>> named("mean label of the best candidate", None), named("oracle_tie_rate", "gpt")
    ('mean label of the best candidate', 'reference_tie_rate')
    """
    if reference is None:
        return text
    for word, instead in _INSTEAD:
        text = text.replace(word, instead)
    return text
