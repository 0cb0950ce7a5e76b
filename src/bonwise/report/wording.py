"""Words that several reports choose alike."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["all_named", "named"]


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


def all_named(texts: Iterable[str], reference: str | None) -> list[str]:
    """Name each text of a column as `named` does.

    Examples
    --------
    >>> all_named(["mean label", "tie rate"], "another judge")
    ['mean reference score', 'tie rate']
    """
    return [named(text, reference) for text in texts]
