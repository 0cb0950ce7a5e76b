"""Words that several reports choose alike."""

from __future__ import annotations

__all__ = ["named"]


def named(text: str, reference: str | None) -> str:
    """Name what stands in for the oracle: another judge's scores are no oracle, and are not called one.

    Examples
    --------
    >>> named("mean label", None), named("mean label", "another judge")
    ('mean label', 'mean reference score')
    """
    if reference is None:
        return text
    for word, instead in (("oracle", "reference"), ("labels", "reference scores"), ("label", "reference score")):
        text = text.replace(word, instead)
    return text
