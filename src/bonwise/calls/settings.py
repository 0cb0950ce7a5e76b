"""The settings of an engine, each declared once with meaning, default, check and flag, for all that ask models."""

import math
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from bonwise.calls.cost_limit import MaxCost, check_max_cost
from bonwise.errors import UsageError
from bonwise.flags import Flag, Option
from bonwise.table.checks import check_whole

if TYPE_CHECKING:
    from bonwise.calls.providers.protocol import Connection


def check_seconds(name: str, value: Any) -> None:
    """Refuse what is no finite number of seconds above 0; None is no limit."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 < float(value) < math.inf):
        raise UsageError(f"{name} is {value!r}", hint="give seconds, more than 0")


def _at_least(least: int) -> Callable[[str, Any], None]:
    return partial(check_whole, least=least, kind=Integral, hint=f"give {least} or more")


def _check_reask(name: str, value: Any) -> None:
    if value is not None:
        _at_least(0)(name, value)


class CallSettings(TypedDict, total=False):
    """How models are asked, and what may be spent."""

    max_concurrency: Annotated[int, Option(64, _at_least(1), Flag("Calls in flight at once.", least=1, rare=True))]
    """Calls in flight at once at each model, and pools that are judged at once; others wait in line, and the deadline
    of a pool runs.
    """
    connection: Annotated[
        "Connection | None",
        Option(
            flag=Flag(
                "aiohttp sends for less than half of the CPU; it needs bonwise[fast].",
                "--transport",
                str | None,
                rare=True,
            )
        ),
    ]
    """Timeouts, and the transport that carries the requests."""
    max_cost: Annotated[
        MaxCost | None,
        Option(None, check_max_cost, Flag("Most US dollars this command may spend, or 5/day.", kind=str | None)),
    ]
    """A hard limit on US dollars. Limits hold in all event loops and threads together. With a window, as in
    ``(5.0, "day")`` or ``"5/day"``, it is for all that any process spends on the ledger in any hour, day or month of
    30 days.
    """
    max_calls: Annotated[int | None, Option(flag=Flag("Most calls this command may send."))]
    """A hard limit on calls."""
    max_tokens: Annotated[int | None, Option(flag=Flag("Most tokens this command may use.", rare=True))]
    """A hard limit on tokens."""
    deadline: Annotated[
        float | None,
        Option(
            check=check_seconds,
            flag=Flag("Seconds for one pool: after them the best known is picked, else --on-failure.", rare=True),
        ),
    ]
    """Seconds for one pool; then the best that is known is picked, and `decided_by` says ``deadline``. A judge that
    is an ordinary function cannot be interrupted: its call runs on beside the next one, and where 8 such calls of it
    have not ended, it is not called again.
    """
    attempts: Annotated[
        int, Option(12, _at_least(1), Flag("Most attempts at one call, where waiting may help.", least=1, rare=True))
    ]
    """The most attempts at one call; only transport failures are tried again."""
    reask: Annotated[
        int | None,
        Option(
            check=_check_reask,
            flag=Flag(
                "1 asks again where the stored answer is unscored; 0 asks nothing a second time.", least=0, rare=True
            ),
        ),
    ]
    """1 asks again, once, where the stored answer is unscored; 0 asks nothing a second time. Unless
    given, a reply that is empty or cannot be read is asked for once more when it comes, if time and limits allow.
    """
    offline: Annotated[bool, Option(default=False)]
    """Whether to take answers from the ledger only. Selections of an earlier run come out again."""


class JudgeSettings(CallSettings, total=False):
    """The settings of judging: how models are asked, and whether in batches."""

    batch: Annotated[
        bool,
        Option(default=False, flag=Flag("Send what can wait as a batch of the provider, at about half the price.")),
    ]
    """Whether questions go into batches of OpenAI and Anthropic, which take up to 24 hours and about half the money.
    Their answers are awaited, and are in the ledger like any other. What cannot go into a batch is asked live.
    """
    no_wait: Annotated[
        bool,
        Option(default=False, flag=Flag("Submit batches, and leave their answers to the next command.", rare=True)),
    ]
    """Whether batches are not awaited: answers that are not there yet are pending, and the same call takes them."""
    resubmit: Annotated[
        bool, Option(default=False, flag=Flag("Send again batches of which nobody knows if they arrived.", rare=True))
    ]
    """Whether a batch is sent again of which nobody knows whether the provider has it; it may be billed twice."""


BATCH_OPTIONS = JudgeSettings.__annotations__.keys() - CallSettings.__annotations__.keys()
"""What `JudgeSettings` has beyond `CallSettings`."""


class EngineSettings(CallSettings, total=False):
    """The settings of an engine, and where answers are kept."""

    ledger: Annotated[str | Path | None, Option()]
    """A run folder, or the address of a database: answers are kept there and never paid twice."""
