"""The selector behind an adapter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bonwise.errors import UsageError
from bonwise.selection.selector import Selector

__all__ = ["once_paid", "selector_of"]


def selector_of(judge: Any, settings: Mapping[str, Any]) -> Selector:
    """Return the selector that an adapter works with.

    Parameters
    ----------
    judge : Judge, callable, str or Selector
        A judge, a function ``(prompt, text) -> number``, a text as of ``--judge`` on a command line, or a selector
        with all its settings.
    settings : mapping
        Of `bonwise.Selector`: none beside a selector.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing, or settings beside a selector.

    Examples
    --------
    >>> selector_of("local:length", {"seed": 3}).settings.seed
    3
    """
    if isinstance(judge, Selector):
        if settings:
            raise UsageError(
                f"a selector brings its own settings, and {', '.join(sorted(settings))} is given beside it",
                hint="pass the settings to bw.Selector",
            )
        return judge
    if isinstance(judge, str):
        from bonwise.judges.registry import judge_from_spec  # noqa: PLC0415 - reads what is installed

        judge = judge_from_spec(judge)
    return Selector(judge, **settings)


def once_paid(judge: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an adapter that judges what was paid for: there a failing judge does not raise.

    A host that retries would pay for everything again. A selector brings its own ``on_failure``.

    Examples
    --------
    >>> once_paid("local:length", {"seed": 3})
    {'on_failure': 'random', 'seed': 3}
    """
    return ({} if isinstance(judge, Selector) else {"on_failure": "random"}) | dict(settings)
