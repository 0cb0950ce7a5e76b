"""The HTTP library that each SDK stands on here, and a router that answers both SDKs instead of the network."""

from __future__ import annotations

import contextlib
from importlib import import_module
from importlib.util import find_spec

import anthropic
import openai
import pytest
import respx
from respx.mocks import HTTPCoreMocker, Mocker

from bonwise.calls.providers.protocol import http_library

SDKS = {"openai": openai, "anthropic": anthropic}
HTTP = {name: http_library(sdk) for name, sdk in SDKS.items()}
INSTALLED = [import_module(name) for name in ("httpx", "httpx2") if find_spec(name)]
each_library = pytest.mark.parametrize("http", INSTALLED, ids=lambda http: http.__name__)

_MOCKERS = {"httpx": "httpcore", "httpx2": "httpcore2"}

if "httpcore2" not in Mocker.registry:

    class HTTPCore2Mocker(HTTPCoreMocker):
        """Patches the successor of httpcore as respx patches httpcore."""

        name = "httpcore2"
        targets = [target.replace("httpcore.", "httpcore2.") for target in HTTPCoreMocker.targets]  # noqa: RUF012 - as respx has it


@contextlib.contextmanager
def routed():
    """Yield a router that answers the requests of both SDKs, whichever HTTP library each stands on."""
    first, *others = sorted({_MOCKERS[library.__name__] for library in HTTP.values()})
    with respx.mock(using=first) as router, contextlib.ExitStack() as stack:
        for mocker in map(Mocker.registry.__getitem__, others):
            stack.callback(mocker.stop)
            stack.callback(mocker.unregister, router)
            mocker.register(router)
            mocker.start()
        yield router
