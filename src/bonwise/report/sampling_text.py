"""How the labelled prompts of a judge were drawn, and how its figures for all prompts were made, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from bonwise.printable import printable

__all__ = ["sampling_parts"]


def sampling_parts(sampling: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield the lines; none where no draw is stated.

    Parameters
    ----------
    sampling : mapping
        A judge's ``sampling`` in a document of schema ``bonwise.audit/1``.
    """
    if not sampling:
        return
    worth = f"; worth {sampling['ess']:,.0f} drawn alike (effective sample size)" if "ess" in sampling else ""
    yield Text(printable(f"labels: {sampling['how']}{worth}", longest=1000))
    if "model" in sampling:
        yield Text(f"outcome model: {_model(sampling)}")
    yield from _further(sampling)
    if "model" in sampling:
        for note in sampling["notes"]:
            yield Text(printable(f"note: {note}", longest=1000), style="yellow")


def _model(sampling: Mapping[str, Any]) -> str:
    model, explained = sampling["model"], _percent(sampling["share_explained"] or 0.0)
    told = f"; explains {explained}% of the variance" if explained > 0 and model["covariates"] else ""
    return printable(f"{model['name']}: {model['reason']}{told}", longest=1000)


def _percent(share: float) -> int:
    return round(100 * share)


def _further(sampling: Mapping[str, Any]) -> Iterator[RenderableType]:
    names = ", ".join(printable(name) for name in sampling.get("further_judges", ()))
    if not names:
        return
    narrowed = _percent(sampling.get("narrowed") or 0.0)
    if narrowed:
        told = f"{narrowed}% narrower" if narrowed > 0 else f"{-narrowed}% wider"
        yield Text(f"with {names} as covariates the interval of recovery is {told}")
    else:
        yield Text(f"further judges as covariates: {names}")
