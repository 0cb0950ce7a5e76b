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
        for note in sampling["notes"]:
            yield Text(printable(f"note: {note}", longest=1000), style="yellow")


def _model(sampling: Mapping[str, Any]) -> str:
    model, explained = sampling["model"], sampling["share_explained"]
    told = "" if explained is None else f"; explains {100 * max(explained, 0.0):.0f} % of the variance"
    return printable(f"{model['name']}: {model['reason']}{told}", longest=1000)


def _further(sampling: Mapping[str, Any]) -> Iterator[RenderableType]:
    names = ", ".join(printable(name) for name in sampling["further_judges"])
    if not names:
        return
    narrowed = sampling["narrowed"]
    if narrowed is None:
        yield Text(f"further judges as covariates: {names}")
    elif narrowed >= 0:
        yield Text(f"with {names} as covariates the interval of recovery is {100 * narrowed:.0f} % narrower")
    else:
        yield Text(f"with {names} as covariates the interval of recovery is {-100 * narrowed:.0f} % wider")
