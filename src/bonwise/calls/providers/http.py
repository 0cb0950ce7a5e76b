"""Which HTTP library an SDK stands on: httpx, or its successor httpx2."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

__all__ = ["AsyncTransport", "http_library", "library_of"]

_LIBRARIES = frozenset({"httpx", "httpx2"})


class AsyncTransport(Protocol):
    """What carries requests instead of the network: an asynchronous transport of the SDK's own HTTP library."""

    async def handle_async_request(self, request: Any) -> Any:
        """Answer one request with a response of the same library."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


@cache
def http_library(sdk: ModuleType) -> ModuleType:
    """Return the HTTP library that an SDK sends with.

    openai 2 and anthropic before 1.0 stand on httpx, later ones on httpx2. Both SDKs and both libraries may be
    installed at once, in any combination: each SDK is asked for its own.

    Parameters
    ----------
    sdk : module
        ``openai`` or ``anthropic``.

    Examples
    --------
    >>> import openai
    >>> http_library(openai).__name__ in {"httpx", "httpx2"}
    True
    """
    return library_of(sdk.DefaultAsyncHttpxClient)


def library_of(kind: type) -> ModuleType:
    """Return the HTTP library that a class comes from, or that the class it extends comes from.

    Raises
    ------
    LookupError
        It comes from neither.
    """
    packages = (parent.__module__.partition(".")[0] for parent in kind.__mro__)
    name = next((package for package in packages if package in _LIBRARIES), None)
    if name is None:
        raise LookupError(f"{kind.__qualname__} is of no known HTTP library")
    return import_module(name)
