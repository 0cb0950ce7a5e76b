"""A question to a model in no provider's terms, the occasion on which it is asked, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bonwise.calls.bill import Bill
from bonwise.errors import UsageError
from bonwise.table.verdicts import Unscored

if TYPE_CHECKING:
    from bonwise.calls.reply import Choice

__all__ = ["OCCASION", "Answer", "Answers", "Ask", "Model", "Occasion", "model_from_spec"]


@dataclass(frozen=True, slots=True)
class Model:
    """Which model answers, and where it is served.

    Examples
    --------
    >>> str(Model("openai", "gpt-5-mini"))
    'openai/gpt-5-mini'
    """

    provider: str
    """A name of the entry-point group ``bonwise.providers``: ``openai``, ``anthropic`` or a plug-in's."""
    name: str
    """As the server knows it."""
    # It may hold a login.
    base_url: str | None = field(default=None, repr=False)
    """Another server that speaks the provider's language."""

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}"


@dataclass(frozen=True, slots=True)
class Ask:
    """One question, its settings, and how an answer to it is read."""

    model: Model
    system: str
    """Instructions: the same for every candidate, so that a server can cache them."""
    user: str
    """What is to be judged."""
    read: Callable[[Choice], Any] = field(compare=False, repr=False)
    """From a `bonwise.calls.reply.Choice` to what it says, or to `bonwise.table.verdicts.Unscored`. It must be pure:
    stored answers are read anew. Plain values, and (named) tuples of them.
    """
    schema: Mapping[str, Any] | None = None
    """JSON schema of the answer, an object; None asks for plain text."""
    max_tokens: int = 1024
    """The most the answer may have, reasoning included."""
    temperature: float | None = None
    """None leaves it to the server."""
    top_logprobs: int = 0
    """How many alternatives to report for each token of the answer; 0 asks for none."""
    samples: int = 1
    """Independent answers wanted."""
    first_sample: int = 0
    """Index of the first of them: an answer to a question is kept under its index, so 1 wants another answer than the
    one that a plain ask gets.
    """
    shortened: int = field(default=0, compare=False)
    """Texts in it that were too long and are shown without their middle."""
    replaced: int = field(default=0, compare=False)
    """Halves of surrogate pairs in it, which no server takes, that are shown as U+FFFD."""


def model_from_spec(spec: str, base_url: str | None = None) -> Model:
    """Read ``provider/model``.

    Parameters
    ----------
    spec : str
    base_url : str, optional
        Another server that speaks the provider's language.

    Raises
    ------
    bonwise.errors.UsageError
        Not of that form.

    Examples
    --------
    >>> model_from_spec("openai/org/some-model").name
    'org/some-model'
    """
    provider, _, name = spec.partition("/")
    if "," in name and "=" in name:
        raise UsageError(
            f"{spec!r} names no model", hint="options stand before the colon: KIND,option=value:provider/model"
        )
    if not provider or not name or spec != spec.strip():
        raise UsageError(f"{spec!r} names no model", hint="write provider/model, such as openai/gpt-5-mini")
    return Model(provider, name, base_url)


@dataclass(frozen=True, slots=True)
class Answer:
    """One sample."""

    reading: Any | Unscored
    """What the ask's reader found; `Unscored` with ``owed`` set where no answer arrived."""
    raw: str = ""
    """The model's words."""
    from_ledger: bool = False
    """Whether it cost nothing: stored already, or shared with another question under way."""


@dataclass(frozen=True, slots=True)
class Answers:
    """All samples of one ask, in the order of their index."""

    answers: tuple[Answer, ...]
    bill: Bill = field(default_factory=Bill)
    effective: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that were really sent; a parameter the server refused is absent."""


def _nobody() -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """Set around what asks: judges know neither of a time nor of other pools."""

    until: float | None = None
    """Time of the event loop by which answers are needed, where that is earlier than the deadline of the engine."""
    waits: Callable[[], None] = _nobody
    """Called when a call that has failed begins to wait for its next attempt."""


OCCASION: ContextVar[Occasion] = ContextVar("what calls are made for", default=Occasion())  # noqa: B039 - it is frozen
