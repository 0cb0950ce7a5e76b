"""Flags that ask models are declared once, with the defaults of the library."""

from dataclasses import fields
from inspect import signature

import pytest

import bonwise as bw
from bonwise.cli.judge import judge
from bonwise.cli.model_flags import ModelFlags, PoolModelFlags
from bonwise.cli.select import select
from bonwise.selection.settings import EngineSettings

SETTINGS = ("max_concurrency", "max_calls", "max_tokens", "max_cost", "deadline", "reask")


@pytest.mark.parametrize("command", [judge, select], ids=["judge", "select"])
def test_both_commands_have_every_flag_with_its_default(command):
    """One declaration makes the flags of both commands."""
    shown = signature(command).parameters
    assert {one.name: shown[one.name].default for one in fields(ModelFlags)} == {
        one.name: one.default for one in fields(ModelFlags)
    }


@pytest.mark.parametrize("name", SETTINGS)
def test_defaults_are_those_of_the_library(name):
    """A flag that is not given leaves what `bw.Selector` and `bw.judge` do by themselves."""
    selector = signature(bw.Selector).parameters[name].default
    engine = next(one.default for one in fields(EngineSettings) if one.name == name)
    assert getattr(ModelFlags(), name) == getattr(PoolModelFlags(), name) == selector == engine


def test_every_setting_reaches_the_engine():
    """What is given on the command line is what an engine is made of."""
    given = {"max_concurrency": 3, "max_calls": 5, "max_tokens": 7, "max_cost": 0.5, "deadline": 9.0, "reask": 1}
    made = EngineSettings(**ModelFlags(**given).engine_keywords(asks=True))
    assert {name: getattr(made, name) for name in SETTINGS} == given
    assert str(made.ledger) == "bonwise-run"
    assert EngineSettings(**ModelFlags().engine_keywords(asks=False)).ledger is None


def test_the_transport_reaches_the_connection():
    """Without the flag there is none of its own, so that the library's default holds."""
    pytest.importorskip("aiohttp", reason="bonwise[fast] is not installed")
    made = EngineSettings(**ModelFlags(max_concurrency=3, transport="aiohttp").engine_keywords(asks=True))
    assert (made.connection.transport, made.connection.connections) == ("aiohttp", 3)
    assert EngineSettings(**ModelFlags().engine_keywords(asks=True)).connection is None
