"""Spans of OpenTelemetry, of a selection, each use of a judge and each attempt at a call; and the loggers of rooms.

OpenTelemetry is not imported: a program that traces has loaded ``opentelemetry.trace`` and named a provider; in any
other a span is one look into a dictionary. Attributes have the literal names of the GenAI conventions, whose
constants move between packages, or begin with ``bonwise.``. Prompts, candidates and answers are never among them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from logging import Logger, NullHandler, getLogger
from types import ModuleType, TracebackType
from typing import Any, Literal, Self

from bonwise.printable import printable

# Without a handler the standard library would print warnings.
getLogger("bonwise").addHandler(NullHandler())

Kind = Literal["CHAIN", "EVALUATOR", "LLM"]
"""What a span is to OpenInference, by which Phoenix sorts spans."""


def logger(room: str) -> Logger:
    """Return the logger of a room of the package."""
    return getLogger(f"bonwise.{room}")


class Untraced:
    """A span that nobody records."""

    recording = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def note(self, attributes: Mapping[str, Any]) -> None:
        """Take no attributes."""

    def event(self, name: str, attributes: Mapping[str, Any]) -> None:
        """Take no event."""

    def fail(self, kind: str) -> None:
        """Take no error."""


UNTRACED = Untraced()


class Span(Untraced):
    """A span that is current while it is entered."""

    def __init__(self, api: ModuleType, name: str, kind: Kind) -> None:
        self._api, self._name, self._kind = api, name, kind
        self._failed = False

    def __enter__(self) -> Self:
        kind = self._api.SpanKind.CLIENT if self._kind == "LLM" else self._api.SpanKind.INTERNAL
        self._current = self._api.get_tracer("bonwise").start_as_current_span(
            self._name,
            kind=kind,
            attributes={"openinference.span.kind": self._kind},
            record_exception=False,  # its words may hold those of a prompt
            set_status_on_exception=False,
        )
        self._span = self._current.__enter__()
        self.recording = self._span.is_recording()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.fail(kind.__name__)
        self._current.__exit__(kind, error, trace)

    def note(self, attributes: Mapping[str, Any]) -> None:
        """Set attributes; those that are None are left out."""
        self._span.set_attributes(_written(attributes))

    def event(self, name: str, attributes: Mapping[str, Any]) -> None:
        """Add an event; attributes that are None are left out."""
        self._span.add_event(name, _written(attributes))

    def fail(self, kind: str) -> None:
        """Say that what the span is of has failed, and in which way; what is said first stands."""
        if self._failed:
            return
        self._failed = True
        self._span.set_attribute("error.type", kind)
        self._span.set_status(self._api.StatusCode.ERROR)


def _written(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is None; names may hold what no exporter can encode."""
    given = {name: value for name, value in attributes.items() if value is not None}
    return {name: printable(value) if isinstance(value, str) else value for name, value in given.items()}


def span(name: str, kind: Kind) -> Untraced:
    """Return a span to enter; one that does nothing where nobody traces."""
    api = sys.modules.get("opentelemetry.trace")
    return Span(api, printable(name), kind) if api is not None and traces(api) else UNTRACED


def traces(api: ModuleType) -> bool:
    """Tell whether the program has named a provider."""
    return not isinstance(api.get_tracer_provider(), api.ProxyTracerProvider | api.NoOpTracerProvider)
