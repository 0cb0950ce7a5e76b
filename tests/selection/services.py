"""A model that says what a text is worth, and selectors that ask it."""

from __future__ import annotations

import re

import bonwise as bw
from bonwise.calls.providers.protocol import Connection
from bonwise.selection.selector import Selector
from bonwise.testing import FakeTransport, Script

ADDRESS = "http://scripted/v1"
JUDGE = bw.Pointwise("openai/m", base_url=ADDRESS)
POOL = ["worth 20", "worth 90", "worth 50"]


def worth(request):
    """Score a candidate by the number in it."""
    return re.findall(r"worth (\d+)", request.user)[-1]


def by_worth(**settings):
    """Return a service in which a candidate's text says its score."""
    return Script(worth, **settings)


def asking(script, judge=JUDGE, **settings):
    """Return a selector whose judge asks a script."""
    return Selector(judge, connection=Connection(transport=FakeTransport(script)), **settings)
